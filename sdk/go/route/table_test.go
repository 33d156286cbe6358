package route

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func mustTable(t testing.TB, version int64, hash Function, entries []Entry, router string) *Table {
	t.Helper()
	table, err := NewTable(version, hash, entries, router)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func changed(t testing.TB, from *Table, set []Entry, unset ...string) *Table {
	t.Helper()
	keys := make([][]byte, len(unset))
	for i, key := range unset {
		keys[i] = []byte(key)
	}
	table, err := from.Changed(from.Version()+1, set, keys)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// literal is a routing table as a map: what Table must agree with.
type literal map[string]Entry

func (l literal) check(t *testing.T, table *Table, hash Function, keys int) {
	t.Helper()
	listed := literal{}
	for e := range table.Entries() {
		if _, twice := listed[string(e.Key)]; twice {
			t.Fatalf("version %d lists %s twice", table.Version(), e.Key)
		}
		listed[string(e.Key)] = e
	}
	if !maps.EqualFunc(listed, l, func(a, b Entry) bool {
		return a.Instance == b.Instance && slices.Equal(a.Parts, b.Parts)
	}) {
		t.Fatalf("version %d lists %d entries, want %d, or others", table.Version(), len(listed), len(l))
	}
	for i := range keys {
		key := []byte(fmt.Sprint("key-", i))
		d, err := table.Lookup(key)
		if err != nil || d.Version != table.Version() {
			t.Fatalf("%s: version %d, %v", key, d.Version, err)
		}
		want, ok := l[string(key)]
		if !ok {
			want.Instance = instanceOf(t, hash, key)
		}
		if d.Instance != want.Instance || !slices.Equal(d.Parts(), want.Parts) {
			t.Fatalf("version %d sends %s to %d, %v, want %v", d.Version, key, d.Instance, d.Parts(), want)
		}
	}
}

func drawEntry(rng *rand.Rand, keys int) Entry {
	e := Entry{Key: []byte(fmt.Sprint("key-", rng.IntN(keys))), Instance: rng.Int32N(9)}
	if rng.IntN(8) == 0 {
		w := 1 + rng.Int32N(PartUnits/2)
		e.Parts = []Part{{e.Instance, PartUnits - w}, {e.Instance + 1 + rng.Int32N(5), w}}
	}
	return e
}

// Many changes, one after the other, of which every table that was is still what it was.
func TestTableAgreesWithMap(t *testing.T) {
	const keys = 20_000
	rng := rand.New(rand.NewPCG(1, 22))
	hash := mustNew(t, Config{}, upTo(7))
	want := literal{}
	for range keys / 4 {
		e := drawEntry(rng, keys)
		want[string(e.Key)] = e
	}
	table := mustTable(t, 0, hash, slices.Collect(maps.Values(want)), "router")
	merged := 0
	for range 60 {
		before, was := table, maps.Clone(want)
		set, unset := map[string]Entry{}, map[string]bool{}
		for range rng.IntN(400) {
			e := drawEntry(rng, keys)
			set[string(e.Key)], want[string(e.Key)] = e, e
		}
		for key := range want {
			if _, ok := set[key]; !ok && rng.IntN(50) == 0 {
				unset[key] = true
				delete(want, key)
			}
		}
		table = changed(t, before, slices.Collect(maps.Values(set)), slices.Collect(maps.Keys(unset))...)
		want.check(t, table, hash, keys)
		was.check(t, before, hash, keys/10)
		if table.changes.used == 0 {
			merged++
		}
	}
	if merged < 2 || merged > 30 {
		t.Errorf("changes were merged %d times", merged)
	}
}

func TestNewTableRefuses(t *testing.T) {
	half := []Part{{Instance: 1, Weight: PartUnits / 2}, {Instance: 2, Weight: PartUnits / 2}}
	for _, c := range []struct {
		name    string
		entries []Entry
		want    string // nothing: it is accepted
	}{
		{"a split key", []Entry{{[]byte("a"), 1, half}}, ""},
		{"the longest key", []Entry{{bytes.Repeat([]byte("x"), MaxKeyBytes), 1, nil}}, ""},
		{"a longer one", []Entry{{bytes.Repeat([]byte("x"), MaxKeyBytes+1), 1, nil}}, "longer"},
		{"twice", []Entry{{[]byte("a"), 1, nil}, {[]byte("b"), 1, nil}, {[]byte("a"), 1, nil}}, `"a": stands twice`},
		{"no parts", []Entry{{[]byte("a"), 1, []Part{}}}, "two at least"},
		{"one part", []Entry{{[]byte("a"), 1, []Part{{1, PartUnits}}}}, "two at least"},
		{"too little", []Entry{{[]byte("a"), 1, []Part{{1, 1}, {2, 2}}}}, "sum up"},
		{"no weight", []Entry{{[]byte("a"), 1, []Part{{1, 0}, {2, PartUnits}}}}, "≥ 1"},
		{"out of order", []Entry{{[]byte("a"), 1, []Part{half[1], half[0]}}}, "ascend"},
	} {
		_, err := NewTable(1, nil, c.entries, "")
		_, later := mustTable(t, 0, nil, nil, "").Changed(1, c.entries, nil)
		refused := err != nil && strings.Contains(err.Error(), c.want)
		if c.want == "" && (err != nil || later != nil) || c.want != "" && !refused {
			t.Errorf("%s: %v; as a change %v", c.name, err, later)
		}
		if c.want != "" && c.name != "twice" && (later == nil || !strings.Contains(later.Error(), c.want)) {
			t.Errorf("%s, as a change: %v", c.name, later)
		}
	}
}

func TestNoRoute(t *testing.T) {
	table := mustTable(t, 4, nil, []Entry{{Key: []byte("known"), Instance: 3}}, "")
	if d, err := table.Lookup([]byte("known")); err != nil || d.Next() != 3 {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := table.Lookup([]byte("unknown")); !errors.Is(err, ErrNoRoute) || d.Paused || d.Version != 4 {
		t.Errorf("%v, %v", d, err)
	}
	table, err := table.WithPending(&Pending{Version: 5, Set: []Entry{{Key: []byte("unknown"), Instance: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := table.Lookup([]byte("unknown")); !errors.Is(err, ErrNoRoute) || !d.Paused {
		t.Errorf("a key of the plan: %v, %v", d, err)
	}
}

func TestPending(t *testing.T) {
	const keys = 3000
	now, then := mustNew(t, Config{}, upTo(5)), mustNew(t, Config{}, upTo(6))
	entries := []Entry{{Key: []byte("key-1"), Instance: 3}, {Key: []byte("key-2"), Instance: 9}}
	set, unset := []Entry{{Key: []byte("key-3"), Instance: 0}}, [][]byte{[]byte("key-2")}
	table := mustTable(t, 8, now, entries, "")
	named := map[string]bool{"key-2": true, "key-3": true}
	for _, rehashed := range []bool{false, true} {
		p := &Pending{Version: 9, Set: set, Unset: unset, Hash: now}
		if rehashed {
			p.Hash, p.Rehashed = then, true
		}
		held, err := table.WithPending(p)
		if err != nil {
			t.Fatal(err)
		}
		paused := 0
		for i := range keys {
			key := []byte(fmt.Sprint("key-", i))
			want := named[string(key)] || rehashed && i != 1 && instanceOf(t, then, key) != instanceOf(t, now, key)
			is, err := held.Lookup(key)
			was, _ := table.Lookup(key)
			if err != nil || is.Paused != want || is.Instance != was.Instance || is.Version != 8 {
				t.Fatalf("rehashed %t: %s is %+v, %v, was %+v", rehashed, key, is, err, was)
			}
			if is.Paused {
				paused++
			}
		}
		if rehashed == (paused == 2) || paused > keys/3 {
			t.Errorf("rehashed %t: %d keys are paused", rehashed, paused)
		}
		free, err := held.WithPending(nil)
		if d, _ := free.Lookup([]byte("key-3")); err != nil || d.Paused {
			t.Errorf("after the end of the plan: %+v, %v", d, err)
		}
	}
}

// shares counts where messages of a key go.
func shares(t testing.TB, table *Table, key string, messages int) map[int32]int {
	t.Helper()
	counts := map[int32]int{}
	for range messages {
		d, err := table.Lookup([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		counts[d.Next()]++
	}
	return counts
}

func drawParts(rng *rand.Rand) []Part {
	var cuts []int32
	for range 1 + rng.IntN(9) {
		cuts = append(cuts, 1+rng.Int32N(PartUnits-1)>>rng.IntN(8))
	}
	slices.Sort(cuts)
	cuts = append(slices.DeleteFunc(slices.Compact(cuts), func(x int32) bool { return x == 0 }), PartUnits)
	parts, last := []Part(nil), int32(0)
	for i, cut := range cuts {
		parts, last = append(parts, Part{int32(i), cut - last}), cut
	}
	if len(parts) == 1 {
		return []Part{{0, 1}, {1, PartUnits - 1}}
	}
	return parts
}

// After 65 536 messages each part has had its weight exactly, and before that, from
// wherever one begins to count, all but 6 messages: of 10⁴ messages that is within 2 % of
// any weight of 3 % or more.
func TestSharesOfParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	worst := 0.0
	for i := range 40 {
		parts := drawParts(rng)
		table := mustTable(t, 1, nil, []Entry{{[]byte("hot"), parts[0].Instance, parts}}, fmt.Sprint("router-", i))
		shares(t, table, "hot", rng.IntN(1000))
		for _, messages := range []int{10, 100, 10_000, PartUnits} {
			counts := shares(t, table, "hot", messages)
			for _, x := range parts {
				want := float64(x.Weight) / PartUnits * float64(messages)
				off := math.Abs(float64(counts[x.Instance]) - want)
				worst = max(worst, off)
				if messages == PartUnits && off != 0 || off > 6 {
					t.Errorf("%d messages over %v: instance %d got %d", messages, parts, x.Instance, counts[x.Instance])
				}
			}
		}
	}
	t.Logf("at most %.1f messages off", worst)
}

// A key goes on with its turns when weights or other entries change: with a table for
// every 7 messages the shares are still right.
func TestTurnsGoOn(t *testing.T) {
	parts := []Part{{1, PartUnits / 4}, {2, PartUnits / 4 * 3}}
	table := mustTable(t, 0, nil, []Entry{{[]byte("hot"), 2, parts}}, "r")
	counts := map[int32]int{}
	for i := range 1000 {
		for d, n := range shares(t, table, "hot", 7) {
			counts[d] += n
		}
		set := []Entry{{Key: []byte(fmt.Sprint("other-", i)), Instance: 1}}
		if i%2 == 0 {
			set = append(set, Entry{[]byte("hot"), 2, slices.Clone(parts)})
		}
		table = changed(t, table, set)
	}
	if math.Abs(float64(counts[1])-1750) > 4 {
		t.Errorf("%v, want a quarter on 1", counts)
	}
}

// Routers begin with different parts: of a key with one message at each of them every
// part gets its share.
func TestRoutersBeginDifferently(t *testing.T) {
	const routers = 20_000
	parts := []Part{{1, PartUnits / 4}, {2, PartUnits / 4 * 3}}
	first := 0
	for i := range routers {
		table := mustTable(t, 0, nil, []Entry{{[]byte("hot"), 2, parts}}, fmt.Sprint("router-", i))
		first += shares(t, table, "hot", 1)[1]
	}
	// Five standard deviations of a binomial.
	if off := math.Abs(float64(first) - routers/4); off > 5*math.Sqrt(routers*0.25*0.75) {
		t.Errorf("%d of %d routers begin with the part of a quarter", first, routers)
	}
}

// zipf draws keys by Zipf's law.
func zipf(seed uint64, keys int, z float64) func() int {
	rng := rand.New(rand.NewPCG(seed, 0))
	sums, sum := make([]float64, keys), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -z)
		sums[i] = sum
	}
	return func() int {
		i, _ := slices.BinarySearch(sums, rng.Float64()*sum)
		return min(i, keys-1)
	}
}

// Routers send a skewed stream, message by message, while the table changes under them:
// a whole key goes to one instance only as long as a version lasts, whichever router sends it,
// and the parts of split keys get what their weights say.
func TestRoutersOverZipfStreams(t *testing.T) {
	const keys, routers, messages = 5000, 5, 300_000
	hash := mustNew(t, Config{}, upTo(8))
	for _, z := range []float64{0.8, 1.0, 1.5} {
		rng := rand.New(rand.NewPCG(uint64(10*z), 9))
		draw := zipf(uint64(100*z), keys, z)
		names := make([][]byte, keys)
		for i := range names {
			names[i] = []byte(fmt.Sprint("key-", i))
		}
		var entries []Entry
		split := map[int][]Part{}
		for i := range 4 { // the hottest
			split[i] = drawParts(rng)
			entries = append(entries, Entry{names[i], split[i][0].Instance, split[i]})
		}
		var tables [routers]*Table
		for r := range tables {
			tables[r] = mustTable(t, 0, hash, entries, fmt.Sprint("router-", r))
		}
		home, sent := map[int]int32{}, map[int]map[int32]int{}
		for m := range messages {
			if m%20_000 == 19_999 { // some keys move
				var set []Entry
				for _, k := range rng.Perm(keys - 4)[:200] {
					set = append(set, Entry{Key: names[4+k], Instance: 3 * rng.Int32N(8)})
				}
				for r := range tables {
					tables[r] = changed(t, tables[r], set)
				}
				clear(home)
			}
			k := draw()
			d, err := tables[rng.IntN(routers)].Lookup(names[k])
			if err != nil {
				t.Fatal(err)
			}
			to := d.Next()
			if split[k] != nil {
				if sent[k] == nil {
					sent[k] = map[int32]int{}
				}
				sent[k][to]++
				continue
			}
			if at, ok := home[k]; ok && at != to {
				t.Fatalf("key %d goes to %d and to %d", k, at, to)
			}
			home[k] = to
		}
		for k, parts := range split {
			total := 0
			for _, n := range sent[k] {
				total += n
			}
			if total < 3000 {
				t.Fatalf("only %d messages of key %d", total, k)
			}
			for _, x := range parts {
				share, want := float64(sent[k][x.Instance])/float64(total), float64(x.Weight)/PartUnits
				if math.Abs(share-want) > 0.02*want+4*routers/float64(total) {
					t.Errorf("z=%v: key %d, %d messages: instance %d got %.4f, want %.4f", z, k, total, x.Instance, share, want)
				}
			}
		}
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	parts := []Part{{1, PartUnits / 4}, {2, PartUnits / 4 * 3}}
	entries := []Entry{{Key: []byte("1000"), Instance: 3}, {[]byte("2000"), 2, parts}}
	for name, config := range map[string]Config{
		"ring": {}, "modulo": {Function: Modulo}, "string": {Function: Flink}, "int": {Function: Flink, KeyType: Int},
		"long": {Function: Flink, KeyType: Long}, "kafka": {Function: Kafka, Partitions: 9},
	} {
		hash := mustNew(t, config, upTo(4))
		table := mustTable(t, 1, hash, entries, "")
		then := mustNew(t, config, upTo(5))
		table, err := table.WithPending(&Pending{Version: 2, Hash: then, Rehashed: true})
		if err != nil {
			t.Fatal(err)
		}
		var current Current
		current.Store(table)
		for _, key := range []string{"1000", "2000", "3000"} {
			k := []byte(key)
			if n := testing.AllocsPerRun(1000, func() {
				d, err := current.Lookup(k)
				if err != nil {
					t.Fatal(err)
				}
				d.Next()
			}); n != 0 {
				t.Errorf("%s: a lookup of %s allocates %v times", name, key, n)
			}
		}
	}
}

// A reader never sees half a change: both keys change their instance in every version.
func TestReadersSeeWholeVersions(t *testing.T) {
	a, b := []byte("a"), []byte("b")
	entries := func(to int32) []Entry { return []Entry{{Key: a, Instance: to}, {Key: b, Instance: to}} }
	var current Current
	current.Store(mustTable(t, 0, nil, entries(0), ""))
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			last := int64(0)
			for !done.Load() {
				table := current.Load()
				x, err1 := table.Lookup(a)
				y, err2 := table.Lookup(b)
				if err1 != nil || err2 != nil || x.Version < last || int64(x.Instance) != x.Version || x != y {
					t.Errorf("%+v, %+v after version %d", x, y, last)
					return
				}
				last = x.Version
			}
		})
	}
	for i := range int32(3000) {
		current.Store(changed(t, current.Load(), entries(i+1)))
	}
	done.Store(true)
	readers.Wait()
}

// One operation looks up one of 10⁵ entries, drawn uniformly, in a table that is replaced
// every 10 ms; "hash": a key without an entry.
func BenchmarkLookup(b *testing.B) {
	const n = 100_000
	keys := make([][]byte, 2*n)
	entries := make([]Entry, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range keys {
		keys[i] = strconv.AppendUint([]byte("user:"), 1e10+rng.Uint64N(9e10), 10)
		if i < n {
			entries[i] = Entry{Key: keys[i], Instance: int32(i % 40)}
		}
	}
	table := mustTable(b, 0, mustNew(b, Config{}, upTo(40)), entries, "")
	for _, c := range []struct {
		name  string
		first int
	}{{"entry", 0}, {"hash", n}} {
		b.Run("entries=1e5/key="+c.name, func(b *testing.B) {
			var current Current
			current.Store(table)
			stop := replace(b, &current, entries)
			// As messages come in: the keys lie one behind the other.
			stream, text := make([][]byte, 1<<18), make([]byte, 0, 16<<18)
			for i := range stream {
				text = append(text, keys[c.first+rng.IntN(n)]...)
				stream[i] = text[len(text)-16:]
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := current.Lookup(stream[i&(len(stream)-1)]); err != nil {
					b.Fatal(err)
				}
			}
			stop()
		})
	}
}

// replace changes some entries of the current table every 10 ms, until it is stopped.
func replace(b *testing.B, current *Current, entries []Entry) (stop func()) {
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		ticks := time.NewTicker(10 * time.Millisecond)
		defer ticks.Stop()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-ticks.C:
				from := 10 * i % len(entries)
				current.Store(changed(b, current.Load(), entries[from:from+10]))
			}
		}
	})
	return func() { close(done); writer.Wait() }
}

// Routers that choose the least loaded part send a skewed stream, message by message, while
// the table changes under them: a whole key goes to one instance only, a split key to its
// parts only, and loads come out nearly level where the parts can level them.
func TestLeastLoadedRoutersOverZipfStreams(t *testing.T) {
	const keys, routers, messages, instances = 5000, 5, 300_000, 8
	for _, z := range []float64{0.8, 1.0, 1.5} {
		hash := mustNew(t, Config{Function: Modulo}, upTo(instances))
		rng := rand.New(rand.NewPCG(uint64(10*z), 10))
		draw := zipf(uint64(100*z), keys, z)
		var everywhere []Part
		for d := range int32(instances) {
			everywhere = append(everywhere, Part{3 * d, PartUnits / instances})
		}
		split := map[string][]Part{}
		var entries []Entry
		for i := range 8 { // the hottest; most of them may go anywhere
			key := fmt.Sprint("key-", i)
			if split[key] = everywhere; i%4 == 3 {
				split[key] = []Part{{0, 1}, {3, PartUnits/2 - 1}, {21, PartUnits / 2}}
			}
			entries = append(entries, Entry{[]byte(key), split[key][0].Instance, split[key]})
		}
		var tables [routers]*Table
		for r := range tables {
			tables[r] = mustTable(t, 0, hash, entries, fmt.Sprint("router-", r)).WithRouting(LeastLoaded)
		}
		home, loads := map[string]int32{}, make([]int, instances)
		for m := range messages {
			if m == messages/3 { // some keys move, and what was sent before counts no more
				var set []Entry
				for _, k := range rng.Perm(keys - 8)[:200] {
					set = append(set, Entry{Key: fmt.Append(nil, "key-", 8+k), Instance: 3 * rng.Int32N(instances)})
				}
				for r := range tables {
					tables[r] = changed(t, tables[r], set)
				}
				clear(home)
				clear(loads)
			}
			key := fmt.Sprint("key-", draw())
			d, err := tables[rng.IntN(routers)].Lookup([]byte(key))
			if err != nil {
				t.Fatal(err)
			}
			to := d.Next()
			loads[to/3]++
			if parts := split[key]; parts != nil {
				if !slices.ContainsFunc(parts, func(x Part) bool { return x.Instance == to }) {
					t.Fatalf("%s goes to %d, its parts are %v", key, to, parts)
				}
				continue
			}
			if at, ok := home[key]; ok && at != to {
				t.Fatalf("%s goes to %d and to %d", key, at, to)
			}
			home[key] = to
		}
		mean := float64(messages-messages/3) / instances
		if most := float64(slices.Max(loads)); most > 1.01*mean {
			t.Errorf("z=%v: θ is %.4f: %v", z, most/mean-1, loads)
		}
	}
}

// TestWithRouting: parts are chosen by their weights again, and nothing is counted, where a
// table says so.
func TestWithRouting(t *testing.T) {
	parts := []Part{{1, PartUnits / 4}, {2, PartUnits / 4 * 3}}
	weighted := mustTable(t, 0, nil, []Entry{{[]byte("hot"), 2, parts}, {Key: []byte("whole"), Instance: 1}}, "")
	table := weighted.WithRouting(LeastLoaded)
	whole, err := table.Lookup([]byte("whole"))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if whole.Next() != 1 {
			t.Fatal("a whole key goes elsewhere")
		}
	}
	if got := shares(t, table, "hot", 3000); got[1] != 1000 || got[2] != 2000 {
		t.Errorf("the shares are %v: instance 1 has 1 000 messages of another key", got)
	}
	if got := shares(t, changed(t, table, nil), "hot", 1000); got[1] != 500 {
		t.Errorf("a later version counts anew: %v", got)
	}
	for _, by := range []Routing{Weighted, ""} {
		if got := shares(t, table.WithRouting(by), "hot", PartUnits); got[1] != PartUnits/4 {
			t.Errorf("by weights: %v", got)
		}
	}
	hot, err := table.Lookup([]byte("hot"))
	if n := testing.AllocsPerRun(1000, func() { hot.Next(); whole.Next() }); n > 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
	var sent sync.WaitGroup
	table = changed(t, table, nil)
	hot, _ = table.Lookup([]byte("hot"))
	for range 4 {
		sent.Go(func() {
			for range 1000 {
				hot.Next()
			}
		})
	}
	sent.Wait()
	if one, two := table.sent.at(1).Load(), table.sent.at(2).Load(); one+two != 4000 || max(one, two)-min(one, two) > 8 {
		t.Errorf("at the same time: %d and %d", one, two)
	}
}

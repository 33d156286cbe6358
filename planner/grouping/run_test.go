package grouping

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	spaolacci "github.com/spaolacci/murmur3"
	"pgregory.net/rapid"

	"plannerd/planner"
)

// numbered returns n keys, the same list every time.
func numbered(n int) *planner.Keys {
	known, _ := numberedKeys.LoadOrStore(n, sync.OnceValue(func() *planner.Keys {
		keys := planner.NewKeys(n)
		for i := range n {
			keys.Append([]byte("key:" + strconv.Itoa(i)))
		}
		return keys
	}))
	return known.(func() *planner.Keys)()
}

var numberedKeys sync.Map // by n

// messagesOf reads a whole stream.
func messagesOf(s *Stream, sources int) (keys []string, from []int) {
	for c := s.read(sources); ; {
		k, src := c.next()
		if len(k) == 0 {
			return keys, from
		}
		for i := range k {
			keys = append(keys, string(s.keys.At(int(k[i]))))
			from = append(from, int(src[i]))
		}
	}
}

// decisionsOf routes a whole stream.
func decisionsOf(t interface{ Fatal(...any) }, s *Stream, o Options) (to []int) {
	r, err := prepare(s, o)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]int32, blockMessages)
	for c := s.read(r.o.Sources); ; {
		keys, sources := c.next()
		if len(keys) == 0 {
			return to
		}
		r.router.route(keys, sources, block[:len(keys)])
		for _, w := range block[:len(keys)] {
			to = append(to, int(w))
		}
	}
}

// drawStream draws a small stream with skew, with a given order or generated,
// sometimes with source keys.
func drawStream(t *rapid.T) *Stream {
	n := rapid.IntRange(1, 60).Draw(t, "keys")
	m := rapid.IntRange(1, 1200).Draw(t, "messages")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	skew := rapid.Float64Range(0.5, 8).Draw(t, "skew")
	sample, counts := make([]int32, m), make([]int64, n)
	for i := range sample {
		sample[i] = int32(math.Pow(rng.Float64(), skew) * float64(n))
		counts[sample[i]]++
	}
	var s *Stream
	var err error
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		s, err = Generate(Frequencies{Keys: numbered(n), Count: counts, Seed: rng.Uint64()})
	case 1:
		s, err = Generate(Frequencies{Keys: numbered(n), Count: counts, Order: Independent, Messages: int64(m),
			Seed: rng.Uint64()})
	case 2:
		s, err = NewStream(numbered(n), sample)
		sourceKey := make([]int32, m)
		for i := range sourceKey {
			sourceKey[i] = int32(rng.IntN(5))
		}
		if err == nil {
			s, err = s.WithSourceKeys(planner.KeysOf("a", "b", "c", "d", "e"), sourceKey)
		}
	default:
		s, err = NewStream(numbered(n), sample)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawOptions(t *rapid.T, s *Stream) Options {
	o := Options{
		Scheme:            rapid.SampledFrom(Schemes()).Draw(t, "scheme"),
		Workers:           rapid.IntRange(1, 9).Draw(t, "workers"),
		Sources:           rapid.IntRange(1, 4).Draw(t, "sources"),
		Choices:           rapid.IntRange(1, 5).Draw(t, "choices"),
		HashSeed:          rapid.Uint32Range(0, 1000).Draw(t, "hash seed"),
		LoadInformation:   rapid.SampledFrom([]LoadInformation{Global, Local, LocalProbing}).Draw(t, "information"),
		AggregationPeriod: rapid.SampledFrom([]int64{0, 1, 7, 100, s.Len()}).Draw(t, "period"),
		Points:            new(rapid.IntRange(0, 50).Draw(t, "points")),
		CompareGlobal:     rapid.Bool().Draw(t, "compare"),
	}
	o.Distinct = rapid.Bool().Draw(t, "distinct") && o.Choices <= o.Workers
	if o.LoadInformation == LocalProbing {
		o.ProbePeriod = rapid.Int64Range(1, 60).Draw(t, "probe period")
	}
	return o
}

// Every scheme decides, message by message, as its text says, and the figures
// are those of a recount.
func TestRunsAreLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		o := drawOptions(t, s)
		keys, sources := messagesOf(s, o.Sources)
		want := runLiteral(keys, sources, o)
		if got := decisionsOf(t, s, o); !slices.Equal(got, want.to) {
			t.Fatalf("decisions %v, want %v", got, want.to)
		}
		r, err := Run(s, o)
		if err != nil {
			t.Fatal(err)
		}
		checkFigures(t, r, keys, sources, want.to)
		checkHolds(t, r)
		checkSplit(t, r, want)
		checkAgreement(t, r, want)
	})
}

func checkFigures(t *rapid.T, r *Result, keys []string, sources, to []int) {
	f := figuresOf(keys, sources, to, r.Options)
	m, w := len(to), r.Options.Workers
	for i, worker := range r.Workers {
		if worker.Load != int64(f.loads[i]) || worker.Keys != int64(f.pairsByWorker[i]) {
			t.Fatalf("worker %d: %+v, want load %d and %d keys", i, worker, f.loads[i], f.pairsByWorker[i])
		}
	}
	if len(r.Workers) != w || r.MaxLoad != int64(slices.Max(f.loads)) || r.Messages != int64(m) {
		t.Fatalf("%d workers, greatest load %d, %d messages", len(r.Workers), r.MaxLoad, r.Messages)
	}
	exactly(t, "imbalance", r.Imbalance, int64(f.imbalance[m-1]), int64(w)*int64(m))
	exactly(t, "peak", r.PeakImbalance, int64(slices.Max(f.imbalance)), int64(w)*int64(m))
	exactly(t, "source bound", r.Bounds.Sources, int64(f.sourceBound[m-1]), int64(w)*int64(m))
	sum := int64(0)
	for _, x := range f.imbalance {
		sum += int64(x)
	}
	exactly(t, "average", r.AverageImbalance, sum, int64(w)*int64(m)*int64(m))
	last := 0
	for i, p := range r.Series {
		if want := (i + 1) * m / len(r.Series); int(p.Messages) != want {
			t.Fatalf("point %d at %d, want %d", i, p.Messages, want)
		}
		exactly(t, "I(t)", p.Imbalance, int64(f.imbalance[p.Messages-1]), int64(w))
		exactly(t, "Σ Î(t)", p.SourceBound, int64(f.sourceBound[p.Messages-1]), int64(w))
		exactly(t, "peak", p.Peak, int64(slices.Max(f.imbalance[last:p.Messages])), int64(w))
		last = int(p.Messages)
	}
	if want := min(*r.Options.Points, m); len(r.Series) != want {
		t.Fatalf("%d points, want %d", len(r.Series), want)
	}
	total := 0
	for _, n := range f.perPeriod {
		total += n
	}
	want := Aggregation{Periods: int64(len(f.perPeriod)), Messages: int64(total), Most: int64(slices.Max(f.perPeriod))}
	if r.Aggregation != want {
		t.Fatalf("aggregation %+v, want %+v", r.Aggregation, want)
	}
	shuffled := runLiteral(keys, sources, Options{Scheme: Shuffle, Workers: w, Sources: r.Options.Sources})
	if g := figuresOf(keys, sources, shuffled.to, shuffled.o); r.Memory.ShuffleGrouping != int64(g.pairs) {
		t.Fatalf("shuffle grouping holds %d pairs, want %d", r.Memory.ShuffleGrouping, g.pairs)
	}
	if r.Memory.Pairs != int64(f.pairs) || r.Memory.KeyGrouping != int64(len(shuffled.count)) ||
		r.Keys != len(shuffled.count) {
		t.Fatalf("memory %+v, want %d pairs and %d keys", r.Memory, f.pairs, len(shuffled.count))
	}
}

// exactly checks that x is the number nearest to a/b, but for a rounding or two.
func exactly(t *rapid.T, what string, x float64, a, b int64) {
	want, _ := big.NewRat(a, b).Float64()
	if math.Abs(x-want) > 3e-16*math.Abs(want) {
		t.Fatalf("%s: %v, want %d/%d = %v", what, x, a, b, want)
	}
}

// checkHolds checks what must hold on every run, in exact numbers where there are.
func checkHolds(t interface{ Fatalf(string, ...any) }, r *Result) {
	b := r.Bounds
	top := int64(math.Round(r.P1 * float64(r.Messages)))
	if r.Imbalance < b.TopKey || r.Imbalance < b.Split || r.Imbalance > b.Sources {
		t.Fatalf("%s: I(m)/m = %v is not within %+v", r.Options.Scheme, r.Imbalance, b)
	}
	if b.LeastMaxLoad > r.MaxLoad || b.LeastMaxLoad*int64(b.TopKeyChoices) < top && r.Options.splits() {
		t.Fatalf("T* = %d, greatest load %d, top key %d over %d", b.LeastMaxLoad, r.MaxLoad, top, b.TopKeyChoices)
	}
	if r.Memory.Pairs < r.Memory.KeyGrouping || r.AverageImbalance < 0 || r.PeakImbalance < r.Imbalance {
		t.Fatalf("%+v", r)
	}
	for _, p := range r.Series {
		if p.Imbalance > p.SourceBound || p.Imbalance > p.Peak {
			t.Fatalf("%+v", p)
		}
	}
}

// checkSplit checks T* against all sets of workers (Hall's condition), its proof,
// and what is said of heavy keys.
func checkSplit(t *rapid.T, r *Result, l *literalRun) {
	w := r.Options.Workers
	inside := make([]int64, 1<<w) // messages of keys with exactly this set
	sets := map[string]int{}
	for k, n := range l.count {
		d, all := 1, false
		switch r.Options.Scheme {
		case Shuffle, OnGreedy, OffGreedy:
			all = true
		case PoTC:
			d = l.o.Choices
		case PKG, DChoices, WChoices:
			d = l.offered[k]
			all = d == 0
		}
		set := 1<<w - 1
		if !all {
			set = 0
			for _, c := range l.candidates(k, d) {
				set |= 1 << c
			}
		}
		sets[k] = set
		inside[set] += int64(n)
	}
	least := int64(0)
	for b := 1; b < 1<<w; b++ {
		sum, size := int64(0), int64(0)
		for set := 1; set <= b; set++ {
			if set&^b == 0 {
				sum += inside[set]
			}
		}
		for x := b; x > 0; x &= x - 1 {
			size++
		}
		least = max(least, (sum+size-1)/size)
	}
	b := r.Bounds
	if b.LeastMaxLoad != least {
		t.Fatalf("T* = %d, want %d", b.LeastMaxLoad, least)
	}
	proof, forced := 0, int64(0)
	for _, worker := range b.Bottleneck {
		proof |= 1 << worker
	}
	for set, n := range inside {
		if set&^proof == 0 {
			forced += n
		}
	}
	if forced != b.BottleneckMessages || ceil(forced, int64(len(b.Bottleneck))) != least {
		t.Fatalf("%v have %d messages of their own, not %d: no proof of %d", b.Bottleneck, forced,
			b.BottleneckMessages, least)
	}
}

func checkAgreement(t *rapid.T, r *Result, l *literalRun) {
	if !r.Options.CompareGlobal {
		if r.Agreement != nil {
			t.Fatalf("agreement although nobody asked")
		}
		return
	}
	o := l.o
	o.LoadInformation, o.ProbePeriod = Global, 0
	global := runLiteral(l.keys, l.sources, o)
	same := 0
	for i, w := range l.to {
		if global.to[i] == w {
			same++
		}
	}
	a := r.Agreement
	exactly(t, "Jaccard", a.Jaccard, int64(same), int64(2*len(l.to)-same))
	if a.Same != int64(same) {
		t.Fatalf("%+v, want %d the same", a, same)
	}
}

func TestCandidatesAreMurmur(t *testing.T) {
	keys := planner.KeysOf("", "hello", "the quick brown fox jumps over the lazy dog", "\x00\xff")
	o := Options{Workers: 1 << 16}
	h := newHasher(&o)
	for i := range keys.Len() {
		row := h.append(nil, keys.At(i), 8)
		if len(row) != 8 {
			t.Fatalf("%d candidates", len(row))
		}
		for j, c := range row {
			if want := spaolacci.Sum64WithSeed(keys.At(i), uint32(j)) % (1 << 16); uint64(c) != want {
				t.Errorf("candidate %d of %q: %d, want %d", j, keys.At(i), c, want)
			}
		}
	}
}

func TestDistinctCandidatesReachEveryWorker(t *testing.T) {
	o := Options{Workers: 7, Distinct: true}
	h := newHasher(&o)
	for i := range 100 {
		row := h.append(nil, strconv.AppendInt(nil, int64(i), 10), 7)
		slices.Sort(row)
		if !slices.Equal(row, []int32{0, 1, 2, 3, 4, 5, 6}) {
			t.Fatalf("candidates %v", row)
		}
	}
}

func TestStopAndProgress(t *testing.T) {
	counts := []int64{50_000, 30_000, 20_000}
	s, err := Generate(Frequencies{Keys: numbered(3), Count: counts})
	if err != nil {
		t.Fatal(err)
	}
	var last, calls int64
	progress := func(done, total int64) {
		if calls++; done <= last || total != 200_000 {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}
	runs := []Options{{Workers: 5}, {Workers: 5, Scheme: Hash}}
	results, err := Compare(s, runs, nil, progress)
	if err != nil || last != 200_000 || len(results) != 2 || results[1].Options.Scheme != Hash {
		t.Errorf("%v, done %d", err, last)
	}
	asked := 0
	stop := func() bool { asked++; return asked > 30 }
	if _, err := Compare(s, runs, stop, nil); !errors.Is(err, planner.ErrStopped) || asked != 31 {
		t.Errorf("%v after %d questions", err, asked)
	}
	if _, err := Generate(Frequencies{Keys: numbered(3), Count: counts, Order: Independent,
		Stop: func() bool { return true }}); !errors.Is(err, planner.ErrStopped) {
		t.Error(err)
	}
}

func TestValidation(t *testing.T) {
	for field, o := range map[string]Options{
		"Scheme":            {Workers: 1, Scheme: "best"},
		"Workers":           {},
		"Sources":           {Workers: 1 << 16, Sources: 1 << 11},
		"Choices":           {Workers: 3, Choices: 4, Distinct: true},
		"LoadInformation":   {Workers: 3, LoadInformation: "much"},
		"ProbePeriod":       {Workers: 3, LoadInformation: LocalProbing},
		"AggregationPeriod": {Workers: 3, AggregationPeriod: -1},
		"Points":            {Workers: 3, Points: new(-1)},
	} {
		var input *planner.InputError
		if err := o.Validate(); !errors.As(err, &input) || input.Field != field {
			t.Errorf("%+v: %v, want one about %s", o, err, field)
		}
	}
	for _, o := range []Options{
		{Workers: 1, Distinct: true}, {Workers: MaxWorkers, Scheme: Shuffle}, {Workers: 3, Choices: 7},
	} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

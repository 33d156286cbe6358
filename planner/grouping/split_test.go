package grouping

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// tableOf is the candidate table with these rows.
func tableOf(rows [][]int32) candidates {
	c := candidates{start: []uint32{0}}
	for _, row := range rows {
		c.workers = append(c.workers, row...)
		c.start = append(c.start, uint32(len(c.workers)))
	}
	return c
}

// bySets is T* by Hall's condition: the greatest mean, over all sets of workers,
// of the messages that cannot leave the set.
func bySets(rows [][]int32, counts []int64, workers int) (least int64) {
	for set := uint32(1); set < 1<<workers; set++ {
		inside, size := int64(0), int64(0)
		for w := range workers {
			size += int64(set >> w & 1)
		}
		for k, row := range rows {
			stays := len(row) > 0 || set == 1<<workers-1
			for _, w := range row {
				stays = stays && set>>w&1 == 1
			}
			if stays {
				inside += counts[k]
			}
		}
		least = max(least, ceil(inside, size))
	}
	return least
}

// bySplitting is T* by trying every way to send every message.
func bySplitting(rows [][]int32, counts []int64, loads []int64) int64 {
	if len(rows) == 0 {
		return slices.Max(loads)
	}
	if counts[0] == 0 {
		return bySplitting(rows[1:], counts[1:], loads)
	}
	row := rows[0]
	if len(row) == 0 {
		for w := range loads {
			row = append(row, int32(w))
		}
	}
	least := int64(math.MaxInt64)
	rest := slices.Clone(counts)
	rest[0]--
	for _, w := range row {
		loads[w]++
		least = min(least, bySplitting(rows, rest, loads))
		loads[w]--
	}
	return least
}

func never() bool { return false }

func TestLeastMaxLoadByTryingEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(t, "workers")
		rows, counts := drawTable(t, workers, 4, 2)
		want := bySplitting(rows, counts, make([]int64, workers))
		if sets := bySets(rows, counts, workers); sets != want {
			t.Fatalf("by sets %d, by splitting %d", sets, want)
		}
		checkLeast(t, rows, counts, workers, want)
	})
}

func drawTable(t *rapid.T, workers, keys int, most int64) (rows [][]int32, counts []int64) {
	for range rapid.IntRange(1, keys).Draw(t, "keys") {
		row := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(workers-1)), 0, min(workers, 4), rapid.ID).Draw(t, "row")
		rows = append(rows, row)
		counts = append(counts, rapid.Int64Range(1, most).Draw(t, "count"))
	}
	return rows, counts
}

// Chains of workers make the paths long, along which messages have to be moved:
// sweeps alone do not level them.
func TestLeastMaxLoadBySets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(2, 12).Draw(t, "workers")
		rows, counts := drawTable(t, workers, 12, rapid.SampledFrom([]int64{1, 20, 1 << 40}).Draw(t, "most"))
		for w := range workers - 1 {
			if rapid.IntRange(0, 4).Draw(t, "gap") > 0 {
				rows = append(rows, []int32{int32(w), int32(w + 1)})
				counts = append(counts, rapid.Int64Range(1, 1000).Draw(t, "link"))
			}
		}
		checkLeast(t, rows, counts, workers, bySets(rows, counts, workers))
	})
}

func checkLeast(t *rapid.T, rows [][]int32, counts []int64, workers int, want int64) {
	m := int64(0)
	for _, n := range counts {
		m += n
	}
	got, err := leastMaxLoad(tableOf(rows), counts, workers, m, never)
	if err != nil {
		t.Fatal(err)
	}
	// The same by flow alone, from every group's messages on one of its members.
	s := newSplitting(newGroups(tableOf(rows), counts, workers), m)
	for i, n := range s.weight {
		p := s.start[i] + uint32(n)%(s.start[i+1]-s.start[i])
		s.flow[p], s.loads[s.member[p]] = n, s.loads[s.member[p]]+n
	}
	byFlow, err := s.solve(0, never)
	if err != nil || byFlow.most != got.most {
		t.Fatalf("T* = %d by flow alone, %d by sweeps too: %v %v", byFlow.most, got.most, rows, counts)
	}
	// What it leaves is a splitting: every message on a candidate of its key.
	loads := slices.Clone(s.fixed)
	for i, n := range s.weight {
		for p := s.start[i]; p < s.start[i+1]; p++ {
			n -= s.flow[p]
			loads[s.member[p]] += s.flow[p]
		}
		if n != 0 || slices.ContainsFunc(s.flow, func(x int64) bool { return x < 0 }) {
			t.Fatalf("%d messages of group %d are lost", n, i)
		}
	}
	if !slices.Equal(loads, s.loads) || slices.Max(loads) > byFlow.most {
		t.Fatalf("loads %v, flows make %v", s.loads, loads)
	}
	inside := int64(0)
	for k, row := range rows {
		stays := len(row) > 0 || len(got.bottleneck) == workers
		for _, w := range row {
			_, in := slices.BinarySearch(got.bottleneck, w)
			stays = stays && in
		}
		if stays {
			inside += counts[k]
		}
	}
	if got.most != want || inside != got.messages || ceil(inside, int64(len(got.bottleneck))) != want {
		t.Fatalf("T* = %+v of %d inside, want %d: %v %v", got, inside, want, rows, counts)
	}
}

// A long chain whose one end has everything: the flow must run through all of it.
func TestLeastMaxLoadOfAChain(t *testing.T) {
	const workers = 300
	var rows [][]int32
	var counts []int64
	m := int64(0)
	for w := range int32(workers - 1) {
		rows = append(rows, []int32{w, w + 1})
		n := int64(1)
		if w < 3 {
			n = 1_000_000
		} else if w%2 == 0 {
			n = 40_000
		}
		counts = append(counts, n)
		m += n
	}
	want := int64(0) // on a chain the densest set is an interval
	for from := range rows {
		inside := int64(0)
		for to := from; to < len(rows); to++ {
			inside += counts[to]
			want = max(want, ceil(inside, int64(to-from+2)))
		}
	}
	got, err := leastMaxLoad(tableOf(rows), counts, workers, m, never)
	if err != nil {
		t.Fatal(err)
	}
	if got.most != want {
		t.Errorf("T* = %d, want %d", got.most, want)
	}
}

// Uniform keys, as many as workers, leave 1/e² of the workers without any
// (partial-key-grouping §5.1): the imbalance of every splitting is 0.156 of the
// fair load at least.
func TestUniformKeysLeaveWorkersOut(t *testing.T) {
	const workers = 1000
	counts := make([]int64, workers)
	for k := range counts {
		counts[k] = 1000
	}
	s, err := Generate(Frequencies{Keys: numbered(workers), Count: counts})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(s, Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	idle := 0
	for _, w := range r.Workers {
		if w.Load == 0 {
			idle++
		}
	}
	t.Logf("%d of %d workers idle, T* = %d, greatest load %d, fair 1000", idle, workers, r.Bounds.LeastMaxLoad, r.MaxLoad)
	if math.Abs(float64(idle)/workers-math.Exp(-2)) > 0.03 {
		t.Errorf("%d of %d workers are idle, the paper expects %.3f of them", idle, workers, math.Exp(-2))
	}
	if r.Bounds.Split*workers < 0.156 {
		t.Errorf("T* is %.3f of the fair load above it, the paper says 0.156 at least", r.Bounds.Split*workers)
	}
}

func BenchmarkLeastMaxLoad(b *testing.B) {
	for _, shape := range []struct{ keys, workers, choices int }{
		{100_000, 100, 2}, {100_000, 100, 3}, {100_000, 100, 5}, {100_000, 1000, 2}, {1_000_000, 100, 2},
		{100_000, 10_000, 2}, {100_000, 100, 50}, {1_000_000, 1000, 10},
	} {
		b.Run("keys="+strconv.Itoa(shape.keys)+"/workers="+strconv.Itoa(shape.workers)+"/choices="+
			strconv.Itoa(shape.choices), func(b *testing.B) {
			s := zipf(b, shape.keys, 1, 10*int64(shape.keys), 1)
			o := Options{Workers: shape.workers, Choices: shape.choices}.withDefaults()
			table := newCandidates(s, &o, func(int) int { return shape.choices })
			var r split
			for b.Loop() {
				r, _ = leastMaxLoad(table, s.counts, shape.workers, s.messages, never)
			}
			b.ReportMetric(float64(r.most)*float64(shape.workers)/float64(s.messages), "T*/fair")
			b.ReportMetric(float64(len(r.bottleneck)), "bottleneck")
		})
	}
	b.Run("chain=10000", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(1, 1))
		var rows [][]int32
		var counts []int64
		m := int64(0)
		for w := range int32(9999) {
			rows = append(rows, []int32{w, w + 1})
			counts = append(counts, rng.Int64N(1000)+1)
			m += counts[w]
		}
		table := tableOf(rows)
		for b.Loop() {
			_, _ = leastMaxLoad(table, counts, 10_000, m, never)
		}
	})
}

package grouping

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The experiments of partial-key-grouping §6. Their tables are in the log of
// each test, and those of PLANNERD_GROUPING=0.1 in a tenth of the paper's size.
// The paper's own streams WP, TW, CT and LJ are not at hand, and Figs 4–9 give no
// numbers, so it is their shapes that are tested.

// size scales the paper's number of messages, or of keys.
func size(n int) int { return int(float64(n) * scale) }

// seeds is how many trials each figure is the median of.
func seeds() uint64 {
	switch {
	case scaled:
		return 20
	case testing.Short():
		return 2 // at the same time: more data has no more races
	}
	return 3
}

// workerCounts are the paper's, or the second and the last of them.
func workerCounts() []int {
	if scaled {
		return []int{5, 10, 50, 100}
	}
	return []int{10, 100}
}

// over runs the same options with that many hash seeds, on the stream that make
// gives for each, and returns the results in order.
func over(t *testing.T, n uint64, stream func(seed uint64) *Stream, o Options) []*Result {
	t.Helper()
	results := make([]*Result, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				run := o
				run.HashSeed = uint32(i) << 16
				r, err := Run(stream(uint64(i)), run)
				if err != nil {
					t.Error(err)
					return
				}
				results[i] = r
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, r := range results {
		checkHolds(t, r)
	}
	return results
}

// once makes the stream of each seed only once.
func once(stream func(seed uint64) *Stream) func(uint64) *Stream {
	var made [20]struct {
		sync.Once
		s *Stream
	}
	return func(seed uint64) *Stream {
		m := &made[seed]
		m.Do(func() { m.s = stream(seed) })
		return m.s
	}
}

func always(s *Stream) func(uint64) *Stream { return func(uint64) *Stream { return s } }

// median of a figure of some results.
func median(results []*Result, figure func(*Result) float64) float64 {
	x := make([]float64, len(results))
	for i, r := range results {
		x[i] = figure(r)
	}
	slices.Sort(x)
	return x[len(x)/2]
}

func average(r *Result) float64 { return r.AverageImbalance }
func final(r *Result) float64   { return r.Imbalance }
func bound(r *Result) float64   { return r.Bounds.Split }

// table prints aligned columns.
type table strings.Builder

func (t *table) row(name string, cells ...any) {
	b := (*strings.Builder)(t)
	fmt.Fprintf(b, "\n%-26s", name)
	for _, c := range cells {
		switch c := c.(type) {
		case nil:
			fmt.Fprintf(b, " %9s", "")
		case float64:
			fmt.Fprintf(b, " %9.1e", c)
		default:
			fmt.Fprintf(b, " %9v", c)
		}
	}
}

func (t *table) String() string { return (*strings.Builder)(t).String() }

// named is a stream by name, made anew for each seed where chance makes it.
type named struct {
	name string
	make func(seed uint64) *Stream
}

// allSequences are all sequences.
func allSequences(t *testing.T) []sequence {
	t.Helper()
	all, err := sequences()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shortSequences are all, or those of less than 200 000 messages, in short 20 000.
func shortSequences(t *testing.T) []sequence {
	t.Helper()
	longest := int64(200_000)
	switch {
	case scaled:
		longest = math.MaxInt64
	case testing.Short():
		longest = 20_000
	}
	return slices.DeleteFunc(slices.Clone(allSequences(t)), func(s sequence) bool { return s.Len() >= longest })
}

// allStreams are the recorded and the synthetic ones.
func allStreams(t *testing.T) (all []named) {
	t.Helper()
	for _, s := range shortSequences(t) {
		all = append(all, named{s.name, always(s.Stream)})
	}
	m := size(10_000_000)
	return append(all,
		named{"LN1", once(func(seed uint64) *Stream { return logNormal(t, 1.789, 2.366, m, seed) })},
		named{"LN2", once(func(seed uint64) *Stream { return logNormal(t, 2.245, 1.133, m, seed) })},
		named{"ZF z=0.8 K=1e5", once(func(seed uint64) *Stream { return ordered(t, zipf(t, 100_000, 0.8, int64(m), seed)) })},
		named{"ZF z=1.2 K=1e5", once(func(seed uint64) *Stream { return ordered(t, zipf(t, 100_000, 1.2, int64(m), seed)) })},
	)
}

// Table 1: of the paper's streams, those that can be had.
func TestTable1(t *testing.T) {
	m := size(10_000_000)
	var out table
	out.row("", "messages", "keys", "p1 %", "paper's", "p1 %")
	for _, c := range []struct {
		name string
		s    *Stream
		keys string
		p1   float64
	}{
		{"LN1", logNormal(t, 1.789, 2.366, m, 1), "16k", 14.71},
		{"LN2", logNormal(t, 2.245, 1.133, m, 1), "1.1k", 7.01},
	} {
		out.row(c.name, c.s.Len(), c.s.Distinct(), fmt.Sprintf("%.2f", 100*c.s.P1()), c.keys, fmt.Sprint(c.p1))
		deviation := math.Sqrt(c.p1 * (100 - c.p1) / float64(m)) // of a sample, in %
		if math.Abs(100*c.s.P1()-c.p1) > 0.005+3*deviation {
			t.Errorf("%s: p1 = %.2f %%, the paper has %v %%", c.name, 100*c.s.P1(), c.p1)
		}
	}
	for _, s := range allSequences(t) {
		out.row(s.name, s.Len(), s.Distinct(), fmt.Sprintf("%.2f", 100*s.P1()))
		if strings.HasPrefix(s.name, "slashdot") {
			// The paper's p1 of 3.11 % is over the number of keys.
			over := 100 * float64(s.Count(s.Top())) / float64(s.Distinct())
			out.row("  over its keys, SL2", "", "", fmt.Sprintf("%.2f", over), "82k", "3.11")
			if s.Len() != 948_464 || s.Distinct() != 82_168 || math.Abs(over-3.11) > 0.01 {
				t.Errorf("%d messages, %d keys, %.2f %%", s.Len(), s.Distinct(), over)
			}
		}
	}
	t.Log(out.String())
}

// Table 2 and Q1: hashing is worst, key splitting best, and what is left is what
// no splitting over the candidates could avoid.
func TestTable2(t *testing.T) {
	schemes := []Scheme{PKG, OffGreedy, OnGreedy, PoTC, Hash, Shuffle, DChoices, WChoices}
	workers := workerCounts()
	for _, stream := range allStreams(t) {
		var out table
		var heads []any
		for _, what := range []string{"avg", "end"} {
			for _, w := range workers {
				heads = append(heads, what+" "+strconv.Itoa(w))
			}
		}
		out.row(stream.name, heads...)
		figures := map[Scheme][]float64{}
		var limits []any
		for _, scheme := range schemes {
			var averages, finals []any
			for _, w := range workers {
				results := over(t, seeds(), stream.make, Options{Scheme: scheme, Workers: w})
				x := median(results, average)
				figures[scheme] = append(figures[scheme], x)
				averages, finals = append(averages, x), append(finals, median(results, final))
				if scheme == PKG {
					limits = append(limits, median(results, bound))
				}
			}
			out.row("  "+string(scheme), append(averages, finals...)...)
		}
		out.row("  T*/m − 1/W of pkg", append(make([]any, len(workers)), limits...)...)
		t.Log(out.String())
		for i, w := range workers {
			for _, other := range []Scheme{PoTC, Hash} {
				if figures[PKG][i] > figures[other][i] {
					t.Errorf("%s, W = %d: pkg %.1e is worse than %s %.1e", stream.name, w, figures[PKG][i], other, figures[other][i])
				}
			}
			if figures[Hash][i] < 0.9*figures[OnGreedy][i] {
				t.Errorf("%s, W = %d: hashing %.1e beats on-greedy %.1e", stream.name, w, figures[Hash][i], figures[OnGreedy][i])
			}
		}
	}
}

// Fig. 4 and Q2: local estimation is as good as the global oracle, whatever the
// number of sources.
func TestFig4(t *testing.T) {
	sources := []int{5, 10, 15, 20}
	for _, stream := range allStreams(t) {
		var out table
		out.row(stream.name, "H", "G", "L5", "L10", "L15", "L20", "L5P", "T* bound")
		for _, w := range workerCounts() {
			hash := median(over(t, seeds(), stream.make, Options{Scheme: Hash, Workers: w}), average)
			results := over(t, seeds(), stream.make, Options{Workers: w})
			global, limit := median(results, average), median(results, bound)
			cells := []any{hash, global}
			for _, s := range sources {
				local := median(over(t, seeds(), stream.make, Options{Workers: w, Sources: s, LoadInformation: Local}), average)
				cells = append(cells, local)
				// "Always lower than H, and less than an order of magnitude from G",
				// where G is more than the few messages that S sources come to.
				m := float64(stream.make(0).Len())
				if local > hash || local > 10*max(global, 10*float64(s)/m) {
					t.Errorf("%s, W = %d, S = %d: local %.1e, global %.1e, hashing %.1e", stream.name, w, s, local, global, hash)
				}
			}
			probing := Options{Workers: w, Sources: 5, LoadInformation: LocalProbing, ProbePeriod: 1000}
			cells = append(cells, median(over(t, seeds(), stream.make, probing), average), limit)
			out.row("  W = "+strconv.Itoa(w), cells...)
		}
		t.Log(out.String())
	}
}

// Fig. 5: the imbalance through time is small from early on, with or without
// probing, unless W is above its limit.
func TestFig5(t *testing.T) {
	for _, stream := range allStreams(t) {
		var out table
		out.row(stream.name+", I(t)/t at", "1%", "10%", "25%", "50%", "75%", "100%", "peak/m")
		for _, w := range workerCounts() {
			for _, o := range []Options{
				{Workers: w, Sources: 5}, {Workers: w, Sources: 5, LoadInformation: Local},
				{Workers: w, Sources: 5, LoadInformation: LocalProbing, ProbePeriod: 1000},
			} {
				o.Points = new(100)
				r := over(t, 1, stream.make, o)[0]
				var cells []any
				for _, percent := range []int{1, 10, 25, 50, 75, 100} {
					p := r.Series[percent-1]
					cells = append(cells, p.Imbalance/float64(p.Messages))
				}
				name := "global"
				if o.LoadInformation != "" {
					name = string(o.LoadInformation)
				}
				out.row("  W = "+strconv.Itoa(w)+" "+name, append(cells, r.PeakImbalance)...)
			}
		}
		t.Log(out.String())
	}
}

// Fig. 6: local and global decisions differ in most messages, the less the more
// skew there is, and all the same the loads are balanced.
func TestFig6(t *testing.T) {
	exponents := []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2}
	var out table
	cells := []any{}
	for _, z := range exponents {
		cells = append(cells, fmt.Sprintf("z=%.1f", z))
	}
	out.row("disagreement, %", cells...)
	m := int64(size(10_000_000))
	for _, sources := range []int{1, 5, 10, 20, 50, 100} {
		var share, jaccard []any
		var shares []float64
		for _, z := range exponents {
			results := over(t, seeds(), func(seed uint64) *Stream { return zipf(t, 10_000, z, m, seed) },
				Options{Workers: 5, Sources: sources, LoadInformation: Local, CompareGlobal: true})
			x := median(results, func(r *Result) float64 { return 1 - float64(r.Agreement.Same)/float64(r.Messages) })
			shares = append(shares, x)
			share = append(share, fmt.Sprintf("%.1f", 100*x))
			jaccard = append(jaccard, fmt.Sprintf("%.1f",
				100*median(results, func(r *Result) float64 { return r.Agreement.Jaccard })))
		}
		out.row("S = "+strconv.Itoa(sources)+", worker", share...)
		out.row("       Jaccard overlap", jaccard...)
		if sources == 1 && slices.Max(shares) != 0 {
			t.Errorf("one source disagrees with itself: %v", shares)
		}
		if sources > 1 && !(shares[0] > 0.2 && shares[len(shares)-1] < shares[0]) {
			t.Errorf("S = %d: the disagreement does not fall with skew: %v", sources, shares)
		}
	}
	for _, s := range shortSequences(t) {
		r := over(t, 1, always(s.Stream), Options{Workers: 10, Sources: 5, LoadInformation: Local, CompareGlobal: true})[0]
		out.row(s.name+" S=5 W=10", fmt.Sprintf("%.1f", 100-100*float64(r.Agreement.Same)/float64(r.Messages)),
			"Jaccard", fmt.Sprintf("%.1f", 100*r.Agreement.Jaccard))
	}
	t.Log(out.String())
}

// Fig. 7 and Q3: the balance tips where p1 passes 2/W, about z = 1.2, whatever
// the number of keys.
func TestFig7(t *testing.T) {
	exponents := []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2}
	m := int64(size(10_000_000))
	for _, k := range []int{1000, 10_000, 100_000, 1_000_000} {
		if k > 10_000 && !scaled {
			break
		}
		var out table
		var heads, tops []any
		workers := workerCounts()
		cells := make([][]any, len(workers))
		for _, z := range exponents {
			stream := once(func(seed uint64) *Stream { return zipf(t, k, z, m, seed) })
			p1 := stream(0).P1()
			heads, tops = append(heads, fmt.Sprintf("z=%.1f", z)), append(tops, fmt.Sprintf("%.3f", p1))
			for i, w := range workers {
				x := median(over(t, seeds(), stream, Options{Workers: w, Sources: 5, LoadInformation: Local}), average)
				cells[i] = append(cells[i], x)
				// I(t) grows with t, so its mean is about half of what it ends with.
				if p1 > 2.2/float64(w) && x < 0.4*(p1/2-1/float64(w)) || p1 < 1/float64(w) && k >= 100*w && x > 1e-3 {
					t.Errorf("K = %d, W = %d, z = %v: p1 = %.3f but an imbalance of %.1e", k, w, z, p1, x)
				}
			}
		}
		out.row("K = "+strconv.Itoa(k), heads...)
		out.row("  p1", tops...)
		for i, w := range workers {
			out.row("  W = "+strconv.Itoa(w), cells[i]...)
		}
		t.Log(out.String())
	}
}

// Fig. 8: skew on the sources does no harm. Sources by a key of their own, with a
// Zipf distribution of z = 1 for lack of LJ's out-degrees.
func TestFig8(t *testing.T) {
	vertices := numbered(10_000)
	weights := zipfWeights(vertices.Len(), 1)
	for _, s := range shortSequences(t) {
		origins := make([]int32, s.Len())
		newUrn(weights, 1, false).draw(origins)
		skewed, err := s.WithSourceKeys(vertices, origins)
		if err != nil {
			t.Fatal(err)
		}
		var out table
		out.row(s.name, "U S=5", "K S=5", "U S=10", "K S=10", "U S=20", "K S=20", "T* bound")
		for _, w := range workerCounts() {
			var cells []any
			var limit float64
			for _, sources := range []int{5, 10, 20} {
				o := Options{Workers: w, Sources: sources, LoadInformation: Local}
				even := median(over(t, seeds(), always(s.Stream), o), average)
				results := over(t, seeds(), always(skewed), o)
				uneven := median(results, average)
				limit = median(results, bound)
				cells = append(cells, even, uneven)
				if uneven > 3*max(even, 10*float64(sources)/float64(s.Len())) {
					t.Errorf("%s, W = %d, S = %d: %.1e with skew on the sources, %.1e without", s.name, w, sources, uneven, even)
				}
			}
			out.row("  W = "+strconv.Itoa(w), append(cells, limit)...)
		}
		t.Log(out.String())
	}
}

// Fig. 9 and Q4: with z = 1.2 more choices restore the balance, four with five
// workers and nine with forty, a few tens with fifty or a hundred.
func TestFig9(t *testing.T) {
	keys, m := size(1_000_000), int64(size(10_000_000))
	stream := once(func(seed uint64) *Stream { return ordered(t, zipf(t, keys, 1.2, m, seed)) })
	choices := []int{2, 3, 4, 6, 9, 12, 16, 20, 24, 32, 48}
	var out table
	heads := []any{}
	for _, d := range choices {
		heads = append(heads, "d="+strconv.Itoa(d))
	}
	out.row(fmt.Sprintf("ZF z=1.2 K=%d", keys), append(heads, "d ≥ p1·W")...)
	for _, w := range []int{5, 10, 40, 50, 100} {
		var cells []any
		var x []float64
		for _, d := range choices {
			x = append(x, median(over(t, seeds(), stream, Options{Workers: w, Choices: d, Sources: 5, LoadInformation: Local}),
				average))
			cells = append(cells, x[len(x)-1])
		}
		out.row("  W = "+strconv.Itoa(w), append(cells, fmt.Sprintf("%.1f", stream(0).P1()*float64(w)))...)
		if x[0] < 1e-2 && w > 10 || x[len(x)-1] > 1e-3 {
			t.Errorf("W = %d: %.1e with two choices, %.1e with %d", w, x[0], x[len(x)-1], choices[len(choices)-1])
		}
	}
	t.Log(out.String())
}

// Fig. 10, as far as it is about memory: on WP with eight workers the paper counts
// 2.9 million counters with KG, 1.24 times as many with PKG and 2.48 times with SG.
func TestFig10(t *testing.T) {
	var out table
	out.row("W = 8, S = 8", "KG", "PKG/KG", "SG/KG", "PKG/SG", "aggregation messages, PKG/SG, with 10, 100, 1000 periods")
	for _, stream := range allStreams(t) {
		o := Options{Workers: 8, Sources: 8, LoadInformation: Local}
		r := over(t, 1, stream.make, o)[0]
		pkg, sg := float64(r.Memory.Pairs), float64(r.Memory.ShuffleGrouping)
		kg := float64(r.Memory.KeyGrouping)
		if pkg > 2*kg || pkg > sg {
			t.Errorf("%s: %v pairs with pkg, %v with shuffle grouping, %v keys", stream.name, pkg, sg, kg)
		}
		cells := []any{r.Memory.KeyGrouping, fmt.Sprintf("%.2f", pkg/kg), fmt.Sprintf("%.2f", sg/kg),
			fmt.Sprintf("%.2f", pkg/sg)}
		for _, periods := range []int64{10, 100, 1000} {
			o.Scheme, o.AggregationPeriod = PKG, max(1, r.Messages/periods)
			split := over(t, 1, stream.make, o)[0].Aggregation
			o.Scheme = Shuffle
			shuffled := over(t, 1, stream.make, o)[0].Aggregation
			if split.Messages > shuffled.Messages {
				t.Errorf("%s: %v with pkg, %v with shuffle grouping", stream.name, split, shuffled)
			}
			cells = append(cells, fmt.Sprintf("%.0f/%.0f", split.PerPeriod(), shuffled.PerPeriod()))
		}
		out.row(stream.name, cells...)
	}
	t.Log(out.String())
}

// What must hold for pkg on independent and shuffled streams of a million
// messages, dealt to the sources in turn: within so much of T*.
func TestPKGReachesTheBestSplitting(t *testing.T) {
	within := map[int]float64{1: 1e-4, 5: 3e-4, 10: 5e-4}
	exponents, workers := []float64{0.5, 0.8, 1, 1.2, 1.5, 2}, []int{5, 10, 50, 100}
	worst := map[int]float64{}
	trials := 20
	switch {
	case scaled:
		trials *= len(exponents)
	case testing.Short():
		trials = 2
	}
	for trial := range trials {
		z, w := exponents[trial%len(exponents)], workers[trial/len(exponents)%len(workers)]
		seed := uint64(trial)
		s := zipf(t, 10_000, z, 1_000_000, seed)
		if trial%2 == 1 { // the same frequencies, shuffled
			var err error
			if s, err = Generate(Frequencies{Keys: s.keys, Count: s.counts, Seed: seed}); err != nil {
				t.Fatal(err)
			}
		}
		s = ordered(t, s)
		for sources, limit := range within {
			o := Options{Workers: w, Sources: sources, LoadInformation: Local, HashSeed: uint32(trial) << 16}
			r, err := Run(s, o)
			if err != nil {
				t.Fatal(err)
			}
			checkHolds(t, r)
			above := r.Imbalance - r.Bounds.Split
			worst[sources] = max(worst[sources], above)
			if above > limit {
				t.Errorf("z = %v, W = %d, S = %d, seed %d: %.1e above the best splitting", z, w, sources, trial, above)
			}
		}
	}
	t.Logf("the most above T*/m − 1/W of %d runs: %.1e, %.1e, %.1e with 1, 5, 10 sources", trials, worst[1],
		worst[5], worst[10])
}

// The Jaccard overlap of two assignments to W workers at random is about 1/(2W),
// so figures like the paper's 47 % are agreement, not chance.
func TestAgreementOfChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	sample := make([]int32, 50_000)
	for i := range sample {
		sample[i] = rng.Int32N(5000)
	}
	s, err := NewStream(numbered(5000), sample)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(s, Options{Workers: 40, Sources: 20, LoadInformation: Local, CompareGlobal: true})
	if err != nil {
		t.Fatal(err)
	}
	share := float64(r.Agreement.Same) / float64(r.Messages)
	if share < 0.5 || share > 0.75 || math.Abs(r.Agreement.Jaccard-share/(2-share)) > 1e-12 {
		t.Errorf("%+v", r.Agreement)
	}
}

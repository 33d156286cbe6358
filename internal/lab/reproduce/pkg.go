package reproduce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/planner/grouping"
)

var pkgItems = []Item{
	{"pkg/fig1", PKG, "Fig. 1", "Hashing a skewed stream overloads workers", pkgFig1},
	{"pkg/idle", PKG, "§5.1", "As many keys alike as workers: workers that get nothing", pkgIdle},
	{"pkg/theorem5.1", PKG, "Theorem 5.1", "Imbalance of one choice and of two, where no key is heavy", theorem51},
	{"pkg/table1", PKG, "Table 1", "The share of the most frequent key", pkgTable1},
	{"pkg/table2", PKG, "Table 2", "Imbalance of six schemes over the number of workers", pkgTable2},
	{"pkg/fig4", PKG, "Fig. 4", "Local against global knowledge of the loads", pkgFig4},
	{"pkg/fig5", PKG, "Fig. 5", "Imbalance through time", pkgFig5},
	{"pkg/agreement", PKG, "§6.2, Q2", "How far local and global decisions agree", pkgAgreement},
	{"pkg/fig6", PKG, "Fig. 6", "Decisions that differ from the global oracle's, over skew", pkgFig6},
	{"pkg/fig7", PKG, "Fig. 7", "Imbalance over skew", pkgFig7},
	{"pkg/fig8", PKG, "Fig. 8", "Sources that get skewed parts of the stream", pkgFig8},
	{"pkg/fig9", PKG, "Fig. 9", "Imbalance over the number of choices", pkgFig9},
	{"pkg/memory", PKG, "§6.2, Q4", "What workers hold over the number of choices", pkgMemory},
	{"pkg/fig10a", PKG, "Fig. 10(a)", "Throughput over the time that a message takes", fig10a},
	{"pkg/table3", PKG, "Table 3", "Latency over the time that a message takes", pkgTable3},
	{"pkg/counters", PKG, "§6.2, Q5", "Counters that workers hold, over those of key grouping", pkgCounters},
}

// numbered names n keys.
func numbered(n int) *planner.Keys {
	keys := planner.NewKeys(n)
	for i := range n {
		keys.Append(strconv.AppendInt([]byte("key:"), int64(i), 10))
	}
	return keys
}

// shares are those of n keys in a Zipf stream, in proportion to r^−z for the rank r.
func shares(n int, z float64) []float64 {
	out, sum := make([]float64, n), 0.0
	for i := range out {
		out[i] = math.Pow(float64(i+1), -z)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// zipf is a stream of m independent messages of n keys (§6.1).
func zipf(n int, z float64, m int64, seed uint64) *grouping.Stream {
	weights := make([]int64, n)
	for i, share := range shares(n, z) {
		weights[i] = int64(share * (1 << 40))
	}
	return must(grouping.Generate(grouping.Frequencies{
		Keys: numbered(n), Count: weights, Order: grouping.Independent, Messages: m, Seed: seed,
	}))
}

// logNormal is a stream of m draws of exp(μ + σ·N(0,1)), rounded to the number of a key.
func logNormal(mu, sigma float64, m int, seed uint64) *grouping.Stream {
	rng := rand.New(rand.NewPCG(seed, 0))
	numbers := map[float64]int32{}
	sample := make([]int32, m)
	for i := range sample {
		x := math.Round(math.Exp(mu + sigma*rng.NormFloat64()))
		n, ok := numbers[x]
		if !ok {
			n = int32(len(numbers))
			numbers[x] = n
		}
		sample[i] = n
	}
	return must(grouping.NewStream(numbered(len(numbers)), sample))
}

// dataset is a stream of Table 1, or one that stands for it.
type dataset struct {
	name string
	make func(seed uint64) *grouping.Stream
}

// datasets are those that formulas make, and for WP and TW, which are not to be had, Zipf
// streams with the share of the most frequent key that Table 1 gives, and as many messages
// for each key.
func (m *measurement) datasets() []dataset {
	surrogate := func(keys int, p1, perKey float64) func(uint64) *grouping.Stream {
		return func(seed uint64) *grouping.Stream {
			return zipf(keys, exponent(keys, p1), int64(perKey*float64(keys)), seed)
		}
	}
	logNormal := func(mu, sigma float64) func(uint64) *grouping.Stream {
		return func(seed uint64) *grouping.Stream {
			return logNormal(mu, sigma, of(m, 500_000, 10_000_000), seed)
		}
	}
	return []dataset{
		{"WP", surrogate(of(m, 29_000, 290_000), 0.0932, 22/2.9)},
		{"TW", surrogate(of(m, 15_500, 310_000), 0.0267, 1200/31.0)},
		{"LN1", logNormal(1.789, 2.366)},
		{"LN2", logNormal(2.245, 1.133)},
	}
}

// exponent is the z at which the most frequent of n keys has a share of p1.
func exponent(n int, p1 float64) float64 {
	least, most := 0.0, 3.0
	for range 40 {
		z := (least + most) / 2
		if shares(n, z)[0] < p1 {
			least = z
		} else {
			most = z
		}
	}
	return least
}

// streamOf makes the stream of a seed.
type streamOf = func(seed uint64) *grouping.Stream

// imbalance runs options on the stream of each seed and returns I(m)/m.
func (m *measurement) imbalance(stream streamOf, o grouping.Options) []float64 {
	return m.figure(stream, o, func(r *grouping.Result) float64 { return r.Imbalance })
}

func (m *measurement) figure(stream streamOf, o grouping.Options,
	figure func(*grouping.Result) float64,
) []float64 {
	all := m.figures(stream, o, func(r *grouping.Result) []float64 { return []float64{figure(r)} })
	return all[0]
}

// figures are by what is measured, then by seed.
func (m *measurement) figures(stream streamOf, o grouping.Options,
	figures func(*grouping.Result) []float64,
) [][]float64 {
	return m.eachOf(func(seed uint64) []float64 {
		s := stream(seed)
		o.HashSeed = uint32(seed) << 16
		o.Stop = m.stopped
		r := must(grouping.Run(s, o))
		return figures(r)
	})
}

// local are options of sources that know what they have sent themselves.
func local(workers, sources, choices int) grouping.Options {
	return grouping.Options{Workers: workers, Sources: sources, Choices: choices, LoadInformation: grouping.Local}
}

func pkgFig1(m *measurement) {
	messages := int64(of(m, 300_000, 10_000_000))
	m.setting("Zipf, 10 000 keys, %d messages, W 10, hashing and two choices", messages)
	m.axes("z", "I(m)/m")
	for _, z := range []float64{0.5, 1, 1.5} {
		stream := func(seed uint64) *grouping.Stream { return zipf(10_000, z, messages, seed) }
		for _, scheme := range []grouping.Scheme{grouping.Hash, grouping.PKG} {
			all := m.imbalance(stream, grouping.Options{Scheme: scheme, Workers: 10})
			m.add(string(scheme), z, all...)
		}
	}
	m.claim(m.at("hash", 1.5) > 0.1, "hashing overloads a worker by more than a tenth of all messages at z = 1.5")
}

func theorem51(m *measurement) {
	m.setting("5W keys alike, so that p1 = 1/(5W), W² messages for each key")
	m.axes("W", "I(m) over m/W")
	ratio, most := []float64{}, 0.0
	for _, w := range of(m, []int{10, 30, 100}, []int{10, 30, 100, 300}) {
		messages := int64(min(5*w*w*w, of(m, 500_000, 20_000_000)))
		stream := func(seed uint64) *grouping.Stream { return zipf(5*w, 0, messages, seed) }
		for _, o := range []grouping.Options{{Scheme: grouping.Hash, Workers: w}, {Workers: w}} {
			all := m.figure(stream, o, func(r *grouping.Result) float64 { return r.Imbalance * float64(w) })
			name := "two choices"
			if o.Scheme == grouping.Hash {
				name = "one choice"
				ratio = append(ratio, median(all)/(math.Log(float64(w))/math.Log(math.Log(float64(w)))))
			} else {
				most = max(most, median(all))
			}
			m.add(name, w, all...)
		}
	}
	m.claim(slices.Max(ratio) <= 3*slices.Min(ratio),
		"one choice: in proportion to ln W/ln ln W, within a factor of three")
	m.claim(most <= 1, "two choices: no more than m/W")
}

func pkgTable1(m *measurement) {
	m.setting("LN1 and LN2 of %d messages; %s", of(m, 500_000, 10_000_000), m.surrogates())
	m.axes("stream", "p1, %")
	for _, d := range m.datasets() {
		all := m.each(func(seed uint64) float64 {
			s := d.make(seed)
			return 100 * s.P1()
		})
		m.add("p1", d.name, all...)
	}
}

// surrogates says what stands for WP and TW.
func (m *measurement) surrogates() string {
	return "for WP and TW Zipf streams of " + of(m, "29 000 and 15 500", "290 000 and 310 000") +
		" keys, with their p1 and as many messages for each key"
}

func pkgTable2(m *measurement) {
	m.setting("%s; I(m)/m at the end", m.surrogates())
	m.axes("stream and W", "I(m)/m")
	schemes := []grouping.Scheme{grouping.PKG, grouping.OffGreedy, grouping.OnGreedy, grouping.PoTC, grouping.Hash}
	workers := of(m, []int{5, 50, 100}, []int{5, 10, 50, 100})
	best := true
	for _, d := range m.datasets()[:2] {
		made := m.made(d)
		for _, w := range workers {
			x := fmt.Sprintf("%s, %d", d.name, w)
			for _, scheme := range schemes {
				all := m.imbalance(made, grouping.Options{Scheme: scheme, Workers: w})
				m.add(string(scheme), x, all...)
			}
			best = best && m.at("pkg", x) <= m.at("potc", x) && m.at("pkg", x) <= m.at("hash", x)
		}
	}
	m.claim(best, "PKG is never worse than PoTC or hashing")
}

// made makes the stream of each seed once.
func (m *measurement) made(d dataset) func(seed uint64) *grouping.Stream {
	streams := make([]*grouping.Stream, m.seeds)
	for i := range streams {
		streams[i] = d.make(uint64(i) + 1)
	}
	return func(seed uint64) *grouping.Stream { return streams[seed-1] }
}

func pkgFig4(m *measurement) {
	m.setting("LN1 and LN2, %d messages, two choices", of(m, 500_000, 10_000_000))
	m.axes("stream and W", "I(m)/m")
	lower, near := true, true
	for _, d := range m.datasets()[2:] {
		made := m.made(d)
		for _, w := range []int{5, 50} {
			x := fmt.Sprintf("%s, %d", d.name, w)
			for name, o := range map[string]grouping.Options{
				"hash": {Scheme: grouping.Hash, Workers: w}, "global": {Workers: w},
				"local, S = 5": local(w, 5, 2), "local, S = 20": local(w, 20, 2),
			} {
				all := m.imbalance(made, o)
				m.add(name, x, all...)
			}
			floor := 200 / float64(of(m, 500_000, 10_000_000)) // some messages of each source
			for _, name := range []string{"local, S = 5", "local, S = 20"} {
				lower = lower && m.at(name, x) <= m.at("hash", x)
				near = near && m.at(name, x) <= 10*max(m.at("global", x), floor)
			}
		}
	}
	m.sortSeries()
	m.claim(lower, "local knowledge is never worse than hashing")
	m.claim(near, "it is within a factor of ten of global knowledge, or of a few messages of each source")
}

func pkgFig5(m *measurement) {
	m.setting("LN2, %d messages, two choices, S 5", of(m, 500_000, 10_000_000))
	m.axes("messages so far, %", "I(t)/t")
	made := m.made(m.datasets()[3])
	for _, w := range []int{5, 50} {
		for _, o := range []grouping.Options{{Workers: w, Sources: 5}, local(w, 5, 2)} {
			o.Points = new(10)
			all := m.figures(made, o, func(r *grouping.Result) []float64 {
				out := make([]float64, 10)
				for i := range out {
					p := r.Series[min(i, len(r.Series)-1)]
					out[i] = p.Imbalance / float64(p.Messages)
				}
				return out
			})
			name := "global"
			if o.LoadInformation != "" {
				name = string(o.LoadInformation)
			}
			for i := range all {
				m.add(fmt.Sprintf("%s, W = %d", name, w), 10*(i+1), all[i]...)
			}
		}
	}
	m.claim(m.at("local, W = 5", 100) < 1e-2, "with few workers the imbalance is negligible")
	m.claim(m.at("local, W = 50", 100) > m.at("local, W = 5", 100), "too many workers are out of balance")
}

func pkgAgreement(m *measurement) {
	m.setting("%s; WP, with numbers of sources and workers of Figs 4 and 5", m.surrogates())
	m.axes("W", "Jaccard overlap of decisions, %")
	made := m.made(m.datasets()[0])
	for _, sources := range []int{5, 20} {
		for _, w := range []int{5, 10, 50} {
			o := local(w, sources, 2)
			o.CompareGlobal = true
			all := m.figure(made, o, func(r *grouping.Result) float64 { return 100 * r.Agreement.Jaccard })
			m.add(fmt.Sprintf("local and global, S = %d", sources), w, all...)
		}
	}
}

func pkgFig6(m *measurement) {
	messages := int64(of(m, 200_000, 10_000_000))
	m.setting("Zipf, 10 000 keys, %d messages, W 5", messages)
	m.axes("z", "decisions that differ, %")
	falls := true
	for _, sources := range of(m, []int{5, 20}, []int{5, 10, 20, 50, 100}) {
		name := fmt.Sprintf("S = %d", sources)
		for _, z := range []float64{0.4, 0.8, 1.2} {
			o := local(5, sources, 2)
			o.CompareGlobal = true
			all := m.figure(func(seed uint64) *grouping.Stream { return zipf(10_000, z, messages, seed) }, o,
				func(r *grouping.Result) float64 { return 100 * (1 - float64(r.Agreement.Same)/float64(r.Messages)) })
			m.add(name, z, all...)
		}
		falls = falls && m.at(name, 1.2) < m.at(name, 0.4)
	}
	m.claim(falls, "the disagreement falls with skew, whatever the number of sources")
}

func pkgFig7(m *measurement) {
	messages := int64(of(m, 300_000, 10_000_000))
	m.setting("Zipf, %d messages, two choices, S 5, W 10 and 50", messages)
	m.axes("z", "I(m)/m")
	for _, keys := range of(m, []int{10_000}, []int{1000, 10_000, 100_000, 1_000_000}) {
		for _, w := range []int{10, 50} {
			for _, z := range []float64{0.4, 0.8, 1, 1.2, 1.6, 2} {
				all := m.imbalance(func(seed uint64) *grouping.Stream { return zipf(keys, z, messages, seed) },
					local(w, 5, 2))
				m.add(fmt.Sprintf("K = %d, W = %d", keys, w), z, all...)
			}
		}
	}
	m.claim(m.at("K = 10000, W = 10", 0.8) < 1e-2 && m.at("K = 10000, W = 10", 2.0) > 0.1,
		"loads are balanced up to a skew about z = 1.2, and no further")
}

func pkgFig8(m *measurement) {
	messages := of(m, 200_000, 10_000_000)
	m.setting("LN2, %d messages, W 10; sources get messages in turn, or by a key of Zipf z = 1 of their own", messages)
	m.axes("S", "I(m)/m")
	harmless := true
	for _, sources := range []int{5, 10, 20} {
		for _, skewed := range []bool{false, true} {
			name := "even"
			if skewed {
				name = "skewed"
			}
			all := m.imbalance(func(seed uint64) *grouping.Stream {
				s := logNormal(2.245, 1.133, messages, seed)
				if skewed {
					s = must(s.WithSkewedSources(1, seed))
				}
				return s
			}, local(10, sources, 2))
			m.add(name, sources, all...)
		}
		harmless = harmless && m.at("skewed", sources) <= 3*max(m.at("even", sources), 10*float64(sources)/float64(messages))
	}
	m.claim(harmless, "skew of the sources does no harm: within a factor of three, or of a few messages of each source")
}

func pkgFig9(m *measurement) {
	keys, messages := of(m, 100_000, 1_000_000), int64(of(m, 400_000, 10_000_000))
	m.setting("Zipf z 1.2, %d keys, %d messages, S 5", keys, messages)
	m.axes("d", "I(m)/m")
	made := m.made(dataset{"ZF", func(seed uint64) *grouping.Stream {
		return zipf(keys, 1.2, messages, seed)
	}})
	for _, w := range of(m, []int{5, 40}, []int{5, 10, 40, 50, 100}) {
		for _, d := range []int{2, 4, 9, 20, 40} {
			all := m.imbalance(made, local(w, 5, d))
			m.add(fmt.Sprintf("W = %d", w), d, all...)
		}
	}
	m.claim(m.at("W = 5", 4) < 1e-3, "four choices balance five workers")
	m.claim(m.at("W = 40", 9) < of(m, 1e-2, 1e-3) && m.at("W = 40", 2) > 5*m.at("W = 40", 9),
		"nine choices balance forty workers")
}

func pkgCounters(m *measurement) {
	m.setting("%s; W 8, S 8", m.surrogates())
	m.axes("scheme", "counters over those of key grouping")
	made := m.made(m.datasets()[0])
	o := local(8, 8, 2)
	for scheme, held := range map[string]func(grouping.Memory) int64{
		"pkg":     func(x grouping.Memory) int64 { return x.Pairs },
		"shuffle": func(x grouping.Memory) int64 { return x.ShuffleGrouping },
	} {
		all := m.figure(made, o, func(r *grouping.Result) float64 {
			return float64(held(r.Memory)) / float64(r.Memory.KeyGrouping)
		})
		m.add(scheme, "WP", all...)
	}
	m.sortSeries()
	m.claim(m.at("pkg", "WP") <= 2, "PKG holds at most twice the counters of key grouping")
	m.claim(m.at("shuffle", "WP") > m.at("pkg", "WP"), "shuffle grouping holds more than PKG")
}

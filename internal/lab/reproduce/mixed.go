package reproduce

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"plannerd/compact"
	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

var mixedItems = []Item{
	{"mixed/fig1", Mixed, "Fig. 1", "One overloaded instance slows down all others", mixedFig1},
	{"mixed/fig2", Mixed, "Fig. 2", "What a split key costs an aggregate, and a join", fig2},
	{"mixed/fig4", Mixed, "Fig. 4", "LLFD and MinTable on the running example", fig4},
	{"mixed/fig6", Mixed, "Fig. 6", "Rounding values one by one, and so that their sum comes out right", fig6},
	{"mixed/theorem1", Mixed, "Theorem 1", "θ of LLFD where a perfect assignment exists", theorem1},
	{"mixed/theorem2", Mixed, "Theorem 2", "Mixed balances no worse than LLFD", theorem2},
	{"mixed/lemma3", Mixed, "Lemmas 1–3", "Key costs and θ of Simple where a perfect assignment exists", lemma3},
	{"mixed/fig7a", Mixed, "Fig. 7(a)", "Skewness of hashing over the number of instances", fig7a},
	{"mixed/fig7b", Mixed, "Fig. 7(b)", "Skewness of hashing over the number of keys", fig7b},
	{"mixed/fig8", Mixed, "Fig. 8(b)", "Migration over the number of instances", fig8},
	{"mixed/fig9", Mixed, "Fig. 9", "Migration and time to plan over θ_max", fig9},
	{"mixed/fig10", Mixed, "Fig. 10", "Migration over the number of keys", fig10},
	{"mixed/fig11", Mixed, "Fig. 11", "Error and time of the compact form over the degree of discretisation", fig11},
	{"mixed/fig12", Mixed, "Fig. 12", "Migration and time to plan over the fluctuation", fig12},
	{"mixed/fig13", Mixed, "Fig. 13", "Throughput and latency over the fluctuation", fig13},
	{"mixed/fig14", Mixed, "Fig. 14(a)", "Throughput on words over θ_max", fig14},
	{"mixed/fig14b", Mixed, "Fig. 14(b)", "Throughput on stock transactions over θ_max", fig14b},
	{"mixed/fig15", Mixed, "Fig. 15", "Throughput while an instance is added", fig15},
	{"mixed/fig16", Mixed, "Fig. 16", "Throughput of a query of three joins over θ_max", fig16},
	{"mixed/fig17", Mixed, "Fig. 17", "Migration of Mixed over the table limit", fig17},
	{"mixed/fig18", Mixed, "Fig. 18", "The table of MinMig over the number of adjustments", fig18},
	{"mixed/fig19", Mixed, "Fig. 19", "Migration over the window of the state", fig19},
	{"mixed/fig20", Mixed, "Fig. 20", "The table of MinMig over β", fig20},
	{"mixed/fig21", Mixed, "Fig. 21", "Migration of MinMig over β", fig21},
}

// synthetic is the workload of §V and how it is planned. The paper's defaults are printed
// in bold in its Table II, and lost in its text; N_D and A_max follow from what is said of
// Fig. 18 and of Fig. 17, K from the size at which Fig. 8 has the jump that it has.
type synthetic struct {
	strategy               string
	keys, instances        int
	z, fluctuation, theta  float64
	table                  int64 // A_max; below 0: no limit
	window, intervals      int
	beta                   float64
	seed                   uint64
	token                  bool // a ring; else modulo
	degree                 int  // of the compact form; 0: keys
	grow                   int  // the interval before which an instance is added; 0: never
	skipUnreachableChanges bool
}

func (m *measurement) synthetic(strategy string, seed uint64) synthetic {
	return synthetic{
		strategy: strategy, keys: of(m, 10_000, 1_000_000), instances: 15, z: 0.85, fluctuation: 1, theta: 0.08,
		table: 3000, window: 5, intervals: of(m, 6, 20), beta: planner.DefaultBeta, seed: seed, token: true,
	}
}

func (s synthetic) String() string {
	table := "no limit"
	if s.table >= 0 {
		table = strconv.FormatInt(s.table, 10)
	}
	return fmt.Sprintf("K %d, N_D %d, z %v, f %v, θ_max %v, A_max %s, w %d, %d intervals",
		s.keys, s.instances, s.z, s.fluctuation, s.theta, table, s.window, s.intervals)
}

// step is what one interval came to.
type step struct {
	plan  *planner.Plan // nil where none is made
	costs []float64     // by key
	// before and after are the instances of the keys, before the plan and after it.
	before, after []int32
	instances     int
	error         float64 // of the loads by which the compact form was planned, the greatest
	records       int     // that were planned: keys, or their classes
	took          time.Duration
}

// drive plans interval after interval, each on the assignment that the last plan left,
// and tells of those after the window has filled. Without a strategy nothing is planned.
func (s synthetic) drive(m *measurement, tell func(step)) {
	target := s.configuration(s.instances)
	all := s.instances
	if s.grow > 0 {
		all++
	}
	g := must(workload.New(workload.Config{Keys: s.keys, Instances: all, Z: s.z, Fluctuation: s.fluctuation,
		Window: s.window, Seed: s.seed}))
	current := must(g.Assign(target.Hash))
	o := planner.Options{ThetaMax: s.theta, Beta: &s.beta, Certificate: planner.CertificateOff,
		Effort: planner.EffortFast, Stop: m.stopped}
	if s.table >= 0 {
		o.TableLimit = &s.table
	}
	base := target
	for i := range s.window + s.intervals {
		if s.grow > 0 && i == s.window+s.grow {
			target = s.configuration(all)
		}
		statistics, err := g.Next(current)
		if errors.Is(err, workload.ErrUnreachable) && s.skipUnreachableChanges {
			continue
		}
		check(err)
		statistics.Instance = current
		next := s.step(g, statistics, target, base, o)
		if current, base = next.after, target; i >= s.window {
			tell(next)
		}
	}
	check(m.ctx.Err())
}

// step plans one interval.
func (s synthetic) step(g *workload.Generator, statistics *planner.Statistics,
	target, base planner.Configuration, o planner.Options,
) (next step) {
	next = step{costs: statistics.Cost, before: statistics.Instance, instances: len(target.Instances)}
	if s.strategy == "" {
		next.after = next.before
		if len(target.Instances) != len(base.Instances) {
			next.after = must(g.Assign(target.Hash))
		}
		return next
	}
	s.plan(&next, must(planner.NewSnapshot(statistics, target, planner.Base{Configuration: base})), o)
	next.after = slices.Clone(next.before)
	for _, move := range next.plan.Moves {
		next.after[move.Item] = move.To
	}
	return next
}

// configuration has instances 0, 1, … under the hash function.
func (s synthetic) configuration(instances int) (c planner.Configuration) {
	var nodes []partitioner.Instance
	for id := range int32(instances) {
		nodes = append(nodes, partitioner.Instance{ID: id})
		c.Instances = append(c.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	function := partitioner.Config{}
	if !s.token {
		function.Function = "modulo"
	}
	c.Hash = must(partitioner.New(function, nodes))
	return c
}

// plan plans a step.
func (s synthetic) plan(next *step, snapshot *planner.Snapshot, o planner.Options) {
	begin := time.Now()
	if next.records = s.keys; s.degree == 0 {
		next.plan = must(planner.Run(s.strategy, snapshot, o))
		next.took = time.Since(begin)
		return
	}
	c := must(compact.Compress(snapshot, compact.Options{Degree: s.degree, Scales: compact.Scales{Cost: 1, State: 1}}))
	begin = time.Now()
	p := must(c.Plan(s.strategy, o))
	next.plan, next.took, next.records = p.Plan, time.Since(begin), len(c.Records)
	for _, e := range p.Error {
		next.error = max(next.error, e.After)
	}
}

// means drives a workload and returns the averages of figures over its intervals, which is
// what §V reports.
func (s synthetic) means(m *measurement, figures ...func(step) float64) []float64 {
	all := make([][]float64, len(figures))
	s.drive(m, func(next step) {
		for i, f := range figures {
			all[i] = append(all[i], f(next))
		}
	})
	out := make([]float64, len(figures))
	for i := range all {
		out[i] = mean(all[i])
	}
	return out
}

func moved(s step) float64     { return 100 * s.plan.Migration.Fraction }
func tableSize(s step) float64 { return float64(s.plan.TableAfter) }
func millis(s step) float64    { return float64(s.took.Nanoseconds()) / 1e6 }

// sweep measures strategies over x: what moves, and for timed, the time to plan as well. set
// changes the workload to that of an x.
func sweep[X any](m *measurement, timed bool, strategies []string, suffix string, xs []X,
	set func(*synthetic, X),
) {
	for _, strategy := range strategies {
		name := strategy + suffix
		for _, x := range xs {
			all := m.eachOf(func(seed uint64) []float64 {
				s := m.synthetic(strategy, seed)
				set(&s, x)
				return s.means(m, moved, millis)
			})
			m.add(name, x, all[0]...)
			if timed {
				m.add("time: "+name, x, all[1]...)
				m.unit("time: "+name, "time to plan, ms")
			}
		}
	}
}

var mixedAndMinTable = []string{planner.Mixed, planner.MinTable}

func fig4(m *measurement) {
	m.setting("keys k1…k6 of cost 7, 4, 2, 1, 5, 1 on two instances, θ_max 0, no table limit")
	m.axes("strategy", "entries in the table; loads of d1 and d2")
	keys := planner.KeysOf("k1", "k2", "k3", "k4", "k5", "k6")
	statistics := &planner.Statistics{
		Keys: keys, Cost: []float64{7, 4, 2, 1, 5, 1}, State: []float64{7, 4, 2, 1, 5, 1},
		Instance: []int32{1, 1, 2, 2, 1, 2}, HashInstance: []int32{1, 1, 1, 2, 2, 2},
	}
	target := planner.Configuration{Instances: []planner.Instance{{ID: 1, Capacity: 1}, {ID: 2, Capacity: 1}}}
	s := must(planner.NewSnapshot(statistics, target, planner.Base{Configuration: target}))
	for _, strategy := range []string{planner.LLFD, planner.MinTable} {
		p := must(planner.Run(strategy, s, planner.Options{Certificate: planner.CertificateOff}))
		m.add("entries", strategy, tableSize(step{plan: p}))
		m.add("load of d1", strategy, p.Instances[0].After)
		m.add("load of d2", strategy, p.Instances[1].After)
	}
}

func fig6(m *measurement) {
	m.setting("the values 8, 6, 3, 2, 2, 1, 1, 1, 1, 1; R = 4, so that 8, 4, 2 and 1 represent them")
	m.axes("method", "|δ|, the sum of all deviations")
	walk := compact.Walk{Levels: compact.NewLevels(4, 8)}
	piecewise := 0.0
	for _, x := range []float64{8, 6, 3, 2, 2, 1, 1, 1, 1, 1} {
		walk.Next(x)
		piecewise += x - (3*math.Ceil(x/3) - 1) // ξ: 2 for 1 to 3, 5 for 4 to 6, 8 for 7 to 9
	}
	m.add("|δ|", "piecewise constant", math.Abs(piecewise))
	m.add("|δ|", "hlhe", math.Abs(walk.Deviation))
}

const plantedLoad = 10_000

// planted cuts n equal loads into random keys, none as heavy as a load, and scatters them.
func planted(r *rand.Rand, n int) *planner.Snapshot {
	s := &planner.Statistics{Keys: &planner.Keys{}}
	target := planner.Configuration{}
	for d := range n {
		target.Instances = append(target.Instances, planner.Instance{ID: int32(d), Capacity: 1})
		cuts := []int{0, plantedLoad}
		for range 1 + r.IntN(1+r.IntN(12)) {
			cuts = append(cuts, 1+r.IntN(plantedLoad-1))
		}
		slices.Sort(cuts)
		for j := 1; j < len(cuts); j++ {
			if cuts[j] == cuts[j-1] {
				continue
			}
			s.Keys.Append(fmt.Appendf(nil, "%d/%d", d, j))
			s.Cost = append(s.Cost, float64(cuts[j]-cuts[j-1]))
			s.State = append(s.State, float64(r.IntN(100)))
			s.Instance = append(s.Instance, int32(r.IntN(n)))
			s.HashInstance = append(s.HashInstance, int32(r.IntN(n)))
		}
	}
	return must(planner.NewSnapshot(s, target, planner.Base{Configuration: target}))
}

// overBound is the greatest θ of a strategy over ⅓(1−1/N_D) of many planted cases.
func overBound(m *measurement, strategy string, instances int) []float64 {
	cases := of(m, 300, 10_000)
	return m.each(func(seed uint64) float64 {
		r := rand.New(rand.NewPCG(seed, uint64(instances)))
		worst := 0.0
		for range cases {
			s := planted(r, instances)
			p := must(planner.Run(strategy, s, planner.Options{Certificate: planner.CertificateOff}))
			worst = max(worst, p.Theta.After/((1-1/float64(instances))/3))
		}
		return worst
	})
}

// overBounds adds overBound of a strategy for several numbers of instances, and returns the
// greatest.
func overBounds(m *measurement, strategy string) float64 {
	m.setting("%d planted cases for each N_D and seed, θ_max 0", of(m, 300, 10_000))
	m.axes("N_D", "greatest θ over ⅓(1−1/N_D)")
	most := 0.0
	for _, instances := range []int{2, 3, 5, 8, 15} {
		worst := overBound(m, strategy, instances)
		m.add(strategy, instances, worst...)
		most = max(most, slices.Max(worst))
	}
	return most
}

func theorem1(m *measurement) {
	m.claim(overBounds(m, planner.LLFD) <= 1+1e-9, "θ is never above ⅓(1−1/N_D)")
}

func lemma3(m *measurement) {
	m.claim(overBounds(m, planner.LPT) <= 1+1e-9, "θ of Simple is never above ⅓(1−1/N_D) (Lemma 3)")
	// Lemmas 1 and 2 are about the keys, whatever plans: of qN_D+1 keys, q+1 share an
	// instance, and one that carries L̄ with keys below L̄ has two at least.
	first, second := true, true
	r := rand.New(rand.NewPCG(1, 2))
	for range of(m, 300, 10_000) {
		n := 2 + r.IntN(9)
		s := planted(r, n)
		costs := slices.Sorted(slices.Values(s.Cost))
		slices.Reverse(costs)
		second = second && len(costs) >= 2*n
		for q := 1; q*n < len(costs); q++ {
			first = first && costs[q*n] <= plantedLoad/float64(q+1)
		}
	}
	m.claim(first, "the key of rank qN_D+1 costs at most L̄/(q+1) (Lemma 1)")
	m.claim(second, "there are at least 2N_D keys (Lemma 2)")
}

func theorem2(m *measurement) {
	m.setting("costs 4, 4, 4, 7, 5, states 7, 4, 3, 8, 8, on instances 1, 1, 1, 0, 1 of two, by hash; θ_max 0")
	m.axes("strategy", "load of the instances")
	at := []int32{1, 1, 1, 0, 1}
	statistics := &planner.Statistics{
		Keys: planner.KeysOf("a", "b", "c", "d", "e"), Cost: []float64{4, 4, 4, 7, 5}, State: []float64{7, 4, 3, 8, 8},
		Instance: at, HashInstance: at,
	}
	target := planner.Configuration{Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}}}
	s := must(planner.NewSnapshot(statistics, target, planner.Base{Configuration: target}))
	theta := map[string]float64{}
	for _, strategy := range []string{planner.LLFD, planner.Mixed} {
		p := must(planner.Run(strategy, s, planner.Options{Certificate: planner.CertificateOff}))
		theta[strategy] = p.Theta.After
		loads := []float64{p.Instances[0].After, p.Instances[1].After}
		m.add("least", strategy, slices.Min(loads))
		m.add("greatest", strategy, slices.Max(loads))
	}
	m.claim(theta[planner.Mixed] <= theta[planner.LLFD], "θ of Mixed is at most that of LLFD")
}

// skewOfHash is the ratio of the greatest to the least mean load of instances by hash alone.
func skewOfHash(m *measurement, set func(*synthetic)) []float64 {
	return m.each(func(seed uint64) float64 {
		s := m.synthetic("", seed)
		s.window, s.intervals = 1, of(m, 10, 49)
		set(&s)
		sums := make([]float64, s.instances)
		s.drive(m, func(next step) {
			for k, cost := range next.costs {
				sums[next.after[k]] += cost
			}
		})
		return slices.Max(sums) / slices.Min(sums)
	})
}

func fig7a(m *measurement) {
	s := m.synthetic("", 1)
	m.setting("hash alone, K %d, z %v, f %v, mean loads of %d intervals", s.keys, s.z, s.fluctuation, of(m, 10, 49))
	m.axes("N_D", "greatest over least mean load")
	over := func(name string, add func(string, any, ...float64), set func(*synthetic), instances ...int) {
		for _, n := range instances {
			all := skewOfHash(m, func(s *synthetic) { set(s); s.instances = n })
			add(name, n, all...)
		}
	}
	still := func(s *synthetic) { s.fluctuation, s.intervals = 0, 1 }
	const million = 1_000_000
	over("hash", m.add, func(*synthetic) {}, 5, 10, 20, 40)
	over("f 0", m.vary, still, 5, 10, 20, 40)
	over("f 0, K 1000000", m.vary, func(s *synthetic) { still(s); s.keys = million }, 5, 40)
	m.claim(m.at("hash", 40) > m.at("hash", 5), "the skewness grows with the number of instances")
}

func fig7b(m *measurement) {
	s := m.synthetic("", 1)
	m.setting("hash alone, N_D %d, z %v, f %v, mean loads of %d intervals", s.instances, s.z, s.fluctuation, of(m, 10, 49))
	m.axes("K", "greatest over least mean load")
	for _, keys := range of(m, []int{5000, 10_000, 100_000}, []int{5000, 10_000, 100_000, 1_000_000}) {
		all := skewOfHash(m, func(s *synthetic) { s.keys = keys })
		m.add("hash", keys, all...)
	}
	m.claim(m.at("hash", 5000) > m.at("hash", 100_000), "more keys are spread more evenly")
}

// windows are those of Figs 8 to 10.
var windows = []int{1, 5}

func fig8(m *measurement) {
	m.setting("%v; N_D and w vary", m.synthetic("", 1))
	m.axes("N_D", "state moved, %")
	below := []int{5, 15, 25, 35}
	for _, w := range windows {
		suffix := fmt.Sprintf(", w = %d", w)
		sweep(m, false, mixedAndMinTable, suffix, append(slices.Clone(below), 40), func(s *synthetic, n int) {
			s.window, s.instances = w, n
		})
		lower := !slices.ContainsFunc(below, func(n int) bool {
			return m.at(planner.Mixed+suffix, n) >= m.at(planner.MinTable+suffix, n)
		})
		m.claim(lower, "w = %d: Mixed moves less than MinTable up to N_D = 35", w)
		if m.full {
			m.claim(m.at(planner.Mixed+suffix, 40) > 0.8*m.at(planner.MinTable+suffix, 40),
				"w = %d: at N_D = 40 Mixed moves nearly as much as MinTable", w)
		}
	}
}

var thetas = []float64{0.02, 0.08, 0.15, 0.2, 0.3}

func fig9(m *measurement) {
	m.setting("%v; θ_max and w vary", m.synthetic("", 1))
	m.axes("θ_max", "state moved, %")
	mixed, minTable := 0.0, 0.0
	for _, w := range windows {
		suffix := fmt.Sprintf(", w = %d", w)
		sweep(m, true, mixedAndMinTable, suffix, thetas, func(s *synthetic, theta float64) {
			s.theta, s.window = theta, w
		})
		ratio := "MinTable / Mixed" + suffix
		for _, theta := range thetas {
			x, y := m.at(planner.MinTable+suffix, theta), m.at(planner.Mixed+suffix, theta)
			minTable, mixed = minTable+x, mixed+y
			m.add(ratio, theta, x/y)
		}
		m.unit(ratio, "state moved by MinTable over that of Mixed")
	}
	m.claim(m.at("mixed, w = 5", 0.02) > m.at("mixed, w = 5", 0.3), "a stricter balance moves more")
	m.claim(m.at("mixed, w = 5", 0.08) < m.at("mixed, w = 1", 0.08), "with a larger window less is moved")
	m.claim(m.at("time: mixed, w = 5", 0.02) < 1000, "a plan for θ_max 0.02 takes less than a second")
	m.add("MinTable / Mixed", "all θ_max and w", minTable/mixed)
}

func fig10(m *measurement) {
	m.setting("%v; K and w vary", m.synthetic("", 1))
	m.axes("K", "state moved, %")
	keys := of(m, []int{5000, 10_000, 50_000}, []int{5000, 10_000, 50_000, 100_000, 500_000, 1_000_000})
	for _, w := range windows {
		sweep(m, false, mixedAndMinTable, fmt.Sprintf(", w = %d", w), keys, func(s *synthetic, k int) {
			s.keys, s.window = k, w
		})
	}
	less, shrinks := true, true
	for _, k := range keys {
		less = less && m.at("mixed, w = 5", k) < m.at("mintable, w = 5", k)
		shrinks = shrinks && m.at("mixed, w = 5", k) < m.at("mixed, w = 1", k) &&
			m.at("mintable, w = 5", k) < m.at("mintable, w = 1", k)
	}
	m.claim(less, "Mixed moves less than MinTable at every K")
	m.claim(shrinks, "both move less with w = 5")
}

func fig11(m *measurement) {
	m.setting("%v; mixed on keys and on classes of keys", m.synthetic("", 1))
	m.axes("R", "time to plan, ms")
	figures := func(degree int, set func(*synthetic)) [][]float64 {
		return m.eachOf(func(seed uint64) []float64 {
			s := m.synthetic(planner.Mixed, seed)
			s.degree = degree
			set(&s)
			return s.means(m, func(next step) float64 { return 100 * next.error }, millis,
				func(next step) float64 { return float64(next.records) })
		})
	}
	worst := 0.0
	for _, degree := range []int{0, 1, 8, 64, 256} {
		all := figures(degree, func(*synthetic) {})
		x := any(degree)
		if degree == 0 {
			x = "keys"
		} else {
			m.add("error, %", x, all[0]...)
			worst = max(worst, slices.Max(all[0]))
		}
		m.add("time, ms", x, all[1]...)
		m.vary("records", x, all[2]...)
	}
	m.seeds = 1
	for _, x := range []string{"keys", "8", "256"} {
		degree, _ := strconv.Atoi(x)
		all := figures(degree, func(s *synthetic) { s.keys, s.intervals = 100_000, 2 })
		if degree > 0 {
			m.vary("error, % (K 100000)", x, all[0]...)
		}
		m.vary("time, ms (K 100000)", x, all[1]...)
		m.vary("records (K 100000)", x, all[2]...)
	}
	m.unit("error, % (K 100000)", "error of the loads, %")
	m.unit("error, %", "error of the loads, %")
	m.unit("records", "records that are planned")
	m.unit("records (K 100000)", "records that are planned")
	m.claim(worst <= 1, "the error is at most 1 %% up to R = 256")
	m.claim(m.at("time, ms", 8) <= m.at("time, ms", "keys")/5, "planning at R = 8 is about ten times as fast as on keys")
}

var mixedAndRivals = []string{planner.Mixed, planner.Readj, planner.MixedBruteForce}

var fluctuations = []float64{0.1, 0.5, 1, 2}

func fig12(m *measurement) {
	m.setting("%v; f varies", m.synthetic("", 1))
	m.axes("f", "state moved, %")
	fs := of(m, fluctuations[1:3], fluctuations)
	sweep(m, true, mixedAndRivals, "", fs,
		func(s *synthetic, f float64) { s.fluctuation, s.intervals = f, of(m, 2, 10) })
	time := func(strategy string) float64 { return m.at("time: "+strategy, 1.0) }
	m.claim(time(planner.Mixed) < time(planner.Readj)/2, "Mixed is much faster than Readj")
	m.claim(time(planner.Mixed) < time(planner.MixedBruteForce)/2, "Mixed is much faster than MixedBF")
	last := fs[len(fs)-1]
	m.claim(m.at(planner.Mixed, last) < m.at(planner.Readj, last), "Mixed moves less than Readj at f = %v", last)
	m.claim(math.Abs(m.at(planner.Mixed, last)-m.at(planner.MixedBruteForce, last)) < 0.1*m.at(planner.Mixed, last)+0.2,
		"MixedBF moves about as much as Mixed")
}

func fig17(m *measurement) {
	m.setting("%v; A_max = 2^i", m.synthetic("", 1))
	m.axes("i", "state moved, %")
	exponents := of(m, []int{5, 7, 9, 11}, []int{1, 3, 5, 7, 9, 11, 13, 15})
	for _, theta := range []float64{0.02, 0.08, 0.15, 0.3} {
		sweep(m, false, []string{planner.Mixed}, fmt.Sprintf(", θ_max = %v", theta), exponents,
			func(s *synthetic, i int) { s.theta, s.table = theta, 1<<i })
	}
	first, last := exponents[0], exponents[len(exponents)-1]
	m.claim(m.at("mixed, θ_max = 0.08", first) > 2*m.at("mixed, θ_max = 0.08", last),
		"a small table costs much migration, a large one little")
}

func fig18(m *measurement) {
	keys, adjustments := of(m, 500, 10_000), of(m, 600, 2048)
	m.setting("minmig, modulo hashing, K %d, N_D 15, z 0.85, f 0.5, %d adjustments", keys, adjustments)
	m.axes("θ_max", "entries over (N_D−1)/N_D·K: the mean of the later half")
	for _, theta := range []float64{0.02, 0.08, 0.15} {
		all := m.each(func(seed uint64) float64 {
			s := synthetic{strategy: planner.MinMig, keys: keys, instances: 15, z: 0.85, fluctuation: 0.5, theta: theta,
				table: -1, window: 1, intervals: adjustments, beta: planner.DefaultBeta, seed: seed, skipUnreachableChanges: true}
			var sizes []float64
			s.drive(m, func(next step) { sizes = append(sizes, tableSize(next)) })
			return mean(sizes[len(sizes)/2:]) / (14.0 / 15 * float64(keys))
		})
		m.add(planner.MinMig, theta, all...)
	}
}

func fig19(m *measurement) {
	m.setting("%v; w varies", m.synthetic("", 1))
	m.axes("w", "state moved, %")
	ws := of(m, []int{1, 5, 15}, []int{1, 5, 10, 15, 20})
	sweep(m, false, mixedAndMinTable, "", ws, func(s *synthetic, w int) { s.window = w })
	last := ws[len(ws)-1]
	m.claim(m.at(planner.Mixed, last) < m.at(planner.Mixed, 1), "with a larger window Mixed moves less")
	m.claim(m.at(planner.Mixed, last) < m.at(planner.MinTable, last), "Mixed moves less than MinTable")
}

var betas = []float64{0.5, 1, 1.5, 2, 3}

func fig20(m *measurement) {
	m.setting("%v, without A_max; β varies", m.synthetic("", 1))
	m.axes("β", "entries in the table after ten adjustments")
	for _, beta := range betas {
		all := m.each(func(seed uint64) (size float64) {
			s := m.synthetic(planner.MinMig, seed)
			s.beta, s.table, s.intervals = beta, -1, 10-s.window
			s.drive(m, func(next step) { size = tableSize(next) })
			return size
		})
		m.add(planner.MinMig, beta, all...)
	}
	m.claim(m.at(planner.MinMig, 0.5) > m.at(planner.MinMig, 1.5), "the table shrinks as β grows")
	m.claim(math.Abs(m.at(planner.MinMig, 2.0)/m.at(planner.MinMig, 1.5)-1) <= 0.35, "it is stable for β from 1.5 to 2")
}

func fig21(m *measurement) {
	m.setting("%v, without A_max; β varies", m.synthetic("", 1))
	m.axes("β", "state moved, %")
	sweep(m, false, []string{planner.MinMig}, "", betas, func(s *synthetic, beta float64) {
		s.beta, s.table, s.intervals = beta, -1, 10-s.window
	})
	m.claim(m.at(planner.MinMig, 1.0) < m.at(planner.MinMig, 3.0), "a larger β moves more state")
}

package main

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// goals are strategies of this tool alone, which plan as Cruise Control is described to: goals are
// reached one after the other, and what one does must not worsen an earlier one. Rules come first, then
// capacities: the size of the table, what instances have of other resources, and the bounds of loads. The
// last goal is an even distribution: each load within θ_max of its fair one on either side. A goal moves
// keys off the instances that are above it, the costliest first, each to the least loaded instance that
// every goal so far accepts; where no key can move, two are exchanged. In the end instances below the last
// goal take keys from the busiest ones; capacityGoals do without it.
const (
	goals         = "goals"
	capacityGoals = "goals-capacity"
)

// greedy is a plan in the making.
type greedy struct {
	*planner.Snapshot
	at      []int32
	take    [][]float64 // by resource and item, cost last
	loads   [][]float64 // by resource and instance
	highs   [][]float64 // the bounds of these
	low     []float64   // by instance: θ_max below the fair load of cost
	now     int         // the resource at hand
	live    []int32
	entries int64 // beside those of other keys
	table   int64 // the most entries
	reached int   // how many resources count from now on
	even    bool  // and that of their distribution
}

func planByGoals(s *planner.Snapshot, o planner.Options, even bool) (*planner.Plan, error) {
	g := newGreedy(s, o)
	g.place()
	g.shrink()
	for r := range g.loads {
		g.now, g.reached = r, r+1
		g.relieve()
	}
	if g.even = even; even {
		g.fill()
	}
	return planner.Place(s, o, g.at, nil)
}

func newGreedy(s *planner.Snapshot, o planner.Options) *greedy {
	n := len(s.Instances)
	g := &greedy{Snapshot: s, at: slices.Clone(s.Current), take: append(slices.Clone(s.Amounts), s.Cost),
		low: make([]float64, n), table: *o.TableLimit - s.RetainedEntries()}
	total, high := 0.0, make([]float64, n)
	for range g.take {
		g.loads = append(g.loads, make([]float64, n))
	}
	for i, d := range s.Current {
		for r, take := range g.take {
			g.loads[r][d] += take[i]
		}
		total += s.Cost[i]
		g.entries += g.entry(int32(i), d)
	}
	for r := range s.Resources { // limited ones
		most := make([]float64, n)
		for d, x := range s.Instances {
			most[d] = x.Capacities[r]
		}
		g.highs = append(g.highs, most)
	}
	g.now = len(g.highs)
	for d, share := range s.FairShares(s.Cost) {
		if s.Instances[d].Live() {
			g.live = append(g.live, int32(d))
		}
		g.low[d], high[d] = (1-o.ThetaMax)*share*total, (1+o.ThetaMax)*share*total
	}
	g.highs = append(g.highs, high)
	return g
}

// entry is 1 where a key needs one on an instance.
func (g *greedy) entry(item, d int32) int64 {
	if g.Hash[item] == d {
		return 0
	}
	return 1
}

func (g *greedy) put(item, to int32) {
	from := g.at[item]
	for r, take := range g.take {
		g.loads[r][from] -= take[item]
		g.loads[r][to] += take[item]
	}
	g.entries += g.entry(item, to) - g.entry(item, from)
	g.at[item] = to
}

// fits reports whether the rules and the table let a key go to an instance.
func (g *greedy) fits(item, to int32) bool {
	more := g.entry(item, to) - g.entry(item, g.at[item])
	return g.Eligibility.MayBe(int(item), to) && (more <= 0 || g.entries+more <= g.table)
}

// accepts reports whether no goal so far gets worse if a key goes to an instance, for another one that comes from
// there, unless that is negative.
func (g *greedy) accepts(item, to, back int32) bool {
	from := g.at[item]
	for r, take := range g.take[:g.reached] {
		more := take[item]
		if back >= 0 {
			more -= take[back]
		}
		if load := g.loads[r]; more > 0 && load[to]+more > g.highs[r][to] || more < 0 && load[from]-more > g.highs[r][from] ||
			g.even && r == g.now && load[from]-more < g.low[from] {
			return false
		}
	}
	return g.fits(item, to)
}

// above reports whether an instance is above its bound in the resource at hand.
func (g *greedy) above(d int32) bool { return g.loads[g.now][d] > g.highs[g.now][d] }

// short reports whether it is below what distribution asks for.
func (g *greedy) short(d int32) bool { return g.loads[g.now][d] < g.low[d] }

// rate is what loads are compared by; an instance without a fair load comes last.
func (g *greedy) rate(d int32) float64 {
	return (g.loads[g.now][d] + 1e-300) / (g.highs[g.now][d] + 1e-300)
}

// byRate are the live instances, the least loaded first.
func (g *greedy) byRate() []int32 {
	list := slices.Clone(g.live)
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(g.rate(a), g.rate(b)) })
	return list
}

// on are the keys of an instance that take anything of the resource at hand, those of most first.
func (g *greedy) on(d int32) (items []int32) {
	for i, at := range g.at {
		if at == d && g.take[g.now][i] > 0 {
			items = append(items, int32(i))
		}
	}
	slices.SortFunc(items, func(a, b int32) int {
		return cmp.Or(cmp.Compare(g.take[g.now][b], g.take[g.now][a]), g.Keys.Compare(a, b))
	})
	return items
}

// place has keys leave the instances where they may not be.
func (g *greedy) place() {
	for i, d := range g.at {
		if g.Instances[d].Live() && g.Eligibility.MayBe(i, d) {
			continue
		}
		for _, to := range g.byRate() {
			if g.Eligibility.MayBe(i, to) {
				g.put(int32(i), to)
				break
			}
		}
	}
}

// shrink has the keys of least state go home while the table has too many entries.
func (g *greedy) shrink() {
	var away []int32
	for i, d := range g.at {
		if d != g.Hash[i] && g.Eligibility.MayBe(i, g.Hash[i]) {
			away = append(away, int32(i))
		}
	}
	slices.SortFunc(away, func(a, b int32) int {
		return cmp.Or(cmp.Compare(g.state(a), g.state(b)), g.Keys.Compare(a, b))
	})
	for _, i := range away {
		if g.entries <= g.table {
			return
		}
		g.put(i, g.Hash[i])
	}
}

func (g *greedy) state(item int32) float64 {
	if g.State == nil {
		return 1
	}
	return g.State[item]
}

// relieve moves keys off the instances above their bounds, the busiest first.
func (g *greedy) relieve() {
	for _, d := range slices.Backward(g.byRate()) {
		for _, i := range g.on(d) {
			if !g.above(d) {
				break
			}
			for _, to := range g.byRate() {
				if to != d && g.accepts(i, to, -1) {
					g.put(i, to)
					break
				}
			}
		}
		for _, i := range g.on(d) {
			if !g.above(d) {
				break
			}
			g.exchange(i)
		}
	}
}

// exchange swaps a key for the cheapest one that leaves room for it.
func (g *greedy) exchange(item int32) {
	d := g.at[item]
	for _, to := range g.byRate() {
		if to == d || !g.fits(item, to) {
			continue
		}
		for _, other := range slices.Backward(g.on(to)) {
			if g.take[g.now][other] >= g.take[g.now][item] {
				break
			}
			if g.Eligibility.MayBe(int(other), d) && g.accepts(item, to, other) &&
				g.entries+g.entry(item, to)-g.entry(item, d)+g.entry(other, d)-g.entry(other, to) <= g.table {
				g.put(item, to)
				g.put(other, d)
				return
			}
		}
	}
}

// fill has instances below the goal of distribution take keys from the busiest ones.
func (g *greedy) fill() {
	for _, d := range g.byRate() {
		for _, from := range slices.Backward(g.byRate()) {
			if from == d || !g.short(d) {
				continue
			}
			for _, i := range g.on(from) {
				if !g.short(d) {
					break
				}
				if g.accepts(i, d, -1) {
					g.put(i, d)
				}
			}
		}
	}
}

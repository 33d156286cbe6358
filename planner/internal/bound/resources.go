package bound

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
	"plannerd/planner/internal/relaxation"
)

// ResourceProof is what is proven of a problem with several resources: the Lagrangian relaxation that prices
// each resource of each instance and each table entry, what must leave each overloaded instance for the
// resource that demands most there, and the proofs of each resource alone. The greatest counts.
type ResourceProof struct {
	Problem *assign.Problem
	Y       relaxation.Prices // the best known; ByResource and Table
	// Entries is a table size that no plan stays below; 0 where it was not looked for.
	Entries    float64
	bound      float64 // scaled
	infeasible bool
	alone      []*Proof // by resource; nil where nothing is above a limit
	unit       float64  // weight → scaled

	excess      [][]int64 // by resource and instance: load above the limit if nothing but hot keys moves
	room        [][]int64 // limit less what stays whatever the plan
	least       []int64   // by resource: the smallest room
	limited     bool
	tableExcess float64
	hot         float64
	everything  float64
}

// ProveResources bounds the objective of a problem with several resources. reached is the objective of a
// plan that meets all constraints, or +∞.
func ProveResources(p *assign.Problem, reached float64, level Level) *ResourceProof {
	f := newResourceProof(p)
	f.alone = make([]*Proof, len(p.ByResource))
	if p.Items.Len() <= quickWhole { // on more items whole keys hardly matter
		for r, q := range p.ByResource {
			if slices.ContainsFunc(q.Live, func(d int32) bool { return f.excess[r][d] > 0 }) || r == 0 && f.limited {
				f.Alone(r, level)
			}
		}
		f.cover()
		f.countEntries(reached)
	}
	if !f.infeasible && float64(f.bound/f.unit) < reached*(1-1e-7) {
		f.ascend(reached)
	}
	f.infeasible = f.infeasible || f.bound > f.everything*(1+1e-9)
	return f
}

func newResourceProof(p *assign.Problem) *ResourceProof {
	f := &ResourceProof{Problem: p, unit: p.UnitWeight(), limited: p.Goal.TableLimit != nil}
	entries := p.Entries
	for _, h := range p.Hot {
		from, home := p.Items.Current[h.Item], p.Items.Home[h.Item]
		if from == h.To {
			continue
		}
		f.hot += float64(f.unit * p.WeightBelow(h.Item))
		if from != home {
			entries--
		}
		if h.To != home {
			entries++
		}
	}
	if f.limited {
		f.tableExcess = float64(entries - *p.Goal.TableLimit)
	}
	for _, q := range p.ByResource {
		load, room, background := slices.Clone(q.Before), make([]int64, len(q.Before)), slices.Clone(q.Residual)
		for _, h := range p.Hot {
			amount := q.AmountOf(h.Item)
			load[p.Items.Current[h.Item]] -= amount
			load[h.To] += amount
			background[h.To] += amount
		}
		excess, least := make([]int64, len(load)), int64(math.MaxInt64)
		for _, d := range q.Live {
			excess[d] = load[d] - q.Limit[d]
			room[d] = q.Limit[d] - background[d]
			least = min(least, room[d])
		}
		f.excess, f.room, f.least = append(f.excess, excess), append(f.room, room), append(f.least, least)
		f.Y.ByResource = append(f.Y.ByResource, make([]float64, len(load)))
	}
	state := p.TotalState
	for _, d := range p.Instances {
		state -= p.State.Fixed(d.State)
	}
	f.everything = f.unit * p.Objective(state, p.Named())
	return f
}

// countEntries proves that the table limit cannot be met, where no plan is known that meets it.
func (f *ResourceProof) countEntries(reached float64) {
	if !f.limited || f.infeasible || !math.IsInf(reached, 1) {
		return
	}
	if q := f.Problem.CountingEntries(); q != nil {
		x := ProveResources(q, math.Inf(1), Quick)
		if f.infeasible = x.infeasible; f.infeasible {
			return // whatever the table
		}
		f.Entries = x.LowerBound() + float64(q.Retained)
		f.infeasible = f.Entries > float64(*f.Problem.Goal.TableLimit)
	}
}

// Infeasible reports whether no plan meets all constraints.
func (f *ResourceProof) Infeasible() bool { return f.infeasible }

// Alone proves of one resource what is true whatever the others are.
func (f *ResourceProof) Alone(resource int, level Level) *Proof {
	if f.alone[resource] == nil {
		alone := Prove(f.Problem.ByResource[resource], level)
		f.alone[resource] = alone
		f.infeasible = f.infeasible || alone.Infeasible()
		f.bound = max(f.bound, alone.Bound)
	}
	return f.alone[resource]
}

// Conclude notes that a complete search found that no plan has a lesser objective; +∞: that there is none.
func (f *ResourceProof) Conclude(objective float64) {
	if f.infeasible = math.IsInf(objective, 1); !f.infeasible {
		f.bound = max(f.bound, f.unit*objective)
	}
}

// LowerBound is in units of the objective.
func (f *ResourceProof) LowerBound() float64 {
	b := max(0, f.bound/f.unit)
	if b < 1<<53 && wholeWeights(f.Problem) {
		return math.Ceil(b * (1 - 1e-12))
	}
	return b
}

// Fits reports whether an instance has room for an item beside what stays there.
func (f *ResourceProof) Fits(item, d int32) bool {
	for r, q := range f.Problem.ByResource {
		if q.AmountOf(item) > f.room[r][d] {
			return false
		}
	}
	return true
}

// cover adds up what leaves each overloaded instance at least.
func (f *ResourceProof) cover() {
	p := f.Problem
	on, total := make([][]int32, len(p.Before)), f.hot
	for i, d := range p.Items.Current {
		if !p.IsHot(i) && (!p.IsLive[d] || f.exceeded(d) > 0) {
			on[d] = append(on[d], int32(i))
		}
	}
	for d, items := range on {
		if len(items) > 0 {
			total += f.coverOf(int32(d), items)
		}
	}
	f.bound = max(f.bound, total*(1-1e-9))
}

// exceeded counts the limits above which an instance is if nothing moves.
func (f *ResourceProof) exceeded(d int32) int {
	n := 0
	for _, x := range f.excess {
		if x[d] > 0 {
			n++
		}
	}
	return n
}

const leavingStates = 20_000 // of each knapsack

// coverOf is what leaves an instance at least, scaled. What does not fit there leaves in any case.
func (f *ResourceProof) coverOf(d int32, items []int32) float64 {
	p, leaves := f.Problem, 0.0
	forced := make([]bool, len(items))
	for at, i := range items {
		if forced[at] = !p.IsLive[d] || !f.Fits(i, d); forced[at] {
			leaves += float64(f.unit * p.WeightBelow(i))
		}
	}
	most := 0.0
	for r, q := range p.ByResource {
		need := f.excess[r][d]
		var list []knapsack.Item
		for at, i := range items {
			switch amount := q.AmountOf(i); {
			case forced[at]:
				need -= amount
			case amount > 0:
				list = append(list, knapsack.Item{
					Cost: amount, Weight: f.unit * p.WeightBelow(i), Tie: uint32(p.Items.Hashes[i] >> 32), ID: i,
				})
			}
		}
		if need > 0 && p.IsLive[d] {
			solver := knapsack.Solver{States: leavingStates, Splits: 2, Canonical: p.Items.Compare}
			if x := solver.Solve(list, need); x.Feasible {
				most = max(most, x.Bound)
			}
		}
	}
	return leaves + most
}

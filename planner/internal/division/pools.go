package division

import (
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// Instances that share split keys form a pool: other weights shift load between them, and
// move nothing. So what counts is the load of a pool, as long as the whole keys of each of
// its instances fit there by themselves. A strategy plans whole keys with each pool as one
// bin of the sum of their bounds. Then keys that stay in a pool stay where they are, those
// that come to it go where most room is, and the weights level what is left.

// pools are the groups of instances between which weights shift load.
type pools struct {
	of      []int32   // by instance: its pool, an index into members
	members [][]int32 // ascending, also by their first
}

// pools of the division. False: no instance shares keys with another.
func (d *Division) pools() (in pools, any bool) {
	x := d.space
	root := assign.UpTo(len(x.Instances))
	find := func(d int32) int32 {
		for root[d] != d {
			d = root[d]
		}
		return d
	}
	for _, y := range d.Splits {
		if x.frozen(y) {
			continue
		}
		first := assign.None
		for _, part := range y.Parts {
			switch d := find(part.Instance); {
			case part.Weight <= negligible:
			case first == assign.None:
				first = d
			case first != d:
				any = true
				first, d = min(first, d), max(first, d)
				root[d] = first
			}
		}
	}
	in.of = make([]int32, len(root))
	for d := range root {
		r := find(int32(d))
		if r == int32(d) {
			in.of[d] = int32(len(in.members))
			in.members = append(in.members, nil)
		}
		in.of[d] = in.of[r]
		in.members[in.of[d]] = append(in.members[in.of[d]], int32(d))
	}
	return in, any
}

// contracted is the problem with each pool as one instance. Weights are rounded to units, so
// that a pool can carry a unit of each part less than its instances.
func (d *Division) contracted(in pools) *assign.Problem {
	p, items, entries := d.Problem, *d.Problem.Items, d.Problem.Retained
	items.Current, items.Home = slices.Clone(items.Current), slices.Clone(items.Home)
	for i, d := range items.Current {
		h := items.Home[i]
		items.Current[i], items.Home[i] = in.of[d], in.of[h]
		if d != h && in.of[d] == in.of[h] {
			entries++ // a key that stays keeps its entry
		}
	}
	sites := make([]assign.Instance, len(in.members))
	for i, members := range in.members {
		sites[i] = p.Instances[members[0]]
		for _, d := range members[1:] {
			y := p.Instances[d]
			sites[i].Capacity += y.Capacity
			sites[i].Cost += y.Cost
			sites[i].State += y.State
			sites[i].Merging += y.Merging
			sites[i].Parts += y.Parts
		}
	}
	for _, y := range d.Splits {
		if pool := in.of[y.Parts[0].Instance]; len(in.members[pool]) > 1 {
			sites[pool].Merging += float64(float64(d.space.Items.Cost[y.Item]*float64(len(y.Parts))) / PartUnits)
		}
	}
	return assign.NewProblem(&items, sites, entries, p.Goal, p.Meter)
}

// pooled runs an algorithm on pools. The assignment is nil where there are none, or no time,
// and where it matters which instance of a pool has how much: weights do not shift what each part takes as a whole.
func (s Strategy) pooled(d *Division) (Planned, bound.Evidence) {
	in, any := d.pools()
	if p := d.Problem; !any || p.Goal.Imbalance || p.Goal.ThetaMin != nil || p.Items.Units != nil || p.ByResource != nil {
		return Planned{Division: d}, bound.Evidence{}
	}
	a, known := s.Run(d.contracted(in), d)
	if a == nil {
		return Planned{Division: d}, known
	}
	return d.Levelled(d.expanded(in, a)), known
}

// expanded is the assignment to instances that one to pools stands for. The costliest keys
// that come to a pool choose first.
func (d *Division) expanded(in pools, a *assign.Assignment) *assign.Assignment {
	p, b := d.Problem, d.Problem.Unmoved().Clone()
	var come []int32
	for i, pool := range a.At {
		if pool != a.Problem.Items.Current[i] {
			come = append(come, int32(i))
			b.Move(int32(i), assign.Nowhere)
		}
	}
	slices.SortFunc(come, p.Items.HeavierFirst)
	room := make([]int64, len(b.Load)) // beside whole keys: parts can leave
	for v, d := newDivider(d.space, b), 0; d < len(room); d++ {
		room[d] = p.Limit[d] - v.fixed[d] - v.whole[d]
	}
	for _, i := range come {
		to, cost := assign.None, b.UnitCost(i)
		for _, d := range in.members[a.At[i]] {
			if to == assign.None || p.Rate(d, room[d]) > p.Rate(to, room[to]) {
				to = d
			}
		}
		if h := p.Items.Home[i]; in.of[h] == a.At[i] && room[h] >= cost {
			to = h // it needs no entry there
		}
		b.Move(i, to)
		room[to] -= cost
	}
	return b
}

package planner

import (
	"bytes"
	"cmp"
	"slices"
)

// unmoved is the assignment F itself, hot keys included.
func (p *problem) unmoved() *assignment {
	a := &assignment{p: p, at: p.s.Current, load: p.before}
	if p.s.Count != nil {
		a.units, a.items = p.s.Count, upTo(p.s.Len())
	}
	return a
}

// finish computes the plan that an assignment stands for. It brings the shares of keys
// together.
func (p *problem) finish(name string, a *assignment) *Plan {
	return p.judge(name, a, a.gather(a.moves()))
}

// judge computes the plan that makes these moves, and ends with an assignment.
func (p *problem) judge(name string, a *assignment, moves []Move) *Plan {
	plan := &Plan{
		Snapshot: p.s, Strategy: name, Options: p.o,
		EndReason: cmp.Or(p.meter.reason, EndCompleted), WorkUnits: p.meter.used,
		Instances: make([]Load, len(p.s.Instances)),
		score:     a.score(),
	}
	f := finisher{p, a, plan}
	plan.Moves = moves
	if p.s.Count == nil {
		f.entries()
	}
	f.migration()
	f.loads()
	f.table()
	if p.s.Homeless {
		plan.Instances = plan.Instances[:len(plan.Instances)-1]
	}
	plan.HotKeys = p.hotKeys()
	f.causes()
	p.certify(plan)
	return plan
}

type finisher struct {
	p    *problem
	a    *assignment
	plan *Plan
}

// moves is Δ(F,F') in canonical key order, then by destination.
func (a *assignment) moves() []Move {
	s := a.p.s
	add := func(moves []Move, item, to int32, units int64) []Move {
		if from := s.Current[item]; from != to {
			moves = append(moves, Move{item, from, to, units, a.p.reason(item, from, to)})
		}
		return moves
	}
	var moves []Move
	if s.Count == nil {
		moves = collect(len(a.at), func(from, to int) (moves []Move) {
			for i := from; i < to; i++ {
				if a.at[i] != s.Current[i] {
					moves = add(moves, int32(i), a.at[i], 1)
				}
			}
			return moves
		})
	} else {
		for _, x := range a.places() {
			moves = add(moves, x.item, x.to, x.count)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	// Those of an item are in ascending order of destinations already.
	return inOrder(moves, s.Keys, func(x *Move) int32 { return x.Item })
}

// gather adds to moves those of shares that are not where their items go.
func (a *assignment) gather(moves []Move) []Move {
	before := len(moves)
	for _, x := range a.p.s.Shares {
		if to := a.at[x.Row]; to != x.Instance {
			moves = append(moves, Move{x.Row, x.Instance, to, 1, ReasonGather})
		}
	}
	if len(moves) == before {
		return moves
	}
	return inOrder(moves, a.p.s.Keys, func(x *Move) int32 { return x.Item })
}

// reason says why an item goes from one instance to another.
func (p *problem) reason(item, from, to int32) Reason {
	s := p.s
	home := to == s.Hash[item]
	switch {
	case s.Instances[from].Drained:
		return ReasonDrain
	case home && s.HashChanged && s.Table != nil && (s.Entry == nil || s.Entry[item] < 0):
		return ReasonRehash
	case s.Instances[to].Added:
		return ReasonFill
	case home:
		return ReasonMoveBack
	case p.before[from] > p.limit[from]:
		return ReasonOverload
	}
	return ReasonExchange
}

// entries collects how the table changes.
func (f *finisher) entries() {
	s, plan := f.p.s, f.plan
	for i, d := range f.a.at {
		entry, old := int32(-1), NoInstance // the committed entry's index and instance
		switch {
		case s.Table == nil:
			if s.Current[i] != s.Hash[i] {
				old = s.Instances[s.Current[i]].ID
			}
		case s.Entry != nil && s.Entry[i] >= 0:
			entry = s.Entry[i]
			old = s.Table.instances[entry]
		}
		switch {
		case d != s.Hash[i]:
			if old != s.Instances[d].ID {
				plan.Set = append(plan.Set, Setting{int32(i), d})
			}
		case old != NoInstance:
			plan.Unset = append(plan.Unset, Removal{int32(i), entry})
		}
	}
	for e, stays := range s.absentEntries() { // the statistics would name their keys if they had anything
		if !stays {
			plan.Unset = append(plan.Unset, Removal{-1, e})
		}
	}
	if len(plan.Set) > 0 {
		plan.Set = inOrder(plan.Set, s.Keys, func(x *Setting) int32 { return x.Item })
	}
	slices.SortFunc(plan.Unset, func(x, y Removal) int {
		a, i := x.list(s)
		b, j := y.list(s)
		return cmp.Or(cmp.Compare(a.hashes[i], b.hashes[j]), bytes.Compare(a.At(i), b.At(j)))
	})
}

func (f *finisher) migration() {
	p, m := f.p, &f.plan.Migration
	in, out := make([]int64, len(p.before)), make([]int64, len(p.before))
	state, chosen, keys := int64(0), int64(0), int64(0)
	for _, x := range f.plan.Moves {
		moved := p.state.Fixed(p.s.StateOf(x)) * x.Count
		m.Keys += x.Count
		state += moved
		out[x.From] += moved
		in[x.To] += moved
		if x.Reason == ReasonGather {
			continue
		}
		chosen, keys = chosen+moved, keys+x.Count
		f.plan.Instances[x.From].KeysAfter -= x.Count
		f.plan.Instances[x.To].KeysAfter += x.Count
	}
	for d := range in {
		f.plan.Instances[d].StateIn, f.plan.Instances[d].StateOut = p.state.Float(in[d]), p.state.Float(out[d])
	}
	m.State = p.state.Float(state)
	m.Objective = p.objective(chosen, keys)
	if p.totalState > 0 {
		m.Fraction = float64(state) / float64(p.totalState)
	}
}

// loads fills in the figures of the instances and those that follow from them.
func (f *finisher) loads() {
	p, plan := f.p, f.plan
	scale := p.cost.Float(1)
	for d := range p.s.Instances {
		x := &plan.Instances[d]
		x.Before, x.After = p.cost.Float(p.before[d]), p.cost.Float(f.a.load[d])
		x.KeysBefore = p.keysBefore[d]
		x.KeysAfter += x.KeysBefore
		x.Fair = p.fair[d] * scale
		x.Max = (1 + p.o.ThetaMax) * p.fair[d] * scale
		x.Bound = p.bound[d] * scale
	}
	plan.Theta.Before, plan.Underload.Before, plan.Skewness.Before = p.imbalance(p.before)
	plan.Theta.After, plan.Underload.After, plan.Skewness.After = p.imbalance(f.a.load)
	plan.Balanced = true
	for _, d := range p.live {
		plan.Balanced = plan.Balanced && f.a.load[d] <= p.maximum[d]
	}
}

// imbalance returns the largest over- and underload relative to the fair load,
// and the workload skewness max L / mean L, over the live instances.
func (p *problem) imbalance(load []int64) (theta, underload, skewness float64) {
	sum, greatest := 0.0, 0.0
	for _, d := range p.live {
		if p.fair[d] > 0 {
			x := float64(load[d]) / p.fair[d]
			theta, underload = max(theta, x-1), max(underload, 1-x)
		}
		sum += float64(load[d])
		greatest = max(greatest, float64(load[d]))
	}
	if sum == 0 {
		return theta, underload, 1
	}
	return theta, underload, greatest / (sum / float64(len(p.live)))
}

func (f *finisher) table() {
	p, plan := f.p, f.plan
	plan.TableBefore = int64(p.s.Table.Len())
	if p.s.Table == nil {
		plan.TableBefore = p.entries
	}
	plan.TableAfter = f.plan.score.table
	plan.TableWithinLimit = p.tableExcess(plan.TableAfter) == 0
}

func (f *finisher) causes() {
	if f.p.settled() && len(f.p.s.Shares) == 0 {
		f.plan.Causes = append(f.plan.Causes, CauseBalanced)
	} else {
		f.unreached()
	}
	if slices.ContainsFunc(f.p.s.Instances[:len(f.plan.Instances)], func(d Instance) bool { return d.Frozen }) {
		f.plan.Causes = append(f.plan.Causes, CauseFrozen)
	}
}

// unreached says why the plan misses a goal.
func (f *finisher) unreached() {
	plan := f.plan
	if len(plan.HotKeys) > 0 {
		plan.Causes = append(plan.Causes, CauseHotKey)
	}
	if !plan.TableWithinLimit {
		plan.Causes = append(plan.Causes, CauseTableLimit)
	}
	if !f.a.withinLimits() {
		plan.Causes = append(plan.Causes, CauseNothingMovable)
	}
}

// Table is the whole planned routing table A', for items that are keys.
func (p *Plan) Table() (*RoutingTable, error) {
	s := p.Snapshot
	entries := make([]Entry, 0, p.TableAfter)
	dropped := make([]bool, s.Table.Len()) // or replaced
	changed := make([]bool, s.Len())
	for _, u := range p.Unset {
		if u.Entry >= 0 {
			dropped[u.Entry] = true
		}
		if u.Item >= 0 {
			changed[u.Item] = true
		}
	}
	for _, x := range p.Set {
		entries = append(entries, Entry{s.Keys.At(int(x.Item)), s.Instances[x.To].ID})
		changed[x.Item] = true
		if s.Entry != nil && s.Entry[x.Item] >= 0 {
			dropped[s.Entry[x.Item]] = true
		}
	}
	for e, gone := range dropped {
		if !gone {
			entries = append(entries, s.Table.At(e))
		}
	}
	if s.Table == nil {
		for i, d := range s.Current {
			if d != s.Hash[i] && !changed[i] {
				entries = append(entries, Entry{s.Keys.At(i), s.Instances[d].ID})
			}
		}
	}
	return NewRoutingTable(entries)
}

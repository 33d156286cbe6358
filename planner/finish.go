package planner

import (
	"bytes"
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/division"
)

// finish computes the plan that an assignment stands for, with what is known of it. It
// brings the shares of keys together.
func (x *prepared) finish(name string, a *assign.Assignment, known bound.Evidence) *Plan {
	return x.judge(name, a, x.gather(a, x.moves(a)), known)
}

// judge computes the plan that makes these moves, and ends with an assignment.
func (x *prepared) judge(name string, a *assign.Assignment, moves []Move, known bound.Evidence) *Plan {
	p := x.p
	plan := &Plan{
		Snapshot: x.s, Strategy: name, Options: x.o, EndReason: endReasons[p.Meter.End], WorkUnits: p.Meter.Used,
		Instances: make([]Load, len(x.s.Instances)),
		made:      true, score: a.Score(), Unfilled: x.unfilled(a),
	}
	plan.score.Unfilled = len(plan.Unfilled)
	f := finisher{x, a, plan}
	plan.Moves = moves
	plan.Splits = x.plannedSplits()
	if x.s.Count == nil || x.s.Named > 0 {
		f.entries()
	}
	f.migration()
	f.loads()
	f.resources()
	f.table()
	if x.s.Homeless {
		plan.Instances = plan.Instances[:len(plan.Instances)-1]
	}
	if p.ByResource != nil {
		plan.HotKeys = x.hotResources(a)
	} else {
		plan.HotKeys = append(hotKeys(p), x.crowdedKeys()...)
	}
	f.causes()
	f.certify(known)
	return plan
}

// unfilled are the instances that an assignment leaves below their least load.
func (x *prepared) unfilled(a *assign.Assignment) []Unfilled {
	var list []Unfilled
	for d, least := range x.p.Fill.Least {
		if a.Load[d] < least {
			y := x.short[int32(d)]
			y.Instance = int32(d)
			list = append(list, y)
		}
	}
	return list
}

var endReasons = [...]EndReason{
	assign.Running: EndCompleted, assign.OutOfWork: EndWorkBudget, assign.Stopped: EndStopped,
}

type finisher struct {
	*prepared
	a    *assign.Assignment
	plan *Plan
}

// moves is Δ(F,F') in canonical key order, then by destination.
func (x *prepared) moves(a *assign.Assignment) []Move {
	changes := a.Moves()
	if len(changes) == 0 {
		return nil
	}
	moves := make([]Move, 0, len(changes))
	above := x.above()
	for _, m := range changes {
		if x.space.Expires(m.Item, m.From) {
			continue
		}
		from := x.real[m.From]
		moves = append(moves, Move{m.Item, from, m.To, m.Units, x.reason(above, m.Item, from, m.To)})
	}
	return moves
}

// gather adds to moves those of state that is neither where its item goes nor on one of
// the parts of its key: it goes to the heaviest part.
func (x *prepared) gather(a *assign.Assignment, moves []Move) []Move {
	gathered := x.at.Gathered(a)
	if len(gathered) == 0 {
		return moves
	}
	above := x.above()
	for _, m := range gathered {
		reason := ReasonGather
		if !m.Share {
			reason = x.reason(above, m.Item, m.From, m.To)
		}
		moves = append(moves, Move{m.Item, m.From, m.To, 1, reason})
	}
	return assign.InOrder(moves, x.p.Items, func(m *Move) int32 { return m.Item })
}

// above tells of the instances whether they are above a limit if nothing moves.
func (x *prepared) above() []bool {
	list := make([]bool, len(x.s.Instances))
	note := func(q *assign.Problem) {
		for d, load := range x.onInstances(q.Before) {
			list[d] = list[d] || load > q.Limit[d]
		}
	}
	note(x.before)
	for r := 1; r < len(x.before.ByResource); r++ {
		note(x.before.ByResource[r])
	}
	return list
}

// reason says why an item goes from one instance to another; above tells which are above a limit before.
func (x *prepared) reason(above []bool, item, from, to int32) Reason {
	s := x.s
	home := to == s.Hash[item]
	switch {
	case s.Instances[from].Drained:
		return ReasonDrain
	case x.misplaced(item):
		return ReasonPlacement
	case home && s.HashChanged && s.Table != nil && s.isKey(int(item)) && (s.Entry == nil || s.Entry[item] < 0):
		return ReasonRehash
	case s.Instances[to].Added:
		return ReasonFill
	case home:
		return ReasonMoveBack
	case above[from]:
		return ReasonOverload
	}
	return ReasonExchange
}

// entries collects how the table changes.
func (f *finisher) entries() {
	s, plan := f.s, f.plan
	for i := s.firstKey(); i < s.Len(); i++ { // one that is whole has one piece
		d := f.real[f.a.At[i]]
		entry, old := int32(-1), NoInstance // the committed entry's index and instance
		switch {
		case f.p.Items.Divided != nil && f.p.Items.Divided[i]:
			continue // it is one of Splits
		case s.Table == nil:
			if s.Current[i] != s.Hash[i] {
				old = s.Instances[s.Current[i]].ID
			}
		case s.Entry != nil && s.Entry[i] >= 0:
			entry = s.Entry[i]
			if old = s.Table.instances[entry]; s.Table.parts[entry] != nil {
				old = severalInstances
			}
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
		plan.Set = assign.InOrder(plan.Set, f.p.Items, func(x *Setting) int32 { return x.Item })
	}
	slices.SortFunc(plan.Unset, func(x, y Removal) int {
		a, i := x.list(s)
		b, j := y.list(s)
		return cmp.Or(cmp.Compare(a.hashes[i], b.hashes[j]), bytes.Compare(a.At(i), b.At(j)))
	})
}

// severalInstances stands for where a split key was.
const severalInstances int32 = -2

func (f *finisher) migration() {
	p, m := f.p, &f.plan.Migration
	in, out := make([]int64, len(f.s.Instances)), make([]int64, len(f.s.Instances))
	state, chosen, keys := int64(0), int64(0), int64(0)
	for _, x := range f.plan.Moves {
		moved := p.State.Fixed(f.s.StateOf(x)) * x.Count
		m.Keys += x.Count
		state += moved
		out[x.From] += moved
		in[x.To] += moved
		divided := division.SplitOf(f.at.Splits, x.Item) != nil
		if x.Reason == ReasonGather && !divided && !f.space.Priced() {
			continue
		}
		chosen, keys = chosen+moved, keys+x.Count
		if divided || x.Reason == ReasonGather {
			continue // its parts are counted where they are
		}
		f.plan.Instances[x.From].KeysAfter -= x.Count
		f.plan.Instances[x.To].KeysAfter += x.Count
	}
	for _, x := range f.s.Splits { // a key may become whole elsewhere, and move nothing
		from, to := f.s.Current[x.Item], f.a.At[x.Item]
		if division.SplitOf(f.at.Splits, x.Item) == nil && from != to && f.space.Expires(x.Item, from) {
			f.plan.Instances[from].KeysAfter--
			f.plan.Instances[to].KeysAfter++
		}
	}
	for d := range in {
		f.plan.Instances[d].StateIn, f.plan.Instances[d].StateOut = p.State.Float(in[d]), p.State.Float(out[d])
	}
	m.State = p.State.Float(state)
	m.Objective = p.Objective(chosen, keys) + f.at.Price()
	if f.space.Priced() {
		f.plan.score.Objective = m.Objective
	}
	if p.TotalState > 0 {
		m.Fraction = float64(state) / float64(p.TotalState)
	}
}

// loads fills in the figures of the instances and those that follow from them.
func (f *finisher) loads() {
	p, plan, before := f.p, f.plan, f.before
	scale := p.Cost.Float(1)
	was, is := f.onInstances(before.Before), f.onInstances(f.a.Load)
	keys, named := f.onInstances(before.NamedOn), f.onInstances(p.NamedOn)
	for d, y := range f.s.Instances {
		x := &plan.Instances[d]
		x.Before, x.After = before.Cost.Float(was[d]), p.Cost.Float(is[d])
		x.KeysBefore = keys[d] + y.ResidualKeys
		x.KeysAfter += named[d] + y.ResidualKeys
		x.Fair = p.Fair[d] * scale
		x.Max = (1 + f.o.ThetaMax) * p.Fair[d] * scale
		x.Bound = p.Bound[d] * scale
		if p.Fill.Wanted != nil {
			x.Least = p.Fill.Wanted[d] * scale
		}
	}
	plan.Theta.Before, plan.Underload.Before, plan.Skewness.Before = imbalance(before, was)
	plan.Theta.After, plan.Underload.After, plan.Skewness.After = imbalance(p, is)
	plan.Balanced = true
	for _, d := range p.Live {
		plan.Balanced = plan.Balanced && is[d] <= p.Maximum[d]
	}
}

// imbalance returns the largest over- and underload relative to the fair load,
// and the workload skewness max L / mean L, over the live instances.
func imbalance(p *assign.Problem, load []int64) (theta, underload, skewness float64) {
	sum, greatest := 0.0, 0.0
	for _, d := range p.Live {
		if p.Fair[d] > 0 {
			x := float64(load[d]) / p.Fair[d]
			theta, underload = max(theta, x-1), max(underload, 1-x)
		}
		sum += float64(load[d])
		greatest = max(greatest, float64(load[d]))
	}
	if sum == 0 {
		return theta, underload, 1
	}
	return theta, underload, greatest / (sum / float64(len(p.Live)))
}

func (f *finisher) table() {
	p, plan := f.p, f.plan
	plan.TableBefore = f.s.Table.Size()
	if f.s.Table == nil || f.s.Count != nil {
		plan.TableBefore = f.before.Entries - f.atClosedHomes()
	}
	plan.TableAfter = f.plan.score.Table
	plan.TableWithinLimit = p.TableExcess(plan.TableAfter) == 0
}

// atClosedHomes counts the keys that are where the hash puts them, though they may not be there:
// they have no entry yet, and will have one wherever they go.
func (f *finisher) atClosedHomes() int64 {
	n := int64(0)
	if f.s.Eligibility != nil {
		for i, d := range f.s.Current {
			if d == f.s.Hash[i] && f.misplaced(int32(i)) {
				n++
			}
		}
	}
	return n
}

func (f *finisher) causes() {
	if f.balanced() {
		f.plan.Causes = append(f.plan.Causes, CauseBalanced)
	} else {
		f.unreached()
	}
	if slices.ContainsFunc(f.s.Instances[:len(f.plan.Instances)], func(d Instance) bool { return d.Frozen }) {
		f.plan.Causes = append(f.plan.Causes, CauseFrozen)
	}
}

// balanced reports whether there was nothing to do.
func (f *finisher) balanced() bool {
	strays := slices.ContainsFunc(f.s.Shares, func(y Share) bool {
		split := division.SplitOf(f.at.Splits, y.Row)
		return (split == nil || !split.IsOn(y.Instance)) && !f.space.Expires(y.Row, y.Instance)
	})
	return f.space.Settled() && f.before.Fill.Reached(f.before.Before) && !strays
}

// unreached says why the plan misses a goal.
func (f *finisher) unreached() {
	plan := f.plan
	if len(plan.HotKeys) > 0 {
		plan.Causes = append(plan.Causes, CauseHotKey)
	}
	if f.o.Splitting != nil && slices.ContainsFunc(plan.HotKeys, func(k HotKey) bool { return !f.s.isKey(int(k.Item)) }) {
		plan.Causes = append(plan.Causes, CauseUnnamed)
	}
	if len(f.at.Crowded) > 0 {
		plan.Causes = append(plan.Causes, CausePartsLimit)
	}
	if !plan.TableWithinLimit {
		plan.Causes = append(plan.Causes, CauseTableLimit)
	}
	if !f.a.WithinLimits() {
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
		entries = append(entries, Entry{Key: s.Keys.At(int(x.Item)), Instance: s.Instances[x.To].ID})
		changed[x.Item] = true
		if s.Entry != nil && s.Entry[x.Item] >= 0 {
			dropped[s.Entry[x.Item]] = true
		}
	}
	for _, x := range p.Splits {
		entries = append(entries, Entry{Key: s.Keys.At(int(x.Item)), Parts: x.OnIDs(s)})
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
				entries = append(entries, Entry{Key: s.Keys.At(i), Instance: s.Instances[d].ID})
			}
		}
	}
	return NewRoutingTable(entries)
}

package planning

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"plannerd/internal/operator"
	"plannerd/planner"
	"plannerd/planner/batches"
	"plannerd/store"
)

// batches cuts a plan that is to be carried out into the batches in which it is handed
// over; none: it goes at once.
func (b *base) batches(o *PlanResult, status store.Status) ([]store.NewBatch, error) {
	bounds := b.newest.Bounds()
	if bounds == (batches.Bounds{}) || status == store.StatusNoAction || o.diff != nil || o.classes != nil {
		return nil, nil
	}
	schedule, err := batches.Cut(o.Plan, bounds)
	if err != nil {
		return nil, fmt.Errorf("cutting a plan into batches: %w", err)
	}
	if len(schedule.Batches) < 2 {
		return nil, nil
	}
	out := make([]store.NewBatch, len(schedule.Batches))
	for i, x := range schedule.Batches {
		out[i] = b.batch(o, schedule, i)
		if b.newest.TransferRate > 0 {
			out[i].Seconds = new(x.Busiest / b.newest.TransferRate)
		}
	}
	return out, nil
}

// batch is a batch of a schedule as the store takes it. The first one brings the hash and
// the instances of the plan into force, so all instances are awaited. Those that are
// removed remain known as long as an entry names them.
func (b *base) batch(o *PlanResult, all *batches.Schedule, n int) store.NewBatch {
	x, plan := all.Batches[n], *o.Plan
	plan.Moves, plan.Set, plan.Unset, plan.Splits = x.Moves, slices.Concat(x.Set, x.Pins), x.Unset, x.Splits
	part := *o
	part.Plan = &plan
	out := store.NewBatch{Changes: part.changes(), Batch: store.Batch{
		Keys: x.Keys, State: x.State, Busiest: x.Busiest, ThetaAfter: x.Theta, TableAfter: x.Table,
	}}
	if n == 0 {
		out.Awaited = b.awaited(&part)
	} else {
		out.Changes = afterPins(out.Changes, plan.Snapshot, all.Batches[0].Pins)
		out.Awaited = b.concerned(&part)
	}
	mayStay := func([]byte, int32) bool { return true }
	if n == 0 && b.changed {
		mayStay = mayStayBetween(b.pinned.planner.Hash, b.newest.planner.Hash)
	}
	for _, m := range x.Moves {
		key, to := plan.Snapshot.Keys.At(int(m.Item)), plan.Snapshot.Instances[m.To].ID
		if _, changes := slices.BinarySearchFunc(out.Changes, key, compareKey); !changes && mayStay(key, to) {
			out.Held = append(out.Held, store.Change{Key: key, Old: store.NoInstance, New: to})
		}
	}
	slices.SortFunc(out.Held, func(x, y store.Change) int {
		return cmp.Or(bytes.Compare(x.Key, y.Key), cmp.Compare(x.New, y.New))
	})
	out.Held = slices.CompactFunc(out.Held, func(x, y store.Change) bool { return bytes.Equal(x.Key, y.Key) })
	return out
}

// afterPins has changes start from the pins of the first batch, where a key has one.
func afterPins(changes []store.Change, s *planner.Snapshot, pins []planner.Setting) []store.Change {
	pinned := make(map[string]int32, len(pins))
	for _, x := range pins {
		pinned[string(s.Keys.At(int(x.Item)))] = s.Instances[x.To].ID
	}
	for i := range changes {
		if at, has := pinned[string(changes[i].Key)]; has {
			changes[i].Old = at
		}
	}
	return slices.DeleteFunc(changes, func(c store.Change) bool { return c.Old == c.New && c.OldParts == c.NewParts })
}

func compareKey(c store.Change, key []byte) int { return bytes.Compare(c.Key, key) }

// withHeld are the changes of the batch that is handed over, and the keys that are held back
// besides.
func (in pendingPlan) withHeld() []store.Change {
	all := slices.Concat(in.Changes, in.Held)
	slices.SortFunc(all, func(x, y store.Change) int { return bytes.Compare(x.Key, y.Key) })
	return all
}

// knowing is the committed configuration with the instances that it lacks and entries name:
// they were removed, and a plan ended before the batch that would have emptied them.
func (p *placement) knowing(table *planner.RoutingTable) *placement {
	var left []int32
	if p.Batches != nil { // else the plan before this table went at once
		for i := range table.Len() {
			e := table.At(i)
			if left = p.without(left, e.Instance); e.Parts == nil {
				continue
			}
			for _, part := range e.Parts {
				left = p.without(left, part.Instance)
			}
		}
	}
	if left == nil {
		return p
	}
	out := *p
	out.Instances, out.planner.Instances = slices.Clone(p.Instances), slices.Clone(p.planner.Instances)
	for _, id := range left {
		out.Instances = append(out.Instances, operator.Instance{ID: id, Capacity: 1})
		out.planner.Instances = append(out.planner.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	slices.SortFunc(out.Instances, func(x, y operator.Instance) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(out.planner.Instances, func(x, y planner.Instance) int { return cmp.Compare(x.ID, y.ID) })
	return &out
}

// without adds an instance to a list of those that the configuration lacks.
func (p *placement) without(list []int32, id int32) []int32 {
	if p.Has(id) || slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

package propose

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/table"
	"plannerd/planner"
	"plannerd/planner/batches"
	"plannerd/store"
)

// batchesOf cuts a plan that is to be carried out into the batches in which it is handed
// over; none: it goes at once.
func batchesOf(b *scheme.Base, o *scheme.Result, status store.Status) ([]store.NewBatch, error) {
	bounds := b.Newest.Bounds()
	if bounds == (batches.Bounds{}) || status == store.StatusNoAction || o.Diff != nil || o.Classes != nil {
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
		out[i] = batchOf(b, o, schedule, i)
		if b.Newest.TransferRate > 0 {
			out[i].Seconds = new(x.Busiest / b.Newest.TransferRate)
		}
	}
	return out, nil
}

// batchOf is a batch of a schedule as the store takes it. The first one brings the hash and
// the instances of the plan into force, so all instances are awaited. Those that are
// removed remain known as long as an entry names them.
func batchOf(b *scheme.Base, o *scheme.Result, all *batches.Schedule, n int) store.NewBatch {
	x, plan := all.Batches[n], *o.Plan
	plan.Moves, plan.Set, plan.Unset, plan.Splits = x.Moves, slices.Concat(x.Set, x.Pins), x.Unset, x.Splits
	part := *o
	part.Plan = &plan
	out := store.NewBatch{Changes: part.Changes(), Batch: store.Batch{
		Keys: x.Keys, State: x.State, Busiest: x.Busiest, ThetaAfter: x.Theta, TableAfter: x.Table,
	}}
	if n == 0 {
		out.Awaited = awaitedBy(b, &part)
	} else {
		out.Changes = afterPins(out.Changes, plan.Snapshot, all.Batches[0].Pins)
		out.Awaited = concernedBy(b, &part)
	}
	mayStay := func([]byte, int32) bool { return true }
	if n == 0 && b.Changed {
		mayStay = table.MayStayBetween(b.Pinned.Model.Hash, b.Newest.Model.Hash)
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

package planning

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/batches"
	"plannerd/store"
)

// BatchBounds limit each of the batches in which a plan is handed over; 0: no limit.
type BatchBounds struct {
	Keys  int64               `json:"keys,omitzero"`
	State float64             `json:"state,omitzero"`
	Pause parameters.Duration `json:"pause,omitzero"` // for which any instance sends or receives
}

// What the pause of a batch may be.
const (
	shortestPause = parameters.Duration(time.Millisecond)
	longestPause  = parameters.Duration(24 * time.Hour)
)

// bounds are those of the planner.
func (c Configuration) bounds() batches.Bounds {
	if c.Batches == nil {
		return batches.Bounds{}
	}
	return batches.Bounds{
		Keys: c.Batches.Keys, State: c.Batches.State,
		Busiest: float64(time.Duration(c.Batches.Pause).Seconds() * c.TransferRate),
	}
}

// checkBatches finds what is wrong with the bounds of batches.
func (c Configuration) checkBatches() error {
	switch {
	case c.Batches == nil:
		return nil
	case c.TableOwner == OwnerEngine:
		return planner.Invalid("batches", "are of a routing table that the service holds")
	case *c.Batches == BatchBounds{}:
		return planner.Invalid("batches", "must have keys, state or pause")
	case c.Batches.Pause != 0 && (c.Batches.Pause < shortestPause || c.Batches.Pause > longestPause):
		return planner.Invalid("batches/pause", fmt.Sprintf("must be from %v to %v", time.Duration(shortestPause),
			time.Duration(longestPause)))
	case c.Batches.Pause > 0 && c.TransferRate == 0:
		return planner.Invalid("batches/pause", "needs transfer_rate")
	case c.bounds().Busiest > planner.MaxAmount:
		return planner.Invalid("batches/pause", "is too long for the transfer_rate")
	}
	return nil
}

// batches cuts a plan that is to be carried out into the batches in which it is handed
// over; none: it goes at once, as what follows a change of the hash or of the instances does.
func (b *base) batches(o *PlanResult, status store.Status) ([]store.NewBatch, error) {
	bounds := b.newest.bounds()
	sameInstances := slices.EqualFunc(b.pinned.Instances, b.newest.Instances,
		func(x, y Instance) bool { return x.ID == y.ID })
	if bounds == (batches.Bounds{}) || status == store.StatusNoAction || o.diff != nil || o.classes != nil || b.changed ||
		!sameInstances {
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
		out[i] = b.batch(o, x)
	}
	return out, nil
}

func (b *base) batch(o *PlanResult, x batches.Batch) store.NewBatch {
	plan := *o.Plan
	plan.Moves, plan.Set, plan.Unset, plan.Splits = x.Moves, x.Set, x.Unset, x.Splits
	part := *o
	part.Plan = &plan
	out := store.NewBatch{Changes: part.changes(), Batch: store.Batch{
		Keys: x.Keys, State: x.State, Busiest: x.Busiest, ThetaAfter: x.Theta, TableAfter: x.Table,
		Awaited: b.awaited(&part),
	}}
	if b.newest.TransferRate > 0 {
		out.Seconds = new(x.Busiest / b.newest.TransferRate)
	}
	for _, m := range x.Moves {
		key := plan.Snapshot.Keys.At(int(m.Item))
		if _, changes := slices.BinarySearchFunc(out.Changes, key, compareKey); !changes {
			out.Held = append(out.Held,
				store.Change{Key: key, Old: store.NoInstance, New: plan.Snapshot.Instances[m.To].ID})
		}
	}
	slices.SortFunc(out.Held, func(x, y store.Change) int {
		return cmp.Or(bytes.Compare(x.Key, y.Key), cmp.Compare(x.New, y.New))
	})
	out.Held = slices.CompactFunc(out.Held, func(x, y store.Change) bool { return bytes.Equal(x.Key, y.Key) })
	return out
}

func compareKey(c store.Change, key []byte) int { return bytes.Compare(c.Key, key) }

// withHeld are the changes of the batch that is handed over, and the keys that are held back
// besides.
func (in pendingPlan) withHeld() []store.Change {
	all := slices.Concat(in.Changes, in.Held)
	slices.SortFunc(all, func(x, y store.Change) int { return bytes.Compare(x.Key, y.Key) })
	return all
}

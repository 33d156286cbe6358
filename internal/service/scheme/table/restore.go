package table

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/service/scheme"
	"plannerd/planner"
)

// Restore is the plan whose entries are those of another table, under the newest configuration. A
// key whose entry there names an instance that is gone, or parts that keys may not have any more,
// stays as it is routed now; left is how many there are. Keys that the statistics do not name have
// neither cost nor state.
func Restore(
	ctx context.Context, e *scheme.Engine, b *scheme.Base, st *scheme.Statistics, then *planner.RoutingTable,
) (out *scheme.Result, left int64, err error) {
	r := &restoring{base: b, then: then, kept: slices.Repeat([]bool{true}, b.Table.Len())}
	in, err := Input(b, r.naming(st))
	if err != nil {
		return nil, 0, err
	}
	in.Kept, r.Snapshot, r.to = r.kept, in.Snapshot, make([]int32, in.Len())
	for i := range r.to {
		r.place(int32(i))
	}
	plan, err := e.Compute(ctx, func(s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
		return planner.Place(s, o, r.to, r.splits)
	}, in.Snapshot, b.Newest.Parameters)
	if err != nil {
		return nil, 0, err
	}
	plan.Strategy = b.Newest.Strategy
	plan.Causes = slices.DeleteFunc(plan.Causes, func(c planner.Cause) bool { return c == planner.CauseBalanced })
	out, err = concluded(b, in.Result(plan), nil)
	return out, r.left, err
}

// restoring finds out where keys go.
type restoring struct {
	*planner.Snapshot
	base   *scheme.Base
	then   *planner.RoutingTable
	kept   []bool  // by entry of the committed table: it stays, if no row names its key
	to     []int32 // by row: where its key goes as a whole
	splits []planner.Split
	left   int64
}

// naming returns the statistics with a row for each key of either table, so far as it is known
// where it is and where its hash puts it. Other keys stay. Where reports were missing the
// statistics count as partial.
func (r *restoring) naming(st *scheme.Statistics) *scheme.Statistics {
	b, out, own := r.base, *st, *st.Statistics
	own.Partial, own.Frozen, own.PartialOn = own.Partial || len(own.Frozen)+len(own.PartialOn) > 0, nil, nil
	if b.Newest.Model.Hash != nil {
		own.HashInstance = nil
	}
	named := make(map[string]bool, r.then.Len())
	for i := range own.Len() {
		if key, hash := own.Keys.At(i), own.Keys.Hash(i); r.then.Find(key, hash) >= 0 || b.Table.Find(key, hash) >= 0 {
			named[string(key)] = true
		}
	}
	own.Keys, own.Cost, own.State = own.Keys.Clone(), slices.Clone(own.Cost), slices.Clone(own.State)
	own.Instance = slices.Clone(own.Instance)
	for _, table := range []*planner.RoutingTable{r.then, b.Table} {
		for i := range table.Len() {
			if key := table.At(i).Key; !named[string(key)] {
				named[string(key)] = true
				r.name(&own, key)
			}
		}
	}
	own.Costs = planner.WithRows(own.Costs, own.Len())
	out.Statistics = &own
	return &out
}

// name adds a row for a key of a table to statistics that have none, if that is enough to plan on.
func (r *restoring) name(own *planner.Statistics, key []byte) {
	hash := planner.KeyHash(key)
	then, now := r.then.Find(key, hash), r.base.Table.Find(key, hash)
	if r.base.Newest.Model.Hash == nil || now < 0 && r.base.Pinned.Model.Hash == nil {
		r.unnamed(then, now, own.Partial)
		return
	}
	own.Keys.Append(key)
	own.Cost = append(own.Cost, 0)
	if own.State != nil {
		own.State = append(own.State, 0)
	}
	if own.Instance != nil {
		own.Instance = append(own.Instance, planner.NoInstance)
	}
}

// unnamed decides on a key of the engine's own hash that no row names, by its entries then and now,
// −1: none. Its entry can only be dropped, as it is if it has none then.
func (r *restoring) unnamed(then, now int, partial bool) {
	same := func(x, y planner.Entry) bool { return x.Instance == y.Instance && slices.Equal(x.Parts, y.Parts) }
	switch {
	case then < 0 && !partial:
		r.kept[now] = false
	case then < 0 || now < 0 || !same(r.then.At(then), r.base.Table.At(now)):
		r.left++
	}
}

// place finds out where the key of a row goes.
func (r *restoring) place(row int32) {
	r.to[row] = r.Hash[row]
	e := r.then.Find(r.Keys.At(int(row)), r.Keys.Hash(int(row)))
	if e < 0 || r.routed(row, r.then.At(e)) {
		return
	}
	r.left++
	if r.Entry != nil && r.Entry[row] >= 0 {
		r.routed(row, r.Table.At(int(r.Entry[row])))
	}
}

// routed has the key of a row go by an entry, if its instances are there still.
func (r *restoring) routed(row int32, e planner.Entry) bool {
	parts := slices.Clone(e.Parts)
	if parts == nil {
		at := r.live(e.Instance)
		if at >= 0 {
			r.to[row] = at
		}
		return at >= 0
	}
	for i := range parts {
		if parts[i].Instance = r.live(parts[i].Instance); parts[i].Instance < 0 {
			return false
		}
	}
	if most := r.base.Newest.Splitting.MaxParts; len(parts) > most {
		return false
	}
	r.splits = append(r.splits, planner.Split{Item: row, Parts: parts})
	return true
}

// live is the index of an instance that the newest configuration has, or −1.
func (r *restoring) live(id int32) int32 {
	at, found := slices.BinarySearchFunc(r.Instances, id,
		func(d planner.Instance, id int32) int { return cmp.Compare(d.ID, id) })
	if !found || !r.Instances[at].Live() {
		return -1
	}
	return int32(at)
}

package planning

import (
	"iter"
	"maps"
	"slices"

	"plannerd/planner"
)

// awaited returns the instances that must acknowledge a plan before it is committed, in
// ascending order: whoever may hold state of a key whose route changes, or gets it. After
// a change of the hash or of the instances that is every instance of both
// configurations, as the routes of keys change that no statistics name.
func (b *base) awaited(o *PlanResult) []int32 {
	all := instanceSet(b.pinned.Instances)
	maps.Copy(all, instanceSet(b.newest.Instances))
	if b.changed || len(all) > len(b.pinned.Instances) || len(all) > len(b.newest.Instances) {
		return slices.Sorted(maps.Keys(all))
	}
	seen := map[int32]bool{}
	for id := range o.affected() {
		seen[id] = true
	}
	delete(seen, planner.NoInstance)
	if o.diff == nil && o.classes == nil {
		for id := range b.routes(o.Plan) {
			if id == planner.NoInstance { // nobody knows where the hash puts the key
				return slices.Sorted(maps.Keys(all))
			}
			seen[id] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func instanceSet(instances []Instance) map[int32]bool {
	out := make(map[int32]bool, len(instances))
	for _, d := range instances {
		out[d.ID] = true
	}
	return out
}

// routes yields where the keys whose entries change go before the plan and after it;
// NoInstance where that is not known.
func (b *base) routes(p *planner.Plan) iter.Seq[int32] {
	s := p.Snapshot
	var ids []int32
	for c := range unsortedChanges(p) {
		ids = append(append(ids, entryInstances(c.Old, c.OldParts)...), entryInstances(c.New, c.NewParts)...)
	}
	for _, x := range p.Set {
		ids = append(ids, s.Instances[s.Hash[x.Item]].ID)
	}
	for _, x := range p.Splits {
		if x.Changed {
			ids = append(ids, s.Instances[s.Hash[x.Item]].ID)
		}
	}
	for i, u := range p.Unset {
		home := planner.NoInstance
		if u.Item >= 0 {
			home = s.Instances[s.Hash[u.Item]].ID
		} else if h := b.newest.planner.Hash; h != nil {
			key := p.UnsetKey(i)
			home = instanceBy(h, key, planner.KeyHash(key))
		}
		ids = append(ids, home)
	}
	return slices.Values(ids)
}

// affected yields the instances that the migrations of the plan concern, some of them
// several times.
func (o *PlanResult) affected() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if o.diff != nil {
			for _, f := range o.diff.moves().flows() {
				if !yield(f.From) || !yield(f.To) {
					return
				}
			}
			for _, id := range o.touched {
				if !yield(id) {
					return
				}
			}
			return
		}
		for _, m := range o.Moves {
			if !yield(o.Snapshot.Instances[m.From].ID) || !yield(o.Snapshot.Instances[m.To].ID) {
				return
			}
		}
	}
}

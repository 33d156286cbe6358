package propose

import (
	"maps"
	"slices"

	"plannerd/internal/service/figures"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/store"
)

// awaitedBy returns the instances that must acknowledge a plan before it is committed, in
// ascending order: whoever may hold state of a key whose route changes, or gets it. After
// a change of the hash or of the instances that is every instance of both
// configurations, as the routes of keys change that no statistics name. Nobody waits for
// lost ones.
func awaitedBy(b *scheme.Base, o *scheme.Result) []int32 {
	lost := func(id int32) bool { return slices.Contains(b.Lost, id) }
	all := bothInstances(b)
	if !b.TakesOver && (b.Changed || len(all) > len(b.Pinned.Instances) || len(all) > len(b.Newest.Instances)) {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), lost)
	}
	return slices.DeleteFunc(concernedBy(b, o), lost)
}

// bothInstances are those of both configurations.
func bothInstances(b *scheme.Base) map[int32]bool {
	all := scheme.InstanceSet(b.Pinned.Instances)
	maps.Copy(all, scheme.InstanceSet(b.Newest.Instances))
	return all
}

// concernedBy returns the instances that hold state of a key whose route the plan changes, or
// get it, in ascending order. Keys that no statistics name stay where they are.
func concernedBy(b *scheme.Base, o *scheme.Result) []int32 {
	seen := map[int32]bool{}
	for id := range o.Affected() {
		seen[id] = true
	}
	delete(seen, planner.NoInstance)
	if o.Diff == nil {
		routes := routesOf(b, o.Plan)
		if routes[planner.NoInstance] { // nobody knows where the hash puts a key
			return slices.Sorted(maps.Keys(bothInstances(b)))
		}
		maps.Copy(seen, routes)
	}
	return slices.Sorted(maps.Keys(seen))
}

// routesOf are the instances to which the keys whose entries change go before the plan and
// after it; NoInstance among them where that is not known.
func routesOf(b *scheme.Base, p *planner.Plan) map[int32]bool {
	s, ids := p.Snapshot, map[int32]bool{}
	for c := range scheme.UnsortedChanges(p) {
		for _, e := range [2]store.Entry{figures.Before(c), figures.After(c)} {
			if e.Parts == "" && e.Instance != store.NoInstance {
				ids[e.Instance] = true
			}
			for _, part := range figures.PartsOf(e.Parts) {
				ids[part.Instance] = true
			}
		}
	}
	for _, x := range p.Set {
		ids[s.Instances[s.Hash[x.Item]].ID] = true
	}
	for _, x := range p.Splits {
		if x.Changed {
			ids[s.Instances[s.Hash[x.Item]].ID] = true
		}
	}
	for i, u := range p.Unset {
		home := planner.NoInstance
		if u.Item >= 0 {
			home = s.Instances[s.Hash[u.Item]].ID
		} else if h := b.Newest.Model.Hash; h != nil {
			key := p.UnsetKey(i)
			home = scheme.InstanceBy(h, key, planner.KeyHash(key))
		}
		ids[home] = true
	}
	if s.Homeless { // the last stands for the home of keys whose home nobody knows
		delete(ids, s.Instances[len(s.Instances)-1].ID)
	}
	return ids
}

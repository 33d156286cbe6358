package handoff_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/route"
)

// placing is where a table puts keys: by a hash over instances that come and go, under rules and an
// affinity, and by entries.
type placing struct {
	config    route.Config
	instances []route.Instance // those that are left; ascending
	cordoned  int32            // it is given nothing but by the hash; -1: there is none
	entries   map[string]int32 // by routed key
	table     *route.Table
}

// unseen is how many keys are looked at of which nobody sends a message.
const unseen = 40

// newRuledHistory is a history whose plans change rules, affinity, instances and entries.
func newRuledHistory(seed uint64, mode handoff.Mode, without assumption) *history {
	h := newHistory(seed, mode, without)
	for k := range h.astray {
		h.astray[k], h.merged[k] = -1, false
	}
	for _, p := range h.instances {
		clear(p.durable.states)
	}
	h.now = &placing{config: route.Config{TokensPerInstance: 4}, instances: []route.Instance{{ID: 0}, {ID: 1}}}
	h.now = h.replace()
	h.table = h.now.routes()
	return h
}

// replace draws what the next plan makes of where keys are.
func (h *history) replace() *placing {
	p := &placing{h.now.config, h.now.instances, -1, map[string]int32{}, nil}
	for h.chance(80) {
		p.instances = nil
		for id := range int32(instanceCount) {
			if h.chance(60) {
				p.instances = append(p.instances, route.Instance{ID: id})
			}
		}
		p.config.Function = []string{route.Ring, route.Modulo}[h.rng.IntN(2)]
		// As keys have digits in their names, "3" has k13 stay with k1, and k3 with all of k30 to k39.
		p.config.Affinity = route.Affinity{Until: []string{"", "3", "1"}[h.rng.IntN(3)]}
		p.config.Rules = h.rules(p.instances)
		if len(p.instances) > 0 && route.Validate(p.config, p.instances) == nil {
			break
		}
		*p = placing{h.now.config, h.now.instances, -1, p.entries, nil}
	}
	if h.chance(50) {
		p.cordoned = p.instances[h.rng.IntN(len(p.instances))].ID
	}
	hash, err := route.New(p.config, p.instances)
	h.check(err)
	for k := range keyCount {
		routed := p.config.Affinity.RoutedKey(keyName(k))
		at, had := h.now.entries[string(routed)]
		home, err := hash.Instance(routed, route.KeyHash(routed))
		h.check(err)
		may := p.eligible(string(routed))
		gets := slices.DeleteFunc(slices.Clone(may), func(id int32) bool { return id == p.cordoned })
		switch {
		case len(gets) > 0 && (h.chance(30) || had && !slices.Contains(may, at) && home == p.cordoned):
			p.entries[string(routed)] = gets[h.rng.IntN(len(gets))]
		case had && slices.Contains(may, at) && (home == p.cordoned || h.chance(70)):
			p.entries[string(routed)] = at
		}
	}
	var entries []route.Entry
	for _, key := range slices.Sorted(maps.Keys(p.entries)) {
		entries = append(entries, route.Entry{Key: []byte(key), Instance: p.entries[key]})
	}
	p.table, err = route.NewTable(0, hash, entries, "")
	h.check(err)
	return p
}

// rules draws rules that may leave keys no instance.
func (h *history) rules(instances []route.Instance) (rules []route.Rule) {
	for _, r := range []route.Rule{
		{Equals: []string{"k1", "k7", "k40"}}, {Prefix: "k2"}, {Prefix: "k4", Exclusive: true}, {Prefix: "k"},
	} {
		for _, x := range instances {
			if h.chance(50) {
				r.On = append(r.On, x.ID)
			}
		}
		if r.On != nil && h.chance(70) {
			rules = append(rules, r)
		}
	}
	return rules
}

// eligible are the instances that a routed key may have, by the words of the rules.
func (p *placing) eligible(routed string) (may []int32) {
	at := slices.IndexFunc(p.config.Rules, func(r route.Rule) bool {
		if r.Equals != nil {
			return slices.Contains(r.Equals, routed)
		}
		return strings.HasPrefix(routed, r.Prefix)
	})
	for _, x := range p.instances {
		own := slices.ContainsFunc(p.config.Rules, func(r route.Rule) bool {
			return r.Exclusive && slices.Contains(r.On, x.ID)
		})
		if at < 0 && !own || at >= 0 && slices.Contains(p.config.Rules[at].On, x.ID) &&
			(!own || p.config.Rules[at].Exclusive) {
			may = append(may, x.ID)
		}
	}
	return may
}

// routes are where keys go, those that nobody has seen behind the others.
func (p *placing) routes() (at [][]int32) {
	for k := range keyCount + unseen {
		d, err := p.table.Lookup(keyName(k))
		if err != nil {
			panic(err)
		}
		at = append(at, []int32{d.Instance})
	}
	return at
}

// rehashed reports whether a plan changes where the hash puts keys.
func (p *placing) rehashed(then *placing) bool {
	return !route.Same(p.config, p.instances, then.config, then.instances)
}

// view is the table under what is pending.
func (p *placing) view(version int64, then *placing, without assumption) (*route.Table, error) {
	t, err := p.table.Changed(version, nil, nil)
	if then == nil || err != nil {
		return t, err
	}
	hash, err := route.New(then.config, then.instances)
	next := &route.Pending{Version: version + 1, Hash: hash, Rehashed: p.rehashed(then) && without != rehashTold}
	for _, key := range slices.Sorted(maps.Keys(then.entries)) {
		if at, had := p.entries[key]; !had || at != then.entries[key] {
			next.Set = append(next.Set, route.Entry{Key: []byte(key), Instance: then.entries[key]})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.entries)) {
		if _, has := then.entries[key]; !has {
			next.Unset = append(next.Unset, []byte(key))
		}
	}
	if err != nil {
		return nil, err
	}
	return t.WithPending(next)
}

// committed says what is wrong when a plan was committed: each key is where the table says, once, and
// the table has no key, seen or not, where a rule forbids it.
func (h *history) committed() {
	if h.now != nil {
		h.now, h.then = h.then, nil
		for k, at := range h.now.routes() {
			routed := string(h.now.config.Affinity.RoutedKey(keyName(k)))
			if may := h.now.eligible(routed); !slices.Contains(may, at[0]) {
				h.fail("key %d is routed to instance %d, and may be on %v alone", k, at[0], may)
			}
			h.tally["routes under rules"] += min(len(h.now.config.Rules), 1)
		}
	}
	var owner [keyCount]*instance
	for _, p := range h.instances {
		states := p.states
		if !p.up {
			states = p.durable.states
		}
		for k, s := range states {
			if !s.Active.There && !s.Provisional.There {
				continue
			}
			if !slices.Contains(append(h.table[k], h.astray[k]), p.id) {
				h.fail("committed: instance %d has key %d, whose route is %v: %+v", p.id, k, h.table[k], s)
			}
			if owner[k] != nil && !h.merged[k] {
				h.fail("committed: instances %d and %d have key %d", owner[k].id, p.id, k)
			}
			owner[k] = p
		}
	}
}

// TestRuledHistories: while rules, affinity, instances and cordons change, no key is lost or at two
// instances, and after a commit none is where a rule forbids it.
func TestRuledHistories(t *testing.T) {
	t.Parallel()
	simulate(t, newRuledHistory, "changes of the hash", "routes under rules")
}

package planner

import (
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// Placement are the rules by which keys may be on some instances alone. All methods may be
// called by several goroutines at the same time.
type Placement interface {
	// Rule is the index of the first rule that matches a key, or −1.
	Rule(key []byte, hash uint64) int
	// Eligible are the ids of the instances on which a rule, or −1, lets keys be, ascending.
	Eligible(rule int) []int32
	// Stays reports whether a rule's keys move only if their instance goes, or may not have them.
	Stays(rule int) bool
	// Len is the number of rules, Name what people call one.
	Len() int
	Name(rule int) string
	// Without are the rules but for one. Nil: there are no others, or they cannot be alone.
	Without(rule int) Placement
}

// Restricts reports whether some keys may not be on all instances.
func (c Configuration) Restricts() bool {
	return c.Placement != nil || slices.ContainsFunc(c.Instances, func(d Instance) bool { return d.Cordoned })
}

// Eligibility tells on which instances the items of a snapshot may be, by rules and cordons.
type Eligibility struct {
	// Class is by item; items of a class may be on the same instances.
	Class []int32
	// Open tells by class and instance whether items of the class may be on it. Each class has
	// one at least that is live.
	Open [][]bool
	// Pinned tells by item that it stays where it is. Nil: none does.
	Pinned []bool

	placement Placement // nil: there are no rules, or nobody knows them
}

// MayBe reports whether an item may be on an instance, which is live, by its index.
func (e *Eligibility) MayBe(item int, d int32) bool { return e == nil || e.Open[e.Class[item]][d] }

// FairShares is by instance the part of all cost that is its fair load under the rules if the first
// items cost so much and the others nothing; 0 on one that is not live or may carry nothing.
func (s *Snapshot) FairShares(cost []float64) []float64 {
	priced, shares := *s, make([]float64, len(s.Instances))
	priced.Cost, priced.Resources, priced.Amounts = make([]float64, s.Len()), nil, nil
	copy(priced.Cost, cost)
	x, err := prepare(&priced, Options{})
	if err != nil || x.p.Total == 0 {
		return shares
	}
	for _, d := range x.p.Live {
		shares[d] = x.p.Fair[d] / float64(x.p.Total)
	}
	return shares
}

// FairSharesOf is FairShares of a resource beside cost, by its index, and of what its items take of it here.
func (s *Snapshot) FairSharesOf(resource int) []float64 {
	priced := *s
	priced.Instances = slices.Clone(s.Instances)
	for d := range priced.Instances {
		x := &priced.Instances[d]
		x.Capacity, _ = x.capacityIn(resource, s.Resources[resource])
		x.ResidualCost, x.Capacities = at(x.ResidualAmounts, resource, 0), nil
	}
	return priced.FairShares(s.Amounts[resource])
}

// CapacityOf is what an instance has of a resource beside cost, by their indices.
func (s *Snapshot) CapacityOf(instance, resource int) float64 {
	capacity, _ := s.Instances[instance].capacityIn(resource, s.Resources[resource])
	return capacity
}

// restrict finds where items may be, rule being that of each: on the instances of their rule, but not on one that takes
// nothing unless they are there. Where that leaves a rule no live instance, those that take nothing
// do, and where there is none of these either, so do all that keys without a rule may be on.
func (s *Snapshot) restrict(target Configuration, rule []int32) error {
	if !target.Restricts() {
		return nil
	}
	if s.Count != nil {
		return Invalid("Count", "must be missing where rules or instances that take nothing decide where keys may be")
	}
	s.Eligibility = s.eligibility(target.Placement, func(i int) int32 { return at(rule, i, -1) })
	return nil
}

// eligibility is that of rules, nil where there are cordons alone; of tells the rule of an item.
func (s *Snapshot) eligibility(rules Placement, of func(i int) int32) *Eligibility {
	e := &Eligibility{Class: make([]int32, s.Len()), placement: rules}
	if rules == nil {
		rules = noRules{s.Instances}
	}
	c := classes{s: s, rules: rules}
	for i, d := range s.Current {
		rule := of(i)
		e.Class[i] = c.of(rule, d)
		if rules.Stays(int(rule)) && s.Instances[d].Live() && c.open[e.Class[i]][d] {
			if e.Pinned == nil {
				e.Pinned = make([]bool, s.Len())
			}
			e.Pinned[i] = true
		}
	}
	e.Open = c.open
	return e
}

// without is the snapshot as if a rule were not there.
func (s *Snapshot) without(rule int) *Snapshot {
	rest, out := s.Eligibility.placement.Without(rule), *s
	of := func(int) int32 { return -1 }
	if rest != nil {
		of = func(i int) int32 { return int32(rest.Rule(s.Keys.At(i), s.Keys.Hash(i))) }
	}
	out.Eligibility = s.eligibility(rest, of)
	return &out
}

// mostRules is how many rules are looked at one after the other, where a plan cannot keep to θ_max.
const mostRules = 16

// unmetRules are the rules without one of which, each, a plan keeps to all bounds that none keeps to with
// all of them. bound is one that is missed then.
func (f *finisher) unmetRules(bound Unmet) []Unmet {
	e := f.s.Eligibility
	if e == nil || e.placement == nil || e.placement.Len() > mostRules || f.s.Len() > fewForTheta {
		return nil
	}
	o := f.o
	o.Certificate, o.Effort, o.WorkBudget = CertificateOff, EffortFast, 0
	var list []Unmet
	for rule := range e.placement.Len() {
		s := f.s.without(rule)
		if x, err := prepare(s, o); err != nil || len(x.p.Hot) > x.p.Pinned || !f.changes(x) {
			continue // a key would still fit nowhere, or the same keys nowhere else
		}
		if plan, err := Run(Optimal, s, o); err == nil && plan.Balanced && plan.TableWithinLimit {
			list = append(list, Unmet{
				Constraint: ConstraintPlacement, Limit: bound.Limit, AtLeast: bound.AtLeast, Resource: bound.Resource,
				Rule: e.placement.Name(rule), Without: plan.level(bound.Resource),
			})
		}
	}
	return list
}

// changes reports whether other rules change anything for the instances above their bound: their fair loads,
// which keys may be there, and where these may be instead. The same counts for all instances from which room
// may come so.
func (f *finisher) changes(other *prepared) bool {
	now, then := f.s.Eligibility, other.s.Eligibility
	pairs := classPairs(now, then)
	reached, list := make([]bool, len(f.s.Instances)), []int32(nil)
	reach := func(which func(d int32) bool) {
		for _, d := range f.p.Live {
			if !reached[d] && which(d) {
				reached[d], list = true, append(list, d)
			}
		}
	}
	reach(func(d int32) bool { return f.a.Load[d] > f.p.Maximum[d] })
	// Room in the table, or in another resource, may come from anywhere.
	if len(list) == 0 || f.o.TableLimit != nil || len(f.s.Resources) > 0 {
		return true
	}
	for ; len(list) > 0; list = list[1:] {
		d := list[0]
		if math.Abs(f.p.Fair[d]-other.p.Fair[d]) > exact.Tolerance*f.p.Fair[d] {
			return true
		}
		for _, p := range pairs {
			open := now.Open[p.now]
			if !open[d] && !then.Open[p.then][d] {
				continue
			}
			if !slices.Equal(open, then.Open[p.then]) {
				return true
			}
			reach(func(d int32) bool { return open[d] })
		}
	}
	return false
}

// classPair are the classes of an item under some rules and under others.
type classPair struct{ now, then int32 }

func classPairs(now, then *Eligibility) (pairs []classPair) {
	known := map[classPair]bool{}
	for i, class := range now.Class {
		if p := (classPair{class, then.Class[i]}); !known[p] {
			known[p], pairs = true, append(pairs, p)
		}
	}
	return pairs
}

// noRules lets keys be on all instances.
type noRules struct{ instances []Instance }

func (noRules) Rule([]byte, uint64) int { return -1 }
func (noRules) Stays(int) bool          { return false }
func (noRules) Len() int                { return 0 }
func (noRules) Name(int) string         { return "" }
func (noRules) Without(int) Placement   { return nil }
func (n noRules) Eligible(int) []int32 {
	ids := make([]int32, len(n.instances))
	for i, d := range n.instances {
		ids[i] = d.ID
	}
	return ids
}

// classes numbers the classes of eligibility as they are asked for.
type classes struct {
	s     *Snapshot
	rules Placement
	index [][]int32 // by rule + 1, then by instance where an item is, or all: its class + 1
	open  [][]bool
}

// of is the class of an item of a rule on an instance.
func (c *classes) of(rule, on int32) int32 {
	for int(rule)+1 >= len(c.index) {
		c.index = append(c.index, make([]int32, len(c.s.Instances)+1))
	}
	list := c.index[rule+1]
	at := on
	if !c.s.Instances[on].Cordoned {
		at = int32(len(c.s.Instances)) // whichever of the others it is
	}
	if list[at] == 0 {
		c.open = append(c.open, c.openTo(rule, on))
		list[at] = int32(len(c.open))
	}
	return list[at] - 1
}

// openTo tells by instance whether an item of a rule that is on one may be there.
func (c *classes) openTo(rule, on int32) []bool {
	type kept struct{ rule, cordons bool }
	for _, keep := range []kept{{true, true}, {true, false}, {}} {
		if !keep.rule {
			rule = -1
		}
		open, any := c.eligible(rule), false
		for d, x := range c.s.Instances {
			if !x.Live() || keep.cordons && x.Cordoned && int32(d) != on {
				open[d] = false
			}
			any = any || open[d]
		}
		if any {
			return open
		}
	}
	return slices.Repeat([]bool{true}, len(c.s.Instances)) // the rules leave keys without a rule nothing
}

func (c *classes) eligible(rule int32) []bool {
	open := make([]bool, len(c.s.Instances))
	for d, x := range c.s.Instances {
		_, open[d] = slices.BinarySearch(c.rules.Eligible(int(rule)), x.ID)
	}
	return open
}

// sites are the instances of a snapshot as strategies see them. An item that is where it may not be
// is on a site of its own, which is not live, so that it leaves like one on a drained instance. An
// item whose hash instance is closed to it has a home that is not live.
type sites struct {
	items     *assign.Items
	instances []assign.Instance
	real      []int32 // by site: the instance
}

// separate gives the items that have to leave, and the homes that are closed, such sites.
func (s *Snapshot) separate(items *assign.Items, instances []assign.Instance) sites {
	x := sites{items: items, instances: instances, real: assign.UpTo(len(instances))}
	e := s.Eligibility
	if e == nil {
		return x
	}
	none := assign.None
	leaving, closed := slices.Repeat([]int32{none}, len(s.Instances)), none
	add := func(real int32) int32 {
		x.instances, x.real = append(x.instances, assign.Instance{Capacity: 1}), append(x.real, real)
		return int32(len(x.instances) - 1)
	}
	items.Current, items.Home = slices.Clone(s.Current), slices.Clone(s.Hash)
	for i, d := range s.Current {
		if s.Instances[d].Live() && !e.MayBe(i, d) {
			if leaving[d] == none {
				leaving[d] = add(d)
			}
			items.Current[i] = leaving[d]
		}
		if h := s.Hash[i]; s.Instances[h].Live() && !e.MayBe(i, h) {
			if closed == none {
				closed = add(h)
			}
			items.Home[i] = closed
		}
	}
	rules := &assign.Eligibility{Class: e.Class, Pinned: e.Pinned, Open: make([][]bool, len(e.Open))}
	for class, open := range e.Open {
		rules.Open[class] = append(slices.Clone(open), make([]bool, len(x.instances)-len(open))...)
	}
	items.Rules = rules
	return x
}

// misplaced reports whether an item is where it may not be.
func (x *prepared) misplaced(item int32) bool {
	return int(x.space.Items.Current[item]) >= len(x.s.Instances)
}

// onInstances adds up what sites have by instance.
func (x *prepared) onInstances(bySite []int64) []int64 {
	if len(bySite) == len(x.s.Instances) {
		return bySite
	}
	sums := make([]int64, len(x.s.Instances))
	for site, v := range bySite {
		sums[x.real[site]] += v
	}
	return sums
}

package planner

import (
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// MaxResources is how many resources an operator may have, cost included.
const MaxResources = 8

// Resource is something beside cost of which keys take so much on their instance: memory,
// connections, a number of keys. A plan keeps to the bounds in all of them.
type Resource struct {
	Name string
	// From tells where the amounts come from. Empty: [Statistics.Costs].
	From AmountSource
	// Limited: the amounts on an instance add up to no more than its capacity. Otherwise they add up
	// to no more than (1+ThetaMax) times their fair load, which is divided by capacities as that of cost
	// is, and Options.ThetaMax is for cost alone.
	Limited  bool
	ThetaMax float64 // ≥ 0; 0 where Limited
}

// AmountSource says what the amounts of a [Resource] are.
type AmountSource string

// The sources.
const (
	FromState AmountSource = "state" // the state of the key
	FromCount AmountSource = "count" // 1 of each key
)

// entire reports whether each part of a key that is split counts as all of the key: it may hold all of its state,
// and is one more that an instance has.
func (r Resource) entire() bool { return r.From != "" }

// Amounts are what the keys take of a resource, by its name.
type Amounts struct {
	Name     string
	From     AmountSource // of Statistics.Expected: that of the resource; else empty
	Rows     []float64    // by row, from 0 to MaxAmount
	Residual []float64    // parallel to Statistics.Residual. Nil: 0 each
}

// capacityIn is what an instance has of a resource: from MinCapacity to MaxCapacity of one with a
// tolerance, and from 0 to MaxAmount of one that is limited.
func (d Instance) capacityIn(resource int, of Resource) (capacity float64, valid bool) {
	if d.Capacities == nil {
		return d.Capacity, !of.Limited
	}
	capacity = d.Capacities[resource]
	if of.Limited {
		return capacity, isAmount(capacity)
	}
	return capacity, capacity >= MinCapacity && capacity <= MaxCapacity
}

// findResources sets what the items take of each resource of the target configuration.
func (s *Snapshot) findResources(target Configuration, stats *Statistics) error {
	s.Resources = target.Resources
	if len(s.Resources) == 0 {
		return nil
	}
	if s.Count != nil {
		return Invalid("Count", "must be missing where there are several resources")
	}
	if err := validateResources(s.Resources, s.Instances); err != nil {
		return err
	}
	for _, of := range s.Resources {
		amounts, err := stats.AmountsOf(of)
		if err != nil {
			return err
		}
		s.Amounts = append(s.Amounts, amounts.Rows)
		for d := range s.Instances {
			s.Instances[d].ResidualAmounts = append(s.Instances[d].ResidualAmounts, 0)
		}
		for i, x := range stats.Residual {
			d := slices.IndexFunc(s.Instances, func(d Instance) bool { return d.ID == x.Instance })
			list := s.Instances[d].ResidualAmounts
			list[len(list)-1] = amounts.Residual[i]
		}
	}
	return nil
}

// AmountsOf are those of a resource, with one for each residual. The error says that no row tells them.
func (s *Statistics) AmountsOf(of Resource) (Amounts, error) {
	if i := slices.IndexFunc(s.Expected, func(x Amounts) bool { return x.Name == of.Name && x.From == of.From }); i >= 0 {
		return s.Expected[i], nil
	}
	a := Amounts{Name: of.Name, Rows: s.State, Residual: make([]float64, len(s.Residual))}
	switch of.From {
	case FromState:
		for i, x := range s.Residual {
			a.Residual[i] = x.State
		}
	case FromCount:
		a.Rows = nil
		for i, x := range s.Residual {
			a.Residual[i] = float64(x.Keys)
		}
	default:
		i := slices.IndexFunc(s.Costs, func(x Amounts) bool { return x.Name == of.Name })
		switch {
		case i >= 0:
			a.Rows = s.Costs[i].Rows
			copy(a.Residual, s.Costs[i].Residual)
		case !s.Tells(of):
			return a, Invalid("Costs", "no row says how much it takes of resource "+of.Name)
		}
	}
	if a.Rows == nil {
		a.Rows = slices.Repeat([]float64{1}, s.Len())
	}
	return a, nil
}

// Tells reports whether rows have the amounts of a resource; those from state and counts they always have.
func (s *Statistics) Tells(of Resource) bool {
	return of.From != "" || s.Len() == 0 ||
		slices.ContainsFunc(s.Costs, func(x Amounts) bool { return x.Name == of.Name })
}

// validateCosts checks that there is an amount for each row.
func (s *Statistics) validateCosts() error {
	for i, x := range s.Costs {
		if len(x.Rows) != s.Len() || x.Residual != nil && len(x.Residual) != len(s.Residual) {
			return Invalid(Element("Costs", i), "differs in length from the rows")
		}
		for row, v := range x.Rows {
			if !isAmount(v) {
				return InvalidRow(row, "Costs."+x.Name, mustBeAmount)
			}
		}
		for j, v := range x.Residual {
			if !isAmount(v) {
				return Invalid(Element("Residual", j)+".Costs."+x.Name, mustBeAmount)
			}
		}
	}
	return nil
}

// WithRows are the amounts of statistics to which rows were added that take nothing, so that there are
// so many.
func WithRows(costs []Amounts, rows int) []Amounts {
	costs = slices.Clone(costs)
	for i, x := range costs {
		costs[i].Rows = append(slices.Clip(x.Rows), make([]float64, rows-len(x.Rows))...)
	}
	return costs
}

func validateResources(resources []Resource, instances []Instance) error {
	if len(resources) >= MaxResources {
		return Invalid("Resources", "must be at most 8, cost included")
	}
	for i, x := range resources {
		if !nonNegative(x.ThetaMax) {
			return Invalid(Element("Resources", i)+".ThetaMax", mustBeFinite)
		}
		for d, y := range instances {
			if y.Capacities != nil && len(y.Capacities) != len(resources) {
				return Invalid(Element("Instances", d)+".Capacities", "must be as many as resources")
			}
			if _, valid := y.capacityIn(i, x); !valid && y.Live() {
				return Invalid(Element("Instances", d)+".Capacities", "must have one for each resource that is limited")
			}
		}
	}
	return nil
}

// stocks are what an instance has of each resource.
func stocks(resources []Resource, d Instance) []assign.Stock {
	var list []assign.Stock
	for i, of := range resources {
		capacity, _ := d.capacityIn(i, of)
		list = append(list, assign.Stock{Capacity: capacity, Taken: at(d.ResidualAmounts, i, 0)})
	}
	return list
}

// addResources gives items what they take of resources.
func (s *Snapshot) addResources(items *assign.Items) error {
	if err := validateResources(s.Resources, s.Instances); err != nil {
		return err
	}
	if len(s.Amounts) != len(s.Resources) {
		return Invalid("Amounts", "must be as many as resources")
	}
	for i, of := range s.Resources {
		if len(s.Amounts[i]) != s.Len() {
			return Invalid("Amounts", "must be as many as items")
		}
		items.Resources = append(items.Resources, assign.Resource{
			Amount: s.Amounts[i], Limited: of.Limited, ThetaMax: of.ThetaMax, Whole: of.entire(),
		})
	}
	return nil
}

// resources fills in the figures of the resources beside cost.
func (f *finisher) resources() {
	for r, of := range f.s.Resources {
		q, then := f.p.ByResource[r+1], f.before.ByResource[r+1]
		before, after := f.onInstances(then.Before), f.onInstances(f.a.Loads[r+1])
		x := ResourceFigures{Balanced: true, Instances: make([]ResourceLoad, len(f.plan.Instances)), Worst: q.Live[0]}
		for d := range x.Instances {
			y := &x.Instances[d]
			y.Before, y.After = then.Cost.Float(before[d]), q.Cost.Float(after[d])
			if !q.IsLive[d] {
				continue
			}
			y.Max = float64((1 + q.Goal.ThetaMax) * q.Fair[d] * q.Cost.Float(1))
			y.Bound = q.Bound[d] * q.Cost.Float(1)
			if !of.Limited {
				y.Fair = float64(q.Fair[d] * q.Cost.Float(1))
			}
			x.Balanced = x.Balanced && after[d] <= q.Maximum[d]
			x.Level.Before = max(x.Level.Before, levelOf(of, before[d], then.Fair[d]))
			if level := levelOf(of, after[d], q.Fair[d]); level > x.Level.After {
				x.Level.After, x.Worst = level, int32(d)
			}
		}
		f.plan.Balanced = f.plan.Balanced && x.Balanced
		f.plan.Resources = append(f.plan.Resources, x)
	}
}

// level is that of cost, or of the resource of that name, after the plan.
func (p *Plan) level(resource string) float64 {
	for i, of := range p.Snapshot.Resources {
		if of.Name == resource {
			return p.Resources[i].Level.After
		}
	}
	return p.Theta.After
}

// levelOf is what [ResourceFigures.Level] says of an instance.
func levelOf(of Resource, load int64, base float64) float64 {
	switch {
	case of.Limited && load == 0:
		return 0
	case of.Limited:
		return float64(load) / base
	case base == 0:
		return 0
	}
	return max(0, assign.Relative(float64(load), base))
}

// name is that of a resource of the problem, the first of which is cost.
func (s *Snapshot) name(resource int) string {
	if resource == 0 {
		return ""
	}
	return s.Resources[resource-1].Name
}

// constraint is that of a resource as [Unmet] names it, of which a θ is reached at least, or so much more than all
// of a capacity.
func (f *unmetFinder) constraint(resource int, theta float64) Unmet {
	switch {
	case resource == 0:
		return Unmet{Constraint: ConstraintTheta, Limit: f.o.ThetaMax, AtLeast: theta}
	case f.s.Resources[resource-1].Limited:
		return Unmet{Constraint: ConstraintCapacity, Limit: 1, AtLeast: 1 + theta, Resource: f.s.name(resource)}
	}
	return Unmet{
		Constraint: ConstraintTheta, Limit: f.s.Resources[resource-1].ThetaMax, AtLeast: theta, Resource: f.s.name(resource),
	}
}

// hotResources reports the hot keys where there are several resources: each with the resource in which the
// instances that are open to it are exceeded most.
func (x *prepared) hotResources(a *assign.Assignment) []HotKey {
	p := x.p
	var keys []HotKey
	note := func(item, to int32) {
		worst, most, forced := 0, math.Inf(-1), 0.0
		for r, q := range p.ByResource {
			v := x.forcedIn(r, item)
			if over := (v - q.Goal.ThetaMax) / (1 + q.Goal.ThetaMax); over > most {
				worst, most, forced = r, over, v
			}
		}
		theta := max(forced, beyond(p.ByResource[worst].Goal.ThetaMax))
		if worst > 0 && x.s.Resources[worst-1].Limited {
			theta++
		}
		amount := x.s.amountsOf(worst)[item]
		keys = append(keys, HotKey{Item: item, Instance: to, Cost: amount, ForcedTheta: theta, Resource: x.s.name(worst)})
	}
	for _, h := range p.Hot[p.Pinned:] {
		switch {
		case x.o.Splitting == nil || len(x.at.Splits)+len(x.s.Splits) == 0:
			note(h.Item, h.To)
		case x.space.IsStuck(h.Item): // others are in the way of parts alone
			note(h.Item, a.At[h.Item]) // where nothing moves it is not where it were placed
		}
	}
	for _, y := range x.at.Splits {
		if x.o.Splitting != nil && x.space.IsStuck(y.Item) {
			note(y.Item, y.Heaviest().Instance)
		}
	}
	return keys
}

// amountsOf is what items take of a resource of the problem, the first of which is cost.
func (s *Snapshot) amountsOf(resource int) []float64 {
	if resource == 0 {
		return s.Cost
	}
	return s.Amounts[resource-1]
}

// forcedIn is the least θ that an item alone comes to, in one resource: whole, or in as many parts as it may have.
func (x *prepared) forcedIn(resource int, item int32) float64 {
	if x.o.Splitting != nil {
		return x.forcedByParts(resource, item)
	}
	q, least := x.p.ByResource[resource], math.Inf(1)
	on := x.p.OpenTo(item)
	for _, d := range on {
		least = min(least, assign.Relative(float64(q.Residual[d]+q.AmountOf(item)), q.Fair[d]))
	}
	return least
}

// beyond is a little more than a tolerance that is missed.
func beyond(theta float64) float64 { return theta + float64(exact.Tolerance/2*(1+theta)) }

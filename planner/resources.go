package planner

import "slices"

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

// Amounts are what the keys take of a resource, by its name.
type Amounts struct {
	Name     string
	Rows     []float64 // by row, from 0 to MaxAmount
	Residual []float64 // parallel to Statistics.Residual. Nil: 0 each
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
	if s.Count != nil || len(s.Splits) > 0 {
		return Invalid("Count", "must be missing, and no key split, where there are several resources")
	}
	if err := validateResources(s.Resources, s.Instances); err != nil {
		return err
	}
	for _, of := range s.Resources {
		amounts, err := stats.amounts(of)
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

// amounts are those of a resource, with one for each residual.
func (s *Statistics) amounts(of Resource) (Amounts, error) {
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
		if i < 0 {
			return a, Invalid("Costs", "no row says how much it takes of resource "+of.Name)
		}
		a.Rows = s.Costs[i].Rows
		copy(a.Residual, s.Costs[i].Residual)
	}
	if a.Rows == nil {
		a.Rows = slices.Repeat([]float64{1}, s.Len())
	}
	return a, nil
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

package planner

// Outcome is what [Front] compares: the three things that a plan trades against
// each other, and the constraints that it violates. Less is better in each.
type Outcome struct {
	// constraints violated: an instance above L_max or the migration limit exceeded, the table above A_max
	Violations int
	Objective  float64 // Σ (S(k)+o) over the migrations
	Table      int64   // N_A', the size of the planned table
	Theta      float64 // the largest overload after
}

// Outcome returns what [ParetoFront] compares of p.
func (p *Plan) Outcome() Outcome {
	o := Outcome{Objective: p.Migration.Objective, Table: p.TableAfter, Theta: p.Theta.After}
	if p.Options.Objective == MinImbalance { // θ_max is no constraint then
		o.Violations = p.score.Violated
		return o
	}
	if !p.Balanced {
		o.Violations++
	}
	if !p.TableWithinLimit {
		o.Violations++
	}
	return o
}

// dominates: o is as good in all three and better in one.
func (o Outcome) dominates(x Outcome) bool {
	return o.Objective <= x.Objective && o.Table <= x.Table && o.Theta <= x.Theta &&
		(o.Objective < x.Objective || o.Table < x.Table || o.Theta < x.Theta)
}

// ParetoFront marks the plans of one snapshot that no other one beats: only
// those that violate the fewest constraints compete, and of these a plan is on
// the front unless another has no larger migration objective, planned table and
// θ after, and one of them smaller. Equal plans share their place. A nil plan is
// never on the front.
func ParetoFront(plans []*Plan) []bool {
	outcomes := make([]*Outcome, len(plans))
	for i, p := range plans {
		if p != nil {
			o := p.Outcome()
			outcomes[i] = &o
		}
	}
	return Front(outcomes)
}

// Front is [ParetoFront] of bare outcomes, such as totals over many intervals.
// A nil outcome is never on the front.
func Front(outcomes []*Outcome) []bool {
	fewest := -1
	for _, o := range outcomes {
		if o != nil && (fewest < 0 || o.Violations < fewest) {
			fewest = o.Violations
		}
	}
	competes := func(o *Outcome) bool { return o != nil && o.Violations == fewest }
	front := make([]bool, len(outcomes))
	for i, o := range outcomes {
		front[i] = competes(o)
		for _, other := range outcomes {
			if front[i] && competes(other) && other.dominates(*o) {
				front[i] = false
			}
		}
	}
	return front
}

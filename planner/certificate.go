package planner

import (
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/optimal"
	"plannerd/planner/internal/packing"
)

// certify proves how good any plan of p can be, and uses what is proven already.
func (f *finisher) certify(known bound.Evidence) {
	if f.o.Certificate == CertificateOff || len(f.plan.Unfilled) > 0 {
		return
	}
	p, plan := f.p, f.plan
	c := &Certificate{}
	plan.Certificate = c
	reached := plan.Migration.Objective
	switch {
	case p.Goal.Imbalance:
		reached = plan.Theta.After
		c.LowerBound = known.LeastTheta
		if len(f.at.Splits) > 0 || f.at.LeavesParts() {
			p = f.at.Undivided(f.meter)
			c.LowerBound = optimal.ProveTheta(p, reached)
			if p.ByResource != nil && len(p.Hot) > 0 { // where these go depends on the division
				c.LowerBound = 0
				break
			}
		}
		c.LowerBound = packing.New(p).LeastTheta(c.LowerBound, reached)
	case p.ByResource != nil:
		f.certifyResources(known.Resources)
	default:
		f.certifyMigration(known.Proof)
	}
	if n := len(f.s.Splits); n > 0 && f.o.Splitting != nil && f.o.Splitting.Expire && !p.Goal.Imbalance {
		c.LowerBound = max(0, c.LowerBound-float64(f.o.KeyOverhead*float64(n))) // of keys that become whole, and do not move
	}
	plan.proven = c.LowerBound
	if plan.score.Violated == 0 {
		c.LowerBound = min(c.LowerBound, reached)
	}
	switch {
	case plan.score.Violated > 0 || c.Infeasible:
	case c.LowerBound > 0:
		gap := (reached - c.LowerBound) / c.LowerBound
		c.Gap = &gap
	case reached == 0:
		c.Gap = new(float64)
	}
}

func (f *finisher) certifyMigration(x *bound.Proof) {
	p, c, forced, hot := f.p, f.plan.Certificate, 0.0, f.plan.HotKeys
	leaves := f.at.LeavesParts()
	if leaves {
		x = nil // other plans need not leave what this one does
	}
	switch {
	case len(f.at.Splits) == 0 && !leaves:
	case x != nil:
		p = x.Relaxation.Problem
	default:
		p = f.at.Undivided(f.meter)
	}
	if len(f.at.Splits) > 0 || leaves { // others may fit where keys are divided otherwise
		hot = append(hotKeys(p), f.crowdedKeys()...)
	}
	for _, k := range hot {
		forced = max(forced, k.ForcedTheta)
	}
	if forced > 0 {
		if !f.space.Priced() {
			forced = packing.New(p).LeastTheta(forced, f.plan.Theta.After)
		}
		theta := Unmet{Constraint: ConstraintTheta, Limit: f.o.ThetaMax, AtLeast: forced}
		c.Unmet = append(c.Unmet, theta)
		c.Unmet = append(c.Unmet, f.unmetRules(theta)...)
	}
	if f.space.Priced() {
		c.LowerBound = f.space.PricedBound()
		return
	}
	if p.Settled() {
		if p.Fill.Least != nil {
			c.LowerBound = bound.ProveFill(p, nil, f.plan.Migration.Objective).LowerBound()
		}
		return
	}
	level := f.o.Certificate.level()
	if x = bound.Tightened(p, x, level); level == bound.Tight && !x.Divided {
		x.Meter(&assign.Meter{Stop: p.Meter.Stop}) // a budget of work is for the plan
		x.BranchAndBound(tightWork, f.objective, func([]covering.Placement) {})
	}
	overfull := !x.Infeasible() && f.plan.score.Violated > 0 && packing.Overfull(p)
	if !x.Infeasible() && !overfull {
		if p.Fill.Least != nil {
			x = bound.ProveFill(p, x, f.plan.Migration.Objective)
		}
		c.LowerBound = x.LowerBound()
		return
	}
	c.Infeasible = true
	c.Unmet = f.unmet(p, x, overfull)
	if i := slices.IndexFunc(c.Unmet, func(u Unmet) bool { return u.Constraint == ConstraintTheta }); i >= 0 {
		c.Unmet = append(c.Unmet, f.unmetRules(c.Unmet[i])...)
	}
}

// level is that of the proof.
func (c CertificateLevel) level() bound.Level {
	if c == CertificateTight {
		return bound.Tight
	}
	return bound.Quick
}

// tightWork is how much a tight certificate may divide the problem; see
// [bound.Proof.BranchAndBound].
const tightWork = 6_000_000

// objective is that of the plan; +∞ if it does not meet all constraints.
func (f *finisher) objective() float64 {
	if f.plan.score.Violated > 0 {
		return math.Inf(1)
	}
	return f.plan.Migration.Objective
}

// unmet are the constraints of an infeasible problem that could give way. Overfull: no table
// is large enough.
func (f *finisher) unmet(p *assign.Problem, x *bound.Proof, overfull bool) []Unmet {
	limit := p.Goal.TableLimit
	if limit == nil {
		return []Unmet{f.leastTheta(p, x)}
	}
	table := Unmet{Constraint: ConstraintTable, Limit: float64(*limit), AtLeast: math.Inf(1)}
	if !overfull {
		table.AtLeast = x.LeastTable()
	}
	fewest := float64(bound.FewestEntries(p))
	fits, never := f.withoutTableLimit(p, table.AtLeast)
	if fewest <= table.Limit { // θ can give way
		list := []Unmet{f.leastTheta(p, x)}
		if fits {
			list = append(list, table)
		}
		return list
	}
	if !fits {
		table.AtLeast = fewest
	}
	if !never {
		return []Unmet{table}
	}
	q := *p // both have to give way
	q.Goal.TableLimit = nil
	return []Unmet{f.leastTheta(&q, nil), table}
}

// withoutTableLimit reports whether some plan keeps to the load limits, and whether it is
// proven that none does, whatever its table. No plan that does has a smaller table than
// least. p is what the proof is of.
func (f *finisher) withoutTableLimit(p *assign.Problem, least float64) (fits, never bool) {
	if math.IsInf(least, 1) || f.a.WithinLimits() {
		return !math.IsInf(least, 1), math.IsInf(least, 1)
	}
	q := *f.p
	q.Goal.TableLimit, q.Goal.Effort, q.Meter = nil, assign.Fast, &assign.Meter{Stop: f.p.Meter.Stop}
	a, known := optimally(&q, f.o)
	if len(f.at.Splits) > 0 || f.at.LeavesParts() {
		q = *p
		q.Goal.TableLimit, q.Goal.Effort = nil, assign.Fast
		known.Proof = bound.Prove(&q, bound.Quick)
	}
	return a != nil && a.WithinLimits(), known.Proof.Infeasible()
}

// fewForTheta is up to how many items θ is bisected, with a proof at each step.
const fewForTheta = 20_000

// wholeTheta is the least θ at which some key that the plan splits fits on an instance, where
// that counts: the table of plans with more need not have room for its parts.
func (f *finisher) wholeTheta() float64 {
	least := math.Inf(1)
	if f.o.TableLimit == nil {
		return least
	}
	for _, y := range f.at.Splits {
		cost := f.before.Cost.Fixed(f.s.Cost[y.Item])
		for _, d := range f.before.Live {
			residual := f.before.Cost.Fixed(f.s.Instances[d].ResidualCost)
			least = min(least, assign.Relative(float64(residual+cost), f.before.Fair[d]))
		}
	}
	return max(least, f.o.ThetaMax)
}

// leastTheta is what θ comes to at least, for plans within the table limit of p, in
// which θ_max cannot be met. The proof, if any, is of p.
func (f *finisher) leastTheta(p *assign.Problem, x *bound.Proof) Unmet {
	least := f.o.ThetaMax + float64(exact.Tolerance/2*(1+f.o.ThetaMax)) // as θ_max is missed in spite of the tolerance
	least = max(least, optimal.ForcedTheta(p))
	if x != nil && len(p.Hot) == 0 {
		least = max(least, x.LeastTheta())
	}
	if p.Items.Len() <= fewForTheta {
		reached := math.Inf(1)
		if p.TableExcess(f.plan.TableAfter) == 0 {
			reached = f.plan.Theta.After
		}
		least = max(least, optimal.ProveTheta(p, reached))
	}
	least = packing.New(p).LeastTheta(min(least, f.wholeTheta()), f.plan.Theta.After)
	return Unmet{Constraint: ConstraintTheta, Limit: f.o.ThetaMax, AtLeast: least}
}

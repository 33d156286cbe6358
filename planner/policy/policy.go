// Package policy says when an operator is planned for, on which costs, and how far.
//
// A plan takes effect in the interval after the one that it is made of. A [Policy] is
// what a person can read and pin: how costs are forecast, the θ that plans are made for,
// what has to be expected before anything moves, and how much may move. The package is
// pure, like package planner.
package policy

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
	"plannerd/planner/forecast"
)

// Policy says what to plan on, and when. Its zero value but for the forecast plans on
// every interval, to θ_max.
type Policy struct {
	Forecast forecast.Config `json:"forecast"`
	// TargetTheta is the θ_max of plans, at most that of the operator: planned lower,
	// loads have room to change. Nil: that of the operator.
	TargetTheta *float64 `json:"target_theta"`
	Trigger     Trigger  `json:"trigger"`
	// CooldownIntervals is for how many intervals after a plan that moved keys none is made.
	CooldownIntervals int `json:"cooldown_intervals"`
	// Budget is the most that one plan may move, as a part of all state. Nil: no bound.
	Budget *float64 `json:"budget"`
	// MinimumBenefit is by how much a plan that moves all state would have to lower the
	// excess that is expected of the next interval, the mean of what θ is above θ_max; one that
	// moves less, by the same part of it. 0: no plan is held back for that.
	MinimumBenefit float64 `json:"minimum_benefit"`
}

// Trigger is what has to be expected before a plan is made. Both hold where both are set.
type Trigger struct {
	// Theta: the expected loads have a θ above this. Nil: above the target.
	Theta *float64 `json:"theta"`
	// Probability: that θ_max is broken in the next interval if nothing moves is at least
	// this. While nothing can be predicted yet it holds. Nil: no condition.
	Probability *float64 `json:"probability"`
}

// Validate reports the first field that is out of range as an InputError.
func (p Policy) Validate() error {
	from0 := func(x *float64) bool { return x == nil || *x >= 0 && *x <= planner.MaxAmount }
	part := func(x *float64) bool { return x == nil || *x >= 0 && *x <= 1 }
	return cmp.Or(
		p.Forecast.Validate(),
		planner.Require(from0(p.TargetTheta), "TargetTheta", "must be ≥ 0 and finite"),
		planner.Require(from0(p.Trigger.Theta), "Trigger.Theta", "must be ≥ 0 and finite"),
		planner.Require(part(p.Trigger.Probability), "Trigger.Probability", "must be from 0 to 1"),
		planner.RequireAtLeast("CooldownIntervals", p.CooldownIntervals, 0),
		planner.Require(part(p.Budget), "Budget", "must be from 0 to 1"),
		planner.RequireAmount("MinimumBenefit", p.MinimumBenefit),
	)
}

// Reason says why a decision came to move nothing, if it did.
type Reason string

// The reasons.
const (
	Planned     Reason = ""            // a plan was made; the strategy may still have found nothing to do
	Balanced    Reason = "balanced"    // the loads to expect are within the trigger
	Cooldown    Reason = "cooldown"    // it is too soon after the last plan that moved keys
	Improbable  Reason = "improbable"  // θ_max is not likely enough to be broken
	LittleWorth Reason = "little_gain" // the plan would move too much for what it improves
)

// Situation is what is decided on.
type Situation struct {
	// Snapshot is made of the statistics of Forecast.
	Snapshot *planner.Snapshot
	// Forecast is nil where nothing is known of other intervals.
	Forecast *forecast.Forecast
	// Since is how many intervals ago the last plan took effect that moved keys; 1 is
	// the last one. 0: there was none.
	Since int
}

// Decision is what a policy came to.
type Decision struct {
	// Plan is the one to carry out; one that moves nothing if Reason says why.
	Plan   *planner.Plan
	Reason Reason
	// Without and With are what to expect of the next interval if nothing moves, and if
	// the plan is carried out. Nil: too little is known.
	Without, With *forecast.Prediction
}

// Runner makes a plan of a strategy, as [planner.Run] does.
type Runner func(strategy string, s *planner.Snapshot, o planner.Options) (*planner.Plan, error)

// Decide makes a plan, or decides to make none. Options are those of the operator:
// ThetaMax is what plans are held against. What has to be done, has to be: no trigger
// holds a plan back where keys have to leave an instance, one is to be filled, the hash
// changed, the table is above its limit, or more of a resource is to be expected than an instance has of it. The
// certificate of a plan is about the bounds that it was made for: where the target is a part of θ_max, so
// are the targets of other resources, see aim.
func (p Policy) Decide(run Runner, strategy string, in Situation, o planner.Options) (Decision, error) {
	s := in.Snapshot
	d := Decision{Without: in.predict(s.Current, s.Splits, o.ThetaMax)}
	d.With = d.Without
	goal := p.goal(o)
	var err error
	if d.Reason, err = p.held(in, o, d.Without); d.Reason != Planned || err != nil {
		return d.leave(s, o, err)
	}
	made, err := p.plan(run, strategy, aim(s, o.ThetaMax, goal.ThetaMax), goal)
	if err != nil {
		return d, err
	}
	d.Plan = made.HeldAgainst(s, o.ThetaMax)
	if len(made.Moves) == 0 && !made.Resplits() {
		if slices.Contains(made.Causes, planner.CauseBalanced) {
			d.Reason = Balanced
		}
		return d, nil
	}
	d.With = in.predict(After(made), splitsOf(made), o.ThetaMax)
	if p.MinimumBenefit == 0 || d.With == nil || gain(d) >= p.MinimumBenefit*made.Migration.Fraction {
		return d, nil
	}
	if must, err := mustMove(s, goal); must || err != nil {
		return d, err
	}
	d.Reason, d.With = LittleWorth, d.Without
	return d.leave(s, o, nil)
}

// splitsOf are the keys that a plan splits.
func splitsOf(p *planner.Plan) []planner.Split {
	out := make([]planner.Split, len(p.Splits))
	for i, x := range p.Splits {
		out[i] = x.Split
	}
	return out
}

// predict says what to expect with keys there; nil: too little is known.
func (in Situation) predict(at []int32, splits []planner.Split, thetaMax float64) *forecast.Prediction {
	if in.Forecast == nil {
		return nil
	}
	return in.Forecast.Predict(in.Snapshot, at, splits, thetaMax)
}

// leave decides to move nothing.
func (d Decision) leave(s *planner.Snapshot, o planner.Options, err error) (Decision, error) {
	if err == nil {
		d.Plan, err = planner.Inspect(s, o)
	}
	return d, err
}

// Held says why no plan is made, as [Policy.Decide] does before it makes one.
func (p Policy) Held(in Situation, o planner.Options) (Reason, error) {
	return p.held(in, o, in.predict(in.Snapshot.Current, in.Snapshot.Splits, o.ThetaMax))
}

// goal is what plans are made for.
func (p Policy) goal(o planner.Options) planner.Options {
	if p.TargetTheta != nil {
		o.ThetaMax = min(o.ThetaMax, *p.TargetTheta)
	}
	return o
}

// aim is a snapshot with bounds of resources that leave room where θ of cost is to be theta and not θ_max: tolerances
// are the same part of what they are, limits the same part of capacities. Below halfway between what is taken
// altogether and all that there is, few plans could keep to these, so that is the least.
func aim(s *planner.Snapshot, thetaMax, theta float64) *planner.Snapshot {
	if len(s.Resources) == 0 || theta == thetaMax || thetaMax == 0 {
		return s
	}
	out := *s
	out.Resources, out.Instances = slices.Clone(s.Resources), slices.Clone(s.Instances)
	for d := range out.Instances {
		out.Instances[d].Capacities = slices.Clone(out.Instances[d].Capacities)
	}
	for r := range out.Resources {
		of := &out.Resources[r]
		if !of.Limited {
			of.ThetaMax = min(planner.MaxAmount, of.ThetaMax/thetaMax*theta)
			continue
		}
		part := min(1, max((1+theta)/(1+thetaMax), (1+filled(s, r))/2))
		for d := range out.Instances {
			if c := out.Instances[d].Capacities; c != nil {
				c[r] *= part
			}
		}
	}
	return &out
}

// filled is how much of all that live instances have of a resource is taken.
func filled(s *planner.Snapshot, r int) float64 {
	all := exact.NewColumn(s.Amounts[r], s.Len())
	taken, capacity := all.Float(all.Total), 0.0
	for d, x := range s.Instances {
		taken += x.ResidualAmounts[r]
		if x.Live() {
			capacity += s.CapacityOf(d, r)
		}
	}
	if capacity == 0 {
		return 1
	}
	return taken / capacity
}

// held says why no plan is made.
func (p Policy) held(in Situation, o planner.Options, without *forecast.Prediction) (Reason, error) {
	t, goal := p.Trigger, p.goal(o)
	if t == (Trigger{}) && p.TargetTheta == nil && p.CooldownIntervals == 0 {
		return Planned, nil
	}
	if !in.Snapshot.HashChanged && (goal.Objective != planner.MinImbalance || t.Theta != nil) {
		theta := goal.ThetaMax
		if t.Theta != nil {
			theta = *t.Theta
		}
		if yes, err := settled(aim(in.Snapshot, o.ThetaMax, theta), goal, theta); yes && !fills(in.Snapshot) || err != nil {
			return Balanced, err
		}
	}
	if must, err := mustMove(in.Snapshot, goal); must || err != nil {
		return Planned, err
	}
	switch {
	case in.Since > 0 && in.Since <= p.CooldownIntervals:
		return Cooldown, nil
	case t.Probability != nil && without != nil && without.Probability < *t.Probability:
		return Improbable, nil
	}
	return Planned, nil
}

// settled reports whether there would be nothing to do if θ_max were that.
func settled(s *planner.Snapshot, goal planner.Options, theta float64) (bool, error) {
	still, err := still(s, goal, theta)
	return err == nil && slices.Contains(still.Causes, planner.CauseBalanced) && len(still.Unfilled) == 0, err
}

// still is the plan that moves nothing, if θ_max were that.
func still(s *planner.Snapshot, goal planner.Options, theta float64) (*planner.Plan, error) {
	return planner.Inspect(s, planner.Options{
		ThetaMax: theta, ThetaMin: goal.ThetaMin, TableLimit: goal.TableLimit, Splitting: goal.Splitting,
		Certificate: planner.CertificateOff,
	})
}

// mustMove reports whether there is something to do whatever θ is, of cost and of resources with a tolerance: an
// instance that is to be filled is, too.
func mustMove(s *planner.Snapshot, goal planner.Options) (bool, error) {
	if s.HashChanged {
		return true, nil
	}
	least, sum := math.Inf(1), 0.0
	for _, d := range s.Instances {
		if d.Live() {
			least, sum = min(least, d.Capacity), sum+d.Capacity
		}
	}
	most := min(sum/least, math.MaxFloat64) // one instance may carry all
	if s.Eligibility != nil {
		most = 1e200 // fair loads may be as small as they like
	}
	free := *s
	free.Resources = slices.Clone(s.Resources)
	for r := range free.Resources {
		if of := &free.Resources[r]; !of.Limited {
			of.ThetaMax = 1e200
		}
	}
	yes, err := settled(&free, goal, most)
	if !yes || err != nil {
		return !yes, err
	}
	if !fills(s) {
		return false, nil
	}
	now, err := still(s, goal, goal.ThetaMax)
	return err == nil && len(now.Unfilled) > 0, err
}

// fills reports whether some instance is to be filled.
func fills(s *planner.Snapshot) bool {
	return slices.ContainsFunc(s.Instances, func(d planner.Instance) bool { return d.Filling })
}

// plan makes the plan, within the budget.
func (p Policy) plan(run Runner, strategy string, s *planner.Snapshot, goal planner.Options) (*planner.Plan, error) {
	made, err := run(strategy, s, goal)
	if err != nil || p.Budget == nil || made.Migration.Fraction <= *p.Budget {
		return made, err
	}
	goal.Objective = planner.MinImbalance
	goal.MigrationLimit = &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: *p.Budget}
	return run(planner.Optimal, s, goal)
}

// gain is by how much a plan lowers the excess that is expected.
func gain(d Decision) float64 {
	return d.Without.Excess - d.With.Excess
}

// After is where the plan leads each key, as indices into the instances of its snapshot.
func After(p *planner.Plan) []int32 {
	at := append([]int32(nil), p.Snapshot.Current...)
	for _, m := range p.Moves {
		at[m.Item] = m.To
	}
	return at
}

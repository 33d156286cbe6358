package main

import (
	"math"
	"time"

	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
)

// status is what became of a strategy's attempt at a case.
type status string

const (
	statusCompleted status = "completed"
	statusStopped   status = "stopped" // the time limit cut the plan short
	statusNoPlan    status = "no_plan" // the time limit came before any plan
	statusSkipped   status = "skipped" // not tried: too many keys
)

// result is one strategy's answer to a case.
type result struct {
	strategy  string
	status    status
	meets     bool // every constraint
	objective float64
	fraction  float64
	table     int64
	theta     float64
	elapsed   time.Duration
	work      int64 // units

	proves     bool    // it came with a certificate
	bound      float64 // its certificate's
	infeasible bool    // its certificate says so
}

// planned tells whether there is a plan, be it cut short.
func (r *result) planned() bool { return r.status == statusCompleted || r.status == statusStopped }

// tolerance is that of the one predicate by which loads keep to their bounds.
const tolerance = 1e-9

// resultOf is what a plan amounts to.
func resultOf(strategy string, p *planner.Plan, elapsed time.Duration) result {
	r := result{
		strategy: strategy, status: statusCompleted, meets: p.TableWithinLimit,
		objective: p.Migration.Objective, fraction: p.Migration.Fraction,
		table: p.TableAfter, theta: p.Theta.After, elapsed: elapsed, work: p.WorkUnits,
	}
	if p.EndReason != planner.EndCompleted {
		r.status = statusStopped
	}
	for d, x := range p.Instances {
		if !p.Snapshot.Instances[d].Drained && x.After > x.Bound*(1+tolerance) {
			r.meets = false
		}
		for _, of := range p.Resources {
			r.meets = r.meets && of.Instances[d].After <= of.Instances[d].Bound*(1+tolerance)
		}
	}
	if c := p.Certificate; c != nil {
		r.proves, r.bound, r.infeasible = true, c.LowerBound, c.Infeasible
	}
	return r
}

// class says whether a case has a plan that meets every constraint.
type class string

const (
	classFeasible   class = "feasible"   // one was found
	classInfeasible class = "infeasible" // a certificate proves that there is none
	classUnknown    class = "unknown"
)

// record is a case and all its answers.
type record struct {
	drive       drive        // of a stream,
	family      cases.Family // or empty
	name        string
	keys        int // rows of the statistics
	settled     bool
	hot         int // hot keys
	thetaBefore float64
	results     []result // of the strategies, then the reference

	class class
	// bound is the best proven one; found the least objective of a plan that
	// meets every constraint, +Inf without one, and by whom.
	bound, found float64
	foundBy      string
	// contradicted: a plan refutes a certificate.
	contradicted bool
}

// judge draws the conclusions from all results.
func (r *record) judge() {
	r.bound, r.found = 0, math.Inf(1)
	infeasible := false
	for _, x := range r.results {
		if x.proves {
			r.bound = max(r.bound, x.bound)
			infeasible = infeasible || x.infeasible
		}
		if x.planned() && x.meets && x.objective < r.found {
			r.found, r.foundBy = x.objective, x.strategy
		}
	}
	feasible := !math.IsInf(r.found, 1)
	switch {
	case feasible:
		r.class = classFeasible
	case infeasible:
		r.class = classInfeasible
	default:
		r.class = classUnknown
	}
	r.contradicted = feasible && (infeasible || r.bound > r.found)
}

// of returns the strategy's result, nil when it did not try.
func (r *record) of(strategy string) *result {
	for i := range r.results {
		if x := &r.results[i]; x.strategy == strategy && x.status != statusSkipped {
			return x
		}
	}
	return nil
}

// ratio is objective over bound: how many times the provably least migration a
// plan moves. It is 1 when both are 0; +Inf when the plan, of a feasible case,
// does not meet every constraint; and has no value (ok is false) when only the
// bound is 0.
func (r *record) ratio(x *result) (ratio float64, ok bool) {
	switch {
	case !x.planned() || !x.meets:
		return math.Inf(1), true
	case x.objective == 0:
		return 1, true
	case r.bound == 0:
		return 0, false
	}
	return x.objective / r.bound, true
}

// boundQuality is the strategy's own bound relative to the best one. It has no
// value when the latter is 0 or the strategy proves nothing.
func (r *record) boundQuality(x *result) (quality float64, ok bool) {
	if !x.proves || r.bound == 0 || r.class == classInfeasible {
		return 0, false
	}
	return x.bound / r.bound, true
}

package planner

import (
	"math"

	"plannerd/planner/internal/bound"
)

// certify proves how good any plan of p can be, and uses what is proven already.
func (f *finisher) certify(known bound.Evidence) {
	if f.o.Certificate == CertificateOff {
		return
	}
	p, plan := f.p, f.plan
	c := &Certificate{}
	plan.Certificate = c
	reached := plan.Migration.Objective
	if p.Goal.Imbalance {
		reached = plan.Theta.After
		c.LowerBound = known.LeastTheta
	} else {
		f.certifyMigration(known.Proof)
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
	p, c, forced := f.p, f.plan.Certificate, 0.0
	for _, k := range f.plan.HotKeys {
		forced = max(forced, k.ForcedTheta)
	}
	if forced > 0 {
		c.Unmet = append(c.Unmet, Unmet{ConstraintTheta, f.o.ThetaMax, forced})
	}
	if p.Settled() {
		return
	}
	if x = bound.Tightened(p, x, f.o.Certificate == CertificateTight); !x.Infeasible() {
		c.LowerBound = x.LowerBound()
		return
	}
	c.Infeasible = true
	table, theta := x.Shortfall()
	c.Unmet = append(c.Unmet[:0], Unmet{ConstraintTheta, f.o.ThetaMax, max(theta, forced)})
	if f.o.TableLimit != nil && !math.IsInf(x.Entries, 1) {
		c.Unmet = append(c.Unmet, Unmet{ConstraintTable, float64(*f.o.TableLimit), table})
	}
}

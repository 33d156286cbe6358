package offline

import (
	"testing"

	"plannerd/planner"
)

func TestLimitTexts(t *testing.T) {
	const fraction, keys, state = planner.MigrationFraction, planner.MigrationKeys, planner.MigrationState
	for text, limit := range map[string]planner.MigrationLimit{
		"5%": {Unit: fraction, Amount: 0.05}, "0.1%": {Unit: fraction, Amount: 0.001}, "7%": {Unit: fraction, Amount: 0.07},
		"1200000keys": {Unit: keys, Amount: 1.2e6}, "3e+12": {Unit: state, Amount: 3e12},
	} {
		if got := amountText(limit.Unit, limit.Amount, limitDigits); got != text {
			t.Errorf("%+v is written %q, want %q", limit, got, text)
		}
	}
}

func TestCertificateText(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	moved := planner.Migration{State: 110, Objective: 110}
	limit := &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: 0.01}
	for want, p := range map[string]planner.Plan{
		"":                                  {},
		"No lower bound above 0 is proven.": {Certificate: &planner.Certificate{}},
		"Proven: no plan within all limits does better than this one.": {
			Certificate: &planner.Certificate{LowerBound: 110, Gap: number(0)}, Migration: moved,
		},
		"Proven: any plan within all limits moves at least 100 of state; this one moves 110, 10.00 % more.": {
			Certificate: &planner.Certificate{LowerBound: 100, Gap: number(0.1)}, Migration: moved,
		},
		"Proven: any plan within all limits moves at least 10 of state; this one moves 110, 11 times that.": {
			Certificate: &planner.Certificate{LowerBound: 10, Gap: number(10)}, Migration: moved,
		},
		"Proven: any plan within all limits moves at least 100 of state.": {
			Certificate: &planner.Certificate{LowerBound: 100}, Migration: moved,
		},
		"Proven: any plan within all limits costs at least 100, state and overhead; this one costs 110, 10.00 % more.": {
			Certificate: &planner.Certificate{LowerBound: 100, Gap: number(0.1)}, Migration: moved,
			Options: planner.Options{KeyOverhead: 1}},
		"Proven: any plan within all limits has a θ of at least 0.0500; this one has 0.0600, 20.00 % more.": {
			Certificate: &planner.Certificate{LowerBound: 0.05, Gap: number(0.2)}, Theta: planner.Comparison{After: 0.06},
			Options: planner.Options{Objective: planner.MinImbalance, MigrationLimit: limit}},
		"Proven: no plan meets all limits. With the other limits kept, θ is at least 0.1000 (θ_max is 0.08). Likewise, the " +
			"routing table has at least 12 entries (its limit is 3).": {
			Certificate: &planner.Certificate{Infeasible: true, Unmet: []planner.Unmet{
				{Constraint: planner.ConstraintTheta, Limit: 0.08, AtLeast: 0.1},
				{Constraint: planner.ConstraintTable, Limit: 3, AtLeast: 12}}}},
		"Proven: no plan meets all limits. With the other limits kept, at least 5.1% must migrate (the limit is 1%).": {
			Certificate: &planner.Certificate{Infeasible: true,
				Unmet: []planner.Unmet{{Constraint: planner.ConstraintMigration, Limit: 0.01, AtLeast: 0.051}}},
			Options: planner.Options{Objective: planner.MinImbalance, MigrationLimit: limit}},
	} {
		if got := certificateText(&p); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

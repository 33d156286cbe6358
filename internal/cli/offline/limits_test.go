package offline

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/planner"
)

func TestParseLimits(t *testing.T) {
	const fraction, keys, state = planner.MigrationFraction, planner.MigrationKeys, planner.MigrationState
	for text, want := range map[string][]planner.MigrationLimit{
		"5%":          {{Unit: fraction, Amount: 0.05}},
		" 0.5 % ":     {{Unit: fraction, Amount: 0.005}},
		"100%":        {{Unit: fraction, Amount: 1}},
		"1200keys":    {{Unit: keys, Amount: 1200}},
		"0keys":       {{Unit: keys}},
		"3e6":         {{Unit: state, Amount: 3e6}},
		"5%,1%,5%,0%": {{Unit: fraction}, {Unit: fraction, Amount: 0.01}, {Unit: fraction, Amount: 0.05}},
		"":            nil,
		"keys":        nil,
		"-1":          nil,
		"NaN":         nil,
		"1e999":       nil,
		"100.1%":      nil,
		"0.5keys":     nil,
		"1%,2":        nil,
		"1%,":         nil,
		"stats.csv":   nil,
	} {
		got, err := ParseLimits(text)
		if diff := cmp.Diff(want, got); want != nil && (err != nil || diff != "") || want == nil && err == nil {
			t.Errorf("%q: %v, error %v (-want +got):\n%s", text, got, err, diff)
		}
	}
	for text, limit := range map[string]planner.MigrationLimit{
		"5%": {Unit: fraction, Amount: 0.05}, "0.1%": {Unit: fraction, Amount: 0.001}, "7%": {Unit: fraction, Amount: 0.07},
		"1200000keys": {Unit: keys, Amount: 1.2e6}, "3e+12": {Unit: state, Amount: 3e12},
	} {
		if got := amountText(limit.Unit, limit.Amount, limitDigits); got != text {
			t.Errorf("%+v is written %q, want %q", limit, got, text)
		}
		if again, err := parseLimit(text); err != nil || math.Abs(again.Amount-limit.Amount) > 1e-15*limit.Amount {
			t.Errorf("%q is read as %v, error %v", text, again, err)
		}
	}
}

func TestLadder(t *testing.T) {
	for x, want := range map[float64]float64{0.25: 0.25, 0.2501: 0.26, 1: 1, 0.999: 1, 0.00012345: 0.00013,
		0.3: 0.3, 7e-9: 7e-9} {
		if got := twoDigits(x); got != want {
			t.Errorf("%v rounds up to %v, want %v", x, got, want)
		}
	}
	plan := &planner.Plan{Migration: planner.Migration{Fraction: 0.4096}}
	for most, best := range map[float64]*planner.Plan{0.41: plan, 1: nil} {
		limits := ladder(best)
		if len(limits) != Steps+1 || limits[0].Amount != 0 || limits[Steps].Amount != most {
			t.Fatalf("ladder to %v: %v", most, limits)
		}
		for i, limit := range limits[2:] {
			if ratio := limit.Amount / limits[i+1].Amount; ratio < 1.8 || ratio > 2.2 { // twice, rounded up
				t.Errorf("ladder to %v: from %v to %v", most, limits[i+1].Amount, limit.Amount)
			}
		}
	}
	if limits := ladder(&planner.Plan{}); limits[Steps].Amount != 1 {
		t.Errorf("nothing moves: %v", limits)
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

package planning

import (
	"slices"
	"testing"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/store"
)

// TestWaitsFor: which plans wait for a person, and why.
func TestWaitsFor(t *testing.T) {
	within := func() PlanResult {
		return PlanResult{Plan: &planner.Plan{
			Balanced: true, TableBefore: 3, TableAfter: 5, TableWithinLimit: true,
			Theta:     planner.Comparison{Before: 0.5, After: 0.05},
			Migration: planner.Migration{Keys: 4, State: 40, Fraction: 0.2},
			Instances: []planner.Load{{Before: 3}, {Before: 1}},
		}}
	}
	state, fraction, keys := 40.0, 0.2, int64(4)
	for name, c := range map[string]struct {
		rule   ApprovalOptions
		change func(*PlanResult)
		want   []WaitReason
	}{
		"within limits": {ApprovalOptions{Auto: AutoWithinLimits}, func(*PlanResult) {}, nil},
		"never":         {ApprovalOptions{Auto: AutoNever}, func(*PlanResult) {}, []WaitReason{WaitApproval}},
		"a larger table over its limit": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.TableWithinLimit = false }, []WaitReason{WaitTableLimit}},
		"as large a one": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.TableWithinLimit, o.TableAfter = false, 3 }, []WaitReason{WaitTableLimit}},
		"a smaller one": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.TableWithinLimit, o.TableAfter = false, 2 }, nil},
		"better, above the limit": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.Balanced, o.Theta.After = false, 0.4 }, nil},
		"no better, above the limit": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.Balanced, o.Theta.After = false, 0.5 }, nil},
		"worse, above the limit": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.Balanced, o.Theta.After = false, 0.6 }, []WaitReason{WaitThetaWorse}},
		"worse, within the limit": {ApprovalOptions{Auto: AutoWithinLimits},
			func(o *PlanResult) { o.Theta.After = 0.6 }, nil},
		"worse, as a hot key forces": {ApprovalOptions{Auto: AutoWithinLimits}, func(o *PlanResult) {
			o.Balanced, o.Theta.After, o.HotKeys = false, 0.6, []planner.HotKey{{ForcedTheta: 0.3}, {ForcedTheta: 0.6}}
		}, nil},
		"worse than a hot key forces": {ApprovalOptions{Auto: AutoWithinLimits}, func(o *PlanResult) {
			o.Balanced, o.Theta.After, o.HotKeys = false, 0.7, []planner.HotKey{{ForcedTheta: 0.6}}
		}, []WaitReason{WaitThetaWorse}},
		"of what nobody carried": {ApprovalOptions{Auto: AutoWithinLimits}, func(o *PlanResult) {
			o.Balanced, o.Theta, o.Instances = false, planner.Comparison{After: 0.6}, []planner.Load{{After: 3}}
		}, nil},
		"as much as the limits": {ApprovalOptions{Auto: AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{State: &state, Fraction: &fraction, Keys: &keys}},
			func(*PlanResult) {}, nil},
		"more state": {ApprovalOptions{Auto: AutoWithinLimits, MaxMigration: &parameters.MigrationLimit{State: &state}},
			func(o *PlanResult) { o.Migration.State = 41 }, []WaitReason{WaitMaxMigration}},
		"a larger fraction": {ApprovalOptions{Auto: AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{Fraction: &fraction}},
			func(o *PlanResult) { o.Migration.Fraction = 0.21 }, []WaitReason{WaitMaxMigration}},
		"nothing of nothing": {ApprovalOptions{Auto: AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{Fraction: new(0.0)}},
			func(o *PlanResult) { o.Migration = planner.Migration{Keys: 4} }, nil},
		"more keys": {ApprovalOptions{Auto: AutoWithinLimits, MaxMigration: &parameters.MigrationLimit{Keys: &keys}},
			func(o *PlanResult) { o.Migration.Keys = 5 }, []WaitReason{WaitMaxMigration}},
		"all at once": {ApprovalOptions{Auto: AutoNever, MaxMigration: &parameters.MigrationLimit{Keys: &keys}},
			func(o *PlanResult) {
				o.small, o.TableWithinLimit, o.Balanced, o.Theta.After, o.Migration.Keys = true, false, false, 0.6, 5
			}, []WaitReason{WaitSmall, WaitApproval, WaitTableLimit, WaitThetaWorse, WaitMaxMigration}},
		"all at once, but always": {ApprovalOptions{Auto: AutoAlways, MaxMigration: &parameters.MigrationLimit{Keys: &keys}},
			func(o *PlanResult) {
				o.TableWithinLimit, o.Balanced, o.Theta.After, o.Migration.Keys = false, false, 0.6, 5
			}, nil},
		"too small, but always": {ApprovalOptions{Auto: AutoAlways}, func(o *PlanResult) { o.small = true },
			[]WaitReason{WaitSmall}},
	} {
		o := within()
		c.change(&o)
		if got := (Configuration{ApprovalRule: ApprovalRule{Approval: c.rule}}).waitsFor(&o); !slices.Equal(got, c.want) {
			t.Errorf("%s: waits for %v, want %v", name, got, c.want)
		}
	}
}

// TestAgreedLimits: who approved a plan that broke a limit has agreed to that, and to as
// high a θ.
func TestAgreedLimits(t *testing.T) {
	then := &planner.Plan{Theta: planner.Comparison{After: 0.6}}
	for name, c := range map[string]struct {
		auto   Auto
		agreed []string
		theta  float64
		breaks []WaitReason
		want   bool
	}{
		"nothing is broken":    {AutoWithinLimits, nil, 0.1, nil, false},
		"a limit is broken":    {AutoWithinLimits, nil, 0.1, []WaitReason{WaitMaxMigration}, true},
		"which was agreed to":  {AutoWithinLimits, []string{"max_migration"}, 0.1, []WaitReason{WaitMaxMigration}, false},
		"another was":          {AutoNever, []string{"max_migration"}, 0.1, []WaitReason{WaitThetaWorse}, true},
		"a higher θ was":       {AutoNever, []string{"theta_worse"}, 0.7, []WaitReason{WaitThetaWorse}, false},
		"a lower θ was":        {AutoNever, []string{"theta_worse"}, 0.5, []WaitReason{WaitThetaWorse}, true},
		"limits do not matter": {AutoAlways, nil, 0.1, []WaitReason{WaitMaxMigration}, false},
	} {
		p := store.Plan{WaitsFor: c.agreed, Figures: store.Figures{ThetaAfter: c.theta}}
		rule := Configuration{ApprovalRule: ApprovalRule{Approval: ApprovalOptions{Auto: c.auto}}}
		if got := rule.limitsChanged(p, then, c.breaks); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSmallerOfBothLimits: a plan that may move as much as a migration limit moves no more
// than needs no approval.
func TestSmallerOfBothLimits(t *testing.T) {
	limits := func(state float64, keys int64) (out []*parameters.MigrationLimit) {
		return []*parameters.MigrationLimit{{State: &state}, {Fraction: &state}, {Keys: &keys}}
	}
	for i, small := range limits(0.1, 1) {
		for j, large := range limits(0.2, 2) {
			for _, both := range [][2]*parameters.MigrationLimit{{small, large}, {large, small}} {
				var c Configuration
				c.Approval.Auto, c.MigrationLimit, c.Approval.MaxMigration = AutoWithinLimits, both[0], both[1]
				want := *both[0]
				if i == j {
					want = *small
				}
				if got := *c.planned().MigrationLimit; !sameLimit(got, want) {
					t.Errorf("under %+v and %+v: %+v", both[0], both[1], got)
				}
				if c.Approval.Auto = AutoAlways; !sameLimit(*c.planned().MigrationLimit, *both[0]) {
					t.Error("a limit matters that nobody asks for")
				}
			}
		}
	}
	var c Configuration
	c.Approval.MaxMigration = limits(0.1, 1)[0]
	if c.planned().MigrationLimit != nil {
		t.Error("a plan that has no limit gets one")
	}
}

func sameLimit(a, b parameters.MigrationLimit) bool {
	same := func(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(a.State, b.State) && same(a.Fraction, b.Fraction) && (a.Keys == nil) == (b.Keys == nil) &&
		(a.Keys == nil || *a.Keys == *b.Keys)
}

package propose

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/store"
)

// TestWaitsFor: which plans wait for a person, and why.
func TestWaitsFor(t *testing.T) {
	within := func() scheme.Result {
		return scheme.Result{Plan: &planner.Plan{
			Balanced: true, TableBefore: 3, TableAfter: 5, TableWithinLimit: true,
			Theta:     planner.Comparison{Before: 0.5, After: 0.05},
			Migration: planner.Migration{Keys: 4, State: 40, Fraction: 0.2},
			Instances: []planner.Load{{Before: 3}, {Before: 1}},
		}}
	}
	state, fraction, keys := 40.0, 0.2, int64(4)
	for name, c := range map[string]struct {
		rule   operator.ApprovalOptions
		change func(*outcome)
		want   []figures.WaitReason
	}{
		"within limits": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits}, func(*outcome) {}, nil},
		"never": {operator.ApprovalOptions{Auto: operator.AutoNever}, func(*outcome) {},
			[]figures.WaitReason{figures.WaitApproval}},
		"a larger table over its limit": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.TableWithinLimit = false }, []figures.WaitReason{figures.WaitTableLimit}},
		"as large a one": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.TableWithinLimit, o.TableAfter = false, 3 }, []figures.WaitReason{figures.WaitTableLimit}},
		"a smaller one": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.TableWithinLimit, o.TableAfter = false, 2 }, nil},
		"better, above the limit": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.Balanced, o.Theta.After = false, 0.4 }, nil},
		"no better, above the limit": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.Balanced, o.Theta.After = false, 0.5 }, nil},
		"worse, above the limit": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.Balanced, o.Theta.After = false, 0.6 }, []figures.WaitReason{figures.WaitThetaWorse}},
		"worse, within the limit": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits},
			func(o *outcome) { o.Theta.After = 0.6 }, nil},
		"worse, as a hot key forces": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits}, func(o *outcome) {
			o.Balanced, o.Theta.After, o.HotKeys = false, 0.6, []planner.HotKey{{ForcedTheta: 0.3}, {ForcedTheta: 0.6}}
		}, nil},
		"worse than a hot key forces": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits}, func(o *outcome) {
			o.Balanced, o.Theta.After, o.HotKeys = false, 0.7, []planner.HotKey{{ForcedTheta: 0.6}}
		}, []figures.WaitReason{figures.WaitThetaWorse}},
		"of what nobody carried": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits}, func(o *outcome) {
			o.Balanced, o.Theta, o.Instances = false, planner.Comparison{After: 0.6}, []planner.Load{{After: 3}}
		}, nil},
		"as much as the limits": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{State: &state, Fraction: &fraction, Keys: &keys}},
			func(*outcome) {}, nil},
		"more state": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{State: &state}},
			func(o *outcome) { o.Migration.State = 41 }, []figures.WaitReason{figures.WaitMaxMigration}},
		"a larger fraction": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{Fraction: &fraction}},
			func(o *outcome) { o.Migration.Fraction = 0.21 }, []figures.WaitReason{figures.WaitMaxMigration}},
		"nothing of nothing": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{Fraction: new(0.0)}},
			func(o *outcome) { o.Migration = planner.Migration{Keys: 4} }, nil},
		"more keys": {operator.ApprovalOptions{Auto: operator.AutoWithinLimits,
			MaxMigration: &parameters.MigrationLimit{Keys: &keys}},
			func(o *outcome) { o.Migration.Keys = 5 }, []figures.WaitReason{figures.WaitMaxMigration}},
		"all at once": {operator.ApprovalOptions{Auto: operator.AutoNever,
			MaxMigration: &parameters.MigrationLimit{Keys: &keys}},
			func(o *outcome) {
				o.small, o.TableWithinLimit, o.Balanced, o.Theta.After, o.Migration.Keys = true, false, false, 0.6, 5
			}, []figures.WaitReason{figures.WaitSmall, figures.WaitApproval, figures.WaitTableLimit,
				figures.WaitThetaWorse, figures.WaitMaxMigration}},
		"all at once, but always": {operator.ApprovalOptions{Auto: operator.AutoAlways,
			MaxMigration: &parameters.MigrationLimit{Keys: &keys}},
			func(o *outcome) {
				o.TableWithinLimit, o.Balanced, o.Theta.After, o.Migration.Keys = false, false, 0.6, 5
			}, nil},
		"too small, but always": {operator.ApprovalOptions{Auto: operator.AutoAlways}, func(o *outcome) { o.small = true },
			[]figures.WaitReason{figures.WaitSmall}},
	} {
		result := within()
		o := outcome{Result: &result}
		c.change(&o)
		if got := waitsFor(operator.ApprovalRule{Approval: c.rule}, o); !slices.Equal(got, c.want) {
			t.Errorf("%s: waits for %v, want %v", name, got, c.want)
		}
	}
}

// TestAgreedLimits: who approved a plan that broke a limit has agreed to that, and to as
// high a θ or as much migration.
func TestAgreedLimits(t *testing.T) {
	theta, some := 0.6, figures.MigrationFigures{Keys: 5, State: 50, Fraction: 0.5}
	then := &planner.Plan{
		Theta: planner.Comparison{After: 0.6}, Migration: planner.Migration{Keys: 5, State: 50, Fraction: 0.5},
		Instances: []planner.Load{{Before: 1}},
	}
	const both = "theta_worse max_migration"
	for name, c := range map[string]struct {
		agreed figures.Agreement
		limit  parameters.MigrationLimit
		want   string
	}{
		"nothing was":     {figures.Agreement{}, parameters.MigrationLimit{Keys: new(int64(1))}, both},
		"as high a θ was": {figures.Agreement{Theta: &theta}, parameters.MigrationLimit{State: new(1.0)}, "max_migration"},
		"a lower θ was":   {figures.Agreement{Theta: new(0.5)}, parameters.MigrationLimit{State: new(1.0)}, both},
		"as many keys": {figures.Agreement{Migration: &some}, parameters.MigrationLimit{Keys: new(int64(1))},
			"theta_worse"},
		"as much state": {figures.Agreement{Migration: &some}, parameters.MigrationLimit{State: new(1.0)}, "theta_worse"},
		"as large a share": {figures.Agreement{Migration: &some}, parameters.MigrationLimit{Fraction: new(0.1)},
			"theta_worse"},
		"fewer keys": {figures.Agreement{Migration: &figures.MigrationFigures{Keys: 4, State: 99}},
			parameters.MigrationLimit{Keys: new(int64(1))}, both},
		"less state": {figures.Agreement{Migration: &figures.MigrationFigures{State: 49}},
			parameters.MigrationLimit{State: new(1.0)}, both},
		"a smaller share": {figures.Agreement{Migration: &figures.MigrationFigures{Keys: 9}},
			parameters.MigrationLimit{Fraction: new(0.1)}, both},
	} {
		rule := operator.ApprovalRule{Approval: operator.ApprovalOptions{MaxMigration: &c.limit}}
		if got := strings.Join(figures.ReasonsText(breaksBeyond(rule, c.agreed, then)), " "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestAgreement: an approval agrees to what the plan waited for and to what was said of it
// by then, and never to less than before.
func TestAgreement(t *testing.T) {
	p := store.Plan{Status: store.StatusProposed, WaitsFor: []string{"theta_worse", "max_migration"},
		Figures: store.Figures{ThetaAfter: 0.5, MigrationKeys: 7, MigrationState: 30, MigrationFraction: 0.3}}
	show := func() string {
		a, err := figures.AgreedTo(p)
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := show(); got != "{}" {
		t.Errorf("before an approval: %s", got)
	}
	p.Latest = []byte(`{"breaks":["theta_worse","max_migration"],"figures":{"theta":{"before":1,"after":0.6},` +
		`"migration":{"keys":5,"state":50,"fraction":0.1,"objective":50}}}`)
	var err error
	if p.Latest, err = figures.AgreeToLatest(p); err != nil || !strings.Contains(string(p.Latest), `"breaks":[]`) {
		t.Errorf("%s, %v", p.Latest, err)
	}
	p.Status = store.StatusApproved
	if got := show(); got != `{"theta":0.6,"migration":{"fraction":0.3,"keys":7,"objective":50,"state":50}}` {
		t.Errorf("after it: %s", got)
	}
	p.Latest = []byte(`{`)
	if _, err := figures.AgreeToLatest(p); err == nil || !strings.Contains(show(), "reading how plan") {
		t.Errorf("what is damaged is read: %v, %s", err, show())
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
				var c operator.Configuration
				c.Approval.Auto, c.MigrationLimit, c.Approval.MaxMigration = operator.AutoWithinLimits, both[0], both[1]
				want := *both[0]
				if i == j {
					want = *small
				}
				if got := *c.Planned().MigrationLimit; !sameLimit(got, want) {
					t.Errorf("under %+v and %+v: %+v", both[0], both[1], got)
				}
				if c.Approval.Auto = operator.AutoAlways; !sameLimit(*c.Planned().MigrationLimit, *both[0]) {
					t.Error("a limit matters that nobody asks for")
				}
			}
		}
	}
	var c operator.Configuration
	c.Approval.MaxMigration = limits(0.1, 1)[0]
	if c.Planned().MigrationLimit != nil {
		t.Error("a plan that has no limit gets one")
	}
}

func sameLimit(a, b parameters.MigrationLimit) bool {
	same := func(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(a.State, b.State) && same(a.Fraction, b.Fraction) && (a.Keys == nil) == (b.Keys == nil) &&
		(a.Keys == nil || *a.Keys == *b.Keys)
}

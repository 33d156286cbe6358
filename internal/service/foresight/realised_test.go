package foresight

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/operator"
	"plannerd/store"
)

// TestRealised: of several plans of an interval the last speaks for it, only committed ones
// move state, and only what was in effect was planned for the next interval.
func TestRealised(t *testing.T) {
	plan := func(interval int64, status store.Status, before, after float64, keys int64) store.BriefPlan {
		return store.BriefPlan{Interval: interval, Status: status, ThetaRealised: before, ThetaAfter: after,
			MigrationKeys: keys, MigrationFraction: 0.25 * float64(keys), Returned: 0.4}
	}
	var bound operator.Parameters
	bound.ThetaMax = 0.1
	plain := operator.Configuration{Parameters: bound}
	engine := plan(5, store.StatusApproved, 0.1, 0.07, 1) // of a new engine, its first interval
	engine.Epoch = 1
	share := func(x float64) *float64 { return &x }
	told := func(p store.BriefPlan, came, planned float64) store.BriefPlan {
		const levels = `[{"name": "cpu", "level": %v}, {"name": "disk", "level": %v}, {"name": "gone", "level": 7}]`
		p.Forecast = fmt.Appendf(nil, `{"policy": {"forecast": {}}, "realised": `+levels+`, "planned": `+levels+`}`,
			p.ThetaRealised, came, p.ThetaAfter, planned)
		return p
	}
	full := told(plan(1, store.StatusCommitted, 0.2, 0.05, 0), 1.25, 0.5)
	theta := told(plan(3, store.StatusNoAction, 0.1, 0.1, 0), 9, 9) // when the disk had no limit
	theta.Forecast = bytes.ReplaceAll(theta.Forecast, []byte(`"disk", `), []byte(`"disk", "theta_max": 0.5, `))
	less := told(plan(2, store.StatusNoAction, 0.3, 0.1, 0), 1, 1)
	undone := plan(2, store.StatusCommitted, 0.1, 0.1, 0) // of the same interval, without a forecast
	resourceful := operator.Configuration{Parameters: bound,
		Resources: operator.Resources{{Name: "cpu"}, {Name: "disk", Limit: true}, {Name: "new", ThetaMax: share(0.5)}}}
	for _, c := range []struct {
		name  string
		of    operator.Configuration
		plans []store.BriefPlan
		want  Realised
	}{
		{"none", plain, nil, Realised{}},
		{"resources", resourceful, []store.BriefPlan{full, less, undone}, Realised{
			Intervals: 2, Theta: &ThetaSpread{0.15, 0.195, 0.1}, Planned: &ThetaSpread{0.05, 0.05, 0.05}, Above: share(0.5),
			Resources: []RealisedResource{
				{"cpu", 2, &ThetaSpread{0.25, 0.295, 0.3}, &ThetaSpread{0.05, 0.05, 0.05}, share(0.3), 2},
				{"disk", 2, &ThetaSpread{1.125, 1.2375, 1}, &ThetaSpread{0.5, 0.5, 0.5}, share(1.25), 1},
				{Name: "new"},
			},
			thetas: []float64{0.2, 0.1},
		}},
		{"another kind of bound", resourceful, []store.BriefPlan{theta}, Realised{
			Intervals: 1, Theta: &ThetaSpread{0.1, 0.1, 0.1}, Above: share(0), thetas: []float64{0.1},
			Resources: []RealisedResource{{"cpu", 1, &ThetaSpread{0.1, 0.1, 0.1}, nil, share(0.1), 0},
				{Name: "disk"}, {Name: "new"}},
		}},
		{"one", plain, []store.BriefPlan{plan(1, store.StatusNoAction, 0.1+1e-15, 0.1, 0)},
			Realised{Intervals: 1, Theta: &ThetaSpread{0.1 + 1e-15, 0.1 + 1e-15, 0.1 + 1e-15}, Above: share(0),
				thetas: []float64{0.1 + 1e-15}}},
		{"several", plain, []store.BriefPlan{
			plan(1, store.StatusCommitted, 0.5, 0.01, 2),
			plan(2, store.StatusExpired, 0.9, 0.02, 8), // the next one takes its place
			plan(2, store.StatusCommitted, 0.25, 0.03, 1),
			plan(3, store.StatusNoAction, 0.75, 0.75, 0),
			plan(4, store.StatusRejected, 0, 0.05, 4), // nothing that the next interval ran under
			plan(5, store.StatusCommitted, 0.3, 0.06, 0),
			engine,
		}, Realised{
			Intervals: 6, Theta: &ThetaSpread{0.275, 0.6875, 0.1}, Planned: &ThetaSpread{0.045, 0.6465, 0.06},
			Above: share(4. / 6), Moved: 0.75, Returned: 0.3, Plans: 2,
			thetas: []float64{0.5, 0.25, 0.75, 0, 0.3, 0.1},
		}},
	} {
		got, err := realisedOf(c.plans, c.of)
		if err != nil {
			t.Fatal(err)
		}
		near := cmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-12 })
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Realised{}), near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

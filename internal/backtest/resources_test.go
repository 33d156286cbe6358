package backtest

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

// networked are intervals whose keys cost the same, and take of network by their rank, with noise. From half of them on
// a few other keys take the most.
func networked(intervals, keys int) []*planner.Statistics {
	r := rand.New(rand.NewPCG(11, 0))
	var out []*planner.Statistics
	for i := range intervals {
		s := &planner.Statistics{Keys: planner.NewKeys(keys), Costs: []planner.Amounts{{Name: "network"}}}
		for k := range keys {
			s.Keys.Append([]byte{byte(k), byte(k >> 8)})
			s.Cost = append(s.Cost, 10)
			mean := zipf((k+keys/3*(2*i/intervals))%keys, 0)
			s.Costs[0].Rows = append(s.Costs[0].Rows, max(0, mean*(1+0.3*r.NormFloat64())))
		}
		out = append(out, s)
	}
	return out
}

// TestBacktestOfResources: what is above a bound in another resource than cost is priced as what is above θ_max; by
// that a policy is chosen, and one that looks at the past moves less than the paper's way for no more of it.
func TestBacktestOfResources(t *testing.T) {
	const thetaMax, tolerated, instances = 0.3, 0.05, 4
	op := operator(instances, thetaMax)
	op.Target.Resources = []planner.Resource{{Name: "network", ThetaMax: tolerated}}
	h := history(t, networked(24, 300)...)
	candidates := Candidates(policy.DefaultGrid().Policies(thetaMax, 0))
	tracks, err := Run(context.Background(), h, op, append([]Candidate{Baseline()}, candidates...), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, track := range tracks {
		above, excess := 0, 0.0
		for i, in := range h.intervals {
			load, total := [instances]float64{}, 0.0
			for k, x := range in.stats.Costs[0].Rows {
				d, hash := int32(-1), planner.KeyHash(in.stats.Keys.At(k))
				if table := track.tables[i]; table != nil {
					if e := table.Find(in.stats.Keys.At(k), hash); e >= 0 {
						d = table.At(e).Instance
					}
				}
				if d < 0 {
					d, _ = op.Target.Hash.Instance(nil, hash)
				}
				load[d], total = load[d]+x, total+x
			}
			part := 0.0
			for _, x := range load {
				part = max(part, x/total*instances/(1+tolerated))
			}
			theta := (1+thetaMax)*part - 1
			if math.Abs(track.Steps[i].Theta-max(theta, 0)) > 1e-6 && theta > 0.1 {
				t.Fatalf("%s, interval %d: θ %v, want %v", track.Strategy, i, track.Steps[i].Theta, theta)
			}
			if theta > thetaMax {
				above, excess = above+1, excess+theta-thetaMax
			}
		}
		f, n := track.Figures(0, h.Len()), float64(h.Len())
		if above == 0 || math.Abs(f.Above-float64(above)/n) > 1e-9 || math.Abs(f.Excess-excess/n) > 1e-6 {
			t.Errorf("%s: above a bound in %v by %v, want %v by %v", track.Strategy, f.Above, f.Excess, float64(above)/n,
				excess/n)
		}
	}
	r, err := Search(context.Background(), h, op, candidates, nil)
	if err != nil {
		t.Fatal(err)
	}
	best := r.Results[*r.Recommended]
	if best.Judged.Excess > r.Baseline.Judged.Excess || best.Judged.Moved > 0.7*r.Baseline.Judged.Moved {
		t.Errorf("%+v, the paper's way %+v", best.Judged, r.Baseline.Judged)
	}
	if best.Policy.Forecast.Method != forecast.Combined || best.Hindsight == nil || best.Hindsight.Found != nil {
		t.Errorf("%+v, %+v", best.Policy, best.Hindsight)
	}
}

package foresight

import (
	"fmt"

	"plannerd/planner"
	"plannerd/planner/forecast"
)

// underRules finds what is known where rules say which instances may have which keys. It is about
// the instances that there are: what another one adds depends on which keys it may have, so that no
// number alone is enough, or too much.
func (a *Advice) underRules(l *outlook) {
	fair := l.snapshot.FairShares(l.snapshot.Cost)
	share, theta := hottest(l.snapshot, fair)
	a.Floor, a.HotTheta = l.state.FloorUnder(fair), theta
	a.lengthen()
	a.Text = a.ruledWords(share)
}

// hottest is the key that alone is furthest above the greatest fair load of an instance that may have
// it: its share of all cost, and its θ.
func hottest(s *planner.Snapshot, fair []float64) (share, theta float64) {
	total := 0.0
	for _, c := range s.Cost {
		total += c
	}
	for _, d := range s.Instances {
		total += d.ResidualCost
	}
	for i, c := range s.Cost {
		most := 0.0
		for d := range s.Instances {
			if s.Instances[d].Live() && s.Eligibility.MayBe(i, int32(d)) {
				most = max(most, fair[d])
			}
		}
		if x := c/total/most - 1; c > 0 && most > 0 && x > theta {
			share, theta = c/total, x
		}
	}
	return share, theta
}

// ruledWords are words where no number of instances is told.
func (a *Advice) ruledWords(share float64) string {
	longer := func(of func(*forecast.Floor) float64, how string) string {
		if a.LongerIntervals == nil {
			return ""
		}
		return fmt.Sprintf(" Intervals %.3g times as long would keep it in %s of them.", of(a.LongerIntervals), how)
	}
	const which = " How many instances are needed is not told under rules, as it depends on which keys another one may " +
		"have: ask a what-if with the instances and labels that you think of."
	switch f := a.Floor; {
	case f == nil:
		return fmt.Sprintf("Too little is known: a forecast needs %d intervals with costs and two instances with a fair "+
			"load; %d are stored.", forecast.LeastInnovations+1, a.Intervals)
	case a.HotTheta > a.ThetaMax:
		return fmt.Sprintf("One key has %s of all cost, which alone is %s above the fair load of each instance that may "+
			"have it: no plan that keeps the rules and no length of intervals keeps θ_max of %s.",
			percent(share), percent(a.HotTheta), percent(a.ThetaMax)) + which
	case f.Median > a.ThetaMax:
		return fmt.Sprintf("θ_max of %s is below the noise floor: a median θ of %s would remain if all expected loads were "+
			"as even as the rules let them be. Moving keys cannot keep it.", percent(a.ThetaMax), percent(f.Median)) +
			longer(func(f *forecast.Floor) float64 { return f.Median }, "half") + which
	case f.P95 > a.ThetaMax:
		return fmt.Sprintf("θ_max of %s will be broken now and then, whatever moves: the noise floor has a p95 of %s.",
			percent(a.ThetaMax), percent(f.P95)) +
			longer(func(f *forecast.Floor) float64 { return f.P95 }, "95 %") + which
	}
	return fmt.Sprintf("θ_max of %s can be kept in 95 %% of the intervals.", percent(a.ThetaMax)) + which
}

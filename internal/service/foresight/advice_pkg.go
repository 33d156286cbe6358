package foresight

import (
	"cmp"
	"context"
	"fmt"

	"plannerd/internal/exact"
	"plannerd/internal/operator"
	"plannerd/internal/service/scheme/layout"
	"plannerd/planner"
	"plannerd/planner/grouping"
)

// AdviceChoices say with how many candidates the keys of a scheme pkg keep θ_max.
type AdviceChoices struct {
	// Least candidates of every key keep θ_max without a head.
	Least int `json:"least"`
	// Head is how many keys have more candidates than others in the plan that the forecast
	// would lead to now, and Theta the θ that is left under it.
	Head  int     `json:"head"`
	Theta float64 `json:"theta"`
}

// adviseChoices advises on scheme pkg. Routers send each message to the least loaded
// candidate, so they even out what fluctuates: there is no noise floor, and no prediction.
// What limits balance is a key of which all candidates are overloaded.
func (a *Advice) adviseChoices(ctx context.Context, c operator.Configuration, l *outlook,
	instanceLoad float64) (err error) {
	cost, heaviest := l.costs()
	if cost == 0 {
		a.Text = "Nothing is known of costs yet."
		return nil
	}
	hot := func(int) float64 { return 0 }
	if c.Pkg.Method == grouping.PKG { // PKG §5.1: I ≥ (p1/d − 1/W)·m
		hot = func(instances int) float64 {
			return max(0, float64(heaviest*float64(instances))/float64(min(c.Pkg.Choices, instances))-1)
		}
		most := mostWith(func(instances int) bool { return hot(instances) <= a.ThetaMax })
		a.MostInstances = &AdviceInstances{most, most}
	}
	a.HotTheta = hot(a.Instances)
	a.LeastInstances = leastThatCarry(cost, instanceLoad, func(instances int) float64 {
		return max(a.ThetaMax, hot(instances))
	})
	if a.Choices, err = choicesFor(ctx, c, l.forecast.Statistics); err != nil {
		return err
	}
	a.Text = a.Choices.words(a.ThetaMax, c.Pkg.Choices)
	return nil
}

// choicesFor finds the numbers of candidates for the costs that are expected.
func choicesFor(ctx context.Context, c operator.Configuration, st *planner.Statistics) (*AdviceChoices, error) {
	now, capacities := layout.Workers(c)
	stop := func() bool { return ctx.Err() != nil }
	theta := func(l grouping.Layout) (float64, error) {
		e, err := l.Expect(st, capacities, stop)
		if err != nil {
			return 0, cmp.Or(ctx.Err(), err)
		}
		return e.Theta(capacities), nil
	}
	// All instances as candidates make loads even, and more candidates are no worse.
	out, fails := &AdviceChoices{Least: now.Workers}, 0
	for out.Least-fails > 1 {
		middle := fails + (out.Least-fails)/2
		switch x, err := theta(grouping.Layout{Workers: now.Workers, Choices: middle}); {
		case err != nil:
			return nil, err
		case x <= c.ThetaMax+float64((1+c.ThetaMax)*exact.Tolerance):
			out.Least = middle
		default:
			fails = middle
		}
	}
	next, err := now.Replan(st, capacities, grouping.LayoutOptions{Scheme: c.Pkg.Method, ThetaMax: c.ThetaMax, Stop: stop})
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	out.Head = len(next.Head)
	out.Theta, err = theta(next)
	return out, err
}

// words say what follows.
func (a *AdviceChoices) words(thetaMax float64, choices int) string {
	switch {
	case a.Least <= choices:
		return fmt.Sprintf("%d candidates of each key keep θ_max of %s.", a.Least, percent(thetaMax))
	case a.Theta > thetaMax+float64((1+thetaMax)*exact.Tolerance):
		return fmt.Sprintf("θ_max of %s is not kept: a θ of %s remains. %d candidates of each key would keep it, or a head "+
			"of keys with more candidates than others.", percent(thetaMax), percent(a.Theta), a.Least)
	case a.Head == 1:
		return fmt.Sprintf("One key with more candidates than others keeps θ_max of %s; without it each key would need %d.",
			percent(thetaMax), a.Least)
	}
	return fmt.Sprintf("%d keys with more candidates than others keep θ_max of %s; without them each key would need %d.",
		a.Head, percent(thetaMax), a.Least)
}

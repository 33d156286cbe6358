package foresight

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
	"plannerd/store"
)

// AdviceRequest asks what to expect of the next interval of an operator.
type AdviceRequest struct {
	// InstanceLoad is the cost of an interval that an instance of capacity 1 can carry. 0:
	// nobody says.
	InstanceLoad float64
	Memory       *admission.Lease
}

// Advice says how many instances hold θ_max in the interval that comes, in plain numbers.
type Advice struct {
	Operator string `json:"operator"`
	// Epoch and Interval are of the newest interval whose statistics are stored; Intervals
	// is of how many the forecast is made.
	Epoch     int64   `json:"epoch"`
	Interval  int64   `json:"interval"`
	Intervals int     `json:"intervals"`
	ThetaMax  float64 `json:"theta_max"`
	Instances int     `json:"instances"`
	// MostInstances keep θ_max where plans make the expected loads even. Nil: too little is
	// known.
	MostInstances *AdviceInstances `json:"most_instances"`
	// LeastInstances carry the cost of the interval. Nil: nobody said what one carries, too
	// little is known, or no number does.
	LeastInstances *int `json:"least_instances"`
	// Resources are those with a limit.
	Resources []AdviceResource `json:"resources,omitzero"`
	// LongerIntervals is how many times as long intervals would keep θ_max on the instances
	// that there are. Nil: too little is known, or no length does.
	LongerIntervals *forecast.Floor `json:"longer_intervals"`
	// Floor is that of the forecast, HotTheta what the heaviest key alone comes to.
	Floor    *forecast.Floor `json:"noise_floor"`
	HotTheta float64         `json:"hot_theta"`
	// Choices are about candidates of scheme pkg, nil under others.
	Choices *AdviceChoices `json:"choices"`
	// Expected is of the next interval if nothing moves. Nil: too little is known.
	Expected *forecast.Prediction `json:"expected"`
	Realised Realised             `json:"realised"`
	Text     string               `json:"advice"`
}

// AdviceInstances are numbers of instances: with which θ_max is kept in half of the
// intervals, and in 95 % of them.
type AdviceInstances struct {
	Median int `json:"median"`
	P95    int `json:"p95"`
}

const (
	mostInstances = 65536
	// adviceIntervals is of how many intervals advice is made at most.
	adviceIntervals = 40
)

// Advise tells how many instances an operator needs, and what it can hold.
func (s *Forecaster) Advise(ctx context.Context, name string, in AdviceRequest) (*Advice, error) {
	op, err := s.Operator(ctx, name)
	if err != nil {
		return nil, err
	}
	if chosen := op.Configuration.Scheme; chosen != operator.SchemeTable && chosen != operator.SchemePkg {
		return nil, refusal.New(refusal.NoRoutingTable, "Advice is about routing tables and partial key grouping.")
	}
	l, err := s.lookAhead(ctx, op, in.Memory)
	if err != nil {
		return nil, err
	}
	out := &Advice{
		Operator: name, Epoch: l.newest.Epoch, Interval: l.newest.Interval, Intervals: l.state.Intervals(),
		ThetaMax: op.Configuration.ThetaMax, Instances: len(op.Configuration.Instances),
	}
	if op.Configuration.Scheme == operator.SchemePkg {
		err = out.adviseChoices(ctx, op.Configuration, l, in.InstanceLoad)
	} else if err = s.expect(ctx, op, l, in.Memory); err == nil {
		if out.Expected = l.expected; op.Configuration.Placement != nil {
			out.underRules(l)
		} else {
			out.count(l, in.InstanceLoad)
		}
		out.countResources(l.snapshot)
	}
	if err != nil {
		return nil, err
	}
	recent, err := s.Recent(ctx, []reading.Operator{op}, RecentPlans)
	if err != nil {
		return nil, err
	}
	out.Realised = recent[0].Realised
	return out, nil
}

// outlook is what is known of the next interval of an operator.
type outlook struct {
	newest   store.Plan // of the last interval
	state    *forecast.State
	forecast *forecast.Forecast
	// Of a routing table: what is forecast, under the committed one.
	snapshot *planner.Snapshot
	expected *forecast.Prediction
}

// lookAhead forecasts as the newest plan did. One that planned on the last interval alone
// knows little of noise: then it looks back over the newest stored intervals.
func (s *Forecaster) lookAhead(ctx context.Context, op reading.Operator, memory *admission.Lease) (*outlook, error) {
	plans, _, err := s.Store.Plans(ctx, store.PlanFilter{Operator: op.Name, Limit: 1})
	if err != nil || len(plans) == 0 {
		return s.lookBack(ctx, op, memory, err)
	}
	out := &outlook{newest: plans[0]}
	told, err := scheme.ForesightOf(plans[0])
	if told == nil || err != nil || told.Policy.Forecast.Method == forecast.Last {
		return s.lookBack(ctx, op, memory, err)
	}
	if out.state, err = s.StateAfter(ctx, plans[0], memory); out.state == nil || err != nil {
		return s.lookBack(ctx, op, memory, err)
	}
	in, err := s.InputOf(ctx, plans[0], memory)
	if err != nil {
		return nil, err
	}
	out.forecast, err = out.state.Again(in.Statistics)
	return out, err
}

// lookBack forecasts from the newest stored intervals, unless there was an error.
func (s *Forecaster) lookBack(ctx context.Context, op reading.Operator, memory *admission.Lease, err error) (*outlook,
	error) {
	if err != nil {
		return nil, refusal.AboutOperator(op.Name, err)
	}
	intervals, err := s.storedIntervals(ctx, op.Name, Backtest{Memory: memory}, adviceIntervals)
	if err != nil {
		return nil, err
	}
	out := &outlook{newest: intervals[len(intervals)-1].Plan}
	by := policy.Default(op.Configuration.ThetaMax, 0).Forecast
	if p := op.Configuration.Policy; p != nil && !p.Auto {
		by = p.Forecast
	}
	newest, err := s.Placement(ctx, op.Name, op.ConfigVersion)
	if err != nil {
		return nil, err
	}
	if out.state, err = forecast.New(by); err != nil {
		return nil, err
	}
	out.state.Track(newest.Model.Resources)
	for _, x := range intervals {
		if err := x.needKeys(); err != nil {
			return nil, err
		}
		if err := memory.Reserve(reading.ForecastBytes(x.Len(), len(newest.Model.Resources))); err != nil {
			return nil, err
		}
		if out.forecast, err = out.state.Observe(x.Statistics.Statistics); err != nil {
			return nil, unfit(err)
		}
	}
	return out, nil
}

// expect finds what the forecast comes to under the committed table.
func (s *Forecaster) expect(ctx context.Context, op reading.Operator, l *outlook, memory *admission.Lease) error {
	b, err := schemes.Load(ctx, s.Reader, op.Name, memory)
	if err != nil {
		return err
	}
	f := l.forecast
	if err := memory.Reserve(int64(f.Statistics.Len()) * reading.PlanRowBytes); err != nil {
		return err
	}
	l.snapshot, err = planner.NewSnapshot(f.Statistics, b.Newest.Model, planner.Base{
		Configuration: b.Pinned.Model, Table: b.Table, HashChanged: b.Changed, PinHomeless: true,
		PartsExpire:     b.Newest.Splitting.Expires(),
		IgnoreInstances: !b.EngineHolds(), Stop: b.Stop,
	})
	if err != nil {
		return unfit(err)
	}
	l.expected = f.Predict(l.snapshot, l.snapshot.Current, l.snapshot.Splits, op.Configuration.ThetaMax)
	l.expected.Call(op.Configuration.Resources.Cost())
	return nil
}

// count finds the numbers of instances.
func (a *Advice) count(l *outlook, instanceLoad float64) {
	cost, heaviest := l.costs()
	hot := func(n int) float64 { return max(0, float64(heaviest*float64(n))-1) }
	a.Floor, a.HotTheta = l.state.Floor(a.Instances), hot(a.Instances)
	if l.state.Floor(2) == nil || cost == 0 {
		a.Text = a.words(heaviest)
		return
	}
	floor := func(n int) forecast.Floor {
		f := l.state.Floor(n)
		if f == nil {
			return forecast.Floor{} // one instance has no θ
		}
		return forecast.Floor{Median: max(hot(n), f.Median), P95: max(hot(n), f.P95)}
	}
	a.MostInstances = &AdviceInstances{
		Median: mostWith(func(n int) bool { return floor(n).Median <= a.ThetaMax }),
		P95:    mostWith(func(n int) bool { return floor(n).P95 <= a.ThetaMax }),
	}
	a.LeastInstances = leastThatCarry(cost, instanceLoad, func(n int) float64 { return max(a.ThetaMax, floor(n).P95) })
	a.lengthen()
	a.Text = a.words(heaviest)
}

// AdviceResource is what a resource with a limit demands.
type AdviceResource struct {
	Name     string  `json:"name"`
	Taken    float64 `json:"taken"`
	Capacity float64 `json:"capacity"` // of all live instances
	// LeastInstances of the mean capacity have as much as is taken. Nil: no number of them does.
	LeastInstances *int `json:"least_instances"`
}

// countResources finds how many instances each resource with a limit demands.
func (a *Advice) countResources(s *planner.Snapshot) {
	if s == nil {
		return
	}
	for r, of := range s.Resources {
		if !of.Limited {
			continue
		}
		x, live := AdviceResource{Name: of.Name}, 0
		for _, v := range s.Amounts[r] {
			x.Taken += v
		}
		for _, d := range s.Instances {
			if d.ResidualAmounts != nil {
				x.Taken += d.ResidualAmounts[r]
			}
			if d.Live() {
				live++
				x.Capacity += d.Capacities[r]
			}
		}
		if least := math.Ceil(x.Taken / (x.Capacity / float64(live))); least <= mostInstances {
			x.LeastInstances = new(max(1, int(least)))
			a.Text += fmt.Sprintf(" %s needs %d instances at least, of the mean of today's capacities: %s of what the %d have "+
				"is taken.", of.Name, *x.LeastInstances, percent(x.Taken/x.Capacity), live)
		}
		a.Resources = append(a.Resources, x)
	}
}

// lengthen finds the length of intervals.
func (a *Advice) lengthen() {
	if now := a.Floor; now != nil && a.ThetaMax > 0 && a.HotTheta <= a.ThetaMax {
		// Errors of independent messages fall with the root of their number.
		longer := func(theta float64) float64 { return max(1, math.Pow(theta/a.ThetaMax, 2)) }
		a.LongerIntervals = &forecast.Floor{Median: longer(now.Median), P95: longer(now.P95)}
	}
}

// mostWith is the greatest number of instances that keeps what more of them do not keep.
func mostWith(keeps func(instances int) bool) int {
	return sort.Search(mostInstances, func(i int) bool { return !keeps(i + 1) })
}

// leastThatCarry is the least number of instances that carry a cost if the busiest has so
// much of a θ. Nil: nobody said what one carries, or no number does.
func leastThatCarry(cost, instanceLoad float64, theta func(instances int) float64) *int {
	i := sort.Search(mostInstances, func(i int) bool { return cost/float64(i+1)*(1+theta(i+1)) <= instanceLoad })
	if instanceLoad <= 0 || i == mostInstances {
		return nil
	}
	return new(i + 1)
}

// costs are the cost of the last interval, and the part of all that the heaviest key is
// expected to have in the next one.
func (l *outlook) costs() (cost, heaviest float64) {
	all := func(s *planner.Statistics) (sum float64) {
		for _, c := range s.Cost {
			sum += c
		}
		for _, r := range s.Residual {
			sum += r.Cost
		}
		return sum
	}
	if expected := l.forecast.Statistics; expected.Len() > 0 && all(expected) > 0 {
		heaviest = slices.Max(expected.Cost) / all(expected)
	}
	return all(l.forecast.Observed), heaviest
}

// words say what follows.
func (a *Advice) words(heaviest float64) string {
	median, p95 := a.orLonger(func(f *forecast.Floor) float64 { return f.Median }),
		a.orLonger(func(f *forecast.Floor) float64 { return f.P95 })
	switch m := a.MostInstances; {
	case m == nil:
		return fmt.Sprintf("Too little is known: a forecast needs %d intervals with costs, and %d are stored.",
			forecast.LeastInnovations+1, a.Intervals)
	case a.HotTheta > a.ThetaMax:
		return fmt.Sprintf("One key has %s of all cost, which alone is %s above a fair share: no plan and no length of "+
			"intervals keeps θ_max of %s. %s would.",
			percent(heaviest), percent(a.HotTheta), percent(a.ThetaMax), atMost(m.Median))
	case a.Floor != nil && a.Floor.Median > a.ThetaMax:
		return fmt.Sprintf("θ_max of %s is below the noise floor: a median θ of %s would remain if all expected loads were "+
			"even. Moving keys cannot keep it. %s%s would in half of the intervals.",
			percent(a.ThetaMax), percent(a.Floor.Median), atMost(m.Median), median)
	case a.Floor != nil && a.Floor.P95 > a.ThetaMax:
		return fmt.Sprintf("θ_max of %s will be broken now and then, whatever moves: the noise floor has a p95 of %s. "+
			"%s%s would keep it in 95 %% of the intervals.",
			percent(a.ThetaMax), percent(a.Floor.P95), atMost(m.P95), p95)
	}
	return fmt.Sprintf("θ_max of %s can be kept in 95 %% of the intervals, with up to %d instances.",
		percent(a.ThetaMax), a.MostInstances.P95)
}

func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

// atMost begins a sentence.
func atMost(instances int) string {
	if instances == 1 {
		return "No more than one instance"
	}
	return fmt.Sprintf("At most %d instances", instances)
}

// orLonger names the length of intervals that would do as well.
func (a *Advice) orLonger(of func(*forecast.Floor) float64) string {
	if a.LongerIntervals == nil {
		return ""
	}
	return fmt.Sprintf(", or intervals %.3g times as long,", of(a.LongerIntervals))
}

package scheme

import (
	"github.com/go-json-experiment/json"

	"plannerd/internal/backtest"
	"plannerd/internal/resources"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
	"plannerd/store"
)

// Foresight is by which policy a plan was made, and what it expects of the next interval.
type Foresight struct {
	Policy policy.Policy `json:"policy"`
	// Chosen tells how the service came to the policy; nil: somebody said it, or there
	// is too little to choose by.
	Chosen *Choice `json:"chosen"`
	// RealisedTheta is the θ of the loads that came.
	RealisedTheta float64 `json:"realised_theta"`
	// Realised are the levels of all resources, cost first, of what came, and Planned those that the plan leaves of what
	// is expected. Nil: there is cost alone.
	Realised []Level `json:"realised,omitzero"`
	Planned  []Level `json:"planned,omitzero"`
	// Without and With are what to expect if nothing moves, and if the plan is carried
	// out; nil: too little is known.
	Without *forecast.Prediction `json:"without"`
	With    *forecast.Prediction `json:"with"`
	// NoiseFloor is what no plan can do anything about; nil: too little is known.
	NoiseFloor *forecast.Floor `json:"noise_floor"`
}

// Level is that of a resource: its θ, or with a limit the greatest part of a capacity that was taken.
type Level struct {
	Name  string  `json:"name"`
	Level float64 `json:"level"`
	// Limit and ThetaMax are its bound, as in [resources.Resource]; neither is in what a program before this one stored.
	Limit    bool     `json:"limit,omitzero"`
	ThetaMax *float64 `json:"theta_max,omitzero"`
	// Worst is the instance that it is of; nil in what a program before this one stored.
	Worst *resources.Instance `json:"worst,omitzero"`
}

// Foreseen is what the intervals up to one let expect of the next, and by which policy
// that is planned on.
type Foreseen struct {
	Policy   policy.Policy
	Chosen   *Choice
	State    *forecast.State // nil: keys are not known
	Forecast *forecast.Forecast
}

// Told is what a result tells of what is foreseen.
func (f *Foreseen) Told(o *Result, without, with *forecast.Prediction) *Foresight {
	if f == nil || f.Forecast == nil {
		return nil
	}
	p := o.Plan
	without.Call(o.resource)
	with.Call(o.resource)
	out := &Foresight{
		Policy: f.Policy, Chosen: f.Chosen, RealisedTheta: p.Theta.Before, Without: without, With: with,
		NoiseFloor: f.State.Floor(live(p.Snapshot.Instances)),
	}
	s, foreseen := p.Snapshot, f.Policy.Forecast.Method != forecast.Last
	if !foreseen && o.resource == "" {
		return out // the plan is made of what came
	}
	theta, worst := backtest.Theta(s, s.Current, f.Forecast.Observed.Cost)
	if foreseen {
		out.RealisedTheta = theta
	}
	if o.resource == "" {
		return out
	}
	planned := resources.Of(p, o.resource).Resources
	levels, worsts := f.Forecast.Realised(s, s.Current)
	levels, worsts = append([]float64{out.RealisedTheta}, levels...), append([]int32{worst}, worsts...)
	for r, x := range planned {
		at := resources.Called(s.Instances[worsts[r]])
		out.Realised = append(out.Realised, Level{x.Name, resources.Finite(levels[r]), x.Limit, x.ThetaMax, &at})
		out.Planned = append(out.Planned, Level{x.Name, x.Level.After, x.Limit, x.ThetaMax, &x.Worst})
	}
	return out
}

// LevelsOf are the levels that the forecast of a stored plan tells; none where it has no forecast.
func LevelsOf(p store.BriefPlan) (realised, planned []Level, err error) {
	var told struct{ Realised, Planned []Level }
	if p.Forecast != nil {
		if err := json.Unmarshal(p.Forecast, &told, json.MatchCaseInsensitiveNames(true)); err != nil {
			return nil, nil, store.Unreadable("what plan "+p.ID+" expects", err)
		}
	}
	return told.Realised, told.Planned, nil
}

// LevelOf is the level of a resource, by its name; nil: it is not among them, or it had the other kind of bound, so
// that its level was a part of a capacity and is a θ now, or the reverse.
func LevelOf(levels []Level, name string, limited bool) *Level {
	for i, x := range levels {
		if told := x.Limit || x.ThetaMax != nil; x.Name == name && (x.Limit == limited || !told) {
			return &levels[i]
		}
	}
	return nil
}

// OfBound is the greatest load as a part of what it may be.
func (l Level) OfBound() float64 {
	if l.Limit {
		return l.Level
	}
	return (1 + l.Level) / (1 + *l.ThetaMax)
}

// live is the number of instances that may carry load.
func live(instances []planner.Instance) (n int) {
	for _, d := range instances {
		if d.Live() {
			n++
		}
	}
	return n
}

// ForeseeOf has a plan made on what is expected. Where the engine holds the table nobody
// knows where keys are that it does not name.
func (b *Base) ForeseeOf(st *Statistics, f *Foreseen) {
	if b.EngineHolds() {
		f.Forecast = f.Forecast.Named()
	}
	b.Foreseen, st.Foreseen = f, f.Forecast
}

// ForesightOf is what a stored plan tells; nil: nothing was foreseen.
func ForesightOf(p store.Plan) (*Foresight, error) {
	if p.Forecast == nil {
		return nil, nil
	}
	var out Foresight
	if err := json.Unmarshal(p.Forecast, &out); err != nil {
		return nil, store.Unreadable("what plan "+p.ID+" expects", err)
	}
	return &out, nil
}

// Tried is a policy as it would have done.
type Tried struct {
	Policy policy.Policy `json:"policy"`
	// Cost is what an interval cost on the average, in θ: its excess over θ_max, and what moved by its price.
	Cost float64 `json:"cost"`
	// Moved is the mean of the state that moved, as a part of all.
	Moved float64 `json:"moved"`
}

// Ledger is what the policies cost so far.
func (c *Choice) Ledger() policy.Ledger {
	l := policy.Ledger{Weight: c.Weight}
	for _, t := range c.Tried {
		l.Cost, l.Moved = append(l.Cost, t.Cost), append(l.Moved, t.Moved)
	}
	return l
}

// Choice tells how a policy was chosen.
type Choice struct {
	// Intervals is by how many it was chosen, the newest of which is Interval.
	Intervals int   `json:"intervals"`
	Interval  int64 `json:"interval"`
	// ThetaMax is the tolerance that it was chosen for.
	ThetaMax float64 `json:"theta_max"`
	Reason   string  `json:"reason"` // in words
	// BalanceWorth is what balance was worth, see [policy.Price].
	BalanceWorth float64 `json:"balance_worth"`
	// Bounds are those of resources, as [operator.ResourceBounds] has them.
	Bounds string `json:"bounds,omitzero"`
	// Tried are the policies that it was chosen from, with what they cost. Empty: none could be run.
	Tried []Tried `json:"tried"`
	// Weight is of how many intervals the means of Tried are; older ones count less.
	Weight float64 `json:"weight"`
	// Age is how many plans were made since.
	Age int `json:"age"`
}

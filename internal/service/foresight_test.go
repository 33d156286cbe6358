package service_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"plannerd/compact"
	"plannerd/internal/backtest"
	"plannerd/internal/drive"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/partitioner"
	"plannerd/planner/policy"
)

// wave are statistics of 60 keys whose costs drift and fluctuate; the state of each is 1 to
// 3.
func wave(interval int64) *scheme.Statistics {
	r := rand.New(rand.NewPCG(uint64(interval), 7))
	st := &planner.Statistics{Keys: planner.NewKeys(60)}
	for i := range 60 {
		st.Keys.Append(fmt.Append(nil, "key ", i))
		mean := 20 * (1 + math.Sin(float64(i)+float64(interval)/6))
		st.Cost, st.State = append(st.Cost, mean*(0.1+1.8*r.Float64())), append(st.State, float64(1+i%3))
	}
	return &scheme.Statistics{Statistics: st, Interval: interval}
}

// foresighted is an operator of four instances with a policy.
func foresighted(p operator.PolicyChoice) operator.Configuration {
	c := configuration(4)
	c.Trigger, c.Policy = nil, &p
	c.Strategy, c.Effort, c.Certificate = planner.Optimal, planner.EffortFast, planner.CertificateOff
	return c
}

// told is what a stored plan tells of its policy, and what it expects.
func (e *env) told(p *intake.StoredPlan) *scheme.Foresight {
	e.Helper()
	out := &scheme.Foresight{}
	if p.Forecast == nil {
		e.Fatalf("plan of interval %d expects nothing", p.Interval)
	}
	if err := json.Unmarshal(p.Forecast, out); err != nil {
		e.Fatal(err)
	}
	return out
}

// carriedOut makes the plan of an interval, and commits it if there is something to do.
func (e *env) carriedOut(name string, st *scheme.Statistics) *intake.StoredPlan {
	e.Helper()
	p := e.propose(name, st)
	if p.Status == "approved" {
		e.want("committed")(e.Commit(e.Context(), step(p), true))
	}
	return p
}

var policies = map[string]policy.Policy{
	"last":  {Forecast: forecast.Config{Method: forecast.Last}},
	"level": {Forecast: forecast.Config{Method: forecast.Level}, TargetTheta: new(0.04)},
	"ewma": {Forecast: forecast.Config{Method: forecast.EWMA, Alpha: 0.4}, TargetTheta: new(0.06),
		Trigger: policy.Trigger{Probability: new(0.3)}, CooldownIntervals: 1, Budget: new(0.1)},
	"seasonal": {Forecast: forecast.Config{Method: forecast.Seasonal, Alpha: 0.3, Period: 4},
		Trigger: policy.Trigger{Theta: new(0.15)}, MinimumBenefit: 0.5},
}

// backtested is what a backtest of one policy over a history comes to for an operator.
func backtested(t *testing.T, h *backtest.History, target planner.Configuration, c operator.Configuration,
	p policy.Policy) backtest.Track {
	t.Helper()
	tracks, err := backtest.Run(t.Context(), h, backtest.Operator{
		Target: target, Base: planner.Base{Configuration: target, PinHomeless: true},
		Options: c.Planner(), EntryGrace: c.EntryGrace,
	}, []backtest.Candidate{{Strategy: planner.Optimal, Effort: planner.EffortFast, Policy: p}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tracks[0]
}

// TestPolicies: a service does with each interval what a backtest says that it would have
// done, tells the same of the next one, and does it again in a replay.
func TestPolicies(t *testing.T) {
	const intervals = 14
	for name, p := range policies {
		e := newEnv(t)
		op := e.configure("clicks", foresighted(operator.PolicyChoice{Policy: p}))
		h := backtest.NewHistory(drive.DefaultWindow)
		for i := range int64(intervals) {
			if err := h.Add(i, wave(i).Statistics); err != nil {
				t.Fatal(err)
			}
		}
		hash, err := partitioner.New(partitioner.Config{Function: partitioner.Modulo}, []partitioner.Instance{
			{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}})
		if err != nil {
			t.Fatal(err)
		}
		target := planner.Configuration{Hash: hash}
		for id := range int32(4) {
			target.Instances = append(target.Instances, planner.Instance{ID: id, Capacity: 1})
		}
		track := backtested(t, h, target, op.Configuration, p)
		acted, returned := 0, 0.0
		for i := range int64(intervals) {
			made, want := e.carriedOut("clicks", wave(i)), track.Steps[i]
			told := e.told(made)
			if made.MigrationKeys > 0 {
				acted++
			}
			returned += want.Returned
			if math.Abs(told.RealisedTheta-want.Theta) > 1e-9 || math.Abs(made.MigrationFraction-want.Moved) > 1e-9 ||
				math.Abs(made.MigrationFraction*made.ReturnedState-want.Returned*made.MigrationState) > 1e-9 ||
				made.TableAfter != want.Table || !reflect.DeepEqual(told.With, want.Expected) {
				t.Fatalf("%s, interval %d: θ %v, moved %v, %d entries, expects %+v; in a backtest %+v", name, i,
					told.RealisedTheta, made.MigrationFraction, made.TableAfter, told.With, want)
			}
			if realised := made.ThetaRealised; realised == nil || *realised != told.RealisedTheta ||
				p.Forecast.Method == forecast.Last && *realised != made.ThetaBefore {
				t.Errorf("%s, interval %d: realised %v of %v", name, i, realised, told)
			}
			if !reflect.DeepEqual(told.Policy, p) || told.Chosen != nil || (told.NoiseFloor == nil) != (told.With == nil) {
				t.Errorf("%s, interval %d: %+v", name, i, told)
			}
			e.sameReplay(made)
		}
		if name == "last" && returned == 0 {
			t.Error("nothing ever goes back")
		}
		if acted < 2 || p.Trigger != (policy.Trigger{}) && acted == intervals {
			t.Errorf("%s: %d of %d plans moved anything", name, acted, intervals)
		}
	}
}

// sameReplay plans a plan again that acted.
func (e *env) sameReplay(p *intake.StoredPlan) {
	e.Helper()
	if p.MigrationKeys == 0 {
		return
	}
	r, err := e.Replay(e.Context(), p.ID, e.lease())
	if err != nil {
		e.Fatal(err)
	}
	under, err := r.Parameters()
	if err != nil {
		e.Fatal(err)
	}
	results, _, err := r.Try(e.Context(), []propose.Trial{{Strategy: p.Strategy, Parameters: under}}, true)
	if err != nil {
		e.Fatal(err)
	}
	if got := text(e.T, results[0].Lists().Change...); got != text(e.T, p.Lists.Change...) ||
		results[0].Theta.After != p.ThetaAfter || results[0].Balanced != p.Balanced {
		e.Errorf("interval %d: again it does %s, θ %v; the plan %s, θ %v", p.Interval, got, results[0].Theta.After,
			text(e.T, p.Lists.Change...), p.ThetaAfter)
	}
}

// TestPoliciesOfResources: a service does with the intervals of an operator with resources what a backtest says, though
// it is started anew after each of them; it tells what came of each resource, and to expect.
func TestPoliciesOfResources(t *testing.T) {
	const intervals = 14
	using := func(i int64) *scheme.Statistics {
		st := wave(i)
		network := make([]float64, st.Len())
		for k := range network {
			network[k] = 3 * st.Cost[(7*k+3)%st.Len()]
			st.State[k] += float64(i) / 8
		}
		st.Costs = []planner.Amounts{{Name: "network", Rows: network}}
		return st
	}
	tolerated := 0.3
	for name, p := range policies {
		var config service.Config
		e := newEnv(t, func(c *service.Config) { config = *c })
		c := foresighted(operator.PolicyChoice{Policy: p})
		c.Resources = operator.Resources{{Name: "cpu"}, {Name: "network", ThetaMax: &tolerated},
			{Name: "disk", From: planner.FromState, Limit: true}}
		target := planner.Configuration{Resources: []planner.Resource{{Name: "network", ThetaMax: tolerated},
			{Name: "disk", From: planner.FromState, Limited: true}}}
		var ids []partitioner.Instance
		for d := range c.Instances {
			c.Instances[d].Capacities = map[string]float64{"disk": 60}
			ids = append(ids, partitioner.Instance{ID: int32(d)})
			target.Instances = append(target.Instances,
				planner.Instance{ID: int32(d), Capacity: 1, Capacities: []float64{1, 60}})
		}
		var err error
		if target.Hash, err = partitioner.New(partitioner.Config{Function: partitioner.Modulo}, ids); err != nil {
			t.Fatal(err)
		}
		op := e.configure("clicks", c)
		h := backtest.NewHistory(drive.DefaultWindow)
		for i := range int64(intervals) {
			if err := h.Add(i, using(i).Statistics); err != nil {
				t.Fatal(err)
			}
		}
		track := backtested(t, h, target, op.Configuration, p)
		acted := 0
		for i := range int64(intervals) {
			config.Measured.Registry = prometheus.NewRegistry()
			e.Service = service.New(config)
			made, want := e.carriedOut("clicks", using(i)), track.Steps[i]
			told := e.told(made)
			var levels []float64
			for _, x := range told.Realised {
				levels = append(levels, x.Level)
			}
			theta := forecast.Joint(&planner.Snapshot{Resources: target.Resources}, c.ThetaMax, levels)
			if len(levels) != 3 || levels[0] != told.RealisedTheta || told.Realised[0].Name != "cpu" ||
				math.Abs(theta-want.Theta) > 1e-9 || math.Abs(made.MigrationFraction-want.Moved) > 1e-9 {
				t.Fatalf("%s, interval %d: %+v, θ %v, moved %v; in a backtest %+v", name, i, told.Realised, theta,
					made.MigrationFraction, want)
			}
			if want.Moved > 0 {
				acted++
			}
			want.Expected.Call("cpu")
			if !reflect.DeepEqual(told.With, want.Expected) || told.With != nil && len(told.With.Resources) != 3 {
				t.Fatalf("%s, interval %d: expects %+v, in a backtest %+v", name, i, told.With, want.Expected)
			}
			e.sameReplay(made)
		}
		if acted < 2 {
			t.Errorf("%s: %d of %d plans moved anything", name, acted, intervals)
		}
	}
}

// TestHeldAgainstThetaMax: a plan is made for the target, and is held against θ_max.
func TestHeldAgainstThetaMax(t *testing.T) {
	e := newEnv(t)
	p := policy.Policy{Forecast: forecast.Config{Method: forecast.Last}, TargetTheta: new(0.)}
	e.configure("clicks", foresighted(operator.PolicyChoice{Policy: p}))
	made := e.propose("clicks", wave(1))
	if made.ThetaAfter == 0 || made.ThetaAfter > 0.02 || !made.Balanced || len(made.Causes) != 0 ||
		made.Status != "approved" {
		t.Errorf("θ %v, balanced %v, %v: %s", made.ThetaAfter, made.Balanced, made.Causes, made.Status)
	}
}

// TestForecastBegunAnew: what a forecast needs is made of the stored intervals where it was
// not stored, as after a change of the policy.
func TestForecastBegunAnew(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", foresighted(operator.PolicyChoice{Policy: policies["last"]}))
	for i := range int64(6) {
		e.carriedOut("clicks", wave(i))
	}
	fresh := policy.Policy{Forecast: forecast.Config{Method: forecast.EWMA, Alpha: 0.25}}
	e.configure("clicks", foresighted(operator.PolicyChoice{Policy: fresh}))
	told := e.told(e.propose("clicks", wave(6)))
	state, err := forecast.New(fresh.Forecast)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(7) {
		if _, err := state.Observe(wave(i).Statistics); err != nil {
			t.Fatal(err)
		}
	}
	if want := state.Floor(4); want == nil || !reflect.DeepEqual(told.NoiseFloor, want) {
		t.Errorf("a noise floor of %+v, want %+v", told.NoiseFloor, want)
	}
}

// TestChosenPolicy: a policy is chosen once there are enough intervals, and again later.
func TestChosenPolicy(t *testing.T) {
	e := newEnv(t)
	c := foresighted(operator.PolicyChoice{Auto: true})
	e.configure("clicks", c)
	next := int64(0)
	interval := func() *scheme.Foresight {
		t.Helper()
		next++
		told := e.told(e.carriedOut("clicks", wave(next)))
		if err := e.ChooseDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		return told
	}
	for next < backtest.LeastIntervals {
		if told := interval(); told.Chosen != nil || !reflect.DeepEqual(told.Policy, policies["last"]) {
			t.Fatalf("interval %d: %+v", next, told)
		}
	}
	first := interval()
	family := policy.DefaultGrid().Policies(c.ThetaMax, 0)
	of := func(told *scheme.Foresight) bool {
		return slices.ContainsFunc(family, func(p policy.Policy) bool { return reflect.DeepEqual(p, told.Policy) })
	}
	if first.Chosen == nil || !of(first) || first.Chosen.Intervals != backtest.LeastIntervals ||
		first.Chosen.Interval != next-1 || first.Chosen.Age != 0 || first.Chosen.Reason == "" {
		t.Fatalf("%+v, %+v", first, first.Chosen)
	}
	if c := first.Chosen; len(c.Tried) != len(family) || c.Weight <= 0 || c.Tried[0].Cost <= 0 {
		t.Errorf("what the policies cost: %+v", c)
	}
	for age := 1; age <= backtest.ChooseEvery; age++ {
		if told := interval(); told.Chosen == nil || told.Chosen.Age != age || !reflect.DeepEqual(told.Policy, first.Policy) {
			t.Fatalf("interval %d: %+v, %+v", next, told, told.Chosen)
		}
	}
	told := interval()
	if told.Chosen == nil || told.Chosen.Age != 0 || told.Chosen.Interval != next-1 || !of(told) ||
		told.Chosen.Weight <= first.Chosen.Weight+float64(backtest.ChooseEvery)/2 {
		t.Errorf("%+v, %+v", told, told.Chosen)
	}
	c.ThetaMax = 0.2
	e.configure("clicks", c)
	if told := interval(); told.Chosen != nil {
		t.Errorf("chosen for another θ_max: %+v", told.Chosen)
	}
	if told := interval(); told.Chosen == nil || told.Chosen.ThetaMax != 0.2 {
		t.Errorf("%+v", told)
	}
}

// TestChosenUnderOtherBounds: where the bounds of resources change the policy stays, and what all cost is counted anew
// over the kept intervals; where rows begin to tell a resource, over those that have it.
func TestChosenUnderOtherBounds(t *testing.T) {
	e := newEnv(t)
	c := foresighted(operator.PolicyChoice{Auto: true})
	const kept = 14
	c.Retention.Inputs, c.Strategy = kept, planner.Mixed
	configure := func(memory float64, names ...string) string {
		t.Helper()
		c.Resources = operator.Resources{{Name: "cpu"}, {Name: names[0], From: planner.FromState, Limit: true}}
		for _, name := range names[1:] {
			c.Resources = append(c.Resources, operator.Resource{Name: name, ThetaMax: new(0.5)})
		}
		for d := range c.Instances {
			c.Instances[d].Capacities = map[string]float64{names[0]: memory}
		}
		return operator.ResourceBounds(e.configure("clicks", c).Configuration)
	}
	next := int64(0)
	interval := func() *scheme.Foresight {
		t.Helper()
		next++
		st := wave(next)
		if len(c.Resources) > 2 {
			st.Costs = []planner.Amounts{{Name: "network", Rows: slices.Clone(st.State)}}
		}
		told := e.told(e.carriedOut("clicks", st))
		if err := e.ChooseDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		return told
	}
	weight := func(intervals int) float64 { // each counts 0.95 times as much as the next one
		return (1 - math.Pow(0.95, float64(intervals))) / 0.05
	}
	held := func(what string, was, is *scheme.Foresight) {
		t.Helper()
		if is.Chosen == nil || is.Chosen.Bounds != was.Chosen.Bounds || is.Chosen.Age != was.Chosen.Age+1 ||
			!reflect.DeepEqual(is.Policy, was.Policy) {
			t.Fatalf("%s: %+v, %+v", what, is, is.Chosen)
		}
	}
	counted := func(what string, told *scheme.Foresight, bounds string, intervals int) {
		t.Helper()
		if x := told.Chosen; x.Bounds != bounds || x.Age != 0 || x.Intervals != intervals || len(x.Tried) == 0 ||
			math.Abs(x.Weight-weight(intervals-backtest.Warmup)) > 1e-9 {
			t.Fatalf("%s: %+v, want it by %d intervals under %s", what, x, intervals, bounds)
		}
	}
	tight := configure(26, "memory") // all keys together have more
	var first *scheme.Foresight
	for next < 22 || first.Chosen.Age > 0 { // some intervals of the ledger are not kept any more
		first = interval()
	}
	if x := first.Chosen; x.Bounds != tight || x.Intervals != kept || x.Weight < weight(kept) {
		t.Fatalf("%+v", x)
	}
	wide := configure(80, "memory")
	second := interval()
	held("with more memory", first, second)
	third := interval()
	counted("with more memory", third, wide, kept)
	if third.Chosen.Tried[0].Cost >= first.Chosen.Tried[0].Cost {
		t.Errorf("with more memory policies cost %+v, and before %+v", third.Chosen.Tried, first.Chosen.Tried)
	}
	configure(80, "disk")
	fourth := interval()
	held("with another name", third, fourth)
	held("with another name, later", fourth, interval())
	network := configure(80, "disk", "network")
	begin := next
	fifth := interval()
	for fifth.Chosen.Bounds != network || fifth.Chosen.Intervals < backtest.LeastIntervals {
		if !reflect.DeepEqual(fifth.Policy, fourth.Policy) || fifth.Chosen.Bounds == network && len(fifth.Chosen.Tried) > 0 {
			t.Fatalf("interval %d: %+v, %+v", next, fifth, fifth.Chosen)
		}
		fifth = interval()
	}
	counted("with network", fifth, network, min(kept, int(next-1-begin)))
}

// TestNothingToChooseBy: without stored statistics nothing is chosen, and why is told.
func TestNothingToChooseBy(t *testing.T) {
	e := newEnv(t)
	c := foresighted(operator.PolicyChoice{Auto: true})
	c.Retention.Inputs = 3
	e.configure("clicks", c)
	var told *scheme.Foresight
	for i := range int64(backtest.LeastIntervals + 2) {
		told = e.told(e.carriedOut("clicks", wave(i)))
		if err := e.ChooseDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if told.Chosen == nil || told.Chosen.Intervals != 3 || !reflect.DeepEqual(told.Policy, policies["last"]) {
		t.Errorf("%+v, %+v", told, told.Chosen)
	}
}

// TestClassesAreNotForecast: records name no keys.
func TestClassesAreNotForecast(t *testing.T) {
	records := func() *scheme.Statistics {
		r := &compact.Statistics{Scales: compact.Scales{Cost: 1, State: 1}, Records: []compact.Record{
			{Current: 0, Hash: 0, Cost: 4, State: 1, Count: 5}, {Current: 1, Hash: 1, Cost: 1, State: 1, Count: 1},
			{Current: 2, Hash: 2, Cost: 1, State: 1, Count: 1}, {Current: 3, Hash: 3, Cost: 1, State: 1, Count: 1},
		}}
		return &scheme.Statistics{Statistics: &planner.Statistics{}, Records: r, Interval: 1}
	}
	for name, p := range policies {
		e := newEnv(t)
		e.configure("clicks", foresighted(operator.PolicyChoice{Policy: p}))
		made, err := e.tryPropose("clicks", records())
		if p.Forecast.Method != forecast.Last {
			e.refused(err, refusal.KeysNotKnown)
		} else if err != nil || made.Status != "approved" || made.Forecast != nil {
			t.Errorf("%s: %v, %v", name, made, err)
		}
	}
}

// TestPolicyOfConfiguration: what is wrong with a policy, and what a trigger is short for.
func TestPolicyOfConfiguration(t *testing.T) {
	last := operator.PolicyChoice{Policy: policies["last"]}
	for field, change := range map[string]func(*operator.Configuration){
		"trigger":                func(c *operator.Configuration) { c.Policy, c.Trigger = &last, &operator.Trigger{} },
		"policy/forecast/method": func(c *operator.Configuration) { c.Policy = &operator.PolicyChoice{} },
		"policy/budget": func(c *operator.Configuration) {
			p := last
			c.Strategy = planner.Optimal
			p.Budget, c.Policy, c.Objective = new(0.1), &p, planner.MinImbalance
			c.MigrationLimit = &parameters.MigrationLimit{Fraction: new(0.1)}
		},
	} {
		c := configuration(2)
		c.Trigger = nil
		change(&c)
		_, err := operator.NewConfiguration(c)
		var input *planner.InputError
		if !errors.As(err, &input) || input.Field != field {
			t.Errorf("%v, want one about %s", err, field)
		}
	}
	c := configuration(2) // θ_max is 0.1
	c.Trigger = &operator.Trigger{Theta: new(0.1), CooldownIntervals: 3}
	made, err := operator.NewConfiguration(c)
	want := policies["last"]
	want.CooldownIntervals = 3
	if err != nil || made.Trigger != nil || !reflect.DeepEqual(made.Policy.Policy, want) {
		t.Errorf("%+v, %v", made.Policy, err)
	}
	c.Trigger = nil
	if made, err := operator.NewConfiguration(c); err != nil || !made.Policy.Auto {
		t.Errorf("%+v, %v", made.Policy, err)
	}
}

package backtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/drive"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

// modulo is a hash.
type modulo uint64

func (n modulo) Instance(_ []byte, hash uint64) (int32, error) { return int32(hash % uint64(n)), nil }

func operator(instances int, thetaMax float64) Operator {
	target := planner.Configuration{Hash: modulo(instances)}
	for d := range instances {
		target.Instances = append(target.Instances, planner.Instance{ID: int32(d), Capacity: 1})
	}
	return Operator{Target: target, Options: planner.Options{ThetaMax: thetaMax}, EntryGrace: 2}
}

func history(t testing.TB, intervals ...*planner.Statistics) *History {
	t.Helper()
	h := NewHistory(drive.DefaultWindow)
	for i, in := range intervals {
		if err := h.Add(int64(i), in); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// noisy are intervals of keys with the given mean costs.
func noisy(seed uint64, intervals int, mean func(k, i int) float64, keys int) []*planner.Statistics {
	r := rand.New(rand.NewPCG(seed, 0))
	var out []*planner.Statistics
	for i := range intervals {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for k := range keys {
			m := mean(k, i)
			if cost := math.Floor(max(0, m+math.Sqrt(m)*r.NormFloat64()+r.Float64())); cost > 0 {
				s.Keys.Append(fmt.Appendf(nil, "key %d", k))
				s.Cost = append(s.Cost, cost)
			}
		}
		out = append(out, s)
	}
	return out
}

func zipf(k, _ int) float64 { return 6000 / float64(k+6) }

func run1(t testing.TB, h *History, op Operator, c Candidate) Track {
	t.Helper()
	tracks, err := Run(context.Background(), h, op, []Candidate{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tracks[0]
}

// The baseline is what a driver does that plans every interval with mixed.
func TestAsADriver(t *testing.T) {
	h := history(t, noisy(1, 12, zipf, 300)...)
	op := operator(6, 0.02)
	track := run1(t, h, op, Baseline())
	d := drive.New(drive.Operator{Target: op.Target, Strategy: planner.Mixed, Options: op.Options, EntryGrace: 2})
	moved := 0.0
	for i, in := range h.intervals {
		step, err := d.Step(context.Background(), in.number, in.stats)
		if err != nil {
			t.Fatal(err)
		}
		got := track.Steps[i]
		if math.Abs(got.Theta-step.Plan.Theta.Before) > 1e-9 ||
			math.Abs(got.Moved-step.Plan.Migration.Fraction) > 1e-9 || got.Table != step.Plan.TableAfter {
			t.Fatalf("interval %d: %+v, a driver has θ %v, moves %v, and has a table of %d",
				i, got, step.Plan.Theta.Before, step.Plan.Migration.Fraction, step.Plan.TableAfter)
		}
		moved += got.Moved
	}
	if moved == 0 {
		t.Error("nothing moved")
	}
}

// A search needs more memory on more processors, and with a table limit.
func TestSearchBytes(t *testing.T) {
	one, two := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}},
		&planner.Statistics{Keys: planner.KeysOf("b", "c"), Cost: []float64{1, 2}}
	h := history(t, one, one, one, two, two, two, two, two, two)
	if one, two := h.SearchBytes(1, false, 0), h.SearchBytes(2, false, 0); one <= 0 || two <= one ||
		h.SearchBytes(1, true, 0) <= one || h.SearchBytes(1, false, 2) <= one {
		t.Errorf("a search takes %d, %d on two processors", one, two)
	}
}

// Intervals in which an instance told little or nothing are taken for what they name: under
// other tables other keys are there.
func TestSilentInstances(t *testing.T) {
	var intervals []*planner.Statistics
	for i, in := range noisy(4, 16, zipf, 60) {
		if i%4 == 3 {
			in.Frozen, in.PartialOn = []int32{0}, []int32{1}
		}
		intervals = append(intervals, in)
	}
	report, err := Search(context.Background(), history(t, intervals...), operator(3, 0.05),
		Candidates(policy.DefaultGrid().Policies(0.05, 0)), nil)
	if err != nil || report.Baseline.Judged.Intervals != 8 || report.Baseline.Judged.Moved == 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// θ of an interval is that under the plans before it; M counts the state of the interval
// that a plan is made of; what returns is counted beside it.
func TestFiguresByHand(t *testing.T) {
	var names []string // of keys that hash to instance 0 of 2
	for i := 0; len(names) < 3; i++ {
		if name := fmt.Sprint("k", i); planner.KeyHash([]byte(name))%2 == 0 {
			names = append(names, name)
		}
	}
	of := func(costs ...float64) *planner.Statistics {
		return &planner.Statistics{Keys: planner.KeysOf(names...), Cost: costs, State: []float64{1, 2, 2.5}}
	}
	h := history(t, of(5, 5, 0), of(5, 5, 0), of(2, 10, 8), of(10, 2, 8), of(10, 2, 8))
	last := Baseline()
	last.Strategy = planner.Optimal
	track := run1(t, h, operator(2, 0.1), last)
	var thetas, moved, returned []float64
	for _, s := range track.Steps {
		thetas = append(thetas, math.Round(1000*s.Theta)/1000)
		moved, returned = append(moved, 5.5*s.Moved), append(returned, 5.5*s.Returned)
	}
	if !slices.Equal(thetas, []float64{1, 0, 0.8, 0.8, 0}) || !slices.Equal(moved, []float64{1, 0, 2.5, 2.5, 0}) ||
		!slices.Equal(returned, []float64{0, 0, 0, 2.5, 0}) {
		t.Errorf("θ %v, moved %v, returned %v", thetas, moved, returned)
	}
	f := track.Figures(1, 4)
	want := Figures{Intervals: 3, Above: 2. / 3, Median: 0.8, P95: 0.8, Excess: 1.4 / 3,
		Moved: 3.5 / 5.5, Plans: 2, Table: 2}
	if !near(reflect.ValueOf(f), reflect.ValueOf(want)) {
		t.Errorf("%+v, want %+v", f, want)
	}
	if cost := track.Cost(1, 4, 0.01); math.Abs(cost-(1.4+3.5/5.5)/3) > 1e-9 {
		t.Errorf("it costs %v where a point of excess is worth a hundredth of all state", cost)
	}
	if none := track.Figures(2, 2); none != (Figures{}) || track.Cost(2, 2, 0) != 0 {
		t.Errorf("%+v", none)
	}
}

// The order of rows and the number of processors change nothing.
func TestRunIsDeterministic(t *testing.T) {
	intervals := noisy(2, 14, zipf, 200)
	r := rand.New(rand.NewPCG(3, 0))
	var other []*planner.Statistics
	for _, in := range intervals {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for _, i := range r.Perm(in.Len()) {
			s.Keys.Append(in.Keys.At(i))
			s.Cost = append(s.Cost, in.Cost[i])
		}
		other = append(other, s)
	}
	candidates := Candidates(policy.DefaultGrid().Policies(0.05, 0))
	last := 0
	progress := func(n int) { last = n }
	a, err := Search(context.Background(), history(t, intervals...), operator(5, 0.05), candidates, progress)
	if err != nil {
		t.Fatal(err)
	}
	if last != 14*(1+len(candidates)) {
		t.Errorf("%d intervals done", last)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	resting, rests := operator(5, 0.05), 0
	resting.Rest = func() { rests++ }
	b, err := Search(context.Background(), history(t, other...), resting, candidates, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rests != last+14 { // the policies that auto chose are run, too
		t.Errorf("%d rests after %d intervals", rests, last)
	}
	if !near(reflect.ValueOf(*a), reflect.ValueOf(*b)) {
		t.Errorf("%+v\nand\n%+v", a, b)
	}
}

// near compares reports, figures but for the last digits of sums.
func near(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float64:
		return math.Abs(a.Float()-b.Float()) <= 1e-9
	case reflect.Struct:
		for i := range a.NumField() {
			if !near(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !near(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || near(a.Elem(), b.Elem()))
	}
	return a.Equal(b)
}

// The choice knows the first half alone, and says so; of few intervals there is none.
func TestSearch(t *testing.T) {
	calm := noisy(4, 24, zipf, 300)
	wild := slices.Clone(calm)
	copy(wild[12:], noisy(5, 12, func(k, i int) float64 { return zipf((k+50*i)%300, 0) }, 300))
	candidates := Candidates(policy.DefaultGrid().Policies(0.02, 0))
	search := func(intervals []*planner.Statistics) *Report {
		r, err := Search(context.Background(), history(t, intervals...), operator(8, 0.02), candidates, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := search(calm), search(wild)
	if *a.Recommended != *b.Recommended || a.Reason == b.Reason || a.Floor == nil ||
		!strings.Contains(a.Reason, "median θ") || !strings.Contains(a.Reason, "as few as 9 intervals") {
		t.Errorf("recommended %d and %d: %s", *a.Recommended, *b.Recommended, a.Reason)
	}
	if a.Auto.Judged.Intervals != 12 || a.Auto.Next < 0 || a.Auto.Next >= len(a.Results) {
		t.Errorf("auto %+v", a.Auto)
	}
	for i, r := range a.Results {
		beaten := slices.ContainsFunc(a.Results, func(o Result) bool {
			return o.Judged.Moved < r.Judged.Moved && o.Judged.Excess < r.Judged.Excess
		})
		if beaten && r.Pareto {
			t.Errorf("result %d is beaten and on the front", i)
		}
	}
	if r := search(calm[:LeastIntervals-1]); r.Recommended != nil || !strings.Contains(r.Reason, "11 intervals") {
		t.Errorf("%+v", r)
	}
}

// TestFollow: a policy is chosen by the intervals before, and stays while none costs clearly less.
func TestFollow(t *testing.T) {
	const intervals, first = 40, 12
	tracks := make([]Track, 3)
	step := func(i int, theta, moved float64) {
		s := Step{Expected: &forecast.Prediction{Excess: max(0, theta-0.1)}}
		s.Theta, s.Moved = theta, moved
		tracks[i].Steps = append(tracks[i].Steps, s)
	}
	for i := range tracks {
		tracks[i].ThetaMax = 0.1
	}
	for t := range intervals {
		step(0, 0.2, 0)
		step(1, 0.1, 0.025) // a tenth at the default worth of balance: as much as that of the first
		if t < 20 {
			step(2, 0.3, 0.01)
		} else {
			step(2, 0.1, 0.001)
		}
	}
	by, next, then := follow(tracks, 0, first)
	if len(by) != intervals || by[0] != 0 || by[first+6] != 0 || next != 2 || len(then.Cost) != 3 {
		t.Errorf("by %v, then by %d", by, next)
	}
	if at := slices.Index(by, 2); at < 22 || (at-(first-1))%ChooseEvery != 0 {
		t.Errorf("the third policy, which is better from interval 20 on, is chosen at %d", at)
	}
	if by, _, _ := follow(tracks, 1, first); by[0] != 1 {
		t.Errorf("where moved state is worth little, by %v", by)
	}
}

// TestPick: what was counted before is not counted again, also where the numbers of intervals begin anew.
func TestPick(t *testing.T) {
	stats := noisy(9, 20, zipf, 100)
	h := NewHistory(drive.DefaultWindow)
	for i, in := range stats {
		number := int64(100 + i)
		if i >= 15 {
			number = int64(i - 15) // of a new epoch
		}
		if err := h.Add(number, in); err != nil {
			t.Fatal(err)
		}
	}
	candidates := Candidates(policy.DefaultGrid().Policies(0.02, 0))
	for through, counted := range map[int64]float64{111: 8, 114: 5, 0: 4, 4: 0, 7: 17} {
		ledger := policy.Ledger{Weight: 1, Cost: []float64{1, 2}, Moved: []float64{0, 0}}
		chosen, reason, err := Pick(context.Background(), h, operator(4, 0.02), candidates, &ledger, through, -1)
		want := 1.0
		for range int(counted) {
			want = 0.95*want + 1
		}
		if err != nil || chosen < 0 || reason == "" || math.Abs(ledger.Weight-want) > 1e-9 {
			t.Errorf("counted through %d: %d, a weight of %v, want %v: %v", through, chosen, ledger.Weight, want, err)
		}
	}
}

// recommended is how the recommended policy does on a stream of 48 intervals of known truth.
func recommended(t *testing.T, seed uint64, thetaMax float64, mean func(k, i int) float64) Track {
	t.Helper()
	h, op := history(t, noisy(seed, 48, mean, 500)...), operator(8, thetaMax)
	r, err := Search(context.Background(), h, op, Candidates(policy.DefaultGrid().Policies(thetaMax, 0)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r.Results[*r.Recommended].Policy)
	t.Log(r.Reason)
	return run1(t, h, op, r.Results[*r.Recommended].Candidate)
}

// Noise around loads that stay moves nothing after the first plans.
func TestStationary(t *testing.T) {
	for seed := range uint64(3) {
		track := recommended(t, 10+seed, 0.1, zipf)
		if f := track.Figures(24, 48); f.Plans > 0 || f.Above > 0.05 {
			t.Errorf("seed %d: %+v", seed, f)
		}
	}
}

// After a change of phase θ_max holds again in the third interval.
func TestPhaseChange(t *testing.T) {
	for seed := range uint64(3) {
		track := recommended(t, 20+seed, 0.2, func(k, i int) float64 { return zipf((k+i/12*170)%500, 0) })
		for _, at := range []int{24, 36} {
			if theta := track.Steps[at+2].Theta; theta > 0.2 {
				t.Errorf("seed %d: θ %v two intervals after the change, %v before", seed, theta, track.Steps[at].Theta)
			}
		}
	}
}

// The first change of a stream is answered as well, whatever was chosen while it was calm:
// two intervals after it θ is again what it was, within what it fluctuates.
func TestFirstChange(t *testing.T) {
	const thetaMax, change = 0.2, 24
	candidates := Candidates(policy.DefaultGrid().Policies(thetaMax, 0))
	for seed := range uint64(3) {
		h := history(t, noisy(30+seed, 32, func(k, i int) float64 { return zipf((k+i/change*170)%500, 0) }, 500)...)
		tracks, err := Run(context.Background(), h, operator(8, thetaMax), candidates, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, track := range tracks {
			if theta := track.Steps[change+2].Theta; theta > thetaMax || track.Steps[change].Theta < thetaMax {
				t.Errorf("seed %d, %+v: θ %v when it changes, %v two intervals later", seed, candidates[i].Policy.Forecast,
					track.Steps[change].Theta, theta)
			}
		}
	}
}

func TestRunEnds(t *testing.T) {
	h := history(t, noisy(6, 3, zipf, 20)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, h, operator(2, 0.1), []Candidate{Baseline()}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	var input *planner.InputError
	bad := Candidate{Strategy: "none", Policy: policy.Policy{Forecast: forecast.Config{Method: forecast.Last}}}
	if _, err := Run(context.Background(), h, operator(2, 0.1), []Candidate{bad}, nil); !errors.As(err, &input) {
		t.Errorf("no such strategy: %v", err)
	}
}

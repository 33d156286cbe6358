package forecast_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/forecast"
)

// everything are a resource of each kind.
var everything = []planner.Resource{
	{Name: "network", ThetaMax: 0.2}, {Name: "memory", Limited: true},
	{Name: "disk", From: planner.FromState, Limited: true}, {Name: "keys", From: planner.FromCount, ThetaMax: 1},
}

// using are statistics whose keys take of network, memory and disk as cost, by interval and key.
func using(interval, keys int, cost, network, memory, disk func(k int) float64) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(keys)}
	columns := make([][]float64, 4)
	for k := range keys {
		s.Keys.Append(fmt.Append(nil, "key ", k+interval/9)) // some leave, some come
		for i, of := range []func(int) float64{cost, network, memory, disk} {
			columns[i] = append(columns[i], of(k))
		}
	}
	s.Cost, s.State = columns[0], columns[3]
	s.Costs = []planner.Amounts{{Name: "memory", Rows: columns[2]}, {Name: "network", Rows: columns[1]}}
	return s
}

// expected are the amounts of a resource that statistics are planned on.
func expected(t *testing.T, f *forecast.Forecast, of planner.Resource) planner.Amounts {
	t.Helper()
	a, err := f.Statistics.AmountsOf(of)
	if err != nil || len(a.Rows) != f.Statistics.Len() {
		t.Fatalf("%d rows of %d: %v", len(a.Rows), f.Statistics.Len(), err)
	}
	return a
}

func all(amounts []float64) (sum float64) {
	for _, x := range amounts {
		sum += x
	}
	return sum
}

// resourceful puts the keys of a forecast on instances by their hash. Of memory each has so much, of disk twice.
func resourceful(t testing.TB, f *forecast.Forecast, instances int, capacity float64) *planner.Snapshot {
	t.Helper()
	stats := *f.Statistics
	var live []planner.Instance
	for d := range instances {
		live = append(live, planner.Instance{ID: int32(d), Capacity: 1,
			Capacities: []float64{1, capacity, 2 * capacity, 1}})
	}
	stats.HashInstance = make([]int32, stats.Len())
	for i := range stats.HashInstance {
		stats.HashInstance[i] = int32(stats.Keys.Hash(i) % uint64(instances))
	}
	s, err := planner.NewSnapshot(&stats, planner.Configuration{Instances: live, Resources: everything}, planner.Base{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestResourcesAreForecast: what is noise in a resource is evened out as that of cost is; state stays as it was, and
// counts are of the keys that were named.
func TestResourcesAreForecast(t *testing.T) {
	const keys = 50
	r := rand.New(rand.NewPCG(1, 1))
	even := func(int) float64 { return 10 }
	noisy := func(int) float64 { return 10 + 4*r.NormFloat64() }
	for _, c := range configs[1:] {
		s := state(t, c)
		s.Track(everything)
		var f *forecast.Forecast
		for i := range 24 {
			f = observe(t, s, using(i, keys, even, func(k int) float64 { return max(0, noisy(k)) }, even,
				func(k int) float64 { return float64(k + i) }))
		}
		var last, ahead float64
		network := expected(t, f, everything[0])
		for row, x := range f.Observed.Costs[1].Rows {
			last += math.Abs(x - 10)
			ahead += math.Abs(network.Rows[row] - 10)
		}
		if ahead > 0.7*last {
			t.Errorf("%s: off by %v, the last interval by %v", c.Method, ahead, last)
		}
		if counted := expected(t, f, everything[3]); all(counted.Rows) != keys || counted.Rows[0] != 1 {
			t.Errorf("%s: %v keys are expected", c.Method, all(counted.Rows))
		}
		disk := expected(t, f, everything[2])
		for row, x := range f.Observed.State {
			growth := disk.Rows[keys-1] / f.Observed.State[keys-1]
			if part := disk.Rows[row] / x; math.Abs(part-growth) > 1e-12 || part < 1 || part > 1.1 {
				t.Errorf("%s: a state of %v is expected to be %v", c.Method, x, disk.Rows[row])
			}
		}
		if n := f.Statistics.Len(); n > keys && all(disk.Rows[keys:]) != 0 {
			t.Errorf("%s: state of keys that nobody named", c.Method)
		}
	}
	s := state(t, forecast.Config{Method: forecast.Last})
	s.Track(everything)
	if f := observe(t, s, using(0, keys, even, even, even, even)); f.Statistics.Expected != nil {
		t.Errorf("the last interval is forecast as %v", f.Statistics.Expected)
	}
}

// TestTotals: what is taken altogether goes on growing, does not follow noise, and has seasons.
func TestTotals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	even := func(int) float64 { return 1 }
	for name, c := range map[string]struct {
		total       func(i float64) float64
		least, most float64 // of what is expected, as a part of what came last
	}{
		"steady":  {func(float64) float64 { return 1 }, 1, 1},
		"grows":   {func(i float64) float64 { return 1 + 0.05*i }, 1.015, 1.03},
		"shrinks": {func(i float64) float64 { return 10 - 0.1*i }, 0.98, 0.99},
		"stops":   {func(i float64) float64 { return min(2, 1+0.1*i) }, 1, 1.03},
		"noise":   {func(i float64) float64 { return 1 + 0.1*r.NormFloat64() + 0.5*max(0, i-38) }, 0.6, 0.9},
		"season":  {func(i float64) float64 { return 3 + math.Sin(i*math.Pi/4) }, 1.3, 1.32}, // 2.29, then 3
	} {
		s := state(t, forecast.Config{Method: forecast.Combined})
		s.Track(everything)
		var f *forecast.Forecast
		for i := range 40 {
			f = observe(t, s, using(0, 20, even, even, func(int) float64 { return c.total(float64(i)) }, even))
		}
		memory := expected(t, f, everything[1])
		if part := all(memory.Rows) / all(f.Observed.Costs[0].Rows); part < c.least-1e-6 || part > c.most+1e-6 {
			t.Errorf("%s: %v times as much is expected", name, part)
		}
	}
}

// TestPartialResources: where keys are not named, those that are take what they took.
func TestPartialResources(t *testing.T) {
	s := state(t, forecast.Config{Method: forecast.EWMA, Alpha: 0.25})
	s.Track(everything)
	ten := func(int) float64 { return 10 }
	for range 5 {
		observe(t, s, using(0, 20, ten, ten, ten, ten))
	}
	some := using(0, 10, ten, ten, ten, ten)
	some.Frozen = []int32{3}
	memory := expected(t, observe(t, s, some), everything[1])
	for _, x := range memory.Rows {
		if math.Abs(x-10) > 1e-4 {
			t.Fatalf("%v is expected", memory.Rows)
		}
	}
	some = using(0, 10, ten, ten, ten, ten)
	some.Partial, some.Residual = true, []planner.Residual{{Cost: 100, State: 7, Keys: 3}}
	some.Costs[0].Residual = []float64{100}
	f := observe(t, s, some)
	if a := expected(t, f, everything[1]); math.Abs(all(a.Rows)-100) > 1e-3 || math.Abs(a.Residual[0]-100) > 1e-9 {
		t.Errorf("%v", a)
	}
	if a := expected(t, f, everything[3]); a.Residual[0] != 3 {
		t.Errorf("%v", a)
	}
}

// TestResourcesStored: a state with resources that was stored goes on as the one that was not, for whichever
// resources; one without begins with them.
func TestResourcesStored(t *testing.T) {
	for _, c := range configs {
		r := rand.New(rand.NewPCG(5, 1))
		in := func(i int) *planner.Statistics {
			draw := func(int) float64 { return 1 + r.ExpFloat64() }
			return using(i, 40, draw, draw, draw, draw)
		}
		one, other, plain := state(t, c), state(t, c), state(t, c)
		one.Track(everything)
		other.Track(everything)
		for i := range 20 {
			stats := in(i)
			a, b := observe(t, one, stats), observe(t, other, stats)
			observe(t, plain, stats)
			p, q := resourceful(t, a, 4, 30), resourceful(t, b, 4, 30)
			x := a.Predict(p, p.Current, nil, 0.1)
			if !reflect.DeepEqual(a.Statistics, b.Statistics) || !reflect.DeepEqual(x, b.Predict(q, q.Current, nil, 0.1)) {
				t.Fatalf("%s, interval %d: another forecast", c.Method, i)
			}
			stored, err := forecast.Decode(other.Encode())
			if err != nil || !bytes.Equal(stored.Encode(), other.Encode()) {
				t.Fatalf("%s, interval %d: not the same when read again: %v", c.Method, i, err)
			}
			if other = stored; i%5 == 0 {
				other.Track(everything) // changes nothing
			}
		}
		if before, after := plain.Encode(), one.Encode(); before[0] != 1 || after[0] != 2 || len(before) >= len(after) {
			t.Errorf("%s: %d bytes without resources and %d with them", c.Method, len(before), len(after))
		}
		one.Track(nil)
		if !bytes.Equal(one.Encode(), plain.Encode()) {
			t.Errorf("%s: resources change what is known of cost", c.Method)
		}
		plain.Track(everything[:1])
		f := observe(t, plain, in(20))
		if network := expected(t, f, everything[0]); math.Abs(all(network.Rows)/all(f.Observed.Costs[1].Rows)-1) > 1e-4 {
			t.Errorf("%s: %v", c.Method, network)
		}
	}
	for _, m := range []forecast.Method{forecast.EWMA, forecast.Combined} {
		s := state(t, forecast.Config{Method: m})
		s.Track(everything[2:])
		testDamaged(t, s)
	}
}

// TestResourceGone: intervals that say nothing of a resource, or that nothing is taken of it, end nothing.
func TestResourceGone(t *testing.T) {
	s := state(t, forecast.Config{Method: forecast.Combined})
	s.Track(everything[:2])
	one, none := func(int) float64 { return 1 }, func(int) float64 { return 0 }
	for i := range 20 {
		stats := using(0, 10, one, one, one, one)
		switch i % 5 {
		case 3:
			stats.Costs = stats.Costs[1:] // network alone
		case 4:
			stats = using(0, 10, one, none, none, one)
		}
		f := observe(t, s, stats)
		if n := len(f.Statistics.Expected); n != map[bool]int{true: 1, false: 2}[i%5 == 3] {
			t.Fatalf("interval %d: %d resources are expected", i, n)
		}
		for _, a := range f.Statistics.Expected {
			if want := map[bool]float64{true: 0, false: 1}[i%5 == 4]; slices.ContainsFunc(a.Rows, func(x float64) bool {
				return math.IsNaN(x) || want == 0 && x != 0
			}) {
				t.Fatalf("interval %d: %v", i, a)
			}
		}
	}
}

// TestProbabilityOfAnyBound: what is predicted of any bound being broken, and of that of each resource, comes as
// often; the noise of memory alone breaks it, or that of network, or of cost.
func TestProbabilityOfAnyBound(t *testing.T) {
	const instances, keys, thetaMax = 4, 400, 0.1
	r := rand.New(rand.NewPCG(7, 1))
	noise := func(mean, part float64) func(k int) float64 {
		all := 1 + 0.05*r.NormFloat64()
		return func(k int) float64 {
			return max(0, mean*(1+float64(k%7))*all*(1+part*r.NormFloat64()))
		}
	}
	s := state(t, forecast.Config{Method: forecast.EWMA, Alpha: 0.1})
	s.Track(everything)
	var p *forecast.Prediction
	predicted, came := make([]float64, 6), make([]float64, 6)
	judged := 0
	for i := range 400 {
		stats := using(0, keys, noise(10, 0.5), noise(4, 0.9), noise(3, 0.4), noise(1, 0.1))
		f := observe(t, s, stats)
		sn := resourceful(t, f, instances, 1350)
		now := resourceful(t, &forecast.Forecast{Statistics: stats, Observed: stats}, instances, 1350)
		if i > 60 {
			inspected, err := planner.Inspect(now, planner.Options{ThetaMax: thetaMax})
			if err != nil {
				t.Fatal(err)
			}
			levels := []float64{inspected.Theta.Before}
			for r, x := range inspected.Resources {
				levels = append(levels, x.Level.Before)
				part := func(d int32) float64 { // of what the instance may hold
					return x.Instances[d].Before / x.Instances[d].Max
				}
				realised, worst := f.Realised(sn, sn.Current)
				fullest := part(worst[r])
				for d := range x.Instances {
					fullest = max(fullest, part(int32(d)))
				}
				if math.Abs(realised[r]-x.Level.Before) > 1e-9 || fullest > part(worst[r])*(1+1e-9) {
					t.Fatalf("%s: %v is realised, on %d, and %v was", everything[r].Name, realised[r], worst[r], x.Level.Before)
				}
			}
			judged++
			predicted[5] += p.Probability
			if theta := forecast.Joint(now, thetaMax, levels); (theta > thetaMax*(1+1e-9)) == inspected.Balanced {
				t.Fatalf("θ of all is %v, balanced is %v", theta, inspected.Balanced)
			}
			if !inspected.Balanced {
				came[5]++
			}
			for r, bound := range []float64{thetaMax, 0.2, 1, 1, 1} {
				predicted[r] += p.Resources[r].Probability
				if levels[r] > bound {
					came[r]++
				}
			}
		}
		p = f.Predict(sn, sn.Current, nil, thetaMax)
	}
	for r := range came {
		if math.Abs(predicted[r]-came[r])/float64(judged) > 0.06 {
			t.Errorf("resource %d: broken in %v of %d, expected in %.1f", r, came[r], judged, predicted[r])
		}
	}
	if n := float64(judged); came[5] < 0.2*n || came[5] > 0.9*n || came[2] == 0 || came[1] == 0 || came[0] == 0 {
		t.Errorf("broken in %v of %d: that tells little", came, judged)
	}
	if p.Resources[0].Name != "" || p.Resources[2].Name != "memory" {
		t.Errorf("%+v", p.Resources)
	}
}

// TestNoCapacity: an instance that has nothing of a resource is above its bound as soon as something is there.
func TestNoCapacity(t *testing.T) {
	s := state(t, forecast.Config{Method: forecast.EWMA})
	s.Track(everything)
	one := func(int) float64 { return 1 }
	var f *forecast.Forecast
	for range 5 {
		f = observe(t, s, using(0, 20, one, one, one, one))
	}
	sn := resourceful(t, f, 2, 0)
	p := f.Predict(sn, sn.Current, nil, 0.5)
	if p.Probability != 1 || p.Excess > 200 || p.Resources[2].P95 != planner.MaxAmount {
		t.Errorf("%+v", p)
	}
	for i := range sn.Amounts[1] {
		sn.Amounts[1][i], sn.Amounts[2][i] = 0, 0
	}
	if p := f.Predict(sn, sn.Current, nil, 0.5); p.Probability != 0 || p.Resources[2].P95 != 0 {
		t.Errorf("%+v", p)
	}
}

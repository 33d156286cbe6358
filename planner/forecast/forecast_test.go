package forecast_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/forecast"
)

// of are statistics of keys and costs.
func of(pairs ...any) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(0)}
	for i := 0; i < len(pairs); i += 2 {
		s.Keys.Append([]byte(pairs[i].(string)))
		s.Cost = append(s.Cost, float64(pairs[i+1].(int)))
	}
	return s
}

func partial(s *planner.Statistics, residual float64) *planner.Statistics {
	s.Partial = true
	s.Residual = []planner.Residual{{Cost: residual}}
	return s
}

func state(t testing.TB, c forecast.Config) *forecast.State {
	t.Helper()
	s, err := forecast.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func observe(t testing.TB, s *forecast.State, stats *planner.Statistics) *forecast.Forecast {
	t.Helper()
	f, err := s.Observe(stats)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// costs are the expected costs by key.
func costs(f *forecast.Forecast) map[string]float64 {
	out := map[string]float64{}
	for i, c := range f.Statistics.Cost {
		out[string(f.Statistics.Keys.At(i))] = c
	}
	return out
}

func near(a, b map[string]float64) bool {
	return maps.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-5*math.Max(1, math.Abs(y)) })
}

func TestForecasts(t *testing.T) {
	ewma := forecast.Config{Method: forecast.EWMA, Alpha: 0.25}
	last := forecast.Config{Method: forecast.Last}
	type want = map[string]float64
	type stream = []*planner.Statistics
	for name, c := range map[string]struct {
		config    forecast.Config
		intervals []*planner.Statistics
		want      want
	}{
		"last":                  {last, stream{of("a", 1, "b", 3), of("b", 1, "a", 1)}, want{"a": 1, "b": 1}},
		"last, absent":          {last, stream{of("a", 1, "b", 3), of("b", 2)}, want{"b": 2}},
		"the first ones alike":  {ewma, stream{of("a", 1, "b", 3), of("a", 30, "b", 10)}, want{"a": 20, "b": 20}},
		"shares, not costs":     {ewma, stream{of("a", 1, "b", 3), of("a", 100, "b", 300)}, want{"a": 100, "b": 300}},
		"absent costs nothing":  {ewma, stream{of("a", 4, "b", 4), of("b", 8)}, want{"a": 2, "b": 6}},
		"new":                   {ewma, stream{of("a", 4), of("a", 4, "b", 4)}, want{"a": 6, "b": 2}},
		"partial tells nothing": {ewma, stream{of("a", 4, "b", 4), partial(of("b", 2), 6)}, want{"b": 3}},
		"then it is named again": {ewma, stream{of("a", 4, "b", 4), partial(of("b", 2), 6), of("a", 8)},
			want{"a": 16. / 3, "b": 2}},
		"nothing costs": {ewma, stream{of("a", 4, "b", 4), of("a", 0, "b", 0)}, want{"a": 0.5, "b": 0.5}},
		"no rows":       {ewma, stream{of("a", 4, "b", 4), of()}, want{"a": 0.5, "b": 0.5}},
	} {
		s := state(t, c.config)
		var got *forecast.Forecast
		for _, in := range c.intervals {
			got = observe(t, s, in)
		}
		if !near(costs(got), c.want) {
			t.Errorf("%s: %v, want %v", name, costs(got), c.want)
		}
	}
}

// What else rows say stays as it was reported; rows of absent keys say what they said last.
func TestOtherColumns(t *testing.T) {
	s := state(t, forecast.Config{Method: forecast.EWMA})
	first, second := of("a", 4, "b", 4, "c", 0), of("c", 2, "b", 2)
	first.State, first.HashInstance = []float64{7, 8, 9}, []int32{0, 1, 0}
	second.State, second.HashInstance, second.Instance = []float64{5, 6}, []int32{1, 1}, []int32{0, 1}
	second.Shares = []planner.Share{{Row: 1, Instance: 0, State: 2}}
	observe(t, s, first)
	f := observe(t, s, second)
	got := f.Statistics
	if string(got.Keys.At(2)) != "a" || !reflect.DeepEqual(got.State, []float64{5, 6, 7}) ||
		!reflect.DeepEqual(got.HashInstance, []int32{1, 1, 0}) ||
		!reflect.DeepEqual(got.Instance, []int32{0, 1, planner.NoInstance}) ||
		!reflect.DeepEqual(got.Shares, second.Shares) || f.Observed != second || second.Len() != 2 || second.Keys.Len() != 2 {
		t.Errorf("%+v", got)
	}
	third := of("c", 2, "b", 2) // the engine stops telling
	if got := observe(t, s, third).Statistics; got.State != nil || got.HashInstance != nil || got.Instance != nil {
		t.Errorf("%+v", got)
	}
}

func TestRefused(t *testing.T) {
	for field, c := range map[string]forecast.Config{
		"Forecast.Method": {}, "Forecast.Alpha": {Method: forecast.Last, Alpha: 0.5},
		"Forecast.Period": {Method: forecast.EWMA, Period: 4},
	} {
		var input *planner.InputError
		if _, err := forecast.New(c); !errors.As(err, &input) || input.Field != field {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s := state(t, forecast.Config{Method: forecast.Last})
	counted := of("a", 1)
	counted.Count = []int64{2}
	for _, bad := range []*planner.Statistics{of("a", -1), counted} {
		if _, err := s.Observe(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// Keys that are gone are forgotten, and forgetting changes no forecast by much.
// A slow average follows at once where all keys change, and hardly where a few burst.
func TestSurprise(t *testing.T) {
	const keys, calm = 200, 8
	stats := func(r *rand.Rand, mean func(k int) float64) *planner.Statistics {
		s := &planner.Statistics{Keys: planner.NewKeys(keys)}
		for k := range keys {
			s.Keys.Append(fmt.Appendf(nil, "key %d", k))
			s.Cost = append(s.Cost, mean(k)*(0.9+0.2*r.Float64()))
		}
		return s
	}
	rank := func(k int) float64 { return 1e4 / float64(k+10) }
	for name, c := range map[string]struct {
		then    func(k int) float64
		follows bool
	}{
		"the same":     {rank, false},
		"other ranks":  {func(k int) float64 { return rank((k + keys/2) % keys) }, true},
		"a few bursts": {func(k int) float64 { return rank(k) * []float64{1, 30}[min(1, k/(keys-5))] }, false},
	} {
		for _, method := range []forecast.Method{forecast.EWMA, forecast.Seasonal} {
			r := rand.New(rand.NewPCG(1, 1))
			s := state(t, forecast.Config{Method: method, Alpha: 0.1})
			for range calm {
				observe(t, s, stats(r, rank))
			}
			came := stats(r, c.then)
			f := observe(t, s, came)
			// How far the forecast is from what came, of how far it was from what had been.
			far, before := 0.0, 0.0
			for k := range keys - 5 {
				far += math.Abs(f.Statistics.Cost[k] - came.Cost[k])
				before += math.Abs(rank(k) - c.then(k))
			}
			if follows := far < 0.3*before; follows != c.follows {
				t.Errorf("%s, %s: %v from what came, %v before", name, method, far, before)
			}
		}
	}
}

func TestForget(t *testing.T) {
	s := state(t, forecast.Config{Method: forecast.EWMA})
	for i := range 200 {
		in := of("stays", 1000)
		for k := range 20 {
			in.Keys.Append(fmt.Appendf(nil, "%d-%d", i, k))
			in.Cost = append(in.Cost, 1)
		}
		f := observe(t, s, in)
		sum := 0.0
		for _, c := range f.Statistics.Cost {
			sum += c
		}
		if math.Abs(sum-1020) > 0.1 {
			t.Fatalf("interval %d: all keys are expected to cost %v", i, sum)
		}
	}
	if s.Len() > 600 {
		t.Errorf("%d keys are remembered", s.Len())
	}
}

// stream is noise around shares that differ, with keys that come and go.
func stream(seed uint64, keys, intervals int) []*planner.Statistics {
	r := rand.New(rand.NewPCG(seed, 0))
	var out []*planner.Statistics
	for range intervals {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for k := range keys {
			mean := 4000 / float64(k+1)
			cost := math.Floor(max(0, mean+math.Sqrt(mean)*r.NormFloat64()+r.Float64()))
			if cost > 0 {
				s.Keys.Append(fmt.Appendf(nil, "key %d", k))
				s.Cost = append(s.Cost, cost)
			}
		}
		out = append(out, s)
	}
	return out
}

// shuffled are the same rows in another order.
func shuffled(s *planner.Statistics, r *rand.Rand) *planner.Statistics {
	out := &planner.Statistics{Keys: planner.NewKeys(0)}
	for _, i := range r.Perm(s.Len()) {
		out.Keys.Append(s.Keys.At(i))
		out.Cost = append(out.Cost, s.Cost[i])
	}
	return out
}

// snapshot puts the keys of a forecast on instances by their hash.
func snapshot(t testing.TB, f *forecast.Forecast, instances int) *planner.Snapshot {
	t.Helper()
	stats := *f.Statistics
	var live []planner.Instance
	for d := range instances {
		live = append(live, planner.Instance{ID: int32(d), Capacity: 1})
	}
	stats.HashInstance = make([]int32, stats.Len())
	for i := range stats.HashInstance {
		stats.HashInstance[i] = int32(stats.Keys.Hash(i) % uint64(instances))
	}
	s, err := planner.NewSnapshot(&stats, planner.Configuration{Instances: live}, planner.Base{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var configs = []forecast.Config{
	{Method: forecast.Last}, {Method: forecast.EWMA, Alpha: 0.3}, {Method: forecast.Level},
	{Method: forecast.Seasonal, Alpha: 0.3, Period: 3}, {Method: forecast.Combined},
}

// Neither the order of the rows, nor the number of processors, nor whether the state was
// stored in between changes anything.
func TestSameWhateverTheOrder(t *testing.T) {
	for _, c := range configs {
		intervals := stream(1, 70000, 6)
		one, other := state(t, c), state(t, c)
		r := rand.New(rand.NewPCG(2, 0))
		for i, in := range intervals {
			before := runtime.GOMAXPROCS(1)
			a := observe(t, one, in)
			p := a.Predict(snapshot(t, a, 4), snapshot(t, a, 4).Current, nil, 0.1)
			runtime.GOMAXPROCS(4)
			in = shuffled(in, r)
			b := observe(t, other, in)
			q := b.Predict(snapshot(t, b, 4), snapshot(t, b, 4).Current, nil, 0.1)
			runtime.GOMAXPROCS(before)
			if !maps.Equal(costs(a), costs(b)) || !reflect.DeepEqual(p, q) || (p == nil) != (i < forecast.LeastInnovations) ||
				!reflect.DeepEqual(one.Floor(4), other.Floor(4)) {
				t.Fatalf("%s, interval %d: %v and %v, floors %v and %v", c.Method, i, p, q, one.Floor(4), other.Floor(4))
			}
			stored, err := forecast.Decode(other.Encode())
			if err != nil || !bytes.Equal(stored.Encode(), other.Encode()) || stored.Config() != other.Config() {
				t.Fatalf("%s, interval %d: not the same when read again: %v", c.Method, i, err)
			}
			other = stored
			again, err := stored.Again(in)
			if err != nil || !maps.Equal(costs(again), costs(b)) ||
				!reflect.DeepEqual(again.Predict(snapshot(t, again, 4), snapshot(t, again, 4).Current, nil, 0.1), q) {
				t.Fatalf("%s, interval %d: another forecast of the stored state: %v", c.Method, i, err)
			}
		}
	}
}

// What is damaged is refused, and is no reason to panic.
func TestDamaged(t *testing.T) {
	for _, m := range []forecast.Method{forecast.EWMA, forecast.Combined} {
		testDamaged(t, state(t, forecast.Config{Method: m}))
	}
}

func testDamaged(t *testing.T, s *forecast.State) {
	t.Helper()
	for _, in := range stream(3, 6, 4) {
		in.State, in.HashInstance = in.Cost, make([]int32, in.Len())
		observe(t, s, in)
	}
	data := s.Encode()
	for n := range data {
		if _, err := forecast.Decode(data[:n]); !errors.Is(err, forecast.ErrEncoding) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
		changed := bytes.Clone(data)
		changed[n] ^= 0xff
		if s, err := forecast.Decode(changed); err == nil {
			_, _ = s.Observe(of("key 0", 1, "key 9", 1))
		}
	}
}

// A season is found, and expected again.
func TestSeason(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	const period, keys = 12, 40
	wave := func(k, i int) float64 {
		return 1000 * (1 + 0.8*math.Sin(2*math.Pi*(float64(i)/period+float64(k)/keys)))
	}
	interval := func(i int) *planner.Statistics {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for k := range keys {
			s.Keys.Append(fmt.Appendf(nil, "key %d", k))
			mean := wave(k, i)
			s.Cost = append(s.Cost, mean+math.Sqrt(mean)*r.NormFloat64())
		}
		return s
	}
	errorOf := func(c forecast.Config) (sum float64, found int) {
		s := state(t, c)
		var f *forecast.Forecast
		for i := range 4 * period {
			in := interval(i)
			if i >= 3*period {
				for k, c := range f.Statistics.Cost {
					sum += math.Abs(c - in.Cost[k])
				}
			}
			f = observe(t, s, in)
		}
		found, _ = s.Period()
		return sum, found
	}
	plain, _ := errorOf(forecast.Config{Method: forecast.EWMA, Alpha: 0.5})
	for _, given := range []int{0, period} {
		sum, found := errorOf(forecast.Config{Method: forecast.Seasonal, Alpha: 0.5, Period: given})
		if found != period || sum > plain/3 {
			t.Errorf("given %d: found %d, errors %v of %v without", given, found, sum, plain)
		}
	}
	s := state(t, forecast.Config{Method: forecast.Seasonal})
	for _, in := range stream(5, 200, 40) {
		observe(t, s, in)
	}
	if p, w := s.Period(); p != 0 {
		t.Errorf("noise has a season of %d with weight %v", p, w)
	}
}

// Combined is nearly as good as the best of its averages whatever a stream does, keeps a season that
// helps, and leaves one that does not.
func TestCombined(t *testing.T) {
	const keys, intervals = 60, 60
	for name, mean := range map[string]func(k, i int) float64{
		"noise":  func(k, _ int) float64 { return 1000 / float64(k+3) },
		"drift":  func(k, i int) float64 { return 1e5 * math.Exp(2*math.Sin(float64(i)/9+float64(k))) },
		"season": func(k, i int) float64 { return 1e4 * (1.2 + math.Sin(2*math.Pi*(float64(i)/11+float64(k)/keys))) },
		"phases": func(k, i int) float64 { return 1e5 / float64((k+i/13*20)%keys+3) },
	} {
		r := rand.New(rand.NewPCG(8, 0))
		var stream []*planner.Statistics
		for i := range intervals {
			s := &planner.Statistics{Keys: planner.NewKeys(0)}
			for k := range keys {
				s.Keys.Append(fmt.Appendf(nil, "key %d", k))
				m := mean(k, i)
				s.Cost = append(s.Cost, max(0, m+math.Sqrt(m)*r.NormFloat64()))
			}
			stream = append(stream, s)
		}
		errorOf := func(c forecast.Config) (sum float64) {
			s := state(t, c)
			for i, in := range stream {
				if f := observe(t, s, in); 15 < i && i < intervals-1 {
					all, next := totalOf(in), totalOf(stream[i+1])
					square := 0.0
					for k, c := range f.Statistics.Cost {
						square += (c/all - stream[i+1].Cost[k]/next) * (c/all - stream[i+1].Cost[k]/next)
					}
					sum += math.Sqrt(square)
				}
			}
			return sum
		}
		best := math.Inf(1)
		for _, alpha := range []float64{1, 0.5, 0.25, 0.1} {
			best = min(best, errorOf(forecast.Config{Method: forecast.EWMA, Alpha: alpha}))
		}
		got, most := errorOf(forecast.Config{Method: forecast.Combined}), 1.05
		if name == "season" || name == "drift" {
			most = 0.7 // what came a while ago comes again
		}
		if got > most*best {
			t.Errorf("%s: errors %v, %v of the best average", name, got, got/best)
		}
	}
}

func totalOf(s *planner.Statistics) (all float64) {
	for _, c := range s.Cost {
		all += c
	}
	return all
}

// Method level follows keys that change more than their noise, and averages the others.
func TestLevel(t *testing.T) {
	const great, small = 10, 400
	r := rand.New(rand.NewPCG(6, 0))
	level := state(t, forecast.Config{Method: forecast.Level})
	last := state(t, forecast.Config{Method: forecast.Last})
	slow := state(t, forecast.Config{Method: forecast.EWMA, Alpha: 0.1})
	errors := map[*forecast.State]*[2]float64{level: {}, last: {}, slow: {}}
	mean := make([]float64, great+small)
	for i := range 80 {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for k := range mean {
			switch {
			case i > 0:
				mean[k] *= math.Exp(0.05 * r.NormFloat64())
			case k < great:
				mean[k] = 3000
			default:
				mean[k] = 20
			}
			s.Keys.Append(fmt.Appendf(nil, "key %d", k))
			s.Cost = append(s.Cost, max(0, mean[k]+math.Sqrt(mean[k])*r.NormFloat64()))
		}
		for m, sums := range errors {
			for k, c := range observe(t, m, s).Statistics.Cost {
				if i >= 20 {
					sums[min(1, k/great)] += (c - mean[k]) * (c - mean[k])
				}
			}
		}
	}
	if got, than := errors[level][1], errors[last][1]; got > 0.65*than {
		t.Errorf("small keys: errors %v, of the last interval %v", got, than)
	}
	if got, than := errors[level][0], errors[slow][0]; got > 0.5*than {
		t.Errorf("great keys: errors %v, of a slow average %v", got, than)
	}
}

// The floor of independent messages is that of σ² = 1/n for n messages on an instance.
func TestFloor(t *testing.T) {
	const messages, keys = 200000, 1000
	r := rand.New(rand.NewPCG(7, 0))
	s := state(t, forecast.Config{Method: forecast.EWMA, Alpha: 0.05})
	for range 25 {
		in := &planner.Statistics{Keys: planner.NewKeys(0), Cost: make([]float64, keys)}
		for k := range keys {
			in.Keys.Append(fmt.Appendf(nil, "key %d", k))
		}
		for range messages {
			in.Cost[r.IntN(keys)]++
		}
		observe(t, s, in)
	}
	for instances, z := range map[int]float64{4: 1.00, 8: 1.39, 16: 1.72, 40: 2.12} {
		n := float64(instances)
		sigma := math.Sqrt(n / messages)
		upper := math.Sqrt(1-1/n) * math.Sqrt2 * math.Erfinv(2*math.Pow(0.95, 1/n)-1) * sigma
		floor := s.Floor(instances)
		if x := s.FloorUnder(slices.Repeat([]float64{1 / n}, instances)); math.Abs(x.Median/floor.Median-1) > 1e-9 ||
			math.Abs(x.P95/floor.P95-1) > 1e-9 {
			t.Errorf("floor of %d instances of the same part %v, want %v", instances, x, floor)
		}
		if math.Abs(floor.Median/(z*sigma)-1.05) > 0.07 || math.Abs(floor.P95/upper-1.05) > 0.07 {
			t.Errorf("%d instances: %+v, want about %v and %v", instances, floor, z*sigma, upper)
		}
	}
	if s.Floor(1) != nil {
		t.Error("one instance has a floor")
	}
}

// Predictions of noise come true as often as they say.
func TestPredict(t *testing.T) {
	const instances, thetaMax = 8, 0.06
	within, judged, probability, broken := 0, 0, 0.0, 0.0
	for seed := range uint64(12) {
		s := state(t, forecast.Config{Method: forecast.EWMA, Alpha: 0.2})
		var p *forecast.Prediction
		for _, in := range stream(20+seed, 3000, 30) {
			if p != nil {
				now := &forecast.Forecast{Statistics: in}
				loads := snapshot(t, now, instances)
				inspected, err := planner.Inspect(loads, planner.Options{})
				if err != nil {
					t.Fatal(err)
				}
				theta := inspected.Theta.Before
				judged++
				probability += p.Probability
				if theta <= p.P95 {
					within++
				}
				if theta > thetaMax {
					broken++
				}
			}
			f := observe(t, s, in)
			sn := snapshot(t, f, instances)
			p = f.Predict(sn, sn.Current, nil, thetaMax)
		}
	}
	n := float64(judged)
	if part := float64(within) / n; part < 0.88 || part > 0.98 {
		t.Errorf("%v of %d within the p95", part, judged)
	}
	if math.Abs(probability-broken)/n > 0.05 {
		t.Errorf("θ_max broken in %v, expected in %v", broken/n, probability/n)
	}
}

// TestPredictNewKeys: what new keys gain others lose, wherever they are, so loads do not
// all grow or shrink together.
func TestPredictNewKeys(t *testing.T) {
	const keys, instances = 400, 3
	r := rand.New(rand.NewPCG(1, 9))
	s := state(t, forecast.Config{Method: forecast.EWMA, Alpha: 0.2})
	var expected, realised []float64
	for i := range 200 {
		in := &planner.Statistics{Keys: planner.NewKeys(keys)}
		for k := range keys {
			if k >= keys/10 { // all others were never seen before
				k += i * keys
			}
			in.Keys.Append(fmt.Append(nil, "key ", k))
			in.Cost = append(in.Cost, r.ExpFloat64())
		}
		inspected, err := planner.Inspect(snapshot(t, &forecast.Forecast{Statistics: in}, instances), planner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := observe(t, s, in)
		sn := snapshot(t, f, instances)
		if p := f.Predict(sn, sn.Current, nil, 0.1); p != nil {
			expected, realised = append(expected, p.Median), append(realised, inspected.Theta.Before)
		}
	}
	slices.Sort(expected)
	slices.Sort(realised)
	n := len(realised) / 2
	if expected[n] < 0.8*realised[n] || expected[n] > 1.25*realised[n] {
		t.Errorf("a median of %v is expected, and %v came", expected[n], realised[n])
	}
}

// A first interval may have columns and no keys.
func TestEmptyIntervals(t *testing.T) {
	s, err := forecast.New(forecast.Config{Method: forecast.EWMA, Alpha: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	for i, keys := range [][]string{nil, {"a", "b"}, {"b"}, {"c", "a"}} {
		n := len(keys)
		in := &planner.Statistics{Keys: planner.KeysOf(keys...), Cost: slices.Repeat([]float64{1}, n),
			State: slices.Repeat([]float64{2}, n), HashInstance: slices.Repeat([]int32{0}, n)}
		f, err := s.Observe(in)
		if err != nil {
			t.Fatal(err)
		}
		for row, v := range f.Statistics.State {
			if v != 2 || f.Statistics.HashInstance[row] != 0 {
				t.Errorf("interval %d: row %d has state %v at %d", i, row, v, f.Statistics.HashInstance[row])
			}
		}
	}
}

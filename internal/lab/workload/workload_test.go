package workload

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

func mustNew(t testing.TB, c Config) *Generator {
	t.Helper()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustNext(t testing.TB, g *Generator, current []int32) *planner.Statistics {
	t.Helper()
	s, err := g.Next(current)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// roundRobin puts key k on instance k mod n.
func roundRobin(keys, n int) []int32 {
	out := make([]int32, keys)
	for k := range out {
		out[k] = int32(k % n)
	}
	return out
}

func loads(cost []float64, current []int32, n int) []float64 {
	out := make([]float64, n)
	for k, c := range cost {
		out[current[k]] += c
	}
	return out
}

// fluctuation is max_d |L_i(d) − L_{i−1}(d)| / L̄ as the paper writes it.
func fluctuation(before, after []float64, current []int32, n int) float64 {
	was, is := loads(before, current, n), loads(after, current, n)
	most, total := 0.0, 0.0
	for d := range is {
		most = max(most, math.Abs(is[d]-was[d]))
		total += is[d]
	}
	return most / (total / float64(n))
}

func TestFluctuationIsReachedAndNotExceededByASwap(t *testing.T) {
	for _, c := range []Config{
		{Keys: 2000, Instances: 5, Z: 0.85, Fluctuation: 1, Seed: 1},
		{Keys: 2000, Instances: 15, Z: 0.85, Fluctuation: 1, Seed: 2},
		{Keys: 2000, Instances: 15, Z: 0.85, Fluctuation: 2, Seed: 3},
		{Keys: 2000, Instances: 5, Z: 0.5, Fluctuation: 0.1, Seed: 4},
		{Keys: 500, Instances: 2, Z: 1.2, Fluctuation: 0.5, Seed: 5},
		{Keys: 3000, Instances: 10, Distribution: LogNormal, Fluctuation: 0.3, Seed: 6},
		{Keys: 1000, Instances: 5, Z: 0.85, Fluctuation: 1e-9, Seed: 7},
	} {
		g := mustNew(t, c)
		current := roundRobin(c.Keys, c.Instances)
		last := mustNext(t, g, nil)
		if g.Swaps() != 0 {
			t.Errorf("%+v: %d swaps before the first interval", c, g.Swaps())
		}
		for interval := 2; interval <= 6; interval++ {
			s := mustNext(t, g, current)
			if f := fluctuation(last.Cost, s.Cost, current, c.Instances); f < c.Fluctuation*(1-1e-12) {
				t.Errorf("%+v: interval %d changes by %v", c, interval, f)
			}
			// Undo the swaps one by one: no shorter sequence of them was enough.
			undone := slices.Clone(s.Cost)
			for i := len(g.swaps) - 1; i >= 0; i-- {
				p := g.swaps[i]
				if current[p.a] == current[p.b] {
					t.Fatalf("%+v: keys %d and %d swapped on one instance", c, p.a, p.b)
				}
				undone[p.a], undone[p.b] = undone[p.b], undone[p.a]
				if f := fluctuation(last.Cost, undone, current, c.Instances); f >= c.Fluctuation {
					t.Fatalf("%+v: interval %d was reached after %d of %d swaps", c, interval, i, len(g.swaps))
				}
			}
			if !slices.Equal(undone, last.Cost) {
				t.Errorf("%+v: interval %d differs by more than its swaps", c, interval)
			}
			last = s
			for k := range current { // a plan that moves every key
				current[k] = (current[k] + int32(interval)) % int32(c.Instances)
			}
		}
	}
}

// Whether a fluctuation can be reached must agree with trying every permutation
// of the frequencies.
func TestReachableAgreesWithBruteForce(t *testing.T) {
	reachable, unreachable := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Keys:        rapid.IntRange(1, 6).Draw(t, "keys"),
			Instances:   rapid.IntRange(1, 3).Draw(t, "instances"),
			Z:           rapid.SampledFrom([]float64{0, 0.3, 1, 2}).Draw(t, "z"),
			Tuples:      rapid.Int64Range(1, 20).Draw(t, "tuples"),
			Fluctuation: rapid.SampledFrom([]float64{0.05, 0.2, 0.5, 0.8, 1, 1.3, 2}).Draw(t, "f"),
			Seed:        rapid.Uint64Range(0, 100).Draw(t, "seed"),
		}
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := g.Next(nil)
		current := rapid.SliceOfN(rapid.Int32Range(0, int32(c.Instances)-1), c.Keys, c.Keys).Draw(t, "current")
		possible := false
		permute(slices.Clone(first.Cost), 0, func(cost []float64) {
			was, is := loads(first.Cost, current, c.Instances), loads(cost, current, c.Instances)
			for d := range is {
				possible = possible || math.Abs(is[d]-was[d]) >= c.Fluctuation*float64(c.Tuples)/float64(c.Instances)
			}
		})
		s, err := g.Next(current)
		switch {
		case possible && err != nil:
			t.Fatalf("it can be reached: %v", err)
		case possible && fluctuation(first.Cost, s.Cost, current, c.Instances) < c.Fluctuation*(1-1e-12):
			t.Fatal("it was not reached")
		case !possible && !errors.Is(err, ErrUnreachable):
			t.Fatalf("it cannot be reached: %v", err)
		case possible:
			reachable++
		default:
			unreachable++
		}
	})
	if reachable < 10 || unreachable < 10 {
		t.Errorf("%d reachable and %d unreachable cases: too few of one", reachable, unreachable)
	}
}

// permute calls visit with every permutation of x[i:] behind x[:i].
func permute(x []float64, i int, visit func([]float64)) {
	if i == len(x) {
		visit(x)
		return
	}
	for j := i; j < len(x); j++ {
		x[i], x[j] = x[j], x[i]
		permute(x, i+1, visit)
		x[i], x[j] = x[j], x[i]
	}
}

// A fluctuation that only the very best arrangement reaches takes the ordered
// swaps: random ones would not find it.
func TestGreatestPossibleFluctuation(t *testing.T) {
	c := Config{Keys: 400, Instances: 4, Z: 1, Tuples: 100_000}
	g := mustNew(t, c)
	current := roundRobin(c.Keys, c.Instances)
	first := mustNext(t, g, nil)
	was := loads(first.Cost, current, c.Instances)
	top := slices.Clone(first.Cost)
	slices.Sort(top)
	most := 0.0
	for _, f := range top[len(top)-c.Keys/c.Instances:] {
		most += f
	}
	// One that is just above what the emptiest instance can gain, and that.
	g.config.Fluctuation = 1.001 * (most - slices.Min(was)) / (float64(c.Tuples) / float64(c.Instances))
	if _, err := g.Next(current); !errors.Is(err, ErrUnreachable) {
		t.Errorf("more than possible: %v", err)
	}
	g.config.Fluctuation /= 1.001
	s := mustNext(t, g, current)
	if f := fluctuation(first.Cost, s.Cost, current, c.Instances); math.Abs(f-g.config.Fluctuation) > 1e-9 {
		t.Errorf("fluctuation %v, want %v", f, g.config.Fluctuation)
	}
}

func TestUnreachableUsesUpNoInterval(t *testing.T) {
	c := Config{Keys: 1000, Instances: 4, Z: 0.85, Fluctuation: 0.5, Window: 2}
	g := mustNew(t, c)
	first := mustNext(t, g, nil)
	onOne := make([]int32, c.Keys)
	if _, err := g.Next(onOne); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("all keys on one instance: %v", err)
	}
	if g.Swaps() != 0 {
		t.Errorf("%d swaps", g.Swaps())
	}
	s := mustNext(t, g, roundRobin(c.Keys, c.Instances))
	for k := range s.State {
		if s.State[k] != first.Cost[k]+s.Cost[k] {
			t.Fatalf("key %d: state %v after costs %v and %v", k, s.State[k], first.Cost[k], s.Cost[k])
		}
	}
	equal := mustNew(t, Config{Keys: 100, Instances: 4, Fluctuation: 0.01})
	mustNext(t, equal, nil)
	if _, err := equal.Next(roundRobin(100, 4)); !errors.Is(err, ErrUnreachable) {
		t.Errorf("equal frequencies: %v", err)
	}
}

func TestTuplesAreConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Keys:         rapid.IntRange(1, 300).Draw(t, "keys"),
			Instances:    rapid.IntRange(1, 10).Draw(t, "instances"),
			Distribution: rapid.SampledFrom([]string{Zipf, LogNormal}).Draw(t, "distribution"),
			Tuples:       rapid.Int64Range(1, math.MaxUint32).Draw(t, "tuples"),
			Fluctuation:  rapid.Float64Range(0, 2).Draw(t, "f"),
			Seed:         rapid.Uint64().Draw(t, "seed"),
		}
		if c.Distribution == Zipf {
			c.Z = rapid.Float64Range(0, 3).Draw(t, "z")
		}
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		var sorted []float64
		for range 3 {
			s, err := g.Next(roundRobin(c.Keys, c.Instances))
			if errors.Is(err, ErrUnreachable) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			total := 0.0
			for _, x := range s.Cost {
				total += x
			}
			if total != float64(c.Tuples) {
				t.Fatalf("%v tuples, want %d", total, c.Tuples)
			}
			slices.Sort(s.Cost)
			if sorted != nil && !slices.Equal(sorted, s.Cost) {
				t.Fatal("the frequencies are others, not only elsewhere")
			}
			sorted = s.Cost
		}
	})
}

func TestStateIsThatOfTheWindow(t *testing.T) {
	for _, window := range []int{1, 2, 5} {
		c := Config{Keys: 300, Instances: 4, Z: 0.85, Fluctuation: 0.7, Window: window, BytesPerTuple: 24}
		g := mustNew(t, c)
		current := roundRobin(c.Keys, c.Instances)
		var costs [][]float64
		for range 9 {
			s := mustNext(t, g, current)
			costs = append(costs, s.Cost)
			for k := range s.State {
				want := 0.0
				for _, cost := range costs[max(0, len(costs)-window):] {
					want += 24 * cost[k]
				}
				if s.State[k] != want {
					t.Fatalf("window %d, interval %d, key %d: state %v, want %v", window, len(costs), k, s.State[k], want)
				}
			}
		}
	}
}

func TestReproducible(t *testing.T) {
	run := func(seed uint64) (out [][]float64) {
		c := Config{Keys: 1000, Instances: 4, Z: 0.85, Fluctuation: 0.7, Seed: seed}
		g := mustNew(t, c)
		for range 4 {
			s := mustNext(t, g, roundRobin(c.Keys, c.Instances))
			out = append(out, s.Cost, s.State)
		}
		return out
	}
	if !reflect.DeepEqual(run(1), run(1)) {
		t.Error("the same seed gives another workload")
	}
	if reflect.DeepEqual(run(1)[0], run(2)[0]) {
		t.Error("another seed gives the same first interval")
	}
}

func TestIntervalsShareNothingButKeys(t *testing.T) {
	g := mustNew(t, Config{Keys: 10, Instances: 2, Z: 1})
	s := mustNext(t, g, nil)
	want := slices.Clone(s.Cost)
	clear(s.Cost)
	clear(s.State)
	if got := mustNext(t, g, nil); !slices.Equal(got.Cost, want) || got.Keys != s.Keys {
		t.Errorf("cost %v, want %v", got.Cost, want)
	}
}

func TestKeyNames(t *testing.T) {
	for n, want := range map[int][2]string{1: {"k0", "k0"}, 10: {"k0", "k9"}, 11: {"k00", "k10"}, 1000: {"k000", "k999"}} {
		keys := mustNew(t, Config{Keys: n, Instances: 1}).Keys()
		if first, last := string(keys.At(0)), string(keys.At(n-1)); keys.Len() != n || first != want[0] || last != want[1] {
			t.Errorf("%d keys: %d from %s to %s, want %v", n, keys.Len(), first, last, want)
		}
	}
}

func TestNameDoesNotTellRank(t *testing.T) {
	const keys = 1000
	var sum float64
	for seed := range uint64(200) {
		s := mustNext(t, mustNew(t, Config{Keys: keys, Instances: 1, Z: 1, Seed: seed}), nil)
		sum += float64(slices.Index(s.Cost, slices.Max(s.Cost)))
	}
	// The mean of 200 uniform draws of 0…999 has a standard deviation of 20.
	if mean := sum / 200; math.Abs(mean-(keys-1)/2.0) > 80 {
		t.Errorf("the top key is number %v on average", mean)
	}
}

func TestAssign(t *testing.T) {
	h, err := partitioner.New(partitioner.Config{Function: partitioner.Modulo},
		[]partitioner.Instance{{ID: 0}, {ID: 1}, {ID: 2}})
	if err != nil {
		t.Fatal(err)
	}
	g := mustNew(t, Config{Keys: 50, Instances: 3})
	current, err := g.Assign(h)
	if err != nil {
		t.Fatal(err)
	}
	for k, d := range current {
		if want := int32(g.Keys().Hash(k) % 3); d != want {
			t.Errorf("key %d on %d, want %d", k, d, want)
		}
	}
	numbers, err := partitioner.New(partitioner.Config{Function: partitioner.Flink, KeyType: partitioner.Int},
		[]partitioner.Instance{{ID: 0}})
	if err != nil {
		t.Fatal(err)
	}
	var input *planner.InputError
	if _, err := g.Assign(numbers); !errors.As(err, &input) || input.Row != 0 {
		t.Errorf("a function that cannot place these keys: %v", err)
	}
}

func TestNextChecksTheAssignment(t *testing.T) {
	g := mustNew(t, Config{Keys: 10, Instances: 2, Z: 1, Fluctuation: 0.1})
	mustNext(t, g, nil)
	for _, current := range [][]int32{nil, make([]int32, 9), {0, 1, 0, 1, 2, 0, 1, 0, 1, 0},
		{0, 1, 0, 1, -1, 0, 1, 0, 1, 0}} {
		var input *planner.InputError
		if _, err := g.Next(current); !errors.As(err, &input) || input.Field != "current" {
			t.Errorf("%v: %v", current, err)
		}
	}
}

func TestNewNamesTheFaultyField(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		config Config
		field  string
	}{
		{Config{Instances: 1}, "keys"},
		{Config{Keys: -1, Instances: 1}, "keys"},
		{Config{Keys: 1}, "instances"},
		{Config{Keys: 1, Instances: 1, Distribution: "uniform"}, "distribution"},
		{Config{Keys: 1, Instances: 1, Z: -1}, "z"},
		{Config{Keys: 1, Instances: 1, Z: nan}, "z"},
		{Config{Keys: 1, Instances: 1, Distribution: LogNormal, Z: 1}, "z"},
		{Config{Keys: 1, Instances: 1, Sigma: 1}, "mu"},
		{Config{Keys: 1, Instances: 1, Distribution: LogNormal, Mu: inf, Sigma: 1}, "mu"},
		{Config{Keys: 1, Instances: 1, Distribution: LogNormal, Mu: 1000, Sigma: 1}, "mu"},
		{Config{Keys: 1, Instances: 1, Distribution: LogNormal, Mu: 1}, "sigma"},
		{Config{Keys: 1, Instances: 1, Distribution: LogNormal, Sigma: -1}, "sigma"},
		{Config{Keys: 1, Instances: 1, Tuples: -1}, "tuples"},
		{Config{Keys: 1, Instances: 1, Tuples: math.MaxUint32 + 1}, "tuples"},
		{Config{Keys: 1, Instances: 1, Fluctuation: -0.1}, "fluctuation"},
		{Config{Keys: 1, Instances: 1, Fluctuation: inf}, "fluctuation"},
		{Config{Keys: 1, Instances: 1, Window: -1}, "window"},
		{Config{Keys: 1, Instances: 1, BytesPerTuple: -1}, "bytes_per_tuple"},
		{Config{Keys: 1, Instances: 1, BytesPerTuple: nan}, "bytes_per_tuple"},
	} {
		var input *planner.InputError
		if _, err := New(c.config); !errors.As(err, &input) || input.Field != c.field {
			t.Errorf("%+v: %v, want an error of %s", c.config, err, c.field)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.Run("keys=1e6", func(b *testing.B) {
		for b.Loop() {
			mustNew(b, Config{Keys: 1e6, Instances: 40, Z: DefaultZ})
		}
	})
}

// One operation is one interval after the first, under a ring of 128 tokens.
func BenchmarkNext(b *testing.B) {
	for _, keys := range []int{1e4, 1e6} {
		b.Run("keys="+strconv.Itoa(keys)+"/instances=40", func(b *testing.B) {
			g := mustNew(b, Config{Keys: keys, Instances: 40, Z: DefaultZ, Fluctuation: DefaultFluctuation})
			instances := make([]partitioner.Instance, 40)
			for i := range instances {
				instances[i].ID = int32(i)
			}
			h, err := partitioner.New(partitioner.Config{}, instances)
			if err != nil {
				b.Fatal(err)
			}
			current, err := g.Assign(h)
			if err != nil {
				b.Fatal(err)
			}
			mustNext(b, g, nil)
			swaps, intervals := 0, 0
			for b.Loop() {
				mustNext(b, g, current)
				swaps += g.Swaps()
				intervals++
			}
			b.ReportMetric(float64(swaps)/float64(intervals), "swaps/op")
		})
	}
}

package schemes

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/ring"
)

// zipf returns keys with whole frequencies and states.
func zipf(n int, z float64, seed uint64) *planner.Statistics {
	r := rand.New(rand.NewPCG(seed, 1))
	l := &planner.Statistics{Keys: planner.NewKeys(n)}
	for i := range n {
		l.Keys.Append([]byte("key-" + strconv.Itoa(int(r.Uint32()%1e6)) + "-" + strconv.Itoa(i)))
		l.Cost = append(l.Cost, math.Ceil(1000/math.Pow(float64(i+1), z)))
		l.State = append(l.State, float64(r.IntN(50)))
	}
	return l
}

// streamOf makes a stream of whole frequencies.
func streamOf(t *testing.T, l *planner.Statistics, seed uint64) *grouping.Stream {
	t.Helper()
	count, err := grouping.Weights(l.Cost)
	if err != nil {
		t.Fatal(err)
	}
	s, err := grouping.Generate(grouping.Frequencies{Keys: l.Keys, Count: count, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func equal(n int) []planner.Instance {
	out := make([]planner.Instance, n)
	for i := range out {
		out[i] = planner.Instance{ID: int32(i), Capacity: 1}
	}
	return out
}

func compare(t *testing.T, l *planner.Statistics, o Options) *Comparison {
	t.Helper()
	c, err := Compare(l, streamOf(t, l, o.Seed), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// naive measures a placement by plain sums.
func naive(l *planner.Statistics, base, place func(key []byte) int32, instances []planner.Instance) (theta,
	moved float64, keys int64) {
	loads, sum, capacities := map[int32]float64{}, 0.0, 0.0
	for k := range l.Cost {
		key := l.Keys.At(k)
		loads[place(key)] += l.Cost[k]
		sum += l.Cost[k]
		if place(key) != base(key) {
			moved += l.State[k]
			keys++
		}
	}
	for _, x := range instances {
		capacities += x.Capacity
	}
	for _, x := range instances {
		theta = max(theta, loads[x.ID]/(sum*x.Capacity/capacities)-1)
	}
	return theta, moved, keys
}

// The plain hashes are what a naive count says.
func TestPlainHash(t *testing.T) {
	for _, instances := range [][]planner.Instance{equal(7),
		{{ID: 2, Capacity: 1}, {ID: 5, Capacity: 2.5}, {ID: 40, Capacity: 0.5}}} {
		nodes := []ring.Node{}
		for _, x := range instances {
			nodes = append(nodes, ring.Node{ID: x.ID, Tokens: 32})
		}
		onRing := ring.New(nodes).Lookup
		modulo := func(key []byte) int32 { return instances[planner.KeyHash(key)%uint64(len(instances))].ID }
		for base, at := range map[Scheme]func([]byte) int32{HashRing: onRing, HashModulo: modulo} {
			l := zipf(500, 0.9, 3)
			c := compare(t, l, Options{Instances: instances, ThetaMax: 0.1, Hash: base, TokensPerInstance: 32, Seeds: 1})
			for s, place := range map[Scheme]func([]byte) int32{HashRing: onRing, HashModulo: modulo} {
				f := c.Of(s)
				theta, moved, keys := naive(l, at, place, instances)
				if math.Abs(f.Theta-theta) > 1e-9 || f.State != moved || f.KeysMoved != keys || !f.Whole || f.Pairs != 500 {
					t.Errorf("%s from %s: %+v, want θ %v, state %v, keys %d", s, base, f, theta, moved, keys)
				}
				if f.Balanced != (theta <= 0.1) {
					t.Errorf("%s: θ %v, balanced %v", s, theta, f.Balanced)
				}
			}
		}
	}
}

// Routing tables are measured as their plans say.
func TestTablesAgreeWithPlans(t *testing.T) {
	l, limit := zipf(800, 1, 4), int64(9)
	for _, o := range []Options{
		{Instances: equal(6), ThetaMax: 0.05},
		{Instances: equal(6), ThetaMax: 0.05, Hash: HashModulo},
		{Instances: equal(6), ThetaMax: 0.01, TableLimit: &limit},
		{Instances: []planner.Instance{{ID: 1, Capacity: 1}, {ID: 3, Capacity: 3}}, ThetaMax: 0.02},
	} {
		o.Seeds = 1
		c := compare(t, l, o)
		ledger := newLedger(l, o.withDefaults())
		snapshot, err := ledger.plainHash(&Comparison{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Scheme{Mixed, Optimal} {
			p, err := planner.Run(string(s), snapshot, planner.Options{ThetaMax: o.ThetaMax, TableLimit: o.TableLimit})
			if err != nil {
				t.Fatal(err)
			}
			f := c.Of(s)
			if math.Abs(f.Theta-p.Theta.After) > 1e-9 || f.State != p.Migration.State || f.KeysMoved != p.Migration.Keys ||
				f.TableEntries != p.TableAfter || f.Balanced != p.Balanced || f.WithinLimit != p.TableWithinLimit ||
				math.Abs(f.Fraction-p.Migration.Fraction) > 1e-12 {
				t.Errorf("%s: %+v, but the plan has θ %v, %+v, table %d", s, f, p.Theta.After, p.Migration, p.TableAfter)
			}
		}
		if a, b := c.Of(Optimal), c.Of(Mixed); a.Balanced && b.Balanced && b.WithinLimit && a.State > b.State {
			t.Errorf("optimal moves %v, mixed %v", a.State, b.State)
		}
	}
}

// A key that is too costly for any instance is split over as few as can be.
func TestSplitIsMeasured(t *testing.T) {
	l := zipf(800, 1.6, 4)
	c := compare(t, l, Options{Instances: equal(6), ThetaMax: 0.05, Seeds: 1})
	f, whole, pkg := c.Of(Split), c.Of(Optimal), c.Of(PKG)
	switch {
	case f.Whole || !f.Balanced || whole.Balanced:
		t.Errorf("%+v, and without splitting %+v", f, whole)
	case f.Pairs <= 800 || f.Pairs > 806 || f.Aggregation < 2 || f.Aggregation > pkg.Aggregation/10:
		t.Errorf("%d pairs, %v messages to merge, under pkg %v", f.Pairs, f.Aggregation, pkg.Aggregation)
	case math.Abs(f.Imbalance-f.Theta/6) > 1e-9:
		t.Errorf("imbalance %v, θ %v", f.Imbalance, f.Theta)
	}
	if p := c.Of(SplitPriced); !p.Balanced || p.State >= f.State || p.Aggregation <= f.Aggregation ||
		p.Aggregation > pkg.Aggregation/10 {
		t.Errorf("with a price of merges %+v, without %+v", p, f)
	}
	if f := compare(t, zipf(800, 0.5, 4), Options{Instances: equal(6), ThetaMax: 0.05, Seeds: 1}).Of(Split); !f.Whole ||
		f.Pairs != 800 || f.Aggregation != 0 {
		t.Errorf("nothing to split: %+v", f)
	}
}

// The ring's redistribution is no worse than any one of its methods.
func TestRingTakesTheBest(t *testing.T) {
	l := zipf(400, 0.7, 5)
	o := Options{Instances: equal(5), ThetaMax: 0.1, TokensPerInstance: 16, Seeds: 1, MaxRounds: 4}
	f := compare(t, l, o).Of(Ring)
	for _, method := range []ring.Method{ring.Halving, ring.Doubling, ring.Fitted} {
		p, err := ring.Rebalance(o.members(), l, ring.RebalanceOptions{
			ThetaMax: o.ThetaMax, Method: method, MaxRounds: 4, MaxStates: maxStates,
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(method) == f.Method {
			if math.Abs(f.Theta-p.Effect.Theta.After) > 1e-9 || f.State != p.Effect.State ||
				f.KeysMoved != int64(len(p.Effect.Moves)) {
				t.Errorf("%s: %+v, but the plan has θ %v and moves %v", method, f, p.Effect.Theta.After, p.Effect.State)
			}
			continue
		}
		if p.Balanced && (!f.Balanced || p.Effect.State < f.State) || !f.Balanced && p.Effect.Theta.After < f.Theta-1e-9 {
			t.Errorf("%s is better than the chosen %+v: θ %v, state %v", method, f, p.Effect.Theta.After, p.Effect.State)
		}
	}
}

// PKG takes the fewest choices that balance, judged by the median of its seeds.
func TestPKG(t *testing.T) {
	l := zipf(300, 1.4, 6) // the top key has more than two instances' fair share
	o := Options{Instances: equal(10), ThetaMax: 0.05, Seeds: 3, Seed: 11}
	f := compare(t, l, o).Of(PKG)
	median := func(d int) (theta float64, pairs int64) {
		type outcome struct {
			theta float64
			pairs int64
		}
		var runs []outcome
		for r := range 3 {
			x, err := grouping.Run(streamOf(t, l, 11+uint64(r)),
				grouping.Options{Scheme: grouping.PKG, Workers: 10, Choices: d, Distinct: true, HashSeed: uint32(r) << 16})
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, outcome{x.Imbalance * 10, x.Memory.Pairs})
		}
		slices.SortFunc(runs, func(a, b outcome) int { return int(math.Copysign(1, a.theta-b.theta)) })
		return runs[1].theta, runs[1].pairs
	}
	theta, pairs := median(f.Choices)
	if f.Choices < 3 || !f.Balanced || math.Abs(f.Theta-theta) > 1e-9 || f.Pairs != pairs || f.Whole ||
		f.Aggregation != float64(pairs) || f.State != 0 {
		t.Errorf("%+v, want θ %v and %d pairs", f, theta, pairs)
	}
	if less, _ := median(f.Choices - 1); less <= 0.05 {
		t.Errorf("%d choices balance as well: θ %v", f.Choices-1, less)
	}
	if f.Seeds.Least > f.Theta || f.Seeds.Median != f.Theta || f.Seeds.Greatest < f.Theta {
		t.Errorf("seeds %+v around %v", f.Seeds, f.Theta)
	}
	o.MaxChoices = 2
	if f := compare(t, l, o).Of(PKG); f.Balanced || f.Choices != 2 {
		t.Errorf("with two choices: %+v", f)
	}
}

// The fewest choices that balance are found however many it takes.
func TestManyChoices(t *testing.T) {
	l := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{10_000, 10_000}}
	f := compare(t, l, Options{Instances: equal(40), ThetaMax: 0.5, Seeds: 3}).Of(PKG)
	if !f.Balanced || f.Choices < 14 || f.Choices > 20 { // 40 instances, 27 of which have to share
		t.Errorf("%+v", f)
	}
}

// No scheme that keeps keys whole beats what the costliest key forces.
func TestLeastTheta(t *testing.T) {
	for seed := range uint64(8) {
		l := zipf(60, 1.2, seed)
		c := compare(t, l, Options{Instances: equal(2 + int(seed%8)), ThetaMax: 0.03, Seeds: 1})
		for _, f := range c.Figures {
			if f.Whole && f.Theta < c.LeastTheta-1e-9 {
				t.Errorf("seed %d: %s has θ %v, below %v", seed, f.Scheme, f.Theta, c.LeastTheta)
			}
		}
		if r := c.Recommendation; c.Of(r.Scheme) == nil || r.Reason == "" {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
}

// The order of the rows does not matter where there is no order.
func TestRowOrder(t *testing.T) {
	l := zipf(400, 0.9, 8)
	for i := range l.Cost {
		l.Cost[i] *= 1.1 // sums depend on their order now
	}
	o := Options{Instances: equal(6), ThetaMax: 0.05, Seeds: 1}
	stream := streamOf(t, zipf(400, 0.9, 8), 0)
	want, err := Compare(l, stream, o)
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(400)
	turned := &planner.Statistics{Keys: planner.NewKeys(400)}
	for _, i := range order {
		turned.Keys.Append(l.Keys.At(i))
		turned.Cost, turned.State = append(turned.Cost, l.Cost[i]), append(turned.State, l.State[i])
	}
	got, err := Compare(turned, stream, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Figures, got.Figures); diff != "" {
		t.Errorf("the order of the rows changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Recommendation, got.Recommendation); diff != "" {
		t.Error(diff)
	}
}

func TestSmallCases(t *testing.T) {
	one := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{3}}
	c := compare(t, one, Options{Instances: equal(1)})
	for _, f := range c.Figures {
		if f.Theta != 0 || !f.Balanced || f.State != 0 || f.Pairs != 1 || !f.Whole {
			t.Errorf("one key on one instance: %+v", f)
		}
	}
	c = compare(t, one, Options{Instances: equal(4), Whole: true})
	if c.LeastTheta != 3 || c.P1 != 1 || c.Recommendation.Scheme != HashRing || c.Recommendation.Rule != RuleClosest {
		t.Errorf("one key on four instances: %+v", c)
	}
}

func TestStop(t *testing.T) {
	l := zipf(200, 1, 1)
	stream := streamOf(t, l, 0)
	calls := 0
	var seen []Scheme
	o := Options{Instances: equal(4), Progress: func(s Scheme, done, total int64) {
		if done > total || total < 1 {
			t.Errorf("%s: %d of %d", s, done, total)
		}
		if len(seen) == 0 || seen[len(seen)-1] != s {
			seen = append(seen, s)
		}
	}, Stop: func() bool { calls++; return false }}
	if _, err := Compare(l, stream, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Scheme{Ring, PKG, Mixed, Optimal, Split, SplitPriced, Ranges}, seen); diff != "" {
		t.Error(diff)
	}
	stops := deep.Count(4, 12)
	for i := range stops {
		after := i * calls / stops
		left := after
		o.Stop = func() bool { left--; return left < 0 }
		if _, err := Compare(l, stream, o); !errors.Is(err, planner.ErrStopped) {
			t.Fatalf("stopped at call %d of %d: %v", after, calls, err)
		}
	}
}

func TestValidate(t *testing.T) {
	negative := int64(-1)
	good := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}}
	stream := streamOf(t, good, 0)
	for field, c := range map[string]struct {
		load *planner.Statistics
		o    Options
	}{
		"Instances":             {good, Options{}},
		"Instances[0].ID":       {good, Options{Instances: []planner.Instance{{ID: -1, Capacity: 1}}}},
		"Instances[1].ID":       {good, Options{Instances: []planner.Instance{{ID: 1, Capacity: 1}, {ID: 1, Capacity: 1}}}},
		"Instances[0].Capacity": {good, Options{Instances: []planner.Instance{{}}}},
		"ThetaMax":              {good, Options{Instances: equal(2), ThetaMax: math.NaN()}},
		"Hash":                  {good, Options{Instances: equal(2), Hash: Mixed}},
		"TokensPerInstance":     {good, Options{Instances: equal(2), TokensPerInstance: -1}},
		"TableLimit":            {good, Options{Instances: equal(2), TableLimit: &negative}},
		"MaxChoices":            {good, Options{Instances: equal(2), MaxChoices: 3}},
		"Sources":               {good, Options{Instances: equal(2), Sources: -1}},
		"LoadInformation":       {good, Options{Instances: equal(2), LoadInformation: grouping.LocalProbing}},
		"AggregationPeriod":     {good, Options{Instances: equal(2), AggregationPeriod: -1}},
		"Seeds":                 {good, Options{Instances: equal(2), Seeds: MaxSeeds + 1}},
		"MaxRounds":             {good, Options{Instances: equal(2), MaxRounds: -1}},
		"MaxIntervals":          {good, Options{Instances: equal(2), MaxIntervals: -1}},
		"Keys":                  {&planner.Statistics{Keys: planner.NewKeys(0)}, Options{Instances: equal(2)}},
		"Cost": {&planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{math.Inf(1)}},
			Options{Instances: equal(2)}},
		"State": {&planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, State: []float64{-1}},
			Options{Instances: equal(2)}},
	} {
		_, err := Compare(c.load, stream, c.o)
		var input *planner.InputError
		if !errors.As(err, &input) || input.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

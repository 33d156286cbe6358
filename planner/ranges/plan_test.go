package ranges

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plannerd/planner"
)

// Quantiles by another way: every unit of weight is a record of its own, all are
// sorted, and a border is tried at each place where the key changes.
func TestQuantilesAgreeWithSortedRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		n := rapid.IntRange(1, 6).Draw(t, "followers")
		c, err := NewCDF(s.keys, s.weights)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Divide(c, nil, followersOf(n), Options{Method: Quantile})
		if err != nil {
			t.Fatal(err)
		}
		var records [][]byte
		for i, w := range s.weights {
			for range w {
				records = append(records, s.keys.At(i))
			}
		}
		slices.SortFunc(records, bytes.Compare)
		for i := range n {
			border := func(i int) int {
				best := 0
				for r := range len(records) + 1 {
					if r > 0 && r < len(records) && bytes.Equal(records[r-1], records[r]) {
						continue
					}
					if abs(r*n-i*len(records)) < abs(best*n-i*len(records)) {
						best = r
					}
				}
				return best
			}
			for _, key := range records[border(i):border(i+1)] {
				if got, _ := p.After.Find(key); got != int32(i) {
					t.Fatalf("%q belongs to %d, want %d", key, got, i)
				}
			}
		}
	})
}

func abs(x int) int { return max(x, -x) }

func TestHeavyKeysLeaveFollowersEmpty(t *testing.T) {
	s := streamOf("heavy", map[string]int64{"a": 1, "b": 7, "c": 1, "d": 1})
	p := mustPlan(t, s.cdf(t), nil, followersOf(5), Options{Method: Quantile})
	if len(p.Empty) == 0 {
		t.Fatal("a key of 70 % leaves none of five followers empty")
	}
	for _, e := range p.Empty {
		if string(e.Key) != "b" || !near(e.Share, 0.7) {
			t.Errorf("follower %d is empty because of %q, %g", e.Follower, e.Key, e.Share)
		}
	}
	if h := p.HeavyKeys; len(h) != 1 || string(h[0].Key) != "b" || !near(h[0].ForcedTheta, 2.5) {
		t.Errorf("heavy keys %+v", h)
	}
	if p.Balanced || !slices.Contains(p.Causes, planner.CauseHotKey) || p.Theta.After < 2.5-1e-9 {
		t.Errorf("balanced %v, causes %v, θ %g", p.Balanced, p.Causes, p.Theta.After)
	}
}

// The least movement in steps that are easy to follow: 60 keys, of weight 1.
func TestLeastMovementStepByStep(t *testing.T) {
	c := even(60).cdf(t)
	owners := mustPlan(t, c, nil, followersOf(3), Options{}).After
	with := func(change func(f []Follower) []Follower) []Follower { return change(followersOf(3)) }
	for _, step := range []struct {
		name      string
		followers []Follower
		o         Options
		moved     float64 // keys
		loads     []float64
	}{
		{"nothing", followersOf(3), Options{}, 0, []float64{20, 20, 20}},
		{"join", append(followersOf(3), Follower{ID: 3, Status: Joined}), Options{}, 15, []float64{15, 15, 15, 15}},
		{"join within the tolerance", append(followersOf(3), Follower{ID: 3, Status: Joined}), Options{ThetaMax: 0.5}, 15,
			[]float64{15, 15, 15, 15}},
		{"join of one that was forgotten", append(followersOf(3), Follower{ID: 3}), Options{ThetaMax: 0.2}, 6,
			[]float64{18, 18, 18, 6}},
		{"two join", append(followersOf(3), Follower{ID: 3, Status: Joined}, Follower{ID: 4, Status: Joined}), Options{}, 24,
			[]float64{12, 12, 12, 12, 12}},
		{"leave", with(func(f []Follower) []Follower { f[1].Status = Left; return f }), Options{}, 20, []float64{30, 0, 30}},
		{"leave at an end", with(func(f []Follower) []Follower { f[0].Status = Left; return f }), Options{}, 20,
			[]float64{0, 30, 30}},
		{"crash of two", with(func(f []Follower) []Follower { f[0].Status, f[2].Status = Crashed, Crashed; return f }),
			Options{}, 40, []float64{0, 60, 0}},
		{"join and leave", append(with(func(f []Follower) []Follower { f[1].Status = Left; return f }),
			Follower{ID: 3, Status: Joined}), Options{}, 20, []float64{20, 0, 20, 20}},
		{"capacities", with(func(f []Follower) []Follower { f[2].Capacity = 2; return f }), Options{}, 10,
			[]float64{15, 15, 30}},
		{"capacities within the tolerance", with(func(f []Follower) []Follower { f[2].Capacity = 2; return f }),
			Options{ThetaMax: 0.2}, 4, []float64{18, 18, 24}},
	} {
		t.Run(step.name, func(t *testing.T) {
			p := mustPlan(t, c, owners, step.followers, step.o)
			recount(t, even(60), owners, p)
			for i, want := range step.loads {
				if got := p.Loads[i].After * 60; !near(got, want) {
					t.Errorf("follower %d ends with %g keys, want %g", i, got, want)
				}
			}
			if !near(p.Moved*60, step.moved) || !near(p.LowerBound*60, step.moved) {
				t.Errorf("moves %g keys, at least %g; want %g", p.Moved*60, p.LowerBound*60, step.moved)
			}
		})
	}
}

// A crashed follower's replica sends, keeps what becomes its own, and is not there
// if it crashed too.
func TestSourcesAfterACrash(t *testing.T) {
	c := even(60).cdf(t)
	owners := mustPlan(t, c, nil, followersOf(4), Options{}).After
	f := followersOf(4)
	f[3].Status = Crashed
	p := mustPlan(t, c, owners, f, Options{})
	for _, x := range p.Transfers {
		if x.From != 3 || x.Source != 0 {
			t.Errorf("%+v: the replica of 3 is 0", x)
		}
	}
	if !near(p.Moved, 0.25) || !near(p.Sent, 1./6) || p.Lost != 0 {
		t.Errorf("moved %g, sent %g, lost %g", p.Moved, p.Sent, p.Lost)
	}
	f[0].Status = Crashed
	if p = mustPlan(t, c, owners, f, Options{}); !near(p.Lost, 0.25) {
		t.Errorf("3 and its replica are gone: lost %g", p.Lost)
	}
}

// Neither method moves anything in a division that is within the tolerance, or
// after its own plan was carried out.
func TestPlanningAgainMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		followers := drawFollowers(t, 6)
		owners, o := drawOwners(t, s, followers), drawOptions(t)
		c, err := NewCDF(s.keys, s.weights)
		if err != nil {
			t.Fatal(err)
		}
		first, err := Divide(c, owners, followers, o)
		if err != nil {
			t.Fatal(err)
		}
		var staying []Follower
		for _, f := range followers {
			if f.stays() {
				f.Status = Live
				staying = append(staying, f)
			}
		}
		second, err := Divide(c, first.After, staying, o)
		if err != nil {
			t.Fatal(err)
		}
		if (first.Balanced || o.Method == Quantile) && (len(second.Transfers) > 0 || !second.After.equal(first.After)) {
			t.Fatalf("moves %v", second.Transfers)
		}
		if second.Balanced != first.Balanced && first.Balanced {
			t.Fatal("not balanced any more")
		}
		if second.Balanced && !slices.Contains(second.Causes, planner.CauseBalanced) && len(second.Transfers) == 0 {
			t.Fatalf("causes %v", second.Causes)
		}
	})
}

// The scale of the weights, and keys that weigh nothing, make no difference.
func TestScaleMakesNoDifferenceToQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		followers := drawFollowers(t, 6)
		owners, o := drawOwners(t, s, followers), drawOptions(t)
		o.Method = Quantile
		scaled := stream{keys: planner.NewKeys(0)}
		for i, w := range s.weights {
			scaled.keys.Append(s.keys.At(i))
			scaled.keys.Append(append(bytes.Clone(s.keys.At(i)), 'a'))
			scaled.weights = append(scaled.weights, w<<20, 0)
		}
		var after [2]Owners
		for i, x := range []stream{s, scaled} {
			c, err := NewCDF(x.keys, x.weights)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Divide(c, owners, followers, o)
			if err != nil {
				t.Fatal(err)
			}
			after[i] = p.After
		}
		if !after[0].equal(after[1]) {
			t.Fatalf("%v, scaled %v", after[0], after[1])
		}
	})
}

// bruteForce tries every assignment of keys to followers that stay, however many
// intervals that makes, and returns the least weight that moves in one in which
// no follower is above its bound, and the heavy keys are where the plan put them.
func bruteForce(s stream, p *Division) (least int64, ok bool) {
	c, _ := NewCDF(s.keys, s.weights)
	n, total := c.Len(), float64(c.Total())
	load := make([]int64, len(p.Followers))
	least = math.MaxInt64
	var try func(k int, moved int64)
	try = func(k int, moved int64) {
		if moved >= least {
			return
		}
		if k == n {
			for i, l := range p.Loads {
				if p.Followers[i].stays() && float64(load[i]) > l.Bound*total*(1+1e-9)+1e-6 {
					return
				}
			}
			least, ok = moved, true
			return
		}
		heavy := slices.IndexFunc(p.HeavyKeys, func(h HeavyKey) bool { return bytes.Equal(h.Key, c.Key(k)) })
		from := findSlowly(p.Before, c.Key(k))
		for i, f := range p.Followers {
			if !f.stays() || heavy >= 0 && p.HeavyKeys[heavy].Follower != f.ID {
				continue
			}
			load[i] += c.Weight(k)
			if f.ID == from {
				try(k+1, moved)
			} else {
				try(k+1, moved+c.Weight(k))
			}
			load[i] -= c.Weight(k)
		}
	}
	try(0, 0)
	return least, ok
}

// On tiny cases: the lower bound is one, and the plan is mostly as good as any.
func TestLeastMovementAgainstBruteForce(t *testing.T) {
	feasible, balanced, optimal, excess := 0, 0, 0, 0.0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "keys")
		s := stream{keys: planner.NewKeys(n)}
		for i := range n {
			s.keys.Append([]byte{'a' + byte(i)})
			s.weights = append(s.weights, rapid.Int64Range(1, 9).Draw(t, "weight"))
		}
		followers := drawFollowers(t, 4)
		for i, f := range followers {
			if f.Status == Joined { // that a joined one has its fair share is no constraint here
				followers[i].Status = Live
			}
		}
		owners := drawOwners(t, s, followers)
		c, err := NewCDF(s.keys, s.weights)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{ThetaMax: rapid.SampledFrom([]float64{0, 0.1, 0.3, 0.6, 1}).Draw(t, "theta_max")}
		p, err := Divide(c, owners, followers, o)
		if err != nil {
			t.Fatal(err)
		}
		least, ok := bruteForce(s, p)
		if !ok {
			if p.Balanced {
				t.Fatal("balanced, though nothing can be")
			}
			return
		}
		feasible++
		total := float64(c.Total())
		if p.LowerBound*total > float64(least)+1e-6 {
			t.Fatalf("moving %d is enough; the lower bound is %g", least, p.LowerBound*total)
		}
		within := true
		for i, l := range p.Loads {
			within = within && (!followers[i].stays() || l.After <= l.Bound*(1+1e-9))
		}
		if !within {
			return
		}
		balanced++
		if p.Moved*total < float64(least)-1e-6 {
			t.Fatalf("moves %g, but the least is %d", p.Moved*total, least)
		}
		if p.Moved*total < float64(least)+1e-6 {
			optimal++
		}
		excess += p.Moved*total - float64(least)
	})
	t.Logf("of %d that can be met %d are, %d with the least movement; %.3f too much on average",
		feasible, balanced, optimal, excess/float64(balanced))
	if feasible == 0 || float64(balanced) < 0.5*float64(feasible) || float64(optimal) < 0.6*float64(balanced) {
		t.Errorf("of %d that can be met only %d are, %d with the least movement", feasible, balanced, optimal)
	}
}

func TestPlanStops(t *testing.T) {
	c := even(1000).cdf(t)
	owners := mustPlan(t, c, nil, followersOf(20), Options{}).After
	f := append(followersOf(20), Follower{ID: 20, Status: Joined})
	if p, err := Divide(c, owners, f, Options{Stop: func() bool { return true }}); !errors.Is(err, planner.ErrStopped) ||
		p != nil {
		t.Errorf("%v, %v", p, err)
	}
	asked := 0
	if _, err := Divide(c, owners, f, Options{Stop: func() bool { asked++; return false }}); err != nil || asked == 0 {
		t.Errorf("%v after it was asked %d times", err, asked)
	}
}

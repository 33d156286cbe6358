package ranges

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"plannerd/planner"
)

func drawStatistics(t *rapid.T) *planner.Statistics {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c\x00]{1,5}`), 0, 25, rapid.ID).Draw(t, "names")
	s := &planner.Statistics{Keys: planner.KeysOf(names...)}
	if rapid.Bool().Draw(t, "with state") {
		s.State = []float64{}
	}
	for range names {
		s.Cost = append(s.Cost, rapid.SampledFrom([]float64{0, 0.1, 1, 2.5, 7, 1e200, 1e-200}).Draw(t, "cost"))
		if s.State != nil {
			s.State = append(s.State, float64(rapid.IntRange(0, 99).Draw(t, "state")))
		}
	}
	return s
}

func TestDivideKeysAgreesWithARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStatistics(t)
		followers := drawFollowers(t, 6)
		owners := drawOwners(t, stream{keys: s.Keys}, followers)
		p, err := DivideKeys(s, owners, followers, drawOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[int32]*FollowerLoad)
		for _, f := range followers {
			want[f.ID] = &FollowerLoad{}
		}
		moved := make([]Transfer, len(p.Transfers))
		for i, cost := range s.Cost {
			key, state := s.Keys.At(i), 1.0
			if s.State != nil {
				state = s.State[i]
			}
			to := findSlowly(p.After, key)
			want[to].CostAfter += cost
			want[to].KeysAfter++
			if owners == nil {
				continue
			}
			from := findSlowly(owners, key)
			want[from].CostBefore += cost
			want[from].KeysBefore++
			if from != to {
				want[from].StateOut += state
				want[to].StateIn += state
			}
			for k, x := range p.Transfers {
				if x.Interval.Contains(key) {
					moved[k].Cost, moved[k].State, moved[k].Keys = moved[k].Cost+cost, moved[k].State+state, moved[k].Keys+1
				}
			}
		}
		for i, f := range followers {
			got, want := p.Loads[i], *want[f.ID]
			if !near(got.CostBefore, want.CostBefore) || !near(got.CostAfter, want.CostAfter) ||
				got.KeysBefore != want.KeysBefore ||
				got.KeysAfter != want.KeysAfter || got.StateIn != want.StateIn || got.StateOut != want.StateOut {
				t.Fatalf("follower %d: %+v, recounted %+v", f.ID, got, want)
			}
		}
		for k, x := range p.Transfers {
			if !near(x.Cost, moved[k].Cost) || x.State != moved[k].State || x.Keys != moved[k].Keys {
				t.Fatalf("%+v, recounted %+v", x, moved[k])
			}
		}
	})
}

// The same plan, to the last bit, whatever the order of the rows.
func TestOrderOfRowsMakesNoDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for round := range 50 {
		n := 200
		rows := &planner.Statistics{Keys: planner.NewKeys(n), State: make([]float64, n)}
		for i := range n {
			rows.Keys.Append([]byte("k" + strconv.Itoa(i)))
			rows.Cost = append(rows.Cost, rng.ExpFloat64())
			rows.State[i] = rng.Float64()
		}
		shuffled := &planner.Statistics{Keys: planner.NewKeys(n)}
		for _, i := range rng.Perm(n) {
			shuffled.Keys.Append(rows.Keys.At(i))
			shuffled.Cost = append(shuffled.Cost, rows.Cost[i])
			shuffled.State = append(shuffled.State, rows.State[i])
		}
		f := append(followersOf(5), Follower{ID: 9, Status: Joined})
		f[round%5].Status = Left
		owners := Owners{{nil, 0}, {[]byte("k12"), 1}, {[]byte("k15"), 2}, {[]byte("k3"), 3}, {[]byte("k7"), 4}}
		o := Options{Method: []Method{Quantile, MinMovement}[round%2], ThetaMax: 0.05}
		a, errA := DivideKeys(rows, owners, f, o)
		b, errB := DivideKeys(shuffled, owners, f, o)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
	}
}

func TestDivideKeysRefuses(t *testing.T) {
	for name, s := range map[string]*planner.Statistics{
		"too few costs":  {Keys: planner.KeysOf("a"), Cost: nil},
		"too few states": {Keys: planner.KeysOf("a"), Cost: []float64{1}, State: []float64{}},
		"negative cost":  {Keys: planner.KeysOf("a"), Cost: []float64{-1}},
		"no cost":        {Keys: planner.KeysOf("a"), Cost: []float64{math.NaN()}},
		"infinite state": {Keys: planner.KeysOf("a"), Cost: []float64{1}, State: []float64{math.Inf(1)}},
		"twice":          {Keys: planner.KeysOf("a", "b", "a"), Cost: []float64{1, 1, 1}},
	} {
		var input *planner.InputError
		if _, err := DivideKeys(s, nil, followersOf(1), Options{}); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

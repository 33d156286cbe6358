package ranges

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Many followers come and go, and keys gain and lose weight meanwhile: the division
// stays balanced and whole, and moves little more than it has to.
func TestManyChanges(t *testing.T) {
	for _, intervals := range []int{4, 0} {
		rng := rand.New(rand.NewPCG(11, 12))
		s := even(20_000)
		for i := range s.weights {
			s.weights[i] = 1000 + rng.Int64N(1000)
		}
		followers := followersOf(8)
		owners := mustPlan(t, s.cdf(t), nil, followers, Options{}).After
		moved, least, most := 0.0, 0.0, 0
		for round := range 120 {
			for range 2000 { // drift
				s.weights[rng.IntN(len(s.weights))] = 500 + rng.Int64N(2500)
			}
			switch next := slices.Clone(followers); {
			case round%3 == 0 && len(followers) < 20:
				followers = slices.Insert(next, rng.IntN(len(next)+1), Follower{ID: int32(100 + round), Status: Joined})
			case round%3 == 1 && len(followers) > 4:
				next[rng.IntN(len(next))].Status = []Status{Left, Crashed}[rng.IntN(2)]
				followers = next
			}
			p := mustPlan(t, s.cdf(t), owners, followers, Options{ThetaMax: 0.05, MaxIntervals: intervals})
			if !p.Balanced {
				t.Errorf("round %d: θ %.4f", round, p.Theta.After)
			}
			owners = p.After
			if err := owners.Validate(); err != nil {
				t.Fatal(err)
			}
			moved, least = moved+p.Moved, least+p.LowerBound
			var staying []Follower
			for i, f := range followers {
				most = max(most, p.Loads[i].IntervalsAfter)
				if f.stays() {
					f.Status = Live
					staying = append(staying, f)
				}
			}
			followers = staying
		}
		t.Logf("at most %d intervals: moved %.3f of all, at least %.3f", most, moved, least)
		if moved > 1.6*least || intervals > 0 && most > intervals {
			t.Errorf("at most %d intervals: moved %.3f of all, at least %.3f", most, moved, least)
		}
	}
}

package planner_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
)

// with is the snapshot with n more keys at home, of that cost each.
func with(s *planner.Snapshot, n int, cost float64) *planner.Snapshot {
	t := &planner.Snapshot{
		Instances: s.Instances, Keys: planner.NewKeys(len(s.Cost) + n), Cost: slices.Clone(s.Cost),
		State: slices.Clone(s.State), Current: slices.Clone(s.Current), Hash: slices.Clone(s.Hash),
	}
	for i := range s.Cost {
		t.Keys.Append(s.Keys.At(i))
	}
	for i := range n {
		home := int32(i % len(s.Instances))
		t.Keys.Append(fmt.Appendf(nil, "idle-%d", i))
		t.Cost, t.State = append(t.Cost, cost), append(t.State, 1000)
		t.Current, t.Hash = append(t.Current, home), append(t.Hash, home)
	}
	return t
}

func drawn(t *testing.T, family cases.Family, seed uint64, effort planner.Effort) *cases.Case {
	t.Helper()
	c, err := cases.Draw(family, seed, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	c.Options.Effort, c.Options.Certificate = effort, planner.CertificateFast
	return c
}

func optimalOf(t *testing.T, s *planner.Snapshot, o planner.Options) *planner.Plan {
	t.Helper()
	p, err := planner.Run(planner.Optimal, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Keys that cost nothing and are at home change neither plan nor proof, however many there are.
func TestIdleKeysChangeNothing(t *testing.T) {
	for _, effort := range []planner.Effort{planner.EffortFast, planner.EffortNormal} {
		c := drawn(t, cases.Idle, 7, effort) // of 18 436 keys
		want := optimalOf(t, c.Snapshot, c.Options)
		for _, n := range []int{1, 1_563, 1_565, 5_000, 181_563, 181_565} {
			got := optimalOf(t, with(c.Snapshot, n, 0), c.Options)
			if got.Migration.Objective != want.Migration.Objective || got.TableAfter != want.TableAfter ||
				got.Certificate.LowerBound != want.Certificate.LowerBound {
				t.Errorf("effort %s, %d idle keys: objective %v, table %d, bound %v; without them %v, %d, %v",
					effort, n, got.Migration.Objective, got.TableAfter, got.Certificate.LowerBound,
					want.Migration.Objective, want.TableAfter, want.Certificate.LowerBound)
			}
		}
	}
}

// Nor is there a number of keys from which on plans are worse: keys that cost next to nothing
// count, but hardly matter. Single plans differ, as the search does not go the same way.
func TestNoStepInTheNumberOfKeys(t *testing.T) {
	sum, seeds := map[int]float64{}, []uint64{2, 3, 5, 8, 17}[:deep.Count(2, 5)]
	for _, seed := range seeds {
		c := drawn(t, cases.Capacities, seed, planner.EffortFast) // of 458 to 14 918 keys
		want := optimalOf(t, c.Snapshot, c.Options).Migration.Objective
		for _, all := range []int{19_990, 20_010, 22_000} {
			got := optimalOf(t, with(c.Snapshot, all-c.Snapshot.Len(), 1e-9), c.Options).Migration.Objective
			sum[all] += math.Log(got / want)
			if got > 1.1*want {
				t.Errorf("seed %d, with idle keys, %d in all: %v is moved instead of %v", seed, all, got, want)
			}
		}
	}
	for all, sum := range sum {
		if mean := math.Exp(sum / float64(len(seeds))); mean > 1.01 {
			t.Errorf("with idle keys, %d in all, %v times as much is moved, on average", all, mean)
		}
	}
}

// More effort goes on from what less came to, so it makes no plan and no bound worse.
func TestMoreEffortIsNeverWorse(t *testing.T) {
	for _, x := range []struct {
		family cases.Family
		seed   uint64
	}{
		{cases.Capacities, 120}, {cases.Skewed, 105}, {cases.Bursty, 105}, {cases.Flat, 119}, {cases.Unrelated, 124},
	}[:deep.Count(2, 5)] {
		c, err := cases.Draw(x.family, x.seed, 2_000)
		if err != nil {
			t.Fatal(err)
		}
		c.Options.Effort, c.Options.Certificate = planner.EffortFast, planner.CertificateFast
		fast := optimalOf(t, c.Snapshot, c.Options)
		c.Options.Effort = planner.EffortNormal
		normal := optimalOf(t, c.Snapshot, c.Options)
		if planner.Better(fast, normal) {
			t.Errorf("%v: the plan moves %v at effort normal, %v at effort fast",
				x, normal.Migration.Objective, fast.Migration.Objective)
		}
		if normal.Certificate.LowerBound < fast.Certificate.LowerBound {
			t.Errorf("%v: the bound is %v at effort normal, %v at effort fast",
				x, normal.Certificate.LowerBound, fast.Certificate.LowerBound)
		}
	}
}

package planner_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// TestShares: strategies plan as if shares of state were not there; each goes where its
// key goes, and only figures of what moves know of it.
func TestShares(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 2))
	for range 300 {
		c := plannertest.Tiny(r)
		if c.Counted || c.Options.MigrationLimit != nil {
			continue
		}
		alone := c.Snapshot()
		s := *alone
		for i, d := range s.Current {
			for at, in := range s.Instances {
				if int32(at) != d && !in.Frozen && r.IntN(6) == 0 {
					s.Shares = append(s.Shares, planner.Share{Row: int32(i), Instance: int32(at), State: float64(1 + r.IntN(5))})
				}
			}
		}
		if err := plannertest.CheckSnapshot(&s); err != nil {
			t.Fatal(err)
		}
		for _, info := range planner.Strategies() {
			want, err := info.Plan(alone, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			got, err := info.Plan(&s, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			checkShares(t, got, want)
			if t.Failed() {
				t.Fatalf("%s of %s with %v", info.Name, c, s.Shares)
			}
		}
	}
}

func checkShares(t *testing.T, got, want *planner.Plan) {
	t.Helper()
	s := got.Snapshot
	goes := slices.Clone(s.Current)
	for _, m := range want.Moves {
		goes[m.Item] = m.To
	}
	var gathered []planner.Move
	state := want.Migration.State
	for _, x := range s.Shares {
		if to := goes[x.Row]; to != x.Instance {
			gathered = append(gathered, planner.Move{
				Item: x.Row, From: x.Instance, To: to, Count: 1, Reason: planner.ReasonGather,
			})
			state += x.State
		}
	}
	isGathered := func(m planner.Move) bool { return m.Reason == planner.ReasonGather }
	chosen := slices.DeleteFunc(slices.Clone(got.Moves), isGathered)
	others := slices.DeleteFunc(slices.Clone(got.Moves), func(m planner.Move) bool { return !isGathered(m) })
	slices.SortStableFunc(gathered, func(a, b planner.Move) int { return s.Keys.Compare(a.Item, b.Item) })
	byKey := func(a, b planner.Move) int { return s.Keys.Compare(a.Item, b.Item) }
	if !slices.Equal(chosen, want.Moves) || !slices.Equal(others, gathered) || !slices.IsSortedFunc(got.Moves, byKey) {
		t.Errorf("moves %v; want %v and %v", got.Moves, want.Moves, gathered)
	}
	if !slices.Equal(got.Set, want.Set) || !slices.Equal(got.Unset, want.Unset) {
		t.Errorf("table %v %v; want %v %v", got.Set, got.Unset, want.Set, want.Unset)
	}
	in, out := 0.0, 0.0
	for _, d := range got.Instances {
		in, out = in+d.StateIn, out+d.StateOut
	}
	m := got.Migration
	if m.State != state || in != state || out != state || m.Keys != int64(len(got.Moves)) ||
		m.Objective != want.Migration.Objective || got.Certificate.LowerBound != want.Certificate.LowerBound {
		t.Errorf("%+v in %v out %v bound %v; want state %v, objective %v, bound %v", m, in, out, got.Certificate.LowerBound,
			state, want.Migration.Objective, want.Certificate.LowerBound)
	}
	if idle := slices.Contains(want.Causes, planner.CauseBalanced); idle && len(s.Shares) > 0 &&
		slices.Contains(got.Causes, planner.CauseBalanced) {
		t.Errorf("balanced, with shares %v", s.Shares)
	}
}

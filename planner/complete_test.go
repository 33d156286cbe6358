package planner_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// everything is all that moves can be said to meet.
var everything = []planner.Constraint{planner.ConstraintTheta, planner.ConstraintTable, planner.ConstraintMigration}

// Of a plan nothing is mended but what it is said to meet.
func TestCompleteMendsWhatWasMet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(65, 65))
	kept := 0
	for range deep.Cases(300) {
		c, strategy := completeCase(r)
		s := c.Snapshot()
		want := run(t, strategy, s, c.Options)
		got, err := planner.Complete("given", s, c.Options, want.Moves, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Moves, want.Moves) {
			t.Fatalf("%v\nwant %v\n%s", got.Moves, want.Moves, c)
		}
		if !want.Balanced || !want.TableWithinLimit {
			kept++
		}
	}
	if kept == 0 {
		t.Error("every plan met all there is: the test tests nothing")
	}
}

// completeCase makes a case, some of items with counts, and names a strategy.
func completeCase(r *rand.Rand) (*plannertest.Case, string) {
	// Of a fixed list: with one more strategy every case would be another one.
	strategies := []string{
		planner.Mixed, planner.Optimal, planner.MixedBruteForce, planner.MinMig, planner.MinTable, planner.LLFD,
		planner.Readj,
		planner.LPT,
	}
	c, strategy := plannertest.Tiny(r), strategies[r.IntN(len(strategies))]
	if r.IntN(4) == 0 {
		c = plannertest.Medium(r, 20+r.IntN(100), 2+r.IntN(6))
	}
	return c, strategy
}

// completed completes moves and checks the plan.
func completed(t *testing.T, s *planner.Snapshot, c *plannertest.Case, moves []planner.Move) *planner.Plan {
	t.Helper()
	given := slices.Clone(moves)
	p, err := planner.Complete("given", s, c.Options, moves, nil, everything...)
	if err != nil {
		t.Fatalf("%v\n%v\n%s", err, moves, c)
	}
	if err := plannertest.Check(s, c.Options, p); err != nil {
		t.Fatalf("%v\n%v\n%s", err, moves, c)
	}
	if p.Strategy != "given" || !slices.Equal(moves, given) {
		t.Fatalf("a plan of %q; moves %v, given %v", p.Strategy, moves, given)
	}
	return p
}

// A plan that meets all constraints comes out as it is, and any other no worse.
func TestCompleteStrategiesPlans(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 61))
	same, mended := 0, 0
	for range deep.Cases(500) {
		c, strategy := completeCase(r)
		s := c.Snapshot()
		want := run(t, strategy, s, c.Options)
		got := completed(t, s, c, want.Moves)
		before := plannertest.ScoreOf(s, c.Options, plannertest.AssignmentOf(want))
		after := plannertest.ScoreOf(s, c.Options, plannertest.AssignmentOf(got))
		switch {
		case before.Violated == 0:
			same++
			g, w := byKey(got), byKey(want)
			if !slices.Equal(g[:len(g)-1], w[:len(w)-1]) || got.Migration != want.Migration || got.Theta != want.Theta ||
				!slices.Equal(got.Instances, want.Instances) || !slices.Equal(got.Set, want.Set) ||
				!slices.Equal(got.Unset, want.Unset) {
				t.Fatalf("%s: %q\nwant %q\n%s", strategy, g, w, c)
			}
			if got.WorkUnits != 0 {
				t.Fatalf("%s: %d work units for a plan that is fine\n%s", strategy, got.WorkUnits, c)
			}
		case before.Compare(after) < 0:
			t.Fatalf("%s: %+v has become %+v\n%s", strategy, before, after, c)
		case after.Violated < before.Violated:
			mended++
		}
	}
	t.Logf("%d plans met all constraints, %d others have been mended", same, mended)
}

// anyMoves makes moves of random units, of drained and hot ones, too.
func anyMoves(r *rand.Rand, s *planner.Snapshot, live []int) []planner.Move {
	var moves []planner.Move
	share := r.IntN(4)
	for i := range s.Len() {
		n := int64(1)
		if s.Count != nil {
			n = s.Count[i]
		}
		for _, d := range live {
			if n == 0 || r.IntN(3) > share || int32(d) == s.Current[i] {
				continue
			}
			units := 1 + r.Int64N(n)
			n -= units
			moves = append(moves, planner.Move{Item: int32(i), From: s.Current[i], To: int32(d), Count: units})
		}
	}
	return moves
}

func TestCompleteGarbage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(62, 62))
	for n := range deep.Cases(300) {
		c, _ := completeCase(r)
		s := c.Snapshot()
		live := plannertest.ProblemOf(s, c.Options).Live
		var moves []planner.Move
		switch n % 4 {
		case 0: // nothing moves
		case 1: // everything goes to one instance
			to := int32(live[r.IntN(len(live))])
			for i := range s.Len() {
				units := int64(1)
				if s.Count != nil {
					units = s.Count[i]
				}
				if s.Current[i] != to {
					moves = append(moves, planner.Move{Item: int32(i), From: s.Current[i], To: to, Count: units})
				}
			}
		default:
			moves = anyMoves(r, s, live)
		}
		p := completed(t, s, c, moves)
		r.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
		if s.Count == nil { // the order of moves of single keys says nothing
			if q := completed(t, s, c, moves); !slices.Equal(byKey(p), byKey(q)) {
				t.Fatalf("moves in another order: %q\nwant %q\n%s", byKey(q), byKey(p), c)
			}
		}
		if x := p.Certificate; s.Len() <= 8 {
			if _, best := plannertest.Optimum(s, c.Options); best.Violated == 0 &&
				(x.Infeasible || x.LowerBound > best.Objective*(1+1e-9)) {
				t.Fatalf("bound %v, infeasible %t; the optimum is %+v\n%s", x.LowerBound, x.Infeasible, best, c)
			}
		}
	}
}

// Moves beyond the migration limit are taken back, and no θ is below the least
// there is.
func TestCompleteWithinMigrationLimit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(63, 63))
	feasible, met := 0, 0
	for range deep.Count(300, 500) {
		c := plannertest.Tiny(r)
		plannertest.LimitMigration(r, c)
		s := c.Snapshot()
		p, err := planner.Complete("given", s, c.Options, anyMoves(r, s, plannertest.ProblemOf(s, c.Options).Live),
			nil, everything...)
		if err != nil {
			t.Fatal(err)
		}
		a := plannertest.AssignmentOf(p)
		_, best, ok := plannertest.OptimalTheta(s, c.Options)
		if ok && (p.Certificate.Infeasible || p.Certificate.LowerBound > best.Theta+1e-9) {
			t.Fatalf("θ ≥ %v, infeasible %t, but %v\n%s", p.Certificate.LowerBound, p.Certificate.Infeasible, best.Theta, c)
		}
		if !ok {
			continue
		}
		feasible++
		score := plannertest.ScoreOf(s, c.Options, a)
		if plannertest.WithinMigrationLimit(s, c.Options, a) && score.TableExcess == 0 {
			met++
			if score.Theta < best.Theta-1e-9 {
				t.Fatalf("θ = %v, below the least, %v\n%s", score.Theta, best.Theta, c)
			}
		}
	}
	t.Logf("%d of %d plans keep within the limits that can be kept to", met, feasible)
	if met < feasible*9/10 {
		t.Errorf("only %d of %d plans keep within the limits", met, feasible)
	}
}

func TestCompleteStops(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(64, 64))
	cut, none := 0, 0
	for i := range max(30, deep.Cases(150)) {
		c, _ := completeCase(r)
		s := c.Snapshot()
		moves := anyMoves(r, s, plannertest.ProblemOf(s, c.Options).Live)
		if i%3 == 0 {
			moves = nil // what is on drained instances has to be moved
		}
		full := completed(t, s, c, moves)
		budgeted := c.Clone()
		budgeted.Options.WorkBudget = max(1, full.WorkUnits)
		if again := completed(t, s, budgeted, moves); !slices.Equal(byKey(again), byKey(full)) {
			t.Fatalf("with its own budget: %q\nwant %q\n%s", byKey(again), byKey(full), c)
		}
		budgeted.Options.WorkBudget = 1 + r.Int64N(1+full.WorkUnits)
		if i%3 == 0 {
			budgeted.Options.WorkBudget = 1
		}
		calls, last := 0, r.IntN(5)
		stopped := c.Clone()
		stopped.Options.Stop = func() bool { calls++; return calls > last }
		for _, x := range []*plannertest.Case{budgeted, stopped} {
			p, err := planner.Complete("given", s, x.Options, moves, nil, everything...)
			switch {
			case errors.Is(err, planner.ErrStopped):
				none++
			case err != nil:
				t.Fatal(err)
			default:
				if err := plannertest.Check(s, x.Options, p); err != nil {
					t.Fatalf("%v\n%s", err, x)
				}
				if p.EndReason != planner.EndCompleted {
					cut++
				}
			}
		}
	}
	t.Logf("%d plans cut short, %d without any", cut, none)
	if cut == 0 || none == 0 {
		t.Errorf("%d plans cut short, %d without any: the test tests nothing", cut, none)
	}
}

func TestCompleteErrors(t *testing.T) {
	c := plannertest.Tiny(rand.New(rand.NewPCG(65, 65)))
	var in *planner.InputError
	if _, err := planner.Complete("given", c.Snapshot(), planner.Options{ThetaMax: -1}, nil, nil); !errors.As(err, &in) ||
		in.Field != "ThetaMax" {
		t.Errorf("got %v", err)
	}
}

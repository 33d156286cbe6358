package planner_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// TestFillOracle holds plans and certificates under lower bounds on loads against
// exhaustive search, and against the plans that know no such bounds.
func TestFillOracle(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	cases, possible, filled, exact, ratio, proven := 0, 0, 0, 0, 0.0, 0
	eachVaried(t, oracleCases(t, 1500), 91, func(r *rand.Rand, c *plannertest.Case) (string,
		func(*plannertest.Case) error) {
		plannertest.AskToFill(r, c)
		if r.IntN(8) == 0 {
			plannertest.LimitMigration(r, c)
		}
		best := plannertest.OptimumFilled(c.Snapshot(), c.Options)
		for _, strategy := range names() {
			p, err := judgeFill(strategy, c, best)
			if err != nil {
				return strategy, func(d *plannertest.Case) error {
					_, err := judgeFill(strategy, d, plannertest.OptimumFilled(d.Snapshot(), d.Options))
					return err
				}
			}
			if strategy == planner.Optimal && c.Options.MigrationLimit == nil {
				mu.Lock()
				cases++
				if !math.IsInf(best, 1) {
					possible++
					if p.Certificate != nil && best > 0 {
						ratio += min(1, p.Certificate.LowerBound/best)
						exact++
					} else if p.Certificate != nil {
						ratio++
						exact++
					}
					if len(p.Unfilled) == 0 {
						filled++
					}
				}
				for _, y := range p.Unfilled {
					if y.Proven {
						proven++
					}
				}
				mu.Unlock()
			}
		}
		return "", nil
	})
	t.Logf("%d cases, %d can be filled, optimal fills %d of them; bound / optimum %.4f; %d instances proven short", cases,
		possible, filled, ratio/float64(max(1, exact)), proven)
	if cases >= 1000 && (possible < cases/3 || filled < possible*9/10) {
		t.Error("too few of the cases can be filled, or are")
	}
}

// TestFillInvariants recounts plans under lower bounds, of all strategies, in any order of
// rows, and cut short.
func TestFillInvariants(t *testing.T) {
	eachCase(t, 92, 150, func(t *testing.T, r *rand.Rand, strategy string, c *plannertest.Case) {
		c = c.Clone()
		plannertest.AskToFill(r, c)
		if err := checkCase(strategy, c); err != nil {
			failShrunk(t, strategy, c, func(d *plannertest.Case) error { return checkCase(strategy, d) })
			return
		}
		p, d := run(t, strategy, c.Snapshot(), c.Options), c.Clone()
		r.Shuffle(len(d.Items), func(i, j int) { d.Items[i], d.Items[j] = d.Items[j], d.Items[i] })
		q := run(t, strategy, d.Snapshot(), d.Options)
		if got, want := byKey(q), byKey(p); !slices.Equal(got, want) || !reflect.DeepEqual(p.Certificate, q.Certificate) {
			t.Errorf("shuffled: %q %+v\nwant %q %+v", got, q.Certificate, want, p.Certificate)
		}
		d.Options.WorkBudget = 1 + r.Int64N(p.WorkUnits+1)
		if err := checkCase(strategy, d); err != nil && !errors.Is(err, planner.ErrStopped) {
			t.Error(err)
		}
	})
}

// judgeFill returns what is wrong with a plan under lower bounds. best is the least
// objective of what meets all constraints and these bounds.
func judgeFill(strategy string, c *plannertest.Case, best float64) (*planner.Plan, error) {
	s, o := c.Snapshot(), c.Options
	if info, _ := planner.Lookup(strategy); !info.Knows(o.Objective) {
		return nil, nil
	}
	p, err := planner.Run(strategy, s, o)
	if err != nil {
		return nil, err
	}
	a := plannertest.AssignmentOf(p)
	unfilled := plannertest.Unfilled(s, o, a)
	score := plannertest.ScoreOf(s, o, a)
	noise := 1e-15 * (plannertest.ProblemOf(s, o).AllState + 8*o.KeyOverhead)
	if x := p.Certificate; x != nil && o.MigrationLimit == nil {
		switch {
		case !math.IsInf(best, 1) && (x.Infeasible || above(p.Proven(), best, noise)):
			return p, fmt.Errorf("infeasible %t, lower bound %v above the optimum %v", x.Infeasible, p.Proven(), best)
		case score.Violated == 0 && above(x.LowerBound, p.Migration.Objective, 0):
			return p, fmt.Errorf("lower bound %v above the plan's objective %v", x.LowerBound, p.Migration.Objective)
		}
	}
	if !math.IsInf(best, 1) {
		for _, y := range p.Unfilled {
			if y.Proven {
				return p, fmt.Errorf("instance %d can be filled", y.Instance)
			}
		}
	}
	return p, judgePulls(strategy, c, p, unfilled, score)
}

// judgePulls compares with the plan that knows no lower bounds: no limit may be broken for
// their sake, and no instance may be left below its own.
func judgePulls(strategy string, c *plannertest.Case, p *planner.Plan, unfilled []int32,
	score plannertest.Score) error {
	d := c.Clone()
	d.Options.ThetaMin = nil
	for i := range d.Instances {
		d.Instances[i].Filling = false
	}
	s := d.Snapshot()
	q, err := planner.Run(strategy, s, d.Options)
	if err != nil {
		return err
	}
	b := plannertest.AssignmentOf(q)
	other := plannertest.ScoreOf(s, d.Options, b)
	var short []int32 // or nearly, so that rounding decides
	for i, y := range q.Instances {
		if y.After <= p.Instances[i].Least*(1+1e-8)+1e-12*y.Fair {
			short = append(short, int32(i))
		}
	}
	switch {
	case c.Options.MigrationLimit == nil && score.Violated > other.Violated,
		score.TableExcess > other.TableExcess && score.Violated >= other.Violated:
		return fmt.Errorf("%+v, without lower bounds %+v", score, other)
	case c.Options.MigrationLimit != nil && p.Theta.After > q.Theta.After*(1+1e-9)+1e-12:
		return fmt.Errorf("θ %v, without lower bounds %v", p.Theta.After, q.Theta.After)
	case c.Options.MigrationLimit != nil && plannertest.WithinMigrationLimit(s, c.Options, b) &&
		plannertest.Migrated(s, c.Options, plannertest.AssignmentOf(p)) >
			plannertest.MigrationAllowance(s, c.Options)*(1+1e-9)+
				0x1p-56*plannertest.ProblemOf(s, c.Options).AllState:
		// Each state below 2⁻⁶² of all counts as nothing.
		return errors.New("beyond the migration limit")
	case len(short) == 0 && !slices.Equal(p.Moves, q.Moves) && strategy != planner.Optimal:
		return errors.New("another plan, though nothing was to be filled")
	case strategy == planner.Optimal:
		return nil // it may be another one's
	}
	for _, d := range unfilled {
		if !slices.Contains(short, d) {
			return fmt.Errorf("instance %d was pushed below its least load", d)
		}
	}
	return nil
}

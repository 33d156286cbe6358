// Package milp gives tests the true optimum of a planning problem, or bounds on
// it, from a general solver of mixed integer linear programs: Debian's cbc. It
// reads the problem with package plannertest, so that it shares nothing with
// the planner that it judges but the planner's types.
//
// Without the solver tests are skipped, or fail if PLANNERD_REQUIRE_CBC is "1".
package milp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// program is the solver.
const program = "cbc"

// Status says what the solver came to.
type Status string

// The statuses.
const (
	Optimal    Status = "optimal"    // Assignment is proven to be the best
	Feasible   Status = "feasible"   // Assignment meets all constraints; time ran out
	Infeasible Status = "infeasible" // proven: no assignment does
	Unknown    Status = "unknown"    // time ran out, or rounding let the solver's assignment violate a constraint
)

// Limits bounds the solver's work.
type Limits struct {
	Time time.Duration // Defaults to a minute.
	// Merge makes one integer variable of equal keys instead of a binary variable
	// of each. Which of the two is solved faster depends on the case.
	Merge bool
}

// Result is the solver's answer.
type Result struct {
	Status Status
	// Objective is that of Assignment, recounted: Σ (S(k)+o). 0 without an assignment.
	Objective float64
	// Bound is what the solver has proven no assignment to be below, within its
	// tolerance of 1e-6 of the figure. 0 when it has proven nothing.
	Bound      float64
	Assignment plannertest.Assignment // nil unless Optimal or Feasible
	Time       time.Duration          // of the solver alone, reading its input included
}

// Require skips the test when the solver is not installed, or fails it when it
// has to be.
func Require(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("PLANNERD_REQUIRE_CBC") == "1": //nolint:forbidigo // support for tests
		t.Fatal("no solver found: install coinor-cbc")
	default:
		t.Skip("no solver found: install coinor-cbc (on Debian and Ubuntu: apt-get install coinor-cbc)")
	}
}

// Solve finds the best assignment for planner.MinMigration: that of the least Σ (S(k)+o)
// with every load at most b_d·(1+1e-9) and the table within its limit, hot keys where the
// rules place them.
//
// An error means that the solver could not be run or contradicts itself.
func Solve(ctx context.Context, s *planner.Snapshot, o planner.Options, limits Limits) (Result, error) {
	if limits.Time == 0 {
		limits.Time = time.Minute
	}
	f := formulate(s, o, limits.Merge)
	a := answer{status: Optimal}
	if len(f.variables) > 0 || f.impossible {
		var err error
		if a, err = run(ctx, f, limits.Time); err != nil {
			return Result{}, err
		}
	}
	return f.judge(a)
}

var errContradiction = errors.New("milp: the solver contradicts itself")

// judge turns the solver's answer into an assignment and recounts it.
func (f *formulation) judge(a answer) (Result, error) {
	r := Result{Status: a.status, Bound: a.bound/f.weights + f.constant, Time: a.time}
	switch a.status {
	case Infeasible:
		r.Bound = 0
		return r, nil
	case Unknown:
		return r, nil
	}
	assignment, err := f.assignment(a.values)
	if err != nil {
		return r, err
	}
	objective, ok := f.recount(assignment)
	if len(f.variables) == 0 { // nothing can move, so there was nothing to solve
		if !ok {
			return Result{Status: Infeasible}, nil
		}
		return Result{Status: Optimal, Objective: objective, Bound: objective, Assignment: assignment}, nil
	}
	if !ok {
		r.Status = Unknown
		return r, nil
	}
	r.Objective, r.Assignment = objective, assignment
	claimed := a.objective/f.weights + f.constant
	if math.Abs(claimed-objective) > 1e-6*max(claimed, objective, 1/f.weights) {
		return r, fmt.Errorf("%w: it says %v, its assignment has %v", errContradiction, claimed, objective)
	}
	return r, nil
}

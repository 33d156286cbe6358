package main

import (
	"fmt"
	"time"

	"plannerd/internal/lab/milp"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner/plannertest"
)

// solver is the name under which the MILP solver's answers are reported.
const solver = "milp"

// solverTolerance is the relative tolerance of the bound that the solver proves.
const solverTolerance = 2e-6

// solve puts a case to the MILP solver.
func (s *suite) solve(c *cases.Case) (result, error) {
	if c.Snapshot.Len() > s.milpKeys {
		return result{strategy: solver, status: statusSkipped}, nil
	}
	start := time.Now()
	answer, err := milp.Solve(s.ctx, c.Snapshot, c.Options, milp.Limits{Time: s.milp})
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", c.Name(), err)
	}
	return solverResult(c, answer, time.Since(start)), nil
}

// solverResult words the solver's answer as that of a strategy.
func solverResult(c *cases.Case, a milp.Result, elapsed time.Duration) result {
	r := result{strategy: solver, elapsed: elapsed, proves: true, bound: max(0, a.Bound*(1-solverTolerance))}
	switch a.Status {
	case milp.Optimal:
		r.status = statusCompleted
	case milp.Feasible:
		r.status = statusStopped
	case milp.Infeasible:
		r.status, r.infeasible = statusProvenNone, true
		return r
	case milp.Unknown:
		r.status = statusNoPlan
		return r
	}
	score := plannertest.ScoreOf(c.Snapshot, c.Options, a.Assignment)
	r.meets, r.objective = score.Violated == 0, score.Objective
	r.table, r.theta = score.Table, score.Theta
	if all := plannertest.ProblemOf(c.Snapshot, c.Options).AllState; all > 0 {
		r.fraction = r.objective / all // the overhead of a key is 0 here
	}
	return r
}

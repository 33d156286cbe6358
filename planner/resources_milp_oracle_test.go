package planner_test

import (
	"math/rand/v2"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner/plannertest"
)

// TestResourcesSolverOracle does as [TestRulesSolverOracle] with two to four resources, whose bounds
// some assignment keeps.
func TestResourcesSolverOracle(t *testing.T) {
	holdAgainstSolver(t, deep.Rand(t, 36), deep.Count(2, 4), func(r *rand.Rand) *plannertest.Case {
		c := resourceful(r, func(r *rand.Rand) *plannertest.Case {
			return plannertest.Medium(r, 100+r.IntN(1900), 3+r.IntN(6))
		})
		plannertest.Pack(r, c)
		return c
	})
}

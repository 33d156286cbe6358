package planner_test

import (
	"math/rand/v2"

	"plannerd/planner/plannertest"
)

// resourceful makes a case of several resources, every other one under rules.
func resourceful(r *rand.Rand, make func(*rand.Rand) *plannertest.Case) *plannertest.Case {
	c := make(r)
	if r.IntN(2) == 0 {
		plannertest.Restrict(r, c)
	}
	plannertest.AddResources(r, c)
	return c
}

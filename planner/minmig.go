package planner

import "plannerd/planner/internal/assign"

// minMig is mixed-routing §III-B, Algorithm 3: Phase I does nothing.
func minMig(p *assign.Problem, o Options) *assign.Assignment {
	return leastLoadFit(assign.NewAssignment(p), largestGamma(o))
}

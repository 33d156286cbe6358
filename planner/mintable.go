package planner

import "plannerd/planner/internal/assign"

// minTable is mixed-routing §III-B, Algorithm 2.
func minTable(p *assign.Problem, _ Options) *assign.Assignment {
	a := assign.NewAssignment(p)
	for piece := range a.At {
		if h := a.Hash(int32(piece)); a.At[piece] != h && p.IsLive[h] && !p.IsHot(int(a.Item(int32(piece)))) {
			a.Move(int32(piece), h)
		}
	}
	return leastLoadFit(a, highestCost)
}

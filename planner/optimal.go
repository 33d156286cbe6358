package planner

// optimal is to be never worse than the best of mixed, minmig and mintable.
func optimal(p *problem) *assignment {
	var best *assignment
	var bestScore score
	for _, algorithm := range []func(*problem) *assignment{mixed, minMig, minTable} {
		a := algorithm(p)
		if a == nil {
			break
		}
		if sc := a.score(); best == nil || a.better(sc, best, bestScore) {
			best, bestScore = a, sc
		}
	}
	return best
}

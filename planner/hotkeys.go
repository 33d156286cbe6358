package planner

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// hotKeys reports the hot keys.
func hotKeys(p *assign.Problem) []HotKey {
	if len(p.Hot) == 0 {
		return nil
	}
	rooms, least := rooms(p), p.LeastOfClasses(p.Residual)
	var keys []HotKey
	for i, h := range p.Hot {
		if i > 0 && p.Hot[i-1].Item == h.Item {
			continue
		}
		cost := p.Cost.Fixed(p.Items.Cost[h.Item])
		forced := math.Inf(1)
		for _, d := range least {
			forced = min(forced, assign.Relative(float64(p.Residual[d]+cost), p.Fair[d]))
		}
		keys = append(keys, HotKey{
			Item: h.Item, Instance: h.To, Cost: p.Items.Cost[h.Item],
			Pieces: piecesOf(cost, rooms), ForcedTheta: forced,
		})
	}
	return keys
}

// rooms returns the sums of the 1, 2, … largest rooms L_max,d − residual_d, as
// long as they grow.
func rooms(p *assign.Problem) []int64 {
	sums := make([]int64, 0, len(p.Live))
	for _, d := range p.Live {
		sums = append(sums, p.Maximum[d]-p.Residual[d])
	}
	slices.SortFunc(sums, func(a, b int64) int { return cmp.Compare(b, a) })
	for i := range sums {
		switch {
		case sums[i] <= 0:
			return sums[:i]
		case i > 0:
			sums[i] = min(sums[i]+sums[i-1], math.MaxInt64/2)
		}
	}
	return sums
}

// piecesOf is the least n whose n largest rooms sum to at least cost, or 0.
func piecesOf(cost int64, rooms []int64) int {
	n, _ := slices.BinarySearch(rooms, cost)
	if n == len(rooms) {
		return 0
	}
	return n + 1
}

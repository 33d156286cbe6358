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
	rooms, least := rooms(p, p.Residual), p.LeastOfClasses(p.Residual)
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
func rooms(p *assign.Problem, residual []int64) []int64 {
	sums := make([]int64, 0, len(p.Live))
	for _, d := range p.Live {
		sums = append(sums, p.Maximum[d]-residual[d])
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

// crowdedKeys reports the keys for which as many parts as they may have do not suffice.
func (x *prepared) crowdedKeys() []HotKey {
	if len(x.crowded) == 0 {
		return nil
	}
	residual := make([]int64, len(x.s.Instances))
	for d, y := range x.s.Instances {
		residual[d] = x.before.Cost.Fixed(y.ResidualCost)
	}
	var keys []HotKey
	for _, row := range x.crowded {
		cost := x.before.Cost.Fixed(x.s.Cost[row])
		keys = append(keys, HotKey{
			Item: row, Instance: heaviest(splitOf(x.splits, row).Parts).Instance, Cost: x.s.Cost[row],
			Pieces: piecesOf(cost, rooms(x.before, residual)), ForcedTheta: x.forcedByParts(row),
		})
	}
	return keys
}

// forcedByParts is the least θ at which a key has room on as many instances as it may
// have parts: that of the best instances, one more at a time, until the next would be
// above it anyway. Where parts cost much it may be that of a whole key.
func (x *prepared) forcedByParts(row int32) float64 {
	p, cost := x.before, x.s.Cost[row]
	type bin struct{ base, fair float64 }
	bins := make([]bin, 0, len(p.Live))
	scale := p.Cost.Float(1)
	for _, d := range p.Live {
		bins = append(bins, bin{x.s.Instances[d].ResidualCost + x.mergeCost(), float64(p.Fair[d] * scale)})
	}
	low, high, whole := -1.0, 0.0, math.Inf(1)
	for _, b := range bins {
		high = max(high, (b.base+cost)/b.fair-1)
		whole = min(whole, (b.base-x.mergeCost()+cost)/b.fair-1)
	}
	for range 100 { // room grows with θ
		theta := low + float64((high-low)/2)
		var most []float64
		for _, b := range bins {
			most = append(most, float64((1+theta)*b.fair)-b.base)
		}
		slices.SortFunc(most, func(a, b float64) int { return cmp.Compare(b, a) })
		if sumPositive(most[:min(len(most), x.mostParts())]) < cost {
			low = theta
		} else {
			high = theta
		}
	}
	return max(0, min(low, whole))
}

func sumPositive(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += max(0, v)
	}
	return sum
}

package planner

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/division"
)

// hotKeys reports the hot keys.
func hotKeys(p *assign.Problem) []HotKey {
	if len(p.Hot) == 0 {
		return nil
	}
	rooms, least := division.Rooms(p, p.Live, p.Residual), p.LeastOfClasses(p.Residual)
	var keys []HotKey
	for i, h := range p.Hot {
		if i < p.Pinned || i > 0 && p.Hot[i-1].Item == h.Item {
			continue
		}
		if p.Items.Rules != nil {
			least = p.OpenTo(h.Item)
			rooms = division.Rooms(p, least, p.Residual)
		}
		cost := p.Cost.Fixed(p.Items.Cost[h.Item])
		forced := math.Inf(1)
		for _, d := range least {
			forced = min(forced, assign.Relative(float64(p.Residual[d]+cost), p.Fair[d]))
		}
		keys = append(keys, HotKey{
			Item: h.Item, Instance: h.To, Cost: p.Items.Cost[h.Item],
			Pieces: division.PiecesOf(cost, rooms), ForcedTheta: forced,
		})
	}
	return keys
}

// crowdedKeys reports the keys for which as many parts as they may have do not suffice.
func (x *prepared) crowdedKeys() []HotKey {
	if len(x.at.Crowded) == 0 {
		return nil
	}
	residual := make([]int64, len(x.s.Instances))
	for d, y := range x.s.Instances {
		residual[d] = x.before.Cost.Fixed(y.ResidualCost)
	}
	var keys []HotKey
	for _, row := range x.at.Crowded {
		cost := x.before.Cost.Fixed(x.s.Cost[row])
		keys = append(keys, HotKey{
			Item: row, Instance: division.SplitOf(x.at.Splits, row).Heaviest().Instance, Cost: x.s.Cost[row],
			Pieces:      division.PiecesOf(cost, division.Rooms(x.before, x.before.Live, residual)),
			ForcedTheta: x.forcedByParts(0, row),
		})
	}
	return keys
}

// forcedByParts is the least θ, in one resource, at which a key has room on as many instances as it may
// have parts: that of the best instances, one more at a time, until the next would be
// above it anyway. Where parts cost much, or each takes all that the key takes, it may be that of a whole key.
func (x *prepared) forcedByParts(resource int, row int32) float64 {
	p, cost, merge := x.before.Each()[resource], x.s.amountsOf(resource)[row], 0.0
	if resource == 0 {
		merge = x.space.MergeCost()
	}
	type bin struct{ base, fair float64 }
	bins := make([]bin, 0, len(p.Live))
	scale := p.Cost.Float(1)
	for _, d := range p.Live {
		base := x.s.Instances[d].ResidualCost + merge
		if resource > 0 {
			base = at(x.s.Instances[d].ResidualAmounts, resource-1, 0)
		}
		if resource == 0 || p.Fair[d] > 0 {
			bins = append(bins, bin{base, float64(p.Fair[d] * scale)})
		}
	}
	low, high, whole := -1.0, 0.0, math.Inf(1)
	for _, b := range bins {
		high = max(high, (b.base+cost)/b.fair-1)
		whole = min(whole, (b.base-merge+cost)/b.fair-1)
	}
	switch {
	case cost == 0 && x.before.ByResource != nil:
		return -1 // it is not too large in that
	case len(bins) == 0 || resource > 0 && x.s.Resources[resource-1].entire():
		return max(0, whole)
	}
	for range 100 { // room grows with θ
		theta := low + float64((high-low)/2)
		var most []float64
		for _, b := range bins {
			most = append(most, float64((1+theta)*b.fair)-b.base)
		}
		slices.SortFunc(most, func(a, b float64) int { return cmp.Compare(b, a) })
		if sumPositive(most[:min(len(most), x.space.MostParts())]) < cost {
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

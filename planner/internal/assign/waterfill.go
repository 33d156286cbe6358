package assign

import (
	"cmp"
	"math"
	"slices"
)

// bin is an instance that takes many equal units.
type bin struct {
	instance int32
	base     int64   // its level before is base/weight
	weight   float64 // each unit raises the level by cost/weight
	most     int64   // units that it takes
	units    int64   // what it gets
}

// manyUnits is from how many units per instance on it pays to fill bins.
const manyUnits = 32

// waterFill gives each bin units of that cost, at most n together. No bin gets more than
// it would if n units came one after the other, each into a bin of the lowest level,
// until a bin refuses one. What is left over is a few units per bin, and what comes
// after that refusal. So the effort does not grow with n.
func waterFill(bins []bin, n, cost int64) {
	slices.SortFunc(bins, func(x, y bin) int {
		return cmp.Or(cmp.Compare(x.level(), y.level()), cmp.Compare(x.instance, y.instance))
	})
	// The level that n units come to, were they a liquid.
	level, base, weight := math.Inf(1), float64(float64(n)*float64(cost)), 0.0
	for i, v := range bins {
		base += float64(v.base)
		weight += v.weight
		level = base / weight
		if i+1 == len(bins) || level <= bins[i+1].level() {
			break
		}
	}
	for _, v := range bins { // whoever is full refuses the next unit
		if full := float64(v.base) + float64(float64(v.most)*float64(cost)); v.most < n {
			level = min(level, full/v.weight)
		}
	}
	for i := range bins {
		v := &bins[i]
		content := float64(level*v.weight) - float64(v.base)
		unsure := 2 + math.Ceil((math.Abs(float64(level*v.weight))+math.Abs(float64(v.base)))*(1.0/(1<<48))/float64(cost))
		if units := math.Floor(content/float64(cost)) - unsure; units > 0 {
			v.units = min(int64(units), v.most, n)
			n -= v.units
		}
	}
}

func (v *bin) level() float64 { return float64(v.base) / v.weight }

// FillBins fills instances with units of a piece that is nowhere; see
// Problem.fillBins.
func (a *Assignment) FillBins(
	instances []int32, piece int32, most func(d int32) int64, ahead int64, put func(d int32, units int64),
) bool {
	return a.Problem.fillBins(instances, a.Load, a.Count(piece), a.UnitCost(piece), most, ahead, put)
}

// fillBins fills instances with n units. Their loads are their levels, relative to
// capacities. A unit counts as placed ahead of time: levels are those with it. It
// returns whether any found a place; some units are always left.
func (p *Problem) fillBins(
	instances []int32, load []int64, n, cost int64, most func(d int32) int64, ahead int64, put func(d int32, units int64),
) bool {
	if cost == 0 || n < manyUnits*int64(len(instances)) {
		return false
	}
	bins := make([]bin, len(instances))
	for i, d := range instances {
		bins[i] = bin{instance: d, base: load[d] + ahead*cost, weight: p.Instances[d].Capacity, most: most(d)}
	}
	waterFill(bins, n-1, cost)
	filled := false
	for _, v := range bins {
		if v.units > 0 {
			filled = true
			put(v.instance, v.units)
		}
	}
	return filled
}

// Unlimited is what an instance takes that never refuses.
func Unlimited(int32) int64 { return math.MaxInt64 }

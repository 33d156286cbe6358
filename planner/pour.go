package planner

import (
	"cmp"
	"math"
	"slices"
)

// vessel is an instance into which many equal units are poured.
type vessel struct {
	instance int32
	base     int64   // its level before is base/weight
	weight   float64 // each unit raises the level by cost/weight
	most     int64   // units that it takes
	units    int64   // what it gets
}

// manyUnits is from how many units per instance on it pays to pour.
const manyUnits = 32

// pour gives each vessel units of that cost, at most n together, so that placing
// n one after the other, each into a vessel of the lowest level, would give it no
// fewer before any vessel refuses one: what is left is a few units per vessel, or
// what comes after the first refusal. So the effort does not grow with n.
func pour(vessels []vessel, n, cost int64) {
	slices.SortFunc(vessels, func(x, y vessel) int {
		return cmp.Or(cmp.Compare(x.level(), y.level()), cmp.Compare(x.instance, y.instance))
	})
	// The level that n units come to, were they a liquid.
	level, base, weight := math.Inf(1), float64(float64(n)*float64(cost)), 0.0
	for i, v := range vessels {
		base += float64(v.base)
		weight += v.weight
		level = base / weight
		if i+1 == len(vessels) || level <= vessels[i+1].level() {
			break
		}
	}
	for _, v := range vessels { // whoever is full refuses the next unit
		if full := float64(v.base) + float64(float64(v.most)*float64(cost)); v.most < n {
			level = min(level, full/v.weight)
		}
	}
	for i := range vessels {
		v := &vessels[i]
		content := float64(level*v.weight) - float64(v.base)
		unsure := 2 + math.Ceil((math.Abs(float64(level*v.weight))+math.Abs(float64(v.base)))*(1.0/(1<<48))/float64(cost))
		if units := math.Floor(content/float64(cost)) - unsure; units > 0 {
			v.units = min(int64(units), v.most, n)
			n -= v.units
		}
	}
}

func (v *vessel) level() float64 { return float64(v.base) / v.weight }

// pourInto pours units of a piece that is nowhere into instances; see
// problem.pourInto.
func (a *assignment) pourInto(
	instances []int32, piece int32, most func(d int32) int64, ahead int64, put func(d int32, units int64),
) bool {
	return a.p.pourInto(instances, a.load, a.count(piece), a.unitCost(piece), most, ahead, put)
}

// pourInto pours n units into instances whose loads are their levels, relative to
// capacities. A unit counts as placed ahead of time: levels are those with it. It
// returns whether any found a place; some units are always left.
func (p *problem) pourInto(
	instances []int32, load []int64, n, cost int64, most func(d int32) int64, ahead int64, put func(d int32, units int64),
) bool {
	if cost == 0 || n < manyUnits*int64(len(instances)) {
		return false
	}
	vessels := make([]vessel, len(instances))
	for i, d := range instances {
		vessels[i] = vessel{instance: d, base: load[d] + ahead*cost, weight: p.s.Instances[d].Capacity, most: most(d)}
	}
	pour(vessels, n-1, cost)
	poured := false
	for _, v := range vessels {
		if v.units > 0 {
			poured = true
			put(v.instance, v.units)
		}
	}
	return poured
}

// unlimited is what an instance takes that never refuses.
func unlimited(int32) int64 { return math.MaxInt64 }

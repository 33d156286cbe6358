package planner

import (
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// leastShift is the share of a weight that is not worth a plan.
const leastShift = 1.0 / 64

// By effort: how much work may be done to shift weights, in work units and in times of that
// of the plan so far, and how many keys the plans for that may look at together.
var (
	shiftWork   = [...]int64{assign.Fast: 50_000, assign.Normal: 500_000, assign.Thorough: 5_000_000}
	shiftTimes  = [...]int64{assign.Fast: 2, assign.Normal: 8, assign.Thorough: 32}
	shiftedKeys = [...]int{assign.Fast: 400_000, assign.Normal: 4_000_000, assign.Thorough: 40_000_000}
)

// cheaperWeights shifts weights from parts where load is dear to parts where it is cheap, and
// plans again, as long as less moves then. What load costs on an instance, because something
// has to leave for it, are the prices that the proof of the plan found. Weights that level
// loads do not know what would have to leave. (Prices as directions in which to change what
// divides a problem: Benders' decomposition, Numerische Mathematik 4, 1962.)
func (x *prepared) cheaperWeights(info Info, a *assign.Assignment, known bound.Evidence) *assign.Assignment {
	best, share, effort := x.division(a), 0.5, x.p.Goal.Effort
	most := shiftWork[effort] + x.meter.Used*(1+shiftTimes[effort])
	for range shiftedKeys[effort] / x.s.Len() {
		if known.Proof == nil || share < leastShift || x.meter.Used > most ||
			best.a.Score().Objective == 0 && best.a.WithinLimits() {
			break
		}
		splits, shifted := x.shifted(known.Proof.Y.Load, share)
		if !shifted {
			break
		}
		x.adopt(splits)
		b, then := x.run(info.proves, info.algorithm)
		if b != nil && b.Score().Compare(best.a.Score()) < 0 {
			best, known = x.division(b), then
		} else {
			share /= 2
		}
		x.splits, x.crowded, x.p = best.splits, best.crowded, best.p
		if b == nil {
			break
		}
	}
	return best.a
}

// shifted shifts a share of the weight of each key's part where load is dearest to the one
// where it is cheapest, as far as there is room. False: there is nothing to shift.
func (x *prepared) shifted(price []float64, share float64) (splits []Split, any bool) {
	if len(price) == 0 {
		return nil, false
	}
	v := newDivider(x, x.p.Before)
	for _, y := range v.costliestFirst(x.splits) {
		splits = append(splits, v.place(Split{y.Item, slices.Clone(y.Parts)}))
	}
	for _, y := range splits {
		from, to := &y.Parts[0], &y.Parts[0]
		for i := range y.Parts {
			part := &y.Parts[i]
			if price[part.Instance] > price[from.Instance] {
				from = part
			}
			if price[part.Instance] < price[to.Instance] {
				to = part
			}
		}
		room := unitsIn(v.room(to.Instance)+v.merge, max(1, x.p.Cost.Fixed(x.s.Cost[y.Item])))
		units := int32(min(int64(share*float64(from.Weight)), int64(from.Weight)-x.leastWeight(y.Item), room))
		if from == to || units <= 0 || x.frozen(y) {
			continue
		}
		v.take(y)
		from.Weight -= units
		to.Weight += units
		v.place(y)
		any = true
	}
	return splits, any
}

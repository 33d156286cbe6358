package planner

import "plannerd/planner/internal/assign"

// pour plans the keys that stay whole as if nothing of the others were on any instance, and
// only then divides these, over the room that is left. Parts that come first can leave many
// small rooms, into which no whole key fits; parts that come last take any room. So if the
// whole keys have room, and parts cost nothing, all limits can be kept, with more merges
// than where hot keys come first. It reports whether there was time.
func (x *prepared) pour(info Info) (division, bool) {
	q := x.undivided(x.meter)
	a, _ := info.algorithm(q, x.o)
	if a == nil {
		return division{}, false
	}
	v := x.poured(q, a.Load, true)
	if w := x.poured(q, a.Load, false); len(w.crowded) < len(v.crowded) ||
		len(w.crowded) == len(v.crowded) && w.merges() < v.merges() {
		v = w
	}
	x.adopt(v.splits)
	x.crowded = v.crowded
	return x.division(x.counted(a)), true
}

// poured divides keys over the room that is left under the loads of whole keys, as an
// assignment of p makes them.
func (x *prepared) poured(p *assign.Problem, load []int64, packs bool) *divider {
	y := *x
	y.p = p
	v := newDivider(&y, load)
	v.x, v.packs = x, packs
	for d, load := range v.whole { // parts have what these leave
		v.fixed[d] += load
		v.whole[d] = 0
	}
	for _, y := range v.costliestFirst(x.splits) {
		if x.frozen(y) {
			v.splits = append(v.splits, v.place(y))
		} else if at := v.choose(y.Item, v.p.Cost.Fixed(x.s.Cost[y.Item])); at != nil {
			v.splits = append(v.splits, v.place(Split{y.Item, v.weigh(y.Item, at)}))
		}
	}
	return v
}

package division

import "plannerd/planner/internal/assign"

// pour plans the keys that stay whole as if nothing of the others were on any instance, and
// only then divides these, over the room that is left. Parts that come first can leave many
// small rooms, into which no whole key fits; parts that come last take any room. So if the
// whole keys have room, and parts cost nothing, all limits can be kept, with more merges
// than where hot keys come first. It reports whether there was time.
func (s Strategy) pour(d *Division) (Planned, bool) {
	q := d.Undivided(d.space.Meter)
	a := s.Place(q)
	if a == nil {
		return Planned{Division: d}, false
	}
	v := d.poured(a)
	poured := d.space.Divided(v.splits, v.crowded)
	return Planned{poured, poured.counted(a)}, true
}

// poured divides keys over the room that is left under the loads of whole keys, as an
// assignment makes them.
func (d *Division) poured(a *assign.Assignment) *divider {
	x := d.space
	v := newDivider(x, a)
	v.packs = true
	for _, c := range v.all {
		for d, load := range c.whole { // parts have what these leave
			c.fixed[d] += load
			c.whole[d] = 0
		}
	}
	for _, y := range v.costliestFirst(d.Splits) {
		if x.frozen(y) {
			v.splits = append(v.splits, v.place(y))
		} else if at := v.choose(y.Item); at != nil {
			v.splits = append(v.splits, v.place(Split{y.Item, v.weigh(y.Item, at)}))
		}
	}
	return v
}

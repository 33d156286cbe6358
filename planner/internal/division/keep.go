package division

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// A part that is removed has to be moved, and the parts of hot keys may hold most of the
// state that there is. What moves nothing are other weights, and a further part, which
// starts empty. So keys stay on the instances that they are on: weights follow the load, a
// part is added where weights cannot, and one is removed where there are more than may be,
// the one that costs least.

// keeper looks for a division near the committed one.
type keeper struct {
	*divider
	hot    map[int32]bool // rows of keys that fit on no instance
	budget int            // of merges: one more than hot keys need if each has the roomiest instances
	ratio  float64        // state per cost
	price  float64        // of a merge
}

// Bounds of the search.
const (
	// keptTries is how many parts are tried to be removed in the place of one.
	keptTries = 8
	// negligible is a weight that says nothing about where load can go.
	negligible = PartUnits / 1024
)

// keepParts divides keys near the way in which the committed table does. It reports whether
// that is possible with no more merges than there may be.
func (v *divider) keepParts() bool {
	k := keeper{divider: v, hot: map[int32]bool{}}
	k.measure()
	if !k.begin() {
		return false
	}
	for !k.spread(true) {
		if d := k.fullest(); d == assign.None || !k.addNear(d) {
			return false
		}
	}
	k.spread(false)
	for merges(k.splits) > k.budget {
		if !k.shrink(math.Inf(1)) {
			return false
		}
	}
	for shrinks := k.price > 0; shrinks; {
		shrinks = k.shrink(k.moving())
	}
	return true
}

// excessive reports whether there are more merges than there may be.
func (d *Division) excessive() bool {
	k := keeper{divider: newDivider(d.space, d.Problem.Unmoved()), hot: map[int32]bool{}}
	k.measure()
	return merges(d.Splits) > k.budget
}

// measure works out which keys are hot, and what merges and movement are worth.
func (k *keeper) measure() {
	x, p := k.x, k.p
	beside := make([]int64, len(k.fixed))
	for d := range beside {
		beside[d] = k.fixed[d] + k.merge
	}
	sums := Rooms(p, p.Live, beside)
	k.budget = 1
	for _, row := range k.x.costly(k.p) {
		if k.fitsWhole(row) {
			continue
		}
		n := PiecesOf(k.amount(row), sums)
		if len(k.all) > 1 {
			sites := k.sites(row)
			if len(sites) < 2 {
				continue // it cannot be divided
			}
			n, _ = k.needed(sites)
		}
		k.hot[row] = true
		if n == 0 {
			n = len(p.Live)
		}
		k.budget += max(n, 2) - 1
	}
	k.ratio = p.State.Float(p.TotalState) / max(1, float64(p.Total))
	if x.Priced() {
		k.budget, k.price = math.MaxInt, *x.Splitting.Price
	}
}

// begin takes over the parts of the committed table, and adds those that hot keys and those
// of more need at once. It reports whether there is room for them.
func (k *keeper) begin() bool {
	s := k.x
	for _, y := range s.Splits {
		k.all.count(y.Item, k.x.Items.Current[y.Item], 1)
	}
	for _, y := range s.Splits {
		if k.x.frozen(y) {
			k.divideFrom(y)
		}
	}
	for _, row := range k.x.costly(k.p) {
		var at []int32
		if old := SplitOf(s.Splits, row); old != nil {
			at = slices.DeleteFunc(instancesOf(old.Parts), func(d int32) bool { return !k.p.IsLive[d] })
		}
		if d := s.Items.Current[row]; len(at) == 0 && k.p.IsLive[d] {
			at = []int32{d}
		}
		for range k.more[row] {
			at = k.further(at)
		}
		for range 2 - len(at) {
			if k.hot[row] {
				at = k.further(at)
			}
		}
		switch {
		case len(at) > 1:
			k.divideFrom(Split{row, even(at)})
		case k.hot[row]:
			return false
		}
	}
	return true
}

// further adds to instances the one with most room.
func (k *keeper) further(at []int32) []int32 {
	in := make([]bool, len(k.fixed))
	for _, d := range at {
		in[d] = true
	}
	if d := k.freest(in); d != assign.None && len(at) < k.x.MostParts() {
		at = append(at, d)
		slices.Sort(at)
	}
	return at
}

// even are parts of one weight, or nearly.
func even(at []int32) []Part {
	parts, left := make([]Part, len(at)), int32(PartUnits)
	for i, d := range at {
		parts[i] = Part{Instance: d, Weight: left / int32(len(at)-i)}
		left -= parts[i].Weight
	}
	return parts
}

// divideFrom divides a key that was whole.
func (k *keeper) divideFrom(y Split) {
	k.all.count(y.Item, k.x.Items.Current[y.Item], -1)
	k.splits = append(k.splits, k.place(y))
}

// moving is what is gathered and, about, what else has to leave, with the price of merges.
func (k *keeper) moving() float64 {
	s, excess, state := k.x, int64(0), int64(0)
	for _, d := range k.p.Live {
		excess += max(0, k.load(k.account, d)-k.p.Limit[d])
	}
	divided := map[int32]Split{}
	for _, y := range k.splits {
		divided[y.Item] = y
		if d := s.Items.Current[y.Item]; !y.IsOn(d) && !k.x.Expires(y.Item, d) {
			state += k.p.State.Fixed(s.stateOf(y.Item))
		}
	}
	for _, share := range s.Shares {
		y, is := divided[share.Row]
		if (!is || !y.IsOn(share.Instance)) && !k.x.Expires(share.Row, share.Instance) {
			state += k.p.State.Fixed(share.State)
		}
	}
	return k.p.State.Float(state) + float64(k.ratio*float64(excess)) + float64(k.price*float64(merges(k.splits)))
}

// tight tells which instances share keys with d, directly or by way of others: what is above
// their bounds together, other weights cannot take away.
func (k *keeper) tight(d int32) []bool {
	in, next := make([]bool, len(k.fixed)), []int32{d}
	in[d] = true
	for len(next) > 0 {
		d, next = next[0], next[1:]
		for _, y := range k.splits {
			if !slices.ContainsFunc(y.Parts, func(x Part) bool { return x.Instance == d && x.Weight > negligible }) {
				continue
			}
			for _, part := range y.Parts {
				if !in[part.Instance] {
					in[part.Instance] = true
					next = append(next, part.Instance)
				}
			}
		}
	}
	return in
}

// freest is the live instance with most room that is not among those.
func (k *keeper) freest(not []bool) int32 {
	best, most := assign.None, math.Inf(-1)
	for _, d := range k.p.Live {
		free, some := math.Inf(1), true
		for _, c := range k.all {
			free, some = min(free, k.rate(c, d, c.p.Limit[d]-k.load(c, d))), some && c.room(d) > 0
		}
		if !not[d] && free > most && some {
			best, most = d, free
		}
	}
	return best
}

// fullest is the instance whose parts are most above its bound; assign.None if none are.
func (k *keeper) fullest() int32 {
	best, most := assign.None, 0.0
	for _, d := range k.p.Live {
		for _, c := range k.all {
			if over := k.rate(c, d, -c.room(d)-c.merge); over > most && c.parts[d] > 0 && !c.entire {
				best, most = d, over
			}
		}
	}
	return best
}

// addNear adds a part to the costliest hot key that can take load off d: it is on the
// instance with most room of those that are not tight with d.
func (k *keeper) addNear(d int32) bool {
	in := k.tight(d)
	to := k.freest(in)
	if to == assign.None {
		return false
	}
	for i, y := range k.splits {
		if k.hot[y.Item] && len(y.Parts) < k.x.MostParts() && !k.x.frozen(y) && !y.IsOn(to) &&
			slices.ContainsFunc(y.Parts, func(x Part) bool { return in[x.Instance] }) {
			k.take(y)
			k.splits[i] = k.place(Split{y.Item, even(slices.Sorted(slices.Values(append(instancesOf(y.Parts), to))))})
			return true
		}
	}
	return false
}

// saved is what a trial changes.
type saved struct {
	splits       []Split
	parts, whole [][]int64 // by resource
}

func (k *keeper) save() saved {
	s := saved{splits: slices.Clone(k.splits)}
	for _, c := range k.all {
		s.parts, s.whole = append(s.parts, slices.Clone(c.parts)), append(s.whole, slices.Clone(c.whole))
	}
	return s
}

func (k *keeper) restore(s saved) {
	k.splits = slices.Clone(s.splits)
	for r, c := range k.all {
		copy(c.parts, s.parts[r])
		copy(c.whole, s.whole[r])
	}
}

// shrink removes the part without which least has to move, if that is less than most.
func (k *keeper) shrink(most float64) bool {
	was, found, tried := k.save(), false, 0
	best := was
	for _, c := range k.removable() {
		if tried == keptTries || c.State >= most {
			break
		}
		if !k.remove(c) {
			k.restore(was)
			continue
		}
		tried++
		if m := k.moving(); m < most {
			most, best, found = m, k.save(), true
		}
		k.restore(was)
	}
	k.restore(best)
	return found
}

// removable lists the parts that keys can do without, perhaps, by ascending state. A key
// that fits whole is so where most of its state is.
func (k *keeper) removable() []Share {
	var list []Share
	for _, y := range k.splits {
		if k.x.frozen(y) || k.hot[y.Item] && len(y.Parts) == 2 {
			continue
		}
		for _, part := range y.Parts {
			if len(y.Parts) > 2 || part.Instance != k.x.Items.Current[y.Item] {
				list = append(list, Share{Row: y.Item, Instance: part.Instance, State: k.leaving(y.Item, part.Instance)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Share) int { return cmp.Compare(a.State, b.State) })
	return list
}

// leaving is the state of a row's key that would have to leave an instance.
func (k *keeper) leaving(row, d int32) float64 {
	if k.x.Expires(row, d) {
		return 0
	}
	return k.x.held(row, d)
}

// remove removes a part of a key, which is whole if one other is left. It reports whether
// the others can do without it.
func (k *keeper) remove(c Share) bool {
	i := slices.IndexFunc(k.splits, func(y Split) bool { return y.Item == c.Row })
	y := k.splits[i]
	k.take(y)
	if at := slices.DeleteFunc(instancesOf(y.Parts), func(d int32) bool { return d == c.Instance }); len(at) > 1 {
		k.splits[i] = k.place(Split{c.Row, k.weigh(c.Row, at)})
	} else {
		k.all.count(c.Row, k.x.Items.Current[c.Row], 1)
		k.splits = slices.Delete(k.splits, i, i+1)
	}
	return (k.fit() || k.spread(true)) && k.spread(false)
}

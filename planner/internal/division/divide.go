package division

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// divider divides keys over the instances of a problem. Loads are in its fixed point.
type divider struct {
	x        *Space
	p        *assign.Problem
	*account // of cost
	all      accounts
	// packs: parts fill the rooms of instances one after the other, so that the rooms left
	// are few and large; else they level loads.
	packs   bool
	splits  []Split
	crowded []int32 // rows of keys that are split into as many parts as they may, which is not enough
	// more are by row parts beyond those that a key needs; see [Space.Cheaper].
	more map[int32]int
	// alone: parts are weighed as if no key were whole, and instances had any room.
	alone bool
}

// account is what is taken of one resource.
type account struct {
	p       *assign.Problem // of it alone
	amounts []float64       // by row: what a key takes of it
	entire  bool            // each part of a key takes all that the key takes
	merge   int64
	// By instance: the load of keys without a row; of items that are whole; of parts.
	fixed, whole, parts []int64
}

// accounts are those of each resource, that of cost first.
type accounts []*account

// accounts are those of the resources of a problem, with the keys without a row alone.
func (x *Input) accounts(p *assign.Problem) (all accounts) {
	for r, q := range p.Each() {
		n := len(x.Instances)
		c := &account{
			p: q, amounts: x.Items.Cost, fixed: make([]int64, n), whole: make([]int64, n), parts: make([]int64, n),
		}
		for d, y := range x.Instances {
			taken := y.Cost
			if r > 0 && y.Resources != nil {
				taken = y.Resources[r-1].Taken
			}
			c.fixed[d] = q.Cost.Fixed(taken)
		}
		if r > 0 {
			c.amounts, c.entire = x.Items.Resources[r-1].Amount, x.Items.Resources[r-1].Whole
		}
		all = append(all, c)
	}
	return all
}

// newDivider starts with the loads of an assignment. The parts of split keys are on no
// instance yet.
func newDivider(x *Space, a *assign.Assignment) *divider {
	p := a.Problem
	v := &divider{x: x, p: p, all: x.accounts(p)}
	v.account = v.all[0]
	v.merge = p.Cost.Fixed(min(x.MergeCost(), p.Cost.Float(p.Total)))
	for r, c := range v.all {
		for d, load := range a.Each()[r] {
			c.whole[d] = load - c.p.Residual[d]
		}
	}
	x.runningOut(x.Splits, func(_, d int32) { v.fixed[d] += v.merge })
	return v
}

// amount is what a row's key takes.
func (c *account) amount(row int32) int64 { return c.p.Cost.Fixed(c.amounts[row]) }

// load is that of an instance: of whole keys, too, unless parts are weighed alone.
func (v *divider) load(c *account, d int32) int64 {
	if v.alone {
		return c.fixed[d] + c.parts[d]
	}
	return c.fixed[d] + c.parts[d] + c.whole[d]
}

// rate is a load in relation to the capacity, or where there are several resources to the bound.
func (v *divider) rate(c *account, d int32, load int64) float64 {
	if len(v.all) == 1 {
		return v.p.Rate(d, load)
	}
	return c.p.Filling(d, load)
}

// room is what a part on an instance may take. What counts as within L_max beyond it is
// left to rounding.
func (c *account) room(d int32) int64 {
	most := c.p.Maximum[d]
	if c.p.Bound[d] < float64(most) {
		most = int64(c.p.Bound[d])
	}
	return most - c.fixed[d] - c.parts[d] - c.merge
}

// units is the greatest weight of a row's key that the rooms of an instance allow. What the key takes of the first
// resource counts as least, if it is less.
func (all accounts) units(row, d int32, least int64) int64 {
	n := int64(PartUnits)
	for r, c := range all {
		switch amount := c.amount(row); {
		case amount == 0 && len(all) > 1:
		case c.entire && amount > c.room(d):
			return 0
		case r == 0:
			n = unitsIn(c.room(d), max(amount, least))
		case !c.entire:
			n = min(n, unitsIn(c.room(d), amount))
		}
	}
	return n
}

// carries reports whether an instance has room for what each part of a row's key takes as a whole.
func (all accounts) carries(row, d int32) bool {
	return !slices.ContainsFunc(all, func(c *account) bool {
		return c.entire && c.amount(row) > max(0, c.room(d))
	})
}

// fitsWhole reports whether some instance has room for a row's key beside parts.
func (v *divider) fitsWhole(row int32) bool {
	return slices.ContainsFunc(v.p.Live, func(d int32) bool {
		return !slices.ContainsFunc(v.all, func(c *account) bool {
			amount := c.amount(row)
			return amount > c.room(d)+c.merge && (amount > 0 || len(v.all) == 1)
		})
	})
}

// count adds what a row's key takes to what whole keys on an instance do, or takes it off.
func (all accounts) count(row, d int32, sign int64) {
	for _, c := range all {
		c.whole[d] += sign * c.amount(row)
	}
}

// reweighed divides keys over the same instances, with weights that level the loads.
func (v *divider) reweighed(splits []Split) []Split {
	for _, y := range v.costliestFirst(splits) {
		v.splits = append(v.splits, v.place(y))
	}
	v.spread(true)
	v.spread(false)
	return v.splits
}

// costliestFirst are splits in an order that does not depend on that of rows.
func (v *divider) costliestFirst(splits []Split) []Split {
	size := v.x.sizeIn(v.p)
	return slices.SortedFunc(slices.Values(splits), func(a, b Split) int {
		return cmp.Or(cmp.Compare(size(b.Item), size(a.Item)), v.x.Items.Compare(a.Item, b.Item))
	})
}

func instancesOf(parts []Part) []int32 {
	at := make([]int32, len(parts))
	for i, x := range parts {
		at[i] = x.Instance
	}
	return at
}

// place adds what a split key costs to the loads; take takes it off.
func (v *divider) place(y Split) Split {
	v.add(y, 1)
	return y
}

func (v *divider) take(y Split) { v.add(y, -1) }

func (v *divider) add(y Split, sign int64) {
	for _, part := range y.Parts {
		for _, c := range v.all {
			c.parts[part.Instance] += sign * (c.ofPart(y.Item, part.Weight) + c.merge)
		}
	}
}

// ofPart is what a part of the row's key of that weight takes.
func (c *account) ofPart(row, weight int32) int64 {
	amount := c.amount(row)
	if c.entire {
		return amount
	}
	hi, lo := bits.Mul64(uint64(amount), uint64(weight))
	return int64(hi<<48 | lo>>16)
}

// divideHot divides keys, the costliest first, until the next fits on an instance. A key
// that has a part on a frozen instance stays as it is.
func (v *divider) divideHot() {
	s := v.x
	for _, y := range s.Splits {
		if v.x.frozen(y) {
			v.splits = append(v.splits, v.place(y))
		} else {
			v.all.count(y.Item, v.x.Items.Current[y.Item], 1)
		}
	}
	hot := true
	for _, row := range v.x.costly(v.p) {
		if hot = (hot || len(v.all) > 1) && !v.fitsWhole(row); !hot && v.more[row] == 0 {
			continue
		}
		if at := v.choose(row); at != nil {
			v.all.count(row, v.x.Items.Current[row], -1)
			v.splits = append(v.splits, v.place(Split{row, v.weigh(row, at)}))
		}
	}
	v.spread(false)
}

// costly lists the rows of keys of some cost, the costliest first: all that could
// have to be divided are among them.
func (x *Space) costly(p *assign.Problem) []int32 {
	all, size := x.accounts(p), x.sizeIn(p)
	least := []float64{p.Cost.Float(p.Total / int64(8*len(p.Live)))}
	for _, c := range all[1:] {
		most := int64(0)
		for _, d := range p.Live {
			most = max(most, c.p.Maximum[d])
		}
		least = append(least, c.p.Cost.Float(most/8))
	}
	takes := func(row int32, least []float64) bool {
		for r, c := range all {
			if !c.entire && c.amounts[row] > least[r] {
				return true
			}
		}
		return false
	}
	rows := assign.Collect(x.Items.Len(), func(from, to int) (rows []int32) {
		for i := from; i < to; i++ {
			if takes(int32(i), least) && x.isKey(i) {
				rows = append(rows, int32(i))
			}
		}
		return rows
	})
	for _, y := range x.Splits { // they may stay divided
		if !takes(y.Item, least) && takes(y.Item, make([]float64, len(all))) {
			rows = append(rows, y.Item)
		}
	}
	rows = slices.DeleteFunc(rows, func(row int32) bool {
		y := SplitOf(x.Splits, row)
		return y != nil && x.frozen(*y)
	})
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(size(b), size(a)), x.Items.Compare(a, b)) })
	return rows
}

// site is an instance as a place for a part of one key.
type site struct {
	instance int32
	units    int64   // the greatest weight that its room allows
	held     float64 // state of the key that is there
	load     float64 // what is in the way, relative to the capacity
}

// choose lists the instances over which a key is divided, ascending: as few as have room
// for it. Nil: one cannot be divided over fewer than two.
func (v *divider) choose(row int32) []int32 {
	sites := v.sites(row)
	most := min(v.x.MostParts(), len(sites))
	if most < 2 {
		return nil
	}
	n, units := v.needed(sites)
	n = max(n, 2, min(n+v.more[row], most))
	if units < PartUnits {
		v.crowded = append(v.crowded, row)
	} else {
		sites = v.preferred(sites, n)
	}
	at := make([]int32, n)
	for i := range at {
		at[i] = sites[i].instance
	}
	slices.Sort(at)
	return at
}

// needed is how many of the roomiest sites have room for a key, or how many parts it may have, and the weight that
// they have room for. It brings the sites into that order.
func (v *divider) needed(sites []site) (n int, units int64) {
	slices.SortFunc(sites, site.roomier)
	for n < min(v.x.MostParts(), len(sites)) && units < PartUnits {
		units += sites[n].units
		n++
	}
	return n, units
}

// sites are the live instances that can be places for a part of a key.
func (v *divider) sites(row int32) []site {
	sites := make([]site, 0, len(v.p.Live))
	for _, d := range v.p.Live {
		if !v.all.carries(row, d) {
			continue
		}
		x := site{d, v.all.units(row, d, 0), v.x.held(row, d), math.Inf(-1)}
		for _, c := range v.all {
			load := c.fixed[d] + c.parts[d] + c.whole[d]
			if v.x.Items.Current[row] == d {
				load -= c.amount(row)
			}
			x.load = max(x.load, v.rate(c, d, load))
		}
		sites = append(sites, x)
	}
	return sites
}

// sizeIn is what orders rows: what they cost, or the greatest share of their keys of all of a resource.
func (x *Input) sizeIn(p *assign.Problem) func(row int32) float64 {
	if p.ByResource == nil {
		return func(row int32) float64 { return x.Items.Cost[row] }
	}
	all := x.accounts(p)
	return func(row int32) (size float64) {
		for _, c := range all {
			if c.p.Total > 0 {
				size = max(size, float64(c.amount(row))/float64(c.p.Total))
			}
		}
		return size
	}
}

// roomier orders sites by how much of a key they have room for.
func (x site) roomier(y site) int {
	return cmp.Or(cmp.Compare(y.units, x.units), cmp.Compare(x.load, y.load), cmp.Compare(x.instance, y.instance))
}

// preferred are n sites with room for the whole key: those that hold most of its state,
// then those with the least load in the way; to pack it, those with the least room. The
// sites come by descending room.
func (v *divider) preferred(sites []site, n int) []site {
	order := slices.Clone(sites)
	slices.SortFunc(order, func(x, y site) int {
		if v.packs && x.units != y.units {
			return cmp.Compare(x.units, y.units)
		}
		return cmp.Or(cmp.Compare(y.held, x.held), cmp.Compare(x.load, y.load), cmp.Compare(x.instance, y.instance))
	})
	chosen, units := make([]site, 0, n), int64(0)
	for _, x := range order {
		if len(chosen) == n {
			break
		}
		// With x there must be room enough: on those chosen, x, and the roomiest others.
		all, others := units+x.units, n-len(chosen)-1
		for _, y := range sites {
			if others > 0 && y.instance != x.instance && !slices.Contains(chosen, y) {
				all += y.units
				others--
			}
		}
		if all >= PartUnits {
			chosen, units = append(chosen, x), units+x.units
		}
	}
	return chosen
}

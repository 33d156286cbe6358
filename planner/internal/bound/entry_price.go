package bound

import "math"

// WholeKeys is a covering relaxation that was searched: the part of the problem that
// costs least when whole keys leave, under one price of a table entry. That cost is
// concave in the price, and this line supports it there.
type WholeKeys struct {
	Relaxation *CoveringRelaxation
	Leaf       *CoveringNode
	price      float64
	value      float64 // no plan costs less, scaled
	slope      float64 // by how many entries the table exceeds its limit; 0 where nobody asks
}

// search searches a covering relaxation.
func (o *CoveringRelaxation) search(root *CoveringNode) *WholeKeys {
	leaf, value := o.Search(root)
	return &WholeKeys{Relaxation: o, Leaf: leaf, price: o.y.Table, value: value}
}

const (
	entryPrices     = 12   // that are tried between two
	dearer          = 4    // times the price, until there are few enough entries
	entryPriceWork  = 2    // times the work of one search, for all prices together
	entryPriceClose = 1e-4 // a bound that is so close to the best that may be is good enough
)

// priceEntries looks for the price of an entry under which whole keys cost most, where
// the lines cross that support the cost at a lower and at a higher price (Kelley 1960).
// The prices that maximise the Lagrangian need not be good ones here: that divides the
// heavy keys of which few instances have to shed one, so that entries seem to suffice. It
// returns what whole keys come to under a price that makes them keep to the table limit;
// nil where it did not look for one.
func (f *Proof) priceEntries() (lean *WholeKeys) {
	x := f.Relaxation
	if !x.Limited {
		return nil
	}
	f.Whole.slope = f.Whole.Relaxation.entriesOver(f.Whole.Leaf)
	left := entryPriceWork * f.wholeWork()
	at := func(price float64) *WholeKeys {
		if left <= 0 || x.Problem.Stopped() {
			return nil
		}
		o := x.NewCovering(&Prices{Load: make([]float64, len(x.excess)), Table: price}, min(left, f.wholeWork()))
		if o == nil {
			return nil
		}
		granted := o.work
		w := o.search(o.Root())
		w.slope = o.entriesOver(w.Leaf)
		left -= granted - o.work + entryPriceWork*x.Problem.Items.Len()
		f.keep(w)
		return w
	}
	low, high := f.bracket(at)
	for range entryPrices {
		if low == nil || high == nil {
			return lean
		}
		lean = high
		cross := (high.value - low.value + float64(low.slope*low.price) - float64(high.slope*high.price)) /
			(low.slope - high.slope)
		if !(cross > low.price && cross < high.price) {
			return lean
		}
		most := low.value + float64(low.slope*(cross-low.price))
		switch mid := at(cross); {
		case mid == nil || mid.value >= most*(1-entryPriceClose):
			return lean
		case mid.slope > 0:
			low = mid
		default:
			high = mid
		}
	}
	return lean
}

// bracket finds a price under which whole keys need too many entries and one under which
// they do not. Either is nil where there is none, or it would tell nothing.
func (f *Proof) bracket(at func(price float64) *WholeKeys) (low, high *WholeKeys) {
	low = f.Whole
	if low.slope <= 0 {
		if low.price == 0 {
			return nil, nil // entries are free and suffice
		}
		if low, high = at(0), low; low == nil || low.slope <= 0 {
			return nil, nil
		}
		return low, high
	}
	most := f.Relaxation.Surely()
	for price := max(dearer*low.price, f.Y.Table, f.Relaxation.leastPrice()); price <= most; price *= dearer {
		high = at(price)
		switch {
		case high == nil || high.value > most:
			return low, nil
		case high.slope <= 0:
			return low, high
		}
		low = high
	}
	return low, nil
}

// leastPrice is one of an entry below which prices hardly matter.
func (x *Relaxation) leastPrice() float64 {
	return max(x.Everything/float64(x.Problem.Items.Len()+1), math.SmallestNonzeroFloat64) / (1 << 10)
}

// keep keeps what whole keys cost if that is more than is known.
func (f *Proof) keep(w *WholeKeys) {
	if f.Whole == nil || w.value > f.Whole.value {
		f.Whole = w
	}
}

// entriesOver is by how many entries the table exceeds its limit in a node.
func (o *CoveringRelaxation) entriesOver(n *CoveringNode) float64 {
	placed, leaving := o.Decisions(n)
	over, s := o.X.tableExcess, o.X.Problem.Items
	for _, x := range placed {
		leaving[x.Item] = 0 // a key that cannot stay is among them
		over -= b2f(s.Current[x.Item] != s.Home[x.Item])
		over += b2f(x.At != s.Home[x.Item])
	}
	for i, units := range leaving {
		if units == 0 {
			continue
		}
		k := o.X.ChoiceOf(i)
		_, home, away := k.Costs(&o.y, o.receivers)
		over += float64(float64(units) * (b2f(home >= away) - b2f(k.entry)))
	}
	return over
}

package bound

import (
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/relaxation"
)

import "math"

const (
	entryPrices     = 12   // that are tried between two
	dearer          = 4    // times the price, until there are few enough entries
	entryPriceWork  = 2    // times the work of one search, for all prices together
	entryPricePart  = 8    // into so many parts the work of one search is divided, one for each price at first
	entryPriceRest  = 2    // and into so many afterwards
	entryPriceClose = 1e-2 // a bound that is so close to the best that may be is good enough
	slightlyDearer  = 1.5  // times the price, while whole keys cost more
)

// priceEntries looks for the price of an entry under which whole keys cost most, where
// the lines cross that support the cost at a lower and at a higher price (Kelley 1960).
// The prices that maximise the Lagrangian need not be good ones here: that divides the
// heavy keys of which few instances have to shed one, so that entries seem to suffice. Each
// price gets a part of the work. Where that cuts a search short, the rest goes to the best
// price, and to dearer ones while these are better. It returns what whole keys come to under
// a price that makes them keep to the table limit; nil where it found none.
func (f *Proof) priceEntries() (lean *covering.WholeKeys) {
	x := f.Relaxation
	if !x.Limited {
		return nil
	}
	f.Whole.SetSlope()
	left, grant := entryPriceWork*f.wholeWork(), f.workOfPrice()
	at := func(price float64) *covering.WholeKeys {
		if left <= 0 || x.Problem.Stopped() {
			return nil
		}
		o := covering.New(x, &relaxation.Prices{Load: make([]float64, len(x.Excess)), Table: price}, min(left, grant))
		if o == nil {
			return nil
		}
		granted := o.Work
		w := o.WholeKeys()
		w.SetSlope()
		left -= granted - o.Work + entryPriceWork*x.Problem.Items.Len()
		f.keep(w)
		return w
	}
	lean = f.cross(at)
	if !f.Whole.Cut() && !lean.Cut() {
		return lean
	}
	price := f.Whole.Price
	if !f.Whole.Cut() {
		price *= slightlyDearer
	}
	for grant = f.wholeWork() / entryPriceRest; ; price *= slightlyDearer {
		w := at(price)
		if w != nil && w.Slope <= 0 {
			lean = w
		}
		if w == nil || w.Slope <= 0 || w != f.Whole {
			return lean
		}
	}
}

// cross tries prices where lines cross, and returns what whole keys come to under the dearer of the last two.
func (f *Proof) cross(at func(price float64) *covering.WholeKeys) (high *covering.WholeKeys) {
	low, high := f.bracket(at)
	for range entryPrices {
		if low == nil || high == nil {
			break
		}
		cross := (high.Value - low.Value + float64(low.Slope*low.Price) - float64(high.Slope*high.Price)) /
			(low.Slope - high.Slope)
		if !(cross > low.Price && cross < high.Price) {
			break
		}
		most := low.Value + float64(low.Slope*(cross-low.Price))
		mid := at(cross)
		if mid == nil || mid.Value >= most*(1-entryPriceClose) {
			break
		}
		if mid.Slope > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// bracket finds a price under which whole keys need too many entries and one under which
// they do not. Either is nil where there is none, or it would tell nothing.
func (f *Proof) bracket(at func(price float64) *covering.WholeKeys) (low, high *covering.WholeKeys) {
	low = f.Whole
	if low.Slope <= 0 {
		if low.Price == 0 {
			return nil, nil // entries are free and suffice
		}
		if low, high = at(0), low; low == nil || low.Slope <= 0 {
			return nil, nil
		}
		return low, high
	}
	most := f.Relaxation.Surely()
	for price := max(dearer*low.Price, f.Y.Table, leastPrice(f.Relaxation)); price <= most; price *= dearer {
		high = at(price)
		switch {
		case high == nil || high.Value > most:
			return low, nil
		case high.Slope <= 0:
			return low, high
		}
		low = high
	}
	return low, nil
}

// leastPrice is one of an entry below which prices hardly matter.
func leastPrice(x *relaxation.Relaxation) float64 {
	return max(x.Everything/float64(x.Problem.Items.Len()+1), math.SmallestNonzeroFloat64) / (1 << 10)
}

// keep keeps what whole keys cost if that is more than is known.
func (f *Proof) keep(w *covering.WholeKeys) {
	if f.Whole == nil || w.Value > f.Whole.Value {
		f.Whole = w
	}
}

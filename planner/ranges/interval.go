package ranges

import (
	"bytes"
	"slices"
	"strconv"

	"plannerd/planner"
)

// Interval is the keys from Low on and below High.
type Interval struct {
	Low  []byte // the least key; empty: the lowest end of the key space
	High []byte // the first key that is not in it; nil: there is none
}

// Contains reports whether the interval holds key.
func (v Interval) Contains(key []byte) bool {
	return bytes.Compare(v.Low, key) <= 0 && below(key, v.High)
}

// below reports whether a key lies below an upper end.
func below(key, high []byte) bool { return high == nil || bytes.Compare(key, high) < 0 }

// compareEnds orders upper ends.
func compareEnds(a, b []byte) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return bytes.Compare(a, b)
}

// Owner begins an interval of the key space: it ends where the next one begins.
type Owner struct {
	Low      []byte // the least key of the interval
	Follower int32  // ID of the follower that owns it
}

// Owners is a division of the whole key space: the first Low is empty, the
// others ascend strictly, and neighbours have different followers. Without any
// element nobody owns anything, as before a shuffle is created.
type Owners []Owner

// Validate reports the first rule that the list breaks as a
// [planner.InputError].
func (o Owners) Validate() error {
	for i, x := range o {
		at := planner.Element("Owners", i)
		switch {
		case i == 0 && len(x.Low) > 0:
			return planner.Invalid(at+".Low", "must be empty: the first interval begins where the key space does")
		case i > 0 && bytes.Compare(o[i-1].Low, x.Low) >= 0:
			return planner.Invalid(at+".Low", "must be greater than the one before")
		case i > 0 && o[i-1].Follower == x.Follower:
			return planner.Invalid(at+".Follower", "must differ from that of the interval before")
		case len(x.Low) > planner.MaxKeyBytes:
			return planner.Invalid(at+".Low", "must be at most "+strconv.Itoa(planner.MaxKeyBytes)+" bytes long")
		case x.Follower < 0:
			return planner.Invalid(at+".Follower", "must be ≥ 0")
		}
	}
	return nil
}

// Interval returns interval i.
func (o Owners) Interval(i int) Interval {
	v := Interval{Low: o[i].Low}
	if i+1 < len(o) {
		v.High = o[i+1].Low
	}
	return v
}

// Find returns the ID of the follower that owns key; false when nobody does.
func (o Owners) Find(key []byte) (follower int32, ok bool) {
	i := o.At(key)
	if i < 0 {
		return 0, false
	}
	return o[i].Follower, true
}

// At returns the index of the interval that holds key; −1 without any.
func (o Owners) At(key []byte) int {
	i, found := slices.BinarySearchFunc(o, key, func(x Owner, key []byte) int { return bytes.Compare(x.Low, key) })
	if found {
		return i
	}
	return i - 1
}

// Of returns the intervals of a follower, in order.
func (o Owners) Of(follower int32) []Interval {
	var own []Interval
	for i, x := range o {
		if x.Follower == follower {
			own = append(own, o.Interval(i))
		}
	}
	return own
}

// appendOwner adds an interval, which begins where the last one ends, unless it
// merely goes on with it.
func (o Owners) appendOwner(low []byte, follower int32) Owners {
	if n := len(o); n > 0 && o[n-1].Follower == follower {
		return o
	}
	return append(o, Owner{low, follower})
}

// ErrNotOwned is returned when transfers do not fit the owners they are applied to.
var ErrNotOwned error = planner.Invalid("Transfers", "must come from the follower that owns the interval")

// Apply returns the owners after transfers, which are disjoint and each of which
// comes from the follower that owns all of its interval. Otherwise it returns
// [ErrNotOwned]. It is how a planned difference is carried out.
func (o Owners) Apply(transfers []Transfer) (Owners, error) {
	sorted := slices.Clone(transfers)
	slices.SortFunc(sorted, func(a, b Transfer) int { return bytes.Compare(a.Interval.Low, b.Interval.Low) })
	var after Owners
	next := 0
	for i, x := range o {
		v := o.Interval(i)
		for low := v.Low; ; {
			if next == len(sorted) || !below(sorted[next].Interval.Low, v.High) {
				after = after.appendOwner(low, x.Follower)
				break
			}
			t := sorted[next]
			if t.From != x.Follower || bytes.Compare(t.Interval.Low, low) < 0 || compareEnds(t.Interval.High, v.High) > 0 ||
				!below(t.Interval.Low, t.Interval.High) {
				return nil, ErrNotOwned
			}
			if !bytes.Equal(low, t.Interval.Low) {
				after = after.appendOwner(low, x.Follower)
			}
			after = after.appendOwner(t.Interval.Low, t.To)
			next++
			if low = t.Interval.High; compareEnds(low, v.High) == 0 {
				break
			}
		}
	}
	if next < len(sorted) {
		return nil, ErrNotOwned
	}
	return after, nil
}

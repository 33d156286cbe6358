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

// appendOwner adds an interval, which begins where the last one ends, unless it
// merely goes on with it.
func (o Owners) appendOwner(low []byte, follower int32) Owners {
	if n := len(o); n > 0 && o[n-1].Follower == follower {
		return o
	}
	return append(o, Owner{low, follower})
}

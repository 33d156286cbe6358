package ranges

import (
	"bytes"
	"slices"
)

// set is a set of keys: intervals in order that neither overlap nor touch.
type set []Interval

// everything is the whole key space.
func everything() set { return set{{Low: []byte{}}} }

func (s set) contains(key []byte) bool {
	return slices.ContainsFunc(s, func(v Interval) bool { return v.Contains(key) })
}

// and returns what is in both sets.
func (s set) and(t set) (both set) {
	for _, v := range s {
		for _, w := range t {
			if x, ok := v.intersect(w); ok {
				both = append(both, x)
			}
		}
	}
	return both
}

// without returns what is in s only.
func (s set) without(t set) set {
	rest := slices.Clone(s)
	for _, w := range t {
		var next set
		for _, v := range rest {
			x, ok := v.intersect(w)
			if !ok {
				next = append(next, v)
				continue
			}
			if bytes.Compare(v.Low, x.Low) < 0 {
				next = append(next, Interval{v.Low, x.Low})
			}
			if x.High != nil && below(x.High, v.High) {
				next = append(next, Interval{x.High, v.High})
			}
		}
		rest = next
	}
	return rest
}

// or returns what is in either set.
func (s set) or(t set) set {
	all := slices.Concat(s, t)
	slices.SortStableFunc(all, func(v, w Interval) int { return bytes.Compare(v.Low, w.Low) })
	var merged set
	for _, v := range all {
		n := len(merged)
		if n == 0 || merged[n-1].High != nil && bytes.Compare(v.Low, merged[n-1].High) > 0 {
			merged = append(merged, v)
		} else if compareEnds(v.High, merged[n-1].High) > 0 {
			merged[n-1].High = v.High
		}
	}
	return merged
}

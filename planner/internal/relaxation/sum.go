package relaxation

import "slices"

// Sum adds up floats with a bound on the rounding error. Neither depends on the
// order of the terms.
type Sum struct {
	values     []float64
	magnitudes uint64 // sum of the terms' magnitudes, rounded up, in units of 2^−20
	huge       float64
}

// largest is above all magnitudes whose sum fits in units of 2^−20.
const largest = 1 << 12

// Add adds a term. Its magnitude is that of what it was computed from, which bounds its own rounding error.
func (s *Sum) Add(v, magnitude float64) {
	s.values = append(s.values, v)
	if magnitude < largest {
		s.magnitudes += uint64(float64(magnitude*(1<<20))) + 1
	} else {
		s.huge = max(s.huge, magnitude)
	}
}

// Merge adds the terms of t.
func (s *Sum) Merge(t *Sum) {
	s.values = append(s.values, t.values...)
	s.magnitudes += t.magnitudes
	s.huge = max(s.huge, t.huge)
}

// Floor is a value that the exact sum is not below.
func (s *Sum) Floor() float64 {
	slices.Sort(s.values)
	total, n := 0.0, float64(len(s.values))
	for _, v := range s.values {
		total += v
	}
	magnitude := float64(float64(s.magnitudes)*0x1p-20) + float64(n*s.huge)
	return total - float64((n+32)*0x1p-51*magnitude)
}

// total is about the sum.
func (s *Sum) total() float64 {
	total := 0.0
	for _, v := range s.values {
		total += v
	}
	return total
}

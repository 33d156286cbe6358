package compact

import "math"

// Len is m = r + s, the number of levels.
func (l Levels) Len() float64 { return math.Log2(l.degree) + l.steps }

// Next returns φ(x).
func (w *Walk) Next(x float64) float64 {
	lower, upper := w.Levels.Neighbours(x)
	return w.choose(x, lower, upper)
}

package compact

import "math"

// Len is m = r + s, the number of levels.
func (l Levels) Len() float64 { return math.Log2(l.degree) + l.steps }

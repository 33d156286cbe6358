package ranges

import (
	"cmp"

	"plannerd/planner"
	"plannerd/sdk/go/sketch"
)

// FromSketch returns the distribution by a sketch, exact if it never held more than k
// different keys. Otherwise every rank, of all keys at once, is within its error with that
// confidence, above 0 and below 1; 0 stands for [sketch.DefaultConfidence].
func FromSketch(s *sketch.Sketch, confidence float64) (*CDF, error) {
	confidence = cmp.Or(confidence, sketch.DefaultConfidence)
	if !(confidence > 0 && confidence < 1) {
		return nil, planner.Invalid("Confidence", "must be above 0 and below 1")
	}
	keys, weights := planner.NewKeys(s.Len()), make([]int64, 0, s.Len())
	for key, weight := range s.All() {
		keys.Append(key)
		weights = append(weights, weight)
	}
	e := s.RankError(confidence)
	if e == 0 {
		confidence = 1
	}
	return NewApproximateCDF(keys, weights, e, confidence)
}

package forecast

import (
	"math"

	"plannerd/planner/internal/assign"
)

// combinedAlphas are those of the moving averages that method combined takes the mean of, from
// one that believes the last interval to one that believes a long past.
var combinedAlphas = [...]float64{1, 0.5, 0.25, 0.1}

const (
	// lossMemory is by how much the errors of the intervals before are discounted.
	lossMemory = 0.9
	// lossPower is that of the inverse of squared errors by which forecasts are weighted. With 1,
	// as Bates and Granger have it (The combination of forecasts, 1969), forecasts that are twice
	// as wrong still have a fifth of the weight.
	lossPower = 8
)

// average is one of the moving averages of method combined.
type average struct {
	level []float32 // of each key
	loss  float64   // its squared errors; older intervals count less
}

// combination is what method combined remembers beside the levels. Other methods have none.
type combination struct {
	averages []average
	// losses are the squared errors of the levels without and with their season; older
	// intervals count less.
	losses [2]float64
}

// each calls f with the levels of each average.
func (c *combination) each(f func(level *[]float32)) {
	for i := range c.averages {
		f(&c.averages[i].level)
	}
}

// weights are those of forecasts with these losses; they add up to 1.
func weights(losses ...float64) []float64 {
	least, all := math.Inf(1), 0.0
	for _, x := range losses {
		least = min(least, x)
	}
	out := make([]float64, len(losses))
	for i, x := range losses {
		if out[i] = 1; x > least {
			out[i] = math.Pow(least/x, lossPower)
		}
		all += out[i]
	}
	for i := range out {
		out[i] /= all
	}
	return out
}

// combine takes in the shares of an interval. The averages follow them by a gain that is at least
// that; the levels are the mean of the averages after it.
func (s *series) combine(share []float32, least float64) {
	losses := make([]float64, len(s.combination.averages))
	for i := range s.combination.averages {
		a := &s.combination.averages[i]
		gain := max(combinedAlphas[i], least)
		var parts [assign.MostParts]sum
		assign.InParts(len(share), func(part, from, to int) {
			var squares sum
			for id := from; id < to; id++ {
				if share[id] >= 0 {
					e := float64(share[id] - a.level[id])
					squares.add(e * e)
					a.level[id] = float32(float64(a.level[id]) + float64(gain*e))
				}
			}
			parts[part] = squares
		})
		squares := sumOf(parts[:])
		if s.intervals > 0 {
			a.loss = float64(lossMemory*a.loss) + squares.value()
		}
		losses[i] = a.loss
	}
	weight := weights(losses...)
	assign.InParts(len(share), func(_, from, to int) {
		for id := from; id < to; id++ {
			level := 0.0
			for i, w := range weight {
				level += float64(w * float64(s.combination.averages[i].level[id]))
			}
			s.level[id] = float32(level)
		}
	})
}

// judgeSeason compares the errors of an interval, whose innovation is v, with what they would have been
// without the season, and with it.
func (s *series) judgeSeason(share []float32, v *innovation) {
	if s.period == 0 {
		return
	}
	plain, better := v.energy(), sum{}
	lag := &s.recent[len(s.recent)-s.period]
	for i, id := range lag.keys {
		if share[id] >= 0 {
			without := float64(share[id] - s.level[id])
			with := float64(share[id]) - max(0, float64(s.level[id])+float64(s.weight*float64(lag.diff[i])))
			better.add(float64(without*without) - float64(with*with))
		}
	}
	for i, x := range [2]float64{plain, max(0, plain-better.value())} {
		s.combination.losses[i] = float64(lossMemory*s.combination.losses[i]) + x
	}
}

package forecast

import (
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// bound is what a layout has of a resource with a limit; zero of others.
type bound struct {
	limited bool
	scale   float64   // all that is expected to be taken, as a part of all capacity
	over    bool      // something is on an instance that has none
	errors  []float64 // of the forecasts of what is taken altogether
	grown   float64   // the one that is recalled
}

// mostPart is what the greatest part of a bound counts for at most beside others: an instance without any memory has
// infinitely much more than that as soon as one key is on it.
const mostPart = 100

// again is the value of so many intervals ago, from 1 on, of a list that begins anew before its first one.
func again(list []float64, ago int) float64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1-(ago-1)%len(list)]
}

// filled is the greatest part of a capacity that is taken, where instances take so much of their fair parts.
func (b *bound) filled(most, size float64) float64 {
	if b.over {
		return planner.MaxAmount
	}
	return max(0, most) * b.scale * max(0, 1+float64(size*b.grown))
}

// layouts are those of the resources beside cost, of the amounts of a snapshot of the forecast's statistics.
func (f *Forecast) layouts(s *planner.Snapshot, at []int32) []*layout {
	out := make([]*layout, len(s.Resources))
	for r, of := range s.Resources {
		out[r] = resourceLayout(s, at, r)
		if known := f.state.named(of); known != nil && of.From != planner.FromCount {
			out[r].series = &known.series
			if _, errors := known.growth(); of.Limited {
				out[r].errors = errors
			}
		}
	}
	return out
}

// resourceLayout sums up what is taken of a resource beside cost.
func resourceLayout(s *planner.Snapshot, at []int32, r int) *layout {
	l := &layout{at: at, load: exact.SumsBy(len(s.Instances), at, s.Amounts[r], nil)}
	l.fair = make([]float64, len(s.Instances))
	l.limited = s.Resources[r].Limited
	total, capacity := 0.0, 0.0
	for d, in := range s.Instances {
		l.load[d] += in.ResidualAmounts[r]
		total += l.load[d]
		if in.Live() {
			l.fair[d] = s.CapacityOf(d, r)
			capacity += l.fair[d]
			l.over = l.over || l.fair[d] == 0 && l.load[d] > 0
			l.live++
		}
	}
	for d := range l.load {
		if total > 0 {
			l.load[d] /= total
		}
		if capacity > 0 {
			l.fair[d] /= capacity
		}
	}
	switch {
	case l.limited && capacity > 0:
		l.scale = total / capacity
	case !l.limited && total == 0: // nothing is above a fair part of nothing
		clear(l.fair)
	case !l.limited && s.Eligibility != nil:
		l.fair = s.FairSharesOf(r)
	}
	l.over = l.over && l.limited
	return l
}

// Realised are the levels of the resources of a snapshot beside cost, of the amounts that the last interval had,
// with the keys of the forecast's rows at the given instances: of each its θ, or with a limit the greatest part of a
// capacity that is taken; and the instances that they are of.
func (f *Forecast) Realised(s *planner.Snapshot, at []int32) (levels []float64, worst []int32) {
	if len(s.Resources) == 0 {
		return nil, nil
	}
	came := *s
	came.Amounts, came.Instances = make([][]float64, len(s.Resources)), slices.Clone(s.Instances)
	for d := range came.Instances {
		came.Instances[d].ResidualAmounts = make([]float64, len(s.Resources))
	}
	levels, worst = make([]float64, len(s.Resources)), make([]int32, len(s.Resources))
	for r, of := range s.Resources {
		a, _ := f.Observed.AmountsOf(of) // without an error: the snapshot is made of them
		came.Amounts[r] = make([]float64, s.Len())
		copy(came.Amounts[r], a.Rows)
		for i, x := range f.Observed.Residual {
			if d := slices.IndexFunc(s.Instances, func(d planner.Instance) bool { return d.ID == x.Instance }); d >= 0 {
				came.Instances[d].ResidualAmounts[r] += a.Residual[i]
			}
		}
		l := resourceLayout(&came, at, r)
		levels[r], worst[r] = l.expected(), l.worst(s)
	}
	return levels, worst
}

// worst is the instance that the level is of; 0 where nothing is taken.
func (l *layout) worst(s *planner.Snapshot) (worst int32) {
	most := 0.0
	for d, fair := range l.fair {
		if part := l.load[d] / fair; s.Instances[d].Live() && (fair > 0 || l.over) && part > most {
			worst, most = int32(d), part
		}
	}
	return worst
}

// Joint is one θ for all resources of a snapshot, of whose levels cost's θ is the first: that of the cost which would
// be as great a part of its bound, 1+θ_max, as the resource that takes the most of its own. It is above θ_max where any
// bound is broken, and θ itself where there is cost alone.
func Joint(s *planner.Snapshot, thetaMax float64, levels []float64) float64 {
	return joint(s, thetaMax, func(r int) float64 { return levels[r] })
}

func joint(s *planner.Snapshot, thetaMax float64, level func(r int) float64) float64 {
	theta := level(0)
	for r, of := range s.Resources {
		if part := partOf(of, level(r+1)); part > 0 {
			theta = max(theta, float64((1+thetaMax)*min(part, mostPart))-1)
		}
	}
	return theta
}

// partOf is how much of its bound a resource with a level takes.
func partOf(of planner.Resource, level float64) float64 {
	if of.Limited {
		return level
	}
	return (1 + level) / (1 + of.ThetaMax)
}

// Call says what cost is called where there are several resources.
func (p *Prediction) Call(cost string) {
	if p != nil && len(p.Resources) > 0 {
		p.Resources[0].Name = cost
	}
}

// resourcePredictionOf sums up the levels of a resource, the first of which is cost.
func resourcePredictionOf(s *planner.Snapshot, r int, levels []float64, expected, thetaMax float64) ResourcePrediction {
	out, most := ResourcePrediction{}, thetaMax
	if r > 0 {
		of := s.Resources[r-1]
		out.Name, most = of.Name, of.ThetaMax
		if of.Limited {
			most = 1
		}
	}
	p := predictionOf(levels, expected, most)
	out.Expected, out.Median, out.P95, out.Probability = p.Expected, p.Median, p.P95, p.Probability
	return out
}

package forecast

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

const (
	// LeastInnovations is how many errors of forecasts there must have been before
	// anything is predicted of them.
	LeastInnovations = 3
	// resampled is how many of the last innovations predictions are made of.
	resampled = 30
	// draws is how often each innovation is drawn: its size, and its small keys.
	draws = 16
	// errorSpread is the standard deviation of the logarithm by which errors are greater
	// or smaller than those of the past: a few of them say little of how great they can be.
	errorSpread = 0.4
)

// Prediction is what is expected of the next interval under a routing table.
type Prediction struct {
	// Theta of the loads that are expected, if they came exactly so.
	Expected float64 `json:"expected"`
	// Median and P95 are of θ.
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	// Excess is the mean of what θ is above θ_max.
	Excess float64 `json:"excess"`
	// Probability that θ_max is broken.
	Probability float64 `json:"probability"`
	// Resources are by resource, cost first. Where there are any, the other figures are of the resource that
	// takes the most of its bound, as [Joint] has it. Nil: there is cost alone.
	Resources []ResourcePrediction `json:"resources,omitzero"`
}

// ResourcePrediction is what is expected of one resource: of its θ, or under a limit of the greatest part of a capacity
// that is taken.
type ResourcePrediction struct {
	Name        string  `json:"name"` // of cost "", until somebody says what it is called
	Expected    float64 `json:"expected"`
	Median      float64 `json:"median"`
	P95         float64 `json:"p95"`
	Probability float64 `json:"probability"` // that its bound is broken
}

// Predict says what to expect when the keys of the forecast's rows are at the given
// instances of a snapshot of its statistics, and those of splits on their parts. It is nil
// while fewer than [LeastInnovations] errors of forecasts are known.
//
// Whole innovations of the past come again, somewhat greater or smaller: those of the
// greatest keys as they were, those of all others as noise of the same energy.
func (f *Forecast) Predict(s *planner.Snapshot, at []int32, splits []planner.Split, thetaMax float64) *Prediction {
	vectors := f.state.recent[max(0, len(f.state.recent)-resampled):]
	if len(vectors) < LeastInnovations || f.Statistics.Len() == 0 {
		return nil
	}
	l := f.layout(s, at, splits)
	if l.fair == nil {
		return nil
	}
	all := append([]*layout{l}, f.layouts(s, at)...)
	levels := make([][]float64, len(all))
	thetas := make([]float64, 0, len(vectors)*draws)
	rows, rng := f.rowsOfKeys(), rand.New(rand.NewPCG(uint64(len(vectors)), 0))
	for i := range vectors {
		for _, l := range all {
			l.recall(len(vectors)-i, rows)
		}
		for range draws {
			size := math.Exp(errorSpread * rng.NormFloat64())
			for r, l := range all {
				levels[r] = append(levels[r], l.drawn(size, rng))
			}
			thetas = append(thetas, joint(s, thetaMax, func(r int) float64 { return levels[r][len(thetas)] }))
		}
	}
	expected := make([]float64, len(all))
	for r, l := range all {
		expected[r] = l.expected()
	}
	p := predictionOf(thetas, Joint(s, thetaMax, expected), thetaMax)
	for r := range all {
		if len(all) > 1 {
			p.Resources = append(p.Resources, resourcePredictionOf(s, r, levels[r], expected[r], thetaMax))
		}
	}
	return p
}

// predictionOf sums thetas up.
func predictionOf(thetas []float64, expected, thetaMax float64) *Prediction {
	slices.Sort(thetas)
	n := len(thetas)
	p := &Prediction{Expected: expected, Median: (thetas[(n-1)/2] + thetas[n/2]) / 2, P95: thetas[(n*95+99)/100-1]}
	for _, theta := range thetas {
		if theta > thetaMax*(1+exact.Tolerance) {
			p.Probability += 1 / float64(n)
			p.Excess += (theta - thetaMax) / float64(n)
		}
	}
	p.Probability = min(1, p.Probability)
	return p
}

// layout is where keys are, and what loads to expect there.
type layout struct {
	series *series                  // errors of the shares; nil: none are known
	at     []int32                  // instance of each row
	parts  map[int32][]planner.Part // of the rows of split keys, instead; nil: there are none
	load   []float64                // share of each instance
	fair   []float64                // of each live instance; 0 of others
	live   int

	shifts, sized []float64 // by which the loads of instances differed in a past interval, and of one draw
	sigma         float64   // of the noise of the small keys then

	bound // of a resource beside cost
}

// layout sums the forecast up by instance. Residuals are on their instances.
func (f *Forecast) layout(s *planner.Snapshot, at []int32, splits []planner.Split) *layout {
	l := &layout{series: &f.state.series, at: at}
	costs := s.Cost
	if len(splits) > 0 {
		costs, l.parts = slices.Clone(costs), make(map[int32][]planner.Part, len(splits))
	}
	for _, x := range splits {
		costs[x.Item], l.parts[x.Item] = 0, x.Parts
	}
	l.load = exact.SumsBy(len(s.Instances), at, costs, nil)
	for _, x := range splits {
		for _, part := range x.Parts {
			l.load[part.Instance] += float64(s.Cost[x.Item] * weight(part))
		}
	}
	total, capacity := 0.0, 0.0
	for d, in := range s.Instances {
		l.load[d] += in.ResidualCost
		total += l.load[d]
		if in.Live() {
			capacity += in.Capacity
			l.live++
		}
	}
	if total <= 0 || capacity <= 0 {
		return l
	}
	l.fair = make([]float64, len(l.load))
	for d, in := range s.Instances {
		l.load[d] /= total
		if in.Live() {
			l.fair[d] = in.Capacity / capacity
		}
	}
	if s.Eligibility != nil {
		l.fair = s.FairShares(costs)
	}
	return l
}

// weight is the share of a key's cost that its part gets.
func weight(x planner.Part) float64 { return float64(x.Weight) / planner.PartUnits }

// shift adds a multiple of an innovation to the loads of the instances that its keys are
// at, and returns the energy of the keys of which nobody knows where they are.
func (l *layout) shift(loads []float64, v *innovation, rows []int32, times float64) float64 {
	if v == nil {
		return 0
	}
	unknown := sum{}
	sums := make([]sum, len(loads))
	for i, id := range v.keys {
		d := float64(v.diff[i])
		switch row := rows[id]; {
		case row < 0:
			unknown.add(d * d)
		case l.parts[row] == nil:
			sums[l.at[row]].add(d)
		default:
			for _, part := range l.parts[row] {
				sums[part.Instance].add(d * weight(part))
			}
		}
	}
	for d := range loads {
		loads[d] += float64(times * sums[d].value())
	}
	return float64(times * times * (v.rest + unknown.value()))
}

// recall has errors come again that were made so many intervals ago, from 1 on.
func (l *layout) recall(ago int, rows []int32) {
	if l.shifts == nil {
		l.shifts, l.sized = make([]float64, len(l.load)), make([]float64, len(l.load))
	}
	clear(l.shifts)
	l.sigma, l.grown = 0, again(l.errors, ago)
	if l.series == nil || len(l.series.recent) == 0 {
		return
	}
	at := len(l.series.recent) - 1 - (ago-1)%len(l.series.recent)
	lag, weight := (*innovation)(nil), 0.0
	if before := at - l.series.period; l.series.period > 0 && before >= 0 {
		lag, weight = &l.series.recent[before], l.series.seasonWeight()
	}
	rest := l.shift(l.shifts, &l.series.recent[at], rows, 1) + l.shift(l.shifts, lag, rows, -weight)
	l.sigma = math.Sqrt(rest / float64(l.live))
}

// drawn is the level that comes of the errors that were recalled, some times as great.
func (l *layout) drawn(size float64, rng *rand.Rand) float64 {
	for d, x := range l.shifts {
		l.sized[d] = size * x
	}
	return l.level(l.sized, size, func() float64 { return float64(size * l.sigma * rng.NormFloat64()) })
}

// expected is the level of the loads that are expected.
func (l *layout) expected() float64 {
	return l.level(make([]float64, len(l.load)), 0, func() float64 { return 0 })
}

// level is the greatest overload of a live instance whose load is shifted and noisy, or with a limit the greatest part
// of a capacity. Shares add up to 1: what some gain or lose, all others lose or gain, which is the same part of
// a fair load wherever they are.
func (l *layout) level(shift []float64, size float64, noise func() float64) float64 {
	most, gained := math.Inf(-1), 0.0
	for d, fair := range l.fair {
		by := shift[d]
		if fair > 0 {
			by += noise()
			most = max(most, (l.load[d]+by)/fair)
		}
		gained += by
	}
	if l.limited {
		return l.filled(most-gained, size)
	}
	return max(0, most-gained-1)
}

// rowsOfKeys returns the row of each key of the state, or -1.
func (f *Forecast) rowsOfKeys() []int32 {
	rows := make([]int32, f.state.keys.Len())
	for id := range rows {
		rows[id] = -1
	}
	for row := range f.Statistics.Len() {
		if id := f.id(row); id >= 0 {
			rows[id] = int32(row)
		}
	}
	return rows
}

// Floor is the θ that the next interval would have if the expected loads were exactly
// even: what no plan can do anything about.
type Floor struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
}

// floorQuantiles is of how many quantiles the distribution of θ is made.
const floorQuantiles = 200

// Floor returns the noise floor of so many instances of one capacity; nil while fewer
// than [LeastInnovations] errors of forecasts are known.
//
// The loads of instances are taken to be independent and normal. Where the errors have
// the same energy Σ ε² in all intervals, and σ² is that times the number of instances N,
// the median is Φ⁻¹(2^(−1/N))·σ, and the p95 √(1−1/N)·Φ⁻¹(0.95^(1/N))·σ. Else θ is now
// that of one interval, now that of another.
func (s *State) Floor(instances int) *Floor {
	n := float64(instances)
	return s.floor(instances, n, func(p float64) float64 { return normalQuantile(math.Pow(p, 1/n)) })
}

// FloorUnder is Floor of instances whose fair parts of all load differ, as under rules; those
// whose part is 0 have no θ. The variance of a load is taken to be in proportion to it: that of
// the θ of an instance whose part is f is Σ ε² / f.
func (s *State) FloorUnder(fair []float64) *Floor {
	parts := map[float64]int{} // how many instances have one
	instances, least := 0, 1.0
	for _, f := range fair {
		if f > 0 {
			parts[f]++
			instances, least = instances+1, min(least, f)
		}
	}
	distinct := slices.Sorted(maps.Keys(parts))
	return s.floor(instances, 1, func(p float64) float64 {
		low, high := 0.0, 40/math.Sqrt(least)
		for range 60 {
			x, below := (low+high)/2, 1.0
			for _, f := range distinct {
				below *= math.Pow((1+math.Erf(x*math.Sqrt(f/2)))/2, float64(parts[f]))
			}
			if below < p {
				low = x
			} else {
				high = x
			}
		}
		return high
	})
}

// floor is that of so many instances, of whose θ the greatest has these quantiles where the errors
// have an energy of 1 / scale.
func (s *State) floor(instances int, scale float64, quantile func(p float64) float64) *Floor {
	vectors := s.recent[max(0, len(s.recent)-resampled):]
	if len(vectors) < LeastInnovations || instances < 2 {
		return nil
	}
	n := float64(instances)
	greatest := make([]float64, floorQuantiles)
	for q := range greatest {
		greatest[q] = quantile((float64(q) + 0.5) / floorQuantiles)
	}
	thetas := make([]float64, 0, len(vectors)*floorQuantiles)
	for i := range vectors {
		sigma := math.Sqrt(scale * vectors[i].energy())
		for _, z := range greatest {
			thetas = append(thetas, sigma*z)
		}
	}
	slices.Sort(thetas)
	all := len(thetas)
	return &Floor{
		Median: (thetas[(all-1)/2] + thetas[all/2]) / 2,
		P95:    math.Sqrt(1-1/n) * thetas[all*95/100],
	}
}

// normalQuantile is that of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(float64(2*p)-1) }

package forecast

// season is what is added to the levels of some keys.
type season struct {
	of     *series
	lag    *innovation // of one period before the interval to come; nil: none
	weight float64
}

// season is that of the interval to come.
func (s *series) season() season {
	if s.period == 0 {
		return season{}
	}
	return season{s, &s.recent[len(s.recent)-s.period], s.seasonWeight()}
}

// seasonWeight is how much of the error of one period earlier is expected again.
func (s *series) seasonWeight() float64 {
	if s.config.Method != Combined {
		return s.weight
	}
	return float64(s.weight * weights(s.combination.losses[:]...)[1])
}

// each tells of each key with a season what share to expect.
func (x season) each(expect func(id int32, share float64)) {
	if x.lag == nil {
		return
	}
	for i, id := range x.lag.keys {
		expect(id, max(0, float64(x.of.level[id])+float64(x.weight*float64(x.lag.diff[i]))))
	}
}

const (
	// leastCorrelation is that of a season that is taken for one.
	leastCorrelation = 0.3
	// clearly is by how much a longer season has to be better than a shorter one: what
	// comes again after a day also does after two.
	clearly = 1.1
)

// Period is the length of the season, in intervals, and how much of the error of one
// period earlier is expected again, up to 1. Both are 0 while no season is known, and
// of methods other than seasonal and combined.
func (s *series) Period() (period int, weight float64) { return s.period, s.seasonWeight() }

// findPeriod looks for the season in what is remembered: innovations that come again,
// over a third of a period at least.
func (s *series) findPeriod() {
	s.period, s.weight = 0, 0
	if s.config.Method != Seasonal && s.config.Method != Combined {
		return
	}
	from, to := s.config.Period, s.config.Period
	if from == 0 {
		from, to = 2, MaxPeriod
	}
	for p := from; p <= to && len(s.recent) >= p+max(2, p/3); p++ {
		if c := min(1, s.correlation(p)); c >= max(leastCorrelation, clearly*s.weight) {
			s.period, s.weight = p, c
		}
	}
}

// correlation is that of innovations which are so many intervals apart.
func (s *series) correlation(lag int) float64 {
	product, square := 0.0, 0.0
	for i := lag; i < len(s.recent); i++ {
		product += s.recent[i].dot(&s.recent[i-lag])
		square += s.recent[i-lag].energy()
	}
	if square == 0 {
		return 0
	}
	return product / square
}

// dot is the scalar product over the keys that both list.
func (v *innovation) dot(w *innovation) float64 {
	var products sum
	j := 0
	for i, id := range v.keys {
		for j < len(w.keys) && w.keys[j] < id {
			j++
		}
		if j < len(w.keys) && w.keys[j] == id {
			products.add(float64(v.diff[i]) * float64(w.diff[j]))
		}
	}
	return products.value()
}

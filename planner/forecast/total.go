package forecast

import "math"

const (
	// averageAlpha is that of the moving average of totals, levelAlpha and trendAlpha are those of their trend.
	averageAlpha = 0.25
	levelAlpha   = 0.5
	trendAlpha   = 0.25
	// leastTotals is how many totals there must be before anything but the last one is expected.
	leastTotals = 3
	// seasonal is the part of the squared errors of the last total that those of a season may have at most.
	seasonal = 0.5
)

// totals forecasts all that keys take of a resource, in three ways: as the last total, as a moving average, and
// as a linear trend (Holt, Forecasting seasonals and trends by exponentially weighted moving averages, 1957); with a
// season, also as the last one plus what was added one period earlier.
type totals struct {
	seen           []float64
	average, level float64
	trend          float64
	period         int // 0: there is no season
	losses         []float64
}

// growth is by how many times all that is taken of a resource is expected to grow in the next interval, and by which
// parts of what was expected the totals of the last intervals differed from it.
func (r *resource) growth() (growth float64, errors []float64) {
	t := totals{}
	if r.config.Method == Seasonal || r.config.Method == Combined {
		t.period = seasonOf(r.totals)
	}
	expected := 0.0
	for i, total := range r.totals {
		if i > 0 && expected > 0 {
			errors = append(errors, (total-expected)/expected)
		}
		t.add(total)
		expected = t.expected()
	}
	if n := len(r.totals); n > 0 && r.totals[n-1] > 0 {
		return expected / r.totals[n-1], errors
	}
	return 1, errors
}

// ways are the forecasts; that of a season comes last, and counts as no better than the last total to begin with.
func (t *totals) ways() []float64 {
	n := len(t.seen)
	out := []float64{t.seen[n-1], t.average, max(0, t.level+t.trend)}
	if p := t.period; p > 0 && n > p {
		out = append(out, max(0, t.seen[n-1]+t.seen[n-p]-t.seen[n-p-1]))
	}
	switch {
	case t.losses == nil:
		t.losses = make([]float64, len(out))
	case len(t.losses) < len(out):
		t.losses = append(t.losses, t.losses[0])
	}
	return out
}

// add takes in the next total.
func (t *totals) add(total float64) {
	if t.seen == nil {
		t.seen, t.average, t.level = []float64{total}, total, total
		return
	}
	for i, x := range t.ways() {
		t.losses[i] = float64(lossMemory*t.losses[i]) + float64((total-x)*(total-x))
	}
	before := t.level
	ahead := before + t.trend
	t.level = ahead + float64(levelAlpha*(total-ahead))
	t.trend += float64(trendAlpha * (t.level - before - t.trend))
	t.average += float64(averageAlpha * (total - t.average))
	t.seen = append(t.seen, total)
}

// expected is the mean of the forecasts by their errors.
func (t *totals) expected() float64 {
	if len(t.seen) < leastTotals {
		return t.seen[len(t.seen)-1]
	}
	ways := t.ways()
	sum := 0.0
	for i, w := range weights(t.losses...) {
		sum += float64(w * ways[i])
	}
	return sum
}

// seasonOf is the period, in intervals, after which totals change by the same; 0: there is none.
func seasonOf(totals []float64) (period int) {
	best := seasonal
	for p := 2; p <= MaxPeriod && len(totals) >= p+1+max(4, p/2); p++ {
		with, without := 0.0, 0.0
		for i := p + 1; i < len(totals); i++ {
			change := totals[i] - totals[i-1]
			e := change - (totals[i-p] - totals[i-p-1])
			with, without = with+float64(e*e), without+float64(change*change)
		}
		if without > 0 && with < best*without {
			period, best = p, math.Min(best, with/without/clearly)
		}
	}
	return period
}

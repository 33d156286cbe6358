package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// percentile is the nearest-rank one: the least value that at least p percent of all do not
// exceed. Unlike an interpolation it can be infinite without being NaN, which it is without
// values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// sortTime is the yardstick of times: the median, in seconds, of n sorts of a million random
// numbers.
func sortTime(n int) float64 {
	r, times := rand.New(rand.NewPCG(1, 2)), make([]float64, n)
	numbers := make([]float64, 1_000_000)
	for i := range times {
		for j := range numbers {
			numbers[j] = r.Float64()
		}
		begin := time.Now()
		slices.Sort(numbers)
		times[i] = time.Since(begin).Seconds()
	}
	return percentile(times, 50)
}

// tally gathers what one strategy did over a slice of the cases.
type tally struct {
	strategy string
	tried    int // cases not skipped
	meets    int // plans that meet every constraint
	missed   int // feasible cases without one
	stopped  int // by the time limit, with or without a plan
	late     int // took more than half as long again as the time limit
	zero     int // plans that move state where the bound is 0

	work float64 // units, all together

	ratios, qualities, tables, thetas, fractions, seconds []float64
}

// add takes in the strategy's answer to a case, which had that time limit.
func (t *tally) add(r *record, limit time.Duration) {
	x := r.of(t.strategy)
	if x == nil {
		return
	}
	t.tried++
	t.work += float64(x.work)
	t.seconds = append(t.seconds, x.elapsed.Seconds())
	if x.status == statusStopped || x.status == statusNoPlan {
		t.stopped++
	}
	if x.elapsed > limit+limit/2 {
		t.late++
	}
	if x.planned() {
		t.tables = append(t.tables, float64(x.table))
		t.thetas = append(t.thetas, x.theta)
		t.fractions = append(t.fractions, x.fraction)
	}
	if x.planned() && x.meets {
		t.meets++
	}
	if q, ok := r.boundQuality(x); ok {
		t.qualities = append(t.qualities, q)
	}
	if r.class != classFeasible {
		return
	}
	ratio, ok := r.ratio(x)
	if !ok {
		t.zero++
		return
	}
	if math.IsInf(ratio, 1) {
		t.missed++
	}
	t.ratios = append(t.ratios, ratio)
}

// counts are the cases of a slice by what is known of them.
type counts struct {
	cases, settled, hot           int
	feasible, infeasible, unknown int
}

func countOf(records []*record) counts {
	var n counts
	for _, r := range records {
		n.cases++
		if r.settled {
			n.settled++
			continue
		}
		if r.hot > 0 {
			n.hot++
		}
		switch r.class {
		case classFeasible:
			n.feasible++
		case classInfeasible:
			n.infeasible++
		case classUnknown:
			n.unknown++
		}
	}
	return n
}

// wide is the ratio above which a gap counts as wide.
const wide = 1.15

// share is how many of the values are above a limit.
func share(values []float64, limit float64) float64 {
	above := 0
	for _, x := range values {
		if x > limit {
			above++
		}
	}
	return float64(above) / float64(len(values))
}

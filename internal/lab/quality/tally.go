package main

import (
	"math"
	"time"

	"plannerd/internal/lab/measure"
)

// percentile is the nearest-rank one, NaN without values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return measure.Quantile(values, p/100)
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

func countOf(records []*record, withSettled bool) counts {
	var n counts
	for _, r := range records {
		n.cases++
		if r.settled {
			n.settled++
			if !withSettled {
				continue
			}
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

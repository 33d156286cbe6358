package forecast

import (
	"slices"

	"plannerd/planner"
	"plannerd/planner/internal/assign"
)

// resource is what is remembered of a resource beside cost.
//
// Of one that rows tell, the shares of keys are forecast as those of cost are. A state is not what comes and goes
// in an interval but what has gathered: it stays, and a mean of the past would lag behind it. So the share of a key in
// all state is expected to be its last one, whatever the method. Counts are not forecast: each key that
// was named counts 1.
//
// A limit holds what a key takes, not its share. So the total is forecast, too, see growth.
type resource struct {
	series
	name   string
	from   planner.AmountSource
	totals []float64 // of the last intervals that tell them
}

// Track has the resources of an operator beside cost be forecast from now on, and no others. What is known of those
// that were before stays.
func (s *State) Track(resources []planner.Resource) {
	before := s.resources
	s.resources = nil
	for _, x := range resources {
		i := slices.IndexFunc(before, func(r *resource) bool { return r.name == x.Name && r.from == x.From })
		if i >= 0 {
			s.resources = append(s.resources, before[i])
			continue
		}
		s.resources = append(s.resources, s.begun(x.Name, x.From))
	}
}

// begun is a resource of which nothing is known.
func (s *State) begun(name string, from planner.AmountSource) *resource {
	c, keys := s.config, s.keys.Len()
	switch from {
	case planner.FromState:
		c = Config{Method: Last}
	case planner.FromCount:
		c, keys = Config{Method: Last}, 0
	}
	return &resource{series: newSeries(c, keys), name: name, from: from}
}

// each calls f with what is remembered of the shares in cost, and in each resource that is forecast.
func (s *State) each(f func(x *series)) {
	f(&s.series)
	for _, r := range s.resources {
		if r.from != planner.FromCount {
			f(&r.series)
		}
	}
}

// named is the resource of a plan; nil: it is not tracked.
func (s *State) named(of planner.Resource) *resource {
	for _, r := range s.resources {
		if r.name == of.Name && r.from == of.From {
			return r
		}
	}
	return nil
}

// amounts are those of statistics, and of all keys together, named or not; false: nobody tells them.
func (r *resource) amounts(stats *planner.Statistics) (a planner.Amounts, total float64, told bool) {
	a, err := stats.AmountsOf(planner.Resource{Name: r.name, From: r.from})
	return a, totalOf(a.Rows) + totalOf(a.Residual), err == nil
}

// observe takes in an interval with any cost, as State.Observe does.
func (r *resource) observe(stats *planner.Statistics, ids []int32, keys *planner.Keys, whole bool) {
	if r.from == planner.FromCount {
		return
	}
	a, total, told := r.amounts(stats)
	switch {
	case told && total > 0:
		r.update(shares{cost: a.Rows, total: total, ids: ids, keys: keys, whole: whole})
	case r.intervals > 0: // errors of all resources are those of the same intervals
		r.keep(innovation{})
	}
	if told && len(stats.PartialOn) == 0 && len(stats.Frozen) == 0 {
		if len(r.totals) == remembered {
			r.totals = slices.Delete(r.totals, 0, 1)
		}
		r.totals = append(r.totals, total)
	}
}

// expect says in a forecast what its rows are to take of the resource.
func (r *resource) expect(f *Forecast, whole bool) {
	a, total, told := r.amounts(f.Observed)
	if !told {
		return
	}
	rows := make([]float64, f.Statistics.Len())
	growth, _ := r.growth()
	switch r.from {
	case planner.FromCount:
		copy(rows, a.Rows)
	case planner.FromState:
		for row, x := range a.Rows {
			rows[row] = min(planner.MaxAmount, x*growth)
		}
	default:
		expected := r.expected()
		if !whole { // what the named keys take is known, and what part of all that is, is not
			shares := make([]float64, len(a.Rows))
			for row := range shares {
				shares[row] = expected(f.id(row))
			}
			if part := totalOf(shares); part > 0 {
				total = totalOf(a.Rows) / part
			}
		}
		assign.InParts(len(rows), func(_, from, to int) {
			for row := from; row < to; row++ {
				rows[row] = min(planner.MaxAmount, expected(f.id(row))*total*growth)
			}
		})
	}
	residual := slices.Clone(a.Residual)
	if r.from != planner.FromCount {
		for i := range residual {
			residual[i] = min(planner.MaxAmount, residual[i]*growth)
		}
	}
	f.Statistics.Expected = append(f.Statistics.Expected,
		planner.Amounts{Name: r.name, From: r.from, Rows: rows, Residual: residual})
}

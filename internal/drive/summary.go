package drive

import (
	"slices"

	"plannerd/planner"
)

// Spread is what becomes of one figure over the intervals of a stream.
type Spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	Total  float64 `json:"total"`
}

// SpreadOf returns the spread of the values; the median of an even number of
// them is the mean of the middle two. No values: zero.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	s := Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Max: sorted[n-1]}
	for _, v := range sorted {
		s.Total += v
	}
	return s
}

// Summary gathers the figures of a driven stream. Its zero value is empty.
type Summary struct {
	counts     Report // without figures that are gathered first
	violations int

	thetaBefore, thetaAfter, keys, state, fraction, objective, table, milliseconds []float64
	merges                                                                         []float64 // where keys may be split
	bounds                                                                         []float64 // where they are feasible
	thetaMax                                                                       float64
	effects                                                                        []Effect
	left                                                                           Departures
	met                                                                            proven
	forms                                                                          []*Compaction
}

// Add takes in one step.
func (s *Summary) Add(step Step) {
	r := &s.counts
	r.Intervals++
	s.milliseconds = append(s.milliseconds, Milliseconds(step.Elapsed))
	p := step.Plan
	if p == nil {
		return
	}
	r.Planned++
	r.Balanced += count(p.Balanced)
	r.WithinLimit += count(p.TableWithinLimit)
	r.Acted += count(!p.Empty())
	r.Stopped += count(p.EndReason != planner.EndCompleted)
	s.violations += p.Outcome().Violations
	s.thetaBefore = append(s.thetaBefore, p.Theta.Before)
	s.thetaAfter = append(s.thetaAfter, p.Theta.After)
	s.keys = append(s.keys, float64(p.Migration.Keys))
	s.state = append(s.state, p.Migration.State)
	s.fraction = append(s.fraction, p.Migration.Fraction)
	s.objective = append(s.objective, p.Migration.Objective)
	s.table = append(s.table, float64(p.TableAfter))
	if p.Options.Splitting != nil {
		s.merges = append(s.merges, float64(p.Merges()))
	}
	if step.Compaction != nil {
		s.forms = append(s.forms, step.Compaction)
	}
	s.thetaMax = p.Options.ThetaMax
	effect := Effect{Theta: p.Theta.Before, Table: p.TableAfter}
	effect.Moved, effect.Returned = s.left.Add(&step, step.Whole)
	s.effects = append(s.effects, effect)
	s.certify(p)
}

// Realised are the figures of all planned intervals but the first, which ran under no plan
// of the stream. Nil: there is none.
func (s *Summary) Realised() *Realised {
	if len(s.effects) < 2 {
		return nil
	}
	r := RealisedOf(s.thetaMax, s.effects, 1, len(s.effects))
	return &r
}

// proven adds up, over the plans that meet every constraint, what they minimise
// and how little it can be at best.
type proven struct {
	plans        int
	value, bound float64
}

func (s *Summary) certify(p *planner.Plan) {
	c := p.Certificate
	if c == nil {
		return
	}
	s.counts.Proven.Plans++
	if c.Infeasible {
		s.counts.Proven.Infeasible++
		return
	}
	s.bounds = append(s.bounds, c.LowerBound)
	value, met := p.Migration.Objective, p.Balanced && p.TableWithinLimit
	if p.Options.Objective == planner.MinImbalance {
		value, met = p.Theta.After, p.TableWithinLimit
	}
	if c.Gap != nil || c.LowerBound == 0 && met {
		s.met.plans++
		s.met.value += value
		s.met.bound += c.LowerBound
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// gap is by how much the plans that meet every constraint exceed what is proven
// to be least, all together: (Σ objective − Σ lower bound) / Σ lower bound. 0
// when both sums are 0; nil when only the bounds' is, or there is no such plan.
func (s *Summary) gap() *float64 {
	gap := 0.0
	switch {
	case s.met.bound > 0:
		gap = (s.met.value - s.met.bound) / s.met.bound
	case s.met.value > 0, s.met.plans == 0:
		return nil
	}
	return &gap
}

// Outcome is what planner.Front compares of whole streams: how often the table is over its
// limit, the whole migration objective, the largest table and the median of θ as it was
// realised. For a single interval it is its plan's. Nil when an interval has no plan: such a stream
// cannot be compared.
func (s *Summary) Outcome() *planner.Outcome {
	if s.counts.Intervals == 0 || s.counts.Planned < s.counts.Intervals {
		return nil
	}
	o := planner.Outcome{
		Violations: s.violations,
		Objective:  SpreadOf(s.objective).Total,
		Table:      int64(SpreadOf(s.table).Max),
		Theta:      SpreadOf(s.thetaAfter).Median,
	}
	if r := s.Realised(); r != nil {
		o.Violations, o.Theta = s.counts.Planned-s.counts.WithinLimit, r.Median
	}
	return &o
}

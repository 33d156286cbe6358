package drive

import (
	"slices"
	"time"

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
	// Intervals counts all, Planned those with a plan, Balanced and WithinLimit
	// the plans that reach their goals, Acted those that move or change anything.
	Intervals, Planned, Balanced, WithinLimit, Acted int
	// Stopped counts the plans that ended early for want of time or work budget.
	Stopped int
	// Certified counts the plans that have a certificate, Infeasible those of them
	// to which it proves that no plan meets every constraint.
	Certified, Infeasible int
	violations            int

	thetaBefore, thetaAfter, keys, state, fraction, objective, table, seconds []float64
	merges                                                                    []float64 // where keys may be split
	bounds                                                                    []float64 // where they are feasible
	thetaMax                                                                  float64
	effects                                                                   []Effect
	left                                                                      Departures
	met                                                                       proven
}

// Add takes in one step.
func (s *Summary) Add(step Step) {
	s.Intervals++
	s.seconds = append(s.seconds, step.Elapsed.Seconds())
	p := step.Plan
	if p == nil {
		return
	}
	s.Planned++
	s.Balanced += count(p.Balanced)
	s.WithinLimit += count(p.TableWithinLimit)
	s.Acted += count(!p.Empty())
	s.Stopped += count(p.EndReason != planner.EndCompleted)
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
	s.Certified++
	if c.Infeasible {
		s.Infeasible++
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

// ThetaBefore is the spread of the largest overload before each plan.
func (s *Summary) ThetaBefore() Spread { return SpreadOf(s.thetaBefore) }

// ThetaAfter is the spread of the largest overload after each plan.
func (s *Summary) ThetaAfter() Spread { return SpreadOf(s.thetaAfter) }

// Keys is the spread of the number of migrated keys.
func (s *Summary) Keys() Spread { return SpreadOf(s.keys) }

// State is the spread of the migrated state.
func (s *Summary) State() Spread { return SpreadOf(s.state) }

// Fraction is the spread of the migrated share of all state.
func (s *Summary) Fraction() Spread { return SpreadOf(s.fraction) }

// Table is the spread of the size of the routing table after each plan.
func (s *Summary) Table() Spread { return SpreadOf(s.table) }

// Merges is the spread of the number of parts of split keys beyond the first of each. Nil:
// no key may be split.
func (s *Summary) Merges() *Spread {
	if s.merges == nil {
		return nil
	}
	spread := SpreadOf(s.merges)
	return &spread
}

// LowerBound is the spread of the proven lower bounds, where some plan may meet
// every constraint.
func (s *Summary) LowerBound() Spread { return SpreadOf(s.bounds) }

// Gap is by how much the plans that meet every constraint exceed what is proven
// to be least, all together: (Σ objective − Σ lower bound) / Σ lower bound. 0
// when both sums are 0; nil when only the bounds' is, or there is no such plan.
func (s *Summary) Gap() *float64 {
	gap := 0.0
	switch {
	case s.met.bound > 0:
		gap = (s.met.value - s.met.bound) / s.met.bound
	case s.met.value > 0, s.met.plans == 0:
		return nil
	}
	return &gap
}

// Time is the spread of the planning time.
func (s *Summary) Time() (median, max, total time.Duration) {
	t := SpreadOf(s.seconds)
	d := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return d(t.Median), d(t.Max), d(t.Total)
}

// Outcome is what planner.Front compares of whole streams: how often the table is over its
// limit, the whole migration objective, the largest table and the median of θ as it was
// realised. For a single interval it is its plan's. Nil when an interval has no plan: such a stream
// cannot be compared.
func (s *Summary) Outcome() *planner.Outcome {
	if s.Intervals == 0 || s.Planned < s.Intervals {
		return nil
	}
	o := planner.Outcome{
		Violations: s.violations,
		Objective:  SpreadOf(s.objective).Total,
		Table:      int64(s.Table().Max),
		Theta:      s.ThetaAfter().Median,
	}
	if r := s.Realised(); r != nil {
		o.Violations, o.Theta = s.Planned-s.WithinLimit, r.Median
	}
	return &o
}

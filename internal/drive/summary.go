package drive

import (
	"slices"
	"time"

	"plannerd/planner"
)

// Spread is what becomes of one figure over the intervals of a stream.
type Spread struct{ Median, Max, Total float64 }

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
	Stopped    int
	violations int

	thetaBefore, thetaAfter, keys, state, fraction, objective, table, seconds []float64
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

// Time is the spread of the planning time.
func (s *Summary) Time() (median, max, total time.Duration) {
	t := SpreadOf(s.seconds)
	d := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return d(t.Median), d(t.Max), d(t.Total)
}

// Outcome is what planner.Front compares of whole streams: all violations, the
// whole migration objective, the largest table and the median θ. For a single
// interval it is its plan's. Nil when an interval has no plan: such a stream
// cannot be compared.
func (s *Summary) Outcome() *planner.Outcome {
	if s.Intervals == 0 || s.Planned < s.Intervals {
		return nil
	}
	return &planner.Outcome{
		Violations: s.violations,
		Objective:  SpreadOf(s.objective).Total,
		Table:      int64(s.Table().Max),
		Theta:      s.ThetaAfter().Median,
	}
}

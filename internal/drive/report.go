package drive

import (
	"time"

	"plannerd/planner"
)

// Compaction is the compact form that an interval was planned on.
type Compaction struct {
	Degree                int // 0: not said
	CostScale, StateScale float64
	Records               int
	Keys                  int64
	// Error is the greatest that the load of an instance is off by. Nil: the actual loads are
	// not known.
	Error *planner.Comparison
}

// Report sums a driven stream up.
type Report struct {
	Intervals   int    `json:"intervals"`
	Planned     int    `json:"planned"`
	Balanced    int    `json:"balanced"`
	WithinLimit int    `json:"table_within_limit"`
	Acted       int    `json:"acted"`
	Stopped     int    `json:"stopped"`
	ThetaBefore Spread `json:"theta_before"`
	ThetaAfter  Spread `json:"theta_after"`
	// Realised is null when fewer than two intervals were planned.
	Realised *Realised `json:"realised"`
	Keys     Spread    `json:"migrated_keys"`
	State    Spread    `json:"migrated_state"`
	Fraction Spread    `json:"migrated_fraction"`
	Proven   struct {
		Plans      int      `json:"plans"`       // that have a certificate
		Infeasible int      `json:"infeasible"`  // of these, those where no plan meets all limits
		LowerBound Spread   `json:"lower_bound"` // over the others
		Gap        *float64 `json:"gap"`
	} `json:"certificates"`
	// Compaction is null when keys were planned as they are.
	Compaction *Compacted `json:"compaction"`
	Table      Spread     `json:"table_size"`
	// Merges is absent where no key may be split.
	Merges *Spread `json:"merges,omitzero"`
	PlanMS Spread  `json:"plan_ms"`
}

// Compacted is the compact form over the intervals of a stream.
type Compacted struct {
	Degree  *int   `json:"degree"`
	Records Spread `json:"records"`
	// Error is null where the actual loads are not known.
	Error *struct {
		Before Spread `json:"before"`
		After  Spread `json:"after"`
	} `json:"error"`
}

// Report is what the stream came to so far.
func (s *Summary) Report() Report {
	r := s.counts
	r.ThetaBefore, r.ThetaAfter, r.Realised = SpreadOf(s.thetaBefore), SpreadOf(s.thetaAfter), s.Realised()
	r.Keys, r.State, r.Fraction = SpreadOf(s.keys), SpreadOf(s.state), SpreadOf(s.fraction)
	r.Proven.LowerBound, r.Proven.Gap = SpreadOf(s.bounds), s.gap()
	r.Compaction, r.Table, r.PlanMS = s.compacted(), SpreadOf(s.table), SpreadOf(s.milliseconds)
	if s.merges != nil {
		r.Merges = new(SpreadOf(s.merges))
	}
	return r
}

// Form is the compact form of the newest plan. Nil: there is none.
func (s *Summary) Form() *Compaction {
	if len(s.forms) == 0 {
		return nil
	}
	return s.forms[len(s.forms)-1]
}

// compacted is nil when nothing was planned in compact form.
func (s *Summary) compacted() *Compacted {
	if len(s.forms) == 0 {
		return nil
	}
	var records, before, after []float64
	for _, f := range s.forms {
		records = append(records, float64(f.Records))
		if f.Error != nil {
			before, after = append(before, f.Error.Before), append(after, f.Error.After)
		}
	}
	out := &Compacted{Records: SpreadOf(records)}
	if degree := s.forms[0].Degree; degree > 0 {
		out.Degree = &degree
	}
	if before != nil {
		out.Error = new(struct {
			Before Spread `json:"before"`
			After  Spread `json:"after"`
		})
		out.Error.Before, out.Error.After = SpreadOf(before), SpreadOf(after)
	}
	return out
}

// Milliseconds is a duration as figures have it.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

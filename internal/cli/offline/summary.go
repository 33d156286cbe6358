package offline

import "plannerd/internal/drive"

// spread is a figure over the intervals of a stream.
type spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(s drive.Spread) spread { return spread{s.Median, s.Max} }

// provenFigures sum the certificates of a stream up.
type provenFigures struct {
	Plans      int          `json:"plans"`       // that have one
	Infeasible int          `json:"infeasible"`  // of these, those where no plan meets all limits
	LowerBound drive.Spread `json:"lower_bound"` // over the others
	Gap        *float64     `json:"gap"`
}

// compactionSummary is the compact form over the intervals of a stream.
type compactionSummary struct {
	Degree  *int          `json:"degree"`
	Records spread        `json:"records"`
	Error   *errorSummary `json:"error"` // the greatest of an instance; null: the actual loads are not known
}

type errorSummary struct {
	Before spread `json:"before"`
	After  spread `json:"after"`
}

// StreamSummary sums a driven stream up.
type StreamSummary struct {
	Intervals   int    `json:"intervals"`
	Planned     int    `json:"planned"`
	Balanced    int    `json:"balanced"`
	WithinLimit int    `json:"table_within_limit"`
	Acted       int    `json:"acted"`
	Stopped     int    `json:"stopped"`
	ThetaBefore spread `json:"theta_before"`
	ThetaAfter  spread `json:"theta_after"`
	// Realised is null when fewer than two intervals were planned.
	Realised *drive.Realised `json:"realised"`
	Keys     drive.Spread    `json:"migrated_keys"`
	State    drive.Spread    `json:"migrated_state"`
	Fraction spread          `json:"migrated_fraction"`
	Proven   provenFigures   `json:"certificates"`
	// Compaction is null when keys were planned as they are.
	Compaction *compactionSummary `json:"compaction"`
	Table      spread             `json:"table_size"`
	// Merges is absent where no key may be split.
	Merges *drive.Spread `json:"merges,omitzero"`
	PlanMS drive.Spread  `json:"plan_ms"`
}

// summary gathers the steps of a driver.
type summary struct {
	drive.Summary
	forms []*CompactionFigures // of the intervals planned in compact form
}

func (s *summary) add(st step) {
	s.Add(st.Step)
	if st.compaction != nil {
		s.forms = append(s.forms, st.compaction)
	}
}

// compaction is nil when nothing was planned in compact form.
func (s *summary) compaction() *compactionSummary {
	if len(s.forms) == 0 {
		return nil
	}
	out := &compactionSummary{Degree: s.forms[0].Degree}
	over := func(figure func(f *CompactionFigures) float64) spread {
		values := make([]float64, len(s.forms))
		for i, f := range s.forms {
			values[i] = figure(f)
		}
		return spreadOf(drive.SpreadOf(values))
	}
	out.Records = over(func(f *CompactionFigures) float64 { return float64(f.Records) })
	if s.forms[0].Error != nil {
		out.Error = &errorSummary{
			Before: over(func(f *CompactionFigures) float64 { return f.Error.Before }),
			After:  over(func(f *CompactionFigures) float64 { return f.Error.After }),
		}
	}
	return out
}

func summaryOf(s *summary) StreamSummary {
	median, most, total := s.Time()
	return StreamSummary{
		Intervals: s.Intervals, Planned: s.Planned, Balanced: s.Balanced, WithinLimit: s.WithinLimit, Acted: s.Acted,
		Stopped:     s.Stopped,
		ThetaBefore: spreadOf(s.ThetaBefore()), ThetaAfter: spreadOf(s.ThetaAfter()), Realised: s.Realised(),
		Keys: s.Keys(), State: s.State(), Fraction: spreadOf(s.Fraction()),
		Proven: provenFigures{s.Certified, s.Infeasible, s.LowerBound(), s.Gap()}, Compaction: s.compaction(),
		Table: spreadOf(s.Table()), Merges: s.Merges(),
		PlanMS: drive.Spread{Median: milliseconds(median), Max: milliseconds(most), Total: milliseconds(total)},
	}
}

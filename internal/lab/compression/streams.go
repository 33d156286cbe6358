package main

import (
	"cmp"
	"fmt"
	"io"

	"plannerd/compact"
	"plannerd/internal/lab/measure"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
)

// stream plans every interval of a recorded stream, in which there is anything to
// plan, on whole keys and on classes of each degree.
func (c *config) stream(w io.Writer, name string) error {
	setting := cases.Setting{Stream: name, Instances: c.instances, ThetaMax: c.theta, TableLimit: c.streamTable}
	type tally struct {
		records, keys int
		before, after float64
		moved         float64
		met           int
	}
	tallies := make([]tally, len(degrees))
	moved, met, intervals := 0.0, 0, 0
	for kase, err := range cases.Drive(setting, c.streams, planner.Mixed, 1<<30) {
		if err != nil {
			return err
		}
		if kase.Snapshot.Len() == 0 {
			continue
		}
		o := kase.Options
		o.Certificate = planner.CertificateOff
		whole, err := planner.Run(c.strategy, kase.Snapshot, o)
		if err != nil {
			return err
		}
		intervals++
		moved += whole.Migration.State
		met += one(meets(whole))
		for i, degree := range degrees {
			com, err := compact.Compress(kase.Snapshot, compact.Options{Degree: degree})
			if err != nil {
				return err
			}
			p, err := com.Plan(c.strategy, o)
			if err != nil {
				return err
			}
			t := &tallies[i]
			worst := p.GreatestError()
			t.before, t.after = max(t.before, worst.Before), max(t.after, worst.After)
			t.records += len(com.Records)
			t.keys += kase.Snapshot.Len()
			t.moved += p.Migration.State
			t.met += one(meets(p.Plan))
		}
	}
	for i, t := range tallies {
		fmt.Fprintf(w, "| %s | %d | %.0f | %.2g %% | %.2g %% | %.3f | %d of %d in %d |\n",
			name, degrees[i], 1000*float64(t.records)/float64(t.keys), 100*t.before, 100*t.after, t.moved/moved, t.met,
			met, intervals)
		name = ""
	}
	return nil
}

func meets(p *planner.Plan) bool { return p.Balanced && p.TableWithinLimit }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func medianOf[T cmp.Ordered](forms []form, value func(form) T) T {
	values := make([]T, len(forms))
	for i, f := range forms {
		values[i] = value(f)
	}
	return measure.Quantile(values, 0.5)
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
}

package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"plannerd/internal/input/merging"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/layout"
	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/sdk/go/sketch"
	"plannerd/store"
)

// sketchMagic begins a report that is a sketch, as the store keeps it.
const sketchMagic = "PLSK"

// decodeSketch is the inverse of encodeSketch; false for reports that are none.
func decodeSketch(blob []byte) (s *sketch.Sketch, ok bool, err error) {
	text, ok := bytes.CutPrefix(blob, []byte(sketchMagic))
	if !ok {
		return nil, false, nil
	}
	s = new(sketch.Sketch)
	err = s.UnmarshalBinary(text)
	return s, true, err
}

// VerifyReport reads the whole of a report as the store keeps it.
func VerifyReport(data []byte) error {
	if _, ok, err := decodeSketch(data); ok {
		return store.Unreadable("a sketch", err)
	}
	return merging.Verify(data)
}

// encodeSketch returns the sketch that an instance reports as the store keeps it, and how many
// keys it holds. One that adds to an earlier report is merged with that.
func (s *Intake) encodeSketch(
	ctx context.Context, name string, r reporters, instance int32, st *scheme.Statistics,
) (blob []byte, keys int, err error) {
	if r.newest.Scheme != operator.SchemeRanges {
		return nil, 0, planner.Invalid("sketch", operator.MeansNothing(r.newest.Scheme))
	}
	of := new(sketch.Sketch)
	if err := of.UnmarshalBinary(st.Sketch); err != nil {
		return nil, 0, planner.Invalid("sketch", "must be the binary form of a sketch")
	}
	if st.Since != nil {
		all, err := s.reportedSketch(ctx, name, instance, st.Epoch, *st.Since)
		if err != nil {
			return nil, 0, err
		}
		if err := all.Merge(of); err != nil {
			return nil, 0, planner.Invalid("sketch", "weighs too much together with the report that it adds to")
		}
		of = all
	}
	text, err := of.MarshalBinary()
	return append([]byte(sketchMagic), text...), of.Len(), err
}

// reportedSketch reads the sketch that an instance has reported for an interval.
func (s *Intake) reportedSketch(
	ctx context.Context, name string, instance int32, epoch, interval int64,
) (*sketch.Sketch, error) {
	last, err := s.Store.Reports(ctx, name, epoch, interval)
	if err != nil {
		return nil, refusal.AboutOperator(name, err)
	}
	for _, one := range last {
		if one.Instance != instance || one.Interval != interval {
			continue
		}
		data, err := s.Store.ReportData(ctx, name, one.Revision)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, refusal.AboutOperator(name, err)
		}
		if of, ok, err := decodeSketch(data); ok {
			return of, err
		}
	}
	return nil, refusal.New(refusal.IntervalNotFound, fmt.Sprintf(
		"Instance %d has no sketch of interval %d to which this one can be added: send a sketch of all keys, without since.",
		instance, interval))
}

// mergeSketches merges reports that are sketches; false if none is one. The statistics are of
// the keys that the sketches hold; what these stand for is their cost and their state.
func (m *MergedReports) mergeSketches(in Proposal, reports []merging.Report) (bool, error) {
	var all *sketch.Sketch
	for i, r := range reports {
		of, ok, err := decodeSketch(r.Blob)
		switch {
		case err != nil:
			return ok, fmt.Errorf("reading the report of instance %d: %w", r.Instance, err)
		case ok != (all != nil) && i > 0:
			return true, refusal.New(refusal.ReportsDiffer, "Some reports are sketches and others name keys.")
		case !ok:
		case all == nil:
			all = of
		default:
			if err := all.Merge(of); err != nil {
				return true, planner.Invalid("interval", "has sketches that weigh too much together")
			}
		}
	}
	if all == nil {
		return false, nil
	}
	cdf, err := ranges.FromSketch(all, 0)
	if err != nil {
		return true, err
	}
	of := &planner.Statistics{Keys: planner.NewKeys(cdf.Len()), Cost: make([]float64, cdf.Len())}
	for i := range of.Cost {
		of.Keys.Append(cdf.Key(i))
		of.Cost[i] = float64(cdf.Weight(i))
	}
	of.State = of.Cost
	st := *in.Statistics
	st.Statistics, st.Estimate = of, &figures.Estimate{RankError: cdf.Error(), Confidence: cdf.Confidence()}
	m.Statistics = &st
	return true, nil
}

// estimateAfter is the estimate of a plan after which keys are where a layout says: each end of a
// range within the key space is off by the error of a rank.
func estimateAfter(e *figures.Estimate, held scheme.Layout) *figures.Estimate {
	o, ok := held.(layout.Owners)
	if e == nil || !ok {
		return e
	}
	off := map[int32]float64{}
	for i, x := range o {
		if i > 0 {
			off[x.Follower] += e.RankError
		}
		if i+1 < len(o) {
			off[x.Follower] += e.RankError
		}
	}
	out := *e
	for _, x := range off {
		out.LoadError = max(out.LoadError, min(1, x))
	}
	return &out
}

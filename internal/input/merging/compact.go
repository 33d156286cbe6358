package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"plannerd/compact"
	"plannerd/internal/input/stored"
	"plannerd/planner"
)

// ErrMixedForms says that of reports to be merged some are of keys and others compact, or
// that compact ones are of different degrees or scales.
var ErrMixedForms = errors.New("some reports are of keys and others compact, or of other degrees or scales")

// EncodeCompactReport is [stored.EncodeCompact] of what one instance reports of itself, for
// [MergeCompact].
func EncodeCompactReport(s *compact.Statistics) []byte {
	if s.Named == nil {
		return stored.EncodeCompactBeside(s, nil)
	}
	keys := *s.Named
	keys.Partial, keys.Residual = s.Partial, s.Residual
	return stored.EncodeCompactBeside(s, EncodeReport(&keys))
}

// AnyCompact reports whether one of the reports is of [EncodeCompactReport].
func AnyCompact(reports []Report) bool {
	return slices.ContainsFunc(reports, func(r Report) bool { return stored.IsCompact(r.Blob) })
}

// MergeCompact makes the statistics of an interval of the compact reports of its instances,
// which are in ascending order of their ids, each once. Frozen are the ids of instances of
// which nothing is known. Records of one instance are of its own keys, so all of them are
// records of the whole. The keys that are named are merged as those of [MergeReports] are,
// which says how many of them drifted. A report of [EncodeReport] without rows is one of no
// keys.
//
// Errors are [ErrMixedForms] and those of [MergeReports].
func MergeCompact(ctx context.Context, reports []Report, frozen []int32, place Place) (
	out *compact.Statistics, drifted int64, err error,
) {
	out = &compact.Statistics{Records: []compact.Record{}, Frozen: frozen}
	named, first := slices.Clone(reports), true
	for i, report := range reports {
		if !stored.IsCompact(report.Blob) {
			if r, err := openReport(report.Blob); err != nil || r.left > 0 {
				return nil, 0, fmt.Errorf("report of instance %d: %w", report.Instance, cmp.Or(err, ErrMixedForms))
			}
			continue
		}
		s, keys, err := stored.DecodeCompactBeside(report.Blob)
		if err != nil {
			return nil, 0, fmt.Errorf("report of instance %d: %w", report.Instance, err)
		}
		if first {
			out.Degree, out.Scales, first = s.Degree, s.Scales, false
		}
		if s.Degree != out.Degree || s.Scales != out.Scales {
			return nil, 0, ErrMixedForms
		}
		out.Records = append(out.Records, s.Records...)
		if named[i].Blob = keys; keys == nil {
			named[i].Blob = EncodeReport(&planner.Statistics{Partial: s.Partial, Residual: s.Residual})
		}
	}
	merged, err := MergeReports(ctx, named, frozen, place)
	if err != nil {
		return nil, 0, err
	}
	out.Partial, out.Residual = merged.Partial, merged.Residual
	if merged.Len() > 0 {
		keys := *merged.Statistics
		keys.Partial, keys.Residual, keys.Frozen = false, nil, nil
		for i := range keys.Costs {
			keys.Costs[i].Residual = nil
		}
		out.Named = &keys
	}
	return out, merged.Drifted, nil
}

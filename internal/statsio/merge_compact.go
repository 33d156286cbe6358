package statsio

import (
	"errors"
	"fmt"
	"slices"

	"plannerd/compact"
)

// ErrMixedForms says that of reports to be merged some are of keys and others compact, or
// that compact ones are of different degrees or scales.
var ErrMixedForms = errors.New("some reports are of keys and others compact, or of other degrees or scales")

// AnyCompact reports whether one of the reports is of [EncodeCompact].
func AnyCompact(reports []Report) bool {
	return slices.ContainsFunc(reports, func(r Report) bool { return IsCompact(r.Blob) })
}

// MergeCompact makes the statistics of an interval of the compact reports of its instances,
// which are in ascending order of their ids, each once. Frozen are the ids of instances of
// which nothing is known. Records of one instance are of its own keys, so all of them are
// records of the whole. A report of [EncodeReport] without rows is one of no keys.
//
// Errors are [ErrMixedForms] and [ErrCorrupt].
func MergeCompact(reports []Report, frozen []int32) (*compact.Statistics, error) {
	out, first := &compact.Statistics{Records: []compact.Record{}, Frozen: frozen}, true
	for _, report := range reports {
		s, err := decodeCompactReport(report.Blob)
		if err != nil {
			return nil, fmt.Errorf("report of instance %d: %w", report.Instance, err)
		}
		out.Partial = out.Partial || s.Partial
		out.Residual = append(out.Residual, s.Residual...)
		if !IsCompact(report.Blob) {
			continue
		}
		if first {
			out.Degree, out.Scales, first = s.Degree, s.Scales, false
		}
		if s.Degree != out.Degree || s.Scales != out.Scales {
			return nil, ErrMixedForms
		}
		out.Records = append(out.Records, s.Records...)
	}
	return out, nil
}

// decodeCompactReport reads a report of records, or one of no keys.
func decodeCompactReport(blob []byte) (*compact.Statistics, error) {
	if IsCompact(blob) {
		return DecodeCompact(blob)
	}
	r, err := openReport(blob)
	switch {
	case err != nil:
		return nil, err
	case r.left > 0:
		return nil, ErrMixedForms
	}
	return &compact.Statistics{Partial: r.flags&reportPartial != 0, Residual: r.residual}, nil
}

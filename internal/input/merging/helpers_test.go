package merging

import (
	"errors"
	"slices"
	"testing"

	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/planner"
)

// TestCorruption changes, cuts and extends a report everywhere.
func TestCorruption(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(50))
	s.Costs = []planner.Amounts{{Name: "network", Rows: s.State}}
	report := EncodeReport(s)
	refused := func(data []byte) {
		t.Helper()
		if _, err := MergeReports(t.Context(), []Report{{Blob: data}}, nil, nil); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", len(data), len(report), err)
		}
	}
	for i := range report {
		broken := slices.Clone(report)
		broken[i] ^= 1
		refused(broken)
		refused(report[:i])
	}
	refused(append(slices.Clone(report), 0))
}

package merging

import (
	"errors"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/stored"
	"plannerd/planner"
)

// TestMergeNamedKeys: what several instances name of a key adds up, and records and residuals are
// those of all.
func TestMergeNamedKeys(t *testing.T) {
	report := func(d int32, partial bool, keys ...string) Report {
		s := &compact.Statistics{Scales: compact.Scales{Cost: 1, State: 1}, Partial: partial,
			Records: []compact.Record{{Planned: d, Current: d, Hash: d, Cost: 1, State: 1, Count: 5}}}
		if partial {
			s.Residual = []planner.Residual{{Instance: d, Cost: 7}}
		}
		if len(keys) > 0 {
			s.Named = &planner.Statistics{Keys: planner.KeysOf(keys...)}
			for i := range keys {
				s.Named.Cost, s.Named.State = append(s.Named.Cost, float64(10*(i+1))), append(s.Named.State, 100)
			}
		}
		return Report{Instance: d, Blob: EncodeCompactReport(s)}
	}
	on := func(d int32) Place { return func([]byte, uint64, int32) int32 { return d } }
	got, drifted, err := MergeCompact(t.Context(), []Report{report(0, true, "a", "hot"), report(1, false, "hot"),
		report(2, false)}, nil, on(1))
	if err != nil || drifted != 1 || got.Named.Len() != 2 || len(got.Records) != 3 || !got.Partial ||
		!slices.Equal(got.Residual, []planner.Residual{{Instance: 0, Cost: 7}}) {
		t.Fatalf("%+v, %d drifted, %v", got, drifted, err)
	}
	hot := slices.Index([]string{string(got.Named.Keys.At(0)), string(got.Named.Keys.At(1))}, "hot")
	if got.Named.Cost[hot] != 30 || got.Named.Instance[hot] != 1 || got.Named.State[hot] != 200 ||
		len(got.Named.Shares) != 2 {
		t.Errorf("%+v", got.Named)
	}
	stateless := report(1, false, "hot")
	s, _, _ := stored.DecodeCompactBeside(stateless.Blob)
	s.Named = &planner.Statistics{Keys: planner.KeysOf("hot"), Cost: []float64{1}}
	stateless.Blob = EncodeCompactReport(s)
	if _, _, err := MergeCompact(t.Context(), []Report{report(0, false, "a"), stateless}, nil, on(1)); !errors.Is(err,
		ErrMixedState) {
		t.Errorf("with and without state: %v", err)
	}
}

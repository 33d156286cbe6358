package merging

import (
	"errors"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/stored"
	"plannerd/planner"
)

func TestMergeCompact(t *testing.T) {
	of := func(d int32, change func(*compact.Statistics)) Report {
		s := &compact.Statistics{Degree: 4, Scales: compact.Scales{Cost: 2, State: 1},
			Records: []compact.Record{{Planned: d, Current: d, Hash: 0, Cost: 4, State: 1, Count: 3}}}
		if change != nil {
			change(s)
		}
		return Report{Instance: d, Blob: EncodeCompactReport(s)}
	}
	idle := Report{Instance: 2, Blob: EncodeReport(&planner.Statistics{Keys: planner.NewKeys(0), Partial: true,
		Residual: []planner.Residual{{Instance: 2, Cost: 1, Keys: 1}}})}
	keys := Report{Instance: 3, Blob: EncodeReport(&planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}})}
	nowhere := func([]byte, uint64, int32) int32 { return planner.NoInstance }
	got, _, err := MergeCompact(t.Context(), []Report{idle, of(0, nil), of(1, nil)}, []int32{4}, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	want := &compact.Statistics{Degree: 4, Scales: compact.Scales{Cost: 2, State: 1}, Partial: true, Frozen: []int32{4},
		Residual: []planner.Residual{{Instance: 2, Cost: 1, Keys: 1}}, Records: []compact.Record{
			{Planned: 0, Current: 0, Cost: 4, State: 1, Count: 3}, {Planned: 1, Current: 1, Cost: 4, State: 1, Count: 3}}}
	if got.Fingerprint() != want.Fingerprint() || !slices.Equal(got.Residual, want.Residual) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !slices.Equal(got.Frozen, want.Frozen) {
		t.Errorf("frozen are %v", got.Frozen)
	}
	back, err := stored.DecodeCompact(stored.EncodeCompact(got))
	if err != nil || !slices.Equal(back.Frozen, want.Frozen) {
		t.Errorf("stored: %+v, %v", back, err)
	}
	for name, reports := range map[string][]Report{
		"keys":   {of(0, nil), keys},
		"degree": {of(0, nil), of(1, func(s *compact.Statistics) { s.Degree = 8 })},
		"scale":  {of(0, nil), of(1, func(s *compact.Statistics) { s.Scales.State = 3 })},
	} {
		if !AnyCompact(reports) {
			t.Errorf("%s: no report is compact", name)
		}
		if _, _, err := MergeCompact(t.Context(), reports, nil, nowhere); !errors.Is(err, ErrMixedForms) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := of(1, nil)
	cut.Blob = cut.Blob[:len(cut.Blob)-1]
	if _, _, err := MergeCompact(t.Context(), []Report{of(0, nil), cut}, nil, nowhere); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("a cut report: %v", err)
	}
}

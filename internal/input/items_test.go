package input

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plannerd/compact"
	"plannerd/planner"
)

// namedKeys are keys beside records, one of them on two instances.
func namedKeys() *planner.Statistics {
	return &planner.Statistics{
		Keys: planner.KeysOf("hot", "b\xff"), Cost: []float64{120, 3}, State: []float64{600, 0.5}, Instance: []int32{0, 2},
		Shares: []planner.Share{{Row: 0, Instance: 0, State: 400}, {Row: 0, Instance: 1, State: 200}},
	}
}

// TestNamedKeysAreStored beside records, whole and as a report.
func TestNamedKeysAreStored(t *testing.T) {
	want := &compact.Statistics{Records: recordsOf(3), Degree: 8, Scales: compact.Scales{Cost: 0.5, State: 2},
		Partial: true, Residual: []planner.Residual{{Instance: 1, Cost: 2, State: 3, Keys: 4}}, Named: namedKeys()}
	blob := EncodeCompact(want)
	got, err := DecodeCompact(blob)
	if err != nil || !IsCompact(blob) || !NamesKeys(blob) || got.Fingerprint() != want.Fingerprint() {
		t.Fatalf("%+v, %v", got, err)
	}
	sameStatistics(t, "named", got.Named, want.Named)
	if !slices.Equal(got.Named.Shares, want.Named.Shares) {
		t.Errorf("shares %v", got.Named.Shares)
	}
	if plain := EncodeCompact(&compact.Statistics{Records: recordsOf(3)}); NamesKeys(plain) || !IsCompact(plain) {
		t.Error("records alone name keys")
	}
	for n := range blob {
		if _, err := DecodeCompact(blob[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

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
	s, _, _ := decodeCompact(stateless.Blob)
	s.Named = &planner.Statistics{Keys: planner.KeysOf("hot"), Cost: []float64{1}}
	stateless.Blob = EncodeCompactReport(s)
	if _, _, err := MergeCompact(t.Context(), []Report{report(0, false, "a"), stateless}, nil, on(1)); !errors.Is(err,
		ErrMixedState) {
		t.Errorf("with and without state: %v", err)
	}
}

// TestItemMoves: moves of classes and of named keys are stored, and written, together.
func TestItemMoves(t *testing.T) {
	classes := []compact.Record{{Planned: 2, Current: 0, Hash: 1, Cost: 4, State: 8, Count: 3}}
	s := &planner.Snapshot{
		Instances: []planner.Instance{{ID: 3, Capacity: 1}, {ID: 7, Capacity: 1}}, Keys: planner.KeysOf("hot"),
		Cost: []float64{120}, State: []float64{600}, Count: []int64{1}, Named: 1, Current: []int32{0}, Hash: []int32{0},
	}
	p := &planner.Plan{Snapshot: s, Moves: []planner.Move{{To: 1, Count: 1, Reason: planner.ReasonOverload}}}
	after := []planner.Entry{
		{Key: []byte("cold"), Instance: planner.NoInstance},
		{Key: []byte("hot"), Instance: 3, Parts: []planner.Part{{Instance: 3, Weight: 40000}, {Instance: 7, Weight: 25536}}},
	}
	blob := EncodeItemMoves(classes, compact.Scales{Cost: 2, State: 3}, p, after)
	m, err := DecodeItemMoves(blob)
	if err != nil || !IsClassMoves(blob) || !slices.Equal(m.Classes, classes) || m.Named.Len() != 1 ||
		!reflect.DeepEqual(m.After, after) || m.Scales != (compact.Scales{Cost: 2, State: 3}) {
		t.Fatalf("%+v, %v", m, err)
	}
	for n := range blob {
		if _, err := DecodeItemMoves(blob[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	plain, err := DecodeItemMoves(EncodeClassMoves(classes))
	if err != nil || plain.Named != nil || !slices.Equal(plain.Classes, classes) {
		t.Errorf("classes alone: %+v, %v", plain, err)
	}
	list := ItemMovesOf(m.Classes, m.Named.All())
	var csv, lines bytes.Buffer
	const want = "key,planned,instance,hash_instance,cost,state,count,reason\n" +
		",2,0,1,4,8,3,\nhot,7,3,,120,600,1,overload\n"
	if err := list.WriteCSV(&csv, false); err != nil || csv.String() != want {
		t.Errorf("%q, %v", csv.String(), err)
	}
	if err := list.WriteNDJSON(&lines, false); err != nil || !strings.HasPrefix(lines.String(),
		"[2,0,1,4,8,3]\n{\"key\":\"hot\",\"from\":3,\"to\":7,") {
		t.Errorf("%q, %v", lines.String(), err)
	}
}

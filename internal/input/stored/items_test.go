package stored

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/lists"
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
	want := &compact.Statistics{Records: inputtest.Records(3), Degree: 8, Scales: compact.Scales{Cost: 0.5, State: 2},
		Partial: true, Residual: []planner.Residual{{Instance: 1, Cost: 2, State: 3, Keys: 4}}, Named: namedKeys()}
	encoded := EncodeCompact(want)
	got, err := DecodeCompact(encoded)
	if err != nil || !IsCompact(encoded) || !NamesKeys(encoded) || got.Fingerprint() != want.Fingerprint() {
		t.Fatalf("%+v, %v", got, err)
	}
	inputtest.SameStatistics(t, "named", got.Named, want.Named)
	if !slices.Equal(got.Named.Shares, want.Named.Shares) {
		t.Errorf("shares %v", got.Named.Shares)
	}
	if plain := EncodeCompact(&compact.Statistics{Records: inputtest.Records(3)}); NamesKeys(plain) || !IsCompact(plain) {
		t.Error("records alone name keys")
	}
	for n := range encoded {
		if _, err := DecodeCompact(encoded[:n]); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
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
	encoded := EncodeItemMoves(classes, compact.Scales{Cost: 2, State: 3}, p, after)
	m, err := DecodeItemMoves(encoded)
	if err != nil || !IsClassMoves(encoded) || !slices.Equal(m.Classes, classes) || m.Named.Len() != 1 ||
		!reflect.DeepEqual(m.After, after) || m.Scales != (compact.Scales{Cost: 2, State: 3}) {
		t.Fatalf("%+v, %v", m, err)
	}
	for n := range encoded {
		if _, err := DecodeItemMoves(encoded[:n]); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	plain, err := DecodeItemMoves(EncodeClassMoves(classes))
	if err != nil || plain.Named != nil || !slices.Equal(plain.Classes, classes) {
		t.Errorf("classes alone: %+v, %v", plain, err)
	}
	list := lists.ItemMovesOf(m.Classes, m.Named.All())
	var csv, lines bytes.Buffer
	const want = "key,planned,instance,hash_instance,cost,state,count,reason\n" +
		",2,0,1,4,8,3,\nhot,7,3,,120,600,1,overload\n"
	if err := list.WriteCSV(&csv, false, nil); err != nil || csv.String() != want {
		t.Errorf("%q, %v", csv.String(), err)
	}
	if err := list.WriteNDJSON(&lines, false); err != nil || !strings.HasPrefix(lines.String(),
		"[2,0,1,4,8,3]\n{\"key\":\"hot\",\"from\":3,\"to\":7,") {
		t.Errorf("%q, %v", lines.String(), err)
	}
}

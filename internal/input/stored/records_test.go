package stored

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/planner"
)

func sameCompact(t *testing.T, got, want *compact.Statistics) {
	t.Helper()
	if !slices.EqualFunc(got.Records, want.Records, sameRecord) {
		t.Fatal("other records")
	}
	bits := func(s *compact.Statistics) [2]uint64 {
		return [2]uint64{math.Float64bits(s.Scales.Cost), math.Float64bits(s.Scales.State)}
	}
	if bits(got) != bits(want) || got.Degree != want.Degree || got.Partial != want.Partial {
		t.Fatalf("%+v of degree %d, partial %t; want %+v, %d, %t", got.Scales, got.Degree, got.Partial, want.Scales,
			want.Degree, want.Partial)
	}
	residual := func(a, b planner.Residual) bool {
		return a.Instance == b.Instance && a.Keys == b.Keys &&
			math.Float64bits(a.Cost) == math.Float64bits(b.Cost) && math.Float64bits(a.State) == math.Float64bits(b.State)
	}
	if !slices.EqualFunc(got.Residual, want.Residual, residual) {
		t.Fatalf("residual %v, want %v", got.Residual, want.Residual)
	}
}

func TestCompactRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	partial := &compact.Statistics{Records: inputtest.Records(3), Degree: math.MaxInt, Partial: true,
		Scales: compact.Scales{Cost: 5e-324, State: math.MaxFloat64}}
	for i := range 70_000 {
		partial.Residual = append(partial.Residual, planner.Residual{Instance: int32(i), Cost: r.Float64(),
			State: r.Float64(), Keys: r.Int64()})
	}
	for name, s := range map[string]*compact.Statistics{
		"many":    {Records: inputtest.Records(200_000), Degree: 8, Scales: compact.Scales{Cost: 1.0 / 3, State: 1}},
		"partial": partial,
		"extreme": {Records: []compact.Record{{Planned: math.MaxInt32, Current: math.MaxInt32, Cost: 1e290,
			State: math.Copysign(0, -1), Count: columns.MaxCount}}},
		"empty": {},
	} {
		encoded := EncodeCompact(s)
		if !IsCompact(encoded) || IsClassMoves(encoded) {
			t.Errorf("%s: the encoded is not known again", name)
		}
		got, err := DecodeCompact(encoded)
		if err != nil {
			t.Fatal(name, err)
		}
		sameCompact(t, got, s)
	}
	// d′ says nothing.
	got, err := DecodeCompact(
		EncodeCompact(&compact.Statistics{Records: []compact.Record{{Planned: planner.NoInstance, Current: 7, Count: 1}}}))
	if err != nil || got.Records[0].Planned != 7 {
		t.Error(got, err)
	}
}

func TestClassMovesRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 200_000} {
		moves := inputtest.Records(n)
		for i := range moves {
			moves[i].Planned = int32(i) - 1 // the first waits for a place
		}
		encoded := EncodeClassMoves(moves)
		if IsCompact(encoded) || !IsClassMoves(encoded) {
			t.Error("the encoded is not known again")
		}
		got, err := DecodeClassMoves(encoded)
		if err != nil || !slices.EqualFunc(got, moves, sameRecord) {
			t.Fatalf("%d moves: %v", n, err)
		}
	}
}

// TestBlobKinds sees to it that no blob passes for one of another kind.
func TestBlobKinds(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(3))
	blobs := map[string][]byte{
		"input": encodeInput(s), "compact": EncodeCompact(&compact.Statistics{}),
		"migrations": EncodeMigrations(planOf(s, 1)), "class moves": EncodeClassMoves(nil), "cut": []byte("PLC"), "nil": nil,
	}
	for name, encoded := range blobs {
		if IsCompact(encoded) != (name == "compact") || IsClassMoves(encoded) != (name == "class moves") {
			t.Errorf("%s: compact %t, class moves %t", name, IsCompact(encoded), IsClassMoves(encoded))
		}
		for want, decode := range map[string]func() error{
			"input":       func() error { _, _, err := DecodeInput(encoded); return err },
			"compact":     func() error { _, err := DecodeCompact(encoded); return err },
			"migrations":  func() error { _, err := DecodeMigrations(encoded); return err },
			"class moves": func() error { _, err := DecodeClassMoves(encoded); return err },
		} {
			if err := decode(); (name == want) != (err == nil) || err != nil && !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("%s read as %s: %v", name, want, err)
			}
		}
	}
}

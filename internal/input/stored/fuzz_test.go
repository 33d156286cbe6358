package stored

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/planner"
)

func FuzzDecodeMigrations(f *testing.F) {
	encoded := EncodeMigrations(planOf(inputtest.StatisticsOf(inputtest.ZipfRows(40)), 7))
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	f.Add([]byte("\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*25)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range inputtest.Sealed(migrationsMagic, data) {
			m, err := DecodeMigrations(encoded)
			if err != nil {
				if !errors.Is(err, blob.ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if back := mustDecodeMigrations(t, encodeList(m)); !sameMigrations(m, back) {
				t.Fatalf("%q: other migrations after encoding again", encoded)
			}
		}
	})
}

func FuzzDecodeInput(f *testing.F) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(7))
	s.Partial, s.Residual = true, []planner.Residual{{Instance: 3, Cost: 1, State: 2, Keys: 4}}
	encoded := encodeInput(s)
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	s.PartialOn, s.Frozen, s.Shares = []int32{3}, []int32{4, 9}, []planner.Share{{Row: 1, Instance: 2, State: 3}}
	f.Add(encodeInput(s)[blob.HeaderBytes:])
	s.Costs = []planner.Amounts{
		{Name: "cpu", Rows: s.State, Residual: []float64{7}}, {Name: "network", Rows: s.Cost},
	}
	f.Add(encodeInput(s)[blob.HeaderBytes:])
	f.Add([]byte("\x0f\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*24)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range inputtest.Sealed(inputMagic, data) {
			s, _, err := DecodeInput(encoded)
			if err != nil {
				if !errors.Is(err, blob.ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			back, _, err := DecodeInput(encodeInput(s))
			if err != nil {
				t.Fatal(err)
			}
			inputtest.SameStatistics(t, "encoded again", back, s)
		}
	})
}

func FuzzDecodeCompact(f *testing.F) {
	encoded := EncodeCompact(&compact.Statistics{
		Records: inputtest.Records(7), Scales: compact.Scales{Cost: 0.5, State: 2}, Degree: 8,
		Partial: true, Residual: []planner.Residual{{Instance: 3, Cost: 1, State: 2, Keys: 4}},
	})
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	f.Add([]byte("\x01\x08" + strings.Repeat("\x00", 16) + "\x02\xff\xff\x02" + strings.Repeat("\x01", 2*32)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range inputtest.Sealed(compactMagic, data) {
			s, err := DecodeCompact(encoded)
			if err != nil {
				if !errors.Is(err, blob.ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			back, err := DecodeCompact(EncodeCompact(s))
			if err != nil {
				t.Fatal(err)
			}
			sameCompact(t, back, s)
		}
	})
}

func FuzzDecodeClassMoves(f *testing.F) {
	encoded := EncodeClassMoves(inputtest.Records(7))
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	f.Add([]byte("\x02\xff\xff\x02" + strings.Repeat("\x01", 2*36)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range inputtest.Sealed(classMovesMagic, data) {
			moves, err := DecodeClassMoves(encoded)
			if err != nil {
				if !errors.Is(err, blob.ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if back, err := DecodeClassMoves(EncodeClassMoves(moves)); err != nil || !slices.EqualFunc(back, moves, sameRecord) {
				t.Fatalf("%q: other moves after encoding again: %v", encoded, err)
			}
		}
	})
}

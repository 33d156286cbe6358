package stored

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/planner"
)

// sealed makes blobs of data that pass the checksum: data as all that follows
// the header, and data as the content of the only block behind some numbers.
func sealed(magic string, data []byte) [][]byte {
	seal := func(rest []byte) []byte {
		sum := crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli))
		return append(binary.LittleEndian.AppendUint32(append([]byte(magic), 1), sum), rest...)
	}
	head, content, _ := bytes.Cut(data, []byte{0xff, 0xff})
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constants
	}
	frame := z.EncodeAll(content, nil)
	block := append(binary.AppendUvarint(slices.Clone(head), uint64(len(frame))), frame...)
	return [][]byte{data, seal(data), seal(append(slices.Clone(block), 0)), seal(block)} // 0: no residual, in an input
}

func FuzzDecodeMigrations(f *testing.F) {
	encoded := EncodeMigrations(planOf(statisticsOf(zipfRows(40)), 7))
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	f.Add([]byte("\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*25)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range sealed(migrationsMagic, data) {
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
	s := statisticsOf(zipfRows(7))
	s.Partial, s.Residual = true, []planner.Residual{{Instance: 3, Cost: 1, State: 2, Keys: 4}}
	encoded := encodeInput(s)
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	s.PartialOn, s.Frozen, s.Shares = []int32{3}, []int32{4, 9}, []planner.Share{{Row: 1, Instance: 2, State: 3}}
	f.Add(encodeInput(s)[blob.HeaderBytes:])
	f.Add([]byte("\x0f\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*24)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range sealed(inputMagic, data) {
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
			sameStatistics(t, "encoded again", back, s)
		}
	})
}

func FuzzDecodeCompact(f *testing.F) {
	encoded := EncodeCompact(&compact.Statistics{
		Records: recordsOf(7), Scales: compact.Scales{Cost: 0.5, State: 2}, Degree: 8,
		Partial: true, Residual: []planner.Residual{{Instance: 3, Cost: 1, State: 2, Keys: 4}},
	})
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	f.Add([]byte("\x01\x08" + strings.Repeat("\x00", 16) + "\x02\xff\xff\x02" + strings.Repeat("\x01", 2*32)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range sealed(compactMagic, data) {
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
	encoded := EncodeClassMoves(recordsOf(7))
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	f.Add([]byte("\x02\xff\xff\x02" + strings.Repeat("\x01", 2*36)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range sealed(classMovesMagic, data) {
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

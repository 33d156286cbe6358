package merging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"plannerd/internal/input/internal/blob"
	"plannerd/planner"
)

// testRow is a row of statistics.
type testRow struct {
	key         string
	cost, state float64
	instance    int32
}

// zipfRows makes n rows with costs that fall like Zipf's law with exponent 0.85.
func zipfRows(n int) []testRow {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]testRow, n)
	for i := range rows {
		rows[i] = testRow{
			key:  fmt.Sprintf("user:%07d%s", i, "abcd"[:r.IntN(5)]),
			cost: math.Round(100*1e6/math.Pow(float64(i+1), 0.85)) / 100, state: float64(64 + r.IntN(1<<16)),
			instance: int32(r.IntN(40)),
		}
	}
	r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// statisticsOf builds the columns of rows directly.
func statisticsOf(rows []testRow) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(len(rows))}
	for _, r := range rows {
		s.Keys.Append([]byte(r.key))
		s.Cost = append(s.Cost, r.cost)
		s.State = append(s.State, r.state)
		s.Instance = append(s.Instance, r.instance)
	}
	return s
}

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

// TestCorruption changes, cuts and extends a report everywhere.
func TestCorruption(t *testing.T) {
	s := statisticsOf(zipfRows(50))
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

func sameStatistics(t *testing.T, name string, got, want *planner.Statistics) {
	t.Helper()
	if got.Keys.Len() != want.Keys.Len() {
		t.Fatalf("%s: %d keys, want %d", name, got.Keys.Len(), want.Keys.Len())
	}
	for i := range want.Keys.Len() {
		if !bytes.Equal(got.Keys.At(i), want.Keys.At(i)) || got.Keys.Hash(i) != want.Keys.Hash(i) {
			t.Fatalf("%s: key %d is %q, want %q", name, i, got.Keys.At(i), want.Keys.At(i))
		}
	}
	bits := func(xs []float64) (out []uint64) {
		for _, x := range xs {
			out = append(out, math.Float64bits(x))
		}
		return out
	}
	for _, same := range []struct {
		column string
		ok     bool
	}{
		{"cost", slices.Equal(bits(got.Cost), bits(want.Cost))},
		{"state", slices.Equal(bits(got.State), bits(want.State)) && (got.State == nil) == (want.State == nil)},
		{"instance", slices.Equal(got.Instance, want.Instance) && (got.Instance == nil) == (want.Instance == nil)},
		{"hash_instance", slices.Equal(got.HashInstance, want.HashInstance) &&
			(got.HashInstance == nil) == (want.HashInstance == nil)},
		{"partial", got.Partial == want.Partial},
		{"partial_on", slices.Equal(got.PartialOn, want.PartialOn)},
		{"shares", slices.Equal(got.Shares, want.Shares)},
		{"frozen", slices.Equal(got.Frozen, want.Frozen)},
	} {
		if !same.ok {
			t.Fatalf("%s: column %s differs", name, same.column)
		}
	}
	residual := func(a, b planner.Residual) bool {
		return a.Instance == b.Instance && a.Keys == b.Keys &&
			math.Float64bits(a.Cost) == math.Float64bits(b.Cost) && math.Float64bits(a.State) == math.Float64bits(b.State)
	}
	if !slices.EqualFunc(got.Residual, want.Residual, residual) {
		t.Fatalf("%s: residual %v, want %v", name, got.Residual, want.Residual)
	}
}

// Package inputtest makes statistics, and forms of them, for the tests of the packages below
// internal/input, and compares what they read. It knows no decoder.
package inputtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/compact"
	"plannerd/planner"
)

// Row is a row of statistics.
type Row struct {
	Key         string
	Cost, State float64
	Instance    int32
}

// ZipfRows makes n rows with keys of 12 to 16 bytes, costs that fall like
// Zipf's law with exponent 0.85 and have up to two decimals, and whole states.
func ZipfRows(n int) []Row {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, n)
	for i := range rows {
		cost := math.Round(100*1e6/math.Pow(float64(i+1), 0.85)) / 100
		rows[i] = Row{
			Key:  fmt.Sprintf("user:%07d%s", i, "abcd"[:r.IntN(5)]),
			Cost: cost, State: float64(64 + r.IntN(1<<16)), Instance: int32(r.IntN(40)),
		}
	}
	r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// StatisticsOf builds the columns of rows directly.
func StatisticsOf(rows []Row) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(len(rows))}
	for _, r := range rows {
		s.Keys.Append([]byte(r.Key))
		s.Cost = append(s.Cost, r.Cost)
		s.State = append(s.State, r.State)
		s.Instance = append(s.Instance, r.Instance)
	}
	return s
}

// Records makes n records as they come of keys on 40 instances: few costs and
// states, of which some are no integers, and counts that fall with the cost. d′
// is d.
func Records(n int) []compact.Record {
	r := rand.New(rand.NewPCG(9, 10))
	records := make([]compact.Record, n)
	for i := range records {
		at := int32(r.IntN(40))
		records[i] = compact.Record{
			Planned: at, Current: at, Hash: int32(r.IntN(40)),
			Cost: float64(r.IntN(1<<12)) / 4, State: float64(r.IntN(1 << 16)), Count: 1 + int64(1e6/(1+r.IntN(1e6))),
		}
	}
	return records
}

// SameStatistics fails the test unless two statistics are the same, bit for bit.
func SameStatistics(t *testing.T, name string, got, want *planner.Statistics) {
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
		{"costs", sameCosts(got, want)},
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

// sameCosts compares amounts of resources, of statistics with rows.
func sameCosts(got, want *planner.Statistics) bool {
	bits := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	return want.Len() == 0 || slices.EqualFunc(got.Costs, want.Costs, func(x, y planner.Amounts) bool {
		return x.Name == y.Name && slices.EqualFunc(x.Rows, y.Rows, bits) && slices.EqualFunc(x.Residual, y.Residual, bits)
	})
}

// Sealed makes blobs of data that pass the checksum: data as all that follows
// the header, and data as the content of the only block behind some numbers.
func Sealed(magic string, data []byte) [][]byte {
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

// Compressed returns text in a content encoding.
func Compressed(tb testing.TB, encoding string, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			tb.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

package stored

import (
	"bufio"
	"io"
	"testing"

	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/lists"
)

func BenchmarkEncode(b *testing.B) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(1e6))
	p := planOf(s, 50_000)
	input, moves := encodeInput(s), EncodeMigrations(p)
	stored := func(name string, n int, blob []byte, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
			b.ReportMetric(float64(len(blob))/float64(n), "stored_B/row")
		})
	}
	stored("input/keys=1e6", s.Len(), input, func() { encodeInput(s) })
	stored("input_decode/keys=1e6", s.Len(), input, func() { _, _, _ = DecodeInput(input) })
	stored("migrations/moves=5e4", len(p.Moves), moves, func() { EncodeMigrations(p) })
	stored("migrations_decode/moves=5e4", len(p.Moves), moves, func() { _, _ = DecodeMigrations(moves) })
	w := bufio.NewWriterSize(io.Discard, 64<<10)
	moved := lists.MigrationsOf(p)
	stored("json/moves=5e4", len(p.Moves), nil, func() { _ = moved.WriteJSON(w, false) })
	stored("ndjson/moves=5e4", len(p.Moves), nil, func() { _ = moved.WriteNDJSON(w, false) })
	stored("csv/moves=5e4", len(p.Moves), nil, func() { _ = moved.WriteCSV(w, false, nil) })
}

package input

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/planner"
)

// compressed returns text in a content encoding.
func compressed(tb testing.TB, encoding string, text []byte) []byte {
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

// of is the decoder of a format.
func of(f Format) func(io.Reader, Options) (*Document, error) {
	return func(r io.Reader, o Options) (*Document, error) { return Decode(r, f, o) }
}

// resolved is the decoder of resolutions in a format.
func resolved(f Format) func(io.Reader, Options) (*Resolution, error) {
	return func(r io.Reader, o Options) (*Resolution, error) { return DecodeResolution(r, f, o) }
}

var (
	decodeJSON, decodeNDJSON, decodeCSV, decodeArrow = of(JSON), of(NDJSON), of(CSV), of(Arrow)
	decodeResolutionNDJSON, decodeResolutionCSV      = resolved(NDJSON), resolved(CSV)
)

package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/internal/input/compression"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/lab/livememory"
)

// zerosOf is a stream of one batch with so many rows, in which every byte of a column is zero
// but for keys of one letter: it is short when compressed, whatever it decodes to.
func zerosOf(tb testing.TB, cost, key arrow.DataType, rows int, options ...ipc.Option) []byte {
	tb.Helper()
	schema := arrow.NewSchema([]arrow.Field{col("key", key), col("cost", cost)}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for range rows {
		switch keys := b.Field(0).(type) {
		case *array.BinaryDictionaryBuilder:
			if err := keys.AppendString("k"); err != nil {
				tb.Fatal(err)
			}
		case array.StringLikeBuilder:
			keys.Append("k")
		case *array.NullBuilder:
			keys.AppendNull()
		}
	}
	b.Field(1).AppendEmptyValues(rows)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestArrowMemory: what an Arrow stream announces is reserved before there is memory for it,
// whether it is compressed within, without, or not at all, and so is what its columns are
// converted to.
func TestArrowMemory(t *testing.T) {
	const rows, limit, slack = 1 << 20, 6 << 20, 3 << 20
	text, double := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64
	small := arrow.PrimitiveTypes.Int8
	for name, body := range map[string][]byte{
		"plain":      zerosOf(t, double, text, rows),
		"zstd":       zerosOf(t, double, text, rows, ipc.WithZstd()),
		"lz4":        zerosOf(t, double, text, rows, ipc.WithLZ4()),
		"bytes":      zerosOf(t, small, text, rows, ipc.WithZstd()),
		"views":      zerosOf(t, small, arrow.BinaryTypes.StringView, rows, ipc.WithZstd()),
		"dictionary": zerosOf(t, small, dictionaryOf(text), rows, ipc.WithZstd()),
	} {
		var err error
		whole := &account{}
		peak := livememory.Peak(func() { _, err = decodeArrow(bytes.NewReader(body), Options{Reserve: whole.reserve}) })
		if err == nil || strings.Contains(err.Error(), "bytes") { // all keys are the same
			t.Errorf("%s: %v", name, err)
		}
		if peak > whole.most+slack {
			t.Errorf("%s, %d bytes: held %d, reserved %d", name, len(body), peak, whole.most)
		}
		a := &account{limit: limit}
		peak = livememory.Peak(func() { _, err = decodeArrow(bytes.NewReader(body), Options{Reserve: a.reserve}) })
		if !errors.Is(err, errRefused) || peak > limit+slack {
			t.Errorf("%s, %d bytes: held %d of %d: %v", name, len(body), peak, limit, err)
		}
	}
}

// FuzzMemory holds that a body of any form makes its decoder allocate no more than it
// reserves, some times what was sent, and what every decoder always has.
func FuzzMemory(f *testing.F) {
	for _, body := range arrowSeeds(f) {
		f.Add(body, byte(0), byte(0))
	}
	f.Add(zerosOf(f, arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, 1<<17), byte(0), byte(0))
	for _, o := range []ipc.Option{ipc.WithZstd(), ipc.WithLZ4()} {
		f.Add(zerosOf(f, arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, 1<<17, o), byte(0), byte(0))
		// Rows without keys become nothing, so that all that is allocated is what they announce.
		f.Add(zerosOf(f, arrow.PrimitiveTypes.Float64, arrow.Null, 7<<20, o), byte(0), byte(0))
	}
	rows := inputtest.ZipfRows(300)
	for i, format := range memoryFormats {
		body := bodyOf(format, rows)
		f.Add(body, byte(i), byte(0))
		f.Add(inputtest.Compressed(f, "gzip", append(body, make([]byte, 1<<20)...)), byte(i), byte(1))
		f.Add(inputtest.Compressed(f, "zstd", append(body, bytes.Repeat([]byte("\"[{"), 1<<20)...)), byte(i), byte(2))
	}
	f.Fuzz(func(t *testing.T, body []byte, format, encoding byte) {
		encodings := []string{"", "gzip", "zstd"}
		reserved, err := allocations(body, memoryFormats[int(format)%len(memoryFormats)], encodings[encoding%3])
		if err != nil {
			t.Fatalf("%d bytes %.200q: %v, reserved %d", len(body), body, err, reserved)
		}
	})
}

var memoryFormats = []string{"arrow", "json_rows", "json_columns", "ndjson", "csv"}

// allocations decodes a body, and returns what its decoder reserved, and an error when it
// allocated more.
func allocations(body []byte, format, encoding string) (reserved int64, err error) {
	reserve := func(bytes int64) error {
		if reserved += max(0, bytes); reserved > 96<<20 {
			return errRefused
		}
		return nil
	}
	sent := &sentReader{r: bytes.NewReader(body)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if text, err := compression.NewDecompressor(bytes.NewReader(body), encoding); err == nil {
		sent.r = text
		_, _ = decoders[format](sent, Options{Reserve: reserve, Limits: Limits{Bytes: 80 << 20}}) // as it comes
		_ = text.Close()
	}
	runtime.ReadMemStats(&after)
	const always = 24 << 20 // a window of each decompressor, pools that a collection emptied
	if used := int64(after.TotalAlloc - before.TotalAlloc); used > 2*reserved+4*sent.n+always {
		return reserved, fmt.Errorf("allocated %d bytes for %d of text", used, sent.n)
	}
	return reserved, nil
}

type sentReader struct {
	r io.Reader
	n int64
}

func (c *sentReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

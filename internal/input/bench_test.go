package input

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/input/arrowout"
	"plannerd/internal/input/compression"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/planner"
)

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// bodyOf writes rows in the way that format names.
func bodyOf(format string, rows []inputtest.Row) []byte {
	var b bytes.Buffer
	object := func(r inputtest.Row) {
		fmt.Fprintf(&b, `{"key":%q,"cost":%s,"state":%s,"instance":%d}`, r.Key, number(r.Cost), number(r.State), r.Instance)
	}
	list := func(name string, value func(r inputtest.Row) string) {
		b.WriteString(`"` + name + `":[`)
		for i, r := range rows {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(value(r))
		}
		b.WriteByte(']')
	}
	switch format {
	case "json_rows":
		b.WriteString(`{"interval":42,"keys":[`)
		for i, r := range rows {
			if i > 0 {
				b.WriteByte(',')
			}
			object(r)
		}
		b.WriteString(`]}`)
	case "json_columns":
		b.WriteString(`{"interval":42,"columns":{`)
		list("key", func(r inputtest.Row) string { return strconv.Quote(r.Key) })
		b.WriteByte(',')
		list("cost", func(r inputtest.Row) string { return number(r.Cost) })
		b.WriteByte(',')
		list("state", func(r inputtest.Row) string { return number(r.State) })
		b.WriteByte(',')
		list("instance", func(r inputtest.Row) string { return strconv.Itoa(int(r.Instance)) })
		b.WriteString(`}}`)
	case "ndjson":
		for _, r := range rows {
			object(r)
			b.WriteByte('\n')
		}
	case "csv":
		b.WriteString("key,cost,state,instance\n")
		for _, r := range rows {
			fmt.Fprintf(&b, "%s,%s,%s,%d\n", r.Key, number(r.Cost), number(r.State), r.Instance)
		}
	case "arrow":
		w := arrowout.NewWriter(&b)
		if err := errors.Join(w.Write(-1, inputtest.StatisticsOf(rows)), w.Close()); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

var decoders = map[string]func(io.Reader, Options) (*Document, error){
	"json_rows": decodeJSON, "json_columns": decodeJSON, "ndjson": decodeNDJSON, "csv": decodeCSV, "arrow": decodeArrow,
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1e4, 1e6} {
		for _, format := range []string{"json_rows", "json_columns", "ndjson", "csv", "arrow"} {
			body := bodyOf(format, inputtest.ZipfRows(n)) // the rows must not burden the garbage collector
			for _, hint := range []int{0, n} {
				name := fmt.Sprintf("format=%s/keys=%.0e/hint=%t", format, float64(n), hint > 0)
				b.Run(strings.Replace(name, "e+0", "e", 1), func(b *testing.B) {
					measure(b, body, n, func() error {
						_, err := decoders[format](bytes.NewReader(body), Options{RowHint: hint})
						return err
					})
				})
			}
		}
	}
}

// BenchmarkReference decodes the same rows by general means, into columns but
// without any of the checks.
func BenchmarkReference(b *testing.B) {
	const n = 1e6
	body := bodyOf("json_rows", inputtest.ZipfRows(n))
	b.Run("encoding_json/format=json_rows/keys=1e6", func(b *testing.B) {
		measure(b, body, n, func() error {
			var v struct {
				Interval int64
				Keys     []struct {
					Key          string
					Cost, State  float64
					Instance     *int32
					HashInstance *int32 `json:"hash_instance"`
				}
			}
			return json.Unmarshal(body, &v)
		})
	})
	b.Run("jsontext/format=json_rows/keys=1e6", func(b *testing.B) {
		measure(b, body, n, func() error { _, err := oracleJSON(body, false); return err })
	})
	text := bodyOf("csv", inputtest.ZipfRows(n))
	b.Run("encoding_csv/format=csv/keys=1e6", func(b *testing.B) {
		measure(b, text, n, func() error {
			r := csv.NewReader(bytes.NewReader(text))
			r.ReuseRecord = true
			s := planner.Statistics{Keys: planner.NewKeys(0)}
			for {
				f, err := r.Read()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				cost, _ := strconv.ParseFloat(f[1], 64)
				state, _ := strconv.ParseFloat(f[2], 64)
				s.Keys.Append([]byte(f[0]))
				s.Cost, s.State = append(s.Cost, cost), append(s.State, state)
			}
		})
	})
}

// BenchmarkDecompress decodes compressed rows.
func BenchmarkDecompress(b *testing.B) {
	const n = 1e6
	body := bodyOf("json_rows", inputtest.ZipfRows(n))
	for _, encoding := range []string{"gzip", "zstd"} {
		packed := inputtest.Compressed(b, encoding, body)
		b.Run("encoding="+encoding+"/format=json_rows/keys=1e6", func(b *testing.B) {
			measure(b, body, n, func() error {
				r, err := compression.NewDecompressor(bytes.NewReader(packed), encoding)
				if err != nil {
					return err
				}
				defer r.Close()
				_, err = decodeJSON(r, Options{})
				return err
			})
		})
	}
}

// measure reports time and memory per row.
func measure(b *testing.B, body []byte, n int, f func() error) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(n), "B/row")
}

package input

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/input/arrowout"
	"plannerd/internal/input/compression"
	"plannerd/planner"
)

// zipfRows makes n rows with keys of 12 to 16 bytes, costs that fall like
// Zipf's law with exponent 0.85 and have up to two decimals, and whole states.
func zipfRows(n int) []testRow {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]testRow, n)
	for i := range rows {
		cost := math.Round(100*1e6/math.Pow(float64(i+1), 0.85)) / 100
		rows[i] = testRow{
			key:  fmt.Sprintf("user:%07d%s", i, "abcd"[:r.IntN(5)]),
			cost: cost, state: float64(64 + r.IntN(1<<16)), instance: int32(r.IntN(40)),
		}
	}
	r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

type testRow struct {
	key         string
	cost, state float64
	instance    int32
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// bodyOf writes rows in the way that format names.
func bodyOf(format string, rows []testRow) []byte {
	var b bytes.Buffer
	object := func(r testRow) {
		fmt.Fprintf(&b, `{"key":%q,"cost":%s,"state":%s,"instance":%d}`, r.key, number(r.cost), number(r.state), r.instance)
	}
	list := func(name string, value func(r testRow) string) {
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
		list("key", func(r testRow) string { return strconv.Quote(r.key) })
		b.WriteByte(',')
		list("cost", func(r testRow) string { return number(r.cost) })
		b.WriteByte(',')
		list("state", func(r testRow) string { return number(r.state) })
		b.WriteByte(',')
		list("instance", func(r testRow) string { return strconv.Itoa(int(r.instance)) })
		b.WriteString(`}}`)
	case "ndjson":
		for _, r := range rows {
			object(r)
			b.WriteByte('\n')
		}
	case "csv":
		b.WriteString("key,cost,state,instance\n")
		for _, r := range rows {
			fmt.Fprintf(&b, "%s,%s,%s,%d\n", r.key, number(r.cost), number(r.state), r.instance)
		}
	case "arrow":
		w := arrowout.NewWriter(&b)
		if err := errors.Join(w.Write(-1, statisticsOf(rows)), w.Close()); err != nil {
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
			body := bodyOf(format, zipfRows(n)) // the rows must not burden the garbage collector
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
	body := bodyOf("json_rows", zipfRows(n))
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
	text := bodyOf("csv", zipfRows(n))
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
	body := bodyOf("json_rows", zipfRows(n))
	for _, encoding := range []string{"gzip", "zstd"} {
		packed := compressed(b, encoding, body)
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

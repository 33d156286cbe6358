package input

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"plannerd/internal/input/arrowout"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// The types of keys and numbers that writers of Arrow produce.
var (
	textTypes   = []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView}
	binaryTypes = []arrow.DataType{arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView}
	intTypes    = []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	}
	floatTypes = []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}
)

// isBinary tells whether keys of type t are bytes, not text.
func isBinary(t arrow.DataType) bool {
	return slices.ContainsFunc(binaryTypes, func(b arrow.DataType) bool { return b.ID() == inputtest.ValueType(t).ID() })
}

const arrowRows = `[{"key":"a","cost":1,"state":2,"instance":3},{"key":"a key that no view holds in itself","cost":4,"state":5,"instance":6}]`

// checkArrow decodes a stream, cut everywhere, and compares with a text.
func checkArrow(t *testing.T, decode func(io.Reader, Options) (*Document, error), o Options, body []byte, want string) {
	t.Helper()
	for how, r := range map[string]io.Reader{
		"whole": bytes.NewReader(body), "bytes": iotest.OneByteReader(bytes.NewReader(body)),
		"halves": iotest.HalfReader(bytes.NewReader(body)), "data with the end": iotest.DataErrReader(bytes.NewReader(body)),
	} {
		if diff := cmp.Diff(want, describe(decode(r, o))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", how, diff)
		}
	}
}

func csvText(t *testing.T, text string, o Options) string {
	t.Helper()
	return describe(decodeCSV(strings.NewReader(text), o))
}

// Every type that a column may have gives what CSV gives.
func TestArrowTypes(t *testing.T) {
	const text = "key,cost,state,instance\na,1,2,3\na key that no view holds in itself,4,5,6\n"
	want := csvText(t, text, Options{})
	keys := append(append([]arrow.DataType{}, textTypes...), binaryTypes...)
	for _, k := range keys {
		rows := arrowRows
		if isBinary(k) {
			rows = strings.ReplaceAll(rows, `"a"`, `"`+base64.StdEncoding.EncodeToString([]byte("a"))+`"`)
			rows = strings.ReplaceAll(rows, `"a key that no view holds in itself"`,
				`"`+base64.StdEncoding.EncodeToString([]byte("a key that no view holds in itself"))+`"`)
		}
		t.Run(k.String(), func(t *testing.T) {
			checkArrow(t, decodeArrow, Options{}, arrowOf(t, usual(k), nil, rows), want)
		})
		t.Run("dictionary of "+k.String(), func(t *testing.T) {
			checkArrow(t, decodeArrow, Options{}, arrowOf(t, usual(dictionaryOf(k)), nil, rows), want)
		})
	}
	for _, n := range append(append([]arrow.DataType{}, intTypes...), floatTypes...) {
		columns := usual(arrow.BinaryTypes.String)
		columns[1].Type, columns[2].Type = n, n
		if arrow.IsInteger(n.ID()) {
			columns[3].Type = n
		}
		t.Run(n.String(), func(t *testing.T) {
			checkArrow(t, decodeArrow, Options{},
				arrowOf(t, columns, nil, arrowRows), want)
		})
	}
	for name, option := range map[string]ipc.Option{"lz4": ipc.WithLZ4(), "zstd": ipc.WithZstd()} {
		for _, k := range textTypes {
			t.Run(name+" "+k.String(), func(t *testing.T) {
				checkArrow(t, decodeArrow, Options{}, arrowOf(t, usual(k), []ipc.Option{option}, arrowRows), want)
			})
		}
	}
}

// A null is an empty cell.
func TestArrowNulls(t *testing.T) {
	columns := append(usual(arrow.BinaryTypes.String), col("hash_instance", arrow.Null))
	first := `[{"key":"a","cost":1,"state":2},{"key":"b","cost":3,"state":4}]`
	second := `[{"key":"c","cost":5,"state":6,"instance":7},{"key":"d","cost":8,"state":9}]`
	third := `[{"key":"e","cost":5,"state":6,"instance":7}]`
	want := csvText(t, "key,cost,state,instance\na,1,2,\nb,3,4,\nc,5,6,7\nd,8,9,\ne,5,6,7\n", Options{})
	checkArrow(t, decodeArrow, Options{}, arrowOf(t, columns, nil, first, `[]`, second, third), want)
	for _, k := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.StringView,
		dictionaryOf(arrow.BinaryTypes.String)} {
		body := arrowOf(t, usual(k), nil, `[{"key":"a","cost":1,"state":1},{"cost":2},{"key":"b","state":3}]`)
		checkArrow(t, decodeArrow, Options{}, body, csvText(t, "key,cost,state\na,1,1\n,2,\nb,,3\n", Options{}))
	}
	late := arrowOf(t, usual(arrow.BinaryTypes.String), nil, `[{"key":"a","cost":1}]`,
		`[{"key":"b","cost":1,"state":1,"instance":2}]`)
	checkArrow(t, decodeArrow, Options{}, late, csvText(t, "key,cost,state\na,1,\nb,1,1\n", Options{}))
}

// A dictionary may be replaced, and grow.
func TestArrowDictionaries(t *testing.T) {
	columns := []arrow.Field{col("key", dictionaryOf(arrow.BinaryTypes.String)), col("cost", arrow.PrimitiveTypes.Float64)}
	want := csvText(t, "key,cost\nb,1\na,2\nc,3\n", Options{})
	for name, options := range map[string][]ipc.Option{"replaced": nil, "deltas": {ipc.WithDictionaryDeltas(true)}} {
		schema := arrow.NewSchema(columns, nil)
		var b bytes.Buffer
		w := ipc.NewWriter(&b, append(options, ipc.WithSchema(schema))...)
		builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i, rows := range [][]string{{"b", "a"}, {"c"}} {
			dictionary := []string{`["b","a"]`, `["b","a","c"]`}[i]
			values, _, err := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(dictionary))
			if err != nil {
				t.Fatal(err)
			}
			indices := array.NewInt16Builder(memory.DefaultAllocator)
			for _, r := range rows {
				indices.Append(int16(strings.Index("bac", r)))
				builder.Field(1).(*array.Float64Builder).Append(float64(1 + strings.Index("bac", r)))
			}
			keys := array.NewDictionaryArray(columns[0].Type, indices.NewArray(), values)
			costs := builder.Field(1).NewArray()
			if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{keys, costs}, int64(len(rows)))); err != nil {
				t.Fatal(name, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkArrow(t, decodeArrow, Options{}, b.Bytes(), want)
	}
}

func TestArrowKeys(t *testing.T) {
	columns := func(k arrow.DataType) []arrow.Field {
		return []arrow.Field{col("key", k), col("cost", arrow.PrimitiveTypes.Float64)}
	}
	row := func(key string) string { return fmt.Sprintf(`[{"key":%q,"cost":1}]`, key) }
	base64Keys := Options{Base64Keys: true}
	text := base64.StdEncoding.EncodeToString([]byte{0xff, 'k'})
	// Text is base64 when it is said to be, binary never is.
	for _, k := range textTypes {
		d, err := decodeArrow(bytes.NewReader(arrowOf(t, columns(k), nil, row(text))), base64Keys)
		if err != nil || string(d.Stats.Keys.At(0)) != "\xffk" || !d.Base64Keys {
			t.Errorf("%v: %v", k, describe(d, err))
		}
	}
	for _, k := range binaryTypes {
		for _, o := range []Options{base64Keys, {}} {
			d, err := decodeArrow(bytes.NewReader(arrowOf(t, columns(k), nil, row(text))), o)
			if err != nil || string(d.Stats.Keys.At(0)) != "\xffk" {
				t.Errorf("%v: %v", k, describe(d, err))
			}
		}
	}
	// Each key must be UTF-8, not only all together.
	for _, k := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
		arrow.BinaryTypes.StringView} {
		for name, keys := range map[string][]string{"cut rune": {"\xc3", "\xa9"}, "latin1": {"ok", "\xe9"}} {
			want := "malformed\n/0/key: is not UTF-8"
			if name == "latin1" {
				want = "malformed\n/1/key: is not UTF-8"
			}
			checkArrow(t, decodeArrow, Options{}, rawKeys(t, k, keys), want)
		}
	}
	for _, k := range append(append([]arrow.DataType{}, textTypes...), dictionaryOf(arrow.BinaryTypes.String)) {
		body := arrowOf(t, columns(k), nil, row(key(k1024)), row(key(k1025)), row(""), row(key(k1024)))
		checkArrow(t, decodeArrow, Options{}, body,
			"invalid\n/1/key: must be 1 to 1024 bytes\n/2/key: must be 1 to 1024 bytes")
	}
	checkArrow(t, decodeArrow, Options{}, arrowOf(t, columns(arrow.BinaryTypes.String), nil, row("a"), row("b"), row("a")),
		"invalid\n/2/key: is the same as /0/key")
}

// rawKeys writes a stream of keys that need not be UTF-8.
func rawKeys(t *testing.T, k arrow.DataType, keys []string) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{col("key", k), col("cost", arrow.PrimitiveTypes.Float64)}, nil)
	rows := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, key := range keys {
		rows.Field(0).(array.StringLikeBuilder).Append(key)
		rows.Field(1).(*array.Float64Builder).Append(1)
	}
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(rows.NewRecordBatch()), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArrowRules(t *testing.T) {
	str, f64, i32, i64 := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int32,
		arrow.PrimitiveTypes.Int64
	with := func(more ...arrow.Field) []arrow.Field {
		return append([]arrow.Field{col("key", str), col("cost", f64)}, more...)
	}
	records := []arrow.Field{col("instance", i32), col("hash_instance", i64), col("cost", f64), col("state", f64),
		col("count", i64)}
	for _, c := range []struct {
		name    string
		columns []arrow.Field
		rows    string
		want    string
	}{
		{"no rows", with(), `[]`, csvText(t, "key,cost\n", Options{})},
		{"unknown column", with(col("colour/~", str)), `[]`, "invalid\n/colour~1~0: unknown column"},
		{"interval", with(col("interval", i64)), `[{"key":"a","cost":1,"interval":7},{"key":"b","cost":2,"interval":7}]`,
			"interval 7\n\"a\" 1\n\"b\" 2"},
		{"interval on some rows", with(col("interval", i32)), `[{"key":"a","cost":1,"interval":7},{"key":"b","cost":2}]`,
			"invalid\n/1/interval: is required"},
		{"several intervals", with(col("interval", i64)), `[{"key":"a","cost":1,"interval":7},{"key":"b","cost":2,"interval":8}]`,
			"invalid\n/1/interval: is 8, but 7 in the rows before: a body holds one interval"},
		{"no interval", with(col("interval", i64)), `[{"key":"a","cost":1,"interval":-1}]`,
			"invalid\n/0/interval: must be an integer from 0 to 9007199254740991"},
		{"no key", []arrow.Field{col("cost", f64)}, `[]`, "invalid\n/key: column is required"},
		{"no cost", []arrow.Field{col("key", str)}, `[]`, "invalid\n/cost: column is required, or frequency in its place"},
		{"both", with(col("frequency", f64)), `[]`, "invalid\n/frequency: excludes cost"},
		{"count", with(col("count", i64)), `[]`, "invalid\n/count: excludes key"},
		{"twice", with(col("cost", f64)), `[]`, "malformed\n/cost: column stands twice"},
		{"key of numbers", []arrow.Field{col("key", i64), col("cost", f64)}, `[]`,
			"invalid\n/key: column must be utf8 or binary, not int64"},
		{"cost of text", []arrow.Field{col("key", str), col("cost", str)}, `[]`,
			"invalid\n/cost: column must be a float of 32 or 64 bits or an integer, not utf8"},
		{"decimal", with(col("state", &arrow.Decimal128Type{Precision: 10, Scale: 2})), `[]`,
			"invalid\n/state: column must be a float of 32 or 64 bits or an integer, not decimal"},
		{"half", with(col("state", arrow.FixedWidthTypes.Float16)), `[]`,
			"invalid\n/state: column must be a float of 32 or 64 bits or an integer, not float16"},
		{"float instance", with(col("instance", f64)), `[]`, "invalid\n/instance: column must be an integer or utf8, not float64"},
		{"nested", with(col("state", arrow.ListOf(f64))), `[]`,
			"invalid\n/state: column must be a float of 32 or 64 bits or an integer, not list"},
		{"nested key", []arrow.Field{col("key", arrow.StructOf(col("a", str))), col("cost", f64)}, `[]`,
			"invalid\n/key: column must be utf8 or binary, not struct"},
		{"dictionary of numbers", with(col("state", dictionaryOf(f64))), `[]`,
			"invalid\n/state: column must be a float of 32 or 64 bits or an integer, not dictionary of floating point"},
		{"amounts", with(col("state", f64)),
			`[{"key":"a","cost":-1,"state":1},{"key":"b","cost":1,"state":1e300},{"key":"c","cost":-0.0,"state":1}]`,
			"invalid\n/0/cost: must be ≥ 0 and finite\n/1/state: must be at most 1e290"},
		{"negative ints", []arrow.Field{col("key", str), col("frequency", i64)},
			`[{"key":"a","frequency":1},{"key":"b","frequency":-1}]`,
			"invalid\n/1/frequency: must be ≥ 0 and finite"},
		{"ids", with(col("instance", i64), col("hash_instance", i32)),
			`[{"key":"a","cost":1,"instance":2147483648,"hash_instance":1},{"key":"b","cost":1,"instance":1,"hash_instance":-1}]`,
			"invalid\n/0/instance: must be an integer from 0 to 2147483647\n/1/hash_instance: must be an integer from 0 to " +
				"2147483647"},
		{"great id", with(col("instance", arrow.PrimitiveTypes.Uint64)),
			`[{"key":"a","cost":1,"instance":18446744073709551615}]`,
			"invalid\n/0/instance: must be an integer from 0 to 2147483647"},
		{"records", records, `[{"instance":1,"hash_instance":2,"cost":3,"state":4,"count":5}]`,
			csvText(t, "instance,hash_instance,cost,state,count\n1,2,3,4,5\n", Options{})},
		{"bad records", records,
			`[{"instance":1,"hash_instance":2,"cost":3,"state":4,"count":0},{"cost":1,"state":1,"count":9007199254740992}]`,
			csvText(t, "instance,hash_instance,cost,state,count\n1,2,3,4,0\n,,1,1,9007199254740992\n", Options{})},
		{"records without state", append(records[:3:3], records[4]), `[]`, "invalid\n/state: column is required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkArrow(t, decodeArrow, Options{},
				arrowOf(t, c.columns, nil, c.rows), c.want)
		})
	}
}

// −0 is 0, and NaN and infinities, which JSON cannot say, are wrong.
func TestArrowFloats(t *testing.T) {
	floats := func(xs ...float64) []byte {
		s := &planner.Statistics{Keys: planner.NewKeys(0), Cost: xs}
		for i := range xs {
			s.Keys.Append([]byte{byte('a' + i)})
		}
		var b bytes.Buffer
		w := arrowout.NewWriter(&b)
		if err := errors.Join(w.Write(-1, s), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	d, err := decodeArrow(bytes.NewReader(floats(1, math.Copysign(0, -1))), Options{})
	if err != nil || math.Signbit(d.Stats.Cost[1]) {
		t.Errorf("−0: %s", describe(d, err))
	}
	checkArrow(t, decodeArrow, Options{}, floats(math.NaN(), math.Inf(1), planner.MaxAmount, math.Inf(-1)),
		"invalid\n/0/cost: must be ≥ 0 and finite\n/1/cost: must be ≥ 0 and finite\n/3/cost: must be ≥ 0 and finite")
}

func TestArrowProblemsStopAt100(t *testing.T) {
	rows := "[" + strings.Repeat(`{"key":"k","cost":-1},`, 200) + `{"key":"k","cost":1}]`
	body := arrowOf(t, []arrow.Field{col("key", arrow.BinaryTypes.String), col("cost", arrow.PrimitiveTypes.Float64)}, nil,
		rows)
	// What follows the hundredth problem is never read.
	_, err := decodeArrow(io.MultiReader(bytes.NewReader(body[:len(body)-8]), iotest.ErrReader(errors.New("read on"))),
		Options{})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Invalid || len(e.Problems) != problem.Most {
		t.Error(err)
	}
}

func TestArrowLimits(t *testing.T) {
	body := arrowOf(t, usual(arrow.BinaryTypes.String), nil, arrowRows)
	n := int64(len(body))
	rows := func(n int) Options { return Options{Limits: Limits{Rows: n}} }
	want := describe(decodeArrow(bytes.NewReader(body), Options{}))
	checkArrow(t, decodeArrow, rows(2), body, want)
	checkArrow(t, decodeArrow, rows(1), body, "too large\n/1: more than 1 rows")
	checkArrow(t, decodeArrow, Options{Limits: Limits{Bytes: n}}, body, want)
	checkArrow(t, decodeArrow, Options{Limits: Limits{Bytes: n / 2}}, body,
		fmt.Sprintf("too large\n: more than %d bytes", n/2))
	// What is small compressed counts as large as it is.
	zeros := "[" + strings.TrimSuffix(strings.Repeat(`{"key":"k"},`, 1<<14), ",") + "]"
	keys := []arrow.Field{col("key", arrow.BinaryTypes.String), col("cost", arrow.PrimitiveTypes.Float64)}
	for name, option := range map[string]ipc.Option{"lz4": ipc.WithLZ4(), "zstd": ipc.WithZstd()} {
		packed := arrowOf(t, keys, []ipc.Option{option}, zeros)
		o := Options{Limits: Limits{Bytes: 100_000}}
		if len(packed) > 90_000 {
			t.Fatalf("%s: %d bytes", name, len(packed))
		}
		checkArrow(t, decodeArrow, o, packed, "too large\n: more than 100000 bytes")
	}
}

// A stream that is cut is refused wherever the cut is, and so is one that goes
// on.
func TestArrowEnds(t *testing.T) {
	body := arrowOf(t, usual(arrow.BinaryTypes.String), nil, arrowRows, `[{"key":"b","cost":1,"state":1}]`)
	for n := range body {
		var e *Error
		if _, err := decodeArrow(bytes.NewReader(body[:n]), Options{}); !errors.As(err, &e) || e.Kind != Malformed {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(body), err)
		}
	}
	cut := body[:len(body)-8]
	checkArrow(t, decodeArrow, Options{}, cut,
		fmt.Sprintf("malformed\n: the stream ends without its end-of-stream marker at byte %d", len(cut)))
	checkArrow(t, decodeArrow, Options{}, append(bytes.Clone(body), 0),
		fmt.Sprintf("malformed\n: bytes after the end of the stream at byte %d", len(body)))
	checkArrow(t, decodeArrow, Options{}, []byte("ARROW1\x00\x00more"),
		"malformed\n: an Arrow file, not a stream: write it with the stream format of Arrow IPC at byte 4")
	checkArrow(t, decodeArrow, Options{}, []byte(`{"keys":[]}`), "malformed\n: not an Arrow IPC stream at byte 4")
	checkArrow(t, decodeArrow, Options{}, body[len(body)-8:], "malformed\n: not an Arrow IPC stream at byte 8")
	lost := errors.New("connection lost")
	if _, err := decodeArrow(io.MultiReader(bytes.NewReader(body[:100]), iotest.ErrReader(lost)),
		Options{}); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, err := decodeArrow(idleReader{}, Options{}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// Whatever a length says, memory comes with what was sent.
func TestArrowHostileLengths(t *testing.T) {
	body := arrowOf(t, usual(arrow.BinaryTypes.StringView), []ipc.Option{ipc.WithZstd()}, arrowRows)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tries := 0
	for at := 0; at+8 <= len(body); at += 4 {
		for _, v := range []uint64{1 << 30, 1<<31 - 8, 1<<32 - 8, 1 << 40, 1<<63 - 8} {
			hostile := bytes.Clone(body)
			binary.LittleEndian.PutUint64(hostile[at:], v)
			_, err := decodeArrow(bytes.NewReader(hostile), Options{Limits: Limits{Bytes: 1 << 20}})
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%d at %d: %v", v, at, err)
			}
			tries++
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(tries); each > 8<<20 {
		t.Errorf("%d bytes each", each)
	}
}

func TestArrowStream(t *testing.T) {
	columns := append(usual(arrow.BinaryTypes.String), col("interval", arrow.PrimitiveTypes.Uint16))
	columns[2].Name = "state_bytes"
	row := func(interval int, key string) string {
		return fmt.Sprintf(`{"interval":%d,"key":%q,"cost":1,"state_bytes":2,"instance":%d}`, interval, key, interval)
	}
	body := arrowOf(t, columns, nil, "["+row(3, "a")+","+row(3, "b")+"]", "["+row(3, "c")+","+row(5, "a")+"]",
		"["+row(5, "b")+"]")
	text := "interval,key,cost,state_bytes,instance\n3,a,1,2,3\n3,b,1,2,3\n3,c,1,2,3\n5,a,1,2,5\n5,b,1,2,5\n"
	want := streamed(strings.NewReader(text), CSV, Options{})
	for _, r := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body))} {
		if diff := cmp.Diff(want, streamed(r, Arrow, Options{})); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	back := arrowOf(t, columns, nil, "["+row(3, "a")+","+row(2, "b")+"]")
	if got, want := streamed(bytes.NewReader(back), Arrow, Options{}),
		streamed(strings.NewReader("interval,key,cost\n3,a,1\n2,b,1\n"), CSV, Options{}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	plain := arrowOf(t, usual(arrow.BinaryTypes.String), nil, arrowRows)
	if got := streamed(bytes.NewReader(plain), Arrow, Options{}); !strings.HasPrefix(got,
		"0 /0/key: \"a\" 1 state=2 at=3\n") || !strings.HasSuffix(got, "end false") {
		t.Errorf("without intervals: %s", got)
	}
	if got := streamed(strings.NewReader("text"), Arrow, Options{}); !strings.HasPrefix(got, "malformed") {
		t.Errorf("text: %s", got)
	}
}

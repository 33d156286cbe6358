package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"plannerd/compact"
	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
)

// recordBodies are bodies of records in each form.
func recordBodies(tb testing.TB, records []compact.Record) map[string][]byte {
	tb.Helper()
	var j, c bytes.Buffer
	s := &compact.Statistics{Records: records, Scales: compact.Scales{Cost: 1, State: 1}, Degree: 8}
	if err := lists.WriteCompactJSON(&j, 42, s, false); err != nil {
		tb.Fatal(err)
	}
	if err := lists.WriteCompactCSV(&c, records); err != nil {
		tb.Fatal(err)
	}
	return map[string][]byte{"json": j.Bytes(), "csv": c.Bytes()}
}

var recordDecoders = map[string]func(io.Reader, Options) (*Document, error){"json": decodeJSON, "csv": decodeCSV}

func TestRecordsJSON(t *testing.T) {
	body := func(s string) string { return `{"compact":{"records":[` + s + `]}}` }
	two := func(s string) string { return body(`[0,1,2,3,4],` + s) }
	const five = "must be a list of five numbers"
	const count = "must be an integer from 1 to 9007199254740991"
	checkRules(t, decodeJSON, Options{}, []rule{
		{"records", body(`[7,3,12.5,2048,20],[3,7,0,0,1]`), "records\n7: 7 3 12.5 2048 20\n3: 3 7 0 0 1"},
		{"any order, white space", " { \"interval\" : 42 , \"compact\" :\n{ \"degree\" : 8 , \"records\" : [ [ 0 ,\t1 , " +
			"2e0\r, 3 ,4 ] , [5,6,7,8,9] ] , \"cost_scale\" : 0.5 } } ", "records\n0: 0 1 2 3 4\n5: 5 6 7 8 9"},
		{"no records", body(``), `records`},
		{"same class twice", body(`[0,1,2,3,4],[0,1,2,3,5]`), "records\n0: 0 1 2 3 4\n0: 0 1 2 3 5"},
		{"bounds", body(`[2147483647,0,1e290,-0,9007199254740991]`),
			"records\n2147483647: 2147483647 0 1e+290 0 9007199254740991"},
		{"escaped names", `{"c\u006fmpact":{"recor\u0064s":[[0,1,2,3,4]]}}`, "records\n0: 0 1 2 3 4"},
		{"without records", `{"compact":{"degree":8},"keys":[{"key":"a","cost":1}]}`, `"a" 1`},
		{"without records, behind", `{"columns":{"key":["a"],"cost":[1]},"compact":{}}`, `"a" 1`},
		{"without anything", `{"compact":{"degree":8}}`, `no statistics`},
		{"no object", `{"compact":[{"records":[]}],"keys":[]}`, ``},

		{"truncated", `{"compact":{"records":[[0,1,2`,
			"malformed\n/compact/records/0: unexpected end of the text at byte 29"},
		{"truncated after a record", `{"compact":{"records":[[0,1,2,3,4]`,
			"malformed\n/compact/records/0: unexpected end of the text at byte 34"},
		{"truncated after records", `{"compact":{"records":[]`, "malformed\n/compact: unexpected end of the text at byte 24"},
		{"truncated after compact", `{"compact":{"records":[]}`, "malformed\n: unexpected end of the text at byte 25"},
		{"trailing comma in records", two(``), "malformed\n/compact/records/1: expected a value at byte 35"},
		{"trailing comma in a record", two(`[0,]`), "malformed\n/compact/records/1: expected a value at byte 38"},
		{"comma alone", body(`[,]`), "malformed\n/compact/records/0: expected a value at byte 24"},
		{"missing comma", two(`[0 1]`), "malformed\n/compact/records/1: expected , or ] at byte 38"},
		{"missing comma between", `{"compact":{"records":[[0,1,2,3,4][0,1,2,3,4]]}}`,
			"malformed\n/compact/records/0: expected , or ] at byte 34"},
		{"leading zero", body(`[0,1,2,3,04]`), "malformed\n/compact/records/0: number with a leading zero at byte 32"},
		{"sign", body(`[+0,1,2,3,4]`), "malformed\n/compact/records/0: expected a value at byte 24"},
		{"NaN", body(`[0,1,NaN,3,4]`), "malformed\n/compact/records/0: expected a value at byte 28"},
		{"mismatched brackets", body(`[0,1,2,3,4}`), "malformed\n/compact/records/0: expected , or ] at byte 33"},
		{"sixth value wrong", body(`[0,1,2,3,4,x]`), "malformed\n/compact/records/0: expected a value at byte 34"},
		{"duplicate records", `{"compact":{"records":[],"records":[]}}`,
			"malformed\n/compact/records: duplicate member at byte 35"},
		{"duplicate member", `{"compact":{"a/":1,"records":[],"a\/":1}}`,
			"malformed\n/compact/a~1: duplicate member at byte 38"},
		{"duplicate compact", `{"compact":{"records":[]},"compact":{}}`, "malformed\n/compact: duplicate member at byte 36"},
		{"wrong member", `{"compact":{"degree":08,"records":[]}}`,
			"malformed\n/compact/degree: number with a leading zero at byte 21"},
		{"no colon", `{"compact":{"degree" 8}}`, "malformed\n/compact: expected : at byte 21"},

		{"records no list", `{"compact":{"records":{}}}`, "invalid\n/compact/records: must be a list of records"},
		{"records null", `{"compact":{"records":null,"degree":8}}`, "invalid\n/compact/records: must be a list of records"},
		{"with keys before", `{"keys":[{"key":"a","cost":1}],"compact":{"records":[[0,1,2,3,4]]}}`,
			"\"a\" 1\nrecords\n0: 0 1 2 3 4"},
		{"with keys behind", `{"compact":{"records":[[0,1,2,3,4]]},"keys":[{"key":"a","cost":1,"instance":2}]}`,
			"\"a\" 1 at=2\nrecords\n0: 0 1 2 3 4"},
		{"with columns", `{"columns":{"key":["a","b"],"cost":[1,2]},"compact":{"records":[]}}`,
			"\"a\" 1\n\"b\" 2\nrecords\n"},
		{"keys in base64 behind both", `{"keys":[{"key":"YQ==","cost":1}],"compact":{"records":[[0,1,2,3,4]]},` +
			`"key_encoding":"base64"}`, "\"a\" 1\nrecords\n0: 0 1 2 3 4"},
		{"keys in base64 between both", `{"compact":{"records":[[0,1,2,3,4]]},"key_encoding":"base64",` +
			`"keys":[{"key":"YQ==","cost":1}]}`, "\"a\" 1\nrecords\n0: 0 1 2 3 4"},
		{"wrong keys behind", `{"compact":{"records":[[0,1,2,3,4],[0,1,2,3,4]]},"keys":[{"key":"a","cost":1},{"key":"a"}]}`,
			"invalid\n/keys/1/cost: is required, or frequency in its place"},
		{"keys twice, before", `{"keys":[{"key":"a","cost":1},{"key":"a","cost":1}],"compact":{"records":[[0,1,2,3,4]]}}`,
			"invalid\n/keys/1/key: is the same as /keys/0/key"},
		{"wrong records behind", `{"keys":[{"key":"a","cost":1},{"key":"b","cost":1}],"compact":{"records":[[0,1,2,3,0]]}}`,
			"invalid\n/compact/records/0/4: must be an integer from 1 to 9007199254740991"},
		{"with everything", `{"compact":{"records":[]},"columns":{"key":[],"cost":[]},"keys":[]}`,
			"invalid\n/keys: " + exclusive},
		{"no lists", two(`{},"x",null,5`), "invalid\n/compact/records/1: " + five + "\n/compact/records/2: " + five +
			"\n/compact/records/3: " + five + "\n/compact/records/4: " + five},
		{"wrong lengths", two(`[],[0],[-1,1,2,3],[0,1,2,3,4,5],[[]]`), "invalid\n/compact/records/1: " + five +
			"\n/compact/records/2: " + five + "\n/compact/records/3: " + five + "\n/compact/records/4: " + five +
			"\n/compact/records/5: " + five},
		{"wrong instances", two(`[-1,null,2,3,4],[1.0,1e1,2,3,4],[2147483648,"1",2,3,4]`),
			"invalid\n/compact/records/1/0: must be an integer from 0 to 2147483647\n/compact/records/1/1: must be an integer " +
				"from 0 to 2147483647\n/compact/records/2/0: must be an integer from 0 to 2147483647\n/compact/records/2/1: must " +
				"be an integer from 0 to 2147483647\n/compact/records/3/0: must be an integer from 0 to " +
				"2147483647\n/compact/records/3/1: must be an integer from 0 to 2147483647"},
		{"wrong amounts", two(`[0,1,-1,null,4],[0,1,1e291,1e999,4],[0,1,"2",[3],4]`),
			"invalid\n/compact/records/1/2: must be ≥ 0 and finite\n/compact/records/1/3: must be ≥ 0 and " +
				"finite\n/compact/records/2/2: must be at most 1e290\n/compact/records/2/3: must be ≥ 0 and " +
				"finite\n/compact/records/3/2: must be ≥ 0 and finite\n/compact/records/3/3: must be ≥ 0 and finite"},
		{"wrong counts", two(
			`[0,1,2,3,0],[0,1,2,3,-1],[0,1,2,3,1.5],[0,1,2,3,9007199254740992],[0,1,2,3,"4"],[0,1,2,3,99999999999999999999]`),
			"invalid\n/compact/records/1/4: " + count + "\n/compact/records/2/4: " + count + "\n/compact/records/3/4: " + count +
				"\n/compact/records/4/4: " + count + "\n/compact/records/5/4: " + count + "\n/compact/records/6/4: " + count},
		{"greatest sum", body(`[0,0,0,0,9007199254740990],[0,0,0,0,1]`),
			"records\n0: 0 0 0 0 9007199254740990\n0: 0 0 0 0 1"},
		{"too great a sum",
			body(`[0,0,0,0,9007199254740990],[0,0,0,0,1],[0,0,0,0,1],[0,0,0,0,1],[0,0,0,-1,9007199254740991]`),
			"invalid\n/compact/records/2/4: brings the keys of all records above 9007199254740991\n/compact/records/4/3: must " +
				"be ≥ 0 and finite"},
		{"malformed behind invalid", body(`[-1,0,0,0,1],x`), "malformed\n/compact/records/1: expected a value at byte 36"},
	})
}

func TestRecordsCSV(t *testing.T) {
	const header = "instance,hash_instance,cost,state,count\n"
	const count = "must be an integer from 1 to 9007199254740991"
	checkRules(t, decodeCSV, Options{}, []rule{
		{"records", header + "7,3,12.5,2048,20\n3,7,0,0,1\n", "records\n7: 7 3 12.5 2048 20\n3: 3 7 0 0 1"},
		{"any order, CRLF, BOM, no line end",
			"\uFEFFcount,cost,instance,state,hash_instance\r\n4,+2.,\"0\",.5e1,001\r\n0009007199254740000,0,5,0,6",
			"records\n0: 0 1 2 5 4\n5: 5 6 0 0 9007199254740000"},
		{"no records", header, "records"},
		{"blank lines at the end", header + "0,1,2,3,4\n\n\r\n", "records\n0: 0 1 2 3 4"},

		{"column twice", "count,instance,count\n", "malformed\n/count: column stands twice"},
		{"too few cells", header + "0,1,2,3\n", "malformed\n/0: fewer than 5 cells at byte 47"},
		{"too many cells", header + "0,1,2,3,4,5\n", "malformed\n/0: more than 5 cells at byte 49"},

		{"key and count", "key,cost,count\n", "invalid\n/count: excludes key"},
		{"interval", "interval," + header + "5,0,1,2,3,4\n", "interval 5\nrecords\n0: 0 1 2 3 4"},
		{"header", "count,frequency,interval,x\n", "invalid\n/frequency: unknown column\n/x: " +
			"unknown column\n/cost: column is required\n/state: column is required\n/instance: column is " +
			"required\n/hash_instance: column is required"},
		{"empty cells", header + ",,,,\n0,1,2,3,\"\"\n",
			"invalid\n/0/cost: is required\n/0/state: is required\n/0/instance: is required\n/0/hash_instance: is " +
				"required\n/0/count: is required\n/1/count: is required"},
		{"wrong", header +
			"-1,2147483648,-1,x,0\n1.0,x,1e291,NaN,-1\n0,1,2,3,1.5\n0,1,2,3,9007199254740992\n0,1,2,3,\"0\"\n0,1,2,3, 4\n",
			"invalid\n/0/instance: must be an integer from 0 to 2147483647\n/0/hash_instance: must be an integer from 0 to " +
				"2147483647\n/0/cost: must be ≥ 0 and finite\n/0/state: must be ≥ 0 and finite\n/0/count: " + count +
				"\n/1/instance: must be an integer from 0 to 2147483647\n/1/hash_instance: must be an integer from 0 to " +
				"2147483647\n/1/cost: must be at most 1e290\n/1/state: must be ≥ 0 and finite\n/1/count: " + count +
				"\n/2/count: " + count + "\n/3/count: " + count + "\n/4/count: " + count + "\n/5/count: " + count},
		{"too great a sum", header + "0,0,0,0,9007199254740991\n0,0,0,0,1\n0,0,0,0,1\n",
			"invalid\n/1/count: brings the keys of all records above 9007199254740991"},
	})
	// The records of NDJSON would be rows without keys.
	checkRules(t, decodeNDJSON, Options{}, []rule{
		{"no records", `{"instance":0,"hash_instance":1,"cost":2,"state":3,"count":4}`,
			"invalid\n/0/count: unknown field\n/0/key: is required"},
	})
}

// TestCompactMember looks at what remains of "compact".
func TestCompactMember(t *testing.T) {
	for body, want := range map[string]string{
		`{"compact": {"degree": 8, "records": [] , "x\u00e9\"" : [1, {"a": "\u00e9"}] } }`: `{"degree":8,"xé\"":[1, {"a": "\u00e9"}]}`,
		`{"compact":{"records":[]}}`:                                   `{}`,
		`{"compact":{ },"keys":[]}`:                                    `{}`,
		`{"compact":{"cost_scale":1.50,"degree":-0},"interval":42}`:    `{"cost_scale":1.50,"degree":-0}`,
		`{"compact": [ 1, {"records": 2}] }`:                           `[ 1, {"records": 2}]`,
		`{"compact":null}`:                                             `null`,
		`{"compact":{"compact":{"records":[[0,1,2,3,4]]},"degree":1}}`: `{"compact":{"records":[[0,1,2,3,4]]},"degree":1}`,
	} {
		d, err := decodeJSON(strings.NewReader(body), Options{})
		if err != nil {
			t.Fatal(body, err)
		}
		if got := string(d.Members["compact"]); got != want {
			t.Errorf("%s: compact is %s, want %s", body, got, want)
		}
	}
	big := `"` + strings.Repeat("x", 300<<10) + `"`
	d, err := decodeJSON(strings.NewReader(`{"compact":{"x":`+big+`,"records":[[0,1,2,3,4]],"y":`+big+`}}`), Options{})
	if err != nil || len(d.Records) != 1 || string(d.Members["compact"]) != `{"x":`+big+`,"y":`+big+`}` {
		t.Errorf("members larger than the window: %v", err)
	}
	var members []string
	for i := range columns.MaxMembers + 1 {
		members = append(members, fmt.Sprintf(`"m%d":0`, i))
	}
	_, err = decodeJSON(strings.NewReader(`{"compact":{`+strings.Join(members, ",")+`}}`), Options{})
	if got := describe(nil, err); got != "too large\n/compact: more than 256 members" {
		t.Error(got)
	}
}

func TestRecordPointers(t *testing.T) {
	d, err := decodeJSON(strings.NewReader(`{"compact":{"records":[]}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"": "/compact/records/17", "instance": "/compact/records/17/0", "hash_instance": "/compact/records/17/1",
		"cost": "/compact/records/17/2", "state": "/compact/records/17/3", "count": "/compact/records/17/4",
	} {
		if got := d.Pointer(17, field); got != want {
			t.Errorf("%q: %s, want %s", field, got, want)
		}
	}
	if got := d.Pointer(-1, "compact"); got != "/compact" {
		t.Error(got)
	}
	d, err = decodeCSV(strings.NewReader("instance,hash_instance,cost,state,count"), Options{})
	if err != nil || d.Pointer(17, "count") != "/17/count" {
		t.Error(d, err)
	}
}

func TestRecordLimits(t *testing.T) {
	records := inputtest.Records(5)
	broken := errors.New("connection lost")
	for format, body := range recordBodies(t, records) {
		decode := recordDecoders[format]
		for _, l := range []Limits{{Rows: 5}, {Bytes: int64(len(body))}} {
			if d, err := decode(bytes.NewReader(body), Options{Limits: l}); err != nil ||
				!slices.EqualFunc(d.Records, records, sameRecord) {
				t.Errorf("%s %+v: %v", format, l, err)
			}
		}
		for _, l := range []Limits{{Rows: 4}, {Bytes: int64(len(body)) - 1}} {
			var e *Error
			if _, err := decode(bytes.NewReader(body), Options{Limits: l, RowHint: math.MaxInt}); !errors.As(err, &e) ||
				e.Kind != TooLarge {
				t.Errorf("%s %+v: %v", format, l, err)
			}
		}
		_, err := decode(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(broken)), Options{})
		var e *Error
		if !errors.Is(err, broken) || errors.As(err, &e) {
			t.Errorf("%s: %v", format, err)
		}
		checkWindows(t, decode, Options{}, body)
	}
	_, err := decodeJSON(strings.NewReader(`{"compact":{"records":[[0,1,2,3,4],[0,1,2,3,4]]}}`),
		Options{Limits: Limits{Rows: 1}})
	if got := describe(nil, err); got != "too large\n/compact/records/1: more than 1 rows" {
		t.Error(got)
	}
	many := strings.TrimSuffix(strings.Repeat("5,", 150), ",")
	_, err = decodeJSON(strings.NewReader(`{"compact":{"records":[`+many+`]}}`), Options{})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Invalid || len(e.Problems) != 100 ||
		e.Problems[99].Pointer != "/compact/records/99" {
		t.Error(err)
	}
	long := strings.Repeat(" ", 1<<20)
	_, err = decodeJSON(strings.NewReader(`{"compact":{"records":[[0,`+long+`1,2,3,4]]}}`), Options{})
	if got := describe(nil, err); got != "too large\n/compact/records/0: longer than 1048576 bytes" {
		t.Error(got)
	}
}

// TestManyRecords crosses many windows and chunks, with right, wrong and no
// hints, and bounds what is allocated by three times the records.
func TestManyRecords(t *testing.T) {
	const n = 100_000
	records := inputtest.Records(n)
	for format, body := range recordBodies(t, records) {
		for _, hint := range []int{0, 10, 70_000, n, 1 << 40} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d, err := recordDecoders[format](bytes.NewReader(body), Options{RowHint: hint})
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(format, err)
			}
			if !slices.EqualFunc(d.Records, records, sameRecord) {
				t.Fatalf("%s, hint %d: other records", format, hint)
			}
			if total := after.TotalAlloc - before.TotalAlloc; total > 3*40*n {
				t.Errorf("%s, hint %d: %d bytes for %d records", format, hint, total, n)
			}
			if count := after.Mallocs - before.Mallocs; count > n/100 {
				t.Errorf("%s, hint %d: %d allocations", format, hint, count)
			}
		}
	}
}

func BenchmarkRecords(b *testing.B) {
	const n = 1e5
	records := inputtest.Records(n)
	for _, format := range []string{"json", "csv"} {
		body := recordBodies(b, records)[format]
		b.Run("decode/format="+format+"/records=1e5", func(b *testing.B) {
			measure(b, body, n, func() error {
				_, err := recordDecoders[format](bytes.NewReader(body), Options{})
				return err
			})
		})
		b.Run("reference/format="+format+"/records=1e5", func(b *testing.B) {
			oracle := oracleJSON
			if format == "csv" {
				oracle = oracleCSV
			}
			measure(b, body, n, func() error { _, err := oracle(body, false); return err })
		})
	}
	s := &compact.Statistics{Records: records}
	b.Run("write/format=json/records=1e5", func(b *testing.B) {
		body := recordBodies(b, records)["json"]
		measure(b, body, n, func() error { return lists.WriteCompactJSON(io.Discard, 1, s, false) })
	})
	blob := stored.EncodeCompact(s)
	b.Run("encode/records=1e5", func(b *testing.B) {
		measure(b, blob, n, func() error { stored.EncodeCompact(s); return nil })
		b.ReportMetric(float64(len(blob))/n, "stored_B/row")
	})
	b.Run("decode_blob/records=1e5", func(b *testing.B) {
		measure(b, blob, n, func() error { _, err := stored.DecodeCompact(blob); return err })
	})
}

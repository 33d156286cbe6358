package input

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"plannerd/compact"
	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/window"
	"plannerd/planner"
)

// describe writes what a decoder made of a body in one string.
func describe(decoded any, err error) string {
	var e *Error
	switch {
	case errors.As(err, &e):
		var b strings.Builder
		b.WriteString(e.Kind.String())
		for _, p := range e.Problems {
			fmt.Fprintf(&b, "\n%s: %s", p.Pointer, p.Detail)
		}
		return b.String()
	case err != nil:
		return "error: " + err.Error()
	}
	switch d := decoded.(type) {
	case *Resolution:
		return describeResolution(d)
	case *Document:
		return describeDocument(d)
	}
	return fmt.Sprintf("unexpected %T", decoded)
}

func describeResolution(r *Resolution) string {
	var b strings.Builder
	for i := range r.Len() {
		m := at(r, i)
		fmt.Fprintf(&b, "%q %d→%d", m.Key, m.From, m.To)
		if h := hashOf(r, i); h != planner.NoInstance {
			fmt.Fprintf(&b, " (%d)", h)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func hashOf(r *Resolution, row int) int32 {
	if r.HashInstance == nil {
		return planner.NoInstance
	}
	return r.HashInstance[row]
}

func describeDocument(d *Document) string {
	if d.Interval != nil {
		rest := *d
		rest.Interval = nil
		return fmt.Sprintf("interval %d\n%s", *d.Interval, describeDocument(&rest))
	}
	switch {
	case d.Stats != nil && d.Records != nil:
		keys := *d
		keys.Records = nil
		return describeDocument(&keys) + "\nrecords\n" + strings.TrimSuffix(describeRecords(d.Records), "\n")
	case d.Records != nil:
		return strings.TrimSuffix("records\n"+describeRecords(d.Records), "\n")
	case d.Stats == nil:
		return "no statistics"
	}
	var b strings.Builder
	s := d.Stats
	for i := range s.Len() {
		fmt.Fprintf(&b, "%q %v", s.Keys.At(i), s.Cost[i])
		if s.State != nil {
			fmt.Fprintf(&b, " state=%v", s.State[i])
		}
		if s.Instance != nil {
			fmt.Fprintf(&b, " at=%d", s.Instance[i])
		}
		if s.HashInstance != nil {
			fmt.Fprintf(&b, " hash=%d", s.HashInstance[i])
		}
		for _, x := range s.Costs {
			fmt.Fprintf(&b, " %s=%v", x.Name, x.Rows[i])
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func describeRecords(records []compact.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%d: %d %d %v %v %d\n", r.Planned, r.Current, r.Hash, r.Cost, r.State, r.Count)
	}
	return b.String()
}

// rule is a body and what becomes of it.
type rule struct{ name, body, want string }

// exclusive is the detail of rows named twice over.
const exclusive = `"keys" and "columns" exclude each other`

const (
	k1024 = 1024
	k1025 = 1025
)

func key(n int) string { return strings.Repeat("k", n) }

func checkRules[D any](t *testing.T, decode func(io.Reader, Options) (D, error), o Options, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if diff := cmp.Diff(r.want, describe(decode(strings.NewReader(r.body), o))); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", r.body, diff)
			}
			checkWindows(t, decode, o, []byte(r.body))
		})
	}
}

// checkWindows decodes a body through windows and readers that cut it
// everywhere: the outcome must not depend on it.
func checkWindows[D any](t *testing.T, decode func(io.Reader, Options) (D, error), o Options, body []byte) {
	t.Helper()
	want := describe(decode(bytes.NewReader(body), o))
	check := func(how string, r io.Reader) {
		t.Helper()
		if got := describe(decode(r, o)); got != want {
			t.Fatalf("%s: %q:\n got %s\nwant %s", how, body, got, want)
		}
	}
	check("one byte at a time", iotest.OneByteReader(bytes.NewReader(body)))
	check("data with the error", iotest.DataErrReader(bytes.NewReader(body)))
	if len(body) > 4096 {
		return
	}
	for i := range body {
		check(fmt.Sprintf("split at %d", i), io.MultiReader(bytes.NewReader(body[:i]), bytes.NewReader(body[i:])))
	}
	defer func(size int) { window.Size = size }(window.Size)
	for window.Size = 1; window.Size <= len(body) && window.Size <= 100; window.Size++ {
		check(fmt.Sprintf("window of %d", window.Size), bytes.NewReader(body))
	}
}

func TestKeysAreText(t *testing.T) {
	d, err := decodeJSON(strings.NewReader(`{"key_encoding":"utf8","keys":[{"key":"YQ==","cost":1}]}`), Options{})
	if err != nil || d.Base64Keys || string(d.Stats.Keys.At(0)) != "YQ==" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestJSONRows(t *testing.T) {
	row := func(s string) string { return `{"keys":[` + s + `]}` }
	two := func(s string) string { return row(`{"key":"a","cost":1},` + s) }
	checkRules(t, decodeJSON, Options{}, []rule{
		{"all members", row(`{"key":"user:1","cost":12.5,"state":2048,"instance":7,"hash_instance":3}`),
			`"user:1" 12.5 state=2048 at=7 hash=3`},
		{"any order, white space", " { \"x\" : [ 1 , {} ] , \"keys\" :\n[ { \"cost\" : 2 ,\t\"key\"\r:\"b\" } , " +
			"{\"key\":\"a\",\"frequency\":1e2}] } \n", "\"b\" 2\n\"a\" 100"},
		{"no rows", row(``), ``},
		{"neither", `{"interval":42}`, `no statistics`},
		{"empty object", `{}`, `no statistics`},
		{"null instance is absent", row(`{"key":"a","cost":1,"instance":null}`), `"a" 1`},
		{"instance on some rows", two(`{"key":"b","cost":2,"instance":5},{"key":"c","cost":3,"hash_instance":0}`),
			"\"a\" 1 at=-1 hash=-1\n\"b\" 2 at=5 hash=-1\n\"c\" 3 at=-1 hash=0"},
		{"escapes", row(`{"k\u0065y":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é","c\u006fst":1}`), `"\"\\/\b\f\n\r\té😀é" 1`},
		{"minus zero", row(`{"key":"a","cost":-0,"state":-0.0e5}`), `"a" 0 state=0`},
		{"greatest instance", row(`{"key":"a","cost":1,"instance":2147483647}`), `"a" 1 at=2147483647`},
		{"longest key", row(`{"key":"` + key(k1024) + `","cost":1}`), `"` + key(k1024) + `" 1`},

		{"empty body", ``, "malformed\n: unexpected end of the text at byte 0"},
		{"list", `[]`, "malformed\n: expected an object at byte 0"},
		{"truncated", `{"keys":[{"key":"a","co`, "malformed\n/keys/0: unexpected end of the text at byte 23"},
		{"truncated after a row", `{"keys":[{"key":"a","cost":1}`,
			"malformed\n/keys/0: unexpected end of the text at byte 29"},
		{"truncated after rows", `{"keys":[]`, "malformed\n: unexpected end of the text at byte 10"},
		{"trailing garbage", row(``) + ` x`, "malformed\n: text after the document at byte 12"},
		{"trailing document", `{}{}`, "malformed\n: text after the document at byte 2"},
		{"NUL at the end", "{}\x00", "malformed\n: text after the document at byte 2"},
		{"trailing comma in rows", row(`{"key":"a","cost":1},`), "malformed\n/keys/1: expected a value at byte 30"},
		{"trailing comma in a row", row(`{"key":"a","cost":1,}`), "malformed\n/keys/0: expected a string at byte 29"},
		{"missing comma", row(`{"key":"a" "cost":1}`), "malformed\n/keys/0: expected , or } at byte 20"},
		{"missing colon", row(`{"key" "a"}`), "malformed\n/keys/0: expected : at byte 16"},
		{"leading zero", row(`{"key":"a","cost":01}`), "malformed\n/keys/0: number with a leading zero at byte 27"},
		{"no fraction", row(`{"key":"a","cost":1.}`), "malformed\n/keys/0: expected a digit at byte 29"},
		{"no exponent", row(`{"key":"a","cost":1e}`), "malformed\n/keys/0: expected a digit at byte 29"},
		{"NaN", row(`{"key":"a","cost":NaN}`), "malformed\n/keys/0: expected a value at byte 27"},
		{"bad literal", row(`{"key":"a","cost":1,"instance":nul}`), "malformed\n/keys/0: unknown literal at byte 43"},
		{"control character", row("{\"key\":\"a\nb\",\"cost\":1}"),
			"malformed\n/keys/0: control character in a string at byte 18"},
		{"bad escape", row(`{"key":"\x","cost":1}`), "malformed\n/keys/0: string with an unknown escape sequence at byte 17"},
		{"bad hexadecimal", row(`{"key":"\u00g0","cost":1}`),
			"malformed\n/keys/0: string with an unknown escape sequence at byte 17"},
		{"lone low surrogate", row(`{"key":"\udc00","cost":1}`), "malformed\n/keys/0: string with an unknown escape sequence at byte 17"},
		{"lone high surrogate", row(`{"key":"\ud800x","cost":1}`), "malformed\n/keys/0: string with an unknown escape sequence at byte 17"},
		{"two high surrogates", row(`{"key":"\ud800\ud800","cost":1}`),
			"malformed\n/keys/0: string with an unknown escape sequence at byte 17"},
		{"not UTF-8", row("{\"key\":\"\xff\",\"cost\":1}"), "malformed\n/keys/0: string that is not UTF-8 at byte 17"},
		{"duplicate member", row(`{"key":"a","cost":1,"cost":2}`), "malformed\n/keys/0/cost: duplicate member at byte 29"},
		{"duplicate unknown member", row(`{"key":"a","cost":1,"x/":2,"x\/":2}`),
			"malformed\n/keys/0/x~1: duplicate member at byte 36"},
		{"duplicate body member", `{"interval":1,"interval":2}`, "malformed\n/interval: duplicate member at byte 25"},
		{"duplicate keys member", `{"keys":[],"keys":[]}`, "malformed\n/keys: duplicate member at byte 18"},
		{"duplicate deep inside", `{"x":[{"a":1,"a":2}]}`, "malformed\n/x: not a valid JSON value at byte 5"},
		{"mismatched brackets", `{"x":[}}`, "malformed\n/x: not a valid JSON value at byte 5"},
		{"nested too deeply", `{"x":` + strings.Repeat("[", 129), "malformed\n/x: nested too deeply at byte 133"},

		{"not an object", two(`[1],"x"`), "invalid\n/keys/1: must be an object\n/keys/2: must be an object"},
		{"keys no list", `{"keys":{}}`, "invalid\n/keys: must be a list of rows"},
		{"keys null", `{"keys":null}`, "invalid\n/keys: must be a list of rows"},
		{"both", `{"keys":[],"columns":{}}`, "invalid\n/columns: " + exclusive},
		{"key missing", two(`{"cost":1}`), "invalid\n/keys/1/key: is required"},
		{"key no string", two(`{"key":7,"cost":1},{"key":null,"cost":1}`),
			"invalid\n/keys/1/key: must be a string\n/keys/2/key: must be a string"},
		{"key empty", two(`{"key":"","cost":1}`), "invalid\n/keys/1/key: must be 1 to 1024 bytes"},
		{"key too long", two(`{"key":"` + key(k1025) + `","cost":1}`), "invalid\n/keys/1/key: must be 1 to 1024 bytes"},
		{"cost missing", two(`{"key":"b"}`), "invalid\n/keys/1/cost: is required, or frequency in its place"},
		{"cost and frequency", two(`{"key":"b","cost":1,"frequency":1}`), "invalid\n/keys/1/frequency: excludes cost"},
		{"cost wrong",
			row(
				`{"key":"a","cost":-1},{"key":"b","cost":1e999},{"key":"c","cost":"1"},{"key":"d","frequency":null},{"key":"e","cost":[{}]}`),
			"invalid\n/keys/0/cost: must be ≥ 0 and finite\n/keys/1/cost: must be ≥ 0 and finite\n/keys/2/cost: must be ≥ 0 " +
				"and finite\n/keys/3/frequency: must be ≥ 0 and finite\n/keys/4/cost: must be ≥ 0 and finite"},
		{"state wrong", row(`{"key":"a","cost":1,"state":-1e-9},{"key":"b","cost":1,"state":true}`),
			"invalid\n/keys/0/state: must be ≥ 0 and finite\n/keys/1/state: must be ≥ 0 and finite"},
		{"instance wrong",
			row(
				`{"key":"a","cost":1,"instance":-1},{"key":"b","cost":1,"instance":1.0},{"key":"c","cost":1,"hash_instance":2147483648},{"key":"d","cost":1,"instance":"1"},{"key":"e","cost":1,"instance":1e1}`),
			"invalid\n/keys/0/instance: must be an integer from 0 to 2147483647\n/keys/1/instance: must be an integer from 0 " +
				"to 2147483647\n/keys/2/hash_instance: must be an integer from 0 to 2147483647\n/keys/3/instance: must be an " +
				"integer from 0 to 2147483647\n/keys/4/instance: must be an integer from 0 to 2147483647"},
		{"unknown members", two(`{"key":"b","cost":1,"state_bytes":1,"a/b~":{"x":[]}},{"interval":3,"key":"c","cost":1}`),
			"invalid\n/keys/1/state_bytes: unknown field\n/keys/1/a~1b~0: unknown field\n/keys/2/interval: unknown field"},
		{"state from the second row", two(`{"key":"b","cost":1,"state":3},{"key":"c","cost":1}`),
			"invalid\n/keys/0/state: is required: other rows name their state"},
		{"state not on the second row", row(`{"key":"b","cost":1,"state":3},{"key":"c","cost":1},{"key":"d","cost":1}`),
			"invalid\n/keys/1/state: is required: other rows name their state"},
		{"duplicate keys", two(`{"key":"b","cost":1},{"key":"\u0061","cost":1},{"key":"b","cost":1},{"key":"a","cost":1}`),
			"invalid\n/keys/2/key: is the same as /keys/0/key\n/keys/3/key: is the same as /keys/1/key\n/keys/4/key: is the " +
				"same as /keys/0/key"},
		{"several in a row", row(`{"cost":-1,"instance":-1}`),
			"invalid\n/keys/0/cost: must be ≥ 0 and finite\n/keys/0/instance: must be an integer from 0 to " +
				"2147483647\n/keys/0/key: is required"},
		{"malformed behind invalid", row(`{"cost":-1},x`), "malformed\n/keys/1: expected a value at byte 21"},
		{"key_encoding unknown", `{"key_encoding":"hex","keys":[{"key":"a","cost":1}]}`,
			"invalid\n/key_encoding: must be \"utf8\" or \"base64\""},
		{"key_encoding no string", `{"keys":[],"key_encoding":null}`,
			"invalid\n/key_encoding: must be \"utf8\" or \"base64\""},
	})
}

func TestJSONColumns(t *testing.T) {
	columns := func(s string) string { return `{"columns":{` + s + `}}` }
	checkRules(t, decodeJSON, Options{}, []rule{
		{"all columns in any order",
			columns(`"instance":[1,null],"cost":[1.5,2],"hash_instance":[0,4],"state":[7,8],"key":["a","b"]`),
			"\"a\" 1.5 state=7 at=1 hash=0\n\"b\" 2 state=8 at=-1 hash=4"},
		{"white space", " {\"columns\" : { \"key\" : [ \"a\" , \"b\" ] , \"frequency\":[ 1,2\n] } } ", "\"a\" 1\n\"b\" 2"},
		{"no rows", columns(`"key":[],"cost":[]`), ``},
		{"null instances only", columns(`"key":["a"],"cost":[1],"instance":[null]`), `"a" 1`},

		{"truncated", `{"columns":{"key":["a","b`, "malformed\n/columns/key/1: unexpected end of the text at byte 25"},
		{"trailing comma", columns(`"key":["a",]`), "malformed\n/columns/key/1: expected a value at byte 23"},
		{"missing comma", columns(`"cost":[1 2]`), "malformed\n/columns/cost/0: expected , or ] at byte 22"},
		{"leading zero", columns(`"instance":[1,02]`),
			"malformed\n/columns/instance/1: number with a leading zero at byte 26"},
		{"duplicate column", columns(`"key":[],"key":[]`), "malformed\n/columns/key: duplicate member at byte 27"},
		{"duplicate unknown column", columns(`"x":1,"x":1`), "malformed\n/columns/x: duplicate member at byte 22"},
		{"duplicate columns", `{"columns":{"key":[],"cost":[]},"columns":{}}`,
			"malformed\n/columns: duplicate member at byte 42"},

		{"no object", `{"columns":[]}`, "invalid\n/columns: must be an object of lists"},
		{"no columns", columns(``),
			"invalid\n/columns/key: is required\n/columns/cost: is required, or frequency in its place"},
		{"both", `{"columns":{"key":[],"cost":[]},"keys":[{]}`, "malformed\n/keys: not a valid JSON value at byte 39"},
		{"cost and frequency", columns(`"key":[],"cost":[],"frequency":[]`), "invalid\n/columns/frequency: excludes cost"},
		{"column no list", columns(`"key":{},"cost":[1]`), "invalid\n/columns/key: must be a list"},
		{"unknown column", columns(`"key":["a"],"cost":[1],"a~/":[{"x":2}]`), "invalid\n/columns/a~0~1: unknown field"},
		{"other lengths", columns(`"state":[],"key":["a"],"cost":[1,2],"instance":[1]`),
			"invalid\n/columns/cost: has 2 values for 1 keys\n/columns/state: has 0 values for 1 keys"},
		{"wrong values", columns(`"key":["","b",3],"cost":[null,-1,1e999],"state":["",{},true],"instance":[1.5,"x",-1]`),
			"invalid\n/columns/key/0: must be 1 to 1024 bytes\n/columns/key/2: must be a string\n/columns/cost/0: must be ≥ 0 " +
				"and finite\n/columns/cost/1: must be ≥ 0 and finite\n/columns/cost/2: must be ≥ 0 and finite\n/columns/state/0: " +
				"must be ≥ 0 and finite\n/columns/state/1: must be ≥ 0 and finite\n/columns/state/2: must be ≥ 0 and " +
				"finite\n/columns/instance/0: must be an integer from 0 to 2147483647\n/columns/instance/1: must be an integer " +
				"from 0 to 2147483647\n/columns/instance/2: must be an integer from 0 to 2147483647"},
		{"duplicate keys", columns(`"key":["a","b","a"],"cost":[1,2,3]`),
			"invalid\n/columns/key/2: is the same as /columns/key/0"},
	})
}

func TestNDJSON(t *testing.T) {
	checkRules(t, decodeNDJSON, Options{}, []rule{
		{"rows", "{\"key\":\"a\",\"cost\":1}\n{\"cost\":2.25,\"key\":\"b\"}\n", "\"a\" 1\n\"b\" 2.25"},
		{"no line end", `{"key":"a","cost":1}`, `"a" 1`},
		{"empty", ``, ``},
		{"blank lines, CRLF, white space", "\n \t{\"key\":\"a\",\"cost\":1} \r\n\r\n\n{\"key\":\"b\",\"cost\":1}\t\n \n",
			"\"a\" 1\n\"b\" 1"},

		{"two rows on a line", `{"key":"a","cost":1} {"key":"b","cost":1}`,
			"malformed\n/0: expected the end of the line at byte 21"},
		{"row on two lines", "{\"key\":\"a\",\n\"cost\":1}", "malformed\n/0: line break in a row at byte 11"},
		{"truncated", "{\"key\":\"a\",\"cost\":1}\n{\"key\"", "malformed\n/1: unexpected end of the text at byte 27"},
		{"duplicate member", "{\"key\":\"a\",\"cost\":1}\n{\"key\":\"a\",\"key\":1}",
			"malformed\n/1/key: duplicate member at byte 32"},
		{"NUL at the end", "{\"key\":\"a\",\"cost\":1}\x00", "malformed\n/0: expected the end of the line at byte 20"},

		{"no objects", "5\n[]\n\"x\"\nnull",
			"invalid\n/0: must be an object\n/1: must be an object\n/2: must be an object\n/3: must be an object"},
		{"wrong", "{\"key\":\"a\",\"cost\":-1}\n{\"key\":\"b\",\"cost\":2,\"interval\":1}\n",
			"invalid\n/0/cost: must be ≥ 0 and finite\n/1/interval: other rows name no interval"},
		{"interval",
			"{\"interval\":7,\"key\":\"a\",\"cost\":1}\n{\"key\":\"b\",\"cost\":2,\"state_bytes\":1,\"interval\":7}\n",
			"invalid\n/0/state: is required: other rows name their state"},
		{"same interval", "{\"interval\":7,\"key\":\"a\",\"cost\":1}\n{\"key\":\"b\",\"cost\":2,\"interval\":7}\n",
			"interval 7\n\"a\" 1\n\"b\" 2"},
		{"interval on some rows", "{\"interval\":7,\"key\":\"a\",\"cost\":1}\n{\"key\":\"b\",\"cost\":2}\n",
			"invalid\n/1/interval: is required"},
		{"no interval", "{\"interval\":-7,\"key\":\"a\",\"cost\":1}\n{\"interval\":7,\"key\":\"b\",\"cost\":1}\n",
			"invalid\n/0/interval: must be an integer from 0 to 9007199254740991"},
		{"duplicate keys", "{\"key\":\"a\",\"cost\":1}\n{\"key\":\"a\",\"cost\":1}\n",
			"invalid\n/1/key: is the same as /0/key"},
	})
}

func TestCSV(t *testing.T) {
	checkRules(t, decodeCSV, Options{}, []rule{
		{"rows", "key,cost,state,instance,hash_instance\na,1.5,10,7,3\nb,2,20,,\n",
			"\"a\" 1.5 state=10 at=7 hash=3\n\"b\" 2 state=20 at=-1 hash=-1"},
		{"any order, CRLF, BOM, no line end", "\uFEFFfrequency,key\r\n1,a\r\n2,b", "\"a\" 1\n\"b\" 2"},
		{"no rows", "key,cost", ``},
		{"blank lines at the end", "key,cost\na,1\n\n\r\n\n", `"a" 1`},
		{"quotes", "\"key\",\"cost\"\n\"a,\"\"b\"\"\r\nc\",\"2.5\"\n\"\"\"\",1\n",
			"\"a,\\\"b\\\"\\r\\nc\" 2.5\n\"\\\"\" 1"},
		{"empty cells", "key,cost,state,instance\na,1,,\"\"\n", `"a" 1`},
		{"numbers", "key,cost,instance\na,+1,007\nb,.5,\"3\"\nc,5.,0\nd,1e-2,0\ne,-0,0\nf,0010,0\n",
			"\"a\" 1 at=7\n\"b\" 0.5 at=3\n\"c\" 5 at=0\n\"d\" 0.01 at=0\n\"e\" 0 at=0\n\"f\" 10 at=0"},
		{"any text is a key", "key,cost\n {é}\t'\x00,1\n", "\" {é}\\t'\\x00\" 1"},

		{"empty", ``, "malformed\n: unexpected end of the text at byte 0"},
		{"column twice", "key,cost,key\n", "malformed\n/key: column stands twice"},
		{"unknown column twice", "key,cost,x,x\n", "malformed\n/x: column stands twice"},
		{"too few cells", "key,cost,state\na,1\n", "malformed\n/0: fewer than 3 cells at byte 18"},
		{"too many cells", "key,cost\na,1,2\n", "malformed\n/0: more than 2 cells at byte 12"},
		{"blank line between", "key,cost\na,1\n\nb,1\n", "malformed\n/1: blank line between records at byte 14"},
		{"bare quote", "key,cost\na\"b,1\n", "malformed\n/0: quote in a cell that is not quoted at byte 10"},
		{"text after a quoted cell", "key,cost\n\"a\"b,1\n", "malformed\n/0: text after a quoted cell at byte 12"},
		{"open quote", "key,cost\n\"a,1\n", "malformed\n/0: unexpected end of the text at byte 14"},
		{"bare CR", "key,cost\na,1\rb,1\n", "malformed\n/0: expected the end of a line at byte 13"},
		{"CR at the end", "key,cost\na,1\r", "malformed\n/0: unexpected end of the text at byte 13"},
		{"not UTF-8", "key,cost\n\xff,1\n", "malformed\n/0: cell that is not UTF-8 at byte 9"},
		{"not UTF-8, quoted", "key,cost\n\"\xff\",1\n", "malformed\n/0: cell that is not UTF-8 at byte 10"},
		{"number not UTF-8", "key,cost\na,\xff\n", "malformed\n/0: cell that is not UTF-8 at byte 11"},

		{"header", "a/b,state_bytes,from\n", "invalid\n/a~1b: unknown column\n/from: unknown column\n" +
			"/key: column is required\n/cost: column is required, or frequency in its place"},
		{"interval", "interval,key,cost,state_bytes\n7,a,1,10\n07,b,2,20\n",
			"interval 7\n\"a\" 1 state=10\n\"b\" 2 state=20"},
		{"interval without rows", "interval,key,cost\n", ""},
		{"several intervals", "interval,key,cost\n7,a,1\n8,a,1\n8,b,1\n9,a,2\n", "invalid\n" +
			"/1/interval: is 8, but 7 in the rows before: a body holds one interval\n" +
			"/3/interval: is 9, but 8 in the rows before: a body holds one interval"},
		{"cost and frequency", "key,cost,frequency\n", "invalid\n/frequency: excludes cost"},
		{"wrong", "key,cost,state,instance\n,,x,-1\nb,NaN,Inf,1.5\nc,0x1,1_0,2147483648\nd,-1,1e999,x\n",
			"invalid\n/0/state: must be ≥ 0 and finite\n/0/instance: must be an integer from 0 to 2147483647\n/0/key: is " +
				"required\n/0/cost: is required, or frequency in its place\n/1/cost: must be ≥ 0 and finite\n/1/state: must be ≥ " +
				"0 and finite\n/1/instance: must be an integer from 0 to 2147483647\n/2/cost: must be ≥ 0 and finite\n/2/state: " +
				"must be ≥ 0 and finite\n/2/instance: must be an integer from 0 to 2147483647\n/3/cost: must be ≥ 0 and " +
				"finite\n/3/state: must be ≥ 0 and finite\n/3/instance: must be an integer from 0 to 2147483647"},
		{"spaces are text", "key,cost\na, 1\nb,\"1 \"\n",
			"invalid\n/0/cost: must be ≥ 0 and finite\n/1/cost: must be ≥ 0 and finite"},
		{"state on some rows", "key,cost,state\na,1,2\nb,1,\n",
			"invalid\n/1/state: is required: other rows name their state"},
		{"key too long", "key,cost\n" + key(k1025) + ",1\n", "invalid\n/0/key: must be 1 to 1024 bytes"},
		{"duplicate keys", "key,cost\na,1\n\"a\",1\n", "invalid\n/1/key: is the same as /0/key"},
	})
}

func TestBase64Keys(t *testing.T) {
	long := bytes.Repeat([]byte{0xff, 0, 'x'}, 341) // 1023 bytes, 1364 in base64
	text := base64.StdEncoding.EncodeToString(long)
	rows := `[{"key":"/wA=","cost":1},{"key":"` + text + `","cost":2}]`
	want := fmt.Sprintf("%q 1\n%q 2", "\xff\x00", long)
	checkRules(t, decodeJSON, Options{}, []rule{
		{"before", `{"key_encoding":"base64","keys":` + rows + `}`, want},
		{"after", `{"keys":` + rows + `,"key_encoding":"base64"}`, want},
		{"escaped", `{"keys":` + rows + `,"key_encoding":"base6\u0034"}`, want},
		{"columns", `{"columns":{"key":["/wA=","` + text + `"],"cost":[1,2]},"key_encoding":"base64"}`, want},
		{"not said", `{"keys":` + rows + `}`, "invalid\n/keys/1/key: must be 1 to 1024 bytes"},
		{"same bytes", `{"keys":[{"key":"YQ==","cost":1},{"key":"YQ==","cost":1}],"key_encoding":"base64"}`,
			"invalid\n/keys/1/key: is the same as /keys/0/key"},
		{"wrong text",
			`{"keys":[{"key":"YQ","cost":1},{"key":"YR==","cost":1},{"key":"Y\nQ==","cost":1},{"key":"_w==","cost":1}],"key_encoding":"base64"}`,
			"invalid\n/keys/0/key: must be base64 (standard alphabet, padded)\n/keys/1/key: must be base64 (standard " +
				"alphabet, padded)\n/keys/2/key: must be base64 (standard alphabet, padded)\n/keys/3/key: must be base64 " +
				"(standard alphabet, padded)"},
		{"empty", `{"key_encoding":"base64","keys":[{"key":"","cost":1}]}`,
			"invalid\n/keys/0/key: must be 1 to 1024 bytes"},
	})
	o := Options{Base64Keys: true}
	checkRules(t, decodeJSON, o, []rule{{"option", `{"keys":` + rows + `}`, want}})
	checkRules(t, decodeNDJSON, o, []rule{{"option", "{\"key\":\"/wA=\",\"cost\":1}", `"\xff\x00" 1`}})
	checkRules(t, decodeCSV, o, []rule{{"option", "key,cost\n/wA=,1\n\"Y\nQ==\",1\n",
		"invalid\n/1/key: must be base64 (standard alphabet, padded)"}})
	d, err := decodeJSON(strings.NewReader(`{"key_encoding":"base64"}`), Options{})
	if err != nil || !d.Base64Keys {
		t.Errorf("Base64Keys is false, err %v", err)
	}
}

func TestMembers(t *testing.T) {
	body := `{"interval": 42 ,"keys":[],"operator":{"a": [1, "\u00e9}]"]},"x":"}","y":-1.5e+3}`
	d, err := decodeJSON(strings.NewReader(body), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, text := range d.Members {
		got[name] = string(text)
	}
	want := map[string]string{"interval": "42", "operator": `{"a": [1, "\u00e9}]"]}`, "x": `"}"`, "y": "-1.5e+3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for row, want := range map[int]string{17: "/keys/17/cost", -1: "/cost"} {
		if got := d.Pointer(row, "cost"); got != want {
			t.Errorf("Pointer(%d) = %s, want %s", row, got, want)
		}
	}
	d, err = decodeJSON(strings.NewReader(`{"columns":{"key":[],"cost":[]}}`), Options{})
	if err != nil || d.Pointer(17, "cost") != "/columns/cost/17" {
		t.Error(d.Pointer(17, "cost"), err)
	}
	d, err = decodeCSV(strings.NewReader("key,cost"), Options{})
	if err != nil || d.Pointer(17, "cost") != "/17/cost" {
		t.Error(d.Pointer(17, "cost"), err)
	}
}

func TestProblemsStopAt100(t *testing.T) {
	rows := strings.Repeat("{\"key\":\"a\",\"cost\":-1}\n", 150)
	for _, body := range []string{rows, rows + "{"} {
		_, err := decodeNDJSON(strings.NewReader(body), Options{})
		var e *Error
		if !errors.As(err, &e) || e.Kind != Invalid || len(e.Problems) != 100 || e.Problems[99].Pointer != "/99/cost" {
			t.Errorf("got %v", err)
		}
		if !strings.HasSuffix(e.Error(), "/0/cost: must be ≥ 0 and finite (and 99 more)") {
			t.Error(e.Error())
		}
	}
	var members []string
	for i := range 5000 {
		members = append(members, fmt.Sprintf(`"m%d":0`, i))
	}
	_, err := decodeNDJSON(strings.NewReader("{"+strings.Join(members, ",")+"}"), Options{})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Invalid || len(e.Problems) != 100 {
		t.Errorf("got %v", err)
	}
}

func TestLimits(t *testing.T) {
	rows := inputtest.ZipfRows(5)
	for format, decode := range decoders {
		body := bodyOf(format, rows)
		for _, o := range []Limits{{Rows: 5}, {Bytes: int64(len(body))}} {
			if _, err := decode(bytes.NewReader(body), Options{Limits: o}); err != nil {
				t.Errorf("%s %+v: %v", format, o, err)
			}
		}
		for _, o := range []Limits{{Rows: 4}, {Bytes: int64(len(body)) - 1}} {
			_, err := decode(bytes.NewReader(body), Options{Limits: o, RowHint: math.MaxInt})
			var e *Error
			if !errors.As(err, &e) || e.Kind != TooLarge {
				t.Errorf("%s %+v: %v", format, o, err)
			}
		}
	}
	var e *Error
	long := strings.Repeat(" ", 1<<20)
	if _, err := decodeJSON(strings.NewReader(`{"keys":[{"key":"a",`+long+`"cost":1}]}`), Options{}); !errors.As(err,
		&e) || e.Kind != TooLarge || e.Problems[0].Pointer != "/keys/0" {
		t.Errorf("long row: %v", err)
	}
	if d, err := decodeJSON(strings.NewReader(long+`{`+long+`"keys"`+long+`:[`+long+`{"key":"a","cost":1}`+
		long[:1<<19]+`]`+long+`}`+long), Options{}); err == nil {
		t.Errorf("a name may not be far from its colon, got %v", d)
	}
	var members []string
	for i := range columns.MaxMembers + 1 {
		members = append(members, fmt.Sprintf(`"m%d":0`, i))
	}
	if _, err := decodeJSON(strings.NewReader("{"+strings.Join(members, ",")+"}"), Options{}); !errors.As(err, &e) ||
		e.Kind != TooLarge {
		t.Errorf("many members: %v", err)
	}
	big := `"` + strings.Repeat("x", 300<<10) + `"`
	d, err := decodeJSON(strings.NewReader(`{"x":`+big+`,"keys":[{"key":"a","cost":1}]}`), Options{})
	if err != nil || string(d.Members["x"]) != big || d.Stats.Len() != 1 {
		t.Errorf("member larger than the window: %v", err)
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("connection lost")
	for format, decode := range decoders {
		body := bodyOf(format, inputtest.ZipfRows(3))
		_, err := decode(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(broken)), Options{})
		var e *Error
		if !errors.Is(err, broken) || errors.As(err, &e) {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := decode(idleReader{}, Options{}); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

// TestManyRows crosses many windows and chunks, with right, wrong and no hints.
func TestManyRows(t *testing.T) {
	rows := inputtest.ZipfRows(80_000)
	want := inputtest.StatisticsOf(rows)
	for format, decode := range decoders {
		body := bodyOf(format, rows)
		for _, hint := range []int{0, 10, 70_000, len(rows), 1 << 40} {
			d, err := decode(bytes.NewReader(body), Options{RowHint: hint})
			if err != nil {
				t.Fatal(format, err)
			}
			inputtest.SameStatistics(t, fmt.Sprint(format, " hint ", hint), d.Stats, want)
		}
	}
}

// TestMemory bounds all that is allocated while decoding, and so the peak, by
// three times the columns; and the number of allocations, which must not grow
// with the rows.
func TestMemory(t *testing.T) {
	const n = 200_000
	for format, decode := range decoders {
		body := bodyOf(format, inputtest.ZipfRows(n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := decode(bytes.NewReader(body), Options{})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		columns := 0
		for i := range n {
			columns += len(d.Stats.Keys.At(i)) + 8 + 8 + 8 + 8 + 4 // key, its place, its hash, cost, state, instance
		}
		if total := after.TotalAlloc - before.TotalAlloc; total > uint64(3*columns) {
			t.Errorf("%s: %d bytes for columns of %d", format, total, columns)
		}
		if count := after.Mallocs - before.Mallocs; count > n/100 {
			t.Errorf("%s: %d allocations", format, count)
		}
	}
}

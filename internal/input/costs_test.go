package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"plannerd/internal/input/internal/inputtest"
	"plannerd/planner/partitioner"
)

// What keys take of resources comes from each format, 0 where a row says nothing of one.
func TestCosts(t *testing.T) {
	const want = "\"a\" 1 cpu=0 net_2=0\n\"b\" 2 cpu=0 net_2=2.5\n\"c\" 3 cpu=7 net_2=0"
	float, integer := arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Uint8
	columns := []arrow.Field{
		col("cost.net_2", float), col("key", arrow.BinaryTypes.String), col("cost", float), col("cost.cpu", integer),
	}
	rows := []string{
		`{"key":"a","cost":1}`, `{"costs":{ "net_2" : 2.5 },"key":"b","cost":2}`,
		`{"key":"c","cost":3,"costs":{"cpu":7,"net_2":-0}}`,
	}
	arrows := `[{"key":"a","cost":1},{"key":"b","cost":2,"cost.net_2":2.5},{"key":"c","cost":3,"cost.cpu":7}]`
	whole := `[{"key":"a","cost":1,"cost.net_2":0,"cost.cpu":0},{"key":"b","cost":2,"cost.net_2":2.5,"cost.cpu":0}]`
	for name, c := range map[string]struct {
		decode func(io.Reader, Options) (*Document, error)
		body   []byte
	}{
		"rows":   {decodeJSON, []byte(`{"keys":[` + strings.Join(rows, ",") + `]}`)},
		"ndjson": {decodeNDJSON, []byte(strings.Join(rows, "\n"))},
		"columns": {decodeJSON, []byte(
			`{"columns":{"key":["a","b","c"],"costs":{"net_2":[0,2.5,0],"cpu":[0,0,7]},"cost":[1,2,3]}}`)},
		"csv":   {decodeCSV, []byte("cost.cpu,key,cost,cost.net_2\n,a,1,\n0,b,2,2.5\n7,c,3,\n")},
		"arrow": {decodeArrow, arrowOf(t, columns, nil, arrows)},
		"arrow, whole batches before": {decodeArrow,
			arrowOf(t, columns, nil, whole, `[{"key":"c","cost":3,"cost.cpu":7}]`)},
		"records": {of(Records), []byte(`[{"key":"a","cost":1,"costs":{"net_2":0,"cpu":0}},` + rows[1] + "," + rows[2] + "]")},
	} {
		if got := describe(c.decode(bytes.NewReader(c.body), Options{})); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if !strings.HasPrefix(name, "arrow") {
			checkWindows(t, c.decode, Options{}, c.body)
		}
	}
}

func TestCostsMapped(t *testing.T) {
	mapping, err := ParseMapping([]string{"key=user", "cost=cpu", "cost.network=Bytes out"})
	if err != nil {
		t.Fatal(err)
	}
	body := "user,cpu,Bytes out,other\na,1,2 KiB,x\n"
	if got := describe(decodeCSV(strings.NewReader(body), Options{Mapping: Mapping{Columns: mapping}})); got !=
		`"a" 1 network=2048` {
		t.Error(got)
	}
	for _, bad := range []string{"cost.=x", "cost.1st=x", "costs=x", "unknown=x"} {
		if _, err := ParseMapping([]string{bad}); err == nil {
			t.Errorf("%s: taken", bad)
		}
	}
}

const detailResource = "must be the name of a resource: a letter, then up to 31 letters, digits and _"

func TestCostsJSONRules(t *testing.T) {
	row := func(costs string) string { return `{"keys":[{"key":"a","cost":1,"costs":` + costs + `}]}` }
	columns := func(costs string) string { return `{"columns":{"key":["a"],"cost":[1],"costs":` + costs + `}}` }
	var names []string
	for i := range 17 {
		names = append(names, fmt.Sprintf(`"r%d":1`, i))
	}
	checkRules(t, decodeJSON, Options{}, []rule{
		{"none", row(`{}`), `"a" 1`},
		{"sixteen", row("{" + strings.Join(names[:16], ",") + "}"), `"a" 1 r0=1 r1=1 r10=1 r11=1 r12=1 r13=1 r14=1 r15=1 ` +
			`r2=1 r3=1 r4=1 r5=1 r6=1 r7=1 r8=1 r9=1`},
		{"seventeen", row("{" + strings.Join(names, ",") + "}"),
			"invalid\n/keys/0/costs/r16: is one resource too many: rows may name 16"},
		{"values", row(`{"cpu":-1,"net":"x","disk":null,"io":1e291}`),
			"invalid\n/keys/0/costs/cpu: must be ≥ 0 and finite\n/keys/0/costs/net: must be ≥ 0 and finite\n" +
				"/keys/0/costs/disk: must be ≥ 0 and finite\n/keys/0/costs/io: must be at most 1e290"},
		{"names", row(`{"":1,"a/b":2,"` + key(33) + `":3,"` + key(32) + `":4}`),
			"invalid\n/keys/0/costs/: " + detailResource + "\n/keys/0/costs/a~1b: " + detailResource +
				"\n/keys/0/costs/" + key(33) + ": " + detailResource},
		{"no object", row(`[1]`), "invalid\n/keys/0/costs: must be an object of numbers"},
		{"twice", row(`{"cpu":1,"cpu":2}`), "malformed\n/keys/0/costs/cpu: duplicate member at byte 46"},
		{"wrong twice", row(`{"7":1,"7":2}`), "malformed\n/keys/0/costs/7: duplicate member at byte 44"},
		{"a column in a row", `{"keys":[{"key":"a","cost":1,"cost.cpu":1}]}`,
			"invalid\n/keys/0/cost.cpu: unknown field"},
		{"lists of other lengths", columns(`{"cpu":[1,2],"net":[]}`),
			"invalid\n/columns/costs/cpu: has 2 values for 1 keys\n/columns/costs/net: has 0 values for 1 keys"},
		{"lists of other values", columns(`{"cpu":["x"],"2":[1],"net":3}`),
			"invalid\n/columns/costs/cpu/0: must be ≥ 0 and finite\n/columns/costs/2: " + detailResource +
				"\n/columns/costs/net: must be a list"},
		{"no object of lists", columns(`[1]`), "invalid\n/columns/costs: must be an object of lists"},
	})
}

func TestCostsCSVRules(t *testing.T) {
	checkRules(t, decodeCSV, Options{}, []rule{
		{"no rows", "key,cost,cost.cpu\n", ""},
		{"values", "key,cost,cost.cpu\na,1,-2\nb,2,x\n",
			"invalid\n/0/costs/cpu: must be ≥ 0 and finite\n/1/costs/cpu: must be ≥ 0 and finite"},
		{"names", "key,cost,cost.,cost.2nd,costs\n", "invalid\n/cost.: " + detailResource + "\n/cost.2nd: " + detailResource +
			"\n/costs: unknown column"},
		{"twice", "key,cost,cost.cpu,cost.cpu\n", "malformed\n/cost.cpu: column stands twice"},
		{"beside records", "instance,hash_instance,cost,state,count,cost.cpu\n", "invalid\n/cost.cpu: unknown column"},
	})
	_, err := decodeCSV(strings.NewReader("key,cost,cost.cpu\na,1,2\nb,1,much\n"), Options{})
	var e *Error
	if !errors.As(err, &e) || e.Problems[0].Column != "cost.cpu" || e.Problems[0].Row != 2 || e.Problems[0].Key != "b" ||
		!strings.HasPrefix(e.Problems[0].Text(), `"much" is not a number`) {
		t.Errorf("%+v", err)
	}
	_, err = decodeArrow(bytes.NewReader(arrowOf(t, []arrow.Field{col("key", arrow.BinaryTypes.String),
		col("cost", arrow.PrimitiveTypes.Int8), col("cost.cpu", arrow.BinaryTypes.String)}, nil, `[]`)), Options{})
	if got := describe(nil, err); got !=
		"invalid\n/cost.cpu: column must be a float of 32 or 64 bits or an integer, not utf8" {
		t.Error(got)
	}
}

// Rows of a resource that earlier intervals name need not name it again, and the reverse.
func TestCostsOfIntervals(t *testing.T) {
	const third = "\"a\" 1 cpu=0\n\"b\" 1 cpu=3\nend true"
	for _, c := range []struct {
		f          Format
		body, want string
	}{
		{NDJSON, `{"interval":1,"key":"a","cost":1,"costs":{"cpu":3}}` + "\n" + `{"interval":2,"key":"a","cost":1}` + "\n" +
			`{"interval":3,"key":"a","cost":1}` + "\n" + `{"interval":3,"key":"b","cost":1,"costs":{"cpu":3}}`,
			"1 /0/key: \"a\" 1 cpu=3\n2 /1/key: \"a\" 1\n3 /2/key: " + third},
		{JSON, `{"interval":1,"keys":[{"key":"a","cost":1,"costs":{"cpu":3}}]}` + "\n" +
			`{"interval":2,"keys":[{"key":"a","cost":1}]}` + "\n" +
			`{"interval":3,"columns":{"key":["a","b"],"cost":[1,1],"costs":{"cpu":[0,3]}}}`,
			"1 /keys/0/key: \"a\" 1 cpu=3\n2 /keys/0/key: \"a\" 1\n3 /columns/key/0: " + third},
		{CSV, "interval,key,cost,cost.cpu\n1,a,1,3\n2,a,1,\n",
			"1 /0/key: \"a\" 1 cpu=3\n2 /1/key: \"a\" 1 cpu=0\nend true"},
	} {
		if got := streamed(strings.NewReader(c.body), c.f, Options{}); got != c.want {
			t.Errorf("%v: %s", c.f, got)
		}
	}
}

// Rows that are added up add up what they take of resources.
func TestCostsAddUp(t *testing.T) {
	body := "key,cost,cost.cpu,cost.net\nx/1,1,2,\nx/2,1,3,5\ny/1,1,7,10\ny/1,1,,1\n"
	twins := Options{Mapping: Mapping{SumTwins: true}}
	d, err := decodeCSV(strings.NewReader(body), twins)
	if err != nil {
		t.Fatal(err)
	}
	name := func(int32) string { return "" }
	if err := d.Group(partitioner.Affinity{Until: "/"}, name); err != nil {
		t.Fatal(err)
	}
	if got := describe(d, nil); got != "\"x\" 2 state=2 cpu=5 net=5\n\"y\" 2 state=1 cpu=7 net=11" {
		t.Error(got)
	}
	great := "key,cost,cost.cpu\nx/1,1,1e290\nx/1,1,1e290\n"
	if got := describe(decodeCSV(strings.NewReader(great), twins)); got !=
		"invalid\n/1/costs: brings the sum of its key above 1e290" {
		t.Error(got)
	}
	d, _ = decodeCSV(strings.NewReader(strings.Replace(great, "x/1", "x/2", 1)), Options{})
	if got := describe(nil, d.Group(partitioner.Affinity{Until: "/"}, name)); got !=
		"invalid\n/1/costs: brings the sum of its routed key above 1e290" {
		t.Error(got)
	}
}

// BenchmarkCosts reads rows with and without amounts of three resources.
func BenchmarkCosts(b *testing.B) {
	const n = 100_000
	var plain, with strings.Builder
	for i, r := range inputtest.ZipfRows(n) {
		head := fmt.Sprintf(`{"key":%q,"cost":%v,"state":%v`, r.Key, r.Cost, r.State)
		plain.WriteString(head + "}\n")
		fmt.Fprintf(&with, "%s,\"costs\":{\"cpu\":%d,\"network\":%d,\"connections\":%d}}\n", head, i, i%7, i%3)
	}
	for name, body := range map[string]string{"plain": plain.String(), "costs": with.String()} {
		b.Run(name, func(b *testing.B) {
			measure(b, []byte(body), n, func() error {
				_, err := decodeNDJSON(strings.NewReader(body), Options{RowHint: n})
				return err
			})
		})
	}
}

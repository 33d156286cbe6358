package input

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
)

func TestResolutionNDJSON(t *testing.T) {
	line := func(s string) string { return `{"key":"a","from":1,"to":2}` + "\n" + s }
	const id = "must be an integer from 0 to 2147483647"
	checkRules(t, decodeResolutionNDJSON, Options{}, []rule{
		{"rows", "{\"key\":\"user:1\",\"from\":1,\"to\":3}\n{\"to\":0,\"from\":2147483647,\"key\":\"b\"}\n",
			"\"user:1\" 1→3\n\"b\" 2147483647→0"},
		{"escapes, white space", " { \"\\u0066rom\" : 1 ,\t\"k\\u0065y\" : \"\\u00e9\\n\" , \"t\\u006f\":2 } \r\n\n",
			"\"é\\n\" 1→2"},
		{"empty", ``, ``},
		{"hash instances", `{"key":"a","hash_instance":4,"from":1,"to":2}` + "\n" + `{"key":"b","from":3,"to":2}`,
			"\"a\" 1→2 (4)\n\"b\" 3→2"},
		{"later hash instances", line(`{"key":"b","from":3,"to":2,"hash_instance":0}` + "\n" +
			`{"key":"c","from":3,"to":2,"hash_instance":null}`), "\"a\" 1→2\n\"b\" 3→2 (0)\n\"c\" 3→2"},
		{"wrong hash instance", line(`{"key":"b","from":3,"to":2,"hash_instance":-1}`), "invalid\n/1/hash_instance: " + id},
		{"from is to", `{"key":"a","from":1,"to":1}`, `"a" 1→1`},

		{"truncated", line(`{"key":"b","fro`), "malformed\n/1: unexpected end of the text at byte 43"},
		{"duplicate member", line(`{"key":"b","to":1,"to":1}`), "malformed\n/1/to: duplicate member at byte 46"},
		{"duplicate unknown member", `{"cost":1,"key":"b","cost":1}`, "malformed\n/0/cost: duplicate member at byte 20"},
		{"two rows on a line", `{"key":"a","from":1,"to":2}{"key":"b","from":1,"to":2}`,
			"malformed\n/0: expected the end of the line at byte 27"},
		{"leading zero", `{"key":"a","from":01,"to":2}`, "malformed\n/0: number with a leading zero at byte 18"},
		{"list", `[{"key":"a","from":1,"to":2},{"key":5}]x`, "malformed\n/0: expected the end of the line at byte 39"},

		{"no objects", "5\n[]\nnull", "invalid\n/0: must be an object\n/1: must be an object\n/2: must be an object"},
		{"nothing named", line(`{}`), "invalid\n/1/key: is required\n/1/from: is required\n/1/to: is required"},
		{"wrong ids", `{"key":"a","from":-1,"to":null}` + "\n" + `{"key":"b","from":2147483648,"to":1.0}` + "\n" +
			`{"key":"c","from":"1","to":1e1}`,
			"invalid\n/0/from: " + id + "\n/0/to: " + id + "\n/1/from: " + id + "\n/1/to: " + id + "\n/2/from: " + id +
				"\n/2/to: " + id},
		{"wrong keys", `{"key":"","from":1,"to":2}` + "\n" + `{"key":7,"from":1,"to":2}` + "\n" + `{"key":"` + key(k1025) +
			`","from":1,"to":2}`,
			"invalid\n/0/key: must be 1 to 1024 bytes\n/1/key: must be a string\n/2/key: must be 1 to 1024 bytes"},
		{"unknown members", line(`{"key":"b","from":1,"to":2,"cost":1,"state":1,"instance":1,"count":1,"interval":1}`),
			"invalid\n/1/cost: unknown field\n/1/state: unknown field\n/1/instance: unknown field\n/1/count: unknown " +
				"field\n/1/interval: unknown field"},
		{"duplicate keys", line(`{"key":"b","from":1,"to":2}` + "\n" + `{"key":"\u0061","from":3,"to":4}`),
			"invalid\n/2/key: is the same as /0/key"},
	})
	checkRules(t, decodeResolutionNDJSON, Options{Base64Keys: true}, []rule{
		{"base64", `{"key":"/wA=","from":1,"to":2}`, `"\xff\x00" 1→2`},
		{"no base64", line(`{"key":"YQ","from":1,"to":2}`),
			"invalid\n/0/key: must be base64 (standard alphabet, padded)\n/1/key: must be base64 (standard alphabet, padded)"},
	})
	// The rows of statistics know nothing of from and to.
	checkRules(t, decodeNDJSON, Options{}, []rule{
		{"statistics", `{"key":"a","from":1,"cost":1,"to":2}`, "invalid\n/0/from: unknown field\n/0/to: unknown field"},
	})
}

func TestResolutionCSV(t *testing.T) {
	const id = "must be an integer from 0 to 2147483647"
	checkRules(t, decodeResolutionCSV, Options{}, []rule{
		{"rows", "key,from,to\nuser:1,1,3\nb,2147483647,0\n", "\"user:1\" 1→3\n\"b\" 2147483647→0"},
		{"any order, quotes, CRLF, BOM", "\uFEFF\"to\",key,from\r\n\"2\",\"a,\"\"b\"\"\r\nc\",001\r\n\r\n",
			"\"a,\\\"b\\\"\\r\\nc\" 1→2"},
		{"no rows", "key,from,to", ``},
		{"hash instances", "key,hash_instance,from,to\na,4,1,2\nb,,3,2\n", "\"a\" 1→2 (4)\n\"b\" 3→2"},
		{"wrong hash instance", "key,from,to,hash_instance\na,1,2,x\n", "invalid\n/0/hash_instance: " + id},

		{"column twice", "key,from,to,to\n", "malformed\n/to: column stands twice"},
		{"too few cells", "key,from,to\na,1\n", "malformed\n/0: fewer than 3 cells at byte 15"},
		{"empty", ``, "malformed\n: unexpected end of the text at byte 0"},

		{"header", "key,instance,cost,count,interval\n",
			"invalid\n/instance: unknown column\n/cost: unknown column\n/count: unknown column\n/interval: unknown " +
				"column\n/from: column is required\n/to: column is required"},
		{"no key", "count,from,to\n", "invalid\n/count: unknown column\n/key: column is required"},
		{"empty cells", "key,from,to\n,,\n", "invalid\n/0/key: is required\n/0/from: is required\n/0/to: is required"},
		{"wrong", "key,from,to\na,-1,2147483648\nb,1.0,x\n", "invalid\n/0/from: " + id + "\n/0/to: " + id + "\n/1/from: " +
			id + "\n/1/to: " + id},
		{"duplicate keys", "key,from,to\na,1,2\n\"a\",3,4\n", "invalid\n/1/key: is the same as /0/key"},
	})
	checkRules(t, decodeResolutionCSV, Options{Base64Keys: true}, []rule{
		{"base64", "key,from,to\n/wA=,1,2\n", `"\xff\x00" 1→2`},
		{"no base64", "key,from,to\n_w==,1,2\n", "invalid\n/0/key: must be base64 (standard alphabet, padded)"},
	})
}

// keyMove is a row of a resolution.
type keyMove struct {
	Key  []byte `json:"-"`
	Text string `json:"key"`
	From int32  `json:"from"`
	To   int32  `json:"to"`
}

// written are moves as NDJSON and as CSV.
func written(t *testing.T, moves []keyMove, coded bool) map[Format][]byte {
	t.Helper()
	var lines, table bytes.Buffer
	cells, out := csv.NewWriter(&table), json.NewEncoder(&lines)
	err := cells.Write([]string{"key", "from", "to"})
	for _, m := range moves {
		if m.Text = string(m.Key); coded {
			m.Text = base64.StdEncoding.EncodeToString(m.Key)
		}
		err = errors.Join(err, out.Encode(m),
			cells.Write([]string{m.Text, strconv.Itoa(int(m.From)), strconv.Itoa(int(m.To))}))
	}
	if cells.Flush(); err != nil {
		t.Fatal(err)
	}
	return map[Format][]byte{NDJSON: lines.Bytes(), CSV: table.Bytes()}
}

// TestResolutionRoundTrip writes many rows and reads them again.
func TestResolutionRoundTrip(t *testing.T) {
	var moves []keyMove
	for i := range 100_000 {
		moves = append(moves, keyMove{Key: []byte("user:" + strconv.Itoa(i)), From: int32(i % 40), To: int32((i + 1) % 40)})
	}
	moves[7].Key = []byte("a\"b,c\r\nd\\é\u2028\x01")
	binary := slices.Clone(moves[:1000])
	binary[3].Key = []byte("\xff\x00")
	for _, c := range []struct {
		moves  []keyMove
		base64 bool
	}{{moves, false}, {moves, true}, {binary, true}, {nil, false}} {
		for format, body := range written(t, c.moves, c.base64) {
			decode := func(o Options) (*Resolution, error) { return DecodeResolution(bytes.NewReader(body), format, o) }
			r, err := decode(Options{Base64Keys: c.base64, RowHint: len(c.moves)})
			if err != nil {
				t.Fatal(format, err)
			}
			sameMoves(t, format.String(), r, c.moves)
			if n := len(c.moves); n > 0 {
				var e *Error
				_, err := decode(Options{Base64Keys: c.base64, Limits: Limits{Rows: n - 1}})
				if !errors.As(err, &e) || e.Kind != TooLarge || e.Problems[0].Pointer != "/"+strconv.Itoa(n-1) {
					t.Errorf("%s: %v", format, err)
				}
			}
		}
	}
}

func TestResolutionPointer(t *testing.T) {
	r := &Resolution{}
	if got := fmt.Sprint(r.Len(), r.Pointer(17, "to"), r.Pointer(17, "")); got != "0/17/to/17" {
		t.Error(got)
	}
}

// at is row i of a resolution.
func at(r *Resolution, i int) keyMove {
	return keyMove{Key: r.Keys.At(i), From: r.From[i], To: r.To[i]}
}

package api_test

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const inJSON = "Content-Type: application/json"

// ofOthers are the rows a,12.5,100 and b,3,20 as other systems write them, and the query that reads them.
var ofOthers = map[string]struct{ media, query, body string }{
	"semicolons, decimal commas": {csv, "columns=key=user%20id,cost=Requests,state=BYTES&decimal=comma",
		"User ID;host;requests;bytes\na;h1;12,5;100\nb;h2;3;20\n"},
	"aligned, below a title": {csv, "columns=key=user,cost=n,state=size&skip=2&delimiter=space",
		"Load of today\n\nUSER   N     SIZE\na      12.5  100\nb      3     20\n"},
	"no header": {csv, "columns=key=2,cost=1,state=3&header=none&delimiter=tab", "12.5\ta\t100\n3\tb\t20\n"},
	"twice":     {csv, "duplicates=sum", "key,cost,state\na,12,60\nb,3,20\na,0.5,40\n"},
	"lines": {ndjson, "columns=key=user.id,cost=n,state=bytes",
		`{"user": {"id": "a"}, "n": "12.5", "bytes": 100}` + "\n" + `{"user": {"id": "b"}, "n": 3, "bytes": "20"}`},
	"a list": {inJSON, "columns=key=0,cost=1,state=2", `[["a", 12.5, 100], ["b", 3, 20]]`},
	"rows inside": {inJSON, "records=data.result&columns=key=metric.user,cost=value.1,state=size",
		`{"status": "success", "data": {"type": "vector", "result": [
		{"metric": {"user": "a"}, "size": 100, "value": [17, "12.5"]}, {"metric": {"user": "b"}, "size": 20, "value": [17, "3"]}]}}`},
	"own names": {inJSON, "columns=key=key,cost=cost",
		`[{"key": "a", "cost": 12.5, "state": 100}, {"key": "b", "cost": 3, "state": 20}]`},
	"Arrow": {arrowStream, "columns=key=user,cost=hits,state=bytes", arrowOfOthers(
		`[{"at": 5, "user": "a", "hits": 12.5, "ok": true, "bytes": 100}, {"at": 6, "user": "b", "hits": 3, "ok": false, "bytes": 20}]`)},
}

// arrowOfOthers is a stream with columns that nobody needs.
func arrowOfOthers(rows string) string {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_ms}, {Name: "user", Type: arrow.BinaryTypes.String},
		{Name: "hits", Type: arrow.PrimitiveTypes.Float64}, {Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "bytes", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err == nil {
		err = w.Write(batch)
	}
	if err != nil || w.Close() != nil {
		panic(err)
	}
	return b.String()
}

// TestRowsOfOthers: they are the same statistics as under the names of the contract, so that the
// second to come is told the plan of the first.
func TestRowsOfOthers(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0}`)
	const target = "/v1/operators/clicks/plans?interval=1"
	first := e.do("POST", target, "key,cost,state\na,12.5,100\nb,3,20\n", csv).want(http.StatusCreated).plan().Id
	for name, c := range ofOthers {
		t.Run(name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			if again := e.do("POST", target+"&"+c.query, c.body, c.media).want(http.StatusOK).plan().Id; again != first {
				t.Errorf("plan %s, not %s", again, first)
			}
		})
	}
	list := ofOthers["a list"]
	e.do("PUT", "/v1/operators/clicks/intervals/9/reports/0?"+list.query, list.body, list.media).want(http.StatusCreated)
	for _, target := range []string{
		"/v1/what-if?instances=2", "/v1/analyses/ring?nodes=2", "/v1/analyses/pkg?workers=2",
		"/v1/analyses/ranges?followers=1", "/v1/analyses/schemes?instances=2",
	} {
		e.do("POST", target+"&"+list.query, list.body, list.media).want(http.StatusOK)
	}
	e.do("POST", "/v1/analyses/backtest?instances=2&columns=key=0,cost=1,interval=2",
		`[["a", 5, 1], ["b", 3, 1], ["a", 4, 2], ["b", 3, 2], ["a", 4, 3], ["b", 6, 3]]`, list.media).want(http.StatusOK)
}

// TestRequestThatReads: where a body calls its fields otherwise, the refusal has a request that would
// read it.
func TestRequestThatReads(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0}`)
	for name, c := range ofOthers {
		if !strings.Contains(c.query, "columns=") || strings.Contains("no header, a list, own names", name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			target := "/v1/operators/clicks/plans?interval=1"
			if strings.HasSuffix(c.media, "/json") {
				target = "/v1/operators/clicks/plans" // a body of the contract has the interval in itself
			}
			if strings.Contains(c.query, "skip=") {
				target += "&skip=2"
			}
			refused := e.do("POST", target, c.body, c.media).problem()
			try := regexp.MustCompile(`such as: POST (\S+)$`).FindStringSubmatch(refused.Detail)
			if try == nil {
				t.Fatalf("%d %s", refused.Status, refused.Detail)
			}
			with, err := url.Parse(try[1])
			if err != nil {
				t.Fatal(err)
			}
			query := with.Query()
			query.Set("interval", "1")
			if strings.Contains(c.query, "decimal=") {
				a := e.do("POST", with.Path+"?"+query.Encode(), c.body, c.media).fails(unprocessable, "invalid", "/0/cost")
				if !strings.Contains(a.problem().Detail, "decimal=comma") {
					t.Error(a.problem().Detail)
				}
				query.Set("decimal", "comma")
			}
			if status := e.do("POST", with.Path+"?"+query.Encode(), c.body, c.media).status; status >= http.StatusBadRequest {
				t.Errorf("%s: %d", try[1], status)
			}
		})
	}
	twins := e.do("POST", "/v1/operators/clicks/plans?interval=2", "key,cost\na,1\na,2\n", csv).problem().Detail
	if !strings.Contains(twins, "duplicates=sum") {
		t.Error(twins)
	}
}

func TestRefusedRowsOfOthers(t *testing.T) {
	e, _ := prepared(t)
	const to = "/v1/operators/clicks/plans?interval=2&"
	long := `[{"user": "` + strings.Repeat("x", 600<<10) + `", "n": 1}]`
	e.refused(t, []refusal{
		{"unknown field", "POST", to + "columns=kee=user,cost=n", "user,n\na,1\n",
			[]string{csv}, unprocessable, "invalid", "?columns"},
		{"no such column", "POST", to + "columns=key=users,cost=n", "user,n\na,1\n",
			[]string{csv}, unprocessable, "invalid", "/users"},
		{"two things", "POST", to + "columns=key=user,cost=user", "user,n\na,1\n",
			[]string{csv}, unprocessable, "invalid", "/user"},
		{"of CSV", "POST", to + "delimiter=tab", `{"key": "a", "cost": 1}`,
			[]string{ndjson}, unprocessable, "invalid", "?delimiter"},
		{"of JSON", "POST", to + "records=data", "key,cost\na,1\n", []string{csv}, unprocessable, "invalid", "?records"},
		{"no rows there", "POST", to + "records=data.rows", `{"data": {}}`, nil, unprocessable, "invalid", "/data/rows"},
		{"long record", "POST", to + "columns=key=user,cost=n",
			long, nil, http.StatusRequestEntityTooLarge, "too_large", "/0"},
		{"cut", "POST", to + "columns=key=user,cost=n", `[{"user": "a"`, nil, badRequest, "malformed", "/0"},
		{"parts in Arrow", "POST", to + "columns=key=user%2Buser,cost=hits", arrowOfOthers(`[]`), []string{arrowStream},
			unprocessable, "invalid", "/user"},
		{"a stream", "POST", "/v1/analyses/ring?nodes=2&columns=key=1,cost=2", "a\nb\n",
			[]string{"Content-Type: text/plain"},
			unprocessable, "invalid", "?columns"},
	})
}

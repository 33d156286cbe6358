package api_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/api"
	"plannerd/internal/input"
	"plannerd/internal/input/arrowout"
	"plannerd/internal/lab/livememory"
	"plannerd/planner"
)

const arrowStream = "Content-Type: application/vnd.apache.arrow.stream"

// arrowRows writes rows as a stream of Arrow.
func arrowRows(t *testing.T, rows []row) string {
	t.Helper()
	s := &planner.Statistics{Keys: planner.NewKeys(len(rows))}
	for _, r := range rows {
		s.Keys.Append([]byte(r.key))
		s.Cost, s.State = append(s.Cost, r.cost), append(s.State, r.state)
		s.Instance, s.HashInstance = append(s.Instance, int32(r.instance)), append(s.HashInstance, int32(r.hash))
	}
	return arrowOf(t, -1, s)
}

func arrowOf(t *testing.T, interval int64, s *planner.Statistics) string {
	t.Helper()
	var b bytes.Buffer
	w := arrowout.NewWriter(&b)
	if err := errors.Join(w.Write(interval, s), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Statistics are the same, whatever they travel as: the second to come is told
// the plan of the first.
func TestArrowIsTheSame(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0,"hash":{"function":"reported"}}`)
	const target = "/v1/operators/clicks/plans?interval=1&key_encoding=utf8"
	first := e.do("POST", target, csvRows(figure4), csv).want(http.StatusCreated)
	body := arrowRows(t, figure4)
	again := e.do("POST", target, body, arrowStream).want(http.StatusOK)
	if first.plan().Id != again.plan().Id {
		t.Errorf("plan %s, want %s", again.plan().Id, first.plan().Id)
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		packed := e.do("POST", target, string(compressed(t, encoding, body)), arrowStream, "Content-Encoding: "+encoding).
			want(http.StatusOK)
		if packed.plan().Id != first.plan().Id {
			t.Errorf("%s: plan %s, want %s", encoding, packed.plan().Id, first.plan().Id)
		}
	}
	e.do("POST", "/v1/operators/clicks/plans?interval=2", body, arrowStream).want(http.StatusCreated)
}

func TestRefusedArrow(t *testing.T) {
	e, _ := prepared(t, func(c *api.Config) { c.Limits.Statistics = input.Limits{Bytes: 16 << 10, Rows: 100} })
	const target = "/v1/operators/clicks/plans?interval=2"
	columns := func(costs ...float64) *planner.Statistics {
		s := &planner.Statistics{Keys: planner.NewKeys(0), Cost: costs}
		for i := range costs {
			s.Keys.Append([]byte{'k', byte(i)})
		}
		return s
	}
	body := arrowOf(t, -1, columns(1, 2, 3))
	twice := &planner.Statistics{Keys: planner.KeysOf("a", "b", "a"), Cost: []float64{1, 2, 3}}
	long := &planner.Statistics{Keys: planner.NewKeys(0), Cost: make([]float64, 20)}
	for i := range byte(20) {
		long.Keys.Append(bytes.Repeat([]byte{'a' + i}, planner.MaxKeyBytes))
	}
	const large = http.StatusRequestEntityTooLarge
	var cases []refusal
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		where      string
	}{
		{"cut", body[:len(body)-8], badRequest, "malformed", ""},
		{"cut in a batch", body[:len(body)/2], badRequest, "malformed", ""},
		{"goes on", body + "\x00", badRequest, "malformed", ""},
		{"text", "key,cost\na,1\n", badRequest, "malformed", ""},
		{"file", "ARROW1\x00\x00", badRequest, "malformed", ""},
		{"empty", "", badRequest, "malformed", ""},
		{"negative cost", arrowOf(t, -1, columns(1, -1)), unprocessable, "invalid", "/1/cost"},
		{"duplicate", arrowOf(t, -1, twice), unprocessable, "invalid", "/2/key"},
		{"another interval", arrowOf(t, 3, columns(1)), unprocessable, "invalid", "/0/interval"},
		{"rows", arrowOf(t, -1, columns(make([]float64, 101)...)), large, "too_large", "/100"},
		{"bytes", arrowOf(t, -1, long), large, "too_large", ""},
	} {
		cases = append(cases,
			refusal{c.name, "POST", target, c.body, []string{arrowStream}, c.status, c.code, c.where},
			refusal{"what-if " + c.name, "POST", "/v1/what-if?instances=2&interval=2", c.body, []string{arrowStream}, c.status,
				c.code, c.where})
	}
	e.refused(t, cases)
}

// TestArrowBomb: what compressed buffers inside an Arrow stream decode to counts for the budget
// before there is memory for it, however short the body is.
func TestArrowBomb(t *testing.T) {
	e := newEnv(t, little)
	cost := array.NewFloat64Builder(memory.DefaultAllocator)
	cost.AppendEmptyValues(4 << 20)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.Null, Nullable: true}, {Name: "cost", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{array.NewNull(4 << 20), cost.NewArray()}, 4<<20)
	for name, option := range map[string]ipc.Option{"zstd": ipc.WithZstd(), "lz4": ipc.WithLZ4()} {
		var body bytes.Buffer
		w := ipc.NewWriter(&body, ipc.WithSchema(schema), option)
		if err := errors.Join(w.Write(batch), w.Close()); err != nil {
			t.Fatal(err)
		}
		if body.Len() > mib {
			t.Fatalf("%s: %d bytes", name, body.Len())
		}
		peak := livememory.Peak(func() {
			e.do("POST", "/v1/what-if?instances=2", body.String(), arrowStream).
				fails(http.StatusRequestEntityTooLarge, "too_large", "")
		})
		if peak > 16*mib {
			t.Errorf("%s: a body of %d bytes held %d", name, body.Len(), peak)
		}
	}
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes remain reserved", v)
	}
}

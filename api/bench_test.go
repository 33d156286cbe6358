package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api"
	"plannerd/internal/input"
	"plannerd/internal/input/arrowout"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

const (
	benchInstances = 40     // of the benchmarks' operators
	benchInterval  = "1000" // what stands for the interval in JSON bodies
)

// benchBody is one interval of n keys in the named format, with costs that fall
// like Zipf's law with exponent 0.85 and every key where a ring puts it.
func benchBody(b *testing.B, format string, n int) (body []byte, mediaType string) {
	b.Helper()
	on := make([]partitioner.Instance, benchInstances)
	for i := range on {
		on[i].ID = int32(i)
	}
	ring, err := partitioner.New(partitioner.Config{Function: partitioner.Ring}, on)
	if err != nil {
		b.Fatal(err)
	}
	rows := rand.New(rand.NewPCG(1, 2)).Perm(n)
	states := rand.New(rand.NewPCG(3, 4))
	var out bytes.Buffer
	row, between, after := "%s,%g,%d,%d\n", "", ""
	mediaType = "text/csv"
	switch format {
	case "csv", "arrow":
		out.WriteString("key,cost,state,instance\n")
	case "json_rows":
		mediaType, row, between, after = "application/json", `{"key":"%s","cost":%g,"state":%d,"instance":%d}`, ",", "]}"
		out.WriteString(`{"interval":` + benchInterval + `,"keys":[`)
	}
	for i, rank := range rows {
		if i > 0 {
			out.WriteString(between)
		}
		key := fmt.Appendf(nil, "user:%07d%s", rank, "abcd"[:states.IntN(5)])
		at, err := ring.Instance(key, planner.KeyHash(key))
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(&out, row, key, math.Round(100*1e6/math.Pow(float64(rank+1), 0.85))/100, 64+states.IntN(1<<16), at)
	}
	out.WriteString(after)
	if format == "arrow" {
		return asArrow(b, &out), "application/vnd.apache.arrow.stream"
	}
	return out.Bytes(), mediaType
}

// asArrow returns the rows of a CSV text as an Arrow stream.
func asArrow(b *testing.B, text io.Reader) []byte {
	b.Helper()
	d, err := input.Decode(text, input.CSV, input.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	w := arrowout.NewWriter(&out)
	if err := errors.Join(w.Write(-1, d.Stats), w.Close()); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// BenchmarkPost posts intervals over a loopback connection; each is planned with
// mixed and persisted in SQLite.
func BenchmarkPost(b *testing.B) {
	for _, format := range []string{"json_rows", "csv", "arrow"} {
		for _, n := range []int{1e4, 1e6} {
			for _, inputs := range []bool{false, true} {
				name := fmt.Sprintf("format=%s/keys=1e%d/inputs=%t", format, int(math.Log10(float64(n))), inputs)
				b.Run(name, func(b *testing.B) { benchPost(b, format, n, inputs) })
			}
		}
	}
}

func benchPost(b *testing.B, format string, n int, inputs bool) {
	e := newEnv(b, func(c *api.Config) { c.Now = time.Now })
	e.operator("clicks", fmt.Sprintf(`{"instances":%d,"table_limit":3000,"store_inputs":%t}`, benchInstances, inputs))
	body, mediaType := benchBody(b, format, n)
	server := httptest.NewServer(e.handler)
	b.Cleanup(server.Close)
	var timing struct {
		Timing struct {
			Decode  float64 `json:"decode_ms"`
			Plan    float64 `json:"plan_ms"`
			Persist float64 `json:"persist_ms"`
		} `json:"timing"`
	}
	interval, decode, plan, persist := 1000, 0.0, 0.0, 0.0
	place := bytes.Index(body[:min(len(body), 32)], []byte(benchInterval))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		interval++
		target := server.URL + "/v1/operators/clicks/plans"
		if place < 0 {
			target = fmt.Sprintf("%s?interval=%d", target, interval)
		} else {
			copy(body[place:], strconv.Itoa(interval))
		}
		answer, err := http.Post(target, mediaType, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusCreated {
			b.Fatalf("%d %v %.500s", answer.StatusCode, err, text)
		}
		if err := json.Unmarshal(text, &timing); err != nil {
			b.Fatal(err)
		}
		decode, plan, persist = decode+timing.Timing.Decode, plan+timing.Timing.Plan, persist+timing.Timing.Persist
	}
	runs := float64(b.N)
	b.ReportMetric(float64(b.Elapsed())/float64(time.Millisecond)/runs, "ms/op")
	b.ReportMetric(decode/runs, "decode_ms")
	b.ReportMetric(plan/runs, "plan_ms")
	b.ReportMetric(persist/runs, "persist_ms")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/runs/float64(n), "ns/key")
}

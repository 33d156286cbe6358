package api_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"plannerd/sdk/go/sketch"
)

// sketchOf is a sketch of keys, each of weight 1.
func sketchOf(t *testing.T, k int, stream uint64, keys []string) string {
	t.Helper()
	s, err := sketch.New(sketch.Options{K: k, Seed: 5, Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if err := s.Add([]byte(key), 1); err != nil {
			t.Fatal(err)
		}
	}
	text, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// estimated is what a plan of sketches says.
type estimated struct {
	ID, Status  string
	Certificate *struct{}
	Reports     struct {
		Received []int32
		Carried  []struct{ Instance int32 }
		Estimate *struct{ RankError, LoadError, Confidence float64 }
	}
	Instances []struct{ LoadAfter float64 }
	Ranges    struct{ Owners []rangeOwner }
}

// received are keys that come in, in any order.
func received(seed uint64, n int) []string {
	random, out := rand.New(rand.NewPCG(seed, 1)), make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("k%06d", random.IntN(1000)*random.IntN(1000)) // dense at the low end
	}
	return out
}

// sketchReport sends a sketch as the report of an instance of the operator shuffle.
func (e *env) sketchReport(interval int64, instance int, text, more string) *answer {
	e.Helper()
	return e.do("PUT", fmt.Sprintf("/v1/operators/shuffle/intervals/%d/reports/%d", interval, instance),
		`{"sketch":"`+text+`"`+more+`}`)
}

// within fails unless the shares of all keys that the owners of a plan get are those that it
// says, but for the error that it states.
func (p estimated) within(t *testing.T, keys []string) {
	t.Helper()
	e := p.Reports.Estimate
	if e == nil || e.Confidence != sketch.DefaultConfidence || e.RankError <= 0 || e.RankError > 0.2 ||
		e.LoadError < e.RankError {
		t.Fatalf("%+v", e)
	}
	owners, count := divide(p.Ranges.Owners), make([]float64, len(p.Instances))
	for _, key := range keys {
		id, _ := owners.Find([]byte(key))
		count[id]++
	}
	for id, x := range p.Instances {
		if off := x.LoadAfter - count[id]; max(off, -off) > e.LoadError*float64(len(keys)) {
			t.Errorf("instance %d gets %v keys, the plan says %v ± %v", id, count[id], x.LoadAfter,
				e.LoadError*float64(len(keys)))
		}
	}
	for _, x := range p.Ranges.Owners[1:] {
		if !slices.Contains(keys, x.From) {
			t.Errorf("%s is no key that came in", x.From)
		}
	}
}

// TestSketchReports: a plan of sketches divides keys that nobody lists, and says how far its
// figures may be off; sketches of what came since the last one add up.
func TestSketchReports(t *testing.T) {
	e := newEnv(t)
	e.operator("shuffle", `{"instances":2,"scheme":"ranges","theta_max":0.1,"ranges":{"phase":"put"}}`)
	const k, n = 64, 20_000
	a, b, more := received(1, n), received(2, n), received(3, n)
	e.sketchReport(1, 0, sketchOf(t, k, 0, a), "").want(http.StatusCreated)
	e.sketchReport(1, 1, sketchOf(t, k, 1, b), "").want(http.StatusCreated)
	var p estimated
	e.planOf(1).want(http.StatusCreated).into(&p)
	p.within(t, slices.Concat(a, b))
	e.do("POST", "/v1/plans/"+p.ID+"/commit", `{}`).want(http.StatusOK)

	// One adds to its report, and the other one's is missing: at the end of the input the
	// last one stands in.
	e.do("PATCH", "/v1/operators/shuffle", `{"ranges":{"phase":"get"}}`, mergePatch).want(http.StatusOK)
	e.sketchReport(2, 0, sketchOf(t, k, 2, more), `,"since":1`).want(http.StatusCreated)
	e.planOf(2).fails(http.StatusConflict, "reports_missing", "")
	var last estimated
	e.do("POST", "/v1/operators/shuffle/plans", `{"interval":2,"missing":"carry"}`).want(http.StatusCreated).into(&last)
	last.within(t, slices.Concat(a, b, more))
	if len(last.Reports.Carried) != 1 || last.Status != "approved" || last.Certificate != nil {
		t.Errorf("%+v", last)
	}
}

// TestSketchRefusals: what is no sketch, where none may be, and what does not go with others.
func TestSketchRefusals(t *testing.T) {
	e := newEnv(t)
	e.operator("shuffle", `{"instances":2,"scheme":"ranges"}`)
	text := sketchOf(t, 8, 0, []string{"a", "b"})
	for more, where := range map[string]string{
		`,"keys":[{"key":"a","cost":1}]`: "/sketch", `,"since":1`: "/since", `,"coverage":"partial"`: "/coverage",
	} {
		e.sketchReport(1, 0, text, more).fails(http.StatusUnprocessableEntity, "invalid", where)
	}
	e.sketchReport(1, 0, "AAAA", "").fails(http.StatusUnprocessableEntity, "invalid", "/sketch")
	e.sketchReport(1, 0, "?", "").fails(http.StatusUnprocessableEntity, "invalid", "/sketch")
	e.do("PUT", "/v1/operators/shuffle/intervals/1/reports/0", `{"keys":[],"since":0}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/since")
	e.sketchReport(1, 0, text, `,"since":0`).fails(http.StatusNotFound, "interval_not_found", "")
	e.sketchReport(1, 0, text, "").want(http.StatusCreated)
	e.sketchReport(2, 1, text, `,"since":1`).fails(http.StatusNotFound, "interval_not_found", "") // it is another's
	e.do("PUT", "/v1/operators/shuffle/intervals/1/reports/1", `{"keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
	e.planOf(1).fails(http.StatusConflict, "reports_differ", "")
	// Keys are not carried under key ranges.
	e.do("PUT", "/v1/operators/shuffle/intervals/1/reports/0", `{"keys":[{"key":"b","cost":1}]}`).want(http.StatusOK)
	e.do("PUT", "/v1/operators/shuffle/intervals/2/reports/0", `{"keys":[{"key":"b","cost":1}]}`).want(http.StatusCreated)
	e.do("POST", "/v1/operators/shuffle/plans", `{"interval":2,"missing":"carry"}`).
		fails(http.StatusConflict, "complete_coverage_required", "")
	e.operator("clicks", `{"instances":2}`)
	e.report(1, 0, `{"sketch":"`+text+`"}`).fails(http.StatusUnprocessableEntity, "invalid", "/sketch")
}

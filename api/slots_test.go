package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plannerd/api"
)

// occupy has an analysis hold a slot until the function that it returns is called. Its
// client takes no line of its progress.
func (e *env) occupy() (leave func()) {
	e.Helper()
	begun, gone, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	w := watched{httptest.NewRecorder(), func(string) {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-gone
	}}
	r := e.request(e.Context(), "POST", pkg, strings.NewReader(`{"stream":["a","b"]}`), live)
	go func() {
		defer close(ended)
		e.handler.ServeHTTP(w, r)
	}()
	<-begun
	return func() {
		close(gone)
		<-ended
	}
}

// until waits until a metric has a value.
func (e *env) until(metric, value string) {
	e.Helper()
	for e.metric(metric) != value {
		time.Sleep(time.Millisecond)
	}
}

const (
	fiveKeys = `{"interval":1,"keys":[{"key":"a","cost":5},{"key":"b","cost":4},{"key":"c","cost":3},{"key":"d","cost":2},{"key":"e","cost":1}]}`
	trial    = `{"operator":{"instances":2},"keys":[{"key":"a","cost":1}]}`
)

// TestAnalysesHaveTheirOwnSlots: no analysis, what-if or replay keeps a plan waiting.
func TestAnalysesHaveTheirOwnSlots(t *testing.T) {
	e := newEnv(t, hasty, func(c *api.Config) { c.Limits.Plans, c.Limits.Analyses = 1, 1 })
	e.operator("clicks", `{"instances":2,"approval":{"auto":"always"}}`)
	leave := e.occupy()
	id := e.do("POST", "/v1/operators/clicks/plans", fiveKeys).want(http.StatusCreated).plan().Id
	done := make(chan *answer, 2)
	go func() { done <- e.do("POST", "/v1/what-if", trial) }()
	go func() { done <- e.do("POST", "/v1/plans/"+id+"/replay", "{}") }()
	e.until(`plannerd_slots_waiting{slots="analyses"}`, "2")
	e.do("POST", "/v1/operators/clicks/plans", strings.Replace(fiveKeys, "1", "2", 1)).want(http.StatusCreated)
	for name, want := range map[string]string{
		"plannerd_planning_slots_busy": "0", "plannerd_analysis_slots": "1", "plannerd_analysis_slots_busy": "1",
		`plannerd_slots_waiting{slots="plans"}`: "0", `plannerd_slot_wait_seconds_count{slots="analyses"}`: "1",
	} {
		if v := e.metric(name); v != want {
			t.Errorf("%s %s, want %s", name, v, want)
		}
	}
	leave()
	for range 2 {
		(<-done).want(http.StatusOK)
	}
}

// TestQueueOfSlots: what finds the queue full is refused, and so is what waited as long
// as its deadline.
func TestQueueOfSlots(t *testing.T) {
	e := newEnv(t, hasty, func(c *api.Config) { c.Limits.Analyses, c.Limits.Queue = 1, 1 })
	leave := e.occupy()
	late := strings.Replace(trial, "}", `,"deadline":"1ms"}`, 1)
	a := e.do("POST", "/v1/what-if", late).fails(http.StatusTooManyRequests, "over_budget", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	waiting := make(chan *answer, 1)
	go func() { waiting <- e.do("POST", "/v1/what-if", trial) }()
	e.until(`plannerd_slots_waiting{slots="analyses"}`, "1")
	e.do("POST", pkg, "a\nb\n", text).fails(http.StatusTooManyRequests, "over_budget", "")
	if v := e.metric(`plannerd_slot_rejections_total{slots="analyses"}`); v != "2" {
		t.Errorf("%s were refused", v)
	}
	leave()
	(<-waiting).want(http.StatusOK)
}

// TestSmallPlansKeepTheirShare: analyses that wait or run hold nothing of what is kept for
// small plans.
func TestSmallPlansKeepTheirShare(t *testing.T) {
	e := newEnv(t, little, hasty, func(c *api.Config) { c.Limits.Analyses, c.Limits.Queue = 1, 100 })
	e.operator("clicks", `{"instances":2}`)
	leave := e.occupy()
	rows := longKeys(50) // half of the share of small ones, with what is made of them
	answers := make(chan *answer, 8)
	for range cap(answers) {
		go func() { answers <- e.do("POST", pkg, rows, csv) }()
	}
	waits := func() bool {
		return e.metric(`plannerd_slots_waiting{slots="analyses"}`) == fmt.Sprint(cap(answers)-len(answers))
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	e.do("POST", "/v1/operators/clicks/plans?interval=1", rows, csv).want(http.StatusCreated)
	leave()
	for range cap(answers) {
		if a := <-answers; a.status != http.StatusOK {
			a.fails(http.StatusTooManyRequests, "over_budget", "")
		}
	}
}

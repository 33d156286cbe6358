package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"plannerd/planner/ring"
	"plannerd/sdk/go/wire"
)

const queuesConfig = `{"instances":4,"scheme":"ring","hash":{"tokens_per_instance":4},"ring":{"method":%q}}`

// queuesOf is a request about queue lengths, of instance 0 on.
func queuesOf(interval int, lengths ...float64) string {
	out := fmt.Sprintf(`{"interval":%d,"queues":[`, interval)
	for i, q := range lengths {
		if i > 0 {
			out += ","
		}
		out += fmt.Sprintf(`{"instance":%d,"length":%g}`, i, q)
	}
	return out + "]}"
}

// reconfigured gives the operator ring another configuration.
func (e *env) reconfigured(config string) {
	e.Helper()
	e.do("PUT", "/v1/operators/ring", config).want(http.StatusOK)
}

// relieved makes a plan of queue lengths on a ring and holds it against the library.
func (e *env) relieved(body string, counts map[int32]int, method ring.Method, queues []float64) (
	p wire.Plan, after map[int32]int,
) {
	e.Helper()
	made := e.do("POST", "/v1/operators/ring/plans", body).want(http.StatusCreated)
	made.into(&p)
	after = e.apply(counts, made.shifted())
	want, err := ring.Redistribute(nodesOf(counts), queues, ring.RedistributeOptions{Method: method}, nil)
	if err != nil {
		e.Fatal(err)
	}
	if !slices.Equal(nodesOf(after), want.Change.After) {
		e.Errorf("the ring becomes %v, want %v", after, want.Change.After)
	}
	moved := made.shifted().Migrations
	if p.Migrates != wire.MigratesArcs || len(moved) != len(want.Change.Arcs) {
		e.Errorf("%d migrations of %s, want %d arcs", len(moved), p.Migrates, len(want.Change.Arcs))
	}
	for i, a := range want.Change.Arcs {
		m, reason := moved[i], "exchange"
		if a.From == want.Change.Before[want.Verdict.At].ID {
			reason = "overload"
		}
		if m.Arc.Start != a.Start || m.Arc.End != a.End || m.From != a.From || m.To != a.To || m.Keys != 0 ||
			m.Cost != 0 || m.State != 0 || m.Reason != reason {
			e.Errorf("migration %+v of arc %+v", m, a)
		}
	}
	if p.Balanced != nil || p.Certificate != nil || p.Migration.Keys != 0 || !slices.Contains(p.Causes, "queue_lengths") ||
		p.Queues == nil || p.Queues.Skew != ring.Skew(queues) || p.Queues.Verdict.Longest != want.Verdict.Max ||
		p.Queues.Verdict.Second != want.Verdict.Second || p.Queues.Verdict.Threshold != want.Verdict.Threshold ||
		p.Queues.Verdict.Fires != want.Verdict.Fires || p.Theta.Before != p.Theta.After {
		e.Errorf("%s", made.body)
	}
	for i, x := range p.Instances {
		if x.LoadBefore != queues[i] || x.LoadAfter != queues[i] || x.KeysBefore != 0 {
			e.Errorf("instance %d: %+v", i, x)
		}
	}
	return p, after
}

// TestQueueLengths: a ring operator is planned for by queue lengths alone, as in the paper.
func TestQueueLengths(t *testing.T) {
	for _, method := range []ring.Method{ring.Halving, ring.Doubling} {
		e := newEnv(t)
		e.operator("ring", fmt.Sprintf(queuesConfig, method))
		counts := map[int32]int{0: 4, 1: 4, 2: 4, 3: 4}
		long := []float64{3, 40, 30, 20}
		p, after := e.relieved(queuesOf(1, long...), counts, method, long)
		if p.Status != "approved" || !slices.Equal(p.Causes, []string{"queue_lengths"}) || p.Queues.Verdict.Node == nil ||
			*p.Queues.Verdict.Node != 1 || p.Queues.Verdict.Cause != "overloaded" || maps.Equal(counts, after) {
			t.Fatalf("%+v", p)
		}
		again := e.do("POST", "/v1/operators/ring/plans", queuesOf(1, long...)).want(http.StatusOK)
		if q := again.wired(); q.Id != p.Id || q.Queues.Skew != p.Queues.Skew {
			t.Errorf("%s", again.body)
		}
		e.do("POST", "/v1/operators/ring/plans", queuesOf(1, 1, 1, 1, 1)).fails(http.StatusConflict, "interval_planned", "")
		e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
		if got := e.tokens(""); !maps.Equal(got, after) {
			t.Errorf("the ring is %v, want %v", got, after)
		}
		// At the threshold of 1.2 times the second nothing is done; nor with empty queues.
		for i, still := range [][]float64{{36, 30, 0, 0}, {0, 0, 0, 0}, {7, 7, 0, 0}} {
			p, _ := e.relieved(queuesOf(2+i, still...), after, method, still)
			if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"within_threshold", "queue_lengths"}) ||
				(p.Queues.Verdict.Node == nil) != (still[0] == still[1]) {
				t.Errorf("%+v", p)
			}
		}
	}
}

// TestQueuesExhausted: an instance that has one token left cannot be relieved by halving.
func TestQueuesExhausted(t *testing.T) {
	e := newEnv(t)
	e.operator("ring", `{"instances":2,"scheme":"ring","hash":{"tokens_per_instance":1}}`)
	long := []float64{9, 1}
	p, _ := e.relieved(queuesOf(1, long...), map[int32]int{0: 1, 1: 1}, ring.Halving, long)
	if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"exhausted", "queue_lengths"}) {
		t.Errorf("%+v", p)
	}
	e.reconfigured(`{"instances":1,"scheme":"ring"}`) // one leaves, and has a queue still
	q := e.do("POST", "/v1/operators/ring/plans", queuesOf(2, long...)).want(http.StatusCreated)
	if p := q.shifted(); p.Status != "approved" || len(p.Migrations) == 0 || p.Migrations[0].Reason != "drain" {
		t.Errorf("%s", q.body)
	}
	e.do("POST", "/v1/plans/"+q.wired().Id+"/commit", stopped).want(http.StatusOK)
	alone := e.do("POST", "/v1/operators/ring/plans", queuesOf(3, 5)).want(http.StatusCreated).wired()
	if !slices.Equal(alone.Causes, []string{"alone", "queue_lengths"}) || alone.Queues.Verdict.Node == nil {
		t.Errorf("%+v", alone)
	}
}

// TestQueuesAcrossARescale: who joins claims its tokens, and no queue is judged.
func TestQueuesAcrossARescale(t *testing.T) {
	e := newEnv(t)
	e.operator("ring", fmt.Sprintf(queuesConfig, ring.Halving))
	e.reconfigured(`{"instances":5,"scheme":"ring","hash":{"tokens_per_instance":4}}`)
	made := e.do("POST", "/v1/operators/ring/plans", queuesOf(1, 90, 1, 1, 1)).want(http.StatusCreated)
	after := e.apply(map[int32]int{0: 4, 1: 4, 2: 4, 3: 4}, made.shifted())
	if want := map[int32]int{0: 4, 1: 4, 2: 4, 3: 4, 4: 4}; !maps.Equal(after, want) {
		t.Errorf("the ring becomes %v", after)
	}
	for _, m := range made.shifted().Migrations {
		if m.Reason != "fill" || m.To != 4 {
			t.Errorf("%+v", m)
		}
	}
	if p := made.wired(); p.Status != "approved" || !slices.Equal(p.Awaits, []int32{0, 1, 2, 3, 4}) ||
		!p.Queues.Verdict.Fires {
		t.Errorf("%s", made.body)
	}
}

// TestQueuesAndLimits: nobody knows what a plan of queue lengths moves, so that it waits where
// that is limited; small statistics are no matter; the policy's cooldown holds.
func TestQueuesAndLimits(t *testing.T) {
	e := newEnv(t)
	e.operator("ring", `{"instances":2,"scheme":"ring",
		"approval":{"max_migration":{"fraction":0.5},"min_statistics":{"keys":5}}}`)
	p := e.do("POST", "/v1/operators/ring/plans", queuesOf(1, 9, 1)).want(http.StatusCreated).wired()
	if p.Status != "proposed" || !slices.Equal(p.WaitsFor, []wire.WaitReason{"max_migration"}) {
		t.Errorf("%+v", p)
	}
	blocked := e.do("POST", "/v1/operators/ring/plans", queuesOf(2, 9, 1)).want(http.StatusCreated).wired()
	if !slices.Equal(blocked.Causes, []string{"pending_approval", "queue_lengths"}) || blocked.Pending.Figures != nil {
		t.Errorf("%+v", blocked)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/reject", `{"reason":"no"}`).want(http.StatusOK)
	e.reconfigured(`{"instances":2,"scheme":"ring","policy":{"forecast":{"method":"last"},"cooldown_intervals":3}}`)
	first := e.do("POST", "/v1/operators/ring/plans", queuesOf(3, 9, 1)).want(http.StatusCreated).wired()
	e.do("POST", "/v1/plans/"+first.Id+"/commit", stopped).want(http.StatusOK)
	second := e.do("POST", "/v1/operators/ring/plans", queuesOf(4, 9, 1)).want(http.StatusCreated).wired()
	if first.Status != "approved" || !slices.Equal(second.Causes, []string{"cooldown", "queue_lengths"}) {
		t.Errorf("%v, then %v", first.Causes, second.Causes)
	}
}

// TestQueueReports: each instance reports the length of its queue.
func TestQueueReports(t *testing.T) {
	e := newEnv(t)
	e.operator("ring", `{"instances":3,"scheme":"ring","hash":{"tokens_per_instance":4}}`)
	put := func(interval, instance int, body string) *answer {
		return e.do("PUT", fmt.Sprintf("/v1/operators/ring/intervals/%d/reports/%d", interval, instance), body)
	}
	for i, q := range []int{2, 30, 3} {
		put(1, i, fmt.Sprintf(`{"queue":%d}`, q)).want(http.StatusCreated)
	}
	queues := []float64{2, 30, 3}
	p, after := e.relieved(`{"interval":1}`, map[int32]int{0: 4, 1: 4, 2: 4}, ring.Halving, queues)
	if p.Status != "approved" || p.Reports == nil || !slices.Equal(p.Reports.Received, []int32{0, 1, 2}) {
		t.Errorf("%+v", p)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	put(2, 0, `{"queue":0}`).want(http.StatusCreated)
	put(2, 2, `{"queue":1}`).want(http.StatusCreated)
	e.do("POST", "/v1/operators/ring/plans", `{"interval":2}`).fails(http.StatusConflict, "reports_missing", "")
	e.do("POST", "/v1/operators/ring/plans", `{"interval":2,"missing":"freeze"}`).
		fails(http.StatusConflict, "complete_coverage_required", "")
	queues = []float64{0, 30, 1} // that of instance 1 is carried
	p, _ = e.relieved(`{"interval":2,"missing":"carry"}`, after, ring.Halving, queues)
	if len(p.Reports.Carried) != 1 || p.Reports.Carried[0].Instance != 1 ||
		!slices.Equal(p.Causes, []string{"queue_lengths", "carried"}) {
		t.Errorf("%+v", p)
	}
	put(3, 0, `{"queue":1}`).want(http.StatusCreated)
	put(3, 1, `{"keys":[]}`).want(http.StatusCreated)
	put(3, 2, `{"queue":1}`).want(http.StatusCreated)
	e.do("POST", "/v1/operators/ring/plans", `{"interval":3}`).fails(http.StatusConflict, "reports_differ", "")
	put(3, 1, `{"keys":[{"key":"a","cost":1}],"queue":4}`).fails(http.StatusUnprocessableEntity, "invalid", "/queue")
	put(3, 1, `{"coverage":"partial","queue":4}`).fails(http.StatusUnprocessableEntity, "invalid", "/coverage")
	put(3, 1, `{"queue":-1}`).fails(http.StatusUnprocessableEntity, "invalid", "/queue")
	put(3, 1, `{"queue":4}`).want(http.StatusOK)
	e.reconfigured(`{"instances":3,"scheme":"ring","ring":{"method":"fitted"}}`)
	put(3, 1, `{"queue":4}`).fails(http.StatusUnprocessableEntity, "invalid", "/queue")
	e.do("POST", "/v1/operators/ring/plans", `{"interval":3}`).fails(http.StatusUnprocessableEntity, "invalid", "")
	e.operator("clicks", `{"instances":2}`)
	e.report(1, 0, `{"queue":4}`).fails(http.StatusUnprocessableEntity, "invalid", "/queue")
}

// TestQueuesRefused: what is refused of queue lengths, with the place.
func TestQueuesRefused(t *testing.T) {
	e := newEnv(t)
	e.operator("ring", `{"instances":2,"scheme":"ring"}`)
	const both = `"queues":[{"instance":0,"length":9},{"instance":1,"length":1}]`
	for body, where := range map[string]string{
		`"queues":[{"instance":0,"length":9}]`: "/queues",
		`"queues":[]`:                          "/queues",
		`"queues":[{"instance":0,"length":9},{"instance":7,"length":1}]`:          "/queues/1/instance",
		`"queues":[{"instance":0,"length":9},{"instance":0,"length":1}]`:          "/queues/1/instance",
		`"queues":[{"instance":0,"length":9},{"instance":1,"length":-1}]`:         "/queues/1/length",
		`"queues":[{"instance":0,"length":9},{"instance":1}]`:                     "/queues/1/length",
		`"queues":[{"instance":0,"length":9},{"instance":1,"length":1,"cost":1}]`: "/queues/1/cost",
		both + `,"keys":[{"key":"a","cost":1}]`:                                   "/queues",
		both + `,"coverage":"partial"`:                                            "/coverage",
		both + `,"residual":[]`:                                                   "/residual",
		both + `,"compact":{"degree":4}`:                                          "/compact",
		both + `,"missing":"carry"`:                                               "/missing",
		both + `,"config_version":1`:                                              "/config_version",
	} {
		e.do("POST", "/v1/operators/ring/plans", `{"interval":1,`+body+`}`).
			fails(http.StatusUnprocessableEntity, "invalid", where)
	}
	e.do("POST", "/v1/operators/ring/plans", `{"interval":1,"table_version":3,`+both+`}`).
		fails(http.StatusConflict, "table_version_ahead", "")
	for _, config := range []string{
		`{"instances":2}`, rangesConfig, `{"instances":2,"scheme":"pkg"}`, ringConfig,
	} {
		e.operator("other", config)
		e.do("POST", "/v1/operators/other/plans", `{"interval":1,`+both+`}`).
			fails(http.StatusUnprocessableEntity, "invalid", "/queues")
		e.do("DELETE", "/v1/operators/other", "").want(http.StatusNoContent)
	}
}

// TestWhatNeedsKeys: stored queue lengths are no statistics of keys.
func TestWhatNeedsKeys(t *testing.T) {
	e := newEnv(t)
	e.operator("ring", `{"instances":2,"scheme":"ring"}`)
	e.do("POST", "/v1/operators/ring/plans", queuesOf(1, 9, 1)).want(http.StatusCreated)
	e.do("POST", "/v1/analyses/ring", `{"operator":"ring","interval":1,"nodes":2}`).
		fails(http.StatusConflict, "keys_not_known", "")
	// Statistics of keys are planned on as before.
	p := e.do("POST", "/v1/operators/ring/plans", load(2, 5, 4, 3, 2, 1)).want(http.StatusCreated).wired()
	if p.Queues != nil || p.Balanced == nil || slices.Contains(p.Causes, "queue_lengths") {
		t.Errorf("%+v", p)
	}
}

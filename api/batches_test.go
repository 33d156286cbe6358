package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"plannerd/sdk/go/wire"
)

// batched has plans handed over key by key.
var batched = strings.Replace(reported, "{", `{"batches":{"keys":1},"transfer_rate":10,`, 1)

// crowd is an interval in which six keys are on instance 0.
func crowd(n int) string {
	var rows []string
	for i := range 6 {
		rows = append(rows, fmt.Sprintf(`{"key":"k%d","cost":10,"state":%d,"hash_instance":0,"instance":0}`, i, i+1))
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, n, strings.Join(rows, ","))
}

// wired is what a plan says.
func (a *answer) wired() (p wire.Plan) {
	a.Helper()
	a.into(&p)
	return p
}

// followed is the table of the operator clicks, and what is pending on it.
func (e *env) followed(query string) (t wire.RoutingTable) {
	e.Helper()
	e.do("GET", "/v1/operators/clicks/routing-table"+query, "").want(http.StatusOK).into(&t)
	return t
}

// crowded makes a plan in three batches, and starts it.
func (e *env) crowded() wire.Plan {
	e.Helper()
	e.operator("clicks", batched)
	p := e.do("POST", "/v1/operators/clicks/plans", crowd(1)).want(http.StatusCreated).wired()
	if len(p.Batches) != 3 || p.Batch != nil || p.Status != "approved" {
		e.Fatalf("%+v", p)
	}
	return e.verb(p.Id, "start", `{"executor":"e"}`).want(http.StatusOK).wired()
}

func (e *env) ackBatch(id string, batch int) wire.Plan {
	e.Helper()
	return e.verb(id, "acks", fmt.Sprintf(`{"instances":[0,1],"batch":%d}`, batch)).want(http.StatusOK).wired()
}

// TestBatches: each batch is a version of the table; what is pending, and what waiting
// routers are told, goes from one to the next.
func TestBatches(t *testing.T) {
	e := newEnv(t)
	p := e.crowded()
	state, moved := 0.0, map[string]bool{}
	for _, m := range p.Migrations {
		moved[m.Key] = true
	}
	for i, b := range p.Batches {
		state += b.State
		if b.Keys != 1 || b.Busiest != b.State || b.Seconds == nil || *b.Seconds != b.State/10 || b.Version != nil ||
			b.TableSize != int64(i+1) || !slices.Equal(b.Awaits, []int32{0, 1}) {
			t.Errorf("batch %d: %+v", i+1, b)
		}
	}
	if state != p.Migration.State || p.Batches[2].Theta != p.Theta.After || *p.Batch != 1 {
		t.Errorf("%+v", p)
	}
	table := map[string]int32{}
	for n := 1; n <= 3; n++ {
		tables := e.do("GET", fmt.Sprintf("/v1/operators/clicks/routing-table?since=%d", n-1), "").want(http.StatusOK)
		tag := tables.header.Get("ETag")
		pending := e.followed(fmt.Sprintf("?since=%d", n-1)).Pending
		if pending == nil || pending.Batch != int64(n) || pending.Version != int64(n) || len(*pending.Set) != 1 {
			t.Fatalf("batch %d: %+v", n, pending)
		}
		one := (*pending.Set)[0]
		if _, again := table[one.Key]; again || !moved[one.Key] && len(moved) > 0 {
			t.Errorf("batch %d sets %+v", n, one)
		}
		table[one.Key] = one.Instance
		e.verb(p.Id, "acks", `{"instances":[0]}`).fails(http.StatusUnprocessableEntity, "invalid", "/batch")
		e.verb(p.Id, "acks", fmt.Sprintf(`{"instances":[0],"batch":%d}`, n+1)).
			fails(http.StatusConflict, "transition_not_allowed", "")
		if n > 1 { // an answer was lost
			if got := e.ackBatch(p.Id, n-1); len(got.Acked) > 0 || *got.Batch != int64(n) {
				t.Errorf("an ack of batch %d during batch %d: %+v", n-1, n, got)
			}
		}
		during := e.do("POST", "/v1/operators/clicks/plans", strings.Replace(crowd(n+1), `"cost":10`, `"cost":11`, 1))
		if got := during.want(http.StatusCreated).wired(); !slices.Contains(got.Causes, "plan_in_flight") {
			t.Errorf("statistics during batch %d: %v", n, got.Causes)
		}
		got := e.ackBatch(p.Id, n)
		if got.Batches[n-1].Version == nil || *got.Batches[n-1].Version != int64(n) {
			t.Errorf("after batch %d: %+v", n, got.Batches)
		}
		begin := time.Now()
		e.do("GET", fmt.Sprintf("/v1/operators/clicks/routing-table?since=%d&wait=30s", n-1), "", "If-None-Match: "+tag).
			want(http.StatusOK)
		if time.Since(begin) > 20*time.Second {
			t.Error("routers were not told")
		}
		if n == 3 && (got.Status != "committed" || *got.Version != 3 || got.StoppedAfterBatch != nil || got.Batch != nil) {
			t.Errorf("%+v", got)
		}
	}
	entries := map[string]int32{}
	for _, x := range e.followed("").Entries {
		entries[x.Key] = x.Instance
	}
	if !maps.Equal(entries, table) {
		t.Errorf("the table is %v, the batches came to %v", entries, table)
	}
	if steps := e.trail(p.Id); len(steps) != 5 {
		t.Errorf("%q", steps)
	}
}

func TestStopAfterABatch(t *testing.T) {
	e := newEnv(t)
	p := e.crowded()
	e.ackBatch(p.Id, 1)
	e.verb(p.Id, "stop", `{"executor_epoch":4}`).fails(http.StatusConflict, "other_executor", "")
	if got := e.verb(p.Id, "stop", `{"actor":"ann"}`).want(http.StatusOK).wired(); !got.Stopping ||
		got.Status != "applying" || got.StoppedAfterBatch != nil {
		t.Errorf("%+v", got)
	}
	e.verb(p.Id, "stop", "").want(http.StatusOK)
	got := e.ackBatch(p.Id, 2)
	if got.Status != "committed" || got.StoppedAfterBatch == nil || *got.StoppedAfterBatch != 2 || *got.Version != 2 {
		t.Errorf("%+v", got)
	}
	e.verb(p.Id, "stop", "").want(http.StatusOK)
	if table := e.followed(""); table.Version != 2 || len(table.Entries) != 2 || table.Pending != nil {
		t.Errorf("%+v", table)
	}
	// The rest is left to the next plan.
	statistics := crowd(2)
	for _, x := range e.followed("").Entries {
		i := strings.Index(statistics, `"key":"`+x.Key+`"`)
		statistics = statistics[:i] + strings.Replace(statistics[i:], `"instance":0}`, `"instance":1}`, 1)
	}
	next := e.do("POST", "/v1/operators/clicks/plans", statistics).want(http.StatusCreated).wired()
	if next.Migration.Keys != 1 || len(next.Batches) != 0 || next.BaseVersion != 2 {
		t.Errorf("%+v", next)
	}
	e.verb(next.Id, "start", `{"executor":"e"}`).want(http.StatusOK)
	if got := e.verb(next.Id, "acks", `{"instances":[0,1]}`).want(http.StatusOK).wired(); got.Status != "committed" {
		t.Errorf("a plan in one batch: %+v", got)
	}
}

func TestAbortInABatch(t *testing.T) {
	e := newEnv(t)
	p := e.crowded()
	e.ackBatch(p.Id, 1)
	e.verb(p.Id, "abort", "").want(http.StatusOK)
	if pending := e.followed("?since=1").Pending; pending.Phase != "aborting" || pending.Batch != 2 {
		t.Errorf("%+v", pending)
	}
	e.verb(p.Id, "stop", "").fails(http.StatusConflict, "transition_not_allowed", "")
	e.verb(p.Id, "abort", `{"rolled_back":true}`).want(http.StatusOK)
	if table := e.followed(""); table.Version != 2 || len(table.Entries) != 1 {
		t.Errorf("%+v", table)
	}
}

func TestBatchBounds(t *testing.T) {
	e := newEnv(t)
	for config, pointer := range map[string]string{
		`{"instances":2,"batches":{}}`:                                            "/batches",
		`{"instances":2,"batches":{"keys":0}}`:                                    "/batches/keys",
		`{"instances":2,"batches":{"pause":"1s"}}`:                                "/batches/pause",
		`{"instances":2,"batches":{"pause":"25h"},"transfer_rate":1}`:             "/batches/pause",
		`{"instances":2,"batches":{"pause":"1h"},"transfer_rate":1e290}`:          "/batches/pause",
		`{"instances":2,"transfer_rate":0}`:                                       "/transfer_rate",
		`{"instances":2,"scheme":"ring","batches":{"keys":1}}`:                    "/batches",
		`{"instances":2,"scheme":"pkg","transfer_rate":1}`:                        "/transfer_rate",
		`{"instances":2,"table_owner":"engine","batches":{"keys":1}}`:             "/batches",
		`{"instances":2,"batches":{"keys":1,"state":2,"pause":"1s","theta":0.1}}`: "/batches/theta",
	} {
		e.do("PUT", "/v1/operators/clicks", config).fails(http.StatusUnprocessableEntity, "invalid", pointer)
	}
	e.operator("clicks", `{"instances":2,"batches":{"keys":5,"state":0.5,"pause":"1500ms"},"transfer_rate":2e6}`)
	got := e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK)
	const want = `"batches":{"keys":5,"state":0.5,"pause":"1.5s"},"transfer_rate":2e+06`
	if body := strings.Replace(string(got.body), "2000000", "2e+06", 1); !strings.Contains(body, want) {
		t.Errorf("%s", got.body)
	}
	e.do("PUT", "/v1/operators/clicks", string(got.body)).want(http.StatusOK)
	patched := e.do("PATCH", "/v1/operators/clicks", `{"batches":null}`, "Content-Type: application/merge-patch+json").
		want(http.StatusOK)
	if strings.Contains(string(patched.body), "batches") {
		t.Errorf("%s", patched.body)
	}
}

// shrunk makes a plan that empties instance 2, which was removed, key by key, and starts it.
func (e *env) shrunk() wire.Plan {
	e.Helper()
	e.operator("clicks", strings.Replace(batched, `"instances":2`, `"instances":3,"table_limit":2`, 1))
	e.do("PATCH", "/v1/operators/clicks", `{"instances":2}`).want(http.StatusOK)
	p := e.do("POST", "/v1/operators/clicks/plans", leaving).want(http.StatusCreated).wired()
	if len(p.WaitsFor) > 0 || len(p.Batches) < 3 || *p.TablePeak <= p.RoutingTable.SizeAfter || *p.TablePeak < 3 {
		e.Fatalf("%+v", p)
	}
	return e.verb(p.Id, "start", `{"executor":"e"}`).want(http.StatusOK).wired()
}

// leaving is an interval in which k0 to k3 are on instance 2, of two instances that remain.
const leaving = `{"interval":1,"keys":[{"key":"k0","cost":10,"state":1,"hash_instance":0,"instance":2},
	{"key":"k1","cost":10,"state":2,"hash_instance":1,"instance":2},
	{"key":"k2","cost":10,"state":3,"hash_instance":0,"instance":2},
	{"key":"k3","cost":10,"state":4,"hash_instance":1,"instance":2}]}`

// TestBatchesAcrossAChange: the first batch brings the instances into force, and entries
// leave keys on the one that was removed until their batch.
func TestBatchesAcrossAChange(t *testing.T) {
	e := newEnv(t)
	p := e.shrunk()
	for n := 1; n <= len(p.Batches); n++ {
		pending := e.followed("").Pending
		if pending == nil || pending.Batch != int64(n) || len(pending.Instances) != 2 {
			t.Fatalf("batch %d: %+v", n, pending)
		}
		if n == 1 && !slices.Equal(pending.Awaits, []int32{0, 1, 2}) {
			t.Errorf("the change awaits %v", pending.Awaits)
		}
		e.verb(p.Id, "acks", fmt.Sprintf(`{"instances":%s,"batch":%d}`,
			strings.ReplaceAll(fmt.Sprint(pending.Awaits), " ", ","), n)).want(http.StatusOK)
		table := e.followed("")
		if len(*table.Instances) != 2 || int64(len(table.Entries)) != p.Batches[n-1].TableSize {
			t.Errorf("after batch %d of %+v: %+v", n, p.Batches[n-1], table)
		}
		left := 0
		for _, x := range table.Entries {
			if x.Instance == 2 {
				left++
			}
		}
		if left != max(0, len(p.Batches)-n) && left != 4-n {
			t.Errorf("%d entries name instance 2 after batch %d of %d", left, n, len(p.Batches))
		}
	}
	got := e.do("GET", "/v1/plans/"+p.Id, "").want(http.StatusOK).wired()
	if got.Status != "committed" || got.RoutingTable.SizeAfter > 2 {
		t.Errorf("%+v", got)
	}
}

// TestStopAcrossAChange: what is left on an instance that was removed is moved by the next
// plan, and until then it reports.
func TestStopAcrossAChange(t *testing.T) {
	for _, end := range []string{"stop", "abort"} {
		t.Run(end, func(t *testing.T) {
			e := newEnv(t)
			p := e.shrunk()
			if end == "stop" {
				e.verb(p.Id, "stop", `{}`).want(http.StatusOK)
			}
			e.verb(p.Id, "acks", `{"instances":[0,1,2],"batch":1}`).want(http.StatusOK)
			if end == "abort" {
				e.verb(p.Id, "abort", `{}`).want(http.StatusOK)
				e.verb(p.Id, "abort", `{"rolled_back":true}`).want(http.StatusOK)
			}
			if table := e.followed(""); len(*table.Instances) != 2 || table.Pending != nil {
				t.Fatalf("%+v", table)
			}
			at := map[string]int32{"k0": 0, "k1": 1, "k2": 0, "k3": 1}
			left := int64(0)
			for _, x := range e.followed("").Entries {
				if at[x.Key] = x.Instance; x.Instance == 2 {
					left++
				}
			}
			for id := range int32(3) {
				var rows []string
				for i := range 4 {
					if key := fmt.Sprint("k", i); at[key] == id {
						rows = append(rows, fmt.Sprintf(`{"key":%q,"cost":10,"state":%d,"hash_instance":%d}`, key, i+1, i%2))
					}
				}
				e.report(2, int(id), `{"keys":[`+strings.Join(rows, ",")+`]}`).want(http.StatusCreated)
			}
			next := e.do("POST", "/v1/operators/clicks/plans", `{"interval":2}`).
				want(http.StatusCreated).wired()
			if left == 0 || next.Migration.Keys < left || next.RoutingTable.SizeAfter > 2 {
				t.Errorf("%+v", next)
			}
			e.verb(next.Id, "commit", `{"stopped":true}`).want(http.StatusOK)
			e.do("PUT", "/v1/operators/clicks/intervals/3/reports/2", `{"keys":[]}`).
				fails(http.StatusUnprocessableEntity, "invalid", "?instance")
		})
	}
}

// TestStopWhileFilling: an instance that a stopped plan was to fill is filled by the next
// one, although no load is too high.
func TestStopWhileFilling(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(batched, `"theta_max":0`, `"theta_max":0.5`, 1))
	e.do("PATCH", "/v1/operators/clicks", `{"instances":3}`).want(http.StatusOK)
	full := func(interval int, last bool) string {
		var rows []string
		for i := range 12 {
			rows = append(rows, fmt.Sprintf(`{"key":"k%02d","cost":10,"state":1,"hash_instance":%d}`, i, i%2))
			if !last {
				rows[i] = strings.Replace(rows[i], "}", fmt.Sprintf(`,"instance":%d}`, i%2), 1)
			}
		}
		return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, interval, strings.Join(rows, ","))
	}
	p := e.do("POST", "/v1/operators/clicks/plans", full(1, false)).want(http.StatusCreated).wired()
	if p.Migration.Keys != 2 || len(p.Batches) != 2 {
		t.Fatalf("%+v", p)
	}
	e.verb(p.Id, "start", `{"executor":"e"}`).want(http.StatusOK)
	e.verb(p.Id, "stop", `{}`).want(http.StatusOK)
	e.verb(p.Id, "acks", `{"instances":[0,1,2],"batch":1}`).want(http.StatusOK)
	next := e.do("POST", "/v1/operators/clicks/plans", full(2, true)).want(http.StatusCreated).wired()
	if next.Migration.Keys != 1 || next.Instances[2].Filling == nil || next.Instances[2].LoadAfter != 20 {
		t.Errorf("%+v", next)
	}
}

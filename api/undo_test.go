package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// undone is what answers tell of an undo.
type undone struct {
	life
	Undo        *struct{ ToVersion, LeftKeys int64 }
	ToVersion   int64
	LeftKeys    int64
	BaseVersion int64
	Interval    int64
	Certificate *struct{}
	Migration   struct {
		Keys  int64
		State float64
	}
}

const undo = "/v1/operators/clicks/undo"

// tableOf has the entries of a version of the table; "": the committed one.
func (e *env) tableOf(version string) string {
	e.Helper()
	var table struct {
		Entries []struct {
			Key      string
			Instance int32
		}
	}
	e.do("GET", "/v1/operators/clicks/routing-table"+version, "").want(http.StatusOK).into(&table)
	return fmt.Sprint(table.Entries)
}

// TestUndo: a plan brings back the table of any version before, and is carried out as any other.
func TestUndo(t *testing.T) {
	e := newEnv(t)
	const config = `{"instances":%s,"theta_max":0.01,"hash":{"function":"modulo"},"entry_grace":0%s}`
	e.operator("clicks", fmt.Sprintf(config, "4", `,"approval":{"auto":"always"}`))
	e.do("GET", undo, "").fails(http.StatusUnprocessableEntity, "invalid", "?to_version")
	plan := func(n int, keys string) life {
		t.Helper()
		p := e.do("POST", "/v1/operators/clicks/plans", fmt.Sprintf(`{"interval":%d,%s}`, n, keys)).
			want(http.StatusCreated).life()
		e.verb(p.ID, "commit", stopped).want(http.StatusOK)
		return p
	}
	plan(1, manyKeys(300))
	plan(2, manyKeys(240)) // other entries, and some are dropped
	first, second := e.tableOf("?version=1"), e.tableOf("")
	if first == second || first == "[]" {
		t.Fatal(first, second)
	}

	var preview, made undone
	a := e.do("GET", undo, "").want(http.StatusOK)
	a.into(&preview)
	e.do("GET", undo, "", "If-None-Match: "+a.header.Get("ETag")).want(http.StatusNotModified)
	e.do("POST", undo, `{"actor":"ada","reason":"slow"}`).want(http.StatusCreated).into(&made)
	if preview.ToVersion != 1 || preview.BaseVersion != 2 || preview.Interval != 2 || preview.Migration.Keys == 0 ||
		made.Migration != preview.Migration || made.Undo == nil || made.Undo.ToVersion != 1 || made.Undo.LeftKeys != 0 ||
		made.Certificate != nil ||
		slices.Contains(made.Causes, "balanced") || made.Interval != 2 || made.Status != "approved" {
		t.Errorf("%+v of %v, causes %v\nafter the preview %+v", made.Undo, made.Migration, made.Causes, preview)
	}
	if again := e.do("POST", undo, `{"to_version":1}`).want(http.StatusOK).life(); again.ID != made.ID {
		t.Errorf("another plan: %s, not %s", again.ID, made.ID)
	}
	if e.tableOf("") != second {
		t.Error("the table changed")
	}
	steps := string(e.do("GET", "/v1/plans/"+made.ID+"/transitions", "").body)
	if !strings.Contains(steps, `"actor":"ada","reason":"slow"`) {
		t.Error(steps)
	}
	started := e.verb(made.ID, "start", `{"executor":"e"}`).want(http.StatusOK).life()
	e.verb(made.ID, "acks", fmt.Sprintf(`{"instances":%s}`, strings.ReplaceAll(fmt.Sprint(started.Awaits), " ", ","))).
		want(http.StatusOK)
	if got := e.tableOf(""); got != first {
		t.Errorf("%s\nin place of %s", got, first)
	}
	e.do("GET", undo+"?to_version=1", "").fails(http.StatusUnprocessableEntity, "invalid", "?to_version")
	e.do("GET", undo+"?to_version=3", "").fails(http.StatusUnprocessableEntity, "invalid", "?to_version")
	e.do("POST", undo, `{"to_version":3}`).fails(http.StatusUnprocessableEntity, "invalid", "/to_version")
	plan(3, manyKeys(300)) // intervals go on

	// Instances come and go: their keys stay as they are routed, and are counted.
	e.do("PUT", "/v1/operators/clicks", fmt.Sprintf(config, `[{"id":0},{"id":1},{"id":3},{"id":5}]`, `,"approval":{"auto":"never"}`)).want(http.StatusOK)
	e.do("POST", undo, `{"to_version":1}`).want(http.StatusCreated).into(&made)
	if made.Status != "proposed" || made.Undo.LeftKeys == 0 || int(made.Undo.LeftKeys) != strings.Count(first, " 2}") {
		t.Errorf("%+v, of %s", made.Undo, first)
	}
	e.do("POST", undo, `{"to_version":0}`).fails(http.StatusConflict, "plan_pending", "")
	e.verb(made.ID, "approve", "").want(http.StatusOK)
	e.verb(made.ID, "commit", stopped).want(http.StatusOK)
	if got := e.tableOf(""); strings.Contains(got, " 2}") || !strings.Contains(got, strings.Fields(first)[0]) {
		t.Errorf("%s\nof %s", got, first)
	}
}

// TestUndoRefused: what there is no way back to, in a sentence.
func TestUndoRefused(t *testing.T) {
	e := newEnv(t)
	e.do("GET", undo, "").fails(http.StatusNotFound, "operator_not_found", "")
	e.do("POST", undo, "").fails(http.StatusNotFound, "operator_not_found", "")
	begin := func(config string) {
		t.Helper()
		e.operator("clicks", config)
		p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,`+manyKeys(100)+`}`).want(http.StatusCreated).life()
		if p.Status == "proposed" {
			e.verb(p.ID, "approve", "").want(http.StatusOK)
		}
		if p.Status != "no_action" {
			e.verb(p.ID, "commit", stopped).want(http.StatusOK)
		}
	}
	refused := func(status int, code string) {
		t.Helper()
		e.do("GET", undo, "").fails(status, code, "")
		e.do("POST", undo, "").fails(status, code, "")
		e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	}
	begin(`{"instances":3,"theta_max":0,"hash":{"function":"modulo"},"store_inputs":false}`)
	refused(http.StatusGone, "purged") // nobody knows what would move
	begin(`{"instances":3,"theta_max":0,"hash":{"function":"modulo"},"retention":{"versions":1}}`)
	refused(http.StatusGone, "purged")
	begin(`{"instances":3,"theta_max":0,"hash":{"function":"modulo"},"table_owner":"engine"}`)
	refused(http.StatusConflict, "table_not_held")
	begin(`{"instances":3,"scheme":"ring"}`)
	refused(http.StatusConflict, "no_routing_table")
	begin(`{"instances":3,"theta_max":0,"hash":{"function":"modulo"}}`)
	e.do("GET", undo+"?to_version=x", "").fails(http.StatusBadRequest, "malformed", "?to_version")
	e.do("GET", undo, "", "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	for _, bad := range []struct {
		body   string
		status int
		header string
	}{
		{"{", http.StatusBadRequest, "Accept: */*"},
		{`{"force":true}`, http.StatusUnprocessableEntity, "Accept: */*"},
		{`{}`, http.StatusUnsupportedMediaType, "Content-Type: text/plain"},
		{`{}`, http.StatusNotAcceptable, "Accept: text/csv"},
		{strings.Repeat(" ", 1<<20+1), http.StatusRequestEntityTooLarge, "Accept: */*"},
	} {
		e.do("POST", undo, bad.body, bad.header).want(bad.status)
	}
}

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestFreeze: while somebody holds an operator, or all, nothing is proposed or started, and it is
// said who does; what is under way ends.
func TestFreeze(t *testing.T) {
	e := newEnv(t)
	const hold = `{"until":"2030-01-01T00:00:00Z","reason":"Black Friday.","actor":"ada"}`
	const one, all = "/v1/operators/clicks/freeze", "/v1/freeze"
	e.do("PUT", one, hold).fails(http.StatusNotFound, "operator_not_found", "")
	e.do("DELETE", one, "").fails(http.StatusNotFound, "operator_not_found", "")
	e.operator("clicks", betaTwo)
	var next struct{ Plan *life }
	for n, path := range []string{one, all} {
		began := e.do("POST", "/v1/operators/clicks/plans", interval(4*n, "")).want(http.StatusCreated).life()
		e.verb(began.ID, "approve", "").want(http.StatusOK)
		e.do("PUT", path, hold).want(http.StatusOK)

		var op struct {
			Freeze *struct {
				Actor, Reason string
				All           bool
			}
		}
		e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK).into(&op)
		if op.Freeze == nil || op.Freeze.Actor != "ada" || op.Freeze.All != (path == all) {
			t.Errorf("%+v", op.Freeze)
		}
		listed := string(e.do("GET", "/v1/operators", "").want(http.StatusOK).body)
		if !strings.Contains(listed, `"reason":"Black Friday."`) {
			t.Error(listed)
		}
		said := e.verb(began.ID, "start", `{"executor":"e"}`).fails(http.StatusConflict, "frozen", "").problem().Detail
		if !strings.Contains(said, "frozen until 2030-01-01T00:00:00Z by ada: Black Friday. Until then") {
			t.Error(said)
		}
		e.verb(began.ID, "commit", stopped).fails(http.StatusConflict, "frozen", "")
		e.do("GET", "/v1/operators/clicks/next-plan", "").want(http.StatusOK).into(&next)
		if next.Plan != nil {
			t.Error("a plan that may not start is yielded")
		}
		judged := e.do("POST", "/v1/operators/clicks/plans", interval(4*n+1, "")).want(http.StatusCreated).life()
		if judged.Status != "no_action" || judged.Causes[0] != "operator_frozen" || judged.Theta.Before == 0 {
			t.Errorf("%s, causes %v, θ %v", judged.Status, judged.Causes, judged.Theta)
		}
		e.do("DELETE", path, "").want(http.StatusNoContent)
		e.do("DELETE", path, "").want(http.StatusNoContent)

		// What is under way goes on while it is frozen.
		started := e.verb(began.ID, "start", `{"executor":"e"}`).want(http.StatusOK).life()
		e.do("PUT", path, hold).want(http.StatusOK)
		e.do("GET", "/v1/operators/clicks/next-plan", "").want(http.StatusOK).into(&next)
		if next.Plan == nil || next.Plan.ID != began.ID {
			t.Errorf("%+v is yielded", next.Plan)
		}
		for _, id := range started.Awaits {
			e.verb(began.ID, "acks", `{"instances":[`+fmt.Sprint(id)+`]}`).want(http.StatusOK)
		}
		e.do("POST", undo, "").fails(http.StatusConflict, "frozen", "")
		e.do("DELETE", path, "").want(http.StatusNoContent)
		back := e.do("POST", undo, "").want(http.StatusCreated).life()
		e.verb(back.ID, "approve", "").want(http.StatusOK)
		e.verb(back.ID, "commit", stopped).want(http.StatusOK)
	}
	for _, path := range []string{one, all} {
		e.do("PUT", path, `{"until":"2001-01-01T00:00:00Z","reason":"late"}`).
			fails(http.StatusUnprocessableEntity, "invalid", "/until")
		e.do("PUT", path, `{"until":"2030-01-01T00:00:00Z"}`).fails(http.StatusUnprocessableEntity, "invalid", "/reason")
		e.do("PUT", path, `{`).fails(http.StatusBadRequest, "malformed", "")
		e.do("PUT", path, hold, "Content-Type: text/plain").
			fails(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
		e.do("PUT", path, hold, "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
		e.do("PUT", path, strings.Repeat(" ", 1<<20+1)).fails(http.StatusRequestEntityTooLarge, "too_large", "")
	}
	e.do("DELETE", "/v1/operators/-/freeze", "").fails(http.StatusUnprocessableEntity, "invalid", "?operator")
	e.do("PUT", one, hold).want(http.StatusOK) // and an operator that is created anew is free
	e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	e.operator("clicks", betaTwo)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).life()
	if p.Status == "no_action" {
		t.Error(p.Causes)
	}
}

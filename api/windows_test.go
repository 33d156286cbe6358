package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStartWindows: outside of its windows no plan of an operator is started, it is said from when on one
// is, and what is under way goes on.
func TestStartWindows(t *testing.T) {
	e := newEnv(t)
	const clicks = "/v1/operators/clicks"
	e.operator("clicks", strings.Replace(betaTwo, "{", `{"approval":{"ttl":"1h","start_windows":[{"from":"05:00","to":"06:00"}]},`, 1))
	p := e.do("POST", clicks+"/plans", interval(1, "")).want(http.StatusCreated) // at 03:04
	id := p.life().ID
	if !strings.Contains(string(p.body), `"status":"approved"`) || !strings.Contains(string(p.body), `"expires_at":"2026-01-02T06:00:00Z"`) {
		t.Errorf("%s", p.body)
	}
	said := e.verb(id, "start", `{"executor":"e"}`).fails(http.StatusConflict, "outside_window", "").problem().Detail
	if !strings.Contains(said, "2026-01-02T05:00:00Z") {
		t.Error(said)
	}
	e.verb(id, "commit", stopped).fails(http.StatusConflict, "outside_window", "")
	told := func(want string) {
		t.Helper()
		for _, target := range []string{clicks, clicks + "/next-plan", clicks + "/routing-table?next_plan=true"} {
			if a := e.do("GET", target, "").want(http.StatusOK); !strings.Contains(string(a.body), `"starts_at":`+want) {
				t.Errorf("%s: %s", target, a.body)
			}
		}
	}
	told(`"2026-01-02T05:00:00Z"`)
	if next := e.do("GET", clicks+"/next-plan", ""); !strings.Contains(string(next.body), `"plan":null`) {
		t.Errorf("%s", next.body)
	}
	if table := e.do("GET", clicks+"/routing-table?next_plan=true", ""); !strings.Contains(string(table.body), `"next_plan":null`) {
		t.Errorf("%s", table.body)
	}
	e.do("PUT", clicks+"/freeze", `{"until":"2026-01-02T07:00:00Z","reason":"sale"}`).want(http.StatusOK)
	told(`"2026-01-03T05:00:00Z"`) // it ends after the window
	e.do("DELETE", clicks+"/freeze", "").want(http.StatusNoContent)
	e.clock.pass(2 * time.Hour)
	told("null")
	if next := e.do("GET", clicks+"/next-plan", ""); !strings.Contains(string(next.body), id) {
		t.Errorf("%s", next.body)
	}
	e.verb(id, "start", `{"executor":"e"}`).want(http.StatusOK)
	e.clock.pass(time.Hour)
	e.verb(id, "start", `{"executor":"f","executor_epoch":1}`).want(http.StatusOK) // a successor takes it over
	e.verb(id, "acks", `{"instances":[0,1],"executor_epoch":1}`).want(http.StatusOK)

	e.do("PATCH", clicks, `{"approval":{"start_windows":[{"from":"05:00","to":"05:00"}]}}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/approval/start_windows/0/to")
	e.do("PATCH", clicks, `{"approval":{"start_windows":[{"from":"5:00","to":"06:00"}]}}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/approval/start_windows/0/from")
	e.do("PATCH", clicks, `{"approval":{"start_windows":null}}`).want(http.StatusOK)
	told("null")
}

// TestWindowOpens: whoever waits for a plan to carry out gets it when the window opens.
func TestWindowOpens(t *testing.T) {
	for _, path := range []string{"/next-plan?wait=50s", "/routing-table?next_plan=true&since=0&wait=50s"} {
		e := newEnv(t)
		e.operator("clicks", strings.Replace(betaTwo, "{", `{"approval":{"start_windows":[{"from":"05:00","to":"06:00"}]},`, 1))
		id := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).life().ID
		e.clock.pass(time.Hour + 55*time.Minute + 54*time.Second)
		go func() {
			time.Sleep(100 * time.Millisecond)
			e.clock.pass(time.Minute)
		}()
		begin := time.Now()
		a := e.do("GET", "/v1/operators/clicks"+path, "").want(http.StatusOK)
		if took := time.Since(begin); took > 20*time.Second || !strings.Contains(string(a.body), id) {
			t.Errorf("%s after %v: %s", path, took, a.body)
		}
	}
}

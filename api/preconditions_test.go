package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestIfMatch: what is changed is what the client has seen, by the ETag that GET
// gives it, however GET encodes it.
func TestIfMatch(t *testing.T) {
	e := newEnv(t)
	const operator, missing = "/v1/operators/clicks", "/v1/operators/none"
	failed := func(a *answer) { a.Helper(); a.fails(http.StatusPreconditionFailed, "precondition_failed", "") }
	failed(e.do("PUT", operator, reported, "If-Match: *"))
	failed(e.do("PUT", operator, reported, `If-Match: "x"`))
	e.do("DELETE", missing, "", "If-Match: *").fails(http.StatusNotFound, "operator_not_found", "")
	created := e.do("PUT", operator, reported, "If-None-Match: *").want(http.StatusCreated).header.Get("ETag")
	failed(e.do("PUT", operator, reported, "If-None-Match: *"))
	failed(e.do("PUT", operator, betaTwo, "If-None-Match: "+created))

	coded := e.do("GET", operator, "", "Accept-Encoding: gzip, identity;q=0").header.Get("ETag")
	if coded == created || !strings.HasSuffix(coded, `-gzip"`) {
		t.Fatalf("the ETag is %s, coded %s", created, coded)
	}
	failed(e.do("PUT", operator, betaTwo, "If-Match: W/"+created))
	failed(e.do("PUT", operator, betaTwo, `If-Match: "x", "y"`))
	changed := e.do("PUT", operator, betaTwo, `If-Match: "x", `+coded).want(http.StatusOK).header.Get("ETag")
	failed(e.do("PUT", operator, reported, "If-Match: "+created))
	failed(e.do("DELETE", operator, "", "If-Match: "+created))
	// The same again is no change: whoever lost the answer may ask again.
	e.do("PUT", operator, betaTwo, "If-Match: "+created).want(http.StatusOK)
	// What the client has not seen is told before what the state does not allow.
	failed(e.do("PUT", operator, `{"instances":2,"scheme":"ring"}`, "If-Match: "+created))
	e.do("PUT", operator, `{"instances":2,"scheme":"ring"}`, "If-Match: "+changed).
		fails(http.StatusConflict, "scheme_fixed", "")

	e.do("POST", operator+"/plans", interval(1, "")).want(http.StatusCreated)
	failed(e.do("DELETE", operator, "", "If-Match: "+changed)) // it has a plan now
	e.do("DELETE", operator, "", "If-Match: *").want(http.StatusNoContent)
}

// TestVerbsIfMatch: every step of a plan can be made to depend on what the client
// has seen of it.
func TestVerbsIfMatch(t *testing.T) {
	for _, m := range mutations() {
		if m.method != "POST" && m.name != "resolution" || m.name == "plan" || m.name == "propose" || m.name == "undo" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			e := newEnv(t)
			target, body := m.prepare(e)
			plan := target[:strings.LastIndexByte(target, '/')]
			seen := e.do("GET", plan, "").want(http.StatusOK).header.Get("ETag")
			before := e.trace()
			e.do(m.method, target, body, append([]string{`If-Match: "another"`}, m.headers...)...).
				fails(http.StatusPreconditionFailed, "precondition_failed", "")
			if after := e.trace(); after != before {
				t.Errorf("it was done all the same:\n%s\n%s", before, after)
			}
			a := e.do(m.method, target, body, append([]string{"If-Match: " + seen}, m.headers...)...).want(http.StatusOK)
			if now := e.do("GET", plan, "").header.Get("ETag"); now != a.header.Get("ETag") {
				t.Errorf("the answer has the ETag %s, the plan %s", a.header.Get("ETag"), now)
			}
			if m.name != "resolution" { // which may be another one
				e.do(m.method, target, body, "If-Match: "+seen).want(http.StatusOK)
			}
		})
	}
}

// TestReportsHaveNoETag: a precondition on a report is refused, not passed over.
func TestReportsHaveNoETag(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	const body = `{"keys":[{"key":"a","cost":1,"hash_instance":0}]}`
	for _, header := range []string{`If-Match: "seen"`, "If-Match: *", "If-None-Match: *"} {
		e.do("PUT", reportTarget(1, 0), body, header).fails(http.StatusPreconditionFailed, "precondition_failed", "")
	}
	e.do("PUT", reportTarget(1, 0), body).want(http.StatusCreated) // none of them was taken
}

// TestFenced: once a higher epoch has planned, a lower one does nothing any more.
func TestFenced(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	const plans = "/v1/operators/clicks/plans"
	first := e.do("POST", plans, interval(5, "")).want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+first.Id+"/commit", stopped).want(http.StatusOK)
	e.do("POST", plans, interval(1, `,"epoch":2`)).want(http.StatusCreated)
	e.do("POST", plans, interval(6, "")).fails(http.StatusConflict, "fenced", "")
	e.do("POST", plans, interval(6, `,"epoch":1`)).fails(http.StatusConflict, "fenced", "")
	e.do("PUT", reportTarget(6, 0), `{"keys":[]}`).fails(http.StatusConflict, "fenced", "")
	e.do("POST", plans, interval(1, `,"epoch":2`)).want(http.StatusOK)
}

package api_test

import (
	"fmt"
	"net/http"
	"testing"
)

const mergePatch = "Content-Type: application/merge-patch+json"

// asked asks whether an instance answers for a key of the operator shuffle.
func (e *env) asked(key string, instance int) *answer {
	e.Helper()
	return e.do("GET", fmt.Sprintf("/v1/operators/shuffle/route?key=%s&instance=%d", key, instance), "")
}

// answersAlone fails unless that one of n instances answers for a key, and the others name it.
func (e *env) answersAlone(key string, owner, n int) {
	e.Helper()
	for id := range n {
		a := e.asked(key, id)
		if id == owner {
			a.want(http.StatusOK)
			continue
		}
		var p struct{ Owner *int32 }
		if a.fails(http.StatusConflict, "not_owner", "").into(&p); p.Owner == nil || int(*p.Owner) != owner {
			e.Errorf("asked %d for %s: %s, want the owner %d", id, key, a.body, owner)
		}
	}
}

// nobodyAnswers fails unless all of n instances are to be asked again later.
func (e *env) nobodyAnswers(key string, n int) {
	e.Helper()
	for id := range n {
		if a := e.asked(key, id).fails(http.StatusConflict, "not_serving", ""); a.header.Get("Retry-After") == "" {
			e.Errorf("%v", a.header)
		}
	}
}

// phase is that of the committed ranges.
func (e *env) phase() string {
	e.Helper()
	var table struct{ Phase string }
	e.do("GET", "/v1/operators/shuffle/routing-table", "").want(http.StatusOK).into(&table)
	return table.Phase
}

// handOver starts a plan and acknowledges it for all of n instances, one after the other.
func (e *env) handOver(plan string, n int, before func(acked int)) {
	e.Helper()
	e.do("POST", "/v1/plans/"+plan+"/start", `{"executor":"leader"}`).want(http.StatusOK)
	for id := range n {
		before(id)
		e.do("POST", "/v1/plans/"+plan+"/acks", fmt.Sprintf(`{"instances":[%d]}`, id)).want(http.StatusOK)
	}
}

// TestShufflePhases: in the put phase nobody answers, whatever is committed; after the end
// of the input all instances begin to answer at once, when the last is ready; from then on
// each key has one instance that answers for it, the one before until a new one has all.
func TestShufflePhases(t *testing.T) {
	e := newEnv(t)
	const plans, operator = "/v1/operators/shuffle/plans", "/v1/operators/shuffle"
	e.operator("shuffle", `{"instances":2,"scheme":"ranges","theta_max":0.1,"ranges":{"phase":"put"}}`)
	e.nobodyAnswers("k050", 2)
	e.asked("k050", 2).fails(http.StatusUnprocessableEntity, "invalid", "?instance")

	// A division while records come: it says where they belong, and waits for nobody.
	costs := make([]int, 100)
	for i := range costs {
		costs[i] = 1
	}
	p := e.do("POST", plans, load(1, costs...)).want(http.StatusCreated).shifted()
	e.do("POST", "/v1/plans/"+p.ID+"/commit", `{}`).want(http.StatusOK)
	e.nobodyAnswers("k050", 2)
	if at, _ := e.routed("shuffle", "k099"); at != 1 || e.phase() != "put" {
		t.Errorf("k099 belongs to %d in phase %s", at, e.phase())
	}

	// The end of the input: nothing moves any more, but all have to say so.
	e.do("PATCH", operator, `{"ranges":{"phase":"get"}}`, mergePatch).want(http.StatusOK)
	e.do("PATCH", operator, `{"ranges":{"phase":"put"}}`, mergePatch).
		fails(http.StatusUnprocessableEntity, "invalid", "/ranges/phase")
	last := e.do("POST", plans, load(2, costs...)).want(http.StatusCreated).shifted()
	if last.Status != "approved" || len(last.Migrations) > 0 {
		t.Fatalf("%+v", last)
	}
	e.do("POST", "/v1/plans/"+last.ID+"/commit", `{}`).fails(http.StatusConflict, "transition_not_allowed", "")
	e.handOver(last.ID, 2, func(int) { e.nobodyAnswers("k050", 2) })
	if e.phase() != "get" {
		t.Errorf("phase %s", e.phase())
	}
	e.answersAlone("k000", 0, 2)
	e.answersAlone("k099", 1, 2)

	// A third joins: who answered goes on, until the new one has all of it.
	e.do("PATCH", operator, `{"instances":3}`, mergePatch).want(http.StatusOK)
	join := e.do("POST", plans, load(3, costs...)).want(http.StatusCreated).shifted()
	var moved string
	for _, m := range join.Migrations {
		if m.To == 2 && m.From == 0 {
			moved = m.Range.From
		}
	}
	if moved == "" {
		t.Fatalf("%+v", join.Migrations)
	}
	e.handOver(join.ID, 3, func(int) {
		e.answersAlone(moved, 0, 2)
		e.asked(moved, 2).fails(http.StatusConflict, "not_serving", "")
	})
	e.answersAlone(moved, 2, 3)
	if q := e.do("POST", plans, load(4, costs...)).want(http.StatusCreated).shifted(); q.Status != "no_action" {
		t.Errorf("%+v", q)
	}
}

// TestAskedInstance: under every scheme an instance that is asked for a key answers if the
// key goes there, be it in part.
func TestAskedInstance(t *testing.T) {
	e := newEnv(t)
	for name, config := range map[string]string{
		"table": `{"instances":3}`, "ring": `{"instances":3,"scheme":"ring"}`, "pkg": `{"instances":3,"scheme":"pkg"}`,
	} {
		e.operator(name, config)
		var at struct {
			Instance   int
			Candidates []int
		}
		route := "/v1/operators/" + name + "/route?key=a"
		e.do("GET", route, "").want(http.StatusOK).into(&at)
		if len(at.Candidates) == 0 {
			at.Candidates = []int{at.Instance}
		}
		answer := 0
		for id := range 3 {
			a := e.do("GET", fmt.Sprintf("%s&instance=%d", route, id), "")
			if a.status == http.StatusOK {
				answer++
			} else {
				a.fails(http.StatusConflict, "not_owner", "")
			}
		}
		if answer != len(at.Candidates) {
			t.Errorf("%s: %d instances answer, the key goes to %v", name, answer, at.Candidates)
		}
		e.do("GET", route+"&instance=3", "").fails(http.StatusUnprocessableEntity, "invalid", "?instance")
	}
}

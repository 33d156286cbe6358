package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
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

// shuffleReport sends the report of an instance of the operator shuffle: forty keys for each
// letter, of cost 1 each.
func (e *env) shuffleReport(interval int64, instance int, letters string) *answer {
	e.Helper()
	var rows []string
	for _, letter := range letters {
		for i := range 40 {
			rows = append(rows, fmt.Sprintf(`{"key":"%c%03d","cost":1}`, letter, i))
		}
	}
	return e.do("PUT", fmt.Sprintf("/v1/operators/shuffle/intervals/%d/reports/%d", interval, instance),
		`{"keys":[`+strings.Join(rows, ",")+`]}`)
}

// planOf asks for the plan of an interval of the operator shuffle.
func (e *env) planOf(interval int64) *answer {
	e.Helper()
	return e.do("POST", "/v1/operators/shuffle/plans", fmt.Sprintf(`{"interval":%d}`, interval))
}

// TestLostInstance: an instance that stops reporting is missing until its lease runs out.
// Then the next instance has its ranges at once, and whatever waits for approval is not in
// the way; later plans spread the load, and give the instance its share when it is back.
func TestLostInstance(t *testing.T) {
	e := newEnv(t)
	const operator = "/v1/operators/shuffle"
	config := `{"instances":4,"scheme":"ranges","theta_max":0.1,"approval":{"max_migration":{"keys":0}},
		"reports":{"lease":"10s"}}`
	e.operator("shuffle", config)
	all := func(interval int64, without ...int) { // the next ones have what these had
		var letters [4]string
		for id := range 4 {
			at := id
			for slices.Contains(without, at) {
				at = (at + 1) % 4
			}
			letters[at] += string(rune('a' + id))
		}
		for id := range 4 {
			if letters[id] != "" {
				e.shuffleReport(interval, id, letters[id]).want(http.StatusCreated)
			}
		}
	}
	all(1)
	first := e.planOf(1).want(http.StatusCreated).shifted()
	e.do("POST", "/v1/plans/"+first.ID+"/commit", stopped).want(http.StatusOK)
	e.answersAlone("c000", 2, 4)

	// It is missing, and then lost.
	all(2, 2)
	e.planOf(2).fails(http.StatusConflict, "reports_missing", "")
	e.clock.pass(8 * time.Second)
	all(3, 2)
	e.planOf(3).fails(http.StatusConflict, "reports_missing", "")
	var standing struct{ Missing, Lost []int32 }
	if e.do("GET", operator+"/intervals/3/reports", "").want(http.StatusOK).into(&standing); len(standing.Lost) > 0 {
		t.Errorf("%+v", standing)
	}
	e.clock.pass(2 * time.Second)
	e.do("GET", operator+"/intervals/3/reports", "").want(http.StatusOK).into(&standing)
	if !slices.Equal(standing.Missing, []int32{2}) || !slices.Equal(standing.Lost, []int32{2}) {
		t.Errorf("%+v", standing)
	}
	made := e.planOf(3).want(http.StatusCreated)
	var of struct {
		Awaits  []int32
		Reports struct{ Received, Lost []int32 }
	}
	made.into(&of)
	p := made.shifted()
	if p.Status != "approved" || len(p.Migrations) == 0 || !slices.Equal(of.Awaits, []int32{3}) ||
		!slices.Equal(of.Reports.Received, []int32{0, 1, 3}) || !slices.Equal(of.Reports.Lost, []int32{2}) {
		t.Fatalf("%s", made.body)
	}
	for _, m := range p.Migrations {
		if m.From != 2 || m.To != 3 || m.Reason != "takeover" {
			t.Errorf("%+v", m)
		}
	}
	e.do("POST", "/v1/plans/"+p.ID+"/start", `{"executor":"leader"}`).want(http.StatusOK)
	e.answersAlone("c000", 2, 4) // until the one with the copy has acknowledged
	e.do("POST", "/v1/plans/"+p.ID+"/acks", `{"instances":[3]}`).want(http.StatusOK)
	e.answersAlone("c000", 3, 4)

	// The load is spread over those that are there, by a plan like any other; a plan that
	// waits is not in the way when another one is lost.
	all(4, 2)
	spread := e.planOf(4).want(http.StatusCreated).shifted()
	if spread.Status != "proposed" || spread.Theta.Before < 0.1 || spread.Theta.After > 0.1 {
		t.Fatalf("%+v", spread)
	}
	for _, m := range spread.Migrations {
		if m.From != 3 || m.To == 2 || m.Reason != "overload" {
			t.Errorf("%+v", m)
		}
	}
	e.clock.pass(10 * time.Second)
	all(5, 2, 3)
	second := e.planOf(5).want(http.StatusCreated).shifted()
	for _, m := range second.Migrations {
		if m.From != 3 || m.To != 0 || m.Reason != "takeover" {
			t.Errorf("%+v", m)
		}
	}
	if second.Status != "approved" || len(second.Migrations) == 0 || len(second.Causes) > 0 && second.Balanced {
		t.Fatalf("%+v", second)
	}
	e.do("POST", "/v1/plans/"+second.ID+"/commit", stopped).want(http.StatusOK)
	e.answersAlone("c000", 0, 4)

	// They are back, and have their share in time.
	e.do("PUT", operator, strings.Replace(config, `"max_migration":{"keys":0}`, `"auto":"always"`, 1)).want(http.StatusOK)
	all(6)
	back := e.planOf(6).want(http.StatusCreated).shifted()
	if back.Status != "approved" || !back.Balanced {
		t.Fatalf("%+v", back)
	}
	e.do("POST", "/v1/plans/"+back.ID+"/commit", stopped).want(http.StatusOK)

	// Two neighbours at once: one of them had the copy of the other.
	e.clock.pass(10 * time.Second)
	all(7, 1, 2)
	both := e.planOf(7).want(http.StatusCreated).shifted()
	if !slices.Contains(both.Causes, "state_lost") || both.Status != "approved" {
		t.Fatalf("%+v", both)
	}
}

// TestLostBesidesOthers: where the instances change at the same time one plan does it all,
// and waits for nobody who is lost.
func TestLostBesidesOthers(t *testing.T) {
	e := newEnv(t)
	config := `{"instances":3,"scheme":"ranges","theta_max":0.1,"reports":{"lease":"10s"}}`
	e.operator("shuffle", config)
	for id := range 3 {
		e.shuffleReport(1, id, "abc"[id:id+1]).want(http.StatusCreated)
	}
	e.do("POST", "/v1/plans/"+e.planOf(1).want(http.StatusCreated).shifted().ID+"/commit", stopped).want(http.StatusOK)
	e.clock.pass(10 * time.Second)
	e.do("PATCH", "/v1/operators/shuffle", `{"instances":4}`, mergePatch).want(http.StatusOK)
	e.shuffleReport(2, 0, "a").want(http.StatusCreated)
	e.shuffleReport(2, 2, "bc").want(http.StatusCreated)
	made := e.planOf(2).want(http.StatusCreated)
	var of struct{ Awaits []int32 }
	made.into(&of)
	if !slices.Equal(of.Awaits, []int32{0, 2, 3}) {
		t.Errorf("awaits %v", of.Awaits)
	}
	filled := false
	for _, m := range made.shifted().Migrations {
		filled = filled || m.To == 3
		if (m.Reason == "takeover") != (m.From == 1) || m.To == 1 {
			t.Errorf("%+v", m)
		}
	}
	if !filled {
		t.Errorf("%s", made.body)
	}
}

// TestLeaseBounds: a lease is of key ranges, and neither too short nor too long.
func TestLeaseBounds(t *testing.T) {
	e := newEnv(t)
	for _, config := range []string{
		`{"instances":2,"reports":{"lease":"10s"}}`, `{"instances":2,"scheme":"ring","reports":{"lease":"10s"}}`,
		`{"instances":2,"scheme":"ranges","reports":{"lease":"999ms"}}`,
		`{"instances":2,"scheme":"ranges","reports":{"lease":"8761h"}}`,
	} {
		e.do("PUT", "/v1/operators/x", config).fails(http.StatusUnprocessableEntity, "invalid", "/reports/lease")
	}
}

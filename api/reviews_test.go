package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"plannerd/internal/web/access"
	"plannerd/sdk/go/wire"
)

// TestPlanDiff: which keys two plans move otherwise, where to, and what both cost.
func TestPlanDiff(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"theta_max":0,"hash":{"function":"reported"},
		"approval":{"on_pending":"replace","auto":"never"}}`)
	plan := func(n int, rows string) wire.Plan {
		t.Helper()
		var p wire.Plan
		e.do("POST", fmt.Sprintf("/v1/operators/clicks/plans?interval=%d", n), "key,cost,state,hash_instance\n"+rows, csv).
			want(http.StatusCreated).into(&p)
		return p
	}
	first := plan(1, "a,4,1,0\nb,4,1,0\nc,4,1,0\n")
	second := plan(2, "a,4,1,0\nd,4,1,0\ne,4,1,0\nf,2,9,1\n")
	var d wire.PlanDiff
	path := "/v1/plans/" + second.Id + "/diff?with="
	e.do("GET", path+first.Id, "").want(http.StatusOK).into(&d)
	moves := func(ms wire.Migrations) map[string]int32 {
		out := map[string]int32{}
		for _, m := range ms {
			out[m.Key] = m.To
		}
		return out
	}
	this, other := moves(second.Migrations), moves(first.Migrations)
	var same, elsewhere, onlyThis, onlyOther int64
	for key, to := range this {
		at, both := other[key]
		switch {
		case !both:
			onlyThis++
		case at == to:
			same++
		default:
			elsewhere++
		}
	}
	for key := range other {
		if _, both := this[key]; !both {
			onlyOther++
		}
	}
	if len(this) == 0 || len(other) == 0 || d.Same != same || d.Elsewhere != elsewhere || d.OnlyThis != onlyThis ||
		d.OnlyOther != onlyOther || d.TotalSize != elsewhere+onlyThis+onlyOther {
		t.Errorf("%+v\nof %v and %v", d, this, other)
	}
	if d.This.Id != second.Id || d.This.Theta.After != second.Theta.After ||
		d.Other.Migration.State != first.Migration.State {
		t.Errorf("%+v, %+v", d.This, d.Other)
	}
	for _, k := range d.Keys {
		to, moved := this[k.Key]
		was, movedThere := other[k.Key]
		if moved != (k.To != nil) || moved && *k.To != to || movedThere != (k.OtherTo != nil) ||
			movedThere && *k.OtherTo != was || k.Cost == 0 {
			t.Errorf("%+v", k)
		}
	}
	// Page by page it is the same list.
	var page struct {
		Keys []wire.MoveDiff
		Next *string `json:"next_page_token"`
	}
	n, target := 0, path+first.Id+"&page_size=1"
	for {
		e.do("GET", target, "").want(http.StatusOK).into(&page)
		if len(page.Keys) != 1 || page.Keys[0].Key != d.Keys[n].Key {
			t.Fatalf("page %d: %+v", n, page.Keys)
		}
		if n++; page.Next == nil {
			break
		}
		target = path + first.Id + "&page_size=1&page_token=" + url.QueryEscape(*page.Next)
	}
	if n != len(d.Keys) {
		t.Errorf("%d pages of %d", n, len(d.Keys))
	}
	if e.do("GET", path+second.Id, "").want(http.StatusOK).into(&d); d.Same != int64(len(this)) || d.TotalSize != 0 {
		t.Errorf("with itself: %+v", d)
	}
	e.do("GET", path+"none", "").fails(http.StatusUnprocessableEntity, "invalid", "?with")
	e.do("GET", "/v1/plans/none/diff?with="+first.Id, "").fails(http.StatusNotFound, "plan_not_found", "")
	e.do("GET", path+first.Id+"&page_token=x", "").fails(http.StatusBadRequest, "invalid_page_token", "?page_token")
	e.do("GET", path+first.Id, "", "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	classes := e.classPlan().ID
	e.do("GET", path+classes, "").fails(http.StatusUnprocessableEntity, "invalid", "?with") // of another operator
	e.do("GET", "/v1/plans/"+classes+"/diff?with="+classes, "").fails(http.StatusConflict, "keys_not_known", "")
}

// TestConfigurations: who configured, when, and what changed from one version to any other.
func TestConfigurations(t *testing.T) {
	e := newEnv(t)
	const path = "/v1/operators/clicks/configurations"
	e.do("GET", path, "").fails(http.StatusNotFound, "operator_not_found", "")
	e.do("GET", path+"/1", "").fails(http.StatusNotFound, "operator_not_found", "")
	e.do("PUT", "/v1/operators/clicks?actor=ada", `{"instances":2}`).want(http.StatusCreated)
	e.do("PATCH", "/v1/operators/clicks?actor=bob", `{"theta_max":0.08,"approval":{"ttl":"1h","auto":"never"}}`).
		want(http.StatusOK)
	e.do("PATCH", "/v1/operators/clicks", `{"theta_max":0.1}`).want(http.StatusOK)
	var list wire.ConfigurationList
	a := e.do("GET", path, "").want(http.StatusOK)
	a.into(&list)
	e.do("GET", path, "", "If-None-Match: "+a.header.Get("ETag")).want(http.StatusNotModified)
	said := func(changes []wire.MemberChange) (text string) {
		for _, c := range changes {
			text += fmt.Sprintf("%s %v→%v; ", c.Member, c.From, c.To)
		}
		return text
	}
	all := list.Configurations
	if len(all) != 3 || all[2].Actor != "ada" || all[2].Since != nil || len(all[2].Changes) != 0 ||
		all[1].Actor != "bob" ||
		said(all[1].Changes) != "approval/auto within_limits→never; approval/ttl 10m0s→1h0m0s; " ||
		said(all[0].Changes) != "theta_max 0.08→0.1; " || *all[0].Since != 2 {
		t.Errorf("%s", a.body)
	}
	var page wire.ConfigurationList
	e.do("GET", path+"?page_size=2", "").want(http.StatusOK).into(&page)
	if len(page.Configurations) != 2 || page.NextPageToken == nil {
		t.Fatalf("%+v", page)
	}
	e.do("GET", path+"?page_size=2&page_token="+url.QueryEscape(*page.NextPageToken), "").want(http.StatusOK).into(&page)
	if len(page.Configurations) != 1 || page.Configurations[0].Version != 1 || page.NextPageToken != nil {
		t.Errorf("%+v", page)
	}
	var one wire.ConfigurationVersion
	a = e.do("GET", path+"/3?since=1", "").want(http.StatusOK)
	a.into(&one)
	e.do("GET", path+"/3?since=1", "", "If-None-Match: "+a.header.Get("ETag")).want(http.StatusNotModified)
	if said(one.Changes) != "approval/auto within_limits→never; approval/ttl 10m0s→1h0m0s; theta_max 0.08→0.1; " ||
		one.Configuration["theta_max"] != 0.1 {
		t.Errorf("%s", a.body)
	}
	if e.do("GET", path+"/1", "").want(http.StatusOK).into(&one); one.Since != nil {
		t.Errorf("%+v", one)
	}
	e.do("GET", path+"/9", "").fails(http.StatusNotFound, "version_not_found", "")
	e.do("GET", path+"/1?since=9", "").fails(http.StatusNotFound, "version_not_found", "")
	for _, p := range []string{path, path + "/1"} {
		e.do("GET", p, "", "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	}
}

// TestOperatorChanges: what happened since a time, in one question.
func TestOperatorChanges(t *testing.T) {
	e := newEnv(t)
	const path = "/v1/operators/clicks/changes?since="
	e.do("GET", path+"2020-01-01T00:00:00Z", "").fails(http.StatusNotFound, "operator_not_found", "")
	e.operator("clicks", approved)
	var c wire.OperatorChanges
	e.do("GET", path+"2020-01-01T00:00:00Z", "").want(http.StatusOK).into(&c)
	if c.Configuration == nil || c.Configuration.Since != nil || len(c.Plans) != 0 {
		t.Errorf("of a new operator: %+v", c)
	}
	until := c.Until.Format("2006-01-02T15:04:05.999999Z07:00")
	e.clock.pass(1e9)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).life()
	e.verb(p.ID, "comments", `{"comment":"Is it the sale?","actor":"ada"}`).want(http.StatusOK)
	e.verb(p.ID, "approve", `{"actor":"bob"}`).want(http.StatusOK)
	e.do("PATCH", "/v1/operators/clicks?actor=eve", `{"theta_max":0.5}`).want(http.StatusOK)
	e.do("PUT", "/v1/operators/clicks/freeze", `{"until":"2030-01-01T00:00:00Z","reason":"Black Friday.","actor":"ada"}`).
		want(http.StatusOK)
	e.do("DELETE", "/v1/operators/clicks/freeze?actor=bob", "").want(http.StatusNoContent)
	a := e.do("GET", path+until, "").want(http.StatusOK)
	a.into(&c)
	if fmt.Sprint(c.Plans) != "map[approved:1 proposed:1]" || c.Comments != 1 || c.Configuration == nil ||
		c.Configuration.Actor != "eve" || c.Configuration.Changes[0].Member != "theta_max" || len(c.Freezes) != 2 ||
		c.Freezes[0].Actor != "ada" || !c.Freezes[1].Ended || c.Freezes[1].Actor != "bob" || len(c.Steps) != 3 ||
		c.Steps[1].Kind != "comment" || c.Steps[1].Reason != "Is it the sale?" || c.Steps[0].Actor != "bob" {
		t.Errorf("%s", a.body)
	}
	e.clock.pass(1e9)
	var none wire.OperatorChanges
	e.do("GET", path+c.Until.Format("2006-01-02T15:04:05.999999Z07:00"), "").want(http.StatusOK).into(&none)
	if c = none; len(c.Plans)+len(c.Freezes)+len(c.Steps) != 0 || c.Configuration != nil {
		t.Errorf("since then: %+v", c)
	}
	e.do("GET", "/v1/operators/clicks/changes", "").fails(http.StatusUnprocessableEntity, "invalid", "?since")
	e.do("GET", path+"yesterday", "").fails(http.StatusUnprocessableEntity, "invalid", "?since")
	e.do("GET", path+until, "", "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
}

// TestComments: something can be said of a plan without deciding, a hundred times.
func TestComments(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).life()
	for i := range 200 {
		if q := e.verb(p.ID, "comments", fmt.Sprintf(`{"comment":"Why %d?","actor":"ada"}`, i/2)).want(http.StatusOK).life(); q.Status != "proposed" {
			t.Fatal(q.Status)
		}
	}
	e.verb(p.ID, "comments", `{"comment":"Why?"}`).fails(http.StatusConflict, "too_many_comments", "")
	said := string(e.do("GET", "/v1/plans/"+p.ID+"/transitions", "").body)
	if strings.Count(said, `"kind":"comment","actor":"ada","reason":"Why `) != 100 {
		t.Error(said)
	}
	e.verb(p.ID, "comments", `{"comment":""}`).fails(http.StatusUnprocessableEntity, "invalid", "/comment")
	e.verb("none", "comments", `{"comment":"?"}`).fails(http.StatusNotFound, "plan_not_found", "")
	e.verb(p.ID, "comments", `{`).fails(http.StatusBadRequest, "malformed", "")
	path := "/v1/plans/" + p.ID + "/comments"
	e.do("POST", path, `{"comment":"?"}`, "Content-Type: text/plain").
		fails(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	e.do("POST", path, `{"comment":"?"}`, "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("POST", path, strings.Repeat(" ", 1<<20+1)).fails(http.StatusRequestEntityTooLarge, "too_large", "")
}

const byTwo = `{"instances":2,"theta_max":0,"hash":{"function":"reported"},"approval":{"auto":"never","approvers":2}}`

// TestTwoApprovers: a plan that two people have to approve waits for the second one, whoever says to be
// whom, and each answer says who approved it.
func TestTwoApprovers(t *testing.T) {
	c := newCallers(t)
	ada, bob := c.add("ada", access.Admin, "*"), c.add("bob", access.Approver, "*")
	e := newEnv(t, c.option)
	e.do("PUT", "/v1/operators/clicks", byTwo, ada).want(http.StatusCreated)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, ""), ada).want(http.StatusCreated).life()
	path := "/v1/plans/" + p.ID
	approve := func(body, auth, status, approvals string) {
		t.Helper()
		a := e.do("POST", path+"/approve", body, auth).want(http.StatusOK)
		if got := a.life(); got.Status != status || !strings.Contains(string(a.body), `"approvals":`+approvals) {
			t.Errorf("%s, %s", got.Status, a.body)
		}
	}
	if a := e.do("GET", path, "", ada); !strings.Contains(string(a.body), `"approvals":{"needed":2,"by":[]}`) {
		t.Errorf("%s", a.body)
	}
	approve("", ada, "proposed", `{"needed":2,"by":["ada"]}`)
	approve(`{"actor":"bob"}`, ada, "proposed", `{"needed":2,"by":["ada"]}`)
	listed := e.do("GET", "/v1/operators/clicks/plans", "", bob)
	if !strings.Contains(string(listed.body), `"approvals":{"needed":2,"by":["ada"]}`) {
		t.Errorf("%s", listed.body)
	}
	approve("", bob, "approved", `{"needed":2,"by":["ada","bob"]}`)
	steps := string(e.do("GET", path+"/transitions", "", bob).body)
	if !strings.Contains(steps, `"to":"proposed","kind":"approval","actor":"ada"`) {
		t.Error(steps)
	}

	anybody := newEnv(t)
	anybody.operator("clicks", byTwo)
	q := anybody.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).life()
	anybody.verb(q.ID, "approve", `{"actor":"ada"}`).fails(http.StatusConflict, "approver_unnamed", "")
}

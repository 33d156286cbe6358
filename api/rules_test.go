package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

const threeZones = `"instances":[{"name":"w0","labels":{"zone":"a"}},{"name":"w1","labels":{"zone":"b"}},` +
	`{"name":"w2","labels":{"zone":"c"}}]`

// tenant is a rule that has a tenant's keys in a zone of its own.
const tenant = `{"name":"tenant","keys":{"prefix":"t/"},"on":{"labels":{"zone":["c"]}},"exclusive":true}`

// rowsOfTenants are rows of keys of a tenant and of others; at says where each is.
func rowsOfTenants(interval int, at func(key string) string) string {
	var rows []string
	for i := range 40 {
		key := fmt.Sprintf("%s/%d", []string{"t", "u"}[i%2], i)
		rows = append(rows, fmt.Sprintf(`{"key":%q,"cost":%d,"state":2%s}`, key, 5+i%3, at(key)))
	}
	return fmt.Sprintf(`"interval":%d,"keys":[%s]`, interval, strings.Join(rows, ","))
}

func anywhere(string) string { return "" }

func (e *env) routeOf(key string) (r wire.Route) {
	e.Helper()
	e.do("GET", "/v1/operators/clicks/route?key="+key, "").want(http.StatusOK).into(&r)
	return r
}

// TestPlacementLife sets a rule, sees what it would move, has it carried out, and asks where keys go.
func TestPlacementLife(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+threeZones+`,"theta_max":0.5}`)
	first := e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(1, anywhere)+"}").want(http.StatusCreated).plan()

	preview := e.do("POST", "/v1/plans/"+first.Id+"/replay", `{"placement":{"rules":[`+tenant+`]},"plans":true}`).
		want(http.StatusOK)
	var tried wire.WhatIfResults
	if preview.into(&tried); len(tried.Results) != 1 || !strings.Contains(string(preview.body), `"reason":"placement"`) {
		t.Fatalf("%s", preview.body)
	}
	patch := `{"placement":{"rules":[` + tenant + `]}}`
	var op struct {
		Placement     json.RawMessage
		ConfigVersion int64 `json:"config_version"`
	}
	e.do("PATCH", "/v1/operators/clicks", patch, "Content-Type: application/merge-patch+json").
		want(http.StatusOK).into(&op)
	if string(op.Placement) != `{"rules":[`+tenant+`]}` || op.ConfigVersion != 2 {
		t.Fatalf("%s in version %d", op.Placement, op.ConfigVersion)
	}
	p := e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(2, anywhere)+"}").want(http.StatusCreated).plan()
	if len(p.Migrations) == 0 || len(p.Migrations) != len(tried.Results[0].Plan.Migrations) {
		t.Errorf("%d migrations, and the preview had %d", len(p.Migrations), len(tried.Results[0].Plan.Migrations))
	}
	e.verb(p.Id, "commit", `{"stopped":true}`).want(http.StatusOK)
	for i := range 60 { // keys that were never seen, too
		r := e.routeOf(fmt.Sprintf("t/%d", i))
		if r.Instance != 2 || r.Rule == nil || *r.Rule != "tenant" || r.Misplaced != nil {
			t.Errorf("%+v of the tenant", r)
		}
		if r := e.routeOf(fmt.Sprintf("u/%d", i)); r.Instance == 2 || r.Rule != nil || r.Misplaced != nil {
			t.Errorf("%+v of another", r)
		}
	}
	var table wire.RoutingTable
	e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).into(&table)
	if table.Placement == nil || !slices.Equal(table.Placement.Rules[0].On.Instances, []int32{2}) {
		t.Errorf("routers are told %+v", table.Placement)
	}
}

// TestPlacementPending tells routers of the rules that a plan which is carried out makes.
func TestPlacementPending(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+threeZones+`}`)
	e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(1, anywhere)+"}").want(http.StatusCreated)
	e.do("PUT", "/v1/operators/clicks", `{`+threeZones+`,"placement":{"rules":[`+tenant+`]}}`).want(http.StatusOK)
	p := e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(2, anywhere)+"}").want(http.StatusCreated).plan()
	e.verb(p.Id, "start", `{"executor":"job"}`).want(http.StatusOK)
	var table wire.RoutingTable
	e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).into(&table)
	if table.Placement != nil || table.Pending.Placement == nil || len(table.Pending.Placement.Rules) != 1 {
		t.Errorf("now %+v, then %+v", table.Placement, table.Pending.Placement)
	}
}

// TestCordon keeps plans from bringing keys to an instance.
func TestCordon(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":[{"id":0},{"id":1},{"id":2,"takes":"none"}],"theta_max":0}`)
	p := e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(1, func(string) string { return `,"instance":0` })+"}").
		want(http.StatusCreated).plan()
	if len(p.Migrations) == 0 || slices.ContainsFunc(p.Migrations, func(m migration) bool { return m.To == 2 }) {
		t.Errorf("%+v", p.Migrations)
	}
}

// TestMisplacedKeys says of engines' own hashes that they heed no rules.
func TestMisplacedKeys(t *testing.T) {
	e := newEnv(t)
	const rule = `"placement":{"rules":[{"name":"pinned","keys":{"prefix":"u"},"on":{"instances":["w1"]}}]}`
	e.operator("clicks", `{`+threeZones+`,`+rule+`,"hash":{"function":"kafka","partitions":3}}`)
	if a := e.do("GET", "/v1/operators/clicks", ""); !strings.Contains(string(a.body), `"misplaces_unseen_keys":true`) {
		t.Errorf("%s", a.body)
	}
	wrong := 0
	for i := range 30 {
		r := e.routeOf(fmt.Sprintf("u%d", i))
		if r.Rule == nil || *r.Rule != "pinned" || (r.Misplaced != nil) != (r.Instance != 1) {
			t.Errorf("%+v", r)
		}
		if r.Misplaced != nil {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("no key that was never seen goes wrong")
	}
	e.operator("other", `{`+threeZones+`,`+rule+`}`)
	if a := e.do("GET", "/v1/operators/other", ""); strings.Contains(string(a.body), "misplaces") {
		t.Errorf("the ring heeds rules: %s", a.body)
	}
}

// TestPlacementRefused refuses what cannot be carried out, in words that name the rule.
func TestPlacementRefused(t *testing.T) {
	e := newEnv(t)
	for body, field := range map[string]string{
		`{"instances":2,"placement":{"rules":[{"name":"a","keys":{},"on":{"labels":{"zone":"x"}}}]}}`:       "/placement/rules/0/on",
		`{"scheme":"ring","instances":2,"placement":{"rules":[{"name":"a","keys":{},"stay":true}]}}`:        "/placement",
		`{"instances":2,"placement":{"rules":[{"name":"a","keys":{},"on":{"instances":["nobody"]}}]}}`:      "/placement/rules/0/on/instances/0",
		`{"scheme":"pkg","instances":[{"id":0,"takes":"none"},{"id":1}]}`:                                   "/instances/0/takes",
		`{"instances":2,"compact":{"degree":1},"placement":{"rules":[{"name":"a","keys":{},"stay":true}]}}`: "/compact",
	} {
		e.do("PUT", "/v1/operators/clicks", body).fails(http.StatusUnprocessableEntity, "invalid", field)
	}
	e.operator("clicks", `{`+threeZones+`,"placement":{"rules":[`+tenant+`]}}`)
	e.do("POST", "/v1/operators/clicks/plans", `{`+rowsOfTenants(1, anywhere)+`,"compact":{"degree":1}}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/compact")
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"compact":{"degree":1,"records":[[0,0,10,10,3]]}}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/compact")
	p := e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(1, anywhere)+"}").want(http.StatusCreated).plan()
	for body, field := range map[string]string{
		`{"placement":{"rules":[{"name":"a","keys":{},"on":{"labels":{"zone":"x"}}}]}}`: "/placement/rules/0/on",
		`{"placement":{"rules":[]},"propose":true}`:                                     "/propose",
	} {
		e.do("POST", "/v1/plans/"+p.Id+"/replay", body).fails(http.StatusUnprocessableEntity, "invalid", field)
	}
}

// TestWhatIfPlacement previews rules, by names, without a stored operator.
func TestWhatIfPlacement(t *testing.T) {
	e := newEnv(t)
	ask := func(more string) wire.WhatIfResults {
		t.Helper()
		var out wire.WhatIfResults
		e.do("POST", "/v1/what-if", `{"operator":{`+threeZones+`,"theta_max":0.5},`+rowsOfTenants(1, anywhere)+more+`}`).
			want(http.StatusOK).into(&out)
		return out
	}
	moves := func(r wire.WhatIfResults) (n int) {
		n = int(r.Results[0].Migration.Keys)
		return n
	}
	plain := ask("")
	ruled := ask(`,"placement":{"rules":[{"name":"pin","keys":{"prefix":"t/"},"on":{"instances":["w1"]}}]}`)
	if moves(ruled) <= moves(plain) || moves(ask(`,"placement":{"rules":[]}`)) != moves(plain) {
		t.Errorf("%d keys move, %d with a rule", moves(plain), moves(ruled))
	}
}

// TestAbsentKeyLeaves drops the entry of a key that no row names, though it would stay for a grace, where
// a rule lets the key no longer be.
func TestAbsentKeyLeaves(t *testing.T) {
	e := newEnv(t)
	configure := func(rules string) {
		e.do("PUT", "/v1/operators/clicks", `{"instances":2,"theta_max":0,"entry_grace":9,"hash":{"function":"modulo"},`+
			`"placement":{"rules":[`+rules+`]}}`)
	}
	configure("")
	p := e.do("POST", "/v1/operators/clicks/plans", "{"+rowsOfTenants(1, anywhere)+"}").want(http.StatusCreated).plan()
	e.verb(p.Id, "commit", `{"stopped":true}`).want(http.StatusOK)
	if len(p.Migrations) == 0 {
		t.Fatal("no key has an entry")
	}
	key, to := p.Migrations[0].Key, p.Migrations[0].From
	configure(fmt.Sprintf(`{"name":"back","keys":{"equals":[%q]},"on":{"instances":[%d]}}`, key, to))
	rows := strings.ReplaceAll(rowsOfTenants(2, anywhere), fmt.Sprintf("%q", key), `"another"`)
	p = e.do("POST", "/v1/operators/clicks/plans", "{"+rows+"}").want(http.StatusCreated).plan()
	e.verb(p.Id, "commit", `{"stopped":true}`).want(http.StatusOK)
	if r := e.routeOf(key); r.Instance != to || r.Misplaced != nil {
		t.Errorf("%+v, want instance %d", r, to)
	}
}

package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

// named is an operator by what matters of its instances.
func (e *env) named(method, path, body string) string {
	e.Helper()
	var op struct {
		Instances []struct {
			ID       int32
			Name     string
			Capacity float64
		}
	}
	a := e.do(method, path, body)
	if a.status != http.StatusCreated {
		a.want(http.StatusOK)
	}
	a.into(&op)
	var out []string
	for _, d := range op.Instances {
		out = append(out, fmt.Sprintf("%d=%s:%g", d.ID, d.Name, d.Capacity))
	}
	return strings.Join(out, " ")
}

// TestNamesGetIDs: a name keeps its id for ever, and a new one gets an id that was never used.
func TestNamesGetIDs(t *testing.T) {
	e := newEnv(t)
	const path = "/v1/operators/clicks"
	for _, c := range []struct{ method, body, want string }{
		{"PUT", `{"instances":3}`, "0=:1 1=:1 2=:1"},
		{"PUT", `{"instances":["a","b"]}`, "3=a:1 4=b:1"},
		{"PUT", `{"instances":["b","c","a"]}`, "3=a:1 4=b:1 5=c:1"},
		{"PUT", `{"instances":[{"name":"d","capacity":2},"c"]}`, "5=c:1 6=d:2"},
		{"PATCH", `{"instances":["a",{"id":20}]}`, "3=a:1 20=:1"},
		{"PATCH", `{"instances":["e"]}`, "21=e:1"},
		{"PATCH", `{"instances":[{"id":3,"name":"renamed"}]}`, "3=renamed:1"},
		{"PATCH", `{"theta_max":0.2}`, "3=renamed:1"},
		{"PATCH", `{"instances":["a"]}`, "3=a:1"},
		{"PUT", `{"instances":["höst:9092","x.1"]}`, "22=höst:9092:1 23=x.1:1"},
	} {
		if got := e.named(c.method, path, c.body); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.body, got, c.want)
		}
	}
	if got := e.named("PUT", "/v1/operators/others", `{"instances":["z","a"]}`); got != "0=z:1 1=a:1" {
		t.Errorf("another operator: %s", got)
	}
	for body, where := range map[string]string{
		`{"instances":["a","a"]}`:                            "/instances/1/name",
		`{"instances":["a","renamed"]}`:                      "/instances/1/name",
		`{"instances":[{"id":7,"name":"a"}]}`:                "/instances/0/name",
		`{"instances":["12"]}`:                               "/instances/0/name",
		`{"instances":["a\u0007"]}`:                          "/instances/0/name",
		`{"instances":["` + strings.Repeat("é", 128) + `"]}`: "/instances/0/name",
		`{"instances":[""]}`:                                 "/instances/0",
		`{"instances":[{"capacity":1}]}`:                     "/instances/0",
		`{"instances":[{"id":1},{"id":1,"name":"q"}]}`:       "/instances",
		`{"instances":[{"id":2147483647},"q"]}`:              "/instances/1",
		`{"instances":["a"],"hash":{"function":"kafka","partitions":2,"assignment":["a","q"]}}`: "/hash/assignment/1",
	} {
		e.do("PUT", path, body).fails(unprocessable, "invalid", where)
	}
	got := e.do("PUT", path, `{"instances":["a","b"],"hash":{"function":"kafka","partitions":3,"assignment":["b",3,"a"]}}`)
	if !strings.Contains(string(got.body), `"assignment":[4,3,3]`) {
		t.Errorf("%s", got.body)
	}
}

// TestRenaming: another name under the same id moves nothing, and is told by the next table.
func TestRenaming(t *testing.T) {
	for _, scheme := range []string{"table", "ring", "pkg"} {
		e := newEnv(t)
		e.operator("clicks", `{"scheme":"`+scheme+`","theta_max":"900%","instances":["a","b"]}`)
		rows := func(interval int) string {
			return fmt.Sprintf(`{"interval":%d,"keys":[{"key":"x","cost":1},{"key":"y","cost":1},{"key":"z","cost":1}]}`, interval)
		}
		e.do("POST", "/v1/operators/clicks/plans", rows(1)).want(http.StatusCreated)
		if got := e.named("PATCH", "/v1/operators/clicks", `{"instances":[{"id":0,"name":"new"},"b"]}`); got != "0=new:1 1=b:1" {
			t.Errorf("%s", got)
		}
		p := e.do("POST", "/v1/operators/clicks/plans", rows(2)).want(http.StatusCreated).plan()
		if len(p.Migrations) != 0 || slices.Contains(p.Causes, "hash") || p.Instances[0].Name != "new" ||
			p.Instances[1].Name != "b" {
			t.Errorf("%s: %+v", scheme, p.Instances)
		}
	}
}

// TestRenamedInTheFeed: who follows a table learns of new names with the version that has them.
func TestRenamedInTheFeed(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"theta_max":0,"instances":["a","b"],"hash":{"function":"modulo"},"require_approval":false}`)
	e.named("PATCH", "/v1/operators/clicks", `{"instances":[{"id":0,"name":"new"},"b"]}`)
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[{"key":"x","cost":1},{"key":"y","cost":5},{"key":"q","cost":5}]}`).
		want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)
	var table wire.RoutingTable
	e.do("GET", "/v1/operators/clicks/routing-table?since=0", "").want(http.StatusOK).into(&table)
	if table.Full == nil || !*table.Full || (*table.Instances)[0].Name != "new" {
		t.Errorf("%+v", table)
	}
}

// TestGivenByName: rows of every format, reports, queues, acknowledgements and filters take names.
func TestGivenByName(t *testing.T) {
	e := newEnv(t)
	const config = `{"instances":["a","b"],"theta_max":0,"hash":{"function":"reported"}}`
	e.operator("names", config)
	e.operator("ids", `{"instances":2,"theta_max":0,"hash":{"function":"reported"}}`)
	for media, text := range map[string]string{
		csv: "interval,key,cost,instance,hash_instance\n1,x,3,a,a\n1,y,1,a,\"a\"\n1,z,2,b,b\n",
		"Content-Type: application/x-ndjson": `{"interval":1,"key":"x","cost":3,"instance":"a","hash_instance":"a"}
{"interval":1,"key":"y","cost":1,"instance":"a","hash_instance":0}
{"interval":1,"key":"z","cost":2,"instance":"b","hash_instance":"b"}`,
		"Content-Type: application/json": `{"interval":1,"keys":[{"key":"x","cost":3,"instance":"a","hash_instance":"a"},
{"key":"y","cost":1,"instance":"0","hash_instance":"a"},{"key":"z","cost":2,"instance":1,"hash_instance":"b"}]}`,
		"Content-Type: application/json; charset=utf-8": `{"interval":1,"columns":{"key":["x","y","z"],"cost":[3,1,2],
"instance":["a","a","b"],"hash_instance":["a",0,"b"]}}`,
	} {
		byName := e.do("POST", "/v1/operators/names/plans", text, media).want(http.StatusCreated).plan()
		text = strings.NewReplacer(`"a"`, "0", `"b"`, "1", ",a", ",0", ",b", ",1").Replace(text)
		byID := e.do("POST", "/v1/operators/ids/plans", text, media).want(http.StatusCreated).plan()
		if byName.Theta != byID.Theta || byName.InputHash != byID.InputHash || len(byName.Migrations) != 1 ||
			byName.Migrations[0].To != byID.Migrations[0].To {
			t.Errorf("%s: %+v and %+v", media, byName.Migrations, byID.Migrations)
		}
		e.do("DELETE", "/v1/operators/names", "").want(http.StatusNoContent)
		e.do("DELETE", "/v1/operators/ids", "").want(http.StatusNoContent)
		e.operator("names", config)
		e.operator("ids", `{"instances":2,"theta_max":0,"hash":{"function":"reported"}}`)
	}
	refused := e.do("POST", "/v1/operators/names/plans", "key,cost,instance\nx,1,a\ny,1,aa\n", csv).
		fails(unprocessable, "invalid", "/1/instance")
	if !strings.Contains(string(refused.body), "aa is no instance; a is") {
		t.Errorf("%s", refused.body)
	}
	e.do("POST", "/v1/operators/ids/plans", "key,cost,instance\nx,1,a\n", csv).
		fails(unprocessable, "invalid", "/0/instance")
}

// TestReportsByName: an instance reports, and acknowledges, by its name.
func TestReportsByName(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":["a 1","b"],"theta_max":0,"hash":{"function":"modulo"},"require_approval":false}`)
	put := func(instance, body string) *answer {
		return e.do("PUT", "/v1/operators/clicks/intervals/1/reports/"+instance, body)
	}
	rows := `{"keys":[{"key":"x","cost":1,"state":2},{"key":"y","cost":5,"state":2},{"key":"q","cost":5,"state":1}]}`
	put("a%201", rows).want(http.StatusCreated)
	put("b", `{"coverage":"partial","residual":[{"instance":"b","cost":1,"keys":1}],"keys":[]}`).want(http.StatusCreated)
	put("b", `{"coverage":"partial","residual":[{"instance":"a 1","cost":1,"keys":1}],"keys":[]}`).
		fails(unprocessable, "invalid", "/residual/0/instance")
	put("b", `{"coverage":"partial","residual":[{"instance":"q","cost":1,"keys":1}],"keys":[]}`).
		fails(unprocessable, "invalid", "/residual/0/instance")
	put("b", `{"keys":[{"key":"w","cost":1,"state":1,"instance":"b"}]}`).want(http.StatusOK)
	put("c", `{"keys":[]}`).fails(unprocessable, "invalid", "?instance")
	put("7", `{"keys":[]}`).fails(unprocessable, "invalid", "?instance")
	e.do("PUT", "/v1/operators/clicks/intervals/2/reports/b?coverage=partial&residual=b:1:0:1",
		"key,cost,state\nw,1,1\n", csv).
		want(http.StatusCreated)
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1}`).want(http.StatusCreated).plan()
	if len(p.Migrations) == 0 {
		t.Fatalf("%+v", p)
	}
	moved := int(p.Migrations[0].From)
	from := []string{"a%201", "b"}[moved]
	var list wire.MigrationList
	e.do("GET", "/v1/plans/"+p.Id+"/migrations?from="+from, "").want(http.StatusOK).into(&list)
	if len(list.Migrations) != len(p.Migrations) {
		t.Errorf("%d migrations from %s", len(list.Migrations), from)
	}
	e.do("GET", "/v1/plans/"+p.Id+"/migrations?to="+from, "").want(http.StatusOK).into(&list)
	if len(list.Migrations) != 0 {
		t.Errorf("%d migrations to %s", len(list.Migrations), from)
	}
	e.do("GET", "/v1/plans/"+p.Id+"/routing-table?instance=bb", "").fails(unprocessable, "invalid", "?instance")
	e.do("GET", "/v1/operators/clicks/route?key=x&instance=b", "")
	e.do("GET", "/v1/operators/clicks/route?key=x&instance=none", "").fails(unprocessable, "invalid", "?instance")
	e.do("POST", "/v1/plans/"+p.Id+"/start", `{"executor":"x"}`).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+p.Id+"/acks", `{"instances":["b","bb"]}`).fails(unprocessable, "invalid", "/instances/1")
	acked := e.do("POST", "/v1/plans/"+p.Id+"/acks", `{"instances":["b","a 1"]}`).want(http.StatusOK).plan()
	if acked.Status != wire.PlanStatusCommitted {
		t.Errorf("%s", acked.Status)
	}
	var table wire.RoutingTable
	e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).into(&table)
	if all := *table.Instances; all[0].Name != "a 1" || all[1].Name != "b" {
		t.Errorf("%+v", all)
	}
}

// TestNamesWithoutOperator: where nothing is stored, ids come by the order of names.
func TestNamesWithoutOperator(t *testing.T) {
	e := newEnv(t)
	whatIf := func(path, body string, headers ...string) (r wire.WhatIfResults) {
		t.Helper()
		e.do("POST", path, body, headers...).want(http.StatusOK).into(&r)
		return r
	}
	const rows = `"keys":[{"key":"x","cost":3,"instance":"b","hash_instance":"b"},{"key":"y","cost":1,"instance":"b","hash_instance":1}]`
	for _, r := range []wire.WhatIfResults{
		whatIf("/v1/what-if", `{`+rows+`,"operator":{"instances":["a","b"],"theta_max":0}}`),
		whatIf("/v1/what-if?instances=a,b:1&hash_function=reported",
			"key,cost,instance,hash_instance\nx,3,b,b\ny,1,b,1\n", csv),
	} {
		if got := r.Results[0].Instances; len(got) != 2 || got[1].Name != "b" || got[1].LoadBefore != 4 ||
			got[0].LoadBefore != 0 {
			t.Errorf("%+v", got)
		}
	}
	e.do("POST", "/v1/what-if", `{`+rows+`,"operator":{"instances":["a","c"]}}`).fails(unprocessable, "invalid", "/keys/0/instance")
	e.do("POST", "/v1/what-if", `{"keys":[{"key":"x","cost":1}],"routing_table":[{"key":"x","instance":"b"}],
		"operator":{"instances":["a","b"],"hash":{"function":"modulo"}}}`).want(http.StatusOK)
}

// TestQueuesByName: queues are those of instances by name.
func TestQueuesByName(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"scheme":"ring","instances":["a","b"],"ring":{"method":"halving","tau":0.2}}`)
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"queues":[{"instance":"a","length":1},{"instance":"c","length":50}]}`).
		fails(unprocessable, "invalid", "/queues/1/instance")
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"queues":[{"instance":"a","length":1},{"instance":"b","length":50}]}`).
		want(http.StatusCreated).plan()
	if p.Instances[1].LoadBefore != 50 {
		t.Errorf("%+v", p.Instances)
	}
}

// TestNamesInCSV: lists in CSV tell names, also of an instance that is gone, and quote them; those for
// programs tell ids.
func TestNamesInCSV(t *testing.T) {
	e := newEnv(t)
	e.do("PUT", "/v1/operators/clicks", `{"instances":["a,b","c"],"theta_max":0,"hash":{"function":"reported"}}`).
		want(http.StatusCreated)
	row := `{"key":%q,"cost":1,"state":1,"instance":%q,"hash_instance":"c"}`
	rows := func(interval int, k string) string {
		return fmt.Sprintf(`{"interval":%d,"keys":[`+row+","+row+"]}", interval, "k", k, "l", "c")
	}
	p := e.do("POST", "/v1/operators/clicks/plans", rows(1, "c")).want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	e.do("PATCH", "/v1/operators/clicks", `{"instances":["c"]}`).want(http.StatusOK)
	drained := e.do("POST", "/v1/operators/clicks/plans", rows(2, "a,b")).want(http.StatusCreated).plan()
	for target, want := range map[string]string{
		"/v1/plans/" + p.Id + "/migrations":       ",c,\"a,b\",",
		"/v1/plans/" + p.Id + "/routing-table":    ",\"a,b\",",
		"/v1/operators/clicks/routing-table":      ",\"a,b\",",
		"/v1/plans/" + drained.Id + "/migrations": ",\"a,b\",c,",
	} {
		a := e.do("GET", target, "", "Accept: text/csv").want(http.StatusOK)
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s; want %s", target, a.body, want)
		}
		if a := e.do("GET", target, "", "Accept: application/x-ndjson"); strings.Contains(string(a.body), "a,b") {
			t.Errorf("%s: %s", target, a.body)
		}
	}
}

package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRefusalsSayWhatToDo: a refusal names the line as an editor counts it, the value
// that is there, the name that may have been meant, and the range in words.
func TestRefusalsSayWhatToDo(t *testing.T) {
	e, _ := prepared(t)
	const whatIf, plans = "/v1/what-if?instances=2", "/v1/operators/clicks/plans?interval=2"
	for name, c := range map[string]struct {
		target, body, header, want string
	}{
		"cells": {whatIf, "key,cost\na,1\nb,x\nc,-1\n,2\n", csv,
			"/1/cost, line 3: \"x\" is not a number; it must be ≥ 0 and finite\n" +
				"/2/cost, line 4: must be ≥ 0 and finite, not -1\n/3/key, line 5: is required\n"},
		"duplicate": {plans, "key,cost\na,1\nb,1\na,1\n", csv,
			"/2/key, line 4: is in line 2 already; each key has one row\n"},
		"broken line": {plans, "key,cost\na,1\nb\n", csv, "/1, line 3: fewer than 2 cells at byte 14\n"},
		"mistyped": {whatIf, "key,csot\na,1\n", csv,
			"/csot, line 1: unknown column; cost is known\n/cost, line 1: column is required, or frequency in its place\n"},
		"mistyped field": {plans, `{"key":"a","cost":1,"sate":1}`, ndjson,
			"/0/sate, line 1: unknown field; state is known\n"},
		"mistyped list": {"/v1/operators/clicks/plans", `{"interval":2,"columns":{"key":[],"cst":[]}}`, "",
			"/columns/cst: unknown field; cost is known\n/columns/cost: is required, or frequency in its place\n"},
		"far off": {plans, "key,cost,colour\na,1,red\n", csv, "/colour, line 1: unknown column\n"},
		"instance": {plans, "key,cost,instance\na,1,0\nb,1,7\n", csv,
			"/1/instance, line 3: 7 is not a known instance\n"},
		"twice": {whatIf + "&theta_max=1&theta_max=2", "key,cost\na,1\n", csv,
			"?theta_max: stands more than once; separate values by commas: theta_max=A,B\n"},
		"twice, one": {plans + "&interval=3", "key,cost\na,1\n", csv, "?interval: stands more than once\n"},
		"parameter": {whatIf + "&strategy=optimal", "key,cost\na,1\n", csv,
			"?strategy: is not a parameter of this operation; strategies is\n"},
		"no instances": {"/v1/what-if?instances=0:1,", "key,cost\na,1\n", csv,
			"?instances: must be a number of instances, or ids or names, comma-separated, as in 0:1,1:2 or " +
				"worker-a,worker-b:2\n"},
		"no capacity": {"/v1/what-if?instances=0:1,1:1e", "key,cost\na,1\n", csv,
			"?instances: \"1:1e\" is no id:capacity such as 0:1.5\n"},
		"other interval": {plans, "interval,key,cost\n3,a,1\n", csv,
			"/0/interval, line 2: is 3, but the request is about interval 2\n"},
		"intervals": {whatIf, "interval,key,cost\n3,a,1\n4,a,1\n", csv,
			"/1/interval, line 3: is 4, but 3 in the rows before: a body holds one interval\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var p struct {
				Errors []struct {
					Pointer, Parameter, Detail string
					Line                       int
				}
			}
			e := &env{TB: t, handler: e.handler}
			var headers []string
			if c.header != "" {
				headers = []string{c.header}
			}
			a := e.do("POST", c.target, c.body, headers...)
			a.into(&p)
			var got strings.Builder
			for _, one := range p.Errors {
				where := one.Pointer
				if one.Parameter != "" {
					where = "?" + one.Parameter
				}
				if one.Line > 0 {
					where += fmt.Sprintf(", line %d", one.Line)
				}
				fmt.Fprintf(&got, "%s: %s\n", where, one.Detail)
			}
			if got.String() != c.want {
				t.Errorf("%d %s\nwant\n%s", a.status, &got, c.want)
			}
		})
	}
	p := e.do("GET", "/v1/operators/clicks/routing-table?since=0&wait=1h", "").
		fails(http.StatusUnprocessableEntity, "invalid", "?wait").problem()
	if p.Errors[0].Detail != "must be a time such as 500ms or 30s, at most 60s" {
		t.Errorf("%+v", p.Errors)
	}
}

// TestRowsNameTheirInterval: a file of one interval, as "plannerd generate" writes it,
// can be sent as it is.
func TestRowsNameTheirInterval(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	e.operator("reported", `{"instances":2}`)
	const rows = "interval,key,cost,state_bytes\n7,a,1,10\n7,b,2,20\n"
	var out struct{ Interval int64 }
	e.do("POST", "/v1/what-if?instances=2", rows, csv).want(http.StatusOK).into(&out)
	if out.Interval != 7 {
		t.Errorf("a what-if about interval %d", out.Interval)
	}
	p := e.do("POST", "/v1/operators/clicks/plans", rows, csv).want(http.StatusCreated).plan()
	if p.Interval != 7 {
		t.Errorf("a plan of interval %d", p.Interval)
	}
	e.do("POST", "/v1/operators/clicks/plans?interval=7", `{"key":"b","cost":2,"state":20,"interval":7}
{"key":"a","cost":1,"state":10,"interval":7}`, ndjson).want(http.StatusOK)
	const report = "/v1/operators/reported/intervals/"
	e.do("PUT", report+"7/reports/0", rows, csv).want(http.StatusCreated)
	e.do("PUT", report+"8/reports/0", rows, csv).fails(http.StatusUnprocessableEntity, "invalid", "?interval")
}

// TestWhatIfQuery: what JSON says of capacities and of null, a query can say, too.
func TestWhatIfQuery(t *testing.T) {
	e := newEnv(t)
	const rows = "key,cost,hash_instance\na,6,0\nb,3,0\nc,3,1\n"
	var out whatIfAnswer
	e.do("POST", "/v1/what-if?instances=0:1,1:2.5&table_limit=5,null&theta_max=0", rows, csv).
		want(http.StatusOK).into(&out)
	if len(out.Results) != 2 {
		t.Fatalf("%d results", len(out.Results))
	}
	for i, limited := range []bool{true, false} {
		if (out.Results[i].Parameters.TableLimit != nil) != limited {
			t.Errorf("result %d: table limit %v", i, out.Results[i].Parameters.TableLimit)
		}
	}
	if in := out.Results[0].Instances; len(in) != 2 || in[0].Capacity != 1 || in[1].Capacity != 2.5 {
		t.Errorf("%+v", in)
	}
	e.do("POST",
		"/v1/what-if?instances=2&strategies=optimal&objective=min_imbalance&migration_limit=keys:1,fraction:0.5",
		rows, csv).want(http.StatusOK)
	e.do("POST", "/v1/what-if?instances=02&strategies=optimal&migration_limit=null", rows, csv).want(http.StatusOK)
	e.do("POST", "/v1/what-if?instances=0", rows, csv).fails(http.StatusUnprocessableEntity, "invalid", "?instances")
	e.do("POST", "/v1/what-if?instances=99999999999", rows, csv).fails(http.StatusUnprocessableEntity, "invalid",
		"?instances")
	e.do("POST", "/v1/what-if?instances=0:1,0:2", rows, csv).fails(http.StatusUnprocessableEntity, "invalid",
		"?instances")
	e.do("POST", "/v1/what-if?instances=0:0,1:2", rows, csv).fails(http.StatusUnprocessableEntity, "invalid",
		"?instances")
}

// TestWhatIfLines: the results as NDJSON are those of JSON, and as CSV a table whose
// parameters can be asked for again.
func TestWhatIfLines(t *testing.T) {
	e := newEnv(t)
	const rows = "key,cost,state,hash_instance\na,6,10,0\nb,3,20,0\nc,3,30,1\n"
	const query = "/v1/what-if?instances=2&theta_max=0,0.5&table_limit=0,null&strategies=optimal,lpt"
	accept := func(media, more string) string {
		a := e.do("POST", query+more, rows, csv, "Accept: "+media).want(http.StatusOK)
		if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, media) {
			t.Errorf("%s is answered with %s", media, got)
		}
		return string(a.body)
	}
	whole := accept("application/json", "&plans=true")
	_, list, _ := strings.Cut(whole, `"results":[`)
	lines := strings.TrimSuffix(accept("application/x-ndjson", "&plans=true"), "\n")
	timing := regexp.MustCompile(`"timing":{[^}]*}`)
	if got, want := timing.ReplaceAllString(strings.ReplaceAll(lines, "\n", ","), ""),
		timing.ReplaceAllString(strings.TrimSuffix(strings.TrimSpace(list), "]}"), ""); got != want {
		t.Errorf("lines\n%s\nresults\n%s", got, want)
	}
	table := strings.Split(strings.TrimSuffix(accept("text/csv", ""), "\n"), "\n")
	if len(table) != 1+8 {
		t.Fatalf("%q", table)
	}
	var out whatIfAnswer
	e.do("POST", query, rows, csv).want(http.StatusOK).into(&out)
	names := strings.Split(table[0], ",")
	for i, line := range table[1:] {
		cells, r := strings.Split(line, ","), out.Results[i]
		cell := func(name string) string { return cells[slices.Index(names, name)] }
		limit := "none"
		if r.Parameters.TableLimit != nil {
			limit = fmt.Sprint(*r.Parameters.TableLimit)
		}
		for name, want := range map[string]any{
			"strategy": r.Strategy, "theta_max": r.Parameters.ThetaMax, "table_limit": limit, "sigma": "auto",
			"pareto": r.Pareto, "balanced": r.Balanced, "theta_after": r.Theta.After, "migrated_state": r.Migration.State,
			"table_size_after": r.RoutingTable.SizeAfter,
		} {
			if got := cell(name); got != fmt.Sprint(want) {
				t.Errorf("%s of result %d is %s, want %v", name, i, got, want)
			}
		}
	}
	e.do("POST", query+"&plans=true", rows, csv, "Accept: text/csv").fails(unprocessable, "invalid", "?plans")
	e.do("POST", "/v1/what-if", `{"operator":{"instances":2},"keys":[],"plans":true}`, "Accept: text/csv").
		fails(unprocessable, "invalid", "/plans")
	e.do("POST", query, rows, csv, "Accept: text/html").fails(http.StatusNotAcceptable, "not_acceptable", "")
	binary := e.do("POST", "/v1/what-if?instances=2&hash_function=reported&key_encoding=base64&plans=true",
		"key,cost,hash_instance\n/w==,3,0\nYQ==,3,0\n", csv, "Accept: application/x-ndjson").want(http.StatusOK)
	if binary.header.Get("Plannerd-Key-Encoding") != "base64" {
		t.Errorf("%v", binary.header)
	}
}

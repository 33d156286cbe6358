package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"

	"plannerd"
	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// Whoever asks for the strategies and the parameters gets those that plan.
func TestListStrategies(t *testing.T) {
	e := newEnv(t)
	var got wire.StrategyList
	if err := json.Unmarshal(e.do("GET", "/v1/strategies", "").want(http.StatusOK).body, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Strategies) != len(planner.Strategies()) || len(got.Parameters) != len(parameters.All()) ||
		got.MostTrials != parameters.MostTrials {
		t.Fatalf("%d strategies, %d parameters, %d trials", len(got.Strategies), len(got.Parameters), got.MostTrials)
	}
	for _, s := range got.Strategies {
		body := `{"operator":{"instances":2},"keys":[{"key":"a","cost":1}],"strategies":["` + string(s.Name) + `"],` +
			`"parameters":{"objective":["min_migration","min_imbalance"],"migration_limit":{"fraction":0.5}}}`
		status := e.do("POST", "/v1/what-if", body).status
		if knows := slices.Contains(s.Objectives, wire.ObjectiveMinImbalance); knows != (status == http.StatusOK) {
			t.Errorf("%s knows min_imbalance: %v, but a what-if answers %d", s.Name, knows, status)
		}
	}
	for _, p := range got.Parameters {
		if (p.Default == nil) != (p.None != nil) || len(p.Schemes) == 0 || p.Range == "" {
			t.Errorf("%s is %+v", p.Name, p)
		}
	}
	e.do("GET", "/v1/strategies", "", "Accept: text/csv").want(http.StatusNotAcceptable)
	e.do("GET", "/v1/strategies?name=mixed", "").want(http.StatusUnprocessableEntity)
}

// The contract's configuration of an operator has the parameters of the list, with their
// bounds, words and defaults, and so has the grid of a what-if.
func TestContractHasTheParameters(t *testing.T) {
	contract, err := openapi3.NewLoader().LoadFromData(plannerd.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	schema := func(name string) *openapi3.Schema { return contract.Components.Schemas[name].Value }
	for _, p := range parameters.All() {
		s, part := schema("OperatorConfiguration"), ""
		for part = range strings.SplitSeq(p.Name, "/") {
			next := s.Properties[part]
			if next == nil {
				t.Fatalf("%s is not in the contract", p.Name)
			}
			s = next.Value
		}
		if s.Default != nil && s.Default != p.Default && s.Default != number(p.Default) {
			t.Errorf("%s defaults to %v, in the contract to %v", p.Name, p.Default, s.Default)
		}
		if len(s.AllOf) > 0 {
			s = s.AllOf[0].Value
		}
		bounded := p.Type == parameters.Number || p.Type == parameters.Integer
		if bounded && (s.Min == nil || *s.Min != p.Minimum || s.Max == nil || *s.Max != p.Maximum) {
			t.Errorf("%s is from %v to %v, in the contract from %v to %v", p.Name, p.Minimum, p.Maximum, s.Min, s.Max)
		}
		if p.Type == parameters.Choice && len(s.Enum) != len(p.Choices) || s.Nullable != (p.None != "") {
			t.Errorf("%s has the words %v and %q for null, in the contract %v, null %v", p.Name, p.Words(), p.None,
				s.Enum, s.Nullable)
		}
		if p.Grid != "" && schema("WhatIfGrid").Properties[p.Grid] == nil {
			t.Errorf("%s is not in the grid of the contract", p.Grid)
		}
	}
}

// The effort is planned with and answered with, that of an operator as well as those of a
// what-if; by default it is normal.
func TestEffort(t *testing.T) {
	e := newEnv(t)
	e.do("PUT", "/v1/operators/clicks", `{"instances":2,"strategy":"optimal","effort":"thorough"}`).
		want(http.StatusCreated)
	e.do("PUT", "/v1/operators/plain", `{"instances":2,"strategy":"optimal"}`).want(http.StatusCreated)
	const rows = `"keys":[{"key":"a","cost":5},{"key":"b","cost":3},{"key":"c","cost":2}]`
	for operator, effort := range map[string]string{"clicks": `"effort":"thorough"`, "plain": `"effort":"fast"`} {
		for _, a := range []*answer{
			e.do("GET", "/v1/operators/"+operator, ""),
			e.do("POST", "/v1/operators/"+operator+"/plans", `{"interval":1,`+rows+`}`),
		} {
			if !strings.Contains(string(a.body), effort) {
				t.Errorf("%s without %s", a.body, effort)
			}
		}
	}
	body := string(e.do("POST", "/v1/what-if", `{"operator":{"instances":2},"strategies":["optimal"],
		"parameters":{"effort":["fast","thorough"]},`+rows+`}`).want(http.StatusOK).body)
	if !strings.Contains(body, `"effort":"fast"`) || !strings.Contains(body, `"effort":"thorough"`) {
		t.Error(body)
	}
	e.do("PUT", "/v1/operators/slow", `{"instances":2,"effort":"slow"}`).want(http.StatusUnprocessableEntity)
}

// number is a value as the contract's reader has numbers.
func number(value any) any {
	if n, ok := value.(int64); ok {
		return float64(n)
	}
	return value
}

// A parameter that the first release did not have is read, planned with and answered with
// where it is not at its default, and refused where nothing knows it.
func TestSigma(t *testing.T) {
	e := newEnv(t)
	e.do("PUT", "/v1/operators/sigma", `{"instances":2,"strategy":"readj","sigma":0.5,"theta_max":0}`).
		want(http.StatusCreated)
	if body := string(e.do("GET", "/v1/operators/sigma", "").want(http.StatusOK).body); !strings.Contains(body,
		`"sigma":0.5`) {
		t.Error(body)
	}
	e.do("PUT", "/v1/operators/auto", `{"instances":2,"sigma":null}`).want(http.StatusCreated)
	if body := string(e.do("GET", "/v1/operators/auto", "").want(http.StatusOK).body); strings.Contains(body, "sigma") {
		t.Error(body)
	}
	rows := "key,cost,instance\na,5,0\nb,3,0\nc,2,0\nd,1,0\n"
	for query, status := range map[string]int{
		"sigma=auto,0,0.5": http.StatusOK, "sigma=none": http.StatusUnprocessableEntity,
		"sigma=-1":           http.StatusUnprocessableEntity,
		"table_limit=none,3": http.StatusOK, "table_limit=some": http.StatusUnprocessableEntity,
	} {
		e.do("POST", "/v1/what-if?instances=2&strategies=readj&"+query, rows, "Content-Type: text/csv").want(status)
	}
	for body, words := range map[string]string{
		`{"instances":2,"scheme":"ring","sigma":1}`:                "means nothing under the scheme ring",
		`{"instances":2,"sigmas":1}`:                               "is not a known field; sigma is",
		`{"instances":2,"theta-max":1}`:                            "is not a known field; theta_max is",
		`{"instances":2,"deadline":"soon"}`:                        "must be a time such as 500ms or 1m30s",
		`{"instances":2,"priority":1}`:                             `is not a known field"`,
		`{"instances":2,"compact":{"degree":3}}`:                   "must be a power of two",
		`{"instances":2,"objective":"min_imbalance"}`:              "is needed with objective min_imbalance",
		`{"instances":2,"scheme":"ranges","ring":{}}`:              "means nothing under the scheme ranges",
		`{"instances":2,"scheme":"ranges","compact":{"degree":1}}`: "means nothing under the scheme ranges",
	} {
		if got := string(e.do("PUT", "/v1/operators/refused", body).want(http.StatusUnprocessableEntity).
			body); !strings.Contains(got, words) {
			t.Errorf("%s: %s, want %q", body, got, words)
		}
	}
	if got := string(e.do("GET", "/v1/operators?pagesize=1", "").want(http.StatusUnprocessableEntity).
		body); !strings.Contains(got, "; page_size is") {
		t.Error(got)
	}
}

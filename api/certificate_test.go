package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api"
	"plannerd/sdk/go/wire"
)

// proven is what an answer says about its certificate and its parameters.
type proven struct {
	ID, Status, Strategy, EndReason string
	ConfigVersion, WorkUnits        int64
	Causes                          []string
	Certificate                     jsontext.Value
	Parameters                      jsontext.Value
	RoutingTable                    wire.TableDiff
}

func (a *answer) proven() proven {
	a.Helper()
	var p proven
	a.into(&p)
	return p
}

const skewed = `"keys":[{"key":"a","cost":1},{"key":"b","cost":2},{"key":"c","cost":4},{"key":"d","cost":4}]}`

// TestParametersOfPlans: the parameters of an operator are stored with it and
// with its plans, in one spelling.
func TestParametersOfPlans(t *testing.T) {
	e := newEnv(t)
	e.operator("plain", `{"instances":2}`)
	const defaults = `{"theta_max":0.08,"table_limit":null,"beta":1.5,"key_overhead":0,"certificate":"fast","effort":"fast","objective":"min_migration","work_budget":0,"migration_limit":null,"deadline":null,"compact":{"degree":0,"cost_scale":null,"state_scale":null},"splitting":{"max_parts":1,"merge_cost":0}}`
	if p := e.do("POST", "/v1/operators/plain/plans", `{"interval":1,`+skewed).want(http.StatusCreated).
		proven(); string(p.Parameters) != defaults {
		t.Errorf("parameters %s, want %s", p.Parameters, defaults)
	}
	config := func(deadline, limit string) string {
		return `{"instances":2,"theta_max":0,"strategy":"optimal","certificate":"tight","effort":"thorough","objective":"min_imbalance","migration_limit":{"fraction":` + limit +
			`},"work_budget":5000,"deadline":"` + deadline + `"}`
	}
	e.operator("full", config("0.5s", "0.25"))
	again := e.do("PUT", "/v1/operators/full", config("500ms", "25e-2")).want(http.StatusOK).proven()
	if again.ConfigVersion != 1 {
		t.Errorf("the same configuration in another spelling is version %d", again.ConfigVersion)
	}
	const want = `{"theta_max":0,"table_limit":null,"beta":1.5,"key_overhead":0,"certificate":"tight","effort":"thorough","objective":"min_imbalance","work_budget":5000,"migration_limit":{"fraction":0.25},"deadline":"500ms","compact":{"degree":0,"cost_scale":null,"state_scale":null},"splitting":{"max_parts":1,"merge_cost":0}}`
	p := e.do("POST", "/v1/operators/full/plans", `{"interval":1,`+skewed).want(http.StatusCreated).proven()
	read := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK).proven()
	if string(p.Parameters) != want || string(read.Parameters) != want {
		t.Errorf("parameters %s and %s, want %s", p.Parameters, read.Parameters, want)
	}
	// Each of them makes another configuration, hence another plan.
	for version, config := range []string{
		config("501ms", "0.25"), config("500ms", "0.26"), strings.Replace(config("500ms", "0.26"), "5000", "5001", 1),
		strings.Replace(config("500ms", "0.26"), `"fraction":0.26`, `"keys":1`, 1),
		strings.Replace(config("500ms", "0.26"), "tight", "off", 1),
		strings.Replace(config("500ms", "0.26"), "thorough", "fast", 1),
		`{"instances":2,"theta_max":0,"strategy":"optimal"}`,
	} {
		if got := e.do("PUT", "/v1/operators/full", config).want(http.StatusOK).
			proven(); got.ConfigVersion != int64(version)+2 {
			t.Errorf("%s is version %d, want %d", config, got.ConfigVersion, version+2)
		}
		e.do("POST", "/v1/operators/full/plans", `{"interval":1,`+skewed).fails(http.StatusConflict, "interval_planned", "")
	}
}

// TestCertificates: wherever a plan is shown, its certificate is, unless it was
// turned off.
func TestCertificates(t *testing.T) {
	e := newEnv(t)
	for level, there := range map[string]bool{"off": false, "fast": true, "tight": true} {
		e.operator(level, `{"instances":2,"theta_max":0,"certificate":"`+level+`",`+anySize+`}`)
		made := e.do("POST", "/v1/operators/"+level+"/plans", `{"interval":1,`+skewed).want(http.StatusCreated).proven()
		var list struct{ Plans []proven }
		e.do("GET", "/v1/operators/"+level+"/plans", "").want(http.StatusOK).into(&list)
		for what, got := range map[string]proven{
			"made": made, "read": e.do("GET", "/v1/plans/"+made.ID, "").proven(), "listed": list.Plans[0],
			"committed": e.do("POST", "/v1/plans/"+made.ID+"/commit", stopped).want(http.StatusOK).proven(),
		} {
			if string(got.Certificate) != string(made.Certificate) || (string(got.Certificate) != "null") != there {
				t.Errorf("certificate %s, %s: %s, made with %s", level, what, got.Certificate, made.Certificate)
			}
		}
		// Nothing to do is a plan as well.
		idle := e.do("POST", "/v1/operators/"+level+"/plans", `{"interval":2,"keys":[{"key":"x","cost":0}]}`).
			want(http.StatusCreated).proven()
		if (string(idle.Certificate) != "null") != there {
			t.Errorf("certificate %s, nothing to do: %s", level, idle.Certificate)
		}
	}
}

type trials struct {
	Results []struct {
		Strategy, EndReason string
		Causes              []string
		Certificate         jsontext.Value
		WorkUnits           int64
		Parameters          struct {
			ThetaMax                         float64
			Certificate, Objective, Deadline string
			MigrationLimit                   jsontext.Value
			WorkBudget                       int64
		}
	}
}

func (tr trials) text() string {
	out := ""
	for _, r := range tr.Results {
		p := r.Parameters
		out += fmt.Sprintln(r.Strategy, p.Certificate, p.Objective, string(p.MigrationLimit), p.WorkBudget, p.Deadline)
	}
	return out
}

// TestTrials: which combinations a what-if plans, and in which order, in a body
// and in a query.
func TestTrials(t *testing.T) {
	e := newEnv(t)
	const statistics = `"columns":{"key":["a","b","c"],"cost":[1,2,4]}`
	for _, c := range []struct{ operator, strategies, parameters, query, want string }{
		{
			`{"instances":2}`, `["mixed","optimal"]`,
			`{"objective":["min_migration","min_imbalance"],"migration_limit":[{"fraction":0.1},{"keys":2},{"state":1.5}]}`,
			`strategies=mixed,optimal&objective=min_migration,min_imbalance&migration_limit=fraction:0.1,keys:2,state:15e-1`,
			`mixed fast min_migration null 0 
optimal fast min_migration null 0 
optimal fast min_imbalance {"fraction":0.1} 0 
optimal fast min_imbalance {"keys":2} 0 
optimal fast min_imbalance {"state":1.5} 0 
`,
		}, {
			`{"instances":2}`, `["optimal"]`,
			`{"certificate":["off","tight"],"objective":"min_imbalance","migration_limit":{"keys":0},"work_budget":[70000,0],"deadline":["1m","90s"]}`,
			`strategies=optimal&certificate=off,tight&objective=min_imbalance&migration_limit=keys:0&work_budget=70000,0&deadline=1m,90s`,
			`optimal off min_imbalance {"keys":0} 70000 1m0s
optimal off min_imbalance {"keys":0} 70000 1m30s
optimal off min_imbalance {"keys":0} 0 1m0s
optimal off min_imbalance {"keys":0} 0 1m30s
optimal tight min_imbalance {"keys":0} 70000 1m0s
optimal tight min_imbalance {"keys":0} 70000 1m30s
optimal tight min_imbalance {"keys":0} 0 1m0s
optimal tight min_imbalance {"keys":0} 0 1m30s
`,
		}, {
			// What the grid leaves out is the operator's.
			`{"instances":2,"strategy":"optimal","objective":"min_imbalance","migration_limit":{"keys":3},"certificate":"off","work_budget":9,"deadline":"2s"}`,
			`["optimal"]`, `{"objective":["min_imbalance","min_migration"],"deadline":[null,"1s"]}`, "",
			`optimal off min_imbalance {"keys":3} 9 
optimal off min_imbalance {"keys":3} 9 1s
optimal off min_migration null 9 
optimal off min_migration null 9 1s
`,
		},
	} {
		var got trials
		e.do("POST", "/v1/what-if", `{"operator":`+c.operator+`,"strategies":`+c.strategies+`,"parameters":`+c.parameters+`,`+
			statistics+`}`).want(http.StatusOK).into(&got)
		if got.text() != c.want {
			t.Errorf("%s:\n%swant\n%s", c.parameters, got.text(), c.want)
		}
		if c.query == "" {
			continue
		}
		got = trials{}
		e.do("POST", "/v1/what-if?instances=2&"+c.query, "key,cost\na,1\nb,2\nc,4\n", csv).want(http.StatusOK).into(&got)
		if got.text() != c.want {
			t.Errorf("%s:\n%swant\n%s", c.query, got.text(), c.want)
		}
		for _, r := range got.Results {
			if (string(r.Certificate) == "null") != (r.Parameters.Certificate == "off") {
				t.Errorf("certificate %s: %s", r.Parameters.Certificate, r.Certificate)
			}
		}
	}
}

func TestRefusedParameters(t *testing.T) {
	e, _ := prepared(t, func(c *api.Config) { c.Limits.PlanTime = time.Minute })
	var cases []refusal
	for _, c := range []struct{ members, where string }{
		{`"objective":"min_imbalance"`, "/migration_limit"},
		{`"migration_limit":{"keys":1},"strategy":"optimal"`, "/migration_limit"},
		{`"objective":"min_imbalance","migration_limit":{"keys":1},"strategy":"mixed"`, "/objective"},
		{`"objective":"min_imbalance","migration_limit":{"keys":1},"strategy":"readj"`, "/objective"},
		{`"objective":"max_profit"`, "/objective"},
		{`"certificate":"loose"`, "/certificate"},
		{`"migration_limit":{}`, "/migration_limit"},
		{`"migration_limit":{"keys":1,"state":1}`, "/migration_limit"},
		{`"migration_limit":{"bytes":1}`, "/migration_limit/bytes"},
		{`"migration_limit":{"fraction":1.5}`, "/migration_limit/fraction"},
		{`"migration_limit":{"keys":1.5}`, "/migration_limit/keys"},
		{`"migration_limit":{"state":-1}`, "/migration_limit/state"},
		{`"work_budget":-1`, "/work_budget"},
		{`"work_budget":1e300`, "/work_budget"},
		{`"deadline":"soon"`, "/deadline"},
		{`"deadline":"0s"`, "/deadline"},
		{`"deadline":"0.5ms"`, "/deadline"},
		{`"deadline":"61s"`, "/deadline"},
		{`"deadline":"99999999999h"`, "/deadline"},
		{`"deadline":5`, "/deadline"},
	} {
		config := `{"instances":2,` + c.members + `}`
		cases = append(cases,
			refusal{"put " + c.members, "PUT", "/v1/operators/clicks", config, nil, unprocessable, "invalid", c.where},
			refusal{"what-if " + c.members, "POST", "/v1/what-if", `{"operator":` + config + `,"keys":[{"key":"a","cost":1}]}`,
				nil, unprocessable, "invalid", "/operator" + c.where})
	}
	for _, c := range []struct{ rest, where string }{
		{`"strategies":["mixed"],"parameters":{"objective":"min_imbalance","migration_limit":{"keys":1}}`, "/parameters/objective"},
		{`"strategies":["mixed","llfd"],"parameters":{"objective":["min_migration","min_imbalance"],"migration_limit":{"keys":1}}`, "/parameters/objective"},
		{`"strategies":["mixed","optimal"],"parameters":{"objective":"min_imbalance","migration_limit":{"keys":1}}`,
			"/parameters/objective"},
		{`"strategies":["optimal"],"parameters":{"objective":"min_imbalance"}`, "/parameters/migration_limit"},
		{`"strategies":["optimal"],"parameters":{"objective":"min_imbalance","migration_limit":[{"keys":1},null]}`,
			"/parameters/migration_limit"},
		{`"strategies":["optimal"],"parameters":{"migration_limit":[{"keys":1}]}`, "/parameters/migration_limit"},
		{`"parameters":{"deadline":["1s","2m"]}`, "/parameters/deadline/1"},
		{`"parameters":{"deadline":"2m"}`, "/parameters/deadline"},
		{`"parameters":{"certificate":[]}`, "/parameters/certificate"},
		{`"parameters":{"work_budget":[1,-1]}`, "/parameters/work_budget/1"},
	} {
		cases = append(cases, refusal{c.rest, "POST", "/v1/what-if",
			`{"operator":{"instances":2},"keys":[{"key":"a","cost":1}],` + c.rest + `}`, nil, unprocessable, "invalid", c.where})
	}
	for query, where := range map[string]string{
		"strategies=mixed&objective=min_imbalance&migration_limit=keys:1": "?objective",
		"strategies=optimal&objective=min_imbalance":                      "?migration_limit",
		"strategies=optimal&migration_limit=keys:1":                       "?migration_limit",
		"migration_limit=bytes:1":                                         "?migration_limit",
		"migration_limit=fraction:2":                                      "?migration_limit",
		"migration_limit=fraction:1e-5e":                                  "?migration_limit",
		"migration_limit=state:-1":                                        "?migration_limit",
		"migration_limit=keys:1.5":                                        "?migration_limit",
		"migration_limit=keys:99999999999999999":                          "?migration_limit",
		"certificate=loose":                                               "?certificate",
		"deadline=1s,2m":                                                  "?deadline",
		"deadline=1d":                                                     "?deadline",
		"work_budget=99999999999999999999":                                "?work_budget",
	} {
		cases = append(cases, refusal{query, "POST", "/v1/what-if?instances=2&" + query, "key,cost\na,1\n", []string{csv},
			unprocessable, "invalid", where})
	}
	e.refused(t, cases)
}

// manyKeys are columns of n keys, all on instance 0 of two.
func manyKeys(n int) string {
	var keys, costs []string
	for i := range n {
		keys, costs = append(keys, fmt.Sprintf("%q", fmt.Sprint("key", i))), append(costs, fmt.Sprint(1+i%7))
	}
	zeros := strings.TrimSuffix(strings.Repeat("0,", n), ",")
	return `"columns":{"key":[` + strings.Join(keys, ",") + `],"cost":[` + strings.Join(costs, ",") +
		`],"instance":[` + zeros + `]}`
}

// TestBudgets: a plan that is cut short says so; one that was not complete by
// then changes nothing, and is history.
func TestBudgets(t *testing.T) {
	e := newEnv(t) // its clock goes on by a millisecond whenever it is read
	statistics := manyKeys(9000)
	for _, c := range []struct {
		name, limit, end string
		unfinished       bool
	}{
		{"free", `"strategy":"lpt"`, "completed", false},
		{"budget", `"strategy":"lpt","work_budget":100`, "work_budget", true},
		{"deadline", `"strategy":"lpt","deadline":"1ms"`, "stopped", true},
		{"leisure", `"strategy":"lpt","deadline":"10m"`, "completed", false},
	} {
		e.operator(c.name, `{"instances":2,`+c.limit+`}`)
		p := e.do("POST", "/v1/operators/"+c.name+"/plans", `{"interval":1,`+statistics+`}`).want(http.StatusCreated).proven()
		if p.EndReason != c.end || slices.Contains(p.Causes, "unfinished") != c.unfinished {
			t.Errorf("%s: end reason %s, causes %v", c.name, p.EndReason, p.Causes)
		}
		if c.unfinished && (p.Status != "no_action" || len(p.RoutingTable.Set) > 0 || string(p.Certificate) != "null") {
			t.Errorf("%s: status %s, %d entries set, certificate %s", c.name, p.Status, len(p.RoutingTable.Set), p.Certificate)
		}
		if again := e.do("GET", "/v1/plans/"+p.ID, "").proven(); again.EndReason != c.end {
			t.Errorf("%s: stored with the end reason %s", c.name, again.EndReason)
		}
	}
	// A budget repeats a plan that it cut, and does not bind beyond the work there is.
	body := func(budget string) string {
		return `{"operator":{"instances":2,"table_limit":0,"strategy":"mixed_bf"},` + manyKeys(300) +
			`,"parameters":{"work_budget":[` + budget + `]}}`
	}
	var free, cut trials
	e.do("POST", "/v1/what-if", body("0")).want(http.StatusOK).into(&free)
	units := free.Results[0].WorkUnits
	e.do("POST", "/v1/what-if", body(fmt.Sprintf("%d,%d", units, units-1))).want(http.StatusOK).into(&cut)
	if enough, short := cut.Results[0], cut.Results[1]; enough.EndReason != "completed" ||
		short.EndReason != "work_budget" || slices.Contains(short.Causes, "unfinished") {
		t.Errorf("of %d units: %+v, %+v", units, enough, short)
	}
}

// TestUnfinishedRescale: a plan that was not complete in time is no plan to
// commit, though the instances changed.
func TestUnfinishedRescale(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"strategy":"lpt","work_budget":1}`).want(http.StatusOK)
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,`+skewed).want(http.StatusCreated).proven()
	if p.Status != "no_action" || p.EndReason != "work_budget" || len(p.RoutingTable.Set)+len(p.RoutingTable.Unset) > 0 {
		t.Errorf("%+v", p)
	}
	var op struct{ TableConfigVersion int64 }
	e.do("GET", "/v1/operators/clicks", "").into(&op)
	if op.TableConfigVersion != 1 {
		t.Errorf("the table pins configuration %d", op.TableConfigVersion)
	}
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"strategy":"lpt"}`).want(http.StatusOK)
	p = e.do("POST", "/v1/operators/clicks/plans", `{"interval":2,`+skewed).want(http.StatusCreated).proven()
	if p.Status != "approved" {
		t.Errorf("with all the time it needs: %+v", p)
	}
}

// TestCertificateText: what is stored is JSON as the contract has it.
func TestCertificateText(t *testing.T) {
	e := newEnv(t)
	e.operator("hot", `{"instances":2,"theta_max":0}`)
	p := e.do("POST", "/v1/operators/hot/plans", `{"interval":1,"keys":[{"key":"a","cost":9},{"key":"b","cost":1}]}`).
		want(http.StatusCreated).proven()
	var c map[string]any
	if err := json.Unmarshal(p.Certificate, &c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lower_bound", "gap", "scope", "infeasible", "unmet"} {
		if _, ok := c[name]; !ok {
			t.Errorf("%s lacks %s", p.Certificate, name)
		}
	}
	if c["scope"] != "keys" {
		t.Errorf("scope %v", c["scope"])
	}
}

package api_test

import (
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

const twoHosts = `"instances":[{"name":"w0","capacity":2,"capacities":{"memory":60}},{"name":"w1","capacities":{"memory":40}}]`

const cpuAndMemory = `"resources":[{"name":"cpu","theta_max":0.2},{"name":"memory","from":"state","limit":true}]`

// TestResourcesOfOperators sets resources and capacities, reads them back, changes them by patches, and
// is refused what contradicts itself.
func TestResourcesOfOperators(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,`+cpuAndMemory+`}`)
	first := e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK)
	var op wire.Operator
	if first.into(&op); op.ThetaMax != 0.2 || len(*op.Resources) != 2 || (*op.Resources)[0].ThetaMax != nil ||
		(*op.Instances[0].Capacities)["memory"] != 60 {
		t.Fatalf("%s", first.body)
	}
	e.do("PUT", "/v1/operators/clicks", string(first.body)).want(http.StatusOK).into(&op)
	if op.ConfigVersion != 1 {
		t.Errorf("what was answered is another configuration: version %d", op.ConfigVersion)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu","theta_max":0.1},{"name":"memory","from":"state","theta_max":"100%"},
		{"name":"connections","limit":true}]}`, mergePatch).
		fails(http.StatusUnprocessableEntity, "invalid", "/instances/0/capacities")
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu","theta_max":"10%"},{"name":"memory","from":"state","limit":true},
		{"name":"keys","from":"count","theta_max":"100%"}]}`, mergePatch).want(http.StatusOK).into(&op)
	if op.ThetaMax != 0.1 || op.ConfigVersion != 2 || len(*op.Resources) != 3 || *(*op.Resources)[2].ThetaMax != 1 {
		t.Errorf("%+v", op)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"theta_max":0.3}`, mergePatch).want(http.StatusOK)
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu","theta_max":"150%"},
		{"name":"memory","from":"state","limit":true}]}`, mergePatch).
		want(http.StatusOK).into(&op)
	if op.ThetaMax != 1.5 {
		t.Errorf("150 %% is read as %v", op.ThetaMax)
	}
	for body, where := range map[string]string{
		`{` + twoHosts + `,` + cpuAndMemory + `,"theta_max":0.3}`:                                           "/resources/0/theta_max",
		`{` + twoHosts + `,"resources":[{"name":"cpu"},{"name":"memoy","theta_max":0}]}`:                    "/instances/0/capacities",
		`{"instances":2,"resources":[{"name":"4pu"}]}`:                                                      "/resources/0/name",
		`{"instances":2,"resources":[{"name":"cpu","theta_max":2}]}`:                                        "/resources/0/theta_max",
		`{"instances":2,"resources":[{"name":"cpu"},{"name":"keys","theta_max":5}]}`:                        "/resources/1/theta_max",
		`{"instances":2,"resources":[]}`:                                                                    "/resources",
		`{"instances":2,"scheme":"ring","resources":[{"name":"cpu"}]}`:                                      "/resources",
		`{"instances":2,"splitting":{"max_parts":2,"routing":"least_loaded"},"resources":[{"name":"cpu"}]}`: "/splitting/routing",
		`{"instances":2,"compact":{"degree":4},"resources":[{"name":"cpu"}]}`:                               "/compact",
		`{"instances":2,"resources":[{"name":"cpu"},{"name":"memory","from":"state","x":1}]}`:               "/resources/1/x",
	} {
		e.do("PUT", "/v1/operators/other", body).fails(http.StatusUnprocessableEntity, "invalid", where)
	}
}

// TestResourcesNeedAmounts is refused statistics that do not tell what keys take of a resource.
func TestResourcesNeedAmounts(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"resources":[{"name":"cpu"},{"name":"network","theta_max":0.5}]}`)
	const plans = "/v1/operators/clicks/plans"
	a := e.do("POST", plans, `{"interval":1,"keys":[{"key":"a","cost":1}]}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/costs")
	if !strings.Contains(string(a.body), "network") {
		t.Errorf("%s", a.body)
	}
	report := func(instance, body string) *answer {
		return e.do("PUT", "/v1/operators/clicks/intervals/1/reports/"+instance, body)
	}
	report("0", `{"keys":[]}`).want(http.StatusCreated) // an instance without keys has nothing to tell
	report("1", `{"keys":[{"key":"a","cost":1}]}`).fails(http.StatusUnprocessableEntity, "invalid", "/costs")
	report("1", `{"compact":{"records":[[1,0,1,1,3]]}}`).fails(http.StatusUnprocessableEntity, "invalid", "/compact")
	report("1", `{"keys":[{"key":"a","cost":1,"costs":{"network":7}}]}`).want(http.StatusCreated)
	var p wire.Plan
	e.do("POST", plans, `{"interval":1}`).want(http.StatusCreated).into(&p)
	if network := (*p.Resources)[1]; network.Instances[1].Load.Before != 7 || network.Instances[0].Load.Before != 0 {
		t.Errorf("%+v", network)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu"}]}`, mergePatch).want(http.StatusOK)
	for _, body := range []string{
		`{"interval":2,"compact":{"records":[[0,0,1,1,3]]}}`, `{"interval":2,"compact":{"degree":2},"keys":[{"key":"a","cost":1}]}`,
	} {
		e.do("POST", plans, body).fails(http.StatusUnprocessableEntity, "invalid", "/compact")
	}
}

// rowsWithState are rows of keys, all of the same cost, with these states.
func rowsWithState(interval int, states ...int) string {
	rows := make([]string, len(states))
	for i, state := range states {
		rows[i] = fmt.Sprintf(`{"key":"k%d","cost":1,"state":%d}`, i, state)
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, interval, strings.Join(rows, ","))
}

// TestPlansUnderResources has memory run out on an instance that has little to do, sees what the plan does
// about it, and what is told where no plan can.
func TestPlansUnderResources(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,"hash":{"function":"modulo"},
		"theta_max":"200%","resources":[{"name":"cpu"},{"name":"memory","from":"state","limit":true}]}`)
	planned := func(interval int, states ...int) (p wire.Plan, memory wire.PlanResource) {
		t.Helper()
		e.do("POST", "/v1/operators/clicks/plans", rowsWithState(interval, states...)).want(http.StatusCreated).into(&p)
		if p.Resources == nil || len(*p.Resources) != 2 || (*p.Resources)[0].Name != "cpu" || p.Decides == nil ||
			*p.Decides != "memory" {
			t.Fatalf("%+v, %v decides", p.Resources, p.Decides)
		}
		return p, (*p.Resources)[1]
	}
	p, memory := planned(1, 30, 3, 30, 3, 5, 3, 3, 3)
	if cpu := (*p.Resources)[0]; cpu.Level != p.Theta || cpu.Limit || *cpu.ThetaMax != 2 || cpu.Worst.Name == nil ||
		cpu.Instances[1].Load != (wire.Comparison{Before: 5, After: 3}) || *cpu.Instances[1].FairLoad > 3 {
		t.Errorf("%+v", cpu)
	}
	if !*p.Balanced || !memory.Balanced || !memory.Limit || *memory.From != "state" || memory.ThetaMax != nil ||
		memory.Level.Before != 71.0/40 ||
		memory.Level.After > 1 || memory.Instances[0].MaxLoad != 60 || memory.Instances[0].FairLoad != nil {
		t.Errorf("%+v", memory)
	}
	again := e.do("GET", "/v1/plans/"+p.Id, "").want(http.StatusOK)
	for _, want := range []string{`"decides":"memory"`, `"resources":[{"name":"cpu",`} {
		if !strings.Contains(string(again.body), want) {
			t.Errorf("%s lacks %s", again.body, want)
		}
	}
	if list := e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK); strings.Contains(string(list.body), `"decides"`) {
		t.Errorf("%s", list.body)
	}

	p, _ = planned(2, 30, 30, 30, 30)
	if u := p.Certificate.Unmet; *p.Balanced || len(u) != 1 || u[0].Constraint != wire.UnmetConstraintCapacity ||
		*u[0].Resource != "memory" || u[0].Limit != 1 || u[0].AtLeast < 1.19 {
		t.Errorf("%+v", p.Certificate)
	}
	for target, balanced := range map[string]bool{
		`[]`: true, `[{"name":"cpu"},{"name":"memory","from":"state","theta_max":"100%"}]`: true,
		`[{"name":"cpu"},{"name":"memory","from":"state","limit":true},{"name":"keys","from":"count","theta_max":"100%"}]`: false,
	} {
		a := e.do("POST", "/v1/plans/"+p.Id+"/replay", `{"resources":`+target+`}`).want(http.StatusOK)
		var tried wire.WhatIfResults
		if a.into(&tried); *tried.Results[0].Balanced != balanced || (tried.Results[0].Resources == nil) != (target == "[]") {
			t.Errorf("on %s: %s", target, a.body)
		}
	}
	e.do("POST", "/v1/plans/"+p.Id+"/replay", `{"resources":[{"name":"cpu"},{"name":"memory","from":"state"}]}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/resources/1")
	e.do("POST", "/v1/plans/"+p.Id+"/replay", `{"resources":[],"propose":true}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/propose")
	if p, _ = planned(3, 70, 3, 3, 3); len(p.HotKeys) != 1 || *p.HotKeys[0].Resource != "memory" ||
		p.HotKeys[0].Cost != 70 || p.HotKeys[0].ForcedTheta != 70.0/60 || p.Status != "approved" {
		t.Errorf("%s: %+v", p.Status, p.HotKeys)
	}
}

// TestWhatIfUnderResources tries strategies on statistics, and other numbers of instances: added ones
// have as much of each resource as the last one.
func TestWhatIfUnderResources(t *testing.T) {
	e := newEnv(t)
	a := e.do("POST", "/v1/what-if", `{"operator":{`+twoHosts+`,`+cpuAndMemory+`},"parameters":{"instances":[2,3]},
		"strategies":["mixed","optimal"],`+strings.TrimPrefix(rowsWithState(1, 30, 30, 30, 20), "{")).want(http.StatusOK)
	var tried wire.WhatIfResults
	a.into(&tried)
	for _, r := range tried.Results {
		memory := (*r.Resources)[1]
		if n := len(r.Instances); memory.Name != "memory" || n == 3 && memory.Instances[2].MaxLoad != 40 ||
			memory.Balanced != (n == 3) {
			t.Errorf("%s on %d instances: %+v", r.Strategy, n, memory)
		}
	}
	if len(tried.Results) != 4 {
		t.Errorf("%s", a.body)
	}
}

// TestPoliciesUnderResources: a policy that holds plans back for lack of overload in cost does not where
// memory runs out.
func TestPoliciesUnderResources(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,`+cpuAndMemory+`,"hash":{"function":"modulo"},"policy":{"forecast":{"method":"ewma"},
		"trigger":{"probability":0.9,"theta":3},"cooldown_intervals":50,"minimum_benefit":5}}`)
	for i, states := range [][]int{{30, 3, 30, 3, 5, 3, 3, 3}, {3, 30, 3, 30, 3, 5}} {
		var p wire.Plan
		e.do("POST", "/v1/operators/clicks/plans", rowsWithState(i, states...)).want(http.StatusCreated).into(&p)
		memory := (*p.Resources)[1]
		if p.Status != "approved" || memory.Level.Before <= 1 || !memory.Balanced || len(p.Migrations) == 0 {
			t.Errorf("interval %d is %s: %v, %+v", i, p.Status, p.Causes, memory.Level)
		}
		e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	}
}

// TestRulesUnderResources: a rule that has an instance take more memory than it has is named.
func TestRulesUnderResources(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,"hash":{"function":"modulo"},"theta_max":"900%",
		"resources":[{"name":"cpu"},{"name":"memory","from":"state","limit":true}],
		"placement":{"rules":[{"name":"tenant","keys":{"prefix":"t/"},"on":{"instances":["w1"]}}]}}`)
	var p wire.Plan
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[{"key":"t/1","cost":1,"state":30},
		{"key":"t/2","cost":1,"state":30},{"key":"k","cost":1,"state":1}]}`).want(http.StatusCreated).into(&p)
	for _, u := range p.Certificate.Unmet {
		if u.Constraint == wire.UnmetConstraintPlacement {
			if *u.Rule != "tenant" || *u.Resource != "memory" || u.Limit != 1 || u.AtLeast < 1.49 || *u.Without > 1 {
				t.Errorf("%+v", u)
			}
			return
		}
	}
	t.Errorf("no rule is named: %+v", p.Certificate.Unmet)
}

// TestSplitUnderResources divides a key that is too large in a resource beside cost, and counts what its parts take.
func TestSplitUnderResources(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":[{"name":"w0","capacities":{"network":40,"memory":60}},
		{"name":"w1","capacities":{"network":40,"memory":60}}],"theta_max":"200%","splitting":{"max_parts":2},
		"resources":[{"name":"cpu"},{"name":"network","limit":true},{"name":"memory","from":"state","limit":true},
			{"name":"keys","from":"count","theta_max":"100%"}],"policy":{"forecast":{"method":"last"}}}`)
	planned := func(interval int, state string) (p wire.Plan, network, memory, keys wire.PlanResource) {
		t.Helper()
		e.do("POST", "/v1/operators/clicks/plans", fmt.Sprintf(`{"interval":%d,"keys":[
			{"key":"hot","cost":2,"state":%s,"costs":{"network":60}},{"key":"a","cost":3,"state":5,"costs":{"network":6}},
			{"key":"b","cost":3,"state":5}]}`, interval, state)).want(http.StatusCreated).into(&p)
		return p, (*p.Resources)[1], (*p.Resources)[2], (*p.Resources)[3]
	}
	sum := func(x wire.PlanResource) float64 { return x.Instances[0].Load.After + x.Instances[1].Load.After }
	p, network, memory, keys := planned(1, "25")
	if !*p.Balanced || p.Splits == nil || len(p.Splits) != 1 || p.Splits[0].Key != "hot" ||
		p.Splits[0].Cause != wire.SplitKeyCauseHotKey || len(p.HotKeys) > 0 {
		t.Fatalf("%+v %+v", p.Splits, p)
	}
	if network.Level.After > 1 || math.Abs(sum(network)-66) > 1e-9 || sum(memory) != 60 || sum(keys) != 4 ||
		*keys.Instances[0].FairLoad != 1.5 {
		t.Errorf("%+v %+v %+v", network, memory, keys)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)

	for d, state := range []int{12, 13} { // the instances report their parts, which add up
		e.do("PUT", fmt.Sprintf("/v1/operators/clicks/intervals/2/reports/%d", d), fmt.Sprintf(
			`{"keys":[{"key":"hot","cost":1,"state":%d,"costs":{"network":30}}]}`, state)).want(http.StatusCreated)
	}
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":2}`).want(http.StatusCreated).into(&p)
	if network, memory := (*p.Resources)[1], (*p.Resources)[2]; !*p.Balanced || sum(network) != 60 || sum(memory) != 50 {
		t.Errorf("%+v %+v", network, memory)
	}

	p, _, memory, _ = planned(3, "70") // no instance can hold that
	if *p.Balanced || memory.Balanced || len(p.HotKeys) != 1 || *p.HotKeys[0].Resource != "memory" ||
		p.HotKeys[0].ForcedTheta < 70.0/60 || *p.Certificate.LowerBound != 0 {
		t.Errorf("%+v %+v %+v", memory, p.HotKeys, p.Certificate)
	}
	if u := p.Certificate.Unmet; len(u) != 1 || *u[0].Resource != "memory" || u[0].AtLeast < 70.0/60 {
		t.Errorf("%+v", u)
	}
	replay := `{"strategies":["optimal"],"parameters":{"max_parts":[1,2]}}`
	e.do("POST", "/v1/plans/"+p.Id+"/replay", replay).want(http.StatusOK)
}

// TestResourcesRealised: plans tell what each resource came to and on which instance, beside what had been planned, and
// so do the figures of the operator over its intervals and the metrics.
func TestResourcesRealised(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,"hash":{"function":"modulo"},"policy":{"forecast":{"method":"ewma","alpha":0.5}},
		"theta_max":"200%","resources":[{"name":"cpu"},{"name":"memory","from":"state","limit":true}]}`)
	plan := func(interval int, states ...int) (p wire.Plan) {
		t.Helper()
		e.do("POST", "/v1/operators/clicks/plans", rowsWithState(interval, states...)).want(http.StatusCreated).into(&p)
		if p.Forecast.Realised == nil || p.Forecast.Planned == nil ||
			(*p.Forecast.Planned)[1].Level != (*p.Resources)[1].Level.After {
			t.Fatalf("%+v", p.Forecast)
		}
		return p
	}
	memory := func(levels *[]wire.ResourceLevel, level float64, worst string) {
		t.Helper()
		got := (*levels)[1]
		if got.Name != "memory" || math.Abs(got.Level-level) > 1e-9 || got.Worst == nil || *got.Worst.Name != worst ||
			got.Limit == nil || !*got.Limit || got.ThetaMax != nil {
			t.Errorf("memory came to %+v, want %v on %s", got, level, worst)
		}
	}
	first := plan(1, 30, 3, 30, 3, 5, 3, 3, 3)
	memory(first.Forecast.Realised, 71.0/40, "w1")
	if cpu := (*first.Forecast.Realised)[0]; cpu.Level != first.Theta.Before || *cpu.Worst.Name != "w1" ||
		cpu.Limit != nil || *cpu.ThetaMax != *(*first.Resources)[0].ThetaMax {
		t.Errorf("cost came to %+v", cpu)
	}
	e.verb(first.Id, "commit", stopped).want(http.StatusOK)
	second := plan(2, 30, 3, 30, 3, 5, 3, 3, 43)
	over := (*second.Forecast.Realised)[1]
	var list wire.PlanList
	e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK).into(&list)
	memory(list.Plans[0].Forecast.Realised, over.Level, *over.Worst.Name)
	memory(list.Plans[1].Forecast.Planned, (*first.Resources)[1].Level.After, *(*first.Resources)[1].Worst.Name)
	if over.Level <= 1 {
		t.Fatalf("memory was to run out, and came to %v", over.Level)
	}

	var op wire.Operator
	e.do("GET", "/v1/operators/clicks?include=recent", "").want(http.StatusOK).into(&op)
	if op.Recent.Realised.Resources == nil || len(*op.Recent.Realised.Resources) != 2 {
		t.Fatalf("%+v", op.Recent.Realised)
	}
	cpu, disk := (*op.Recent.Realised.Resources)[0], (*op.Recent.Realised.Resources)[1]
	if !reflect.DeepEqual(cpu.Level, op.Recent.Realised.Theta) || cpu.Broken != 0 || cpu.Intervals != 2 {
		t.Errorf("of cost: %+v, of the operator %+v", cpu, op.Recent.Realised)
	}
	if disk.Broken != 2 || *disk.Greatest != max(71.0/40, over.Level) || disk.Level.Last != over.Level ||
		disk.Planned.Last != (*first.Resources)[1].Level.After {
		t.Errorf("of memory: %+v", disk)
	}
	for when, want := range map[string]float64{"before": over.Level, "after": (*second.Resources)[1].Level.After,
		"planned": (*first.Resources)[1].Level.After} {
		got, err := strconv.ParseFloat(e.metric(`plannerd_resource_level{operator="clicks",resource="memory",when="`+when+`"}`), 64)
		if err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("the metric of memory %s is %v (%v), want %v", when, got, err, want)
		}
	}
	e.do("PUT", "/v1/operators/clicks", `{"instances":2,"hash":{"function":"modulo"}}`).want(http.StatusOK)
	if text := e.do("GET", "/v1/operators/clicks?include=recent", "").body; strings.Contains(string(text), `"greatest"`) {
		t.Errorf("resources of an operator that has none: %s", text)
	}
}

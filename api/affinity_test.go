package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/sdk/go/route"
	"plannerd/sdk/go/wire"
)

// orders are the keys of two orders, of which one is heavy.
const orders = `[{"key":"order7/total","cost":30,"state":2},{"key":"order7/lines","cost":50,"state":5},
	{"key":"order8/total","cost":10,"state":1},{"key":"lone","cost":5,"state":1},{"key":"/x","cost":5,"state":1}]`

// TestAffinity has keys of an order stay together: as one row of a plan, in the table, and in routes.
func TestAffinity(t *testing.T) {
	e := newEnv(t)
	e.operator("orders", `{"instances":2,"theta_max":0.5,"hash":{"affinity":{"until":"/"}},"strategy":"lpt"}`)
	p := e.do("POST", "/v1/operators/orders/plans", `{"interval":1,"keys":`+orders+`}`).plan()
	if p.Affinity == nil || *p.Affinity != (wire.AffinityFigures{Keys: 5, RoutedKeys: 4}) {
		t.Errorf("%+v", p.Affinity)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)
	var at [3]wire.Route
	for i, key := range []string{"order7/total", "order7/none", "order7"} {
		e.do("GET", "/v1/operators/orders/route?key="+key, "").want(http.StatusOK).into(&at[i])
		if at[i].Instance != at[0].Instance || *at[i].RoutedKey != "order7" || at[i].Key != key {
			t.Errorf("%+v", at[i])
		}
	}
}

// TestAffinityRefused says which rows do not go together, and which configurations have no meaning.
func TestAffinityRefused(t *testing.T) {
	e := newEnv(t)
	e.operator("orders", `{"instances":2,"hash":{"affinity":{"tag":true}}}`)
	a := e.do("POST", "/v1/operators/orders/plans", `{"interval":1,"keys":[
		{"key":"a{7}","cost":1,"instance":0},{"key":"c","cost":1},{"key":"b{7}","cost":1,"instance":1}]}`)
	a.fails(http.StatusUnprocessableEntity, "invalid", "/keys/2/instance")
	if !strings.Contains(string(a.body), `is 1, but 0 for \"a{7}\", which has the same routed key`) {
		t.Errorf("%s", a.body)
	}
	e.do("POST", "/v1/operators/orders/plans", `{"interval":1,"compact":{"records":[[0,0,1,1,1]]}}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/compact")
	for _, c := range []struct{ config, at string }{
		{`{"instances":2,"hash":{"affinity":{"tag":true,"until":"/"}}}`, "/hash/affinity"},
		{`{"instances":2,"hash":{"affinity":{"count":2}}}`, "/hash/affinity/count"},
		{`{"instances":2,"hash":{"affinity":{"tag":true}},"splitting":{"max_parts":2}}`, "/hash/affinity"},
		{`{"instances":2,"scheme":"ring","hash":{"affinity":{"tag":true}}}`, "/hash/affinity"},
	} {
		e.do("PUT", "/v1/operators/other", c.config).fails(http.StatusUnprocessableEntity, "invalid", c.at)
	}
}

// TestAffinityOfReports adds up what an instance reports of an order, and has one that two instances report be in
// one place.
func TestAffinityOfReports(t *testing.T) {
	e := newEnv(t)
	e.operator("orders", `{"instances":2,"theta_max":0.5,"hash":{"affinity":{"until":"/"}}}`)
	report := func(instance, rows string) *answer {
		return e.do("PUT", "/v1/operators/orders/intervals/1/reports/"+instance, rows)
	}
	report("0", `{"keys":[{"key":"order7/a","cost":4,"state":2},{"key":"order7/b","cost":4,"state":3}]}`).
		want(http.StatusCreated)
	report("1", `{"keys":[{"key":"order7/c","cost":2,"state":1},{"key":"order8/a","cost":9,"state":1}]}`).
		want(http.StatusCreated)
	p := e.do("POST", "/v1/operators/orders/plans?interval=1", "").plan()
	if p.Affinity == nil || *p.Affinity != (wire.AffinityFigures{Keys: 4, RoutedKeys: 2}) || p.DriftedKeys == 0 {
		t.Errorf("%+v, %d drifted", p.Affinity, p.DriftedKeys)
	}
	for _, d := range p.Instances {
		if d.KeysAfter != 1 || d.StateIn+d.StateOut == 0 {
			t.Errorf("%+v", d)
		}
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)
	for _, instance := range []string{"0", "1"} {
		rows := `{"keys":[{"key":"order1/a/` + instance + `","cost":4}]}`
		e.do("PUT", "/v1/operators/orders/intervals/2/reports/"+instance, rows).want(http.StatusCreated)
	}
	e.do("PATCH", "/v1/operators/orders", `{"hash":{"affinity":{"count":2}}}`).want(http.StatusOK)
	e.do("POST", "/v1/operators/orders/plans?interval=2", "").
		fails(http.StatusConflict, "configuration_changed", "") // the reports are of other routed keys
}

// TestAffinityChanges gathers the keys of each order once they are to stay together, and takes back entries of keys
// that are no longer routed on their own.
func TestAffinityChanges(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0.1,"hash":{"function":"modulo"}}`)
	const rows = `{"interval":%d,"keys":[
		{"key":"a/1","cost":8,"state":1,"instance":%d},{"key":"a/2","cost":8,"state":3,"instance":%d},
		{"key":"b/1","cost":8,"state":3,"instance":%d},{"key":"b/2","cost":8,"state":1,"instance":%d}]}`
	post := func(body string) *answer {
		return e.do("POST", "/v1/operators/clicks/plans", body)
	}
	p := post(fmt.Sprintf(rows, 1, 1, 1, 1, 1)).plan()
	if len(p.RoutingTable.Set) == 0 {
		t.Fatalf("%+v", p)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)
	e.do("PATCH", "/v1/operators/clicks", `{"hash":{"affinity":{"until":"/"}}}`).want(http.StatusOK)
	post(`{"interval":2,"keys":[{"key":"a/1","cost":1}]}`).fails(http.StatusConflict, "hash_not_known", "")
	p = post(fmt.Sprintf(rows, 2, 0, 1, 0, 1)).plan()
	moved := map[string]string{}
	for _, m := range p.Migrations {
		moved[m.Key] = fmt.Sprint(m.From, m.To, m.State)
	}
	if len(p.RoutingTable.Unset) == 0 || moved["a"] != "0 1 1" || moved["b"] != "1 0 1" || len(moved) != 2 {
		t.Errorf("%+v, %v", p.RoutingTable, moved)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)
	for key, at := range map[string]int32{"a/1": 1, "a/9": 1, "b/2": 0} {
		var r wire.Route
		if e.do("GET", "/v1/operators/clicks/route?key="+key, "").into(&r); r.Instance != at {
			t.Errorf("%+v", r)
		}
	}
	var history struct{ Intervals int }
	e.do("POST", "/v1/operators/clicks/backtest", "{}").want(http.StatusOK).into(&history)
	if history.Intervals != 1 {
		t.Errorf("a backtest goes back over %d intervals, to keys that were routed otherwise", history.Intervals)
	}
	if got := e.tableOf(""); strings.Contains(got, "/") {
		t.Error(got)
	}
}

// TestAffinityTried says before it is configured what comes of keys that stay together: where rows are apart, they
// are gathered.
func TestAffinityTried(t *testing.T) {
	e := newEnv(t)
	const rows = "key,cost,state,instance\na/1,8,1,0\na/2,8,3,1\nb/1,8,3,0\nb/2,8,1,0\n"
	var tried wire.WhatIfResults
	e.do("POST", "/v1/what-if?instances=2&affinity_until=/&strategies=optimal", rows, "Content-Type: text/csv").
		want(http.StatusOK).into(&tried)
	r := tried.Results[0]
	if r.Affinity == nil || r.Affinity.RoutedKeys != 2 || r.Migration.State != 1 || r.Theta.After != 0 {
		t.Errorf("%+v", r)
	}
	const intervals = "interval,key,cost,instance\n1,a/1,8,0\n1,a/2,8,%d\n2,a/1,8,0\n"
	ask := func(at int) *answer {
		const path = "/v1/analyses/backtest?instances=2&affinity_until=/"
		return e.do("POST", path, fmt.Sprintf(intervals, at), "Content-Type: text/csv")
	}
	ask(0).want(http.StatusOK)
	ask(1).fails(http.StatusUnprocessableEntity, "invalid", "/1/instance")
	e.do("POST", "/v1/what-if?instances=2&affinity_until=/&affinity_tag=true", rows, "Content-Type: text/csv").
		fails(http.StatusUnprocessableEntity, "invalid", "?affinity_tag")
}

// TestAffinityHistories has engines rescale and change which keys stay together, at random: after each commit the
// migrations of plans have brought the state of every key to where routers send it, and keys of one routed key go
// together.
func TestAffinityHistories(t *testing.T) {
	e := newEnv(t)
	for seed := range uint64(deep.Count(12, 1000)) {
		h := engineHistory{env: e, random: rand.New(rand.NewPCG(seed, 7)), path: fmt.Sprint("/v1/operators/orders", seed)}
		h.run(func() string {
			affinity := []string{`null`, `{"tag":true,"until":null,"count":null}`, `{"tag":null,"until":"/","count":null}`,
				`{"tag":null,"until":"/","count":2}`}[h.random.IntN(4)]
			const patch = `{"instances":%d,"hash":{"function":%q,"tokens_per_instance":null,"affinity":%s}}`
			return fmt.Sprintf(patch, 2+h.random.IntN(3), []string{"ring", "modulo"}[h.random.IntN(2)], affinity)
		}, func(*wire.Plan, []wire.Row) {})
	}
}

// engineHistory is that of an engine whose configuration changes at random.
type engineHistory struct {
	*env
	random *rand.Rand
	path   string
	at     map[string]int32 // where the state of keys is
}

// run is the whole of it: change says the next configuration, and check looks at what a plan has come to, of what keys
// take.
func (h *engineHistory) run(change func() string, check func(*wire.Plan, []wire.Row)) {
	h.at = map[string]int32{}
	h.do("PUT", h.path, `{"instances":3,"theta_max":0.2,"entry_grace":1,"approval":{"auto":"always"}}`).
		want(http.StatusCreated)
	for interval := range 12 {
		h.step(interval, change, check)
	}
}

// table is the committed one as routers read it.
func (h *engineHistory) table() (*route.Table, route.Affinity) {
	var t wire.RoutingTable
	h.do("GET", h.path+"/routing-table", "").want(http.StatusOK).into(&t)
	c := route.Config{Function: string(*t.Hash.Function)}
	if a := t.Hash.Affinity; a != nil {
		c.Affinity = route.Affinity{
			Tag: a.Tag != nil, Until: *cmp.Or(a.Until, new("")), Count: int(*cmp.Or(a.Count, new(int32(0)))),
		}
	}
	var over []route.Instance
	for _, d := range *t.Instances {
		over = append(over, route.Instance{ID: d.Id})
	}
	hash, err := route.New(c, over)
	if err != nil {
		h.Fatal(err)
	}
	var entries []route.Entry
	for _, x := range t.Entries {
		entries = append(entries, route.Entry{Key: []byte(x.Key), Instance: x.Instance})
	}
	out, err := route.NewTable(t.Version, hash, entries, "")
	if err != nil {
		h.Fatal(err)
	}
	return out, c.Affinity
}

// step is an interval: new keys come, the configuration changes now and then, and a plan is made and committed.
func (h *engineHistory) step(interval int, change func() string, check func(*wire.Plan, []wire.Row)) {
	before, _ := h.table()
	for range 12 {
		key := fmt.Sprintf("%c/%d/{%d}", 'a'+h.random.IntN(3), h.random.IntN(3), h.random.IntN(4))
		if to, err := before.Lookup([]byte(key)); err != nil {
			h.Fatal(err)
		} else if at, known := h.at[key]; known && at != to.Instance {
			h.Fatalf("%s, interval %d: key %s is on %d, and goes to %d", h.path, interval, key, at, to.Instance)
		} else {
			h.at[key] = to.Instance
		}
	}
	if h.random.IntN(2) == 0 {
		h.do("PATCH", h.path, change()).want(http.StatusOK)
	}
	rows := []wire.Row{}
	for _, key := range slices.Sorted(maps.Keys(h.at)) {
		rows = append(rows, wire.Row{
			Key: key, Cost: new(float64(h.random.IntN(20))), State: new(float64(1 + h.random.IntN(9))),
			Costs: &wire.Costs{"network": float64(h.random.IntN(9))}, Instance: new(wire.ID(h.at[key])),
		})
	}
	body, err := json.Marshal(map[string]any{"interval": interval, "keys": rows})
	if err != nil {
		h.Fatal(err)
	}
	p := h.do("POST", h.path+"/plans", string(body)).want(http.StatusCreated).plan()
	defer func() { check(&p, rows) }()
	if p.Status == wire.PlanStatusNoAction {
		return
	}
	h.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`).want(http.StatusOK)
	table, by := h.table()
	for key, at := range h.at {
		for _, m := range p.Migrations {
			if string(by.RoutedKey([]byte(key))) == m.Key && m.From == at {
				h.at[key] = m.To
			}
		}
		to, err := table.Lookup([]byte(key))
		if err != nil || h.at[key] != to.Instance {
			h.Fatalf("%s, interval %d, %+v: key %s was on %d, is on %d, and goes to %+v, %v", h.path, interval, by, key, at,
				h.at[key], to, err)
		}
	}
}

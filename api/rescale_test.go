package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"plannerd/sdk/go/wire"
)

// engine carries plans out as an engine does: it knows where its keys are, moves
// those of a plan, and has every instance say when it is done.
type engine struct {
	*env
	at    map[string]int32
	costs map[string]float64
	n     int
}

// configure changes the instances.
func (e *engine) configure(instances string) {
	e.Helper()
	a := e.do("PUT", "/v1/operators/clicks", `{"instances":`+instances+
		`,"theta_max":0.02,"require_approval":true,"hash":{"function":"modulo"}}`)
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		e.Fatalf("%s", a.body)
	}
}

// post sends the statistics of the next interval.
func (e *engine) post() *answer {
	e.Helper()
	e.n++
	var rows []string
	for _, key := range slices.Sorted(maps.Keys(e.costs)) {
		row := fmt.Sprintf(`{"key":%q,"cost":%v`, key, e.costs[key])
		if at, known := e.at[key]; known {
			row += fmt.Sprintf(`,"instance":%d`, at)
		}
		rows = append(rows, row+"}")
	}
	return e.do("POST", "/v1/operators/clicks/plans",
		fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, e.n, strings.Join(rows, ","))).want(http.StatusCreated)
}

// carryOut has the plan of an interval approved, moves its keys, and acknowledges
// as one instance after the other.
func (e *engine) carryOut() (plan, life) {
	e.Helper()
	a := e.post()
	p, l := a.plan(), a.life()
	if l.Status != "proposed" {
		e.Fatalf("%.500s", a.body)
	}
	e.verb(p.Id, "approve", `{"actor":"ann"}`).want(http.StatusOK)
	e.verb(p.Id, "start", `{"executor":"job"}`).want(http.StatusOK)
	affected := map[int32]bool{}
	for _, m := range p.Migrations {
		if at, known := e.at[m.Key]; known && at != m.From {
			e.Errorf("%s is on %d, and to leave %d", m.Key, at, m.From)
		}
		e.at[m.Key], affected[m.From], affected[m.To] = m.To, true, true
	}
	if want := slices.Sorted(maps.Keys(affected)); !slices.Equal(l.Awaits, want) {
		e.Errorf("awaits %v, and affects %v", l.Awaits, want)
	}
	for i, id := range l.Awaits {
		q := e.verb(p.Id, "acks", fmt.Sprintf(`{"instances":[%d],"actor":"task-%d"}`, id, id)).want(http.StatusOK).life()
		if last := i == len(l.Awaits)-1; (q.Status == "committed") != last || len(q.Acked) != i+1 {
			e.Fatalf("after ack %d of %d: %s", i+1, len(l.Awaits), q.Status)
		}
	}
	e.routed()
	return p, l
}

// routed checks that the routers send every key to where it is.
func (e *engine) routed() {
	e.Helper()
	for key := range e.costs {
		var route struct{ Instance int32 }
		e.do("GET", "/v1/operators/clicks/route?key="+key, "").want(http.StatusOK).into(&route)
		if at, known := e.at[key]; known && at != route.Instance {
			e.Errorf("%s is on %d, and sent to %d", key, at, route.Instance)
		}
		e.at[key] = route.Instance
	}
}

// loads are the costs that instances carry.
func (e *engine) loads() map[int32]float64 {
	out := map[int32]float64{}
	for key, at := range e.at {
		out[at] += e.costs[key]
	}
	return out
}

// reasons counts migrations by their reasons.
func reasons(p plan, of func(migration) bool) map[string]int {
	out := map[string]int{}
	for _, m := range p.Migrations {
		if of(m) {
			out[string(m.Reason)]++
		}
	}
	return out
}

// TestInstancesComeAndGo adds, re-weights and removes instances, by plans that fill
// and drain them.
func TestInstancesComeAndGo(t *testing.T) {
	e := &engine{env: newEnv(t), at: map[string]int32{}, costs: map[string]float64{}}
	for i := range 120 {
		e.costs[fmt.Sprintf("key-%03d", i)] = float64(1 + i%9)
	}
	e.configure("2")
	if p := e.post().life(); p.Status != "proposed" && p.Status != "no_action" {
		t.Fatalf("%+v", p)
	} else if p.Status == "proposed" {
		e.verb(p.ID, "reject", "").want(http.StatusOK)
	}
	e.routed()

	// An instance is added: it gets its share, as fillings and as what its hash gives it.
	e.configure("3")
	p, _ := e.carryOut()
	into := reasons(p, func(m migration) bool { return m.To == 2 })
	if into["fill"]+into["rehash"] == 0 || len(reasons(p, func(m migration) bool { return m.From == 2 })) > 0 {
		t.Errorf("to the new instance %v", into)
	}
	for _, i := range p.Instances {
		if added := i.Added != nil && *i.Added; added != (i.Id == 2) {
			t.Errorf("instance %d is added: %t", i.Id, added)
		}
	}
	total, loads := 0.0, e.loads()
	for _, x := range loads {
		total += x
	}
	for id := range int32(3) {
		if loads[id] > total/3*1.02 {
			t.Errorf("instance %d carries %v of %v", id, loads[id], total)
		}
	}

	// One gets twice the capacity: it takes load of the others.
	e.configure(`[{"id":0},{"id":1},{"id":2,"capacity":2}]`)
	p, _ = e.carryOut()
	for _, m := range p.Migrations {
		if m.From == 2 && m.Reason != "exchange" && m.Reason != "move_back" {
			t.Errorf("%+v", m)
		}
	}
	if loads = e.loads(); loads[2] < total/2*0.95 || loads[2] > total/2*1.02 {
		t.Errorf("instance 2 carries %v of %v", loads[2], total)
	}

	// One is removed: it is drained, and gets nothing.
	e.configure(`[{"id":0},{"id":2,"capacity":2}]`)
	p, l := e.carryOut()
	if from := reasons(p, func(m migration) bool { return m.From == 1 }); len(from) != 1 || from["drain"] == 0 {
		t.Errorf("from the removed instance %v", from)
	}
	if into := reasons(p, func(m migration) bool { return m.To == 1 }); len(into) > 0 || !slices.Contains(l.Awaits, 1) {
		t.Errorf("to the removed instance %v", into)
	}
	if loads = e.loads(); loads[1] != 0 {
		t.Errorf("the removed instance carries %v", loads[1])
	}
	if p := e.post().life(); p.Status != "no_action" || !slices.Contains(p.Causes, "balanced") {
		t.Errorf("%+v", p)
	}
}

// TestRescaleWithoutHomes: when the instances change under the engine's own hash, keys of
// which no row tells the new home stay by an entry, and one that may be anywhere is
// refused.
func TestRescaleWithoutHomes(t *testing.T) {
	e := newEnv(t)
	config := `{"instances":%s,"theta_max":"900%%","table_limit":1,"hash":{"function":"reported"}}`
	e.operator("clicks", fmt.Sprintf(config, "2"))
	e.do("PUT", "/v1/operators/clicks", fmt.Sprintf(config, `[{"id":0},{"id":2}]`)).want(http.StatusOK)
	rows := `{"interval":1,"keys":[{"key":"a","cost":1,"instance":0},{"key":"b","cost":1,"instance":1},
		{"key":"c","cost":1,"instance":0,"hash_instance":2}%s]}`
	e.do("POST", "/v1/operators/clicks/plans", fmt.Sprintf(rows, `,{"key":"d","cost":1,"hash_instance":0}`)).
		fails(http.StatusConflict, "hash_not_known", "")
	p := e.do("POST", "/v1/operators/clicks/plans", fmt.Sprintf(rows, "")).want(http.StatusCreated).plan()
	set := map[string]int32{}
	for _, x := range p.RoutingTable.Set {
		set[x.Key] = x.Instance
	}
	if _, pinned := set["c"]; set["a"] != 0 || len(set) < 2 || set["b"] == 1 || pinned {
		t.Errorf("sets %v", set)
	}
	if p.TableWithinLimit || slices.Contains(p.Causes, "frozen") || len(e.loads(p.Id)) != 3 {
		t.Errorf("within the limit %v, causes %v, loads %+v", p.TableWithinLimit, p.Causes, e.loads(p.Id))
	}
	if p.Status == "proposed" { // its table is beyond the limit
		e.verb(p.Id, "approve", "").want(http.StatusOK)
	}
	e.verb(p.Id, "start", `{"executor":"x"}`).want(http.StatusOK)
	table := string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body)
	if !strings.Contains(table, `{"key":"c","instance":2}`) { // its route may be to 2 already: nobody here knows
		t.Errorf("c moves, and is not held back: %s", table)
	}
	e.finish(p.Id)
	for key, at := range set {
		if got, source := e.routed("clicks", key); got != at || source != "table" {
			t.Errorf("%s is routed to %d by the %s", key, got, source)
		}
	}
}

// TestWithoutHash: an engine that has no hash of its own says where its keys are, and gets a table that
// says it of each of them.
func TestWithoutHash(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":["x","y"],"theta_max":0.1,"table_limit":1,"hash":{"function":"reported"},
		"approval":{"auto":"always"}}`)
	const target = "/v1/operators/clicks/plans"
	e.do("POST", target, `{"interval":1,"keys":[{"key":"a","cost":1}]}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/keys/0/hash_instance")
	e.do("POST", "/v1/what-if", `{"operator":{"instances":["x","y"],"hash":{"function":"reported"}},
		"keys":[{"key":"a","cost":1,"instance":"x"}]}`).want(http.StatusOK)
	const rows = `{"key":"a","cost":2%s},{"key":"b","cost":2%s},{"key":"c","cost":2%[2]s},{"key":"d","cost":2%[2]s}]}`
	at := fmt.Sprintf(rows, `,"instance":"x"`, `,"instance":"y"`)
	for i, keys := range []string{at, fmt.Sprintf(rows, "", "")} { // then the table says where they are
		p := e.do("POST", target, fmt.Sprintf(`{"interval":%d,"keys":[`, i+1)+keys).want(http.StatusCreated).plan()
		if i == 1 {
			if p.Status != "no_action" || p.Theta.After != 0 {
				t.Errorf("%s, θ %v", p.Status, p.Theta)
			}
			break
		}
		if p = e.verb(p.Id, "start", `{"executor":"x"}`).want(http.StatusOK).plan(); !slices.Equal(p.Awaits, []int32{0, 1}) {
			t.Errorf("it awaits %v", p.Awaits)
		}
		e.finish(p.Id)
	}
	var table wire.RoutingTable
	e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).into(&table)
	on := map[int32]int{}
	for _, x := range table.Entries {
		on[x.Instance]++
	}
	if on[0] != 2 || on[1] != 2 || len(on) != 2 {
		t.Errorf("%+v", table.Entries)
	}
}

// TestHashOfAnOlderConfiguration: where rows say that the engine's own hash puts keys counts
// only by the newest configuration.
func TestHashOfAnOlderConfiguration(t *testing.T) {
	e := newEnv(t)
	const three = `{"instances":3,"theta_max":0,"strategy":"llfd","hash":{"function":"reported"}}`
	const rows = `"keys":[{"key":"a","cost":1,"state":1,"instance":0,"hash_instance":0},` +
		`{"key":"b","cost":1,"state":1,"instance":1,"hash_instance":1}]}`
	const target = "/v1/operators/clicks/plans"
	refused := func(a *answer) { a.Helper(); a.fails(http.StatusConflict, "configuration_changed", "") }
	e.operator("clicks", reported)
	e.do("POST", target, `{"interval":1,"config_version":1,`+rows).want(http.StatusCreated)
	const own = `"keys":[{"key":"a","cost":1,"state":1,"hash_instance":0}]}`
	e.report(2, 0, `{"config_version":1,`+own).want(http.StatusCreated)
	e.report(2, 1, `{"keys":[]}`).want(http.StatusCreated)
	e.clock.pass(time.Second)
	e.do("PUT", "/v1/operators/clicks", three).want(http.StatusOK)
	refused(e.do("POST", target, `{"interval":2,"config_version":1,`+rows))
	refused(e.do("POST", target+"?interval=2&config_version=1", "key,cost,hash_instance\na,1,0\n", csv))
	refused(e.report(2, 2, `{"config_version":1,"keys":[]}`))
	e.report(2, 2, `{"config_version":2,"keys":[]}`).want(http.StatusCreated)
	// The first reports came before the configuration.
	a := e.do("POST", target, `{"interval":2}`).fails(http.StatusConflict, "configuration_changed", "")
	if detail := a.problem().Detail; !strings.Contains(detail, "of instances 0, 1:") {
		t.Error(detail)
	}
	e.do("POST", target, `{"interval":2,"config_version":2}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/config_version")
	for id := range 2 {
		e.report(2, id, []string{`{` + own, `{"keys":[]}`}[id]).want(http.StatusOK)
	}
	e.do("POST", target, `{"interval":2}`).want(http.StatusCreated)
}

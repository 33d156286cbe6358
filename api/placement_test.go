package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// placed is an operator whose keys keep to rules.
func placed(t *testing.T, instances, rules string) *engine {
	e := &engine{env: newEnv(t), at: map[string]int32{}, costs: map[string]float64{}}
	for i := range 40 {
		e.costs[fmt.Sprintf("a:%02d", i)] = float64(1 + i%7)
		e.costs[fmt.Sprintf("eu:%02d", i)] = float64(1 + i%5)
		e.costs[fmt.Sprintf("key-%02d", i)] = float64(1 + i%9)
	}
	e.ruled(instances, rules)
	return e
}

// ruled configures the operator.
func (e *engine) ruled(instances, rules string) {
	e.Helper()
	a := e.do("PUT", "/v1/operators/clicks", `{"instances":[`+instances+`],"theta_max":0.05,"require_approval":true,
		"hash":{"function":"modulo"},"policy":{"forecast":{"method":"last"}},"placement":{"rules":[`+rules+`]}}`)
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		e.Fatalf("%s", a.body)
	}
}

const (
	fiveHosts = `{"name":"a0","labels":{"pool":"a"}},{"name":"a1","labels":{"pool":"a"}},` +
		`{"name":"b0","labels":{"zone":"eu"}},{"name":"b1","labels":{"zone":"eu"}},{"name":"b2"}`
	poolRule = `{"name":"tenant-a","keys":{"prefix":"a:"},"on":{"labels":{"pool":"a"}},"exclusive":true}`
	zoneRule = `{"name":"legal","keys":{"prefix":"eu:"},"on":{"labels":{"zone":"eu"}}}`
)

// keep fails where a key is where the two rules forbid it.
func (e *engine) keep() {
	e.Helper()
	for key, at := range e.at {
		pool, eu := at < 2, at == 2 || at == 3
		if strings.HasPrefix(key, "a:") != pool || strings.HasPrefix(key, "eu:") && !eu {
			e.Errorf("%s is on %d", key, at)
		}
	}
}

// settle carries out what plans of the next intervals are, until there is none.
func (e *engine) settle() {
	e.Helper()
	for range 5 {
		a := e.post()
		if a.life().Status == "no_action" {
			return
		}
		e.verb(a.plan().Id, "reject", "").want(http.StatusOK)
		e.carryOut()
	}
	e.Fatal("plans do not end")
}

// TestRulesAreKept sets rules on an operator that has none, and has keys leave the instances where
// they may not be; then it holds one instance against new keys, and empties another.
func TestRulesAreKept(t *testing.T) {
	e := placed(t, fiveHosts, "")
	e.routed()
	e.settle()

	e.ruled(fiveHosts, poolRule+","+zoneRule)
	p, _ := e.carryOut()
	e.keep()
	forced := reasons(p, func(m migration) bool { return strings.HasPrefix(m.Key, "a:") && m.From > 1 })
	if forced["placement"] == 0 || len(forced) > 1 || p.Migration.Forced.Keys < int64(forced["placement"]) {
		t.Errorf("off instances without the pool: %v, forced %d", forced, p.Migration.Forced.Keys)
	}
	pool, rest := 0.0, 0.0
	for key, cost := range e.costs {
		if strings.HasPrefix(key, "a:") {
			pool += cost
		} else {
			rest += cost
		}
	}
	for _, d := range p.Instances {
		want := rest / 3
		if d.Id < 2 {
			want = pool / 2
		}
		if d.FairLoad == nil || *d.FairLoad < want*0.999999 || *d.FairLoad > want*1.000001 {
			t.Errorf("the fair load of %d is %v, want %v", d.Id, d.FairLoad, want)
		}
	}
	e.settle()
	e.keep()

	// b2 keeps what it has; the load on the others grows, so that they want to give some.
	before := map[string]int32{}
	for key, at := range e.at {
		before[key] = at
	}
	e.ruled(strings.Replace(fiveHosts, `{"name":"b2"}`, `{"name":"b2","takes":"none"}`, 1), poolRule+","+zoneRule)
	for key, at := range e.at {
		if at == 2 && !strings.HasPrefix(key, "eu:") {
			e.costs[key] *= 3
		}
	}
	p, _ = e.carryOut()
	for _, m := range p.Migrations {
		if m.To == 4 {
			t.Errorf("%s goes to an instance that takes nothing", m.Key)
		}
	}
	if d := p.Instances[4]; d.Cordoned == nil || !*d.Cordoned {
		t.Errorf("%+v", d)
	}
	e.keep()

	// What asleep keys say: they move with their instance alone.
	e.ruled(fiveHosts, poolRule+`,{"name":"asleep","keys":{"prefix":"eu:"},"stay":true}`)
	for key := range e.costs {
		if strings.HasPrefix(key, "eu:") {
			e.costs[key] *= 2
		}
	}
	a := e.post()
	for _, m := range a.plan().Migrations {
		if strings.HasPrefix(m.Key, "eu:") {
			t.Errorf("%s stays, and moves for %s", m.Key, m.Reason)
		}
	}
}

// TestRulesAndWhat is refused beside them.
func TestRulesAndWhat(t *testing.T) {
	e := newEnv(t)
	for member, field := range map[string]string{
		`"splitting":{"max_parts":2}`: "splitting", `"compact":{"degree":4}`: "compact",
	} {
		a := e.do("PUT", "/v1/operators/x", `{"instances":[{"id":0},{"id":1,"takes":"none"}],`+member+`}`)
		if a.want(http.StatusUnprocessableEntity); !strings.Contains(string(a.body), field) {
			t.Errorf("%s", a.body)
		}
	}
}

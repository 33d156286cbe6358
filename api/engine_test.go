package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// engineOwned is an operator whose engine holds the routing table.
const engineOwned = `{"instances":2,"theta_max":0,"strategy":"llfd","hash":{"function":"reported"},"table_owner":"engine"}`

// TestEngineTable: the engine holds the table over three intervals, of keys and of
// classes; the service counts versions and answers for no entries.
func TestEngineTable(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", engineOwned)
	const plans, operator = "/v1/operators/clicks/plans", "/v1/operators/clicks"
	// Rows without an instance are where the hash puts them.
	first := e.do("POST", plans, `{"interval":1,"columns":{"key":["a","b","c"],"cost":[2,1,1],"hash_instance":[0,0,0]}}`).
		want(http.StatusCreated)
	p := first.plan()
	if p.Status != "approved" || p.RoutingTable.SizeBefore != 0 || len(p.RoutingTable.Set) == 0 ||
		len(p.RoutingTable.Set) != int(p.RoutingTable.SizeAfter) {
		t.Fatalf("%s", first.body)
	}
	if a := e.do("GET", "/v1/plans/"+p.Id+"/routing-table", "", "Accept: text/csv").
		want(http.StatusOK); strings.Count(string(a.body), "\n") != 1+len(p.RoutingTable.Set) {
		t.Errorf("%s", a.body)
	}
	held := entries(p.RoutingTable)
	notHeld := func() {
		t.Helper()
		for _, target := range []string{"/routing-table", "/routing-table?version=0", "/route?key=a", "/route?key=zzz"} {
			e.do("GET", operator+target, "").fails(http.StatusConflict, "table_not_held", "")
		}
	}
	notHeld()
	for range 2 {
		if done := e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK).plan(); done.Version == nil ||
			*done.Version != 1 {
			t.Errorf("%+v", done)
		}
	}
	notHeld()
	var op struct {
		TableVersion, TableSize int64
		TableOwner              string
	}
	e.do("GET", operator, "").want(http.StatusOK).into(&op)
	if op.TableVersion != 1 || op.TableSize != 0 || op.TableOwner != "engine" {
		t.Errorf("%+v", op)
	}
	// Its set and unset are those against what the engine holds.
	e.do("POST", plans, `{"interval":2,"table_version":0,"keys":[]}`).
		fails(http.StatusConflict, "table_version_outdated", "")
	at := map[string]int32{"a": 0, "b": 0, "c": 0}
	maps.Copy(at, held)
	second := e.do("POST", plans,
		fmt.Sprintf(
			`{"interval":2,"table_version":1,"columns":{"key":["a","b","c","d"],"cost":[1,1,1,3],"hash_instance":[0,0,0,1],"instance":[%d,%d,%d,1]}}`,
			at["a"], at["b"], at["c"])).want(http.StatusCreated).plan()
	if second.RoutingTable.SizeBefore != int64(len(held)) || second.DriftedKeys != 0 {
		t.Errorf("%+v", second)
	}
	for _, m := range second.Migrations {
		at[m.Key] = m.To
	}
	for _, k := range second.RoutingTable.Unset {
		delete(held, k)
	}
	maps.Copy(held, entries(second.RoutingTable))
	equalMaps(t, "the engine's table", held, entriesOf(at, map[string]int32{"d": 1}))
	e.do("POST", "/v1/plans/"+second.Id+"/commit", stopped).want(http.StatusOK)
	// Classes need no resolution.
	third := e.do("POST", plans, `{"interval":3,"table_version":2,"compact":{"records":[[0,0,2,1,6],[1,0,1,1,2]]}}`).
		want(http.StatusCreated).compacted()
	if third.Migrates != "classes" || third.RoutingTable.SizeBefore != 2 ||
		third.RoutingTable.SizeAfter != third.tableAfter(t) || third.Migration.Keys == 0 {
		t.Errorf("%+v", third)
	}
	e.do("GET", "/v1/plans/"+third.ID+"/routing-table", "").fails(http.StatusConflict, "table_not_held", "")
	e.do("PUT", "/v1/plans/"+third.ID+"/resolution", "key,from,to\n", csv).
		fails(http.StatusConflict, "resolution_not_needed", "")
	for range 2 {
		if done := e.do("POST", "/v1/plans/"+third.ID+"/commit", stopped).want(http.StatusOK).
			compacted(); done.Version == nil || *done.Version != 3 || done.ResolvedKeys != nil {
			t.Errorf("%+v", done)
		}
	}
	e.do("POST", plans, `{"interval":4,"table_version":2,"compact":{"records":[]}}`).
		fails(http.StatusConflict, "table_version_outdated", "")
	e.do("PUT", operator, strings.Replace(engineOwned, `,"table_owner":"engine"`, "", 1)).
		fails(http.StatusConflict, "table_owner_fixed", "")
	e.do("PUT", operator, strings.Replace(engineOwned, "llfd", "mixed", 1)).want(http.StatusOK)
	if metrics := string(e.do("GET", "/metrics", "").body); strings.Contains(metrics,
		`plannerd_routing_table_entries{operator="clicks"}`) {
		t.Error("the size of a table that nobody here holds is measured")
	}
	// A new operator of that name may decide anew.
	e.do("DELETE", operator, "").want(http.StatusNoContent)
	e.do("PUT", operator, strings.Replace(engineOwned, `,"table_owner":"engine"`, "", 1)).want(http.StatusCreated)
	e.do("GET", operator+"/routing-table", "").want(http.StatusOK)
}

// entriesOf are the entries of keys that are elsewhere than their hash instance,
// which is 0 unless home says otherwise.
func entriesOf(at, home map[string]int32) map[string]int32 {
	out := map[string]int32{}
	for key, d := range at {
		if d != home[key] {
			out[key] = d
		}
	}
	return out
}

// TestEngineTableRescale: when the hash changes, set and unset lead from what the
// engine held under the old hash to what it needs under the new one.
func TestEngineTableRescale(t *testing.T) {
	hash := func(n int32) planner.HashFunction {
		var instances []partitioner.Instance
		for id := range n {
			instances = append(instances, partitioner.Instance{ID: id})
		}
		h, err := partitioner.New(partitioner.Config{Function: "modulo"}, instances)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	old, young := hash(2), hash(3)
	home := func(h planner.HashFunction, key string) int32 {
		id, err := h.Instance([]byte(key), planner.KeyHash([]byte(key)))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	type row struct {
		Key          string `json:"key"`
		Cost         int    `json:"cost"`
		Instance     int32  `json:"instance"`
		HashInstance *int32 `json:"hash_instance,omitempty"`
	}
	for _, function := range []string{"modulo", "reported"} {
		e := newEnv(t)
		config := `{"instances":%d,"theta_max":0.1,"table_owner":"engine","hash":{"function":"` + function + `"}}`
		e.operator("clicks", fmt.Sprintf(config, 2))
		e.do("PUT", "/v1/operators/clicks", fmt.Sprintf(config, 3)).want(http.StatusOK)
		var rows []row
		held, at := map[string]int32{}, map[string]int32{}
		for i := range 200 {
			key := fmt.Sprint("key-", i)
			r := row{Key: key, Cost: 1 + i%7, Instance: home(old, key)}
			if i%10 == 0 { // some have entries
				r.Instance = 1 - r.Instance
				held[key] = r.Instance
			}
			if function == "reported" {
				h := home(young, key)
				r.HashInstance = &h
			}
			at[key] = r.Instance
			rows = append(rows, r)
		}
		body, err := json.Marshal(map[string]any{"interval": 1, "keys": rows})
		if err != nil {
			t.Fatal(err)
		}
		p := e.do("POST", "/v1/operators/clicks/plans", string(body)).want(http.StatusCreated).plan()
		if p.Status != "approved" || p.Balanced == nil || !*p.Balanced || len(p.Migrations) == 0 || p.DriftedKeys != 0 {
			t.Fatalf("%s: %+v", function, p)
		}
		for _, m := range p.Migrations {
			at[m.Key] = m.To
		}
		want := map[string]int32{}
		for key, d := range at {
			if d != home(young, key) {
				want[key] = d
			}
		}
		if function == "modulo" {
			if p.RoutingTable.SizeBefore != int64(len(held)) {
				t.Errorf("%d entries before, want %d", p.RoutingTable.SizeBefore, len(held))
			}
			for _, key := range p.RoutingTable.Unset {
				if _, ok := held[key]; !ok {
					t.Errorf("unset of %s, which has no entry", key)
				}
				delete(held, key)
			}
			maps.Copy(held, entries(p.RoutingTable))
			equalMaps(t, "the engine's table", held, want)
			continue
		}
		// What the engine held is not known: set is the whole table.
		equalMaps(t, "set", entries(p.RoutingTable), want)
	}
}

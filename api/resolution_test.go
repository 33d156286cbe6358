package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/api"
	"plannerd/internal/input"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
	"plannerd/store"
)

func TestRefusedResolutions(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Statistics = input.Limits{Bytes: 64 << 10, Rows: 1000} })
	homed := e.classPlan()
	e.operator("clicks", reported)
	keys := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	e.operator("engine", `{"instances":2,"theta_max":0,"table_owner":"engine"}`)
	engine := e.do("POST", "/v1/operators/engine/plans", `{"interval":1,"compact":{"records":[[0,0,4,1,4]]}}`).
		want(http.StatusCreated).compacted()
	e.operator("reported", reported)
	own := e.do("POST", "/v1/operators/reported/plans", `{"interval":1,"compact":{"records":[[0,0,4,1,4]]}}`).
		want(http.StatusCreated).compacted()
	e.operator("numbers", `{"instances":2,"theta_max":0,"hash":{"function":"flink","key_type":"int"}}`)
	numbers := e.do("POST", "/v1/operators/numbers/plans", `{"interval":1,"compact":{"records":[[0,0,4,1,4]]}}`).
		want(http.StatusCreated).compacted()
	target := func(id string) string { return "/v1/plans/" + id + "/resolution" }
	const head = "key,from,to\n"
	put := func(name, body, where string) refusal {
		return refusal{name, "PUT", target(homed.ID), body, []string{csv}, unprocessable, "invalid", where}
	}
	e.refused(t, []refusal{
		put("unknown from", head+"a,0,1\nb,7,1\n", "/1/from"),
		put("unknown to", head+"a,0,7\nb,0,1\n", "/0/to"),
		put("key twice", head+"a,0,1\na,0,1\n", "/1/key"),
		put("no key", head+",0,1\n", "/0/key"),
		put("long key", head+strings.Repeat("k", 1025)+",0,1\n", "/0/key"),
		put("negative", head+"a,0,-1\n", "/0/to"),
		put("no column", "key,from\na,0\n", "/to"),
		put("unknown column", "key,from,to,cost\na,0,1,1\n", "/cost"),
		put("hash instance of a known hash", "key,from,to,hash_instance\na,0,1,\nb,0,1,0\n", "/1/hash_instance"),
		put("too few", head+"a,0,1\n", ""),
		put("too many", head+"a,0,1\nb,0,1\nc,0,1\n", ""),
		put("none", head, ""),
		put("another way", head+"a,0,1\nb,1,0\n", ""),
		put("one that stays", head+"a,0,1\nb,0,1\nc,0,0\n", ""),
		{"unknown member", "PUT", target(homed.ID), `{"key":"a","from":0,"to":1,"cost":1}`, []string{ndjson}, unprocessable,
			"invalid", "/0/cost"},
		{"malformed", "PUT", target(homed.ID), `{"key":"a"`, []string{ndjson}, badRequest, "malformed", ""},
		{"no gzip", "PUT", target(homed.ID), head, []string{csv, "Content-Encoding: gzip"}, badRequest, "malformed", ""},
		{"no base64", "PUT", target(homed.ID) + "?key_encoding=base64", head + "a!,0,1\n", []string{csv}, unprocessable,
			"invalid", "/0/key"},
		{"unknown parameter", "PUT", target(homed.ID) + "?interval=1", head, []string{csv}, unprocessable,
			"invalid", "?interval"},
		{"JSON", "PUT", target(homed.ID), `[]`, nil, http.StatusUnsupportedMediaType, "unsupported_media_type", ""},
		{"charset", "PUT", target(homed.ID), head, []string{"Content-Type: text/csv; charset=latin1"},
			http.StatusUnsupportedMediaType, "unsupported_media_type", ""},
		{"content encoding", "PUT", target(homed.ID), head, []string{csv, "Content-Encoding: br"},
			http.StatusUnsupportedMediaType, "unsupported_media_type", ""},
		{"accept", "PUT", target(homed.ID), head, []string{csv, "Accept: text/csv"}, http.StatusNotAcceptable,
			"not_acceptable", ""},
		{"large", "PUT", target(homed.ID), head + strings.Repeat("a,0,1\n", 64<<10), []string{csv},
			http.StatusRequestEntityTooLarge, "too_large", ""},
		{"unknown plan", "PUT", target("none"), head, []string{csv}, http.StatusNotFound, "plan_not_found", ""},
		{"plan of keys", "PUT", target(keys.Id), head, []string{csv}, http.StatusConflict, "resolution_not_needed", ""},
		{"the engine's table", "PUT", target(engine.ID), head, []string{csv}, http.StatusConflict,
			"resolution_not_needed", ""},
		{"no hash instance", "PUT", target(own.ID), head + "a,0,1\nb,0,1\n", []string{csv}, unprocessable, "invalid",
			"/0/hash_instance"},
		{"one hash instance missing", "PUT", target(own.ID), "key,from,to,hash_instance\na,0,1,0\nb,0,1,\n", []string{csv},
			unprocessable, "invalid", "/1/hash_instance"},
		{"unknown hash instance", "PUT", target(own.ID), "key,from,to,hash_instance\na,0,1,0\nb,0,1,3\n", []string{csv},
			unprocessable, "invalid", "/1/hash_instance"},
		{"another hash instance", "PUT", target(own.ID), "key,from,to,hash_instance\na,0,1,0\nb,0,1,1\n", []string{csv},
			unprocessable, "invalid", ""},
		{"key without hash", "PUT", target(numbers.ID), head + "1,0,1\na,0,1\n", []string{csv}, unprocessable,
			"invalid", "/1/key"},
	})
	// Every way that differs is told, with both numbers.
	a := e.do("PUT", target(homed.ID), head+"a,0,1\nb,1,0\nc,1,0\n", csv).fails(unprocessable, "invalid", "")
	var details []string
	for _, e := range a.problem().Errors {
		details = append(details, e.Detail)
	}
	if want := []string{
		"from 0, with hash instance 0, to 1: the plan has 2 keys, 1 are named",
		"from 1, with hash instance 0, to 0: the plan has 0 keys, 2 are named",
	}; !slices.Equal(details, want) {
		t.Errorf("%q", details)
	}
	idle := e.do("POST", "/v1/operators/reported/plans", `{"interval":2,"compact":{"records":[[0,0,1,1,1],[1,0,1,1,1]]}}`).
		want(http.StatusCreated).compacted()
	e.do("PUT", target(idle.ID), head, csv).fails(http.StatusConflict, "transition_not_allowed", "")
	if detail := e.do("PUT", target(idle.ID), head, csv).problem().Detail; idle.Status != "no_action" ||
		detail != "There is nothing to resolve: the plan is no_action." {
		t.Errorf("resolving a plan that is %s: %q", idle.Status, detail)
	}
	e.do("PUT", target(own.ID), `{"key":"a","from":0,"to":1,"hash_instance":0}`+"\n"+
		`{"key":"b","hash_instance":0,"from":0,"to":1}`, ndjson).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+own.ID+"/commit", stopped).want(http.StatusOK)

	e.do("POST", "/v1/plans/"+homed.ID+"/abort", "").want(http.StatusOK)
	e.do("PUT", target(homed.ID), head+"a,0,1\nb,0,1\n", csv).fails(http.StatusConflict, "transition_not_allowed", "")
	e.do("DELETE", "/v1/operators/homed", "").want(http.StatusNoContent)
	e.do("PUT", target(homed.ID), head, csv).fails(http.StatusGone, "purged", "")
}

// TestResolvedChanges: entries are added, altered and removed.
func TestResolvedChanges(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(allAtHome, `"instances":2`, `"instances":4`, 1))
	const plans = "/v1/operators/clicks/plans"
	// Keys a … f get entries for 1.
	p := e.do("POST", plans,
		`{"interval":1,"columns":{"key":["a","b","c","d","e","f"],"cost":[1,1,1,1,1,1],"instance":[1,1,1,1,1,1]}}`).want(
		http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	table := func() map[string]int32 {
		var got struct{ Entries []entry }
		e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).into(&got)
		return entries(wire.TableDiff{Set: got.Entries})
	}
	before := table()
	at := map[string]int32{}
	for _, key := range strings.Split("abcdef", "") {
		at[key] = before[key] // 0 where there is none
	}
	// The more to do, the higher the instance.
	var records []string
	count := map[int32]int{}
	for _, d := range at {
		count[d]++
	}
	for d, n := range count {
		records = append(records, fmt.Sprintf("[%d,0,%d,1,%d]", d, 1+9*d, n))
	}
	q := e.do("POST", plans, `{"interval":2,"compact":{"records":[`+strings.Join(records, ",")+`]}}`).
		want(http.StatusCreated).compacted()
	if q.Status != "approved" || q.RoutingTable.SizeBefore != int64(len(before)) {
		t.Fatalf("%+v", q)
	}
	var lines []string
	want := table()
	for _, m := range q.classes(t) {
		for key, d := range at {
			if m[5] == 0 || d != int32(m[1]) {
				continue
			}
			m[5]--
			lines = append(lines, fmt.Sprintf("%s,%v,%v", key, m[1], m[0]))
			at[key] = int32(m[0])
			if delete(want, key); m[0] != 0 {
				want[key] = int32(m[0])
			}
			if m[1] == m[0] {
				t.Fatalf("%v", m)
			}
		}
	}
	r := e.do("PUT", "/v1/plans/"+q.ID+"/resolution", "key,from,to\n"+strings.Join(lines, "\n"), csv).
		want(http.StatusOK).compacted()
	if *r.ResolvedKeys != int64(len(lines)) || len(lines) == 0 {
		t.Errorf("%+v", r)
	}
	e.do("POST", "/v1/plans/"+q.ID+"/commit", stopped).want(http.StatusOK)
	equalMaps(t, "table", table(), want)
}

// TestResolvedAlready: what the table says already is no change.
func TestResolvedAlready(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", allAtHome)
	const plans = "/v1/operators/clicks/plans"
	resolve := func(id, rows string) compacted {
		t.Helper()
		e.do("PUT", "/v1/plans/"+id+"/resolution", "key,from,to\n"+rows, csv).want(http.StatusOK)
		return e.do("GET", "/v1/plans/"+id+"?include=routing_table", "").want(http.StatusOK).compacted()
	}
	// Four keys are on 1 without entries, and two go home.
	p := e.do("POST", plans, `{"interval":1,"compact":{"records":[[1,0,4,1,4]]}}`).want(http.StatusCreated).compacted()
	if r := resolve(p.ID, "a,1,0\nb,1,0\n"); *r.ResolvedKeys != 2 || r.RoutingTable.Set == nil || len(r.RoutingTable.Set)+
		len(r.RoutingTable.Unset) != 0 {
		t.Errorf("%+v", r)
	}
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	// Two keys with entries for 1 are on 0, and go where their entries say.
	keys := e.do("POST", plans,
		`{"interval":2,"columns":{"key":["a","b","c","d"],"cost":[1,1,1,1],"instance":[0,0,0,0]}}`).want(http.StatusCreated).
		plan()
	e.do("POST", "/v1/plans/"+keys.Id+"/commit", stopped).want(http.StatusOK)
	p = e.do("POST", plans, `{"interval":3,"compact":{"records":[[0,0,1,1,4]]}}`).want(http.StatusCreated).compacted()
	if r := resolve(p.ID, keys.Migrations[0].Key+",0,1\n"+keys.Migrations[1].Key+",0,1\n"); *r.ResolvedKeys != 2 ||
		len(r.RoutingTable.Set)+len(r.RoutingTable.Unset) != 0 {
		t.Errorf("%+v", r)
	}
	if done := e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK).compacted(); *done.Version != 3 {
		t.Errorf("%+v", done)
	}
	if a := e.do("GET", "/v1/operators/clicks/routing-table", "", "Accept: text/csv").
		want(http.StatusOK); strings.Count(string(a.body), ",1,\n") != 2 {
		t.Errorf("%s", a.body)
	}
}

// TestResolutionAcrossHashes: when the hash changes, keys that stay elsewhere
// than their new hash instance need entries, so they must be named.
func TestResolutionAcrossHashes(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0.2,"hash":{"function":"modulo"}}`)
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"theta_max":0.2,"hash":{"function":"modulo"}}`).want(http.StatusOK)
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
	two, three := hash(2), hash(3)
	type key struct {
		name     string
		at, home int32
	}
	var keys []key
	records := map[[2]int32]int{}
	for i := range 300 {
		name := fmt.Sprint("key-", i)
		at, err := two.Instance([]byte(name), planner.KeyHash([]byte(name)))
		if err != nil {
			t.Fatal(err)
		}
		home, err := three.Instance([]byte(name), planner.KeyHash([]byte(name)))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key{name, at, home})
		records[[2]int32{at, home}]++
	}
	var list []string
	for f, n := range records {
		list = append(list, fmt.Sprintf("[%d,%d,1,1,%d]", f[0], f[1], n))
	}
	statistics := func(more string) string {
		return `{"interval":1,` + more + `"compact":{"records":[` + strings.Join(list, ",") + `]}}`
	}
	e.do("POST", "/v1/operators/clicks/plans", statistics(`"coverage":"partial",`)).
		fails(http.StatusConflict, "complete_coverage_required", "")
	p := e.do("POST", "/v1/operators/clicks/plans", statistics("")).want(http.StatusCreated).compacted()
	if p.Status != "approved" || !p.Balanced {
		t.Fatalf("%+v", p)
	}
	left := map[[3]int32]int{}
	for _, m := range p.classes(t) {
		if m[0] == m[1] {
			t.Errorf("%v moves nowhere", m)
		}
		left[[3]int32{int32(m[1]), int32(m[2]), int32(m[0])}] += int(m[5])
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	moved, stay, want, after := "", "", map[string]int32{}, map[string]int32{}
	for _, k := range keys {
		to := k.at
		for d := range int32(3) {
			if f := [3]int32{k.at, k.home, d}; left[f] > 0 {
				left[f]--
				to = d
				moved += fmt.Sprintf("%s,%d,%d\n", k.name, k.at, d)
				break
			}
		}
		if to == k.at && to != k.home {
			stay += fmt.Sprintf("%s,%d,%d\n", k.name, to, to)
		}
		if after[k.name] = to; to != k.home {
			want[k.name] = to
		}
	}
	if stay == "" || moved == "" {
		t.Fatalf("%d bytes of keys that stay, %d of keys that move: the test tests nothing", len(stay), len(moved))
	}
	e.do("PUT", "/v1/plans/"+p.ID+"/resolution", "key,from,to\n"+moved, csv).fails(unprocessable, "invalid", "")
	r := e.do("PUT", "/v1/plans/"+p.ID+"/resolution", "key,from,to\n"+moved+stay, csv).want(http.StatusOK).compacted()
	if r.RoutingTable.SizeAfter != int64(len(want)) || int(*r.ResolvedKeys) != strings.Count(moved+stay, "\n") {
		t.Errorf("%+v, want %d entries", r, len(want))
	}
	if list := e.do("GET", "/v1/plans/"+p.ID+"?include=migrations", "").want(http.StatusOK).
		compacted(); string(list.Migrations) != string(p.Migrations) {
		t.Error("keys that stay are listed among those that move")
	}
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	for name, d := range after {
		var route struct{ Instance int32 }
		e.do("GET", "/v1/operators/clicks/route?key="+name, "").want(http.StatusOK).into(&route)
		if route.Instance != d {
			t.Fatalf("%s is routed to %d, it is on %d", name, route.Instance, d)
		}
	}
}

// TestResolutionOfAnOldBase: another commit makes a resolution worthless.
func TestResolutionOfAnOldBase(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) {
		f.Store = c.Store
		c.Store = f
	})
	homed := e.classPlan()
	const rows = "key,from,to\na,0,1\nb,0,1\n"
	for code, err := range map[string]error{"base_changed": store.ErrBaseChanged,
		"transition_not_allowed": store.ErrTransition} {
		f.set("ResolvePlan", err)
		e.do("PUT", "/v1/plans/"+homed.ID+"/resolution", rows, csv).fails(http.StatusConflict, code, "")
		f.set("ResolvePlan", nil)
	}
	later := e.do("POST", "/v1/operators/homed/plans",
		`{"interval":2,"keys":[{"key":"a","cost":4},{"key":"b","cost":4}]}`).want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+later.Id+"/commit", stopped).want(http.StatusOK)
	e.do("PUT", "/v1/plans/"+homed.ID+"/resolution", rows, csv).fails(http.StatusConflict, "transition_not_allowed", "")
}

// entries returns the committed table of an operator.
func (e *env) entries(operator string) map[string]int32 {
	e.Helper()
	var got struct{ Entries []entry }
	e.do("GET", "/v1/operators/"+operator+"/routing-table", "").want(http.StatusOK).into(&got)
	return entries(wire.TableDiff{Set: got.Entries})
}

// spread makes an operator "clicks" of three instances with nine keys, k0 … k8,
// whose hash instance is 0, and returns the six of them that have entries.
func (e *env) spread() map[string]int32 {
	e.Helper()
	e.operator("clicks", `{"instances":3,"theta_max":0.1,"hash":{"function":"reported"}}`)
	var rows []string
	for i := range 9 {
		rows = append(rows, fmt.Sprintf(`{"key":"k%d","cost":10,"hash_instance":0}`, i))
	}
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[`+strings.Join(rows, ",")+`]}`).
		want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	entries := e.entries("clicks")
	if len(entries) != 6 {
		e.Fatalf("%v", entries)
	}
	return entries
}

// TestEntriesAcrossHashes: when the hash changes, the new table has the entries
// that the resolution names and no other: not those of keys that their hash now
// puts where they are, nor those of keys that are no more, on an instance that is
// no more.
func TestEntriesAcrossHashes(t *testing.T) {
	e := newEnv(t)
	on := map[int32][]string{}
	for key, d := range e.spread() {
		on[d] = append(on[d], key)
	}
	// Of the keys on 2, which is removed, one is left. Those on 1 are at home now.
	const two = `{"instances":[{"id":0},{"id":1}],"theta_max":0.1,"table_limit":2,"hash":{"function":"reported"}}`
	e.do("PUT", "/v1/operators/clicks", two).want(http.StatusOK)
	p := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":2,"compact":{"records":[[0,0,10,10,3],[0,1,10,10,1],[1,1,10,10,3],[2,0,10,10,1]]}}`).want(
		http.StatusCreated).compacted()
	keys := map[[2]float64][]string{{0, 0}: {"a", "b", "c"}, {0, 1}: {"d"}, {1, 1}: on[1], {2, 0}: on[2][:1]}
	rows, want := "key,from,to,hash_instance\n", map[string]int32{}
	name := func(from, home, to float64) {
		of := [2]float64{from, home}
		key := keys[of][0]
		keys[of] = keys[of][1:]
		rows += fmt.Sprintf("%s,%v,%v,%v\n", key, from, to, home)
		if to != home {
			want[key] = int32(to)
		}
	}
	for _, m := range p.classes(t) {
		for range int(m[5]) {
			name(m[1], m[2], m[0])
		}
	}
	for len(keys[[2]float64{0, 1}]) > 0 { // it stays, and needs an entry
		name(0, 1, 0)
	}
	if p.Status != "approved" || p.RoutingTable.SizeBefore != 6 || p.RoutingTable.SizeAfter != int64(len(want)) ||
		!p.TableWithinLimit || len(want) == 0 {
		t.Fatalf("want %v: %+v", want, p)
	}
	r := e.do("PUT", "/v1/plans/"+p.ID+"/resolution", rows, csv).want(http.StatusOK).compacted()
	if r.RoutingTable.SizeAfter != int64(len(want)) || !r.TableWithinLimit {
		t.Errorf("%+v", r)
	}
	// A later configuration makes no difference, not even one with the old hash.
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"hash":{"function":"reported"}}`).want(http.StatusOK)
	e.do("PUT", "/v1/plans/"+p.ID+"/resolution", rows, csv).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	equalMaps(t, "table", e.entries("clicks"), want)
	// The statistics of keys that were gone are taken again.
	e.do("PUT", "/v1/operators/clicks", two).want(http.StatusOK)
	e.do("POST", "/v1/operators/clicks/plans",
		fmt.Sprintf(`{"interval":3,"keys":[{"key":%q,"cost":10,"hash_instance":0}]}`, on[2][1])).want(http.StatusCreated)
}

// TestSizeOfTheResolvedTable: a resolution makes the size of the table known, and
// is taken also when that is over the limit.
func TestSizeOfTheResolvedTable(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(allAtHome, `"theta_max":0`, `"theta_max":0,"table_limit":2`, 1))
	const plans = "/v1/operators/clicks/plans"
	first := e.do("POST", plans, `{"interval":1,"columns":{"key":["a","b","c","d"],"cost":[1,1,1,1]}}`).
		want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+first.Id+"/commit", stopped).want(http.StatusOK)
	var there, home []string // keys with and without entries
	for _, key := range strings.Split("abcd", "") {
		if _, ok := e.entries("clicks")[key]; ok {
			there = append(there, key)
		} else {
			home = append(home, key)
		}
	}
	p := e.do("POST", plans, `{"interval":2,"compact":{"records":[[0,0,3,1,2],[1,0,1,1,2]]}}`).
		want(http.StatusCreated).compacted()
	if len(there) != 2 || p.RoutingTable.SizeBefore != 2 || p.RoutingTable.SizeAfter != 2 || !p.TableWithinLimit ||
		len(p.classes(t)) != 2 {
		t.Fatalf("%+v", p)
	}
	check := func(at string, got compacted, size int64, within bool) {
		t.Helper()
		if got.RoutingTable.SizeBefore != 2 || got.RoutingTable.SizeAfter != size || got.TableWithinLimit != within {
			t.Errorf("%s: %+v, within the limit: %t; want %d entries, %t", at, got.RoutingTable,
				got.TableWithinLimit, size, within)
		}
	}
	for _, c := range []struct {
		out, back string
		size      int64
		within    bool
	}{
		{home[0], "nobody", 3, false}, // no entry is removed
		{there[0], there[1], 1, true}, // none is added, and one removed
		{home[0], there[0], 2, true},  // as planned
		{"new", "nobody", 3, false},
	} {
		put := e.do("PUT", "/v1/plans/"+p.ID+"/resolution", fmt.Sprintf("key,from,to\n%s,0,1\n%s,1,0\n", c.out, c.back), csv).
			want(http.StatusOK)
		check("resolved", put.compacted(), c.size, c.within)
		get := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK)
		check("read", get.compacted(), c.size, c.within)
		if get.header.Get("ETag") != put.header.Get("ETag") {
			t.Error("the answer is not the plan as it is read")
		}
		var list struct{ Plans []compacted }
		e.do("GET", plans, "").want(http.StatusOK).into(&list)
		check("listed", list.Plans[0], c.size, c.within)
	}
	check("committed", e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK).compacted(), 3, false)
	equalMaps(t, "table", e.entries("clicks"), map[string]int32{there[0]: 1, there[1]: 1, "new": 1})
	if metrics := string(e.do("GET", "/metrics", "").want(http.StatusOK).body); !strings.Contains(metrics,
		`plannerd_routing_table_entries{operator="clicks"} 3`) {
		t.Error("the metrics have another size of the table")
	}
}

package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/sdk/go/wire"
)

// allAtHome is an operator whose hash puts every key on instance 0.
const allAtHome = `{"instances":2,"theta_max":0,"hash":{"function":"kafka","partitions":1,"assignment":[0]}}`

// compacted is what a plan says about the compact form.
type compacted struct {
	ID, Status, Strategy, Migrates, InputHash string
	BaseVersion                               int64
	Version, ResolvedKeys                     *int64
	Balanced, TableWithinLimit                bool
	Causes                                    []string
	Theta                                     struct{ Before, After float64 }
	Migration                                 struct {
		Keys  int64
		State float64
	}
	Parameters struct {
		Compact jsontext.Value
	}
	Certificate struct{ Scope string }
	Compaction  *struct {
		Degree                *int
		CostScale, StateScale float64
		Records, Keys         int64
		Error                 *struct{ Before, After float64 }
	}
	Instances []struct {
		ID                    int32
		KeysBefore, KeysAfter int64
		LoadBefore, LoadAfter float64
		LoadError             *struct{ Before, After float64 }
	}
	HotKeys []struct {
		Key   *string
		Class []float64
	}
	RoutingTable wire.TableDiff
	Migrations   jsontext.Value
}

func (a *answer) compacted() compacted {
	a.Helper()
	var p compacted
	a.into(&p)
	return p
}

// classes returns the migrations of a plan of classes.
func (p compacted) classes(t testing.TB) (out [][]float64) {
	t.Helper()
	if err := json.Unmarshal(p.Migrations, &out); err != nil {
		t.Fatalf("%v: %s", err, p.Migrations)
	}
	return out
}

// tableAfter is the size of the table before, and what the moves of classes make of it.
func (p compacted) tableAfter(t testing.TB) int64 {
	t.Helper()
	size := p.RoutingTable.SizeBefore
	for _, m := range p.classes(t) {
		switch {
		case m[0] == m[2]:
			size -= int64(m[5])
		case m[1] == m[2]:
			size += int64(m[5])
		}
	}
	return size
}

// classPlan makes an operator "homed" with a plan that moves two of four keys
// from instance 0, where the hash puts all, to 1.
func (e *env) classPlan() compacted {
	e.Helper()
	e.operator("homed", allAtHome)
	return e.do("POST", "/v1/operators/homed/plans", `{"interval":1,"compact":{"records":[[0,0,4,1,4]]}}`).
		want(http.StatusCreated).compacted()
}

// TestCompactedKeys: statistics of keys are planned on in compact form when they
// or their operator say so, in every format, and the plan is one of keys.
func TestCompactedKeys(t *testing.T) {
	e := newEnv(t)
	const query = "/v1/operators/%s/plans?interval=1&compact_degree=4&cost_scale=0.5&state_scale=1"
	with := func(rows string) string {
		return `{"interval":1,"compact":{"degree":4,"cost_scale":0.5,"state_scale":1},` + rows + `}`
	}
	post := map[string]func(operator string) *answer{
		"rows": func(o string) *answer {
			return e.do("POST", "/v1/operators/"+o+"/plans", with(`"keys":[`+jsonRows(figure4)+`]`))
		},
		"columns": func(o string) *answer {
			return e.do("POST", "/v1/operators/"+o+"/plans", with(`"columns":`+jsonColumns(figure4)))
		},
		"csv": func(o string) *answer { return e.do("POST", fmt.Sprintf(query, o), csvRows(figure4), csv) },
		"ndjson": func(o string) *answer {
			return e.do("POST", fmt.Sprintf(query, o), strings.ReplaceAll(jsonRows(figure4), "},", "}\n"), ndjson)
		},
	}
	var first plan
	for _, name := range []string{"rows", "columns", "csv", "ndjson"} {
		e.operator(name, reported)
		made := post[name](name).want(http.StatusCreated)
		p, got := made.plan(), made.compacted()
		if string(got.Parameters.Compact) != `{"degree":4,"cost_scale":0.5,"state_scale":1}` || got.Migrates != "keys" ||
			got.ResolvedKeys != nil || got.Certificate.Scope != "keys" {
			t.Errorf("%s: %s", name, made.body)
		}
		c := got.Compaction
		if c == nil || c.Degree == nil || *c.Degree != 4 || c.CostScale != 0.5 || c.StateScale != 1 || c.Keys != 6 ||
			c.Records < 1 || c.Records > 6 || c.Error == nil {
			t.Fatalf("%s: %s", name, made.body)
		}
		worst := 0.0
		for _, d := range got.Instances {
			if d.LoadError == nil {
				t.Fatalf("%s: no load error: %s", name, made.body)
			}
			worst = max(worst, d.LoadError.Before)
		}
		if worst != c.Error.Before {
			t.Errorf("%s: the greatest error is %v, not %v", name, worst, c.Error.Before)
		}
		if first.Id == "" {
			first = p
		}
		if len(p.Migrations) == 0 || !slices.Equal(p.Migrations, first.Migrations) || p.InputHash != first.InputHash {
			t.Errorf("%s: another plan: %v", name, p.Migrations)
		}
		read := e.do("GET", "/v1/plans/"+p.Id, "").want(http.StatusOK).compacted()
		var list struct{ Plans []compacted }
		e.do("GET", "/v1/operators/"+name+"/plans", "").want(http.StatusOK).into(&list)
		for _, again := range []compacted{read, list.Plans[0]} {
			if again.Compaction == nil || *again.Compaction.Degree != 4 || *again.Compaction.Error != *c.Error {
				t.Errorf("%s, read again: %+v", name, again.Compaction)
			}
		}
		e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	}
	// The operator's own word, unless the statistics have one.
	e.operator("own", strings.Replace(reported, "{", `{"compact":{"degree":8},`, 1))
	p := e.do("POST", "/v1/operators/own/plans", interval(1, "")).want(http.StatusCreated).compacted()
	if p.Compaction == nil || *p.Compaction.Degree != 8 || p.Compaction.CostScale != 1 ||
		string(p.Parameters.Compact) != `{"degree":8,"cost_scale":null,"state_scale":null}` {
		t.Errorf("%+v", p)
	}
	p = e.do("POST", "/v1/operators/own/plans", interval(2, `,"compact":{"degree":0}`)).
		want(http.StatusCreated).compacted()
	if p.Compaction != nil || string(p.Parameters.Compact) != `{"degree":0,"cost_scale":null,"state_scale":null}` ||
		p.Instances[0].LoadError != nil {
		t.Errorf("%+v", p)
	}
}

// TestCompactFingerprint: another compact form is another request.
func TestCompactFingerprint(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	const one = `,"compact":{"degree":2,"cost_scale":1}`
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, one)).want(http.StatusCreated).plan()
	if q := e.do("POST", "/v1/operators/clicks/plans", interval(1, `,"compact":{"cost_scale":1e0,"degree":2}`)).
		want(http.StatusOK).plan(); q.Id != p.Id {
		t.Error("the same request made another plan")
	}
	for _, other := range []string{"", `,"compact":{"degree":4,"cost_scale":1}`, `,"compact":{"degree":2,"cost_scale":2}`,
		`,"compact":{"degree":2,"state_scale":1}`, `,"compact":{"degree":0}`} {
		e.do("POST", "/v1/operators/clicks/plans", interval(1, other)).fails(http.StatusConflict, "interval_planned", "")
	}
	records := func(more, list string) string {
		return `{"interval":2,"compact":{` + more + `"records":[` + list + `]}}`
	}
	made := e.do("POST", "/v1/operators/clicks/plans", records("", "[0,0,4,1,3],[1,1,1,1,1]")).
		want(http.StatusCreated).compacted()
	// Neither the order of records nor their splitting makes a difference.
	same := e.do("POST", "/v1/operators/clicks/plans",
		records(`"cost_scale":1,"state_scale":1,`, "[1,1,1,1,1],[0,0,4,1,1],[0,0,4.0,1,2]")).want(http.StatusOK).compacted()
	if same.ID != made.ID {
		t.Error("the same records made another plan")
	}
	// Nor does what their degree is said to be.
	for _, degree := range []string{`"degree":4,`, `"degree":1,`} {
		if same = e.do("POST", "/v1/operators/clicks/plans", records(degree, "[0,0,4,1,3],[1,1,1,1,1]")).want(http.StatusOK).
			compacted(); same.ID != made.ID {
			t.Error("the same records made another plan")
		}
	}
	// Real values are the same here, discretised ones are not.
	e.do("POST", "/v1/operators/clicks/plans", records(`"cost_scale":2,`, "[0,0,2,1,3],[1,1,0.5,1,1]")).
		fails(http.StatusConflict, "interval_planned", "")
}

// TestRecords: the whole life of a plan of classes.
func TestRecords(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", allAtHome)
	const body = `{"interval":1,"compact":{"degree":4,"cost_scale":0.5,"state_scale":100,"records":[[0,0,8,4,4],[0,0,1,2,6]]}}`
	created := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated)
	p := created.compacted()
	if p.Status != "approved" || p.Migrates != "classes" || p.ResolvedKeys != nil || p.Certificate.Scope != "classes" ||
		!p.Balanced || p.RoutingTable.Set != nil {
		t.Fatalf("%s", created.body)
	}
	if c := p.Compaction; *c.Degree != 4 || c.CostScale != 0.5 || c.StateScale != 100 || c.Records != 2 || c.Keys != 10 ||
		c.Error != nil || p.Instances[0].LoadError != nil {
		t.Errorf("%s", created.body)
	}
	moved := int64(0)
	for _, m := range p.classes(t) {
		if len(m) != 6 || m[0] != 1 || m[1] != 0 || m[2] != 0 {
			t.Errorf("%v", m)
		}
		moved += int64(m[5])
	}
	if moved != p.Migration.Keys || p.Instances[0].LoadBefore != 19 || p.Instances[0].KeysBefore != 10 ||
		p.RoutingTable.SizeBefore != 0 || p.RoutingTable.SizeAfter != moved {
		t.Errorf("%d keys move: %s", moved, created.body)
	}
	// CSV says the same.
	again := e.do("POST", "/v1/operators/clicks/plans?interval=1&compact_degree=4&cost_scale=0.5&state_scale=100",
		"instance,hash_instance,cost,state,count\n0,0,8,4,3\n0,0,8,4,1\n0,0,1,2,6\n", csv)
	if q := again.want(http.StatusOK).compacted(); q.ID != p.ID || string(q.Migrations) != string(p.Migrations) {
		t.Errorf("%s", again.body)
	}
	plan := "/v1/plans/" + p.ID
	whole := e.do("GET", plan+"?include=migrations,routing_table", "").want(http.StatusOK).compacted()
	if string(whole.Migrations) != string(p.Migrations) || whole.RoutingTable.Set != nil ||
		whole.RoutingTable.Unset != nil {
		t.Errorf("%+v", whole)
	}
	e.do("GET", plan+"/routing-table", "").fails(http.StatusConflict, "resolution_required", "")
	e.do("POST", plan+"/commit", stopped).fails(http.StatusConflict, "resolution_required", "")

	var rows []string
	for i := range moved {
		rows = append(rows, fmt.Sprintf("key-%d,0,1", i))
	}
	table := "key,from,to\n" + strings.Join(rows, "\n")
	resolved := e.do("PUT", plan+"/resolution", table, csv).want(http.StatusOK)
	r := resolved.compacted()
	if r.ResolvedKeys == nil || *r.ResolvedKeys != moved || r.Status != "approved" || r.Migrates != "classes" {
		t.Errorf("%s", resolved.body)
	}
	if got := e.do("GET", plan, "").want(http.StatusOK); got.header.Get("ETag") != resolved.header.Get("ETag") {
		t.Error("the answer is not the plan as it is read")
	}
	e.do("PUT", plan+"/resolution", table, csv).want(http.StatusOK)
	// Other keys of the classes replace them.
	other := strings.ReplaceAll(table, "key-", "other-")
	lines := ""
	for i := range moved {
		lines += fmt.Sprintf(`{"to":1,"key":"other-%d","from":0}`+"\n", i)
	}
	e.do("PUT", plan+"/resolution", lines, ndjson).want(http.StatusOK)
	e.do("PUT", plan+"/resolution", string(compressed(t, "zstd", other)), csv, "Content-Encoding: zstd").
		want(http.StatusOK)
	whole = e.do("GET", plan+"?include=routing_table", "").want(http.StatusOK).compacted()
	if len(whole.RoutingTable.Set) != int(moved) || whole.RoutingTable.Set[0] != (entry{Key: "other-0", Instance: 1}) ||
		len(whole.RoutingTable.Unset) != 0 {
		t.Errorf("%+v", whole.RoutingTable)
	}
	if a := e.do("GET", plan+"/routing-table", "", "Accept: text/csv").
		want(http.StatusOK); !strings.HasPrefix(string(a.body),
		"key,instance,previous,parts,previous_parts\nother-0,1,,,\n") {
		t.Errorf("%s", a.body)
	}
	done := e.do("POST", plan+"/commit", stopped).want(http.StatusOK).compacted()
	if done.Version == nil || *done.Version != 1 {
		t.Errorf("%+v", done)
	}
	e.do("POST", plan+"/commit", stopped).want(http.StatusOK)
	e.do("PUT", plan+"/resolution", other, csv).fails(http.StatusConflict, "transition_not_allowed", "")
	entries := e.do("GET", "/v1/operators/clicks/routing-table", "", "Accept: text/csv").want(http.StatusOK)
	if n := strings.Count(string(entries.body), ",1,\n"); n != int(moved) {
		t.Errorf("%s", entries.body)
	}
	metrics := string(e.do("GET", "/metrics", "").want(http.StatusOK).body)
	if want := fmt.Sprintf(`plannerd_routing_table_entries{operator="clicks"} %d`, moved); !strings.Contains(
		metrics, want) {
		t.Errorf("metrics lack %s", want)
	}
	// The engine has moved them: the same keys are balanced now.
	var after []string
	for _, m := range p.classes(t) {
		after = append(after, fmt.Sprintf("[1,0,%v,%v,%v]", m[3], m[4], m[5]))
	}
	next := e.do("POST", "/v1/operators/clicks/plans",
		fmt.Sprintf(`{"interval":2,"table_version":1,"compact":{"cost_scale":0.5,"state_scale":100,"records":[%s,%s]}}`,
			strings.Join(after, ","), strings.Join(remaining(p.classes(t)), ","))).want(http.StatusCreated).compacted()
	if next.Status != "no_action" || !slices.Contains(next.Causes, "balanced") || next.RoutingTable.SizeBefore != moved ||
		next.RoutingTable.SizeAfter != moved || next.BaseVersion != 1 || next.Compaction.Degree != nil {
		t.Errorf("%+v", next)
	}
	for version, code := range map[int]string{0: "table_version_outdated", 2: "table_version_ahead"} {
		e.do("POST", "/v1/operators/clicks/plans",
			fmt.Sprintf(`{"interval":3,"table_version":%d,"compact":{"records":[[0,0,1,1,1]]}}`, version)).
			fails(http.StatusConflict, code, "")
	}
	// What was planned before is found although its version is outdated now.
	if q := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusOK).compacted(); q.ID != p.ID {
		t.Errorf("%+v", q)
	}
	// Of an unresolved plan of no migrations, nothing is known either.
	e.do("GET", "/v1/plans/"+next.ID+"/routing-table", "").fails(http.StatusConflict, "resolution_required", "")
}

// remaining are the records of TestRecords that stay, as moves leave them.
func remaining(moves [][]float64) (out []string) {
	left := map[float64]float64{8: 4, 1: 6}
	state := map[float64]float64{8: 4, 1: 2}
	for _, m := range moves {
		left[m[3]] -= m[5]
	}
	for _, v := range []float64{8, 1} {
		if left[v] > 0 {
			out = append(out, fmt.Sprintf("[0,0,%v,%v,%v]", v, state[v], left[v]))
		}
	}
	return out
}

// TestClassLists: the long list of a plan of classes in all its ways.
func TestClassLists(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.01,"hash":{"function":"reported"}}`)
	var records []string
	for i := range 300 {
		records = append(records, fmt.Sprintf("[0,%d,%d,%d,%d]", i%2, 1+i%37, 1+i%11, 1+i%5))
	}
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"compact":{"records":[`+strings.Join(records, ",")+
		`]}}`).want(http.StatusCreated).compacted()
	all := p.classes(t)
	base := "/v1/plans/" + p.ID + "/migrations"
	pages := func(query string) (got [][]float64) {
		var page struct {
			Migrations    [][]float64
			NextPageToken *string
		}
		for token := ""; ; token = "&page_token=" + url.QueryEscape(*page.NextPageToken) {
			page.Migrations, page.NextPageToken = nil, nil
			e.do("GET", base+"?page_size=17"+query+token, "").want(http.StatusOK).into(&page)
			got = append(got, page.Migrations...)
			if page.NextPageToken == nil {
				return got
			}
		}
	}
	if got := pages(""); len(all) < 100 || !slices.EqualFunc(got, all, slices.Equal) {
		t.Errorf("%d moves in pages, want %d", len(got), len(all))
	}
	for by, column := range map[string]int{"cost": 3, "state": 4, "count": 5} {
		got := pages("&sort=" + by)
		if len(got) != len(all) || !slices.IsSortedFunc(got, func(a, b []float64) int { return int(b[column] - a[column]) }) {
			t.Errorf("by %s: %v", by, got)
		}
	}
	only := pages("&instance=2")
	if want := slices.DeleteFunc(slices.Clone(all), func(m []float64) bool { return m[0] != 2 }); !slices.EqualFunc(only,
		want, slices.Equal) || len(only) == len(all) {
		t.Errorf("of instance 2: %v", only)
	}
	lines := strings.Split(strings.TrimSpace(string(e.do("GET", base, "", "Accept: application/x-ndjson").
		want(http.StatusOK).body)), "\n")
	if len(lines) != len(all) || !strings.HasPrefix(lines[0], "[") {
		t.Errorf("%d lines, %q", len(lines), lines[0])
	}
	rows := strings.Split(strings.TrimSpace(string(e.do("GET", base+"?sort=count", "", "Accept: text/csv").
		want(http.StatusOK).body)), "\n")
	if rows[0] != "planned,instance,hash_instance,cost,state,count" || len(rows) != len(all)+1 ||
		!strings.HasSuffix(rows[1], fmt.Sprint(",", pages("&sort=count")[0][5])) {
		t.Errorf("%q", rows[:2])
	}
	for _, query := range []string{"key_prefix=a", "key_contains=a", "reason=overload", "key_encoding=base64", "sort=key",
		"sort=reason"} {
		name, _, _ := strings.Cut(query, "=")
		e.do("GET", base+"?"+query, "").fails(http.StatusUnprocessableEntity, "invalid", "?"+name)
	}
	keys := e.do("POST", "/v1/operators/clicks/plans", interval(2, "")).want(http.StatusCreated).plan()
	e.do("GET", "/v1/plans/"+keys.Id+"/migrations?sort=count", "").
		fails(http.StatusUnprocessableEntity, "invalid", "?sort")
}

// TestHotClasses: a class too costly for any instance is named by its record,
// and its binary name never shows.
func TestHotClasses(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"theta_max":0.1}`)
	a := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"compact":{"records":[[0,0,255,3,1],[0,1,1,1,8]]}}`).
		want(http.StatusCreated)
	p := a.compacted()
	if len(p.HotKeys) != 1 || p.HotKeys[0].Key != nil || !slices.Equal(p.HotKeys[0].Class, []float64{0, 0, 255, 3, 1}) ||
		strings.Contains(string(a.body), "key_encoding") {
		t.Errorf("%s", a.body)
	}
	b := e.do("POST", "/v1/what-if",
		`{"operator":{"instances":3,"theta_max":0.1},"compact":{"records":[[0,0,255,3,1],[0,1,1,1,8]]}}`).want(http.StatusOK)
	if !strings.Contains(string(b.body), `"class":[0,0,255,3,1]`) || strings.Contains(string(b.body), "key_encoding") {
		t.Errorf("%s", b.body)
	}
}

// TestWhatIfDegrees: one plan per degree, side by side.
func TestWhatIfDegrees(t *testing.T) {
	e := newEnv(t)
	type results struct {
		Results []struct {
			compacted
			Plan *struct {
				RoutingTable wire.TableDiff
				Migrations   jsontext.Value
			}
		}
	}
	check := func(name string, a *answer, strategies int) {
		var out results
		a.want(http.StatusOK).into(&out)
		if len(out.Results) != 3*strategies {
			t.Fatalf("%s: %d results", name, len(out.Results))
		}
		for i, r := range out.Results {
			want := []string{`{"degree":8,"cost_scale":0.5,"state_scale":null}`,
				`{"degree":0,"cost_scale":null,"state_scale":null}`, `{"degree":1,"cost_scale":0.5,"state_scale":null}`}[i%3]
			if string(r.Parameters.Compact) != want || r.Migrates != "keys" || r.Certificate.Scope != "keys" {
				t.Errorf("%s: result %d: %+v", name, i, r)
			}
			if off := i%3 == 1; off != (r.Compaction == nil) || off != (r.Instances[0].LoadError == nil) {
				t.Errorf("%s: result %d: %+v", name, i, r.Compaction)
			} else if !off && (*r.Compaction.Degree != []int{8, 0, 1}[i%3] || r.Compaction.Keys != 6) {
				t.Errorf("%s: result %d: %+v", name, i, r.Compaction)
			}
		}
	}
	rows := `"operator":{"instances":2,"theta_max":0,"compact":{"degree":2,"state_scale":7}},"keys":[` +
		jsonRows(figure4) + `]`
	check("json", e.do("POST", "/v1/what-if", `{`+rows+
		`,"compact":{"degree":2,"cost_scale":0.5},"strategies":["mixed","llfd"],"parameters":{"compact_degree":[8,0,1]}}`), 2)
	check("csv", e.do("POST", "/v1/what-if?instances=2&theta_max=0&compact_degree=8,0,1&cost_scale=0.5",
		csvRows(figure4), csv), 1)
	var one results
	e.do("POST", "/v1/what-if", `{`+rows+`}`).want(http.StatusOK).into(&one)
	if r := one.Results[0]; r.Compaction == nil || *r.Compaction.Degree != 2 || r.Compaction.StateScale != 7 {
		t.Errorf("%+v", r.Compaction)
	}
	for _, a := range []*answer{
		e.do("POST", "/v1/what-if",
			`{"operator":{"instances":2},"compact":{"degree":4,"cost_scale":2,"records":[[0,0,2,1,40],[1,0,4,3,2]]},"plans":true}`),
		e.do("POST", "/v1/what-if?instances=2&compact_degree=4&cost_scale=2&plans=true",
			"count,instance,hash_instance,cost,state\n40,0,0,2,1\n2,1,0,4,3\n", csv),
	} {
		var out results
		a.want(http.StatusOK).into(&out)
		r := out.Results[0]
		if r.Migrates != "classes" || r.Compaction.Keys != 42 || *r.Compaction.Degree != 4 || r.Compaction.Error != nil ||
			r.Certificate.Scope != "classes" ||
			string(r.Parameters.Compact) != `{"degree":0,"cost_scale":null,"state_scale":null}` ||
			r.Plan.RoutingTable.Set != nil || r.RoutingTable.SizeBefore != 2 {
			t.Errorf("%s", a.body)
		}
		if moves := (compacted{Migrations: r.Plan.Migrations}).classes(t); len(moves) == 0 || len(moves[0]) != 6 {
			t.Errorf("%s", a.body)
		}
	}
}

// TestRefusedCompact: what is wrong with a compact form.
func TestRefusedCompact(t *testing.T) {
	e, _ := prepared(t)
	const plans, csvPlans = "/v1/operators/clicks/plans", "/v1/operators/clicks/plans?interval=2"
	const header = "instance,hash_instance,cost,state,count\n"
	put := func(name, compact, where string) refusal {
		return refusal{name, "PUT", "/v1/operators/clicks", `{"instances":2,"theta_max":0,"compact":` + compact + `}`, nil,
			unprocessable, "invalid", where}
	}
	keys := func(name, compact, where string) refusal {
		return refusal{name, "POST", plans, `{"interval":2,"keys":[{"key":"a","cost":1e9,"state":3}],"compact":` + compact +
			`}`, nil, unprocessable, "invalid", where}
	}
	records := func(name, more, list, where string) refusal {
		return refusal{name, "POST", plans, `{"interval":2,"compact":{` + more + `"records":[` + list + `]}}`, nil,
			unprocessable, "invalid", where}
	}
	whatIf := func(name, body, where string) refusal {
		return refusal{name, "POST", "/v1/what-if", body, nil, unprocessable, "invalid", where}
	}
	query := func(name, target, body, where string) refusal {
		return refusal{name, "POST", target, body, []string{csv}, unprocessable, "invalid", where}
	}
	const rows = `"operator":{"instances":2},"keys":[{"key":"a","cost":1}]`
	e.refused(t, []refusal{
		put("no degree", `{}`, "/compact/degree"),
		put("odd degree", `{"degree":3}`, "/compact/degree"),
		put("great degree", `{"degree":2147483647}`, "/compact/degree"),
		put("negative degree", `{"degree":-1}`, "/compact/degree"),
		put("no scale", `{"degree":2,"cost_scale":0}`, "/compact/cost_scale"),
		put("great scale", `{"degree":2,"state_scale":1e291}`, "/compact/state_scale"),
		put("scale of nothing", `{"degree":0,"cost_scale":1}`, "/compact/cost_scale"),
		put("state scale of nothing", `{"degree":0,"state_scale":1}`, "/compact/state_scale"),
		put("unknown field", `{"degree":2,"scale":1}`, "/compact/scale"),
		put("records", `{"degree":2,"records":[]}`, "/compact/records"),
		{"unknown owner", "PUT", "/v1/operators/clicks", `{"instances":2,"table_owner":"both"}`, nil, unprocessable,
			"invalid", "/table_owner"},
		{"another owner", "PUT", "/v1/operators/clicks", `{"instances":2,"table_owner":"engine"}`, nil, http.StatusConflict,
			"table_owner_fixed", ""},

		keys("statistics without degree", `{"cost_scale":1}`, "/compact/degree"),
		keys("statistics, odd degree", `{"degree":6}`, "/compact/degree"),
		keys("statistics, great degree", `{"degree":4294967296}`, "/compact/degree"),
		keys("statistics, degree of a wrong type", `{"degree":"8"}`, "/compact/degree"),
		keys("statistics, scale of nothing", `{"degree":0,"cost_scale":1}`, "/compact/cost_scale"),
		keys("statistics, small scale", `{"degree":8,"cost_scale":1e-291}`, "/compact/cost_scale"),
		keys("statistics, unknown field", `{"degree":8,"rows":[]}`, "/compact/rows"),
		keys("statistics, no object", `8`, "/compact"),
		keys("scale too small for the costs", `{"degree":1,"cost_scale":1e-290}`, "/compact/cost_scale"),

		records("degree 0 of records", `"degree":0,`, `[0,0,1,1,1]`, "/compact/degree"),
		records("odd degree of records", `"degree":12,`, `[0,0,1,1,1]`, "/compact/degree"),
		records("scale of records", `"cost_scale":0,`, `[0,0,1,1,1]`, "/compact/cost_scale"),
		records("short record", ``, `[0,0,1,1,1],[0,0,1,1]`, "/compact/records/1"),
		records("no record", ``, `5`, "/compact/records/0"),
		records("unknown instance", ``, `[0,0,1,1,1],[5,0,1,1,1]`, "/compact/records/1/0"),
		records("unknown hash instance", ``, `[0,2,1,1,1]`, "/compact/records/0/1"),
		records("negative cost", ``, `[0,0,-1,1,1]`, "/compact/records/0/2"),
		records("great cost in its scale", `"cost_scale":1e290,`, `[0,0,1,1,1],[0,0,2,1,1]`, "/compact/records/1/2"),
		records("great state", ``, `[0,0,1,1e300,1]`, "/compact/records/0/3"),
		records("no keys", ``, `[0,0,1,1,0]`, "/compact/records/0/4"),
		records("too many keys", ``, `[0,0,1,1,9007199254740991],[0,0,1,1,1]`, "/compact/records/1/4"),
		records("residual of complete records", ``, `[0,0,1,1,1]],"degree":[`, "/compact/degree"),
		{"residual of complete records", "POST", plans, `{"interval":2,"compact":{"records":[]},"residual":[{"instance":0}]}`,
			nil, unprocessable, "invalid", "/residual"},

		whatIf("odd degree among several", `{`+rows+`,"parameters":{"compact_degree":[0,1,5]}}`,
			"/parameters/compact_degree/2"),
		whatIf("odd degree alone", `{`+rows+`,"parameters":{"compact_degree":5}}`, "/parameters/compact_degree"),
		whatIf("operator's degree", `{"operator":{"instances":2,"compact":{"degree":5}},"keys":[]}`,
			"/operator/compact/degree"),
		whatIf("degrees of records",
			`{"operator":{"instances":2},"compact":{"records":[[0,0,1,1,1]]},"parameters":{"compact_degree":[0,1]}}`,
			"/parameters/compact_degree"),
		whatIf("one degree of records",
			`{"operator":{"instances":2},"compact":{"records":[]},"parameters":{"compact_degree":0}}`,
			"/parameters/compact_degree"),
		whatIf("table beside records", `{"operator":{"instances":2},"compact":{"records":[]},"routing_table":[]}`,
			"/routing_table"),

		query("query, odd degree", csvPlans+"&compact_degree=7", "key,cost\na,1\n", "?compact_degree"),
		query("query, several degrees", csvPlans+"&compact_degree=1&compact_degree=2", "key,cost\na,1\n", "?compact_degree"),
		query("query, no degree", csvPlans+"&cost_scale=7", "key,cost\na,1\n", "?compact_degree"),
		query("query, scale of nothing", csvPlans+"&compact_degree=0&state_scale=7", "key,cost\na,1\n", "?state_scale"),
		query("query, small scale", csvPlans+"&compact_degree=1&cost_scale=1e-290", "key,cost\na,100\n", "?cost_scale"),
		query("query, no scale", csvPlans+"&cost_scale=0", header+"0,0,1,1,1\n", "?cost_scale"),
		query("query, degree of records", csvPlans+"&compact_degree=0", header+"0,0,1,1,1\n", "?compact_degree"),
		query("record of an unknown instance", csvPlans, header+"0,0,1,1,1\n0,9,1,1,1\n", "/1/hash_instance"),
		query("record without count", csvPlans, header+"0,0,1,1,\n", "/0/count"),
		query("degrees of records", "/v1/what-if?instances=2&compact_degree=1,2", header+"0,0,1,1,1\n", "?compact_degree"),
		query("odd degrees", "/v1/what-if?instances=2&compact_degree=0,6", "key,cost\na,1\n", "?compact_degree"),
	})
}

// TestCompactEdges: what else can become of plans in compact form.
func TestCompactEdges(t *testing.T) {
	e := newEnv(t)
	plan := func(operator, config, statistics string) compacted {
		t.Helper()
		if config != "" {
			e.operator(operator, config)
		}
		return e.do("POST", "/v1/operators/"+operator+"/plans", statistics).want(http.StatusCreated).compacted()
	}
	with := func(member string) string { return strings.Replace(allAtHome, "{", "{"+member+",", 1) }
	const four = `"compact":{"records":[[0,0,4,1,4]]}}`
	for name, p := range map[string]compacted{
		"keys": plan("budget", with(`"work_budget":1,"compact":{"degree":2}`),
			`{"interval":1,"columns":{"key":["a","b","c","d"],"cost":[1,1,1,1]}}`),
		"classes": plan("classes", with(`"work_budget":1`), `{"interval":1,`+four),
	} {
		if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"unfinished"}) ||
			(p.Compaction == nil) != (name == "keys") || p.Migration.Keys != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	// The trigger and the cooldown hold plans of records back as well.
	if p := plan("trigger", with(`"trigger":{"theta":"100%"}`), `{"interval":1,`+four); p.Status != "no_action" ||
		!slices.Equal(p.Causes, []string{"balanced"}) || p.Balanced || p.Compaction.Keys != 4 ||
		p.RoutingTable.SizeAfter != 0 {
		t.Errorf("%+v", p)
	}
	first := plan("cool", with(`"trigger":{"theta":0,"cooldown_intervals":3}`), `{"interval":1,`+four)
	e.do("PUT", "/v1/plans/"+first.ID+"/resolution", "key,from,to\na,0,1\nb,0,1\n", csv).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+first.ID+"/commit", stopped).want(http.StatusOK)
	if p := plan("cool", "", `{"interval":2,`+four); p.Status != "no_action" ||
		!slices.Equal(p.Causes, []string{"cooldown"}) || p.RoutingTable.SizeBefore != 2 || p.RoutingTable.SizeAfter != 2 {
		t.Errorf("%+v", p)
	}
	// Nobody can name the key of one entry: it stays, and counts.
	if p := plan("cool", "", `{"interval":9,"compact":{"records":[[0,0,4,1,6],[1,0,1,1,1]]}}`); p.Status != "approved" ||
		p.RoutingTable.SizeBefore != 2 || p.RoutingTable.SizeAfter != p.tableAfter(t) || p.Migration.Keys == 0 {
		t.Errorf("%+v", p)
	}
	if p := plan("none", with(`"beta":1`), `{"interval":1,"compact":{"records":[]}}`); p.Status != "no_action" ||
		p.Compaction.Records != 0 || p.Theta.After != 0 || len(p.classes(t)) != 0 {
		t.Errorf("%+v", p)
	}
	// Partial records, with what they leave out.
	partial := plan("partial", with(`"beta":1`),
		`{"interval":1,"coverage":"partial","residual":[{"instance":1,"cost":8,"state":1,"keys":90}],`+four)
	if partial.Instances[1].LoadBefore != 8 || partial.Instances[1].KeysBefore != 90 || partial.Migration.Keys != 1 {
		t.Errorf("%+v", partial)
	}
	// A removed instance is left by all of its keys.
	e.operator("less", `{"instances":3,"theta_max":0.1,"hash":{"function":"reported"}}`)
	e.do("PUT", "/v1/operators/less", `{"instances":2,"theta_max":0.1,"hash":{"function":"reported"}}`).want(http.StatusOK)
	drained := plan("less", "", `{"interval":1,"compact":{"records":[[0,0,1,1,10],[1,1,1,1,10],[2,0,1,1,5],[2,1,1,1,5]]}}`)
	if drained.Migration.Keys != 10 || drained.Instances[2].KeysAfter != 0 || !drained.Balanced {
		t.Errorf("%+v", drained)
	}
	e.do("POST", "/v1/operators/less/plans", `{"interval":2,"compact":{"records":[[0,2,1,1,10]]}}`).
		fails(unprocessable, "invalid", "/compact/records/0/1")
	// The best balance for so much migration, of both kinds.
	for _, rest := range []string{`"compact":{"records":[[0,0,4,1,4]]}`,
		`"columns":{"key":["a","b","c","d"],"cost":[4,4,4,4],"hash_instance":[0,0,0,0]},"compact":{"degree":1}`} {
		a := e.do("POST", "/v1/what-if",
			`{"operator":{"instances":2,"strategy":"optimal","objective":"min_imbalance","migration_limit":{"keys":1}},`+rest+
				`}`).want(http.StatusOK)
		var out struct{ Results []compacted }
		a.into(&out)
		if r := out.Results[0]; r.Migration.Keys != 1 || r.Theta.After != 0.5 {
			t.Errorf("%s", a.body)
		}
	}
}

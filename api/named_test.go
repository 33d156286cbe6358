package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// beside are statistics in compact form beside which keys are named.
func beside(interval int, named string, records ...string) string {
	return fmt.Sprintf(`{"interval":%d,"keys":[%s],"compact":{"degree":1,"records":[%s]}}`, interval, named,
		strings.Join(records, ","))
}

// hotKey is a row of the key hot, which is on instance 0 if nothing else is said.
func hotKey(cost float64, more string) string {
	return fmt.Sprintf(`{"key":"hot","cost":%g,"state":600,"hash_instance":0%s}`, cost, more)
}

// others are the records of the twelve keys of hotStatistics.
var others = []string{"[0,0,10,10,3]", "[1,1,10,10,3]", "[2,2,10,10,3]", "[3,3,10,10,3]"}

// ofItems is a plan of records, with its migrations.
type ofItems struct {
	parted
	Migrates, InputHash string
	Version             *int64
	Compaction          *struct{ Records, Keys int64 }
	HotKeys             []struct {
		Key    *string
		Class  []float64
		Pieces int
	}
	Migrations []json.RawMessage
}

func (e *env) ofItems(path, body string, status int) (p ofItems) {
	e.Helper()
	e.do("POST", path, body).want(status).into(&p)
	return p
}

// split tells the migrations of classes from those of named keys.
func (p ofItems) split(t testing.TB) (classes [][]float64, named []string) {
	t.Helper()
	for _, m := range p.Migrations {
		var numbers []float64
		if m[0] == '{' {
			named = append(named, string(m))
		} else if err := json.Unmarshal(m, &numbers); err != nil {
			t.Fatal(err)
		} else {
			classes = append(classes, numbers)
		}
	}
	return classes, named
}

// resolve names keys for the classes that a plan moves, counting on from a number.
func (e *env) resolve(p ofItems, from int) (next int) {
	e.Helper()
	keys := "key,from,to,hash_instance\n"
	classes, _ := p.split(e)
	for _, m := range classes {
		for range int(m[5]) {
			keys += fmt.Sprintf("k%03d,%v,%v,%v\n", from, m[1], m[0], m[2])
			from++
		}
	}
	e.do("PUT", "/v1/plans/"+p.ID+"/resolution", keys, csv).want(http.StatusOK)
	return from
}

// TestNamedKeysAreSplit: beside records the keys that are named are split as if all keys were
// named, and those that are split have to be.
func TestNamedKeysAreSplit(t *testing.T) {
	e := newEnv(t)
	const plans = "/v1/operators/clicks/plans"
	e.operator("whole", splitting)
	e.operator("clicks", splitting)
	whole := e.parted("/v1/operators/whole/plans", hotStatistics(1, 120), http.StatusCreated)

	// A class has no name to be split by.
	p := e.ofItems(plans, beside(1, "", append([]string{"[0,0,120,600,1]"}, others...)...), http.StatusCreated)
	if !slices.Contains(p.Causes, "unnamed_keys") || p.Merges != 0 || len(p.HotKeys) != 1 ||
		!slices.Equal(p.HotKeys[0].Class, []float64{0, 0, 120, 600, 1}) {
		t.Errorf("a hot class: %+v", p)
	}
	e.verb(p.ID, "abort", "").want(http.StatusOK)

	p = e.ofItems(plans, beside(2, hotKey(120, `,"instance":0`), others...), http.StatusCreated)
	if p.Status != "approved" || p.Migrates != "classes" || !p.Balanced || p.Merges != 1 || len(p.HotKeys) != 0 ||
		p.Compaction.Records != 5 || p.Compaction.Keys != 13 {
		t.Fatalf("%+v", p)
	}
	if x := p.Splits[0]; x.Key != "hot" || x.Cause != "hot_key" || !slices.Equal(x.Parts, whole.Splits[0].Parts) {
		t.Errorf("%+v", p.Splits)
	}
	if p.Theta != whole.Theta || p.Migration != whole.Migration {
		t.Errorf("θ %v and %v move, with all keys named θ %v and %v", p.Theta, p.Migration, whole.Theta, whole.Migration)
	}
	if again := e.ofItems(plans, beside(2, hotKey(120, `,"instance":0`), others...), http.StatusOK); again.ID != p.ID {
		t.Errorf("the same statistics: %+v", again)
	}
	e.verb(p.ID, "start", `{"executor":"x"}`).fails(http.StatusConflict, "resolution_required", "")
	e.do("PUT", "/v1/plans/"+p.ID+"/resolution", "key,from,to,hash_instance\nhot,0,1,0\n", csv).
		fails(unprocessable, "invalid", "/0/key")
	next := e.resolve(p, 0)
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)
	table := string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body)
	if !strings.Contains(table,
		`{"key":"hot","instance":0,"parts":[{"instance":0,"weight":32768},{"instance":1,"weight":32768}]}`) ||
		strings.Count(table, `"key"`) != next+1 {
		t.Errorf("%s", table)
	}
	if a := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK); !strings.Contains(string(a.body),
		fmt.Sprintf(`"size_after":%d`, next+2)) {
		t.Errorf("a split key is an entry for each part: %s", a.body)
	}
	e.do("POST", "/v1/plans/"+p.ID+"/replay", `{"parameters":{"max_parts":[1,4]}}`).want(http.StatusOK)

	// The others are where the plan has put them.
	classes, _ := p.split(t)
	now := map[[2]int]int{{0, 0}: 3, {1, 1}: 3, {2, 2}: 3, {3, 3}: 3}
	for _, m := range classes {
		now[[2]int{int(m[1]), int(m[2])}] -= int(m[5])
		now[[2]int{int(m[0]), int(m[2])}] += int(m[5])
	}
	var records []string
	for at, n := range now {
		if n > 0 {
			records = append(records, fmt.Sprintf("[%d,%d,10,10,%d]", at[0], at[1], n))
		}
	}
	slices.Sort(records)
	a := e.do("POST", plans, beside(3, `{"key":"cold","cost":1,"state":1,"hash_instance":0}`, records...))
	if a.fails(http.StatusConflict, "keys_not_known", ""); !strings.Contains(string(a.body), `\"hot\"`) {
		t.Errorf("which keys are missing: %s", a.body)
	}
	if p = e.ofItems(plans, beside(3, hotKey(118, ""), records...), http.StatusCreated); p.Status != "no_action" ||
		len(p.Splits) != 1 || p.Splits[0].Changed {
		t.Errorf("what is within limits is left: %+v", p)
	}

	// Other weights move nothing, and all that changes has a name.
	p = e.ofItems(plans, beside(4, hotKey(120, ""), append(records, "[1,1,6,10,1]")...), http.StatusCreated)
	if p.Status != "approved" || p.Migrates != "keys" || len(p.Migrations) != 0 || !p.Splits[0].Changed ||
		len(p.RoutingTable.Set) != 1 {
		t.Fatalf("other weights: %+v", p)
	}
	e.do("PUT", "/v1/plans/"+p.ID+"/resolution", "key,from,to,hash_instance\n", csv).
		fails(http.StatusConflict, "resolution_not_needed", "")
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)

	// Where no key may be split any more, one becomes whole with a plan that moves something: what
	// is left behind is gathered.
	e.do("PATCH", "/v1/operators/clicks", `{"splitting":{"max_parts":1}}`).want(http.StatusOK)
	p = e.ofItems(plans, beside(5, hotKey(8, ""), append(records, "[2,2,30,10,1]")...), http.StatusCreated)
	classes, named := p.split(t)
	if p.Merges != 0 || len(classes) == 0 || len(named) != 1 || !strings.Contains(named[0], `"reason":"gather"`) {
		t.Fatalf("%+v, %v", p, named)
	}
	for accept, want := range map[string]string{
		"application/x-ndjson": named[0] + "\n",
		"text/csv":             "key,planned,instance,hash_instance,cost,state,count,reason\n",
	} {
		if a := e.do("GET", "/v1/plans/"+p.ID+"/migrations", "", "Accept: "+accept).want(http.StatusOK); !strings.Contains(
			string(a.body), want) {
			t.Errorf("as %s: %s", accept, a.body)
		}
	}
	e.do("GET", "/v1/plans/"+p.ID+"/migrations?sort=state", "").want(http.StatusOK)
	e.do("GET", "/v1/plans/"+p.ID+"/flows", "").want(http.StatusOK)
	e.resolve(p, 500)
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)
	table = string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body)
	if strings.Contains(table, "parts") {
		t.Errorf("%s", table)
	}
	e.ofItems(plans, beside(6, "", records...), http.StatusCreated)
}

// TestKeysThatMayBeSplitAreCompactedByThemselves: where the service compacts keys, those that are
// split or hot stay as they are, and the plan is that of keys.
func TestKeysThatMayBeSplitAreCompactedByThemselves(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(splitting, `{"instances":4,`, `{"instances":4,"compact":{"degree":4},`, 1))
	p := e.ofItems("/v1/operators/clicks/plans", hotStatistics(1, 120), http.StatusCreated)
	if p.Migrates != "keys" || !p.Balanced || p.Merges != 1 || !slices.Equal(p.Splits[0].Parts, halves) ||
		p.Compaction.Records < 5 || p.Compaction.Keys != 13 {
		t.Fatalf("%+v", p)
	}
	if e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK).compacted().Compaction.Error.After > 0.2 {
		t.Errorf("%+v", p.Compaction)
	}
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)
	if p = e.ofItems("/v1/operators/clicks/plans", hotStatistics(2, 118), http.StatusCreated); p.Status != "no_action" ||
		len(p.Splits) != 1 || p.Splits[0].Changed {
		t.Errorf("%+v", p)
	}
	e.ofItems("/v1/operators/clicks/plans", hotStatistics(3, 150), http.StatusCreated)
	var out struct{ Results []ofItems }
	e.do("POST", "/v1/what-if", `{"operator":{"instances":4,"hash":{"function":"reported"},"theta_max":0.05},"parameters":`+
		`{"max_parts":[1,4],"compact_degree":[0,4]},`+strings.SplitN(hotStatistics(1, 120), ",", 2)[1]).
		want(http.StatusOK).into(&out)
	for i, r := range out.Results {
		if split := i%2 == 1; split != (r.Merges == 1) || split != r.Balanced {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// TestNamedKeysInReports: each instance names its part of a key that is split; without that of
// anybody nothing is planned.
func TestNamedKeysInReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", splitting)
	report := func(interval int64, records string, named ...string) {
		t.Helper()
		for d := range 4 {
			row := ""
			if d < len(named) {
				row = named[d]
			}
			e.report(interval, d, fmt.Sprintf(`{"keys":[%s],"compact":{"records":[[%d,%d,10,10,%c]]}}`, row, d, d, records[d])).
				want(http.StatusCreated)
		}
	}
	report(1, "3333", hotKey(120, ""))
	var p ofItems
	e.planOfReports(1, "").want(http.StatusCreated).into(&p)
	if p.Merges != 1 || p.Migrates != "classes" || !p.Balanced {
		t.Fatalf("%+v", p)
	}
	e.resolve(p, 0)
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)

	e.report(2, 0, `{"keys":[{"key":"hot","cost":1,"hash_instance":0,"instance":1}],"compact":{"records":[]}}`).
		fails(unprocessable, "invalid", "/keys/0/instance")
	e.report(2, 0, `{"keys":[{"key":"hot","cost":1}],"compact":{"records":[[0,0,1,1,1]]}}`).
		fails(unprocessable, "invalid", "/keys/0/hash_instance")
	part := func(cost, state int) string {
		return fmt.Sprintf(`{"key":"hot","cost":%d,"state":%d,"hash_instance":0}`, cost, state)
	}
	report(2, "1155")
	e.planOfReports(2, "").fails(http.StatusConflict, "keys_not_known", "")
	e.report(2, 0, `{"keys":[`+part(70, 400)+`],"compact":{"records":[[0,0,10,10,1]]}}`).want(http.StatusOK)
	e.report(2, 1, `{"keys":[`+part(50, 200)+`],"compact":{"records":[[1,1,10,10,1]]}}`).want(http.StatusOK)
	var a ofItems
	answer := e.planOfReports(2, "").want(http.StatusCreated)
	answer.into(&a)
	if a.Splits[0].Cost != 120 || !strings.Contains(string(answer.body), `"drifted_keys":0`) {
		t.Errorf("its parts add up: %s", answer.body)
	}
	e.verb(a.ID, "abort", "")
	// A part that goes takes what it holds.
	e.do("PATCH", "/v1/operators/clicks", `{"splitting":{"max_parts":1}}`).want(http.StatusOK)
	report(3, "1155", part(3, 400), part(2, 200))
	answer = e.planOfReports(3, "").want(http.StatusCreated)
	answer.into(&a)
	_, named := a.split(t)
	if a.Merges != 0 || !slices.Contains(named, `{"key":"hot","from":1,"to":0,"cost":0,"state":200,"reason":"gather"}`) {
		t.Errorf("%s", answer.body)
	}
	e.do("POST", "/v1/plans/"+a.ID+"/replay", `{"strategies":["mixed","optimal"]}`).want(http.StatusOK)
}

// TestNamedKeysInWhatIfs: the routing table of a what-if may say what it knows of named keys.
func TestNamedKeysInWhatIfs(t *testing.T) {
	e := newEnv(t)
	whatIf := func(table string) *answer {
		return e.do("POST", "/v1/what-if", `{"operator":{"instances":4,"hash":{"function":"reported"},"theta_max":0.05,"splitting":`+
			`{"max_parts":4}},"routing_table":[`+table+`],"plans":true,`+beside(1, hotKey(120, ""), others...)[1:])
	}
	var out struct {
		Results []struct {
			Merges int64
			Splits []struct{ Parts []partOf }
			Plan   struct{ Migrations []json.RawMessage }
		}
	}
	whatIf(`{"key":"hot","instance":2,"parts":[{"instance":2,"weight":32768},{"instance":3,"weight":32768}]}`).
		want(http.StatusOK).into(&out)
	if r := out.Results[0]; r.Merges != 1 || r.Splits[0].Parts[0].Instance != 2 || len(r.Plan.Migrations) == 0 {
		t.Errorf("%+v", r)
	}
	whatIf(`{"key":"k01","instance":2}`).fails(unprocessable, "invalid", "/routing_table/0/key")
}

package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

// row is one row of statistics; −1 stands for no instance.
type row struct {
	key            string
	cost, state    float64
	instance, hash int
}

// figure4 is the example of mixed-routing, Fig. 4: d1 is instance 0, d2 is 1.
var figure4 = []row{
	{"k1", 7, 7, 0, 0}, {"k2", 4, 4, 0, 0}, {"k5", 5, 5, 0, 1},
	{"k3", 2, 2, 1, 0}, {"k4", 1, 1, 1, 1}, {"k6", 1, 1, 1, 1},
}

func jsonRows(rows []row) string {
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf(`{"key":%q,"cost":%v,"state":%v,"instance":%d,"hash_instance":%d}`, r.key, r.cost,
			r.state, r.instance, r.hash))
	}
	return strings.Join(out, ",")
}

func jsonColumns(rows []row) string {
	var key, cost, state, at, hash []string
	for _, r := range rows {
		key, cost, state = append(key, fmt.Sprintf("%q", r.key)), append(cost, fmt.Sprint(r.cost)),
			append(state, fmt.Sprint(r.state))
		at, hash = append(at, fmt.Sprint(r.instance)), append(hash, fmt.Sprint(r.hash))
	}
	j := func(s []string) string { return "[" + strings.Join(s, ",") + "]" }
	return fmt.Sprintf(`{"key":%s,"cost":%s,"state":%s,"instance":%s,"hash_instance":%s}`, j(key), j(cost), j(state),
		j(at), j(hash))
}

func csvRows(rows []row) string {
	out := "key,cost,state,instance,hash_instance\n"
	for _, r := range rows {
		out += fmt.Sprintf("%s,%v,%v,%d,%d\n", r.key, r.cost, r.state, r.instance, r.hash)
	}
	return out
}

type whatIfAnswer struct {
	InputHash string
	Results   []struct {
		Strategy   string
		Parameters struct {
			ThetaMax, Beta float64
			TableLimit     *int64
		}
		Pareto       bool
		Balanced     bool
		Theta        struct{ Before, After float64 }
		Migration    struct{ State float64 }
		RoutingTable wire.TableDiff
		Instances    []struct {
			ID                  int32
			Capacity, LoadAfter float64
		}
		Plan *struct {
			RoutingTable wire.TableDiff
			Migrations   []migration
		}
	}
}

// ends returns where each key is after the migrations.
func ends(rows []row, moves []migration) map[string]int32 {
	out := map[string]int32{}
	for _, r := range rows {
		out[r.key] = int32(r.instance)
	}
	for _, m := range moves {
		out[m.Key] = m.To
	}
	return out
}

// after returns the whole planned table: the entries of the start, changed.
func after(rows []row, t wire.TableDiff) map[string]int32 {
	out := map[string]int32{}
	for _, r := range rows {
		if r.instance != r.hash {
			out[r.key] = int32(r.instance)
		}
	}
	for _, k := range t.Unset {
		delete(out, k)
	}
	for _, e := range t.Set {
		out[e.Key] = e.Instance
	}
	return out
}

func TestFigure4(t *testing.T) {
	e := newEnv(t)
	random := rand.New(rand.NewPCG(4, 4))
	const query = "/v1/what-if?instances=2&hash_function=reported&theta_max=0&strategies=llfd,mintable&plans=true"
	hash := ""
	for range 20 {
		rows := append([]row(nil), figure4...)
		random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		rest := `"operator":{"instances":2,"theta_max":0},"strategies":["llfd","mintable"],"plans":true`
		for name, a := range map[string]*answer{
			"rows":    e.do("POST", "/v1/what-if", `{"keys":[`+jsonRows(rows)+`],`+rest+`}`),
			"columns": e.do("POST", "/v1/what-if", `{`+rest+`,"columns":`+jsonColumns(rows)+`}`),
			"ndjson": e.do("POST", query, strings.ReplaceAll(jsonRows(rows), "},", "}\n"),
				"Content-Type: application/x-ndjson"),
			"csv":   e.do("POST", query, csvRows(rows), "Content-Type: text/csv; charset=utf-8"),
			"arrow": e.do("POST", query, arrowRows(t, rows), arrowStream),
		} {
			var out whatIfAnswer
			a.want(http.StatusOK).into(&out)
			checkFigure4(t, name, rows, out)
			if hash == "" {
				hash = out.InputHash
			}
			if out.InputHash != hash {
				t.Errorf("%s: input hash %s, want %s", name, out.InputHash, hash)
			}
		}
	}
}

func checkFigure4(t *testing.T, name string, rows []row, out whatIfAnswer) {
	t.Helper()
	if len(out.Results) != 2 || out.Results[0].Strategy != "llfd" || out.Results[1].Strategy != "mintable" {
		t.Fatalf("%s: %+v", name, out)
	}
	for i, want := range []struct{ end, table map[string]int32 }{
		{map[string]int32{"k2": 0, "k4": 0, "k5": 0, "k1": 1, "k3": 1, "k6": 1},
			map[string]int32{"k1": 1, "k3": 1, "k4": 0, "k5": 0}},
		{map[string]int32{"k1": 0, "k3": 0, "k4": 0, "k2": 1, "k5": 1, "k6": 1}, map[string]int32{"k2": 1, "k4": 0}},
	} {
		r := out.Results[i]
		equalMaps(t, name+" "+r.Strategy+" assignment", ends(rows, r.Plan.Migrations), want.end)
		equalMaps(t, name+" "+r.Strategy+" table", after(rows, r.Plan.RoutingTable), want.table)
		if !r.Balanced || r.Theta.After != 0 || r.RoutingTable.SizeBefore != 2 ||
			int(r.RoutingTable.SizeAfter) != len(want.table) {
			t.Errorf("%s %s: %+v", name, r.Strategy, r)
		}
		for _, d := range r.Instances {
			if d.LoadAfter != 10 {
				t.Errorf("%s %s: instance %d carries %v", name, r.Strategy, d.ID, d.LoadAfter)
			}
		}
	}
}

func TestWhatIfGrid(t *testing.T) {
	e := newEnv(t)
	body := func(parameters string) string {
		return `{"operator":{"instances":2,"hash":{"function":"reported"}},"keys":[` + jsonRows(figure4) +
			`],"strategies":["llfd","mixed"],"parameters":` + parameters + `}`
	}
	var out whatIfAnswer
	e.do("POST", "/v1/what-if", body(`{"theta_max":[0,0.5],"beta":[1,2],"table_limit":[null,3]}`)).
		want(http.StatusOK).into(&out)
	if len(out.Results) != 16 {
		t.Fatalf("%d results, want 2 strategies × 2 × 2 × 2", len(out.Results))
	}
	first, second := out.Results[0], out.Results[1]
	if first.Parameters.Beta != 1 || second.Parameters.Beta != 2 ||
		first.Parameters.ThetaMax != second.Parameters.ThetaMax {
		t.Errorf("the last parameter must vary fastest: %+v, %+v", first.Parameters, second.Parameters)
	}
	pareto := 0
	for _, r := range out.Results {
		if r.Pareto {
			pareto++
		}
		if r.Plan != nil {
			t.Error("a plan that nobody asked for")
		}
	}
	if pareto == 0 {
		t.Error("nothing on the Pareto front")
	}
	var many []string
	for i := range 129 {
		many = append(many, fmt.Sprint(float64(i)/1000))
	}
	e.do("POST", "/v1/what-if", body(`{"theta_max":[`+strings.Join(many, ",")+`]}`)).
		fails(http.StatusUnprocessableEntity, "invalid", "/strategies")
}

// TestWhatIfTable: a routing table says where keys are when rows do not.
func TestWhatIfTable(t *testing.T) {
	e := newEnv(t)
	var out whatIfAnswer
	e.do("POST", "/v1/what-if", `{"operator":{"instances":2,"theta_max":0},"strategies":["llfd"],"plans":true,
		"routing_table":[{"key":"k3","instance":1},{"key":"k5","instance":0},{"key":"gone","instance":1}],
		"columns":{"key":["k1","k2","k3","k4","k5","k6"],"cost":[7,4,2,1,5,1],"hash_instance":[0,0,0,1,1,1]}}`).want(
		http.StatusOK).into(&out)
	r := out.Results[0]
	equalMaps(t, "set", entries(r.Plan.RoutingTable), map[string]int32{"k1": 1, "k4": 0})
	// How long a key has been absent is not known, so its entry stays.
	if len(r.Plan.RoutingTable.Unset) != 0 || r.RoutingTable.SizeBefore != 3 || r.RoutingTable.SizeAfter != 5 {
		t.Errorf("table %+v", r.Plan.RoutingTable)
	}
	if r.Migration.State != 2 {
		t.Errorf("state %v, want 1 for each of 2 keys", r.Migration.State)
	}
}

// TestBinaryKeys: one key that is no UTF-8 turns the whole answer to base64.
func TestBinaryKeys(t *testing.T) {
	e := newEnv(t)
	a := e.do("POST", "/v1/what-if",
		`{"operator":{"instances":2,"hash":{"function":"reported"},"theta_max":0},"key_encoding":"base64","plans":true,
		"keys":[{"key":"/w==","cost":3,"hash_instance":0},{"key":"YQ==","cost":3,"hash_instance":0}]}`).want(http.StatusOK)
	if !strings.Contains(string(a.body), `"key_encoding":"base64"`) || !strings.Contains(string(a.body), `"YQ=="`) &&
		!strings.Contains(string(a.body), `"/w=="`) {
		t.Errorf("%s", a.body)
	}
}

// A what-if plans for several numbers of instances at once: what scaling moves, and how even
// the loads get. Instances that are added are filled.
func TestWhatIfInstances(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var keys, lines []string
	for i := range 120 {
		keys = append(keys, fmt.Sprintf(`{"key":"key-%03d","cost":1,"state":1,"instance":%d}`, i, i%4))
		lines = append(lines, fmt.Sprintf("key-%03d,1,1,%d", i, i%4))
	}
	post := func(operator, more string) *answer {
		return e.do("POST", "/v1/what-if", `{"operator":{"instances":4,"hash":{"function":"modulo"}`+operator+
			`},"keys":[`+strings.Join(keys, ",")+`]`+more+`}`)
	}
	type result struct {
		Strategy        string
		TargetInstances int
		Pareto          bool
		Migration       struct{ State float64 }
		Instances       []struct {
			ID                      int
			LoadAfter               float64
			Added, Drained, Filling bool
		}
	}
	var x struct{ Results []result }
	post("", `,"strategies":["optimal","mixed"],"parameters":{"instances":[4,5,3]}`).want(http.StatusOK).into(&x)
	for i, want := range []struct {
		strategy string
		n        int
		moved    float64
	}{{"optimal", 4, 0}, {"mixed", 4, 0}, {"optimal", 5, 23}, {"mixed", 5, 23}, {"optimal", 3, 30}, {"mixed", 3, 30}} {
		r := x.Results[i]
		if r.Strategy != want.strategy || r.TargetInstances != want.n || r.Migration.State != want.moved || !r.Pareto {
			t.Errorf("result %d is %+v, want %+v", i, r, want)
		}
	}
	if r := x.Results[2]; len(r.Instances) != 5 || !r.Instances[4].Filling || !r.Instances[4].Added {
		t.Errorf("instance 4 of five is %+v", r.Instances)
	}
	if r := x.Results[4]; len(r.Instances) != 4 || !r.Instances[3].Drained || r.Instances[3].LoadAfter != 0 {
		t.Errorf("instance 3 of three is %+v", r.Instances)
	}
	csv := e.do("POST", "/v1/what-if?instances=4&hash_function=modulo&target_instances=5,3",
		"key,cost,state,instance\n"+strings.Join(lines, "\n")+"\n", "Content-Type: text/csv", "Accept: text/csv").
		want(http.StatusOK)
	if rows := strings.Split(strings.TrimSpace(string(csv.body)), "\n"); len(rows) != 3 ||
		!strings.HasSuffix(rows[0], ",target_instances") || !strings.HasSuffix(rows[1], ",5") ||
		!strings.HasSuffix(rows[2], ",3") {
		t.Errorf("in CSV: %s", csv.body)
	}
	post(`,"theta_max":0.1`, `,"parameters":{"instances":5}`).want(http.StatusOK)
	post("", `,"parameters":{"instances":0}`).fails(http.StatusUnprocessableEntity, "invalid", "/parameters/instances")
	for operator, detail := range map[string]string{
		`{"instances":2,"hash":{"function":"reported"}}`:                  "must be one that can place keys",
		`{"instances":2,"hash":{"function":"flink","max_parallelism":4}}`: "of 5:",
	} {
		a := e.do("POST", "/v1/what-if", `{"operator":`+operator+
			`,"parameters":{"instances":[2,5]},"keys":[{"key":"a","cost":1,"instance":0,"hash_instance":0}]}`)
		a.fails(http.StatusUnprocessableEntity, "invalid", "/parameters/instances")
		if !strings.Contains(string(a.body), detail) {
			t.Errorf("%s: %s", operator, a.body)
		}
	}
	for _, rows := range []string{
		`"compact":{"degree":1,"cost_scale":1,"state_scale":1,"records":[[0,0,1,1,1]]}`,
		`"coverage":"partial","keys":[{"key":"a","cost":1}]`,
	} {
		e.do("POST", "/v1/what-if", `{"operator":{"instances":2},"parameters":{"instances":3},`+rows+`}`).
			fails(http.StatusUnprocessableEntity, "invalid", "/parameters/instances")
	}
}

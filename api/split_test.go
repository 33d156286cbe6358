package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// parted is a plan that splits keys, as clients see it.
type parted struct {
	ID, Status string
	Causes     []string
	Balanced   bool
	Theta      struct{ Before, After float64 }
	Migration  struct {
		Keys  int64
		State float64
	}
	Awaits []int32
	Merges int64
	Splits []struct {
		Key     string
		Cost    float64
		Cause   string
		Changed bool
		Parts   []partOf
	}
	HotKeys []struct {
		Key    string
		Pieces int
	}
	RoutingTable struct {
		Set   []entryInParts
		Unset []string
	}
	Migrations []struct {
		Key      string
		From, To int32
		State    float64
		Reason   string
	}
}

type partOf struct{ Instance, Weight int32 }

type entryInParts struct {
	Key      string
	Instance int32
	Parts    []partOf
}

func (e *env) parted(path, body string, status int) (p parted) {
	e.Helper()
	e.do("POST", path, body).want(status).into(&p)
	return p
}

// hotStatistics are those of an interval in which a key costs as much as given, and twelve
// others 10 each.
func hotStatistics(interval int, hot float64) string {
	var rows []string
	for i := range 12 {
		rows = append(rows, fmt.Sprintf(`{"key":"k%02d","cost":10,"state":10,"hash_instance":%d}`, i, i%4))
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[{"key":"hot","cost":%g,"state":600,"hash_instance":0},%s]}`, interval, hot,
		strings.Join(rows, ","))
}

const splitting = `{"instances":4,"hash":{"function":"reported"},"theta_max":0.05,"trigger":{"cooldown_intervals":0},` +
	`"splitting":{"max_parts":4,"merge_cost":0}}`

// half and half of a key, on the first two instances.
var halves = []partOf{{0, 32768}, {1, 32768}}

// splitOperator is an operator whose key hot is split in halves.
func splitOperator(e *env) parted {
	e.operator("clicks", splitting)
	p := e.parted("/v1/operators/clicks/plans", hotStatistics(1, 120), http.StatusCreated)
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)
	return p
}

// TestSplitKeysAreOperated: a key that no instance can carry is split, and whoever reads
// the table is told in which parts.
func TestSplitKeysAreOperated(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", splitting)
	p := e.parted("/v1/operators/clicks/plans", hotStatistics(1, 120), http.StatusCreated)
	if p.Status != "approved" || !p.Balanced || p.Merges != 1 || len(p.Splits) != 1 || len(p.HotKeys) != 0 {
		t.Fatalf("%+v", p)
	}
	if x := p.Splits[0]; x.Key != "hot" || x.Cost != 120 || x.Cause != "hot_key" || !x.Changed ||
		!slices.Equal(x.Parts, halves) {
		t.Errorf("%+v", x)
	}
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	const entry = `{"key":"hot","instance":0,"parts":[{"instance":0,"weight":32768},{"instance":1,"weight":32768}]}`
	feed := e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK)
	if !strings.Contains(string(feed.body), `"set":[`+entry) {
		t.Errorf("what is pending: %s", feed.body)
	}
	e.finish(p.ID)
	const changed = `{"key":"hot","instance":0,"previous":null,"parts":[{"instance":0,"weight":32768},{"instance":1,"weight":32768}]}`
	for _, c := range []struct{ path, accept, want string }{
		{"/v1/operators/clicks/routing-table", "application/json", `"entries":[` + entry},
		{"/v1/operators/clicks/routing-table?since=0", "application/json", `"set":[` + entry},
		{"/v1/operators/clicks/routing-table", "application/x-ndjson", entry + "\n"},
		{"/v1/operators/clicks/routing-table", "text/csv", "key,instance,weight\nhot,0,32768\nhot,1,32768\nk00,"},
		{"/v1/operators/clicks/route?key=hot", "application/json",
			`"parts":[{"instance":0,"weight":32768},{"instance":1,"weight":32768}],"source":"table"`},
		{"/v1/plans/" + p.ID + "/routing-table", "application/json", changed},
		{"/v1/plans/" + p.ID + "/routing-table?instance=1&key_prefix=h", "application/x-ndjson", changed + "\n"},
		{"/v1/plans/" + p.ID + "/routing-table", "text/csv",
			"key,instance,previous,parts,previous_parts\nhot,0,,0:32768 1:32768,\n"},
		{"/v1/plans/" + p.ID + "?include=routing_table", "application/json", `"set":[` + entry},
		{"/v1/operators/clicks/plans", "application/json", `"merges":1`},
	} {
		if a := e.do("GET", c.path, "", "Accept: "+c.accept).want(http.StatusOK); !strings.Contains(string(a.body), c.want) {
			t.Errorf("%s as %s: %s", c.path, c.accept, a.body)
		}
	}
}

// TestSplitKeysFollowTheirCosts: other weights move nothing; a part that goes away, and a
// key that becomes whole, take their state along.
func TestSplitKeysFollowTheirCosts(t *testing.T) {
	e := newEnv(t)
	splitOperator(e)
	apply := func(p parted) {
		e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
		e.finish(p.ID)
	}
	p := e.parted("/v1/operators/clicks/plans", hotStatistics(2, 118), http.StatusCreated)
	if p.Status != "no_action" || len(p.Splits) != 1 || p.Splits[0].Changed {
		t.Errorf("what is within limits is left: %+v", p)
	}
	p = e.parted("/v1/operators/clicks/plans", hotStatistics(3, 150), http.StatusCreated)
	if p.Status != "approved" || !p.Balanced || p.Merges != 2 || p.Migration.State != 0 ||
		!slices.Equal(p.Awaits, []int32{0, 1, 2}) {
		t.Errorf("a part more: %+v", p)
	}
	again := string(e.do("POST", "/v1/plans/"+p.ID+"/replay", `{}`).want(http.StatusOK).body)
	if text, _ := json.Marshal(p.Splits[0].Parts); !strings.Contains(again, strings.ToLower(string(text))) {
		t.Errorf("replayed: %s", again)
	}
	apply(p)
	gathered := func(p parted) (sum float64) {
		for _, m := range p.Migrations {
			if m.Key == "hot" {
				sum += m.State
				if m.Reason != "gather" {
					t.Errorf("%+v", m)
				}
			}
		}
		return sum
	}
	p = e.parted("/v1/operators/clicks/plans", hotStatistics(4, 40), http.StatusCreated)
	if p.Status != "approved" || p.Merges != 1 || gathered(p) < 30 || gathered(p) > 300 {
		t.Errorf("a part less, with its state of %g: %+v", gathered(p), p)
	}
	apply(p)
	e.do("PATCH", "/v1/operators/clicks", `{"splitting":{"max_parts":1}}`).want(http.StatusOK)
	p = e.parted("/v1/operators/clicks/plans", hotStatistics(5, 40), http.StatusCreated)
	if p.Status != "approved" || p.Merges != 0 || len(p.Splits) != 0 || gathered(p) < 200 || gathered(p) > 400 {
		t.Errorf("the key becomes whole, with the state of %g that is elsewhere: %+v", gathered(p), p)
	}
	apply(p)
	if now := string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body); strings.Contains(now,
		"parts") {
		t.Errorf("%s", now)
	}
	old := string(e.do("GET", "/v1/operators/clicks/routing-table?version=1", "").want(http.StatusOK).body)
	if !strings.Contains(old, `"parts":[{"instance":0,"weight":32768},{"instance":1,"weight":32768}]`) {
		t.Errorf("the first version of the table: %s", old)
	}
}

// TestSplittingTurnedOff: keys become whole when they may be split no longer.
func TestSplittingTurnedOff(t *testing.T) {
	e := newEnv(t)
	splitOperator(e)
	e.do("PATCH", "/v1/operators/clicks", `{"splitting":{"max_parts":1}}`).want(http.StatusOK)
	p := e.parted("/v1/operators/clicks/plans", hotStatistics(2, 120), http.StatusCreated)
	if p.Status != "approved" || len(p.Splits) != 0 || p.Merges != 0 || !slices.Contains(p.Causes, "hot_key") {
		t.Errorf("%+v", p)
	}
}

// TestSplitPlanWaits: newer statistics judge a plan by the parts that it would have keys be on,
// and those that they are on.
func TestSplitPlanWaits(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(splitting, "{", `{"approval":{"auto":"never","on_pending":"replace"},`, 1))
	decided := func(interval int, cost float64) parted {
		t.Helper()
		p := e.parted("/v1/operators/clicks/plans", hotStatistics(interval, cost), http.StatusCreated)
		e.verb(p.ID, "approve", "").want(http.StatusOK)
		return p
	}
	first := decided(1, 120)
	e.parted("/v1/operators/clicks/plans", hotStatistics(2, 122), http.StatusCreated)
	if a := string(e.do("GET", "/v1/plans/"+first.ID, "").want(http.StatusOK).body); !strings.Contains(a,
		`"limits_changed":false`) {
		t.Errorf("%s", a)
	}
	judge := func(p parted, before, after float64) { // θ
		t.Helper()
		l := e.latest(p.ID)
		if l == nil || l.Figures == nil {
			t.Fatalf("%+v", l)
		}
		if f := l.Figures; math.Abs(f.Theta.Before-before) > 0.005 || math.Abs(f.Theta.After-after) > 0.005 ||
			math.Abs(f.Migration.State-p.Migration.State) > 2 || f.Migration.Keys != p.Migration.Keys {
			t.Errorf("%+v; the plan itself: %+v", f, p)
		}
	}
	judge(first, 152/60.5-1, 61/60.5-1)
	e.verb(first.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.parted("/v1/operators/clicks/plans", hotStatistics(3, 121), http.StatusCreated)
	judge(first, 151/60.25-1, 60.5/60.25-1)
	e.finish(first.ID)

	// Two equal parts hold the key then, and each part has half of what is too much for two.
	more := decided(4, 150)
	e.parted("/v1/operators/clicks/plans", hotStatistics(5, 151), http.StatusCreated)
	judge(more, 75.5/67.75-1, more.Theta.After)
	e.verb(more.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(more.ID)

	// It has a part less: the state of that goes to another instance.
	less := decided(6, 40)
	e.parted("/v1/operators/clicks/plans", hotStatistics(7, 40), http.StatusCreated)
	judge(less, less.Theta.Before, less.Theta.After)
	if less.Migration.State < 30 {
		t.Errorf("%+v", less)
	}
}

// TestSplitKeysAreForeseen: what is expected of the next interval, and when it is planned for,
// goes by the parts of a key.
func TestSplitKeysAreForeseen(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(splitting, `"trigger":{"cooldown_intervals":0}`, `"policy":{"forecast":`+
		`{"method":"last"},"target_theta":null,"trigger":{"theta":null,"probability":0.5},"cooldown_intervals":0,`+
		`"budget":null,"minimum_benefit":0}`, 1))
	first := e.parted("/v1/operators/clicks/plans", hotStatistics(1, 120), http.StatusCreated)
	e.verb(first.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(first.ID)
	var p struct {
		parted
		Forecast struct {
			Without, With *struct{ Expected, Probability float64 }
		}
	}
	for i := range 30 { // hardly anything changes
		e.do("POST", "/v1/operators/clicks/plans", hotStatistics(2+i, 120+float64(i%2))).want(http.StatusCreated).into(&p)
		if p.Status != "no_action" {
			t.Fatalf("interval %d: %+v", 2+i, p)
		}
	}
	if w := p.Forecast.Without; w == nil || w.Expected > 0.05 || w.Probability > 0.1 {
		t.Errorf("%+v", p.Forecast.Without)
	}
	// The key grows for good: it gets a part more, after which θ is expected to be low.
	p.Forecast.With = nil
	e.do("POST", "/v1/operators/clicks/plans", hotStatistics(40, 150)).want(http.StatusCreated).into(&p)
	if w := p.Forecast.With; p.Status != "approved" || p.Merges != 2 || w == nil || w.Expected > 0.05 ||
		p.Forecast.Without.Expected < 0.1 {
		t.Errorf("%+v, with it %+v", p, w)
	}
}

// TestCooldownOfSplitKeys: a split key is no reason to plan too soon.
func TestCooldownOfSplitKeys(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(splitting, `"cooldown_intervals":0`, `"cooldown_intervals":3`, 1))
	first := e.parted("/v1/operators/clicks/plans", hotStatistics(1, 120), http.StatusCreated)
	e.verb(first.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(first.ID)
	if p := e.parted("/v1/operators/clicks/plans", hotStatistics(2, 150), http.StatusCreated); p.Status != "no_action" ||
		!slices.Equal(p.Causes, []string{"cooldown"}) || len(p.Splits) != 1 {
		t.Errorf("%+v", p)
	}
}

// TestTooFewParts: the cause says so, and the hot key how many it would take.
func TestTooFewParts(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(splitting, `"max_parts":4`, `"max_parts":2`, 1))
	p := e.parted("/v1/operators/clicks/plans", hotStatistics(1, 600), http.StatusCreated)
	if !slices.Contains(p.Causes, "parts_limit") || len(p.HotKeys) != 1 || p.HotKeys[0].Pieces <= 2 || p.Merges != 1 {
		t.Errorf("%+v", p)
	}
}

// TestReportsOfASplitKey: each instance reports its part, and none of them is drifted.
func TestReportsOfASplitKey(t *testing.T) {
	e := newEnv(t)
	splitOperator(e)
	at := []string{
		`{"key":"hot","cost":60,"state":300,"hash_instance":0}`, `{"key":"hot","cost":60,"state":310,"hash_instance":0}`, "", "",
	}
	for _, x := range []struct{ key, instance, home int }{ // as the first plan has put them
		{0, 2, 0}, {1, 2, 1}, {2, 2, 2}, {3, 3, 3}, {4, 3, 0}, {5, 3, 1}, {6, 2, 2}, {7, 3, 3},
		{8, 2, 0}, {9, 3, 1}, {10, 2, 2}, {11, 3, 3},
	} {
		if at[x.instance] != "" {
			at[x.instance] += ","
		}
		at[x.instance] += fmt.Sprintf(`{"key":"k%02d","cost":10,"state":10,"hash_instance":%d}`, x.key, x.home)
	}
	for d, rows := range at {
		e.report(2, d, `{"keys":[`+rows+`]}`).want(http.StatusCreated)
	}
	var p struct {
		parted
		DriftedKeys int64
	}
	e.planOfReports(2, "").want(http.StatusCreated).into(&p)
	if p.Status != "no_action" || p.DriftedKeys != 0 || p.Theta.Before > 1e-9 {
		t.Errorf("%+v", p)
	}
}

// TestWhatIfSplits: what splitting would come to, from a table that splits keys already.
func TestWhatIfSplits(t *testing.T) {
	e := newEnv(t)
	keys := strings.SplitN(hotStatistics(1, 120), ",", 2)[1]
	const table = `"routing_table":[{"key":"hot","instance":0,"parts":[{"instance":0,"weight":32768},{"instance":1,"weight":32768}]}],`
	var out struct{ Results []parted }
	e.do("POST", "/v1/what-if", `{"operator":{"instances":4,"hash":{"function":"reported"},"theta_max":0.05},`+table+
		`"parameters":{"max_parts":[1,2]},`+keys).want(http.StatusOK).into(&out)
	if len(out.Results) != 2 || out.Results[0].Merges != 0 || out.Results[1].Merges != 1 ||
		out.Results[0].Theta.After < 0.9 || out.Results[1].Theta.After > 0.05 || out.Results[1].Splits[0].Changed {
		t.Errorf("%+v", out)
	}
	lines := strings.Split(string(e.do("POST", "/v1/what-if?instances=2&max_parts=1,2", "key,cost\nhot,8\na,1\nb,1\n", csv,
		"Accept: text/csv").want(http.StatusOK).body), "\n")
	column := slices.Index(strings.Split(lines[0], ","), "merges")
	for i, want := range []string{"0", "1"} {
		if got := strings.Split(lines[1+i], ",")[column]; got != want {
			t.Errorf("%s merges of result %d, want %s", got, i, want)
		}
	}
	for parts, detail := range map[string]string{
		`[{"instance":0,"weight":1},{"instance":1,"weight":1}]`:         "65536",
		`[{"instance":0,"weight":32768},{"instance":9,"weight":32768}]`: "known",
	} {
		a := e.do("POST", "/v1/what-if", `{"operator":{"instances":4,"hash":{"function":"reported"}},"routing_table":[{"key":"hot",`+
			`"instance":0,"parts":`+parts+`}],`+keys).want(http.StatusUnprocessableEntity)
		if !strings.Contains(string(a.body), "/routing_table/0/parts") || !strings.Contains(string(a.body), detail) {
			t.Errorf("%s: %s", parts, a.body)
		}
	}
}

// TestSplittingIsRefused where keys have no names, or somebody else holds the table.
func TestSplittingIsRefused(t *testing.T) {
	e := newEnv(t)
	for name, c := range map[string]struct{ config, pointer string }{
		"engine":     {`{"instances":2,"table_owner":"engine","splitting":{"max_parts":2,"merge_cost":0}}`, "/splitting/max_parts"},
		"routing":    {`{"instances":2,"splitting":{"max_parts":1,"routing":"least_loaded"}}`, "/splitting/routing"},
		"price":      {`{"instances":2,"splitting":{"max_parts":1,"price":3}}`, "/splitting/price"},
		"merge cost": {`{"instances":2,"splitting":{"max_parts":1,"merge_cost":3}}`, "/splitting/merge_cost"},
		"parts":      {`{"instances":2,"splitting":{"max_parts":1,"parts":"expire"}}`, "/splitting/parts"},
		"ring":       {`{"instances":2,"scheme":"ring","splitting":{"max_parts":2,"merge_cost":0}}`, "/splitting"},
	} {
		a := e.do("PUT", "/v1/operators/x", c.config).want(http.StatusUnprocessableEntity)
		if !strings.Contains(string(a.body), `"`+c.pointer+`"`) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	e.operator("short", `{"instances":2,"splitting":{"max_parts":2}}`)
	splitOperator(e)
	e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":2,"compact":{"degree":1,"cost_scale":1,"state_scale":1,"records":[[0,0,8,4,3],[1,1,1,1,9]]}}`).
		fails(http.StatusConflict, "keys_not_known", "")
}

// TestPriceOfParts: under a price of parts a key that would fit whole is split where moving
// others costs more, in plans, what-ifs and replays.
func TestPriceOfParts(t *testing.T) {
	e := newEnv(t)
	const keys = `"keys":[{"key":"big","cost":30,"state":1000,"hash_instance":0},{"key":"mid","cost":20,"state":500,"hash_instance":0},` +
		`{"key":"a","cost":25,"state":500,"hash_instance":1},{"key":"b","cost":25,"state":500,"hash_instance":2},` +
		`{"key":"c","cost":10,"state":500,"hash_instance":3},{"key":"d","cost":10,"state":500,"hash_instance":3}]}`
	config := func(price string) string {
		return strings.Replace(splitting, `"merge_cost":0`, `"merge_cost":0,"price":`+price, 1)
	}
	e.operator("dear", config("1e6"))
	e.operator("clicks", config("5"))
	if a := string(e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK).body); !strings.Contains(a,
		`"splitting":{"max_parts":4,"merge_cost":0,"price":5}`) {
		t.Errorf("%s", a)
	}
	dear := e.parted("/v1/operators/dear/plans", `{"interval":1,`+keys, http.StatusCreated)
	if !dear.Balanced || dear.Migration.State < 500 {
		t.Errorf("to move costs less: %+v", dear)
	}
	p := e.parted("/v1/operators/clicks/plans", `{"interval":1,`+keys, http.StatusCreated)
	if !p.Balanced || p.Migration.State != 0 || p.Merges <= dear.Merges || len(p.Splits) < 1 ||
		p.Splits[0].Cause != "cheaper_split" {
		t.Errorf("%+v", p)
	}
	var replayed struct{ Results []parted }
	e.do("POST", "/v1/plans/"+p.ID+"/replay", `{"parameters":{"split_price":[5,1e6,null]}}`).want(http.StatusOK).into(&replayed)
	if r := replayed.Results; len(r) != 3 || r[0].Merges != p.Merges ||
		r[1].Merges != dear.Merges || r[2].Merges != 0 || r[2].Balanced {
		t.Errorf("%+v", r)
	}
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	e.finish(p.ID)
	if p = e.parted("/v1/operators/clicks/plans", `{"interval":2,`+keys, http.StatusCreated); p.Status != "no_action" ||
		p.Splits[0].Cause != "kept" {
		t.Errorf("%+v", p)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"splitting":{"price":null}}`).want(http.StatusOK)
	if a := string(e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK).body); !strings.Contains(a,
		`"splitting":{"max_parts":4,"merge_cost":0},`) {
		t.Errorf("%s", a)
	}
}

// TestLeastLoadedRouting: where routers choose the least loaded part, tables say so, and of the
// balance of a plan that splits keys nothing is claimed.
func TestLeastLoadedRouting(t *testing.T) {
	e := newEnv(t)
	body := func(path string) string {
		t.Helper()
		return string(e.do("GET", path, "").want(http.StatusOK).body)
	}
	has := func(what, text string, wanted ...string) {
		t.Helper()
		for _, x := range wanted {
			if !strings.Contains(text, x) {
				t.Errorf("%s has no %s: %s", what, x, text)
			}
		}
	}
	config := func(routing string) string {
		return strings.Replace(splitting, `"merge_cost":0`, `"merge_cost":0,"routing":"`+routing+`"`, 1)
	}
	e.operator("clicks", config("weighted"))
	if a := e.do("PUT", "/v1/operators/clicks", splitting).want(http.StatusOK); !strings.Contains(string(a.body),
		`"config_version":1`) || strings.Contains(string(a.body), `"routing"`) {
		t.Errorf("weighted is the default: %s", a.body)
	}
	e.do("PUT", "/v1/operators/clicks", config("least_loaded")).want(http.StatusOK)
	a := e.do("POST", "/v1/operators/clicks/plans", hotStatistics(1, 120)).want(http.StatusCreated)
	var p parted
	a.into(&p)
	if p.Status != "approved" || p.Merges != 1 || p.Theta.After > 0.05 || len(p.Causes) > 0 {
		t.Errorf("%+v", p)
	}
	has("the plan", string(a.body), `"balanced":null`, `"routing":"least_loaded"`)
	has("the list", body("/v1/operators/clicks/plans"), `"balanced":null`)
	e.do("PATCH", "/v1/operators/clicks", `{"approval":{"auto":"never"}}`, "Content-Type: application/merge-patch+json").
		want(http.StatusOK)
	e.do("POST", "/v1/operators/clicks/plans", hotStatistics(2, 121)).want(http.StatusCreated)
	has("the waiting plan", body("/v1/plans/"+p.ID), `"figures":{"balanced":null,`, `"breaks":[]`, `"limits_changed":false`)
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	feed := body("/v1/operators/clicks/routing-table?since=0")
	if before, pending, _ := strings.Cut(feed, `"pending":`); strings.Contains(before, `"routing"`) ||
		!strings.Contains(pending, `"routing":"least_loaded"`) {
		t.Errorf("the table still pins the first configuration: %s", feed)
	}
	e.finish(p.ID)
	has("the table", body("/v1/operators/clicks/routing-table"), `"routing":"least_loaded"`)
	has("the feed", body("/v1/operators/clicks/routing-table?since=0"), `"full":true`, `"routing":"least_loaded"`)
	has("the route", body("/v1/operators/clicks/route?key=hot"), `"routing":"least_loaded"`)
	if a := body("/v1/operators/clicks/route?key=k00"); strings.Contains(a, "routing") {
		t.Errorf("a whole key: %s", a)
	}
	replay := string(e.do("POST", "/v1/plans/"+p.ID+"/replay", `{"parameters":{"max_parts":[1,4]}}`).want(http.StatusOK).body)
	has("a replay", replay, `"balanced":false`, `"balanced":null`)
	csvOut := string(e.do("POST", "/v1/what-if", `{"operator":{"instances":4,"hash":{"function":"reported"},"theta_max":0.05,`+
		`"splitting":{"max_parts":4,"routing":"least_loaded"}},`+strings.SplitN(hotStatistics(1, 120), ",", 2)[1],
		"Accept: text/csv").want(http.StatusOK).body)
	lines := strings.Split(csvOut, "\n")
	if column := slices.Index(strings.Split(lines[0], ","), "balanced"); strings.Split(lines[1], ",")[column] != "" {
		t.Errorf("%s", csvOut)
	}
	// What is expected to be too much is told, and waits.
	e.do("PATCH", "/v1/operators/clicks", `{"splitting":{"max_parts":2}}`).want(http.StatusOK)
	a = e.do("POST", "/v1/operators/clicks/plans", hotStatistics(3, 600)).want(http.StatusCreated)
	has("a plan with too few parts", string(a.body), `"parts_limit"`, `"balanced":null`)
}

package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// underResources makes an operator whose hosts run out of memory while their processors have little to do, with
// network that only rows tell of. It returns the plans of two intervals; nothing can help in the second one.
func underResources(t *testing.T, server string) (helped, lost planned) {
	t.Helper()
	const operator = "/v1/operators/sessions"
	tell(t, http.MethodPut, server+operator, "", object{"hash": object{"function": "modulo"}, "require_approval": true,
		"approval": object{"auto": "never", "on_pending": "replace"},
		"resources": []any{object{"name": "cpu", "theta_max": 0.9}, object{"name": "memory", "from": "state", "limit": true},
			object{"name": "network", "theta_max": "150%"}},
		"instances": []any{object{"name": "w0", "capacity": 2, "capacities": object{"memory": 65536}},
			object{"name": "w1", "capacities": object{"memory": 40960, "network": 2}}}}, nil)
	interval := func(n int, states ...int) (p planned) {
		var keys []any
		for i, kib := range states {
			keys = append(keys, object{"key": fmt.Sprintf("k%d", i), "cost": 1, "state": 1024 * kib,
				"costs": object{"network": 1 + i%3}})
		}
		tell(t, http.MethodPost, server+operator+"/plans", "", object{"interval": n, "keys": keys}, &p)
		return p
	}
	return interval(1, 30, 3, 30, 3, 5, 3, 3, 3), interval(2, 30, 30, 30, 30)
}

// TestResourcesOfPlans: a plan tells which resource decides, has a plot for each, the worst first, and names the
// resource wherever something is impossible.
func TestResourcesOfPlans(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	helped, lost := underResources(t, server.URL)
	p := open(t, server.URL, "/#/plans/"+helped.ID, ".plan-loads canvas")
	p.WaitText(".plan-headline", "Better than without it: all limits hold.")
	p.WaitText(".plan-headline", "memory decides: w1 held 178 % of what it has. After the plan no instance holds more than ")
	p.WaitText(".stats", "memory, of the fullest instance")
	p.WaitText(".plan-facts", "at most what an instance has")
	const titles = `[...document.querySelectorAll('.plan-loads h2')].map((h) => h.textContent)`
	got := browsertest.Eval[[]string](p, titles)
	if len(got) != 3 || got[0] != "memory on each instance" || !slices.Contains(got, "cpu on each instance") {
		t.Errorf("plots are %q", got)
	}
	p.Click(".plan-loads .chart-data summary")
	p.WaitFor(".plan-loads table")
	if got := column(p, "memory on 2 instances", 3); got[1] != "178 %" {
		t.Errorf("of capacities %q are taken before", got)
	}
	look(t, p, "/#/plans/"+helped.ID, "plan-resources", ".plan-loads canvas")

	widen(p).Goto("/#/plans/" + lost.ID)
	p.WaitText(".plan-headline", "but a limit does not hold.")
	p.WaitText("main", "memory: no plan keeps within the capacities; at least 1")
	p.WaitText("main", "memory: after the plan w")
	p.WaitText(".stats .stat.bad", "above what each instance has")
	glance(t, 1, p, "/#/plans/"+lost.ID+"?loads=absolute", "plan-resources-lost", ".plan-loads canvas")

	widen(p).Goto("/#/operators/sessions")
	p.WaitText(".stats", "memory, of the fullest instance")
	p.WaitText(".stats", "memory: in 2 of 2 intervals; filling realised ")
	p.WaitFor(".operator-charts canvas")
	const charts = `[...document.querySelectorAll('.operator-charts h2')].slice(0, 3).map((h) => h.textContent)`
	if got := browsertest.Eval[[]string](p, charts); got[0] != "memory: fullest instance" ||
		!slices.Contains(got, "cpu: imbalance θ") || !slices.Contains(got, "network: imbalance θ") {
		t.Errorf("charts of intervals are %q", got)
	}
	p.Click(".operator-charts .chart-data summary")
	p.WaitFor(".operator-charts table")
	if got := column(p, "memory: fullest instance, as it was realised", 2); len(got) != 2 || got[1] != "178 %" {
		t.Errorf("memory came to %q", got)
	}
	look(t, p, "/#/operators/sessions", "operator-resources", ".operator-charts canvas")
	widen(p)
	p.WaitText(".operator-does", "above its bound: memory, w")
	p.Goto("/#/")
	p.WaitText(".operators-plan", "above its bound: memory, w")
	p.WaitText(".operators-plan", " % of what it has")
	p.WaitText(".operators-now .toned.good", "%") // θ
	p.WaitText(".operators-now .toned.bad", "memory 1")
	p.WaitText(".bar [role=status]", "1 operator above a limit")
	p.Goto("/#/?theta=within")
	p.WaitText(".operators", "No operator is like that")
	look(t, p, "/#/?theta=above", "operators-resources", ".operators-now .toned.bad")
}

// TestResourcesExpected: a plan tells what came of each resource, and what to expect of it and of all bounds together.
func TestResourcesExpected(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	tell(t, http.MethodPut, server.URL+"/v1/operators/sessions", "", object{
		"instances": 2, "hash": object{"function": "modulo"},
		"policy":    object{"forecast": object{"method": "ewma"}, "cooldown_intervals": 9},
		"resources": []any{object{"name": "cpu", "theta_max": 0.9}, object{"name": "network", "theta_max": 0.5}}}, nil)
	var plan planned
	for i := range 8 {
		var keys []any
		for k := range 12 {
			keys = append(keys, object{"key": fmt.Sprint("k", k), "cost": 10 + (i*k)%3,
				"costs": object{"network": 5 + (7*i+k*k)%11}})
		}
		tell(t, http.MethodPost, server.URL+"/v1/operators/sessions/plans", "", object{"interval": i, "keys": keys}, &plan)
	}
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-expected table")
	p.WaitText("main", "In this interval cpu came to ")
	p.WaitText("main", "network came to ")
	p.WaitText("main", " % on instance ")
	got := column(p, "What to expect of the next interval", 0)
	if len(got) != 7 || got[0] != "Probability that any bound is broken" || got[1] != "cpu, median" ||
		got[6] != "Probability that the bound of network is broken" {
		t.Errorf("what is expected has rows %q", got)
	}
	for _, x := range column(p, "What to expect of the next interval", 1) {
		if !strings.HasSuffix(x, "%") {
			t.Errorf("%q is expected", x)
		}
	}
	look(t, p, "/#/plans/"+plan.ID, "plan-resources-expected", ".plan-expected table")
}

// TestResourcesOfHotKeys: a key that no instance has room for is told with its resource.
func TestResourcesOfHotKeys(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	tell(t, http.MethodPut, server.URL+"/v1/operators/images", "", object{
		"instances": []any{object{"id": 0, "capacities": object{"memory": 2048}}, object{"id": 1, "capacities": object{"memory": 2048}}},
		"theta_max": "300%",
		"resources": []any{object{"name": "cpu"}, object{"name": "memory", "from": "state", "limit": true}}}, nil)
	var plan planned
	tell(t, http.MethodPost, server.URL+"/v1/operators/images/plans?interval=1", "",
		rows("key,cost,state\nlarge,1,3072\nsmall,1,10\n"), &plan)
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-loads canvas")
	p.WaitText("main", "memory: no instance can carry this key within its bound, wherever it goes: "+
		"at least 150 % of a capacity is taken.")
	p.WaitText("main", "memory: a single key takes more than any instance may carry.")
	if got := cells(p, "Hot keys"); len(got) != 1 || got[0][2] != "memory" || got[0][4] != "150 % of a capacity" {
		t.Errorf("hot keys are %q", got)
	}
}

// TestResourcesBesideEachOther: what-ifs and comparisons tell each resource.
func TestResourcesBesideEachOther(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	helped, _ := underResources(t, server.URL)
	p := open(t, server.URL, "/#/plans/"+helped.ID, ".plan-loads canvas")
	p.WaitUntil(settled)
	p.Click(".plan-links > button")
	p.WaitText("dialog", "memory: of the fullest instance before → after")
	p.WaitText("dialog", "178 % → ")
	place := "/#/what-if?plan=" + helped.ID + "&strategies=mixed,optimal&theta_max=80%25,90%25&run=1"
	p.Goto(place)
	p.WaitFor(".whatif-table table")
	p.WaitText(".whatif-table", "memory taken")
	p.WaitText(".whatif-table", "θ of network after")
	p.Click(".whatif-table tbody a")
	p.WaitText(".whatif-open", "memory decides: w1 held 178 % of what it has.")
	p.Goto(place)
	p.WaitFor(whatIfRows)
	const other = ".card:first-child .whatif-more + .whatif-more"
	p.Click(other + " summary")
	p.Fill(other+" textarea", `[{"name":"cpu"},{"name":"keys","from":"count","limit":true}]`)
	p.Expect("status of 422")
	p.Click(whatIfRun)
	p.WaitText("[role=alert]", "keys")
	p.Fill(other+" textarea", `[{"name":"cpu"},{"name":"keys","from":"count","theta_max":"100%"}]`)
	p.Click(whatIfRun)
	p.WaitText(".whatif-table", "θ of keys after")
	look(t, p, place, "whatif-resources", ".whatif-table table")
}

// TestResourcesOfConfigurations: resources and what instances have of them can be read, are in the request that
// configures the operator, and the first statistics name what only rows tell.
func TestResourcesOfConfigurations(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	underResources(t, server.URL)
	const place = "/#/operators/sessions/configuration"
	p := open(t, server.URL, place, ".operator-resources")
	want := [][]string{{"cpu", "the cost of rows", "at most 90 % above its fair load"},
		{"memory", "the state of each key", "at most what the instance has"},
		{"network", "costs.network of rows", "at most 150 % above its fair load"}}
	if got := cells(p, "What keys take"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("resources are %q", got)
	}
	for n, want := range map[int][]string{3: {"2", "1"}, 4: {"65,536", "40,960"}, 5: {"2", "2"}} {
		if got := column(p, "Instances that are alike", n); !slices.Equal(got, want) {
			t.Errorf("column %d of instances is %q", n, got)
		}
	}
	bash(t, p.Text(".operator-request code"))
	var now struct {
		Version int `json:"config_version"`
	}
	if ask(t, server.URL+"/v1/operators/sessions", "", &now); now.Version != 1 {
		t.Error("the command made another configuration")
	}
	look(t, p, place, "configuration-resources", ".operator-resources")
	widen(p)

	tell(t, http.MethodPut, server.URL+"/v1/operators/new", "", object{"instances": 2,
		"resources": []any{object{"name": "cpu"}, object{"name": "network", "theta_max": "100%"}}}, nil)
	p.Goto("/#/operators/new")
	p.WaitText("main", "cost.network")
	if out := bash(t, p.Text("main code")); !strings.Contains(out, `"network"`) {
		t.Errorf("the first statistics are answered with %s", out)
	}
}

// TestResourcesChanged: a form on the page of the configuration changes resources and what instances have of them,
// says beforehand what that would be, and beside its fields what is wrong with them.
func TestResourcesChanged(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	underResources(t, server.URL)
	const place, path = "/#/operators/sessions/configuration", "/v1/operators/sessions"
	const form, button, submit = ".operator-edit", ".operator-resources .card-aside button", ".operator-edit .primary"
	row := func(n int, of string) string { return fmt.Sprintf("%s fieldset:nth-of-type(%d) %s", form, n, of) }
	const name, tolerance = "input[pattern]", ".fields:first-of-type input[type=number]"
	p := open(t, server.URL, place, button)
	p.Click(button)
	p.WaitText(form, "Nothing is changed yet.")
	p.Fill(row(3, name), "memory")
	p.Expect("status of 422")
	p.Click(submit)
	p.WaitText(row(3, ".field:first-child .hint"), "Memory stands twice.")
	p.Fill(row(3, name), "net")
	p.Fill(row(3, tolerance), "100")
	p.Fill(row(2, "details .field:last-child input"), "40000")
	p.WaitText(form, "resource net added: costs.net of rows, at most 100 % above its fair load")
	p.WaitText(form, "memory of w1: 40,960 → 40,000")
	p.WaitText(form, "no row has costs.net are refused")
	// By keyboard: the new row has the focus, and Enter in it sends the form.
	browsertest.Eval[bool](p, `(document.querySelector('.operator-edit > p > button').focus(), true)`)
	p.Press("Enter")
	p.WaitUntil(`document.activeElement.matches('.operator-edit fieldset:nth-of-type(4) input')`)
	p.Fill(row(4, name), "keys")
	p.Fill(row(4, "select"), "count")
	for _, l := range looks {
		p.Viewport(l.width, l.height, l.dark)
		if p.Axe(); l.dark {
			p.AxeColours()
		}
		p.Screenshot("resources-form")
	}
	p.Viewport(1280, 900, false)
	p.Fill(row(4, name), "keys")
	p.Press("Enter")
	p.WaitGone("dialog")
	p.WaitText(".operator-resources", "costs.net of rows")
	p.WaitText(".operator-versions", "resource keys added: 1 for each key, at most 25 % above its fair load")
	var now struct {
		Version   int `json:"config_version"`
		Instances []struct {
			Capacities map[string]float64
		}
	}
	ask(t, server.URL+path, "", &now)
	if got := fmt.Sprint(now.Version, now.Instances[1].Capacities); got != "2 map[memory:40000 net:2]" {
		t.Errorf("the form set %s", got)
	}

	// What somebody else has set meanwhile stays.
	p.Click(button)
	p.Fill(row(1, tolerance), "50")
	tell(t, http.MethodPatch, server.URL+path, "", patch{"entry_grace": 3}, nil)
	p.Click(submit)
	p.WaitText(form, "Somebody changed the configuration while you looked at it")
	p.Press("Escape")
	p.WaitGone("dialog")
	p.WaitText(".operator-facts", "configuration version 3")
	p.Click(button)
	for n := 4; n > 0; n-- {
		p.Click(row(n, "> p button"))
	}
	p.WaitText(form, "cost is all that counts")
	p.Click(submit)
	p.WaitText(".operator-resources", "Cost is all that counts.")
}

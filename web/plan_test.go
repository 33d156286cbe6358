package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/web/access"
)

// planned is what the tests read of a plan of the API.
type planned struct {
	ID       string  `json:"id"`
	Status   string  `json:"status"`
	Interval int64   `json:"interval"`
	Awaited  []int32 `json:"awaits"`
	Balanced bool    `json:"balanced"`
	Theta    struct {
		Before float64 `json:"before"`
		After  float64 `json:"after"`
	} `json:"theta"`
	Migration struct {
		Keys     int64   `json:"keys"`
		Fraction float64 `json:"fraction"`
	} `json:"migration"`
	Instances []struct {
		ID         int32   `json:"id"`
		LoadBefore float64 `json:"load_before"`
		LoadAfter  float64 `json:"load_after"`
		KeysAfter  int64   `json:"keys_after"`
	} `json:"instances"`
	HotKeys []struct {
		Key string `json:"key"`
	} `json:"hot_keys"`
}

// propose makes an operator and a plan of it that waits for approval.
func propose(t *testing.T, server, token, operator string) planned {
	t.Helper()
	tell(t, http.MethodPut, server+"/v1/operators/"+operator, token, object{
		"instances": 4, "hash": object{"function": "modulo"}, "theta_max": 0.05, "require_approval": true,
	}, nil)
	var keys []object
	for i := range 40 {
		keys = append(keys, object{"key": fmt.Sprintf("key %d 🦊", i), "cost": 1 + i*i, "state": 10 + i})
	}
	var p planned
	tell(t, http.MethodPost, server+"/v1/operators/"+operator+"/plans", token, object{"interval": 7, "keys": keys}, &p)
	if p.Status != "proposed" || p.Migration.Keys == 0 {
		t.Fatalf("the plan is %s and moves %d keys", p.Status, p.Migration.Keys)
	}
	return p
}

func TestPlanLooks(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	for n, c := range []struct{ name, id string }{
		{"proposed", site.Plans.Proposed}, {"hot-keys", site.Plans.HotKeys}, {"applying", site.Plans.Applying},
		{"ring", site.Plans.Ring}, {"ranges", site.Plans.Ranges},
	} {
		glance(t, n, p, "/#/plans/"+c.id, "plan-"+c.name, ".plan")
	}
}

// TestPicture draws docs/dashboard.png, a plan that waits for approval:
//
//	PLANNERD_SCREENSHOTS=$PWD/docs go test ./web -run TestPicture
func TestPicture(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Viewport(1280, 772, false)
	p.Goto("/#/plans/" + site.Plans.Proposed)
	p.WaitFor(".plan-row canvas")
	p.WaitUntil(settled)
	p.Picture("dashboard")
}

// TestPlanFigures holds the figures of the page against those of the API.
func TestPlanFigures(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := widen(browsertest.Start(t).Page(t, site.URL))
	for name, id := range map[string]string{"proposed": site.Plans.Proposed, "rescaled": site.Plans.Rescaled,
		"hot keys": site.Plans.HotKeys, "classes": site.Plans.Classes} {
		t.Log(name)
		var want planned
		ask(t, site.URL+"/v1/plans/"+id, "", &want)
		enter(p, "/#/plans/"+id)
		p.WaitFor(".plan-head")
		p.WaitText("h1", fmt.Sprintf("Plan of interval %d", want.Interval))
		p.WaitText(".stats", fmt.Sprintf("%d keys", want.Migration.Keys))
		if name == "rescaled" { // its instances changed, and the next interval is expected to miss the limit
			p.WaitText(".plan-headline.warn", "Needed, as instances or their hash changed, but the limit ")
		} else if bad := p.Count(".stat.bad") > 0; bad == want.Balanced {
			t.Errorf("balanced is %t, and shown so: %t", want.Balanced, !bad)
		}
		p.WaitFor(".chart-place canvas")
		p.Click(".plan-loads .chart-data summary")
		p.WaitFor(".plan-loads .chart-data table")
		var ids, before, after []string
		for _, i := range want.Instances {
			ids = append(ids, strconv.Itoa(int(i.ID)))
			before, after = append(before, grouped(i.LoadBefore)), append(after, grouped(i.LoadAfter))
		}
		caption := "Load of " + strconv.Itoa(len(ids))
		for n, w := range map[int][]string{0: ids, 2: before, 3: after} {
			if got := column(p, caption, n); !slices.Equal(got, w) {
				t.Errorf("column %d is %v, want %v", n, got, w)
			}
		}
		if len(want.HotKeys) > 0 {
			if got := column(p, "Hot keys", 0); got[0] != want.HotKeys[0].Key || len(got) != len(want.HotKeys) {
				t.Errorf("hot keys are %v", got)
			}
		}
	}
}

// grouped writes an integral amount as the page does: 12,810.
func grouped(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		return whole + "." + rest
	}
	return whole
}

// TestPlanFlows: flows are those of the API, and lead to their migrations.
func TestPlanFlows(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	id := site.Plans.Proposed
	var list struct {
		Flows []struct {
			From, To int32
			Keys     int64
		}
	}
	ask(t, site.URL+"/v1/plans/"+id+"/flows", "", &list)
	var pairs, keys []string
	for _, f := range list.Flows {
		pairs, keys = append(pairs, fmt.Sprintf("%d → %d", f.From, f.To)), append(keys, strconv.FormatInt(f.Keys, 10))
	}
	p := open(t, site.URL, "/#/plans/"+id, ".plan-head")
	const flows = ".plan-row > div .chart-data"
	p.WaitFor(flows + " summary")
	p.Click(flows + " summary")
	p.WaitFor(flows + " table")
	caption := fmt.Sprintf("%d flows", len(pairs))
	if got := column(p, caption, 0); !slices.Equal(got, pairs) {
		t.Errorf("flows are %v, want %v", got, pairs)
	}
	if got := column(p, caption, 1); !slices.Equal(got, keys) {
		t.Errorf("their keys are %v, want %v", got, keys)
	}
	p.Click(flows + " tbody tr:first-child a")
	p.WaitUntil(fmt.Sprintf(`location.hash.includes('from=%d&to=%d')`, list.Flows[0].From, list.Flows[0].To))
	p.WaitUntil(`document.activeElement.id === 'plan-migrations'`)
	p.WaitText(".plan-said a", "Show all")
	p.Click(".plan-said a")
	p.WaitUntil(`!location.hash.includes('from=')`)
}

// TestPlanLinks: how loads and flows are shown is in the link.
func TestPlanLinks(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/plans/"+site.Plans.Proposed+"?loads=absolute&by=load&flow=matrix", ".plan-head")
	pressed := func() []string {
		return browsertest.Eval[[]string](p,
			`[...document.querySelectorAll('.plan-choice [aria-pressed="true"]')].map((b) => b.textContent)`)
	}
	p.WaitUntil(`document.querySelectorAll('.plan-choice').length === 3`)
	if got := pressed(); !slices.Equal(got, []string{"Absolute", "By load before", "Matrix"}) {
		t.Errorf("the link shows %v", got)
	}
	p.Click(`.plan-choice[aria-label="Loads"] button:first-child`)
	p.WaitUntil(`!location.hash.includes('loads=')`)
	if got := pressed(); got[0] != "Over fair load" {
		t.Errorf("after a click it shows %v", got)
	}
}

// TestApprove approves a plan with a reason and a name, and sees what became of it.
func TestApprove(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	p.WaitText(".plan-standing", "it expires in")

	p.Click(".plan-decision .danger")
	p.WaitText("dialog", "Reject the plan")
	p.Axe()
	p.Click("dialog .danger")
	if !browsertest.Eval[bool](p, `document.querySelector('dialog textarea').matches(':invalid')`) {
		t.Error("a plan may be rejected without a reason")
	}
	p.Fill("dialog textarea", "too much")
	p.Press("Escape")
	p.WaitGone("dialog")

	p.Click(".plan-decision .primary")
	p.WaitText("dialog", "Approve the plan")
	if got := browsertest.Eval[string](p, `document.querySelector('dialog textarea').value`); got != "" {
		t.Errorf("the reason against the plan is now for it: %q", got)
	}
	p.Fill("dialog textarea", "quiet hour")
	p.Fill("dialog input", "ann@example.org")
	p.Press("Enter")
	p.WaitGone("dialog")
	p.WaitText(".plan-head .status", "approved")
	p.WaitText(".announcements", "approved")
	p.WaitUntil(`document.activeElement.id === 'plan-title'`)
	p.WaitUntil(`[...document.querySelectorAll('td')].some((c) => c.textContent === 'quiet hour')`)

	var steps struct {
		Transitions []struct{ To, Actor, Reason string }
	}
	ask(t, server.URL+"/v1/plans/"+plan.ID+"/transitions", "", &steps)
	if n := len(steps.Transitions); n != 2 || steps.Transitions[1].Actor != "ann@example.org" ||
		steps.Transitions[1].Reason != "quiet hour" {
		t.Errorf("the steps are %+v", steps.Transitions)
	}
	p.Reload()
	p.Click(".plan-decision .danger")
	if got := browsertest.Eval[string](p,
		`document.querySelector('dialog input[type="text"]').value`); got != "ann@example.org" {
		t.Errorf("the name is remembered as %q", got)
	}
}

// TestNewerData: a plan that waits shows what newer statistics say about it, wherever it
// can be decided on.
func TestNewerData(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-headline")
	p.WaitText(".plan-headline", "within its limit of 5 %")
	if p.Count(".newer") > 0 || strings.Contains(p.Text(".plan-headline"), "newer") {
		t.Error("there are newer statistics before any were sent")
	}
	var keys []object
	for i := range 40 {
		keys = append(keys, object{"key": fmt.Sprintf("key %d 🦊", i), "cost": 1600 - i*i, "state": 10 + i})
	}
	var newer struct {
		Pending struct {
			Plan    string  `json:"plan"`
			Figures planned `json:"figures"`
		} `json:"pending"`
	}
	tell(t, http.MethodPost, server.URL+"/v1/operators/clicks/plans", "", object{"interval": 8, "keys": keys}, &newer)
	after := newer.Pending.Figures.Theta.After
	if newer.Pending.Plan != plan.ID || after <= 0.05 {
		t.Fatalf("the newer statistics say %+v", newer)
	}
	said := strconv.FormatFloat(100*after, 'g', 3, 64) + " %"
	renew(p)
	p.WaitText(".plan-headline .bad", "newer data: "+said+", above")
	p.WaitText(".newer.bad", said)
	p.Axe()
	p.Click(".plan-decision .primary")
	p.WaitText("dialog .newer.bad", said+", above its limit of 5 %")
	p.Axe()
	p.Press("Escape")
	p.Goto("/#/operators/clicks")
	p.WaitText(".operator-does .bad", said)
	p.WaitText(".operator-does .good", "within its limit of 5 %")
}

// TestHeadline: what a plan does is said in a sentence, and within the limit is not good
// enough where it gets worse.
func TestHeadline(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "wide")
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/approve", "", object{}, nil)
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/commit", "", object{"stopped": true}, nil)
	tell(t, http.MethodPut, server.URL+"/v1/operators/wide", "", object{
		"instances": 5, "hash": object{"function": "modulo"}, "theta_max": "300%", "table_limit": 0, "require_approval": true,
	}, nil)
	var keys []object
	for i := range 40 {
		keys = append(keys, object{"key": fmt.Sprintf("key %d 🦊", i), "cost": 1 + i*i, "state": 10 + i})
	}
	var worse planned
	tell(t, http.MethodPost, server.URL+"/v1/operators/wide/plans", "", object{"interval": 9, "keys": keys}, &worse)
	if worse.Theta.After <= worse.Theta.Before || worse.Theta.After > 3 || worse.Migration.Fraction == 0 {
		t.Fatalf("the plan %+v does not make it worse within its limit", worse)
	}
	p := open(t, server.URL, "/#/plans/"+worse.ID, ".plan-headline")
	p.WaitText(".plan-headline", "Adds instance 4")
	p.WaitText(".plan-headline", fmt.Sprintf("moves %.3g %% of all state", 100*worse.Migration.Fraction))
	p.WaitText(".plan-headline .warn", "θ was within its limit of 300 % already and gets worse")
	p.WaitFor(".stat.warn .mark.bad")
	p.WaitUntil(`[...document.querySelectorAll('.stat-note')].some((e) => /of all state; .*has to/.test(e.textContent))`)
	p.Click(".plan-decision .primary")
	p.WaitText("dialog .plan-headline", "Adds instance 4")
	p.WaitText("dialog .toned.warn", "already and gets worse")
	p.Axe()
}

// TestConcerns: what a plan waits for is said wherever it can be decided on, also where
// its figures look good; and so is that an approved one has to be approved again, until
// somebody has.
func TestConcerns(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	operator := server.URL + "/v1/operators/clicks"
	tell(t, http.MethodPut, operator, "", object{"instances": 4, "hash": object{"function": "reported"}, "theta_max": 0.05,
		"approval": object{"max_migration": object{"fraction": 0.01}}}, nil)
	const header = "key,cost,state,hash_instance\n"
	var plan planned
	tell(t, http.MethodPost, operator+"/plans?interval=1", "", rows(header+"a,10,9,0\nb,5,1,0\nc,5,9,1\nd,10,9,2\ne,10,9,3\n"), &plan)
	const much = "waits as it moves more than may move without approval (1 % of all state)"
	p := open(t, server.URL, "/", ".operators")
	p.WaitText(".operators-plan .toned.warn", much)
	p.Goto("/#/operators/clicks")
	p.WaitText(".operator-does .toned.warn", much)
	p.Goto("/#/plans/" + plan.ID)
	p.WaitText(".plan-headline .toned.good", "gets within its limit")
	p.WaitText(".plan-headline .toned.warn", much)
	p.Click(".plan-decision .primary")
	p.WaitText("dialog .toned.warn", much)
	p.Axe()
	p.Click("dialog .primary")
	p.WaitText(".plan-head .status", "approved")
	p.WaitGone(".plan-headline .toned.warn")

	// Where the plan sends a key, all is even by now.
	tell(t, http.MethodPost, operator+"/plans?interval=2", "", rows(header+"a,5,9,0\nb,5,1,0\nc,10,9,1\nd,10,9,2\ne,10,9,3\n"), nil)
	renew(p)
	const again = "has to be approved again: by newer data it leaves θ above its limit and worse"
	p.WaitText(".plan-headline .toned.warn", again)
	p.WaitText(".plan-standing .toned.bad", "cannot be started")
	p.Goto("/")
	p.WaitText(".operators-plan .toned.warn", again[1:])
	p.WaitText(".waiting", "1 plan waits for approval")
	p.WaitText(".operators-do .primary", "Review")
	p.Goto("/#/operators/clicks")
	p.WaitText(".operator-now.waits", "has to be approved again")
	p.Click(".operator-now .primary")
	p.Click(".plan-decision .primary")
	p.WaitText("dialog .toned.warn", again)
	p.WaitText("dialog .plan-headline .toned.good", "gets within its limit")
	p.WaitText("dialog", "Approving it accepts this")
	p.Axe()
	p.Click("dialog .primary")
	p.WaitGone(".plan-standing .toned.bad")
	p.WaitGone(".plan-decision .primary")
	p.WaitText(".plan-headline", "newer data")
}

// TestDecisionOnChangedPlan: what is decided holds for the plan that was looked at.
func TestDecisionOnChangedPlan(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	p.Expect("status of 412")
	p.Click(".plan-decision .primary")
	p.WaitFor("dialog textarea")
	p.Fill("dialog textarea", "quiet hour")
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/reject", "", map[string]string{"reason": "no"}, nil)
	renew(p)
	p.WaitText(".plan-head .status", "rejected")
	p.Click("dialog .primary")
	p.WaitText("dialog .trouble", "The plan changed while you looked at it")
	p.WaitText("dialog .trouble", "Somebody rejected it")
	p.WaitText("dialog .trouble", "(“no”)")
	if got := browsertest.Eval[string](p, `document.querySelector('dialog textarea').value`); got != "quiet hour" {
		t.Errorf("of what was written is left %q", got)
	}
	p.Click("dialog .trouble button")
	p.WaitGone("dialog")
	p.WaitGone(".plan-decision")
}

// TestDecisionWithoutAnswer: a decision whose answer was lost may be sent again.
func TestDecisionWithoutAnswer(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	p.Expect("ERR_CONNECTION_REFUSED")
	back := p.Refuse("/approve$")
	p.Click(".plan-decision .primary")
	p.WaitFor("dialog textarea")
	p.Click("dialog .primary")
	p.WaitText("dialog", "Send it again")
	back()
	p.Click("dialog .primary")
	p.WaitText(".plan-head .status", "approved")
}

// TestProgress follows a plan until it is committed.
func TestProgress(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	do := func(verb string, in any) {
		t.Helper()
		tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/"+verb, "", in, &plan)
		renew(p)
	}
	do("approve", map[string]string{})
	do("start", map[string]string{"executor": "job-manager-1"})
	n := len(plan.Awaited)
	p.WaitText(".plan-standing", "job-manager-1 carries it out")
	p.WaitText(".plan-progress", fmt.Sprintf("0 of %d instances", n))
	do("acks", object{"instances": plan.Awaited[:1], "actor": "task"})
	p.WaitText(".plan-progress", fmt.Sprintf("1 of %d instances", n))
	if got := column(p, "Instances that", 0); got[n-1] != strconv.Itoa(int(plan.Awaited[0])) {
		t.Errorf("those that are awaited do not come first: %v", got)
	}
	do("acks", object{"instances": plan.Awaited[1:]})
	p.WaitText(".plan-head .status", "committed")
	p.WaitText(".announcements", "is committed: routing table version 1")
	p.WaitText(".plan-progress", fmt.Sprintf("%d of %d instances have acknowledged, ", n, n))
	p.WaitText(".plan-progress", "after the start it was committed")
	if got := column(p, "Instances that", 2); len(got) != n || slices.Contains(got, "–") {
		t.Errorf("how long the instances took is lost: %v", got)
	}
}

// TestSuperseded: a plan that another took the place of leads to it.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	tell(t, http.MethodPatch, server.URL+"/v1/operators/clicks", "",
		patch{"approval": object{"on_pending": "replace"}}, nil)
	var next planned
	keys := []object{{"key": "key 1 🦊", "cost": 9000}, {"key": "key 2 🦊", "cost": 9000}, {"key": "key 3 🦊", "cost": 9000}}
	tell(t, http.MethodPost, server.URL+"/v1/operators/clicks/plans", "", object{"interval": 8, "keys": keys}, &next)
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-standing a")
	p.Click(".plan-standing a")
	p.WaitUntil(`location.hash === '#/plans/` + next.ID + `'`)
}

// TestTerms: what a term means is told where the pointer rests on it, and the objective
// and the effort of a strategy that has none are not shown.
func TestTerms(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/plans/"+site.Plans.Proposed, ".plan-facts")
	p.WaitFor(`.stat .term[title*="fair share"]`)
	p.WaitFor(`.vtable-head .term[title*="copied"]`)
	facts := browsertest.Eval[[]string](p, `[...document.querySelectorAll('.plan-facts dt')].map((e) => e.textContent)`)
	if !slices.Contains(facts, "Objective") || !slices.Contains(facts, "Effort") {
		t.Errorf("of optimal there are %v", facts)
	}
	p.Goto("/#/plans/" + site.Plans.Rescaled)
	p.WaitText("h1", "interval 5")
	p.WaitText(".plan-facts", "Mixed")
	if text := p.Text("main"); strings.Contains(text, "least migration") || strings.Contains(text, "Effort") {
		t.Error("a plan of mixed seems to be one of least migration, or of some effort")
	}
}

// TestAbort gives up a plan that is being applied: first no ack counts any more, then the
// state is back.
func TestAbort(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/approve", "", map[string]string{}, nil)
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/start", "",
		map[string]string{"executor": "job-manager-1"}, nil)
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	p.Click(".plan-decision .danger")
	p.WaitText("dialog", "No acknowledgement counts from now on")
	p.Axe()
	p.Click("dialog .danger")
	p.WaitText(".plan-head .status", "being aborted")
	p.WaitText(".plan-standing", "takes the state back")
	p.Click(".plan-decision .danger")
	p.WaitText("dialog", "taken all state back")
	p.Axe()
	p.Click("dialog .danger")
	if !browsertest.Eval[bool](p, `document.querySelector('dialog [type="checkbox"]').matches(':invalid')`) {
		t.Error("it may be aborted without the state being back")
	}
	p.Click(`dialog [type="checkbox"]`)
	p.Click("dialog .danger")
	p.WaitText(".plan-head .status", "aborted")
	p.WaitText(".plan-headline", "Not carried out: moves")
	if got := column(p, "Instances that", 1); slices.Contains(got, "awaited") {
		t.Errorf("instances are awaited by a plan that is aborted: %v", got)
	}
}

// openAs opens the page of a plan with a token of a role.
func openAs(t *testing.T, server *browsertest.Server, role access.Role, id string) *browsertest.Page {
	t.Helper()
	p := browsertest.Start(t).Page(t, server.URL)
	p.Expect(`status of 401`)
	p.Goto("/#/plans/" + id)
	p.Fill("#token", server.Tokens[role])
	p.Press("Enter")
	p.WaitFor(".plan-head")
	return p
}

// TestPlanJSON: what the API says of a plan is a link, or a file where links would have no token.
func TestPlanJSON(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, true)
	plan := propose(t, server.URL, server.Tokens[access.Admin], "clicks")
	p := openAs(t, server, access.Viewer, plan.ID)
	browsertest.Eval[any](p, `void (HTMLAnchorElement.prototype.click = function () {})`)
	browsertest.Eval[any](p, `void (URL.createObjectURL = (blob) => { window.saved = blob; return '#' })`)
	p.Click(".plan-links button")
	p.WaitText(".announcements", "Saved as clicks-interval-7.json.")
	if id := browsertest.Eval[string](p, `saved.text().then((text) => JSON.parse(text).id)`); id != plan.ID {
		t.Errorf("the file is of the plan %q, not %q", id, plan.ID)
	}
}

// TestDecisionRoles: who may not decide is told so; who may is known by the token.
func TestDecisionRoles(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, true)
	plan := propose(t, server.URL, server.Tokens[access.Admin], "clicks")
	for role, see := range map[access.Role]func(p *browsertest.Page){
		access.Viewer: func(p *browsertest.Page) { p.WaitText(".plan-decision", "needs the role approver; yours is viewer") },
		access.Approver: func(p *browsertest.Page) {
			p.Click(".plan-decision .primary")
			p.WaitFor("dialog textarea")
			if p.Count(`dialog input[type="text"]`) > 0 {
				t.Error("a name is asked for that the token says")
			}
		},
	} {
		t.Run(string(role), func(t *testing.T) {
			see(openAs(t, server, role, plan.ID))
		})
	}
}

package web_test

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/web/access"
)

// script writes a value in JavaScript.
func script(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHostileLinks: whatever a link says, it leads to a page. Pages fail their test
// when they throw.
func TestHostileLinks(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 4\d\d`)
	p.Goto("/")
	plan := "#/plans/" + site.Plans.Rescaled
	for place, shown := range map[string]string{
		plan + "?by=__proto__":                                   ".plan-said",
		plan + "?by=constructor&flow=toString&loads=__proto__":   ".plan-said",
		"#/operators/%00":                                        ".trouble",
		"#/operators/%E0%A4":                                     ".trouble",
		"#/plans/..%2f..":                                        ".empty",
		"#/operators/..":                                         ".empty",
		"#/analyses/__proto__":                                   ".empty",
		"#/analyses/ring?source=sample&sample=constructor":       ".empty",
		"#/analyses/ring?sample=zipf&join=1000000000":            ".trouble",
		"#/analyses/ring?sample=zipf&join=1&nodes=1000000000000": ".trouble",
		"#/what-if?csv=AAAA":                                     ".stale",
	} {
		p.Goto("/#/")
		p.WaitFor(".operators")
		p.Goto("/" + place)
		p.WaitFor("main " + shown)
		if p.Count("main .trouble-foot, main .empty, main .stale, main .plan-said") == 0 {
			t.Errorf("%s: nothing is said", place)
		}
	}
	// The trade-off is drawn whatever it should be drawn by.
	p.Goto("/#/what-if?source=csv")
	p.Click(".whatif-give button:not(.primary) + button")
	p.WaitFor(".whatif-table tbody tr")
	browsertest.Eval[string](p, `location.hash += '&x=constructor&y=__proto__&colour=toString'`)
	p.WaitFor(".whatif-axes select")
	if got := browsertest.Eval[[]string](p,
		`[...document.querySelectorAll('.whatif-axes select')].map((s) => s.value)`); strings.Join(got,
		" ") != "migration theta table" {
		t.Errorf("the axes are %v", got)
	}
}

// TestForeignAnswers: what is between the page and its server may answer anything.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 500`)
	for _, body := range []string{`null`, `"<b>"`, `[]`, `{"errors":null,"title":{"a":1},"detail":["x"],"status":"200"}`,
		`{"errors":[null,{"detail":{}}]}`, `<h1>no JSON</h1>`} {
		undo := p.Answer(`/v1/`, 500, body)
		p.Goto("/#/plans/" + site.Plans.Rescaled)
		p.Reload()
		p.WaitText(".trouble-foot", "500")
		undo()
	}
	if got := browsertest.Eval[string](p,
		`import('/dashboard/js/api.js').then((api) => api.request('GET', 'docs')).then(() => 'taken', (problem) => problem.name + problem.status)`); got != "Problem502" {
		t.Errorf("a page of HTML as an answer: %s", got)
	}

	// A view that fails leaves the rest of the page.
	p.Expect(`TypeError`)
	undo := p.Answer(`/v1/plans/[^/]*$`, 200, `{"id":"x"}`)
	p.Reload()
	p.WaitText("main .empty", "cannot be shown")
	undo()
	p.Click("nav a")
	p.WaitFor(".operators")
}

// TestImpossibleToken: a token that no header can hold is no reason to say that the
// server is gone.
func TestImpossibleToken(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Secured(t).URL)
	p.Expect(`status of 401`)
	p.Goto("/")
	p.WaitFor("dialog[open]")
	p.Fill("#token", "“quoted”")
	p.Press("Enter")
	p.WaitText("#token-said", "no such characters")
	if p.Count(".offline") != 0 {
		t.Error("the server is said to be gone")
	}
}

// TestCommands: bash takes data of any kind as it is, and nothing in a command ends a
// line where it is pasted into a terminal, which sees carriage returns as ends of lines.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Goto("/")
	for _, text := range []string{
		"plain", "it's", "$(id) `id` \\ \"x\" !! ; &", "-n", "@/etc/passwd",
		"ROWS\nROWS1\nJSON\nJSON1\nid\nROWS", "\n", " \t ",
		"key,cost\r\nROWS\r\nid\r\n", "\x1b[201~\nid\n", "a\x7f\u0085\u009b31mb", "\u202ekey\u2066", "it's\r\\x41!!7", "🙂\r",
	} {
		commands := browsertest.Eval[[]string](p, `import('/dashboard/js/shell.js').then(({ commandOf }) => {
			const text = `+script(t, text)+`
			return [{ body: text }, { body: text, type: 'text/csv' }, { body: new File([], text), type: 'text/csv' }].map((sent) => commandOf({ path: 'v1/what-if', ...sent }))
		})`)
		for i, command := range commands {
			if i := strings.IndexFunc(command, func(r rune) bool {
				return r != '\n' &&
					unicode.In(r, unicode.Cc, unicode.Bidi_Control)
			}); i >= 0 {
				t.Errorf("%q has %q", command, command[i:])
			}
			want := text
			if i == 2 {
				want = "@" + text
			}
			sent, err := exec.CommandContext(t.Context(), "bash", "-c", sentData+command).Output()
			if err != nil || strings.TrimSuffix(string(sent), "\n") != strings.TrimSuffix(want, "\n") {
				t.Errorf("%q sends %q, not %q: %v", command, sent, want, err)
			}
		}
	}
}

// sentData stands for curl in bash: it says what would be sent, of a file its name.
const sentData = `curl() {
  while [ $# -gt 0 ]; do
    case "$1" in
    --data-raw) printf %s "$2"; shift ;;
    --data-binary) if [ "$2" = @- ]; then cat; else printf %s "$2"; fi; shift ;;
    esac
    shift
  done
}
`

// TestRecords: CSV has the same records however its text comes in pieces, and a quote
// that is never closed holds nobody up.
func TestRecords(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Goto("/")
	text := "key,cost\n\"a,\"\"b\"\"\nc\",1\r\n,\"x\"\n\"\",\nlast,2"
	want := `[[["key","cost"],1],[["a,\"b\"\nc","1"],2],[["","x"],4],[["",""],5],[["last","2"],6]]`
	got := browsertest.Eval[[]string](p, `import('/dashboard/js/csv.js').then(({ Records }) => {
		const text = `+script(t, text)+`
		const ways = Array.from(text, (_, i) => {
			const records = new Records()
			return JSON.stringify([...records.take(text.slice(0, i)), ...records.take(text.slice(i)), ...records.take('', true)].map(({ cells, line }) => [cells, line]))
		})
		return [...new Set(ways)]
	})`)
	if len(got) != 1 || got[0] != want {
		t.Errorf("the records are %q", got)
	}
	if rows := browsertest.Eval[int](p,
		`import('/dashboard/js/views/whatif/csv.js').then(({ survey }) => survey('key,cost\n"' + '\n'.repeat(1 << 22))).then((found) => found.rows)`); rows != 1 {
		t.Errorf("an open quote: %d rows", rows)
	}
	hashes := browsertest.Eval[[]int](p,
		`import('/dashboard/js/views/whatif/csv.js').then(({ survey }) => Promise.all([survey('key,cost\na,1\n'), survey('key,cost\nb,1\n')])).then((found) => found.map((s) => s.hash))`)
	if hashes[0] == hashes[1] {
		t.Error("other rows have the same name")
	}
}

// TestFirstDivision: where nobody carried anything before, loads are held against what
// there is to carry.
func TestFirstDivision(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	type instance struct {
		ID       int     `json:"id"`
		Capacity float64 `json:"capacity"`
		Before   float64 `json:"load_before"`
		After    float64 `json:"load_after"`
	}
	var plans struct {
		Plans []struct{ ID, Operator string }
	}
	var division struct {
		Operator string
	}
	ask(t, site.URL+"/v1/plans/"+site.Plans.Ranges, "", &division)
	ask(t, site.URL+"/v1/operators/"+division.Operator+"/plans?page_size=1000", "", &plans)
	var first struct {
		Instances  []instance
		Parameters struct {
			ThetaMax float64 `json:"theta_max"`
		}
	}
	id := plans.Plans[len(plans.Plans)-1].ID
	ask(t, site.URL+"/v1/plans/"+id, "", &first)
	var before, after, capacity float64
	for _, i := range first.Instances {
		before, after, capacity = before+i.Before, after+i.After, capacity+i.Capacity
	}
	if before != 0 {
		t.Fatalf("the first division finds a load of %g", before)
	}
	var above []string
	for _, i := range first.Instances {
		if i.After > after*i.Capacity/capacity*(1+first.Parameters.ThetaMax) {
			above = append(above, strconv.Itoa(i.ID))
		}
	}
	if len(above) == 0 || len(above) == len(first.Instances) {
		t.Fatalf("of %d instances %v are above their bounds", len(first.Instances), above)
	}
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/plans/" + id)
	words := "Above their bounds after the plan: instances "
	if len(above) == 1 {
		words = "Above its bound after the plan: instance "
	}
	p.WaitText(".plan-said", words+strings.Join(above, ", ")+".")
}

// TestClock: times are held against the server's clock where the visitor's is wrong.
func TestClock(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Goto("/")
	p.WaitFor(".operators")
	got := browsertest.Eval[[]string](p,
		`Promise.all([import('/dashboard/js/api.js'), import('/dashboard/js/format.js')]).then(async ([{ request }, { clock, relative }]) => {
		const now = Date.now
		const said = []
		for (const wrong of [0, 3_600_000, -3_600_000]) {
			Date.now = () => now() + wrong
			await request('GET', 'v1/caller')
			said.push(relative(new Date(now())), String(Math.abs(clock() - now()) < 60_000))
		}
		Date.now = now
		return said
	})`)
	if want := "just now true just now true just now true"; strings.Join(got, " ") != want {
		t.Errorf("times are %q", got)
	}
}

// TestCertificates: what is proven is said in the units of what was asked for.
func TestCertificates(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Goto("/")
	for plan, want := range map[string]string{
		`{"certificate":null,"causes":["unfinished"],"parameters":{}}`: "ended before any plan",
		`{"certificate":null,"causes":[],"parameters":{}}`:             "the certificate is off",
		`{"certificate":{"lower_bound":null,"gap":null,"scope":"keys","infeasible":true,"unmet":[{"constraint":"migration_limit","limit":0.05,"at_least":0.07}]},"parameters":{"migration_limit":{"fraction":0.05}}}`: "moves 7 % of all state at least; 5 % of all state may be moved",
		`{"certificate":{"lower_bound":null,"gap":null,"scope":"keys","infeasible":true,"unmet":[{"constraint":"migration_limit","limit":5,"at_least":7}]},"parameters":{"migration_limit":{"keys":5}}}`:              "moves 7 keys at least; 5 keys may be moved",
	} {
		said := browsertest.Eval[string](p, `import('/dashboard/js/words.js').then(({ certificate }) => certificate(`+plan+
			`).join(' '))`)
		if !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", plan, said, want)
		}
	}
}

// TestPlainLinks: what a browser follows by itself carries no token, so it is offered
// to nobody who needs one.
func TestPlainLinks(t *testing.T) {
	t.Parallel()
	const links = `[...document.querySelectorAll('a')].filter((a) => new URL(a.href).pathname.startsWith('/v1/')).length`
	open := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, open.URL)
	p.Goto("/#/plans/" + open.Plans.Applying)
	p.WaitFor(".plan-head")
	if n := browsertest.Eval[int](p, links); n != 1 {
		t.Errorf("%d links to the API, want that to the plan", n)
	}
	if got := browsertest.Eval[string](p,
		`getComputedStyle(document.querySelector('.plan-standing strong')).unicodeBidi`); got != "isolate" {
		t.Errorf("an executor's name may turn the sentence around it: %s", got)
	}

	secured := browsertest.Secured(t)
	p = browsertest.Start(t).Page(t, secured.URL)
	p.Expect(`status of 401`)
	p.Goto("/#/plans/" + secured.Plans.Applying)
	p.WaitFor("dialog[open]")
	p.Fill("#token", secured.Tokens[access.Viewer])
	p.Press("Enter")
	p.WaitFor(".plan-head")
	if n := browsertest.Eval[int](p, links); n != 0 {
		t.Errorf("%d links to the API that lead to 401", n)
	}
}

package web_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

const (
	whatIfCSV  = "/#/what-if?source=csv"
	whatIfRun  = ".whatif-bar .primary"
	whatIfRows = ".whatif-table tbody tr"
)

// whatIfOutcome is what a row of results and a result of the API have in common.
type whatIfOutcome struct {
	Strategy   string
	Pareto     bool
	Keys, Size int
	Theta      string
}

// whatIfTable reads the results from the page, as they are shown.
func whatIfTable(t *testing.T, p *browsertest.Page) []whatIfOutcome {
	t.Helper()
	rows := browsertest.Eval[[]map[string]string](p, `(() => {
		const heads = [...document.querySelectorAll('.whatif-table th')].map((th) => th.innerText.replace(/[▲▼]/, '').trim())
		return [...document.querySelectorAll('`+whatIfRows+
		`')].map((tr) => Object.fromEntries([...tr.cells].map((td, i) => [heads[i], (td.querySelector('a') ?? td).textContent.trim()])))
	})()`)
	var out []whatIfOutcome
	for _, r := range rows {
		number := func(head string) int {
			n, err := strconv.Atoi(strings.ReplaceAll(r[head], ",", ""))
			if err != nil {
				t.Fatalf("%s: %v", head, err)
			}
			return n
		}
		out = append(out, whatIfOutcome{r["Strategy"], r["Pareto"] != "", number("Keys moved"), number("Table size"),
			r["θ after"]})
	}
	return out
}

// whatIfAnswer reads the same from an answer of the API.
func whatIfAnswer(t *testing.T, p *browsertest.Page, body string) []whatIfOutcome {
	t.Helper()
	var answer struct {
		Results []struct {
			Strategy  string
			Pareto    bool
			Theta     struct{ After float64 }
			Migration struct{ Keys int }
			Table     struct {
				After int `json:"size_after"`
			} `json:"routing_table"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %.200s", err, body)
	}
	words := browsertest.Eval[map[string]string](p,
		`import('./dashboard/js/strategies.js').then((m) => Object.fromEntries(m.strategies().map((s) => [s.name, s.title])))`)
	var out []whatIfOutcome
	for _, r := range answer.Results {
		percent := browsertest.Eval[string](p, fmt.Sprintf(`import('./dashboard/js/format.js').then((m) => m.percent(%v))`,
			r.Theta.After))
		out = append(out, whatIfOutcome{words[r.Strategy], r.Pareto, r.Migration.Keys, r.Table.After, percent})
	}
	return out
}

// whatIfCurl is what the page copies.
func whatIfCurl(p *browsertest.Page) string {
	p.Click(".whatif-bar [aria-expanded=false]")
	p.WaitFor(".whatif-curl code")
	return browsertest.Eval[string](p, `document.querySelector('.whatif-curl code').textContent`)
}

// whatIfGive chooses a file on the page.
func whatIfGive(p *browsertest.Page, name, content string) {
	said, _ := json.Marshal([]string{name, content})
	browsertest.Eval[bool](p, `(() => {
		const [name, content] = `+string(said)+`
		const data = new DataTransfer()
		data.items.add(new File([content], name, { type: 'text/csv' }))
		const input = document.querySelector('input[type=file]')
		input.files = data.files
		return input.dispatchEvent(new Event('change', { bubbles: true }))
	})()`)
}

// TestWhatIfSample: one click shows something, and the copied command shows the same.
func TestWhatIfSample(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, whatIfCSV+"&equal=1", "h1")
	p.Click(".whatif-give .primary")
	p.WaitUntil(`document.querySelectorAll('` + whatIfRows + `').length === 40`)
	shown := whatIfTable(t, p)
	if got := whatIfAnswer(t, p, bash(t, whatIfCurl(p))); !slices.Equal(got, shown) {
		t.Errorf("the command gives\n%v\nthe page shows\n%v", got, shown)
	}

	// Sorting and filters are in the link.
	p.Click(".whatif-table th:nth-child(7) .sort")
	p.WaitText(".whatif-table th[aria-sort=ascending]", "Keys moved")
	p.Reload()
	p.WaitFor(whatIfRows)
	if got := whatIfTable(t, p); len(got) != len(shown) ||
		!slices.IsSortedFunc(got, func(a, b whatIfOutcome) int { return a.Keys - b.Keys }) {
		t.Errorf("not sorted by keys: %v", got)
	}
	best := slices.DeleteFunc(slices.Clone(shown), func(o whatIfOutcome) bool { return !o.Pareto })
	p.Click(".whatif-filters label:nth-last-of-type(3)")
	p.WaitUntil(fmt.Sprintf(`document.querySelectorAll('%s').length === %d`, whatIfRows, len(best)))
	best = slices.DeleteFunc(best, func(o whatIfOutcome) bool { return o.Strategy == "Mixed" })
	p.Click(".whatif-filters label:first-of-type")
	p.WaitUntil(fmt.Sprintf(`document.querySelectorAll('%s').length === %d`, whatIfRows, len(best)))
	p.WaitUntil(`location.hash.includes('pareto=1') && location.hash.includes('show=')`)

	p.WaitUntil(settled)
	browsertest.Eval[any](p, `document.querySelector('`+whatIfRows+` a').focus()`)
	p.WaitFor(".whatif-pointed")
}

// TestWhatIfEqual: equal outcomes are one row, and only those of small θ are shown if one likes.
func TestWhatIfEqual(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, whatIfCSV, "h1")
	p.Click(".whatif-give .primary")
	p.WaitFor(whatIfRows)
	all := browsertest.Eval[int](p, `[...document.querySelectorAll('`+whatIfRows+
		`')].reduce((n, row) => n + 1 + Number(/and (\d+) equal/.exec(row.cells[1].textContent)?.[1] ?? 0), 0)`)
	if rows := p.Count(whatIfRows); all != 40 || rows >= all {
		t.Errorf("%d rows stand for %d plans", rows, all)
	}
	if axes := browsertest.Eval[[]string](p,
		`[...document.querySelectorAll('.whatif-axes select')].map((s) => s.value)`); !slices.Equal(axes,
		[]string{"migration", "theta", "table"}) {
		t.Errorf("the axes are %v", axes)
	}
	p.WaitFor(`.whatif-table th .term[title*="copied"]`)
	p.Fill(".whatif-most input", "3")
	p.WaitUntil(`[...document.querySelectorAll('.whatif-table th')].some((th) => th.innerText.startsWith('θ after'))`)
	p.WaitText(".card-aside", "40 plans shown")
	for _, row := range whatIfTable(t, p) {
		if percentOf(t, row.Theta) > 0.03 {
			t.Errorf("shown is %+v", row)
		}
	}
}

// TestWhatIfLink: the link of an opened plan shows it to somebody else.
func TestWhatIfLink(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/what-if?equal=1&plan="+site.Plans.Rejected, "h1")
	p.WaitFor(".whatif-note a[href='#/plans/" + site.Plans.Rejected + "']")
	p.Fill("#app input[placeholder='as it was: 400']", "none, 30")
	p.WaitText(".whatif-total", "4 strategies × 3 θ_max × 2 table limits = 24 plans, at most 256")
	p.Click(whatIfRun)
	p.WaitUntil(`document.querySelectorAll('` + whatIfRows + `').length === 24`)
	shown := whatIfTable(t, p)
	if got := whatIfAnswer(t, p, bash(t, whatIfCurl(p))); !slices.Equal(got, shown) {
		t.Errorf("the command gives\n%v\nthe page shows\n%v", got, shown)
	}
	browsertest.Eval[any](p, `document.querySelectorAll('`+whatIfRows+` a')[5].focus()`)
	p.Press("Enter")
	p.WaitUntil(`document.activeElement.matches('.whatif-open')`)
	title := p.Text(".whatif-open h2")
	hash := browsertest.Eval[string](p, "location.hash")

	other := open(t, site.URL, "/"+hash, "h1")
	other.WaitText(".whatif-open h2", title)
	other.WaitText(".whatif-open", "Propose this plan")
	if again := whatIfTable(t, other); !slices.Equal(again, shown) {
		t.Errorf("the link shows\n%v\nnot\n%v", again, shown)
	}
	look(t, other, "/"+hash, "what-if", ".whatif-open h2")
}

// TestWhatIfRules: an interval is planned under other rules, and a CSV with keys that stay together, as the
// copied command does.
func TestWhatIfRules(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	var content strings.Builder
	content.WriteString("key,cost,state\n")
	for i := range 60 {
		fmt.Fprintf(&content, "%s/%d,%d,%d\n", []string{"acme", "eu", "us"}[i%3], i, 5+i%9, 100+i)
	}
	api := site.URL + "/v1/operators/what-if-rules"
	tell(t, http.MethodPut, api, "", object{"instances": 4, "placement": object{"rules": []any{
		object{"name": "eu", "keys": object{"prefix": "eu/"}, "on": object{"instances": []int{0, 1}}}}}}, nil)
	var made struct{ ID string }
	tell(t, http.MethodPost, api+"/plans?interval=1", "", rows(content.String()), &made)
	p := open(t, site.URL, "/#/what-if?strategies=mixed,optimal&theta_max=20%25&plan="+made.ID, "h1")
	p.WaitFor(".whatif-note")
	const rules = ".whatif-more textarea"
	p.Click(".card:first-child .whatif-more summary")
	p.Click(".card:first-child .whatif-more button")
	p.WaitUntil(`document.querySelector('` + rules + `').value.includes('eu/')`)
	p.Fill(rules, "[{")
	p.WaitText(".whatif-total", "The rules have to be a list in JSON.")
	p.Fill(rules, `[{"name":"acme","keys":{"prefix":"acme/"},"on":{"instances":[3]},"exclusive":true}]`)
	p.Click(whatIfRun)
	p.WaitUntil(`document.querySelectorAll('` + whatIfRows + `').length > 0`)
	shown := whatIfTable(t, p)
	command := whatIfCurl(p)
	if got := whatIfAnswer(t, p, bash(t, command)); !slices.Equal(got, shown) || !strings.Contains(command, "acme/") {
		t.Errorf("the command %s gives\n%v\nthe page shows\n%v", command, got, shown)
	}
	p.Picture("what-if-rules")
	other := open(t, site.URL, "/"+browsertest.Eval[string](p, "location.hash"), "h1")
	other.WaitFor(whatIfRows)
	if again := whatIfTable(t, other); !slices.Equal(again, shown) {
		t.Errorf("the link shows\n%v\nnot\n%v", again, shown)
	}

	p = open(t, site.URL, whatIfCSV+"&instances=4&theta_max=20%25&strategies=mixed", "h1")
	whatIfGive(p, "tenants.csv", content.String())
	p.WaitText(".whatif-preview", "60 rows")
	p.Click(whatIfRun)
	p.WaitUntil(`document.querySelectorAll('` + whatIfRows + `').length === 1`)
	apart := whatIfTable(t, p)
	p.Fill("input[maxlength='64']", "/")
	p.WaitText(".stale", "an earlier question")
	p.Click(whatIfRun)
	p.WaitUntil(`!document.querySelector('.stale, .whatif-bar progress')`)
	together := whatIfTable(t, p)
	if got := whatIfAnswer(t, p, bash(t, whatIfCurl(p))); !slices.Equal(got, together) || slices.Equal(apart, together) {
		t.Errorf("the command gives\n%v\nthe page shows\n%v, apart\n%v", got, together, apart)
	}
}

// TestWhatIfPlot: a click on a point of the chart opens the plan that it stands for.
func TestWhatIfPlot(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/what-if?plan="+site.Plans.Rejected+
		"&run=1&equal=1&strategies=mixed,mintable,llfd,optimal&theta_max=5%25", ".whatif-axes")
	p.WaitUntil(settled)
	type point struct {
		Strategy string
		X, Y     float64
	}
	points := browsertest.Eval[[]point](p, `import('echarts').then(({ getInstanceByDom }) => {
		const place = document.querySelector('.whatif-axes + .chart .chart-place')
		place.scrollIntoView({ block: 'center', behavior: 'instant' })
		const chart = getInstanceByDom(place)
		const { x, y } = place.getBoundingClientRect()
		return chart.getOption().series.filter((s) => s.type === 'scatter').map(({ name, data: [{ value }] }, seriesIndex) => {
			const [right, down] = chart.convertToPixel({ seriesIndex }, value)
			return { Strategy: name, X: x + right, Y: y + down }
		})
	})`)
	alone := slices.IndexFunc(points, func(a point) bool {
		return !slices.ContainsFunc(points, func(b point) bool { return a != b && math.Hypot(a.X-b.X, a.Y-b.Y) < 20 })
	})
	if len(points) != 4 || alone < 0 {
		t.Fatalf("no point stands alone: %+v", points)
	}
	p.ClickAt(points[alone].X, points[alone].Y)
	p.WaitText(".whatif-open h2", points[alone].Strategy)
	p.WaitUntil(`document.activeElement.matches('.whatif-open')`)
}

// TestWhatIfFile: a file that is too large for a link is told apart, and read by the
// command from where bash runs, whatever its name.
func TestWhatIfFile(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	const name = `it's "a" $file (1).csv`
	var content strings.Builder
	content.WriteString("key,cost,state\n")
	for i := range 12_000 {
		fmt.Fprintf(&content, "\"k,%d\"\"\",%d,%d\n", i, i*i%1009+i*7919%40, i*104_729%5000)
	}
	p := open(t, site.URL, whatIfCSV+"&instances=5&hash_function=modulo&theta_max=1%25&strategies=mixed", "h1")
	whatIfGive(p, name, content.String())
	p.WaitText(".whatif-preview", "12,000 rows")
	p.WaitText(".whatif-preview", "too large for a link")
	p.Click(whatIfRun)
	p.WaitFor(whatIfRows)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	command := whatIfCurl(p)
	if got, shown := whatIfAnswer(t, p, bash(t, "cd '"+folder+"'\n"+command)),
		whatIfTable(t, p); !slices.Equal(got, shown) {
		t.Errorf("the command gives\n%v\nthe page shows\n%v", got, shown)
	}

	other := open(t, site.URL, "/"+browsertest.Eval[string](p, "location.hash"), "h1")
	other.WaitText(".stale", name+", 12,000 rows")
	whatIfGive(other, name, "key,cost\na,1\n")
	other.WaitText(".stale", "not the file of the link")
	whatIfGive(other, name, content.String())
	other.WaitGone(".stale")
	other.WaitFor(whatIfRows)
	look(t, other, whatIfCSV+"&file=big.csv&bytes=12&rows=3&cost=4.5", "what-if-csv", ".stale")
}

// TestWhatIfRefused: what the API refuses is said by the lines of the file.
func TestWhatIfRefused(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, whatIfCSV+"&instances=2", "h1")
	p.Expect("422|400")
	p.WaitText(".whatif-total", "Give a CSV")
	for _, test := range []struct{ content, want string }{
		{"key,cost\na,1\n\"b\nb\",2\nc,x\n", `line 5 cost "x" is not a number; it must be ≥ 0 and finite: c,x`},
		{"key,cost,cost\na,1,2\n", "line 1 column cost: column stands twice"},
		{"key,cost\na,1\n\nb,2\n", "line 4 blank line"},
		{"key,cost\na,1\na,2\n", "line 3 key"},
	} {
		p.Fill(".whatif-csv", test.content)
		p.WaitFor(whatIfRun + ":not(:disabled)")
		p.Click(whatIfRun)
		p.WaitText(".trouble", test.want)
	}
	p.Fill(".whatif-csv", "key,cost\na,1\nb,2\nc,3\nd,4\n")
	p.WaitFor(whatIfRun + ":not(:disabled)")
	p.Click(whatIfRun)
	p.WaitFor(whatIfRows)
	p.WaitGone(".trouble")
}

// TestWhatIfColumns: where columns have other names, or none, the visitor says which is
// what, and what is planned on is what the API documents.
func TestWhatIfColumns(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	const place = whatIfCSV + "&instances=2&hash_function=modulo&strategies=mixed&theta_max=5%25"
	p := open(t, site.URL, place, "h1")
	p.Expect("422")
	for _, test := range []struct{ name, content, guessed, want, asked string }{
		{"semicolons, the nearest names", "Bytes;Usr;Kost;note\n10;\"a;1\";4,5;x\n20;b,2;3;y\n5;\"c \"\"3\";2;z\n",
			"semicolon names comma 1 2 0  ", "total cost 9.5", "columns=key=Usr,cost=Kost,state=Bytes"},
		{"tabs, no header", "9\ta\t1\n8\tb\t0\n", "tab row point 1 0   ", "2 rows · 12 bytes · total cost 17",
			"columns=key=2,cost=1&delimiter=tab&header=none"},
		{"names that a query cannot tell", "key,\"kost, $\"\na,1\nb,2\n", "comma names point 0 1   ", "total cost 3",
			"columns=key=1,cost=2&delimiter=comma&header=none&skip=1"},
		{"a name that the API does not know", "key,kost,shard\na,1,0\nb,2,1\n", "comma names point 0 1  2 ",
			"total cost 3", "columns=key=key,cost=kost,instance=shard"},
	} {
		p.Fill(".whatif-csv", test.content)
		p.WaitFor(".whatif-columns")
		p.WaitFor(whatIfRun + ":disabled")
		const choices = `[...document.querySelectorAll('.whatif-columns select')].map((s) => s.value).join(' ')`
		if got := browsertest.Eval[string](p, choices); got != test.guessed {
			t.Errorf("%s: guessed %q, want %q", test.name, got, test.guessed)
		}
		p.Click(".whatif-columns .primary")
		p.WaitGone(".whatif-columns")
		p.WaitText(".whatif-preview", test.want)
		if got := browsertest.Eval[string](p, `document.querySelector('.whatif-csv').value`); got != test.content {
			t.Errorf("%s became %q", test.name, got)
		}
		p.WaitUntil(`document.activeElement.textContent === 'Choose the columns again'`)
		p.WaitFor(whatIfRun + ":not(:disabled)")
		p.Click(whatIfRun)
		p.WaitFor(whatIfRows)
		said, err := url.QueryUnescape(browsertest.Eval[string](p, `location.hash`))
		for _, part := range strings.Split(test.asked, "&") {
			if err != nil || !strings.Contains(said, part) {
				t.Errorf("%s: the link %q lacks %q: %v", test.name, said, part, err)
			}
		}
	}

	// A guess that is wrong is mended by keys alone, and a line that is wrong is told.
	p.Click(".whatif-preview button")
	p.WaitFor(".whatif-columns")
	p.Fill(".whatif-csv", "who,n,m\na,1,7\nb,x,8\n")
	p.WaitText(".whatif-columns", "who")
	p.Fill(".whatif-columns select[name=cost]", "0")
	p.WaitText(".whatif-columns .toned.bad", "One column cannot be two things")
	p.Fill(".whatif-columns select[name=cost]", "1")
	browsertest.Eval[any](p, `document.querySelector('.whatif-columns select[name=hash_instance]').focus()`)
	p.Press("Tab")
	p.Press("Tab")
	p.Press("Enter")
	p.WaitGone(".whatif-columns")
	p.Click(whatIfRun)
	p.WaitText(".trouble", `line 3 cost "x" is not a number`)
}

// TestWhatIfColumnsFile: a file too large to be edited is asked about, too, and a wrong
// line is that of the file.
func TestWhatIfColumnsFile(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	const place = whatIfCSV + "&instances=2&strategies=mixed&theta_max=5%25"
	p := open(t, site.URL, place, "h1")
	p.Expect("422")
	var content strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&content, "key-%d;%d\n", i, i%100)
	}
	whatIfGive(p, "keys.txt", content.String()+"last;none\n")
	p.WaitFor(".whatif-columns")
	p.Click(".whatif-columns .primary")
	p.WaitText(".whatif-preview", "keys.txt · 30,001 rows")
	p.Click(whatIfRun)
	p.WaitText(".trouble", `line 30001 cost "none" is not a number`)
	whatIfGive(p, "keys.txt", content.String())
	p.WaitFor(".whatif-columns")
	p.Click(".whatif-columns .primary")
	p.WaitText(".whatif-preview", "Choose the columns again")
	p.WaitFor(whatIfRun + ":not(:disabled)")
	p.Click(whatIfRun)
	p.WaitFor(whatIfRows)
	if command := whatIfCurl(p); !strings.Contains(command, "@keys.txt") || !strings.Contains(command, "header=none") {
		t.Errorf("the command is %s", command)
	}

	other := open(t, site.URL, place, "h1")
	other.Fill(".whatif-csv", "user_id;number of events;size in bytes;comment\nu1;5;100;none\nu2;4;2000;a long one\n")
	other.WaitFor(".whatif-columns")
	look(t, other, "/"+browsertest.Eval[string](other, "location.hash"), "what-if-columns", ".whatif-columns")
}

// TestWhatIfTrouble: what cannot be planned again is said before or after, in words.
func TestWhatIfTrouble(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/what-if?operator=products", "h1")
	p.WaitText(".whatif-note", "has no routing table")
	p.WaitFor(whatIfRun + ":disabled")
	p.Goto("/#/what-if?plan=" + site.Plans.Ring)
	p.WaitText(".whatif-note", "has no routing table")

	p.Goto("/#/what-if?plan=" + site.Plans.Committed)
	undo := p.Answer("/replay$", http.StatusGone,
		`{"status": 410, "code": "purged", "title": "Gone", "detail": "Not kept."}`)
	p.Expect("410")
	p.WaitFor(whatIfRun + ":not(:disabled)")
	p.Click(whatIfRun)
	p.WaitText(".trouble", "statistics of this interval are gone")
	undo()

	release := p.Hold("/replay$")
	p.Click(whatIfRun)
	p.WaitFor(".whatif-bar progress")
	p.Click(".whatif-bar progress ~ button")
	p.WaitGone(".whatif-bar progress")
	release()
	if p.Count(whatIfRows) != 0 {
		t.Error("a cancelled run has results")
	}

	undo = p.Refuse("/replay$")
	p.Expect("ERR_")
	p.Click(whatIfRun)
	p.WaitText(".trouble", "No answer from the server")
	undo()
	p.Click(".trouble button")
	p.WaitFor(whatIfRows)
}

// TestWhatIfEmpty: without operators there is still a file to ask about.
func TestWhatIfEmpty(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	p := open(t, server.URL, "/#/what-if", "h1")
	look(t, p, "/#/what-if", "what-if-empty", ".empty a")
	widen(p)
	p.Click(".empty a")
	p.WaitFor(".whatif-csv")
}

// TestKeptIntervals: only intervals whose statistics are kept are offered, here and to analyses.
func TestKeptIntervals(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	tell(t, http.MethodPut, server.URL+"/v1/operators/short", "",
		object{"instances": 2, "retention": object{"inputs": 2}}, nil)
	for i := range 5 {
		quietInterval(t, server.URL, "short", 0, i)
	}
	for _, place := range []string{"/#/what-if?operator=short",
		"/#/analyses/schemes?source=operator&operator=short"} {
		p := open(t, server.URL, place, "h1")
		const offered = `[...[...document.querySelectorAll('main label')].find((l) => l.textContent === 'Interval')?.control
			.options ?? []].slice(1).map((o) => o.textContent.trim().split(' · ')[0].replace('interval ', ''))`
		p.WaitUntil("(" + offered + ").join() === '4,3'") // the list of operators may come after that of plans
	}
}

// TestWhatIfReplace: a result takes the place of a plan that waits in one step, as long as
// no newer interval has come.
func TestWhatIfReplace(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	waiting := propose(t, server.URL, "", "clicks")
	address := "/#/what-if?run=1&strategies=mixed,optimal&theta_max=5%25,8%25&equal=1&plan=" + waiting.ID
	p := open(t, server.URL, address, "h1")
	p.WaitFor(".whatif-own")
	if own := p.Count(".whatif-own"); own != 1 {
		t.Errorf("%d results are the plan as it is", own)
	}
	p.Click(whatIfRows + ":nth-child(4) a")
	p.WaitText(".whatif-open", "Against the plan as it was made")
	p.Click(".whatif-open .primary")
	p.WaitText("dialog", "Replace the waiting plan")
	p.Axe()
	p.Click("dialog .primary")
	p.WaitUntil(`location.hash.startsWith('#/plans/')`)
	id := strings.TrimPrefix(browsertest.Eval[string](p, "location.hash"), "#/plans/")
	var old, next planned
	ask(t, server.URL+"/v1/plans/"+waiting.ID, "", &old)
	ask(t, server.URL+"/v1/plans/"+id, "", &next)
	if old.Status != "superseded" || next.Status != "proposed" || next.Interval != waiting.Interval {
		t.Errorf("the plan is %s, and the new one is %s, of interval %d", old.Status, next.Status, next.Interval)
	}
	tell(t, http.MethodPost, server.URL+"/v1/operators/clicks/plans", "",
		object{"interval": 8, "keys": []object{{"key": "a", "cost": 1}}}, nil)
	p = open(t, server.URL, strings.Replace(address, waiting.ID, id, 1), "h1")
	p.Click(whatIfRows + ":nth-child(1) a")
	p.WaitText(".whatif-open", "A newer interval has come")
	if p.Count(".whatif-open .title .primary") > 0 {
		t.Error("the plan can be replaced by one of an older interval")
	}
}

// TestWhatIfPropose: a result becomes a plan of the operator, in place of a rejected one.
func TestWhatIfPropose(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	operator := server.URL + "/v1/operators/carts"
	tell(t, http.MethodPut, operator, "", object{"instances": 2, "hash": object{"function": "reported"},
		"require_approval": true}, nil)
	var first planned
	tell(t, http.MethodPost, operator+"/plans?interval=1", "",
		rows("key,cost,state,hash_instance\na,5,10,0\nb,4,20,0\nc,3,30,0\nd,2,40,0\ne,1,5,1\n"), &first)
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+first.ID+"/reject", "", object{"reason": "too much moves"}, nil)

	p := open(t, server.URL, "/#/what-if?run=1&strategies=optimal&theta_max=40%25&plan="+first.ID, "h1")
	p.Click(whatIfRows + " a")
	p.Click(".whatif-open .primary")
	p.Fill("dialog textarea", "less moves")
	p.Click("dialog .primary")
	p.WaitUntil(`location.hash.startsWith('#/plans/')`)
	proposed := strings.TrimPrefix(browsertest.Eval[string](p, "location.hash"), "#/plans/")
	var plan struct {
		Status, Strategy string
		Parameters       struct {
			Theta float64 `json:"theta_max"`
		}
	}
	ask(t, server.URL+"/v1/plans/"+proposed, "", &plan)
	if proposed == first.ID || plan.Status != "proposed" || plan.Strategy != "optimal" || plan.Parameters.Theta != 0.4 {
		t.Errorf("%s became %+v", proposed, plan)
	}
}

// TestWhatIfValues: lists as they are typed.
func TestWhatIfValues(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, whatIfCSV, "h1")
	for _, test := range []struct{ name, text, want string }{
		{"theta_max", "0.02, 5%,,10 %", "[0.02,0.05,0.1]"},
		{"theta_max", "0.02..0.1 step 0.02", "[0.02,0.04,0.06,0.08,0.1]"},
		{"theta_max", "2%..10% step 4%, 0.02", "[0.02,0.06,0.1]"},
		{"theta_max", "", "[]"},
		{"theta_max", "-1", "[] “-1” is not a number of 0 or more, or a share such as 5%."},
		{"theta_max", "0.1..0.02 step 0.01", "[] “0.1..0.02 step 0.01” ends before it begins."},
		{"theta_max", "0..0.9 step 0.001", "[] These are more than 256 values."},
		{"table_limit", "0, None, 100", "[0,null,100]"},
		{"table_limit", "1.5", "[] “1.5” is not a whole number of 0 or more, or none."},
		{"compact_degree", "0, 1..64 step x4", "[0,1,4,16,64]"},
		{"compact_degree", "3", "[] “3” is not 0 or a power of two up to 2^30."},
		{"migration_limit", "5%, 500 keys, 1e6", `[{"fraction":0.05},{"keys":500},{"state":1000000}]`},
		{"migration_limit", "120%",
			"[] “120%” is not a share of all state such as 5%, a number of keys such as 1200keys, or an amount of state."},
		{"deadline", "500ms, 1m30s", `["500ms","1m30s"]`},
		{"deadline", "5", "[] “5” is not a time such as 500ms or 1m30s."},
	} {
		said, _ := json.Marshal(test.text)
		got := browsertest.Eval[string](p,
			fmt.Sprintf(
				`Promise.all([import('./dashboard/js/views/whatif/values.js'), import('./dashboard/js/strategies.js')]).then(([{ parse, readerOf }, { varied }]) => {
			const { values, problem } = parse(%s, readerOf(varied().find((p) => p.grid === '%s')))
			return (JSON.stringify(values) + ' ' + problem).trim()
		})`, said, test.name))
		if got != test.want {
			t.Errorf("%s %q: %s, want %s", test.name, test.text, got, test.want)
		}
	}
	// Objectives belong to strategies, as the API has it.
	p.Goto(whatIfCSV + "&equal=1" +
		"&instances=2&strategies=mixed,optimal&theta_max=5%25,9%25&objective=min_migration,min_imbalance" +
		"&migration_limit=10%25,20%25,30%25")
	p.Fill(".whatif-csv", "key,cost\na,1\nb,2\nc,3\nd,4\n")
	p.WaitText(".whatif-total", "= 10 plans")
	p.Click(whatIfRun)
	p.WaitUntil(`document.querySelectorAll('` + whatIfRows + `').length === 10`)
}

// TestWhatIfRecords: rows are found in CSV as the standard library finds them, however
// the text is cut, and what was packed for a link is unpacked.
func TestWhatIfRecords(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, whatIfCSV, "h1")
	for _, text := range []string{
		"key,cost\na,1\nb,2", "key,cost\r\na,1\r\n", "k,c\n\"a\"\"\n,b\",1\n\"\",\n", "k\n\"x\n\n\ny\"\nz\n",
		"k,c\n€ 🦊,\"1\"\n,\n",
	} {
		r := csv.NewReader(strings.NewReader(text))
		want, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		said, _ := json.Marshal(text)
		for _, size := range []int{1, 2, 3, 100} {
			got := browsertest.Eval[[][]string](p, fmt.Sprintf(`import('./dashboard/js/csv.js').then(({ Records }) => {
				const text = %s, records = new Records(), out = []
				for (let i = 0; i < text.length; i += %d) out.push(...records.take(text.slice(i, i + %[2]d)))
				return [...out, ...records.take('', true)].map((r) => r.cells)
			})`, said, size))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
		if got := browsertest.Eval[string](p,
			`import('./dashboard/js/views/whatif/csv.js').then(async ({ pack, unpack }) => unpack(await pack(`+string(said)+
				`)))`); got != text {
			t.Errorf("%q comes back as %q", text, got)
		}
	}
	if damaged := browsertest.Eval[*string](p,
		`import('./dashboard/js/views/whatif/csv.js').then(({ unpack }) => unpack('AAAA'))`); damaged != nil {
		t.Errorf("a damaged link is read as %q", *damaged)
	}
}

// TestWhatIfInstances: how many instances more is one question about an operator's interval.
func TestWhatIfInstances(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/what-if?plan="+site.Plans.Proposed+
		"&strategies=optimal&theta_max=5%25&target_instances=10,12&run=1", ".whatif-table td")
	if got := column(p, "Results", 2); !slices.Equal(got, []string{"10", "12"}) {
		t.Errorf("instances are %v", got)
	}
	p.Click(".whatif-table a")
	p.WaitText(".whatif-open", "instance count 10")
	p.WaitText(".whatif-open .plan-headline", "Adds instance")
}

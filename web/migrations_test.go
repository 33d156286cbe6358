package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/web/access"
)

// migration is one of keys, as the API writes it.
type migration struct {
	Key    string  `json:"key"`
	From   int     `json:"from"`
	To     int     `json:"to"`
	Cost   float64 `json:"cost"`
	State  float64 `json:"state"`
	Reason string  `json:"reason"`
}

type migrationList struct {
	Migrations []migration `json:"migrations"`
	Total      int         `json:"total_size"`
}

// migrationsOf asks the API for migrations of keys.
func migrationsOf(t *testing.T, site *browsertest.Site, plan, query string) migrationList {
	t.Helper()
	var list migrationList
	ask(t, site.URL+"/v1/plans/"+plan+"/migrations?"+query, "", &list)
	return list
}

// drawnRow is a row of the table: its place in the list, from 0, and the texts of its
// cells without what is said besides.
type drawnRow struct {
	Index int      `json:"index"`
	Cells []string `json:"cells"`
}

// inView are the rows in view, from the top.
const inView = `(() => {
	const view = document.querySelector('.migrations .vtable-view'), v = view.getBoundingClientRect()
	return [...view.querySelectorAll('.vrow')].filter((r) => { const b = r.getBoundingClientRect(); return b.bottom > v.top + 1 && b.top < v.bottom - 1 })
})()`

func rowsInView(p *browsertest.Page) []drawnRow {
	return browsertest.Eval[[]drawnRow](p, inView+
		`.map((r) => ({index: r.ariaRowIndex - 2, cells: [...r.children].map((c) => {
		const copy = c.cloneNode(true)
		copy.querySelectorAll('.migrations-why, .migrations-arrow').forEach((e) => e.remove())
		return copy.textContent.trim()
	})}))`)
}

// filled says that every row in view is there, that they begin with one of an index, or
// with any for -1, and that the list is the one asked for last.
func filled(index int) string {
	return fmt.Sprintf(`!document.querySelector('.migrations .vtable.busy') && (() => {
		const rows = %s, view = document.querySelector('.migrations .vtable-view').getBoundingClientRect()
		return rows.length > 0 && rows.every((r) => !r.matches('.blank')) && rows[0].getBoundingClientRect().top <= view.top + 1 && (%d < 0 || rows[0].ariaRowIndex - 2 === %[2]d)
	})()`, inView, index)
}

// openMigrations opens the migrations of a plan.
func openMigrations(t testing.TB, site *browsertest.Site, plan, query string) *browsertest.Page {
	t.Helper()
	p := widen(browsertest.Start(t).Page(t, site.URL))
	enterMigrations(p, plan, query)
	return p
}

// enterMigrations shows the migrations of another plan in a page.
func enterMigrations(p *browsertest.Page, plan, query string) {
	enter(p, "/#/plans/"+plan+query)
	p.WaitFor(".migrations .vtable-rows .vrow:not(.blank)")
	p.WaitUntil(filled(-1))
}

// group writes a number as the page does.
func group(x float64) string {
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (m migration) cells() []string {
	return []string{m.Key, fmt.Sprint(m.From), fmt.Sprint(m.To), group(m.Cost), group(m.State),
		strings.ReplaceAll(m.Reason, "_", " ")}
}

// equalRows holds the rows in view against the API's.
func equalRows(t *testing.T, p *browsertest.Page, site *browsertest.Site, plan, query string) {
	t.Helper()
	rows := rowsInView(p)
	if len(rows) == 0 {
		t.Fatal("no row is in view")
	}
	want := migrationsOf(t, site, plan, fmt.Sprintf("%s&skip=%d&page_size=%d", query, rows[0].Index, len(rows))).Migrations
	for i, row := range rows {
		if row.Index != rows[0].Index+i || i >= len(want) || !slices.Equal(row.Cells, want[i].cells()) {
			t.Fatalf("row %d of %d is %+v, want %+v", i, len(rows), row, want[min(i, len(want)-1)])
		}
	}
}

func TestMigrationsLooks(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	for n, c := range []struct{ view, plan, query, ready string }{
		{"migrations", site.Plans.Big, "", ".migrations .vtable-rows .vrow:not(.blank)"},
		{"migrations-of-classes", site.Plans.Classes, "", ".migrations .vtable-rows .vrow:not(.blank)"},
		{"migrations-of-ranges", site.Plans.Ranges, "?sort=cost", ".migrations .vtable-rows .vrow:not(.blank)"},
		{"table-changes", site.Plans.Rescaled, "?list=table-changes", ".migrations .vtable-rows .vrow:not(.blank)"},
		{"no-migrations", site.Plans.Rescaled, "?key_prefix=no%20such%20key", ".migrations .empty"},
	} {
		glance(t, n, p, "/#/plans/"+c.plan+c.query, c.view, c.ready)
	}
}

// TestMigrationsFiltered: what is typed is in the address, and what is shown is what the
// API answers to the same.
func TestMigrationsFiltered(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	plan := site.Plans.Rescaled
	all := migrationsOf(t, site, plan, "page_size=1").Total
	p := openMigrations(t, site, plan, "")
	p.WaitText(".migrations-count", fmt.Sprintf("%d migrations", all))
	equalRows(t, p, site, plan, "sort=state") // the heaviest first
	height := browsertest.Eval[float64](p, "document.documentElement.scrollHeight")

	matches := func(query string) {
		t.Helper()
		n := migrationsOf(t, site, plan, query).Total
		p.WaitText(".migrations-count", fmt.Sprintf("%d of %d migrations match", n, all))
		p.WaitUntil(filled(0))
		equalRows(t, p, site, plan, query)
	}
	p.Fill(".migrations-bytes input", "k1")
	p.WaitUntil(`location.hash.endsWith('?key_prefix=k1')`)
	matches("key_prefix=k1&sort=state")
	if h := browsertest.Eval[float64](p, "document.documentElement.scrollHeight"); h != height {
		t.Errorf("with a filter the page is %v pixels high, without %v", h, height)
	}
	p.Fill(".migrations-choice select", "drain")
	matches("key_prefix=k1&reason=drain&sort=state")
	p.Fill(".migrations-decimal input", "2")
	matches("key_prefix=k1&reason=drain&min_cost=2&sort=state")
	p.Click("[role=columnheader]:nth-child(4) button")
	p.WaitUntil(`document.querySelector('[aria-sort=descending]')?.textContent.startsWith('Cost')`)
	matches("key_prefix=k1&reason=drain&min_cost=2&sort=cost")
	p.Click("[role=columnheader]:nth-child(4) button")
	p.WaitUntil(`document.querySelector('[aria-sort=ascending]')?.textContent.startsWith('Cost')`)
	matches("key_prefix=k1&reason=drain&min_cost=2&sort=cost&order=asc")
	p.Reload()
	p.WaitFor(".migrations .vtable-rows .vrow:not(.blank)")
	matches("key_prefix=k1&reason=drain&min_cost=2&sort=cost&order=asc")

	p.Fill(".migrations-text input", "three")
	p.WaitFor(`.migrations-text input[aria-invalid="true"]`)
	p.WaitText(".migrations-wrong", "whole number")
	matches("key_prefix=k1&reason=drain&min_cost=2&sort=cost&order=asc")
	p.Click(".migrations-line .quiet")
	p.WaitText(".migrations-count", fmt.Sprintf("%d migrations", all))
	if values := browsertest.Eval[string](p,
		`[...document.querySelectorAll('.migrations-field input')].map((e) => e.value).join('')`); values != "" {
		t.Errorf("fields hold %q after a reset", values)
	}
	if asked := countMigrations(p); asked > 40 {
		t.Errorf("it took %d requests", asked)
	}
}

// countMigrations is how often a page of migrations was asked for.
func countMigrations(p *browsertest.Page) int {
	n := 0
	for _, url := range p.Requests() {
		if strings.Contains(url, "/migrations?") && strings.Contains(url, "page_size=500") {
			n++
		}
	}
	return n
}

// TestMigrationsOfKinds: of classes, arcs and ranges as many rows as the API has.
func TestMigrationsOfKinds(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := widen(browsertest.Start(t).Page(t, site.URL))
	for _, c := range []struct{ plan, sort, first, unit string }{
		{site.Plans.Classes, "cost", "0", "migrations"}, {site.Plans.Ring, "from", "arc", "arcs"}, {site.Plans.Ranges, "count", "range", "ranges"},
	} {
		var list struct {
			Migrations []json.RawMessage `json:"migrations"`
			Total      int               `json:"total_size"`
		}
		ask(t, site.URL+"/v1/plans/"+c.plan+"/migrations?sort="+c.sort, "", &list)
		enterMigrations(p, c.plan, "?sort="+c.sort)
		p.WaitText(".migrations-count", fmt.Sprintf("%d %s", list.Total, c.unit))
		if n := len(rowsInView(p)); n != list.Total {
			t.Errorf("%d rows of %d", n, list.Total)
		}
	}
}

// TestMigrationsKeyboard: the list is read from end to end with keys alone.
func TestMigrationsKeyboard(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	plan := site.Plans.Big
	total := migrationsOf(t, site, plan, "page_size=1").Total
	p := openMigrations(t, site, plan, "")
	if rows := browsertest.Eval[int](p, "document.querySelector('.migrations .vtable').ariaRowCount * 1"); rows != total+
		1 {
		t.Errorf("%d rows are announced, of %d and a head", rows, total)
	}
	browsertest.Eval[bool](p, "document.querySelector('.migrations .vtable-view').focus() ?? true")
	for _, step := range []struct {
		key   string
		first int
	}{{"ArrowDown", 1}, {"PageDown", 18}, {"PageDown", 35}, {"ArrowUp", 34}, {"PageUp", 17}} {
		p.Press(step.key)
		p.WaitUntil(filled(step.first))
	}
	p.Press("End")
	p.WaitUntil(filled(total - 18))
	equalRows(t, p, site, plan, "sort=state")
	p.Press("Home")
	p.WaitUntil(filled(0))
	equalRows(t, p, site, plan, "sort=state")
}

// scrolling scrolls the table by so many pixels in each of so many frames and counts,
// before each is painted, what is wrong in it.
const scrolling = `(async (step, frames) => {
	const view = document.querySelector('.vtable-view')
	const out = { frames, slow: 0, blank: 0, open: 0, most: 0, longest: 0 }
	const look = () => {
		const v = view.getBoundingClientRect(), drawn = [...view.querySelectorAll('.vrow')]
		const rows = drawn.map((row) => [row, row.getBoundingClientRect()]).filter(([, r]) => r.bottom > v.top + 1 && r.top < v.bottom - 1)
		out.most = Math.max(out.most, drawn.length)
		if (rows.some(([row]) => row.matches('.blank'))) out.blank++
		if (rows.length === 0 || rows[0][1].top > v.top + 1 || rows.at(-1)[1].bottom < v.bottom - 1) out.open++
	}
	const frame = () => new Promise(requestAnimationFrame)
	for (let i = 0, last = await frame(); i < frames; i++) {
		view.scrollTop += step
		look()
		const now = await frame()
		if (now - last > 33.4) out.slow++
		out.longest = Math.max(out.longest, now - last)
		last = now
	}
	return out
})(%d, %d)`

type scrolled struct {
	Frames, Slow, Blank, Open, Most int
	Longest                         float64
}

func scroll(p *browsertest.Page, step, frames int) scrolled {
	return browsertest.Eval[scrolled](p, fmt.Sprintf(scrolling, step, frames))
}

// TestMigrationsScrolled: who scrolls sees rows, always, and the right ones wherever one
// jumps; and neither the page nor the server has more to do than that takes.
func TestMigrationsScrolled(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	plan := site.Plans.Big
	total := migrationsOf(t, site, plan, "page_size=1").Total
	p := openMigrations(t, site, plan, "")
	// Without being asked for, what comes next is there: how long the server takes is not looked at.
	p.WaitUntil(`performance.getEntriesByType('resource').filter((r) => /\/migrations\?.*page_size=500/.test(r.name)).length >= 3`)
	for _, step := range []int{100, -60} {
		for range 8 { // on a machine that does much else, all frames at once would take longer than a script may
			if s := scroll(p, step, 25); s.Blank > 0 || s.Open > 0 || s.Most > 120 {
				t.Errorf("by %d pixels a frame: %+v", step, s)
			}
		}
	}
	equalRows(t, p, site, plan, "sort=state")
	if asked := countMigrations(p); asked > 6 {
		t.Errorf("the first pages took %d requests", asked)
	}

	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // any places do
	for range 12 {
		at := random.IntN(total - 20)
		browsertest.Eval[int](p, fmt.Sprintf("document.querySelector('.vtable-view').scrollTop = %d", 34*at))
		p.WaitUntil(filled(at))
		equalRows(t, p, site, plan, "sort=state")
	}
	if asked := countMigrations(p); asked > 6+12*5 {
		t.Errorf("12 jumps took %d requests", asked)
	}
	if n := p.Count(".migrations .vrow"); n > 120 {
		t.Errorf("there are %d rows in the page", n)
	}
}

// TestMigrationsUnfilled: where the server is slow the shapes of rows are seen, and
// where it does not answer that is said and the list stays.
func TestMigrationsUnfilled(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := openMigrations(t, site, site.Plans.Big, "")
	release := p.Hold(`/migrations\?.*skip=`)
	browsertest.Eval[int](p, "document.querySelector('.vtable-view').scrollTop = 34 * 50_000")
	p.WaitUntil(inView + `.filter((r) => r.matches('.blank')).length >= 18`)
	release()
	p.WaitUntil(filled(50_000))

	p.Expect("ERR_CONNECTION_REFUSED")
	undo := p.Refuse(`/migrations\?`)
	browsertest.Eval[int](p, "document.querySelector('.vtable-view').scrollTop = 34 * 80_000")
	p.WaitText(".vtable-problem", "Some rows could not be loaded")
	undo()
	p.Click(".vtable-problem button")
	p.WaitUntil(filled(80_000))
	p.WaitGone(".vtable-problem")
}

// TestTableOfMillions: a list that is higher than browsers can lay out is shown in
// proportion, and can be read row by row and to its very ends.
func TestTableOfMillions(t *testing.T) {
	t.Parallel()
	const total = 20_000_000
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Viewport(1280, 900, false)
	p.Goto("/#/none")
	p.WaitFor("main .empty")
	browsertest.Eval[any](p, `(async () => {
		const { html, render } = await import('/dashboard/js/html.js')
		const { VirtualTable } = await import('/dashboard/js/table.js')
		const columns = [{ id: 'n', head: 'Number', of: (row) => row.n }]
		const load = async (skip, size) => ({ rows: Array.from({ length: Math.min(size, 20_000_000 - skip) }, (_, i) => ({ n: skip + i })), total: 20_000_000 })
		const place = document.body.appendChild(Object.assign(document.createElement('div'), { className: 'migrations' }))
		document.getElementById('app').remove()
		render(html`+"`<${VirtualTable} label=\"Numbers\" columns=${columns} source=\"numbers\" load=${load} />`"+`, place)
	})()`)
	p.WaitUntil(filled(0))
	browsertest.Eval[bool](p, "document.querySelector('.vtable-view').focus() ?? true")
	p.Press("End")
	p.WaitUntil(filled(total - 18))
	p.Press("PageUp")
	p.WaitUntil(filled(total - 35))
	browsertest.Eval[int](p, "(() => { const v = document.querySelector('.vtable-view'); return v.scrollTop = "+
		"(v.scrollHeight - v.clientHeight) / 2 })()")
	p.WaitUntil(filled(-1))
	middle := rowsInView(p)[0].Index
	if middle < total/2-2000 || middle > total/2+2000 {
		t.Errorf("the middle of the bar is row %d", middle)
	}
	p.Press("ArrowDown")
	p.WaitUntil(filled(middle + 1))
	if s := scroll(p, 100, 60); s.Open > 0 || s.Most > 120 {
		t.Errorf("scrolled in the middle: %+v", s)
	}
	p.WaitUntil(filled(-1))
	rows := rowsInView(p)
	if got := rows[0].Index; got < middle+170 || got > middle+185 {
		t.Errorf("6,000 pixels from row %d is row %d", middle+1, got)
	}
	for _, row := range rows {
		if row.Cells[0] != fmt.Sprint(row.Index) {
			t.Errorf("row %d shows %s", row.Index, row.Cells[0])
		}
	}
	p.Press("Home")
	p.WaitUntil(filled(0))
}

// caught keeps what the page saves, and its name.
const caught = `(() => {
	const make = URL.createObjectURL
	URL.createObjectURL = (blob) => { window.saved = blob; return make.call(URL, blob) }
	document.addEventListener('click', (e) => { if (e.target.download) { window.savedAs = e.target.download; e.preventDefault() } }, true)
	const click = HTMLAnchorElement.prototype.click
	HTMLAnchorElement.prototype.click = function () { this.download ? window.savedAs = this.download : click.call(this) }
	return true
})()`

// TestMigrationsSaved: what is listed is saved as the API writes it, with the token of
// who asks, and however long it is.
func TestMigrationsSaved(t *testing.T) {
	t.Parallel()
	site := browsertest.Secured(t)
	token := site.Tokens[access.Viewer]
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect("status of 401")
	p.Goto("/")
	p.WaitFor("dialog[open]")
	p.Fill("#token", token)
	p.Press("Enter")
	p.WaitFor(".operators")
	for _, c := range []struct{ query, end, accept, button string }{
		{"sort=cost&from=3", "csv", "text/csv", "CSV"}, {"sort=state", "ndjson", "application/x-ndjson", "NDJSON"},
	} {
		p.Goto("/#/plans/" + site.Plans.Big + "?" + c.query)
		p.WaitFor(".migrations .vtable-rows .vrow:not(.blank)")
		p.WaitUntil(filled(0))
		browsertest.Eval[bool](p, caught)
		p.Click(`.migrations-downloads button[aria-label*=" ` + c.button + ` "]`)
		p.WaitUntil("window.savedAs")
		if name := browsertest.Eval[string](p, "window.savedAs"); name != "big-interval-0-migrations."+c.end {
			t.Errorf("it is saved as %s", name)
		}
		want := listing(t, site.URL+"/v1/plans/"+site.Plans.Big+"/migrations?"+c.query, token, c.accept)
		if got := browsertest.Eval[string](p, "window.saved.text()"); got != want {
			t.Errorf("%s: %d bytes are saved, the API has %d", c.end, len(got), len(want))
		}
		browsertest.Eval[any](p, "window.savedAs = null")
	}
}

// listing is what the API answers in a type.
func listing(t *testing.T, url, token, accept string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestMigrationsInMemory: those of a what-if are sorted, filtered and written as the API
// does it.
func TestMigrationsInMemory(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/")
	p.WaitFor(".operators")
	for _, c := range []struct {
		plan, migrates string
		queries        []string
	}{
		{site.Plans.Rescaled, "keys", []string{
			"", "sort=key&order=desc", "sort=cost", "sort=state&order=asc", "sort=from&order=desc", "sort=to", "sort=reason",
			"key_prefix=k1", "key_contains=00", "instance=3", "from=3&to=9", "reason=drain&min_cost=2&min_state=1",
		}},
		{site.Plans.Classes, "classes", []string{"", "sort=cost", "sort=count&order=asc", "sort=from&order=desc",
			"instance=1", "min_cost=100"}},
		{site.Plans.Ring, "arcs", []string{"", "order=desc", "sort=cost", "sort=reason", "to=5"}},
		{site.Plans.Ranges, "ranges", []string{"", "order=desc", "sort=count", "sort=to", "from=5"}},
	} {
		for _, query := range c.queries {
			for _, accept := range []string{"text/csv", "application/x-ndjson"} {
				want := listing(t, site.URL+"/v1/plans/"+c.plan+"/migrations?"+query, "", accept)
				got := browsertest.Eval[string](p, fmt.Sprintf(`(async () => {
					const { kinds } = await import('/dashboard/js/views/plan/migrations/kinds.js')
					const { select, fileOf } = await import('/dashboard/js/views/plan/migrations/local.js')
					const { migrations } = await (await fetch('/v1/plans/%s/migrations?page_size=1000')).json()
					const { sort, order, ...filters } = Object.fromEntries(new URLSearchParams('%s'))
					const kind = kinds['%s'], by = sort ?? kind.natural
					const items = migrations.map((written) => ({ written, row: kind.of(written) }))
					return fileOf('%s', '%[3]s', select(items, kind, filters, { by, order: order ?? kind.columns.find((c) => c.id === by)?.sort ?? 'asc' }).map((x) => x.written)).text()
				})()`, c.plan, query, c.migrates, accept))
				if strings.TrimSpace(got) != strings.TrimSpace(strings.ReplaceAll(want, "\r\n", "\n")) {
					t.Errorf("%s?%s as %s:\n%.300s\nwant:\n%.300s", c.migrates, query, accept, got, want)
				}
			}
		}
	}
}

// TestMigrationsOfWhatIf: the list of a result is filtered by the address, and sorted
// without the table of results beside it.
func TestMigrationsOfWhatIf(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	plan := site.Plans.Rescaled
	p := browsertest.Start(t).Page(t, site.URL)
	p.Viewport(1280, 900, false)
	p.Goto("/#/none?from=3&sort=theta")
	p.WaitFor("main .empty")
	browsertest.Eval[any](p, `(async () => {
		const { html, render } = await import('/dashboard/js/html.js')
		const { Migrations } = await import('/dashboard/js/views/plan/migrations.js')
		const plan = await (await fetch('/v1/plans/`+plan+`?include=migrations')).json()
		render(html`+"`<${Migrations} plan=${plan} local=${plan.migrations} />`"+`, document.querySelector('main'))
	})()`)
	p.WaitFor(".migrations .vtable-rows .vrow")
	list := migrationsOf(t, site, plan, "from=3")
	p.WaitText(".migrations-count", fmt.Sprintf("%d of", list.Total))
	equalRows(t, p, site, plan, "from=3&sort=state")
	p.Click("[role=columnheader]:nth-child(4) button")
	p.WaitUntil(`document.querySelector('[aria-sort=descending]')?.textContent.startsWith('Cost')`)
	equalRows(t, p, site, plan, "from=3&sort=cost")
	if place := browsertest.Eval[string](p, "location.hash"); place != "#/none?from=3&sort=theta&migrations_sort=cost" {
		t.Errorf("the address is %s", place)
	}
}

// TestKeys: every key is shown in one line, and nothing of it is hidden.
func TestKeys(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Goto("/")
	p.WaitFor(".operators")
	got := browsertest.Eval[[]string](p, `(async () => {
		const { html, render } = await import('/dashboard/js/html.js')
		const { Key, keyOf } = await import('/dashboard/js/views/plan/migrations/key.js')
		return [['user:1'], ['  a  b '], ['a\nb'], ['a\u202eb'], ['👩‍👩‍👧 x'], ['dXNlcjox', 'base64'], ['/w==', 'base64']].map(([written, encoding]) => {
			const place = document.createElement('div')
			render(html`+"`<${Key} of=${keyOf(written, encoding)} />`"+`, place)
			return place.textContent
		})
	})()`)
	want := []string{"user:1", "␣␣a  b␣", `a\u{a}b`, `a\u{202e}b`, "👩‍👩‍👧 x", "user:1", "/w== base64"}
	if !slices.Equal(got, want) {
		t.Errorf("keys are shown as %q, want %q", got, want)
	}
}

// TestTableChanges: entry by entry as the API has them; and where there are none, why.
func TestTableChanges(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	var list struct {
		Changes []struct {
			Key                string
			Instance, Previous *int
		}
		Total int `json:"total_size"`
	}
	ask(t, site.URL+"/v1/plans/"+site.Plans.Rescaled+"/routing-table?instance=9", "", &list)
	p := openMigrations(t, site, site.Plans.Rescaled, "?list=table-changes&instance=9")
	p.WaitText(".migrations-count", fmt.Sprintf("%d changes match", list.Total))
	text := func(instance *int) string {
		if instance == nil {
			return "no entry"
		}
		return fmt.Sprint(*instance)
	}
	for i, row := range rowsInView(p) {
		if want := list.Changes[i]; !slices.Equal(row.Cells[:3],
			[]string{want.Key, text(want.Previous), text(want.Instance)}) {
			t.Errorf("row %d is %v, want %+v", i, row.Cells, want)
		}
	}
	p.Click(".migrations .tabs a")
	p.WaitUntil(`!location.hash.includes('list=')`)
	p.WaitText(".migrations-count", "migrations match")

	for _, c := range []struct{ plan, code, want string }{
		{site.Plans.Ring, "", "no routing table"},
		{site.Plans.Ranges, "", "no routing table"},
		{site.Plans.Classes, "resolution_required", "not known yet which keys"},
		{site.Plans.Classes, "table_not_held", "engine holds the routing table"},
		{site.Plans.Rescaled, "purged", "no longer kept"},
	} {
		undo := func() {}
		if c.code != "" {
			status := int64(http.StatusConflict)
			if c.code == "purged" {
				status = http.StatusGone
			}
			p.Expect("status of 4")
			undo = p.Answer("/routing-table", status,
				fmt.Sprintf(`{"type":"about:blank","title":"No","status":%d,"code":%q,"detail":"No."}`, status, c.code))
		}
		enter(p, "/#/plans/"+c.plan+"?list=table-changes")
		p.WaitText(".migrations .empty", c.want)
		p.Axe()
		undo()
	}
}

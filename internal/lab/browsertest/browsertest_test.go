package browsertest

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// policy is a strict one: no code but the server's, none made of strings.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'"

// site serves pages by path, under the policy.
func site(t *testing.T, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/lax") {
			w.Header().Set("Content-Security-Policy", policy)
		}
		switch filepath.Ext(r.URL.Path) {
		case ".js":
			w.Header().Set("Content-Type", "text/javascript")
		case ".json":
			w.Header().Set("Content-Type", "application/json")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// document is a page without anything to complain about.
func document(body string) string {
	return `<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,"></head><body><main><h1>A page</h1>` + body + `</main></body></html>`
}

// recorder is a test that tells whether it would have failed.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, strings.TrimSpace(text))
}

func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }

// errorsOf runs a test on a page of its own and returns how it fails.
func errorsOf(t *testing.T, server string, test func(p *Page)) []string {
	t.Helper()
	b := Start(t)
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		test(b.Page(r, server))
	}()
	<-done
	return r.errors
}

// TestVerdict holds what a page does against what its test says of it at the end.
func TestVerdict(t *testing.T) {
	scripts := map[string]string{
		"quiet":     ``,
		"warning":   `console.warn("only a warning")`,
		"error":     `console.error("it is", 7, "broken")`,
		"exception": `setTimeout(() => { throw new Error("not caught") }, 0)`,
		"rejection": `Promise.reject(new Error("not awaited"))`,
		"missing":   `fetch("/nothing.json")`,
		"own":       `fetch("/data.json"); fetch("data:text/plain,x").catch(() => {}); fetch(URL.createObjectURL(new Blob(["x"]))).catch(() => {})`,
		"inline":    `const s = document.createElement("script"); s.textContent = "1"; document.body.append(s)`,
		"eval":      `try { new Function("return 1") } catch {}`,
		"foreign":   `const i = document.createElement("img"); i.src = "http://stranger.example/pixel"; document.body.append(i)`,
		"lax":       `fetch("http://127.0.0.1:1/data").catch(() => {})`,
	}
	pages := map[string]string{"/data.json": "{}"}
	for name, script := range scripts {
		pages["/"+name] = document(`<p id="done" hidden>done</p><script src="/` + name + `.js"></script>`)
		pages["/"+name+".js"] = script + "\nsetTimeout(() => { document.querySelector('#done').hidden = false }, 20)"
	}
	server := site(t, pages)
	for _, c := range []struct {
		page   string
		expect []string
		want   []string // each in some error; none: no errors
	}{
		{page: "quiet"},
		{page: "quiet", expect: []string{"never comes"}, want: []string{`matches "never comes"`}},
		{page: "warning"},
		{page: "error", want: []string{"console error: it is 7 broken"}},
		{page: "error", expect: []string{"it is [0-9] broken"}},
		{page: "error", expect: []string{"it is [0-9] broken", "another"}, want: []string{`matches "another"`}},
		{page: "exception", want: []string{"exception: Uncaught Error: not caught"}},
		{page: "rejection", want: []string{"not awaited"}},
		{page: "missing", want: []string{"404"}},
		{page: "missing", expect: []string{"404 .*/nothing.json$"}},
		{page: "own", expect: []string{"Content Security Policy"}},
		{page: "inline", want: []string{"Content Security Policy: script-src-elem forbids inline"}},
		{page: "eval", want: []string{"Content Security Policy: script-src forbids eval"}},
		{page: "foreign", expect: []string{"Content Security Policy"},
			want: []string{"to another origin than " + server + ": http://stranger.example/pixel"}},
		{page: "lax", expect: []string{"127.0.0.1:1"},
			want: []string{"to another origin than " + server + ": http://127.0.0.1:1/data"}},
	} {
		t.Run(c.page, func(t *testing.T) {
			t.Parallel()
			got := errorsOf(t, server, func(p *Page) {
				for _, e := range c.expect {
					p.Expect(e)
				}
				p.Goto("/" + c.page)
				p.WaitFor("#done")
				if c.page == "warning" && !slices.Equal(p.Warnings(), []string{"only a warning"}) {
					t.Errorf("warnings %q", p.Warnings())
				}
				if !slices.Contains(p.Requests(), server+"/"+c.page+".js") {
					t.Errorf("requests %q", p.Requests())
				}
			})
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, want) }) {
					t.Errorf("no error with %q among %q", want, got)
				}
			}
			if len(c.want) == 0 && len(got) > 0 {
				t.Errorf("errors %q", got)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	r := records{origin: "http://127.0.0.1:80"}
	for url, want := range map[string]bool{
		"http://127.0.0.1:80": false, "http://127.0.0.1:80/": false, "http://127.0.0.1:80?a": false,
		"http://127.0.0.1:80/#/b": false,
		"http://127.0.0.1:8080/":  true, "http://127.0.0.1:80@stranger/": true, "https://127.0.0.1:80/": true,
		"ws://127.0.0.1:80/": true,
		"data:,":             false, "about:blank": false, "blob:http://127.0.0.1:80/1": false,
		"blob:http://stranger/1": true,
	} {
		if got := r.foreign(url); got != want {
			t.Errorf("%s is foreign: %t", url, got)
		}
	}
}

// TestActions does what a user does. The page changes some time after each step.
func TestActions(t *testing.T) {
	server := site(t, map[string]string{
		"/": document(`<form><label>Name <input id="name" value="before"></label>
			<label>Number <input id="number" type="number"></label>
			<label>Colour <select id="colour"><option>red<option>blue</select></label>
			<button id="go" type="submit" disabled>Go</button></form>
			<p class="said" hidden>not this</p><p class="said"></p><p id="key"></p>
			` + strings.Repeat("<br>", 200) + `<button id="far">Far</button><script src="/page.js"></script>`),
		"/page.js": `const $ = s => document.querySelector(s), said = document.querySelectorAll(".said")[1]
			const later = f => setTimeout(f, 30)
			$("#name").addEventListener("input", () => later(() => { $("#go").disabled = false }))
			$("form").addEventListener("submit", e => { e.preventDefault(); later(() => {
				said.textContent = ["name", "number", "colour"].map(n => $("#" + n).value).join(" ") }) })
			$("#far").addEventListener("click", e => later(() => { said.textContent = "clicked " + e.isTrusted }))
			addEventListener("keydown", e => { $("#key").textContent = (e.shiftKey ? "Shift+" : "") + e.key })
			addEventListener("hashchange", () => later(() => { said.textContent = location.hash }))`,
	})
	p := Start(t).Page(t, server)
	p.Goto("/")
	p.Fill("#name", "naïve \"漢字\"")
	p.Fill("#number", "12")
	p.Fill("#colour", "blue")
	p.Click("#go")
	p.WaitText(".said", `naïve "漢字" 12 blue`)
	p.Fill("#number", "")
	p.Press("Enter")
	p.WaitUntil(`document.querySelectorAll(".said")[1].textContent === 'naïve "漢字"  blue'`)
	p.Click("#far")
	p.WaitText(".said", "clicked true")
	p.Goto("/#/elsewhere")
	p.WaitText(".said", "#/elsewhere")
	if got := p.Text(".said"); got != "#/elsewhere" {
		t.Errorf("text %q", got)
	}
	if got := p.Count(".said"); got != 2 {
		t.Errorf("%d elements", got)
	}
	for _, key := range []string{"Escape", "ArrowDown", "Shift+Tab", "k"} {
		p.Press(key)
		p.WaitText("#key", key)
	}
	if got := Eval[map[string]int](p, "Promise.resolve({a: 1})"); got["a"] != 1 {
		t.Errorf("value %v", got)
	}
	p.Reload()
	p.WaitUntil(`document.querySelector("#name").value === "before"`)
}

// TestNothingShared: what a page stores, and where it was, no other finds, nor the next one in its tab;
// and what went wrong in a page is of that one alone.
func TestNothingShared(t *testing.T) {
	server := site(t, map[string]string{"/": document(`<script src="/page.js"></script>`),
		"/page.js": `addEventListener("mousemove", () => { window.moved = true })`})
	const count = `document.cookie = "n=1", localStorage.n = +(localStorage.n ?? 0) + 1, sessionStorage.n = ` +
		`+(sessionStorage.n ?? 0) + 1, [+localStorage.n, +sessionStorage.n, history.length, window.moved ? 1 : 0]`
	var tabs []context.Context
	for i := range 3 {
		t.Run("", func(t *testing.T) {
			p := Start(t).Page(t, server)
			beside := Start(t).Page(t, server)
			tabs = append(tabs, p.ctx)
			if i == 2 {
				p.Expect("after two")
			}
			for _, p := range []*Page{p, beside} {
				if p.Goto("/"); Eval[bool](p, `document.cookie !== ""`) {
					t.Error("there are cookies")
				}
				if got := Eval[[]int](p, count); !slices.Equal(got, []int{1, 1, 2, 0}) {
					t.Errorf("counts %v", got)
				}
				Eval[any](p, `document.cookie = "n=; max-age=0"`)
			}
			p.Goto("/#/elsewhere")
			p.ClickAt(100, 100)
			if i == 2 {
				Eval[any](p, `console.error("after two")`)
			} else if len(p.Problems()) > 0 {
				t.Errorf("problems %q", p.Problems())
			}
		})
	}
	if !slices.Contains(tabs[1:], tabs[0]) {
		t.Error("no tab was used again")
	}
}

// fetching shows what comes of a request each time its button is clicked.
var fetching = map[string]string{
	"/": document(`<button>Fetch</button><p id="state">idle</p><script src="/page.js"></script>`),
	"/page.js": `const state = document.querySelector("#state")
		document.querySelector("button").addEventListener("click", async () => {
			state.textContent = "loading"
			try {
				const a = await fetch("/data.json")
				state.textContent = a.status + " " + a.headers.get("Content-Type") + " " + await a.text()
			} catch { state.textContent = "failed, online " + navigator.onLine }
		})`,
	"/data.json": `"real"`,
}

func TestFaults(t *testing.T) {
	server := site(t, fetching)
	p := Start(t).Page(t, server)
	p.Goto("/")
	try := func(want string) {
		t.Helper()
		p.Click("button")
		p.WaitText("#state", want)
	}
	try(`200 application/json "real"`)

	undo := p.Answer(`/data\.json$`, 503, `{"code":"unavailable"}`)
	p.Expect("503 .*/data.json")
	try(`503 application/problem+json {"code":"unavailable"}`)
	undo()
	try(`"real"`)

	release := p.Hold(`/data\.json$`)
	try("loading")
	release()
	p.WaitText("#state", `"real"`)

	undo = p.Refuse(`/data\.json$`)
	p.Expect("ERR_CONNECTION_REFUSED")
	try("failed, online true")
	undo()

	p.Offline(true)
	p.Expect("ERR_INTERNET_DISCONNECTED")
	try("failed, online false")
	p.Offline(false)
	try(`"real"`)

	if want := []string{"net::ERR_CONNECTION_REFUSED " + server + "/data.json", "net::ERR_INTERNET_DISCONNECTED " +
		server + "/data.json"}; !slices.Equal(p.Failed(), want) {
		t.Errorf("failed %q, want %q", p.Failed(), want)
	}
}

// TestHeldAtEnd: a page whose requests never end can be closed.
func TestHeldAtEnd(t *testing.T) {
	server := site(t, fetching)
	if got := errorsOf(t, server, func(p *Page) {
		p.Goto("/")
		p.Hold(".*")
		p.Click("button")
		p.WaitText("#state", "loading")
	}); len(got) > 0 {
		t.Errorf("errors %q", got)
	}
}

func TestAxe(t *testing.T) {
	server := site(t, map[string]string{
		"/good": document(`<p>All is well.</p><button>Press</button>`),
		"/bad":  document(`<button></button><img src="data:," id="bare">`),
		"/dim":  document(`<h1>dim</h1><p>Words <a href="/">to follow</a> and more of them.</p><button></button>`),
	})
	if got := errorsOf(t, server, func(p *Page) {
		p.Goto("/good")
		p.Axe()
		p.Axe()
	}); len(got) > 0 {
		t.Errorf("errors of a good page: %q", got)
	}
	got := strings.Join(errorsOf(t, server, func(p *Page) {
		p.Goto("/bad")
		p.Axe()
	}), "\n")
	for _, want := range []string{"button-name (critical)", "image-alt (critical)", "#bare", "accessibility"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, dark := range []bool{false, true} {
		got := strings.Join(errorsOf(t, server, func(p *Page) {
			p.Viewport(1280, 800, dark)
			p.Goto("/dim")
			Eval[*bool](p, `(() => {
				const dark = matchMedia('(prefers-color-scheme: dark)').matches
				const colour = (what, light, other) => { document.querySelector(what).style.color = dark ? other : light }
				document.body.style.background = dark ? 'black' : 'white'
				colour('h1', 'black', '#333')
				colour('p', 'black', 'white')
				colour('a', '#c30', '#eee')
				document.querySelector('a').style.textDecoration = 'none'
				return null
			})()`)
			p.AxeColours()
		}), "\n")
		for _, want := range []string{"color-contrast (serious)", "link-in-text-block (serious)"} {
			if strings.Contains(got, want) != dark {
				t.Errorf("dark: %t, %s in %q", dark, want, got)
			}
		}
		if strings.Contains(got, "button-name") {
			t.Errorf("dark: %t, %s", dark, got)
		}
	}
}

func TestScreenshot(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "shots")
	t.Setenv(Screenshots, folder)
	server := site(t, map[string]string{
		"/short": document("<p>short</p>"),
		"/long":  document(strings.Repeat("<p>long</p>", 300)),
	})
	p := Start(t).Page(t, server)
	p.Viewport(400, 300, true)
	p.Goto("/short")
	if !Eval[bool](p, "matchMedia('(prefers-color-scheme: dark)').matches && innerWidth === 400") {
		t.Error("the viewport is not as it was set")
	}
	p.Screenshot("short")
	p.Viewport(800, 600, false)
	p.Goto("/long")
	p.Screenshot("long")
	for name, size := range map[string][2]int{"short-400-dark.png": {400, 300}, "long-800.png": {800, maxHeight}} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := png.DecodeConfig(f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || [2]int{c.Width, c.Height} != size {
			t.Errorf("%s: %d × %d, %v", name, c.Width, c.Height, err)
		}
	}
}

func TestNoChromium(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if path, err := find(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("found %s, %v", path, err)
	}
}

// TestStop: no process and no file of Chromium is left, nor a goroutine.
func TestStop(t *testing.T) {
	Start(t) // or skip
	before := goleak.IgnoreCurrent()
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("TMPDIR", t.TempDir())
	b, err := start(home)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(processes(t, os.TempDir())); n < 2 {
		t.Errorf("%d processes", n)
	}
	if err := b.stop(); err != nil {
		t.Error(err)
	}
	if left := processes(t, os.TempDir()); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	goleak.VerifyNone(t, before)
}

// processes are those whose command line contains a text.
func processes(t *testing.T, text string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("there is no /proc")
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), text) {
			found = append(found, f)
		}
	}
	return found
}

// TestSites: what tests are given answers as it should.
func TestSites(t *testing.T) {
	for _, s := range []*Site{Filled(t), Secured(t)} {
		if s.Plans.Big == "" || (s.Tokens == nil) != (s == Filled(t)) {
			t.Errorf("site %+v", s)
		}
	}
	if s := NewEmpty(t, false); s.URL == Filled(t).URL {
		t.Error("two servers at one place")
	}
}

package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Patience is how long a page may take for anything.
const Patience = 20 * time.Second

// Page is a tab in a browser context of its own: without cookies and storage of others. All methods
// fail the test when they cannot do what they say; those that act on an element wait until there is
// one that a user could act on. It is for one goroutine.
type Page struct {
	t      testing.TB
	ctx    context.Context // of the tab
	origin *url.URL
	width  int64
	dark   bool
	records
	faults
}

// Page opens a blank page of 1280 × 800 for the server at a URL. It is closed at
// the end of the test, which fails then if something went wrong in it.
func (b *Browser) Page(t testing.TB, server string) *Page {
	t.Helper()
	origin, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := b.tab()
	if err != nil {
		t.Fatalf("no page: %v", err)
	}
	p := &Page{t: t, ctx: tab.ctx, origin: origin}
	p.records.origin = origin.Scheme + "://" + origin.Host
	tab.page.Store(p)
	t.Cleanup(func() {
		t.Helper()
		p.finish()
		b.giveBack(tab, p)
	})
	p.Viewport(1280, 800, false)
	return p
}

// finish says what went wrong.
func (p *Page) finish() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[int]("0")); err != nil { // what was said before has come by now
		p.t.Errorf("the page does not answer: %v", err)
	}
	p.verdict(p.t)
}

// call calls a command for its effect.
func call[P, R any](ctx context.Context, command cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, command, params)
	return err
}

// do runs steps.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// Goto goes to a URL, relative to that of the server, and waits until the
// document is loaded. One that differs in the part after # only loads nothing.
func (p *Page) Goto(target string) {
	p.t.Helper()
	u, err := p.origin.Parse(target)
	if err != nil {
		p.t.Fatal(err)
	}
	p.do("go to "+target, chromedp.Navigate(u.String()))
}

// Reload loads the document anew and waits for it.
func (p *Page) Reload() {
	p.t.Helper()
	p.do("reload", chromedp.Reload())
}

// Viewport sets the size, in CSS pixels, and whether the user prefers dark
// colours. Reduced motion is always preferred, so that nothing is looked at half
// way.
func (p *Page) Viewport(width, height int64, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.width, p.dark = width, dark
	p.do("viewport", func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: 1,
		})
		if err == nil {
			_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
				}})
		}
		return chromedp.Void{}, err
	})
}

// Eval evaluates a JavaScript expression, awaits it if it is a promise, and
// decodes its value.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// WaitUntil waits until a JavaScript expression is true.
func (p *Page) WaitUntil(expression string) {
	p.t.Helper()
	await[any](p, "wait until "+expression, "return "+expression)
}

// poll evaluates the body of a function until what it returns is true, or a
// second has passed. What comes with chromedp makes a function of a string, which
// a good content security policy forbids.
const poll = `(async () => {
	const body = () => { %s }
	for (const begin = performance.now(); performance.now() - begin < 1000; await new Promise(done => setTimeout(done, 10))) {
		const value = body()
		if (value) return value
	}
	return null
})()`

// await returns the first true value of the body of a JavaScript function. The
// document may change meanwhile.
func await[T any](p *Page, what, body string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[*T](fmt.Sprintf(poll, body), chromedp.EvalAwaitPromise))
		if err == nil && v != nil {
			return *v
		}
		var thrown *chromedp.ExceptionError
		if errors.As(err, &thrown) || ctx.Err() != nil {
			p.t.Fatalf("%s: %v\n%s", what, errors.Join(err, ctx.Err()), p.situation())
		}
		if err != nil { // there is no document for the moment
			time.Sleep(time.Millisecond)
		}
	}
}

// situation is what there is to see, for whoever reads that something is not.
func (p *Page) situation() string {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body?.innerText"))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("The page:\n%.6000s\n%s", text, strings.Join(p.Problems(), "\n"))
}

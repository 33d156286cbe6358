package browsertest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is one in a browser context of its own. Pages use it one after the other: a new one costs as
// much as a page that is loaded, and its process has compiled no script yet.
type tab struct {
	ctx    context.Context // of chromedp
	cancel context.CancelFunc
	page   atomic.Pointer[Page] // that uses it; nil between two of them
	icon   atomic.Value         // the URL, a string, of the icon that the browser looks for where nothing was
}

// tab returns one that no page uses.
func (b *Browser) tab() (*tab, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.idle) - 1; last >= 0 {
		t := b.idle[last]
		b.idle = b.idle[:last]
		return t, nil
	}
	t := new(tab)
	t.ctx, t.cancel = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	err := chromedp.Do(t.ctx)
	if err == nil {
		err = t.listen()
	}
	if err != nil {
		t.cancel()
		return nil, err
	}
	return t, nil
}

// listen begins to tell the tab's pages of events.
func (t *tab) listen() error {
	if err := chromedp.Listen(t.ctx, func(event any) {
		if p := t.page.Load(); p != nil && !t.late(event) {
			p.note(event)
			p.pass(t.ctx, event)
		}
	}); err != nil {
		return err
	}
	// Of the windows of pages that tests look at side by side one alone has the focus.
	if err := call(t.ctx, emulation.SetFocusEmulationEnabled,
		emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		return err
	}
	if err := call(t.ctx, runtime.AddBinding, runtime.AddBindingParams{Name: violationBinding}); err != nil {
		return err
	}
	return call(t.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: violationScript})
}

// late reports whether an event is of the icon that a tab without a page has asked for.
func (t *tab) late(event any) bool {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		return e.Entry.URL == t.icon.Load()
	case *network.EventRequestWillBeSent:
		return e.Request.URL == t.icon.Load()
	}
	return false
}

// giveBack keeps the tab of a page that has ended for the next page, if nothing of it can be left
// there, and closes it otherwise.
func (b *Browser) giveBack(t *tab, p *Page) {
	ctx, cancel := context.WithTimeout(t.ctx, Patience)
	defer cancel()
	if p.t.Failed() || len(p.Problems()) > 0 || p.interfered || !t.clear(ctx, p.records.origin) {
		// A tab whose requests still run is long in closing. Errors do not matter any more.
		_ = call(ctx, fetch.Disable, cdp.Empty{})
		_ = call(ctx, page.Navigate, page.NavigateParams{URL: "about:blank"})
		t.cancel()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, t)
}

// nothing is a place without a document of the server's: it answers that with a line of text.
const nothing = "/nothing"

// clear makes the tab as it was at first but for a line of text, and says whether it is: without scripts,
// history and storage of the origin, the only one that its page has shown, and with the pointer outside.
// It does not leave the site: the browser would begin a new process, which costs what this is to save.
func (t *tab) clear(ctx context.Context, origin string) bool {
	const left = `location.origin === %s && (localStorage.clear(), sessionStorage.clear(),
		localStorage.length + sessionStorage.length + document.cookie.length === 0)`
	shown, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.origin"))
	if err != nil || shown != origin {
		return false
	}
	t.page.Store(nil) // what comes from now on belongs to no page
	t.icon.Store(origin + "/favicon.ico")
	if err := chromedp.Do(ctx, chromedp.Navigate(origin+nothing)); err != nil {
		return false
	}
	clean, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(left, quote(origin))))
	if err == nil {
		err = call(ctx, page.ResetNavigationHistory, cdp.Empty{})
	}
	if err == nil {
		err = call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMouseMoved, X: -1, Y: -1,
		})
	}
	return err == nil && clean
}

package browsertest

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// faults decide about the requests of a page.
type faults struct {
	mu         sync.Mutex
	rules      []*rule // the newest last
	interfered bool    // whether there ever were any, or the page was off the network
}

// rule is what becomes of requests whose URL matches.
type rule struct {
	url *regexp.Regexp
	// held, unless nil, is closed when they may go on.
	held chan struct{}
	// status, unless 0, is that of the answer.
	status int64
	body   string
	// reason, unless empty, is why they fail.
	reason network.ErrorReason
}

// Answer answers requests whose URL matches a regular expression in place of the
// server, with JSON, until undo is called. Of several rules for a URL the newest
// counts.
func (p *Page) Answer(pattern string, status int64, body string) (undo func()) {
	p.t.Helper()
	return p.intercept(&rule{url: p.compile(pattern), status: status, body: body})
}

// Hold lets requests whose URL matches a regular expression wait until release is
// called.
func (p *Page) Hold(pattern string) (release func()) {
	p.t.Helper()
	r := &rule{url: p.compile(pattern), held: make(chan struct{})}
	undo := p.intercept(r)
	return sync.OnceFunc(func() {
		undo()
		close(r.held)
	})
}

// Refuse lets requests whose URL matches a regular expression fail as if nobody
// listened, until undo is called.
func (p *Page) Refuse(pattern string) (undo func()) {
	p.t.Helper()
	return p.intercept(&rule{url: p.compile(pattern), reason: network.ErrorReasonConnectionRefused})
}

// Offline takes the page off the network, or back.
func (p *Page) Offline(offline bool) {
	p.t.Helper()
	p.interfered = true
	p.do("offline", func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		var all []*network.Conditions
		if offline {
			all = []*network.Conditions{{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}}
		}
		_, err := cdp.Call(ctx, t, network.EmulateNetworkConditionsByRule,
			network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: all})
		if err == nil {
			_, err = cdp.Call(ctx, t, network.OverrideNetworkState, network.OverrideNetworkStateParams{
				Offline: offline, DownloadThroughput: -1, UploadThroughput: -1,
			})
		}
		return chromedp.Void{}, err
	})
}

func (p *Page) compile(pattern string) *regexp.Regexp {
	p.t.Helper()
	e, err := regexp.Compile(pattern)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// intercept adds a rule, and returns what removes it. From the first one on
// every request is asked about.
func (p *Page) intercept(r *rule) (undo func()) {
	p.t.Helper()
	p.faults.mu.Lock()
	first := p.rules == nil
	p.rules, p.interfered = append(p.rules, r), true
	p.faults.mu.Unlock()
	if first {
		p.interpose()
	}
	return func() { p.remove(r) }
}

// probe is a request that the server answers with 200.
const probe = "/?probe"

// interpose lets the browser ask about every request from now on. The browser agrees
// to it before the process that draws the page knows of it, and a request that the
// page sends meanwhile goes to the server. So the page sends probes until one comes
// here.
func (p *Page) interpose() {
	p.t.Helper()
	if err := call(p.ctx, fetch.Enable, fetch.EnableParams{}); err != nil {
		p.t.Fatal(err)
	}
	if Eval[string](p, "location.origin") != p.records.origin { // what is loaded next is asked about
		return
	}
	r := &rule{url: regexp.MustCompile(regexp.QuoteMeta(probe) + "$"), status: http.StatusNoContent}
	p.faults.mu.Lock()
	p.rules = append(p.rules, r)
	p.faults.mu.Unlock()
	defer p.remove(r)
	asked := "fetch(" + quote(probe) + ", {cache: 'no-store'}).then(answer => answer.status === 204)"
	for begin := time.Now(); !Eval[bool](p, asked); {
		if time.Since(begin) > Patience {
			p.t.Fatal("the page's requests go past the rules")
		}
	}
}

// remove removes a rule.
func (f *faults) remove(r *rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = slices.DeleteFunc(f.rules, func(x *rule) bool { return x == r })
}

// match returns the rule of a URL, nil if there is none.
func (f *faults) match(url string) *rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range slices.Backward(f.rules) {
		if r.url.MatchString(url) {
			return r
		}
	}
	return nil
}

// pass decides about a request that waits for it. It is called while events are
// read, so it must not wait itself.
func (f *faults) pass(ctx context.Context, event any) {
	e, ok := event.(*fetch.EventRequestPaused)
	if !ok {
		return
	}
	r := f.match(e.Request.URL)
	// An error says that the page has given the request up, or is gone.
	go func() { _ = r.decide(ctx, e.RequestID) }()
}

// decide lets a request go on, unless the rule is not nil and says otherwise.
func (r *rule) decide(ctx context.Context, id fetch.RequestID) error {
	switch {
	case r == nil:
	case r.held != nil:
		select {
		case <-r.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	case r.reason != "":
		return call(ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: r.reason})
	default:
		kind := "application/json"
		if r.status >= http.StatusBadRequest {
			kind = "application/problem+json"
		}
		return call(ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: id, ResponseCode: r.status, Body: []byte(r.body),
			ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: kind},
				{Name: "Cache-Control", Value: "no-store"}},
		})
	}
	return call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: id})
}

package browsertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// The page tells of violations of its content security policy itself: not all of
// them reach the console.
const (
	violationBinding = "reportViolationToTest"
	violationScript  = `addEventListener('securitypolicyviolation', e => ` + violationBinding + `(JSON.stringify({
		directive: e.effectiveDirective, blocked: e.blockedURI, source: e.sourceFile + ':' + e.lineNumber})))`
)

// records are what a page said and asked for.
type records struct {
	origin string // of the server

	mu       sync.Mutex
	problems []string
	warnings []string
	requests []string
	failed   []string
	urls     map[network.RequestID]string
	expected []*regexp.Regexp
}

// note takes in an event. It is called by one goroutine.
func (r *records) note(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		r.said(string(e.Type), argumentsText(e.Args))
	case *log.EventEntryAdded:
		r.said(string(e.Entry.Level), strings.TrimSpace(e.Entry.Text+" "+e.Entry.URL))
	case *runtime.EventExceptionThrown:
		r.problems = append(r.problems, "exception: "+exceptionText(e.ExceptionDetails))
	case *runtime.EventBindingCalled:
		if e.Name == violationBinding {
			r.problems = append(r.problems, violationText(e.Payload))
		}
	case *network.EventRequestWillBeSent:
		r.requested(e.RequestID, e.Request.URL)
	case *network.EventWebSocketCreated:
		r.requested(e.RequestID, e.URL)
	case *network.EventLoadingFailed:
		if !e.Canceled { // by the page
			r.failed = append(r.failed, e.ErrorText+" "+r.urls[e.RequestID])
		}
	}
}

// said takes in what was written to the console.
func (r *records) said(level, text string) {
	switch level {
	case "error", "assert":
		r.problems = append(r.problems, "console error: "+text)
	case "warning":
		r.warnings = append(r.warnings, text)
	}
}

func (r *records) requested(id network.RequestID, url string) {
	if r.urls == nil {
		r.urls = map[network.RequestID]string{}
	}
	r.urls[id] = url
	r.requests = append(r.requests, url)
}

func argumentsText(arguments []*runtime.RemoteObject) string {
	var parts []string
	for _, a := range arguments {
		var text string
		if json.Unmarshal(a.Value, &text) != nil {
			if text = a.Description; text == "" {
				text = string(a.Value)
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func exceptionText(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil {
		text += " " + argumentsText([]*runtime.RemoteObject{d.Exception})
	}
	return fmt.Sprintf("%s (%s:%d)", text, d.URL, d.LineNumber+1)
}

func violationText(payload string) string {
	var v struct{ Directive, Blocked, Source string }
	if err := json.Unmarshal([]byte(payload), &v); err != nil {
		return "Content Security Policy: " + payload
	}
	return fmt.Sprintf("Content Security Policy: %s forbids %s (%s)", v.Directive, v.Blocked, v.Source)
}

// Expect announces errors on the console, exceptions and violations of the
// content security policy whose text, as in [Page.Problems], matches a regular
// expression. The test fails if there are none.
func (p *Page) Expect(pattern string) {
	p.t.Helper()
	e, err := regexp.Compile(pattern)
	if err != nil {
		p.t.Fatal(err)
	}
	p.records.mu.Lock()
	defer p.records.mu.Unlock()
	p.expected = append(p.expected, e)
}

// Problems are the errors on the console, uncaught exceptions and violations of
// the content security policy so far.
func (r *records) Problems() []string { return r.copy(&r.problems) }

// Warnings are those on the console so far. They fail no test.
func (r *records) Warnings() []string { return r.copy(&r.warnings) }

// Requests are the URLs that the page has asked for so far.
func (r *records) Requests() []string { return r.copy(&r.requests) }

// Failed are the requests so far that got no answer and were not cancelled by the
// page: the reason and the URL. Answers of status 400 and above are none.
func (r *records) Failed() []string { return r.copy(&r.failed) }

func (r *records) copy(of *[]string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(*of)
}

// verdict fails the test for everything that should not have been.
func (r *records) verdict(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.warnings {
		t.Logf("console warning: %s", text)
	}
	for _, text := range r.problems {
		if !slices.ContainsFunc(r.expected, func(e *regexp.Regexp) bool { return e.MatchString(text) }) {
			t.Error(text)
		}
	}
	for _, e := range r.expected {
		if !slices.ContainsFunc(r.problems, e.MatchString) {
			t.Errorf("expected, but there was no problem that matches %q", e)
		}
	}
	for _, url := range r.requests {
		if r.foreign(url) {
			t.Errorf("request to another origin than %s: %s", r.origin, url)
		}
	}
}

// foreign reports whether a URL is that of another origin. What a page makes by
// itself is none.
func (r *records) foreign(url string) bool {
	rest, same := strings.CutPrefix(url, r.origin)
	return (!same || rest != "" && rest[0] != '/' && rest[0] != '?' && rest[0] != '#') &&
		!strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:"+r.origin+"/") && !strings.HasPrefix(url, "about:")
}

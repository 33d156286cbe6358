package httpkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// request returns a request whose headers are "Name: value".
func request(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, http.NoBody)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestNegotiate: the most specific range decides, q=0 excludes, and of equal offers the
// first is chosen.
func TestNegotiate(t *testing.T) {
	offers := []string{"application/json", "application/x-ndjson", "text/csv"}
	for accept, want := range map[string]string{
		"":                                   "application/json",
		"*/*":                                "application/json",
		"text/*":                             "text/csv",
		"Text/CSV":                           "text/csv",
		"application/*, text/csv;q=0.9":      "application/json",
		"application/*;q=0.5, text/csv":      "text/csv",
		"application/json;q=0, */*":          "application/x-ndjson",
		"application/json;q=0, text/*":       "text/csv",
		"text/csv;q=0.1, */*;q=0.2":          "application/json",
		"application/json; charset=x; Q=0.3": "application/json",
		"text/csv;q=2":                       "",
		"text/csv;q=NaN":                     "",
		"text/html":                          "",
		"*/*;q=0":                            "",
	} {
		var headers []string
		if accept != "" {
			headers = strings.Split(accept, ", ")
		}
		if got, ok := Negotiate(headers, offers); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", accept, got, want)
		}
	}
}

// TestPreconditions holds If-Match and If-None-Match against a representation, in
// whatever coding the client got it, and against none.
func TestPreconditions(t *testing.T) {
	body := []byte("body")
	etag := ETag(body)
	coded := strings.TrimSuffix(etag, `"`) + `-gzip"`
	for _, c := range []struct {
		headers        []string
		exists, absent bool // whether it holds
	}{
		{nil, true, true},
		{[]string{"If-Match: *"}, true, false},
		{[]string{"If-Match: " + etag}, true, false},
		{[]string{`If-Match: "x"`, "If-Match: " + coded}, true, false},
		{[]string{"If-Match: W/" + etag}, false, false}, // strong comparison
		{[]string{`If-Match: "x"`}, false, false},
		{[]string{"If-None-Match: *"}, false, true},
		{[]string{`If-None-Match: "x", ` + coded}, false, true},
		{[]string{"If-None-Match: W/" + etag}, false, true},
		{[]string{`If-None-Match: "x"`}, true, true},
		{[]string{"If-Match: " + etag, "If-None-Match: " + etag}, false, false},
	} {
		r := request("PUT", "/", c.headers...)
		var failed *PreconditionError
		for exists, want := range map[bool]bool{true: c.exists, false: c.absent} {
			representation := func() ([]byte, error) { return body, nil }
			if !exists {
				representation = nil
			}
			if err := CheckPreconditions(r, representation); (err == nil) != want || err != nil && !errors.As(err, &failed) {
				t.Errorf("%v, exists %t: %v", c.headers, exists, err)
			}
		}
	}
	lost := errors.New("lost")
	unread := func() ([]byte, error) { return nil, lost }
	if err := CheckPreconditions(request("PUT", "/", "If-Match: *"), unread); !errors.Is(err, lost) {
		t.Error(err)
	}
}

// TestIfNoneMatch: a representation is known by the name that the client gives it.
func TestIfNoneMatch(t *testing.T) {
	for header, want := range map[string]struct {
		named string
		found bool
	}{
		"": {}, `"other"`: {}, `"tag-br"`: {},
		`"tag"`: {`"tag"`, true}, `"other", W/"tag-zstd"`: {`"tag-zstd"`, true}, "*": {"", true},
	} {
		r := request("GET", "/", "If-None-Match: "+header)
		if named, found := IfNoneMatch(r, `"first"`, `"tag"`); named != want.named || found != want.found {
			t.Errorf("%s: %s, %t", header, named, found)
		}
	}
}

// TestPageTokens: a token is of one list with one set of parameters, and text that is
// no token is refused.
func TestPageTokens(t *testing.T) {
	query := url.Values{"status": {"committed"}, "page_size": {"3"}}
	token, err := ReadPageToken("/plans", query)
	if err != nil {
		t.Fatal(err)
	}
	token.Before, token.Offset, token.After = 7, 8, "name"
	query.Set("page_token", *token.Text())
	query.Set("page_size", "5") // may change from page to page
	if again, err := ReadPageToken("/plans", query); err != nil || again != token {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := ReadPageToken("/operators", query); !errors.Is(err, ErrPageToken) {
		t.Errorf("another list: %v", err)
	}
	query.Set("status", "aborted")
	if _, err := ReadPageToken("/plans", query); !errors.Is(err, ErrPageToken) {
		t.Errorf("other parameters: %v", err)
	}
	token.Offset = -1
	for _, text := range []string{"x", "e30", "%", *token.Text()} {
		query := url.Values{"status": {"committed"}, "page_token": {text}}
		if first, err := ReadPageToken("/plans", query); !errors.Is(err, ErrPageToken) || first.Offset != 0 {
			t.Errorf("%s: %+v, %v", text, first, err)
		}
	}
}

// TestPageSizes: sizes have a default and a greatest, whatever the number.
func TestPageSizes(t *testing.T) {
	for text, want := range map[string]int{
		"": DefaultPageSize, "1": 1, "1000": MaxPageSize, "1001": MaxPageSize, strings.Repeat("9", 30): MaxPageSize,
	} {
		query := url.Values{"page_size": {text}, "skip": {"4"}}
		CoercePageSize(query)
		if got := PageSize(query); got != want || Skip(query) != 4 {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
	if Skip(url.Values{}) != 0 {
		t.Error("something is skipped unasked")
	}
}

// TestProblem: a problem is valid JSON whatever the client sent, has its headers and the
// id of the request, and does not list errors without end.
func TestProblem(t *testing.T) {
	p := &Problem{
		Status: http.StatusMethodNotAllowed, Code: "a_code", Detail: "what\xff", RetryAfter: 3, Close: true,
		Header: http.Header{"Allow": {"GET"}}, Extensions: map[string]any{"missing": []int{1, 2}},
	}
	p.At("/a\xff", "is bad")
	p.AtParameter("b", "is worse")
	for range 2 * MaxFieldErrors {
		p.At("", "again")
	}
	h := LogRequests(slog.New(slog.DiscardHandler))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"of what was to be answered"`)
		p.Write(w)
	}))
	mux := chi.NewRouter()
	mux.Handle("/", h)
	w := serve(mux, request("GET", "/", "X-Request-Id: an-id"))
	for name, want := range map[string]string{
		"Content-Type": "application/problem+json", "Allow": "GET", "Retry-After": "3", "Connection": "close", "ETag": "",
		"X-Request-Id": "an-id", "Content-Length": fmt.Sprint(w.Body.Len()),
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var got struct {
		ProblemDocument
		Missing []int `json:"missing"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "about:blank" || got.Title != "Method Not Allowed" || got.Status != 405 || w.Code != 405 ||
		got.Code != "a_code" || got.Detail != "what\uFFFD" || got.RequestID != "an-id" ||
		len(got.Errors) != MaxFieldErrors || len(got.Missing) != 2 {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if e := got.Errors; *e[0].Pointer != "/a\uFFFD" || e[0].Parameter != nil || *e[1].Parameter != "b" ||
		e[2].Pointer != nil {
		t.Errorf("%s", w.Body)
	}
	if new(Problem).OrNil() != nil || p.OrNil() == nil {
		t.Error("a problem is one as soon as something was added")
	}
}

// TestErrorHandler: an error before the answer is a problem, one within it cuts the
// answer, and a panic is an error; failures of the server are logged unless they are
// already.
func TestErrorHandler(t *testing.T) {
	refused, failed, known := errors.New("refused"), errors.New("failed"), errors.New("known")
	for name, c := range map[string]struct {
		handle func(w http.ResponseWriter) error
		status int // 0: the answer is cut
		logged bool
	}{
		"nothing":  {func(w http.ResponseWriter) error { w.WriteHeader(http.StatusNoContent); return nil }, 204, false},
		"refusal":  {func(http.ResponseWriter) error { return refused }, 422, false},
		"failure":  {func(http.ResponseWriter) error { return failed }, 500, true},
		"known":    {func(http.ResponseWriter) error { return known }, 503, false},
		"panic":    {func(http.ResponseWriter) error { panic("of the handler") }, 500, true},
		"within":   {func(w http.ResponseWriter) error { _, _ = io.WriteString(w, "half"); return failed }, 0, true},
		"aborting": {func(http.ResponseWriter) error { panic(http.ErrAbortHandler) }, 0, false},
	} {
		var log bytes.Buffer
		e := ErrorHandler{Log: slog.New(slog.NewTextHandler(&log, nil)), ProblemOf: func(err error) *Problem {
			switch {
			case errors.Is(err, refused):
				return &Problem{Status: 422}
			case errors.Is(err, known):
				return &Problem{Status: 503, Logged: true}
			}
			return &Problem{Status: 500}
		}}
		w, cut := httptest.NewRecorder(), false
		func() {
			defer func() { cut = recover() == http.ErrAbortHandler }() //nolint:errorlint // what net/http compares
			e.Handle(w, request("GET", "/"), c.handle)
		}()
		if cut != (c.status == 0) || !cut && w.Code != c.status || (log.Len() > 0) != c.logged {
			t.Errorf("%s: status %d, cut %t, logged %s", name, w.Code, cut, &log)
		}
	}
}

// TestBursts: a failure that comes again and again is logged once a minute, with how
// often it came; another one, and the same panic elsewhere, are not held back by it.
func TestBursts(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	e := ErrorHandler{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now },
		ProblemOf: func(error) *Problem { return &Problem{Status: 500} },
	}
	fail := func(err error) {
		e.Handle(httptest.NewRecorder(), request("GET", "/"), func(http.ResponseWriter) error { return err })
	}
	step := func(want ...string) {
		t.Helper()
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if log.Len() == 0 {
			lines = nil
		}
		ok := len(lines) == len(want)
		for i := range want {
			ok = ok && strings.HasSuffix(lines[i], want[i])
		}
		if !ok {
			t.Errorf("logged %q, want %q", lines, want)
		}
		log.Reset()
	}
	full, broken := errors.New("full"), errors.New("broken")
	fail(full)
	step("error=full status=500")
	for range 10 {
		fail(full)
	}
	step()
	fail(broken)
	step("error=broken status=500")
	now = now.Add(time.Minute)
	fail(full)
	step("error=full status=500 more_of_these=10")
	now = now.Add(time.Minute)
	fail(full)
	step("error=full status=500")
	for i := range 2 * maxBursts {
		fail(fmt.Errorf("one of many: %d", i))
	}
	if n := len(e.bursts.since); n > maxBursts {
		t.Errorf("%d failures are remembered", n)
	}
	log.Reset()
	panics := func() {
		e.Handle(httptest.NewRecorder(), request("GET", "/"), func(http.ResponseWriter) error { panic("of the handler") })
	}
	panics()
	log.Reset()
	func() { panics() }() // with another stack
	step()
}

// TestStrictTransport: who came over TLS is to come over TLS again, but not to the names
// that all servers of a machine share.
func TestStrictTransport(t *testing.T) {
	handler := SecureHeaders(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		url  string
		told bool
	}{
		{"https://plans.example/", true}, {"https://plans.example:8443/", true}, {"https://192.0.2.1/", true},
		{"http://plans.example/", false}, {"https://localhost:8443/", false}, {"https://127.0.0.1/", false},
		{"https://[::1]:8443/", false}, {"https://LOCALHOST/", false},
	} {
		w := serve(handler, httptest.NewRequest(http.MethodGet, c.url, nil))
		if got := w.Header().Get("Strict-Transport-Security"); (got == "max-age=31536000") != c.told {
			t.Errorf("%s: %q", c.url, got)
		}
	}
}

// TestRequests: each request is counted, traced and logged by its route, without the
// client's words; probes are neither traced nor logged.
func TestRequests(t *testing.T) {
	var log bytes.Buffer
	recorder, registry := tracetest.NewSpanRecorder(), prometheus.NewRegistry()
	logger := RequestLogger(slog.New(slog.NewTextHandler(&log, nil)))
	mux := chi.NewRouter()
	mux.Use(TraceRequests(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), "/probe"),
		LogRequests(logger, "/probe"), MeasureRequests(registry, "test"), SecureHeaders)
	mux.Get("/things/{name}", func(w http.ResponseWriter, r *http.Request) {
		NameSpan(r.Context(), "GET", "/things/{name}")
		SetCaller(r.Context(), "me")
		logger.InfoContext(r.Context(), "inside")
		w.WriteHeader(http.StatusOK)
	})
	mux.Get("/probe", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for range 2 {
		w := serve(mux, request("GET", "/things/secret?secret", "X-Request-Id: own.id"))
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v", w.Header())
		}
	}
	serve(mux, request("GET", "/probe"))
	serve(mux, request("SECRET", "/secret"))
	for _, id := range []string{"", "not\tfit", strings.Repeat("x", maxRequestID+1)} {
		w := serve(mux, request("GET", "/probe", "X-Request-Id: "+id))
		if got := w.Header().Get("X-Request-Id"); got == id || got == "" {
			t.Errorf("%q has the id %q", id, got)
		}
	}
	text := log.String()
	if strings.Contains(strings.ToLower(text), "secret") || strings.Contains(text, "probe") {
		t.Errorf("the log tells what it must not:\n%s", text)
	}
	for part, want := range map[string]int{"msg=request": 3, "request_id=own.id": 4, "trace_id=": 5, "caller=me": 2} {
		if strings.Count(text, part) != want {
			t.Errorf("the log has not %d times %s:\n%s", want, part, text)
		}
	}
	if spans := recorder.Ended(); len(spans) != 3 || spans[0].Name() != "GET /things/{name}" ||
		!containsAttribute(spans[0].Attributes(), attribute.String("http.route", "/things/{name}")) {
		t.Errorf("%d spans", len(spans))
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "test_http_requests_total" {
			continue
		}
		var found []string
		for _, m := range f.Metric {
			labels := m.Label[0].GetValue() + m.Label[1].GetValue() + m.Label[2].GetValue()
			found = append(found, fmt.Sprint(m.Counter.GetValue(), labels))
		}
		if got := strings.Join(found, "; "); got != "4GET/probe200; 2GET/things/{name}200; 1othernone405" {
			t.Errorf("counted %s", got)
		}
	}
	if len(families) != 3 {
		t.Errorf("%d metrics", len(families))
	}
}

func containsAttribute(list []attribute.KeyValue, want attribute.KeyValue) bool {
	for _, a := range list {
		if a == want {
			return true
		}
	}
	return false
}

// TestRequestParts: the token, the host and the methods are read as the standards have
// them.
func TestRequestParts(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "Bearer abc": "abc", "bearer   abc": "abc", "Basic abc": "", "Bearer": "", "Bearerabc": "",
	} {
		if got := BearerToken(request("GET", "/", "Authorization: "+header)); got != want {
			t.Errorf("%q has the token %q", header, got)
		}
	}
	if got := BearerToken(request("GET", "/", "Authorization: Bearer a", "Authorization: Bearer b")); got != "" {
		t.Errorf("two tokens are %q", got)
	}
	names := []string{"planner.example", "::1"}
	for host, want := range map[string]bool{
		"planner.example": true, "Planner.Example:8080": true, "[::1]:80": true, "[::1]": true,
		"evil.example": false, "": false,
	} {
		r := request("GET", "/")
		r.Host = host
		if HostAllowed(r, names) != want || !HostAllowed(r, nil) {
			t.Errorf("%q is allowed: %t", host, !want)
		}
	}
	mux := chi.NewRouter()
	mux.Get("/a", func(http.ResponseWriter, *http.Request) {})
	mux.Delete("/a", func(http.ResponseWriter, *http.Request) {})
	if got := AllowedMethods(mux, "/a"); got != "GET, HEAD, DELETE" || AllowedMethods(mux, "/b") != "" {
		t.Errorf("methods %s", got)
	}
}

// TestSlowBody: a body that stalls fails as one that is too slow, and one that keeps the
// pace is read however long it takes.
func TestSlowBody(t *testing.T) {
	pace := Pace{BodyTimeout: 50 * time.Millisecond}.WithDefaults()
	read := make(chan error, 1)
	s := httptest.NewServer(pace.Enforce(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})))
	defer s.Close()
	send := func(body io.Reader) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.Client().Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		_ = err // the server may hang up before it answers
		return <-read
	}
	if err := send(strings.NewReader("whole")); err != nil {
		t.Errorf("a body in time: %v", err)
	}
	stalled, w := io.Pipe()
	defer w.Close()
	if err := send(stalled); !errors.Is(err, ErrBodyTooSlow) {
		t.Errorf("a body that stalls: %v", err)
	}
}

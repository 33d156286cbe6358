package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// request is one request, before it is sent.
type request struct {
	id     string // by which the server's log knows it
	op     *operation
	method string
	// path are the values of the path's parameters.
	path   []pair
	query  []pair
	header []pair
	body   []byte
	// lie is how it is wrong as bytes on a connection; empty: it is not.
	lie string
	// tail is behind the query as it stands.
	tail string
	// stray is a path that is sent instead of the operation's.
	stray string
}

type pair struct{ name, value string }

func (o *operation) parameter(in, name string) *openapi3.Parameter {
	for _, p := range o.parameters {
		if p.In == in && p.Name == name {
			return p
		}
	}
	return nil
}

// put replaces a value or adds it.
func put(list []pair, name, value string) []pair {
	if i := slices.IndexFunc(list, func(p pair) bool { return p.name == name }); i >= 0 {
		list[i].value = value
		return list
	}
	return append(list, pair{name, value})
}

func (r *request) set(name, value string)   { r.header = put(r.header, name, value) }
func (r *request) ask(name, value string)   { r.query = put(r.query, name, value) }
func (r *request) place(name, value string) { r.path = put(r.path, name, value) }

// target is the path and query of the request.
func (r *request) target() string {
	path := r.stray
	if path == "" {
		path = r.op.path
		for _, p := range r.path {
			path = strings.ReplaceAll(path, "{"+p.name+"}", url.PathEscape(p.value))
		}
	}
	var b strings.Builder
	b.WriteString(path)
	for i, p := range r.query {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value))
	}
	return b.String() + r.tail
}

// build makes the request ready to be sent to where base is.
func (r *request) build(ctx context.Context, base string) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, r.method, base+r.target(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for _, h := range r.header {
		if h.name == "Host" {
			out.Host = h.value
		}
		out.Header.Add(h.name, h.value)
	}
	out.Header.Set("X-Request-Id", r.id)
	return out, nil
}

// command is the request as a command line.
func (r *request) command(base string) string {
	var b strings.Builder
	if len(r.body) > 0 {
		fmt.Fprintf(&b, "printf '%s' | ", octal(r.body))
	}
	fmt.Fprintf(&b, "curl -isS --path-as-is -X %s '%s'", r.method, strings.ReplaceAll(base+r.target(), "'", "%27"))
	for _, h := range r.header {
		fmt.Fprintf(&b, " -H $'%s: %s'", h.name, octal([]byte(h.value)))
	}
	if len(r.body) > 0 {
		b.WriteString(" --data-binary @-")
	}
	if r.lie != "" {
		fmt.Fprintf(&b, "   # over bare TCP, with %s", r.lie)
	}
	return b.String()
}

// octal writes bytes for printf in single quotes.
func octal(text []byte) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '%':
			b.WriteString("%%")
		case c < ' ' || c > '~' || c == '\\' || c == '\'':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// next makes a request.
func (m *maker) next(id string) *request {
	if m.last != nil && m.chance(4) {
		again := *m.last
		again.id = id
		return &again
	}
	r := &request{id: id, op: m.choose()}
	m.last = r
	r.method = r.op.method
	m.parameters(r)
	if len(r.op.media) > 0 && (r.op.RequestBody.Value.Required || m.chance(85)) && !m.chance(2) {
		m.fill(r, one(m, r.op.media))
	}
	for m.chance(12) {
		m.oddHeader(r)
	}
	m.stray(r)
	return r
}

// choose chooses an operation by weight.
func (m *maker) choose() *operation {
	left := m.IntN(m.contract.weight)
	for _, o := range m.contract.operations {
		if left -= o.weight; left < 0 {
			return o
		}
	}
	return m.contract.operations[0]
}

// parameters gives the request those of the path, and some of the others.
func (m *maker) parameters(r *request) {
	often := 30
	if len(r.op.media) > 0 {
		often = 4 // most of them belong to formats of rows; see intoQuery
	}
	for _, p := range r.op.parameters {
		if p.In != "path" && !p.Required && !m.chance(often) {
			continue
		}
		value := m.make(p.Schema.Value, p.Name, depthLimit-1)
		if m.chance(6) {
			value = m.twist(value)
		}
		text := plain(value)
		switch p.In {
		case "path":
			if text == "" || text == "." || text == ".." {
				text = "0"
			}
			r.place(p.Name, text)
		case "query":
			r.ask(p.Name, text)
		case "header":
			r.set(p.Name, printable(text))
		}
	}
	if m.chance(2) {
		r.query = append(r.query, one(m, []pair{{"unknown", "1"}, {"", ""}, {"interval", "1"}, {"page_size", "x"}, {"a[b]", "\x00"}, {"key", "\xff"}}))
	}
}

// printable leaves out of a header what a client would not send.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, text)
}

// oddHeader adds a header that few clients send.
func (m *maker) oddHeader(r *request) {
	tag, _ := m.memory.recall(m.Rand, "ETag").(string)
	h := one(m, []pair{
		{"Accept", "text/csv"}, {"Accept", mediaNDJSON}, {"Accept", "image/png"}, {"Accept", "*/*;q=0"}, {"Accept", ";;q=x,/"}, {"Accept", "application/*;q=0.1, text/csv"},
		{"Accept", "application/problem+json"}, {"Accept-Encoding", "gzip"}, {"Accept-Encoding", "zstd"}, {"Accept-Encoding", "gzip;q=0, zstd;q=1"}, {"Accept-Encoding", "*"},
		{"Accept-Encoding", "identity;q=0"}, {"Accept-Encoding", "br, ;;"}, {"If-Match", tag}, {"If-Match", "*"}, {"If-Match", `W/"1"`}, {"If-None-Match", tag},
		{"If-None-Match", "*"}, {"If-None-Match", `"`}, {"Idempotency-Key", fmt.Sprint("key-", m.IntN(9))}, {"Idempotency-Key", strings.Repeat("i", 300)},
		{"Plannerd-Row-Count", "0"}, {"Plannerd-Row-Count", "-1"}, {"Plannerd-Row-Count", "9223372036854775808"}, {"Plannerd-Row-Count", "20000000"},
		{"Origin", "http://example.com"}, {"Sec-Fetch-Site", "cross-site"}, {"Host", "example.com"}, {"Authorization", "Bearer x"}, {"Authorization", "Basic"},
		{"Content-Type", "application/json; charset=latin1"}, {"Content-Type", "text/csv; header=absent"}, {"Content-Type", "x/y"}, {"Content-Type", ";"}, {"Content-Type", ""},
		{"Range", "bytes=0-1"}, {"Expect", "100-continue"}, {"X-Forwarded-For", "1.2.3.4"}, {"X-HTTP-Method-Override", "DELETE"}, {"Prefer", "wait=1"},
	})
	r.set(h.name, h.value)
}

// stray makes the method or the path another one, or the bytes wrong, at times.
func (m *maker) stray(r *request) {
	switch m.IntN(60) {
	case 0:
		r.method = one(m, []string{"HEAD", "OPTIONS", "PATCH", "TRACE", "GET", "POST", "PUT", "DELETE", "FUZZ"})
	case 1:
		r.stray = one(m, []string{"/", "/v1", "/v1/", "//", "/v2/operators", "/v1/operators/", "/v1//operators", "/v1/operators/%2e%2e", "/v1/plans/%00", "/V1/operators", "/docs/", "/docs/../serve.go", "/favicon.ico"})
	case 2:
		r.lie = one(m, lies)
	case 3:
		if len(r.query) > 0 {
			r.tail = one(m, []string{"&", "&&=", "&%zz", ";a=b", "&a=%ff", "#"})
		} else {
			r.tail = one(m, []string{"?", "?%zz", "?a;b", "?=", "?%00"})
		}
	case 4:
		if r.method == http.MethodGet {
			r.method = http.MethodHead
		}
	}
}

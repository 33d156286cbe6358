package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// fault is what is wrong with an answer. Faults of one kind are the same finding.
type fault struct{ kind, detail string }

func faulty(kind, detail string, args ...any) *fault {
	return &fault{kind, fmt.Sprintf(detail, args...)}
}

// check holds an answer against the contract. It unpacks its body.
func (c *contract) check(r *request, a *answer) *fault {
	switch {
	case a.closed:
		return nil
	case a.status >= 500 && a.status != http.StatusServiceUnavailable:
		if r.lie == "HTTP/3.7" && a.status == http.StatusHTTPVersionNotSupported {
			return nil
		}
		return faulty(fmt.Sprint("status ", a.status), "%s", excerpt(a.body))
	}
	if r.lie != "" && !strings.Contains(a.header.Get("Content-Type"), "json") && a.header.Get("X-Content-Type-Options") == "" {
		return nil // by the server's HTTP, before there was a request
	}
	if f := a.unpack(); f != nil {
		return f
	}
	head := r.method == http.MethodHead
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if len(a.body) > 0 && (media == mediaJSON || media == "application/problem+json") && !jsontext.Value(a.body).IsValid() {
		return faulty("no JSON", "%s", excerpt(a.body))
	}
	if head && len(a.body) > 0 {
		return faulty("a body for HEAD", "%s", excerpt(a.body))
	}
	if a.status >= 400 && !head {
		if f := c.problem(a, media); f != nil {
			return f
		}
	}
	o := r.op.served(r.method)
	switch {
	case r.stray != "": // it may be the path of another operation
		return nil
	case o == nil:
		return c.unrouted(a)
	}
	if !documented(o, a.status) {
		return faulty(fmt.Sprintf("status %d is not documented", a.status), "%s", excerpt(a.body))
	}
	if head || media == "application/yaml" { // this is the contract, and long
		return nil
	}
	return c.fits(r, a, o, media)
}

// unrouted checks what answers where there is no operation.
func (c *contract) unrouted(a *answer) *fault {
	if a.status < 400 { // another spelling of a path that there is
		return nil
	}
	if !slices.Contains([]int{400, 401, 403, 404, 405}, a.status) {
		return faulty(fmt.Sprintf("status %d without an operation", a.status), "%s", excerpt(a.body))
	}
	return nil
}

// problem checks the form that all refusals have.
func (c *contract) problem(a *answer, media string) *fault {
	if media != "application/problem+json" {
		return faulty("no problem+json", "status %d, %s: %s", a.status, media, excerpt(a.body))
	}
	tree, ok := object(a.body)
	if !ok {
		return faulty("no problem+json", "%s", excerpt(a.body))
	}
	if err := c.doc.Components.Schemas["Problem"].Value.VisitJSON(tree, openapi3.VisitAsResponse()); err != nil {
		return faulty("the problem breaks its schema", "%v: %s", err, excerpt(a.body))
	}
	switch {
	case tree["status"] != float64(a.status), tree["title"] != http.StatusText(a.status), tree["detail"] == "":
		return faulty("the problem does not fit its status", "status %d: %s", a.status, excerpt(a.body))
	case tree["code"] == "internal":
		return faulty("code internal", "%s", excerpt(a.body))
	case tree["request_id"] != a.header.Get("X-Request-Id"):
		return faulty("the problem has not the id of its request", "%q: %s", a.header.Get("X-Request-Id"), excerpt(a.body))
	}
	return nil
}

// fits holds the body and the headers against what the operation says of the status.
func (c *contract) fits(r *request, a *answer, o *openapi3.Operation, media string) *fault {
	out, err := r.build(context.Background(), "http://127.0.0.1")
	if err != nil {
		return nil
	}
	header := a.header.Clone()
	header.Del("Content-Encoding") // unpacked
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: out, Route: &routers.Route{Spec: c.doc, Path: r.op.path, PathItem: r.op.item, Method: o.OperationID, Operation: o},
		},
		Status: a.status, Header: header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\nSchema:")
		return faulty(fmt.Sprintf("status %d breaks the contract", a.status), "%s: %s", reason, excerpt(a.body))
	}
	if media == mediaNDJSON {
		for line := range bytes.Lines(a.body) {
			if line[len(line)-1] != '\n' || !jsontext.Value(line).IsValid() {
				return faulty("a line of NDJSON is no JSON", "%s", excerpt(line))
			}
		}
	}
	return nil
}

// unpack undoes the Content-Encoding of an answer.
func (a *answer) unpack() *fault {
	if len(a.body) == 0 {
		return nil
	}
	var (
		plain []byte
		err   error
	)
	switch encoding := a.header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return nil
	case "gzip":
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(a.body)); err == nil {
			plain, err = io.ReadAll(z)
		}
	case "zstd":
		plain, err = zstdDecoder.DecodeAll(a.body, nil)
	default:
		return faulty("an encoding that nobody asked for", "%s", encoding)
	}
	if err != nil {
		return faulty("an answer does not unpack", "%s: %v", a.header.Get("Content-Encoding"), err)
	}
	a.body = plain
	return nil
}

// zstdDecoder has no state but its options.
var zstdDecoder, _ = zstd.NewReader(nil) // it refuses options only

// excerpt is the beginning of a text.
func excerpt(text []byte) string {
	const most = 600
	if len(text) > most {
		return fmt.Sprintf("%q… (%d bytes)", text[:most], len(text))
	}
	return string(text)
}

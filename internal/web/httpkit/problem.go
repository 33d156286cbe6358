package httpkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-json-experiment/json"
)

// MaxFieldErrors is the most entries of a problem's list of errors; the rest is
// left out of the answer.
const MaxFieldErrors = 100

// Problem is an answer that is an error, as application/problem+json (RFC 9457).
type Problem struct {
	Status int
	// Code is the kind of problem, to program against.
	Code string
	// Detail is a sentence for people.
	Detail string
	// Errors say what is wrong with single fields.
	Errors []FieldError
	// Extensions are further members of the document.
	Extensions map[string]any
	// Header holds further header fields of the answer.
	Header http.Header
	// RetryAfter, unless it is 0, is when to try again, in seconds.
	RetryAfter int
	// Close ends the connection after the answer, because it is of no more use.
	Close bool
	// Logged says that the log tells of its cause already.
	Logged bool
}

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	// Pointer is the place in the body, as a JSON pointer (RFC 6901). The one of the
	// whole body, "", is left out of the answer.
	Pointer *string `json:"pointer,omitempty"`
	// Parameter is the name of a path, query or header parameter.
	Parameter *string `json:"parameter,omitempty"`
	// Line is the line of the body, from 1; 0: it is not known, or the whole body.
	Line   int    `json:"line,omitzero"`
	Detail string `json:"detail"`
}

// Malformed is the problem of a request that cannot be read.
func Malformed(detail string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "malformed", Detail: detail}
}

// Invalid is the problem of a request that can be read, but not be done.
func Invalid() *Problem {
	const detail = "The request breaks the rules of the contract; see errors."
	return &Problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: detail}
}

// TooLarge is the problem of a request over a limit.
func TooLarge(detail string) *Problem {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Detail: detail}
}

// Unsupported is the problem of a body in a format that nobody reads here.
func Unsupported(detail string) *Problem {
	return &Problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Detail: detail}
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// At adds what is wrong with one field of the body.
func (p *Problem) At(pointer, detail string) {
	p.Errors = append(p.Errors, FieldError{Pointer: &pointer, Detail: detail})
}

// AtLine adds what is wrong with one field of the body, which is on that line.
func (p *Problem) AtLine(pointer string, line int, detail string) {
	p.Errors = append(p.Errors, FieldError{Pointer: &pointer, Line: line, Detail: detail})
}

// AtParameter adds what is wrong with one parameter.
func (p *Problem) AtParameter(name, detail string) {
	p.Errors = append(p.Errors, FieldError{Parameter: &name, Detail: detail})
}

// With is [Problem.At] for one expression.
func (p *Problem) With(pointer, detail string) *Problem {
	p.At(pointer, detail)
	return p
}

// WithParameter is [Problem.AtParameter] for one expression.
func (p *Problem) WithParameter(name, detail string) *Problem {
	p.AtParameter(name, detail)
	return p
}

// OrNil returns p if anything was added to its errors.
func (p *Problem) OrNil() error {
	if len(p.Errors) == 0 {
		return nil
	}
	return p
}

// ProblemDocument is the body of a [Problem].
type ProblemDocument struct {
	Type       string         `json:"type"`
	Title      string         `json:"title"`
	Status     int            `json:"status"`
	Detail     string         `json:"detail"`
	Code       string         `json:"code"`
	RequestID  string         `json:"request_id,omitzero"`
	Errors     []FieldError   `json:"errors,omitempty"`
	Extensions map[string]any `json:",embed"` //nolint:revive // an option of go-json-experiment
}

// Document returns the body of the problem. It is valid UTF-8, and its list of
// errors is not too long.
func (p *Problem) Document() ProblemDocument {
	valid := func(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
	out := ProblemDocument{
		Type: "about:blank", Title: http.StatusText(p.Status), Status: p.Status,
		Detail: valid(p.Detail), Code: p.Code, Extensions: p.Extensions,
	}
	for _, e := range p.Errors[:min(len(p.Errors), MaxFieldErrors)] {
		e.Detail = valid(e.Detail)
		if e.Pointer != nil {
			pointer := valid(*e.Pointer)
			e.Pointer = &pointer
		}
		out.Errors = append(out.Errors, e)
	}
	return out
}

// Write answers with the problem.
func (p *Problem) Write(w http.ResponseWriter) {
	h := w.Header()
	h.Del("ETag")
	maps.Copy(h, p.Header)
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Close {
		h.Set("Connection", "close")
	}
	document, status := p.Document(), p.Status
	document.RequestID = h.Get(requestIDHeader)
	body, err := json.Marshal(document)
	if err != nil {
		status = http.StatusInternalServerError
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,` +
			`"detail":"The service failed.","code":"internal"}`)
	}
	WriteBody(w, status, "application/problem+json", body)
}

// ErrorHandler answers requests whose handlers fail.
type ErrorHandler struct {
	// Log gets failures of the server as errors, one that comes again and again once a
	// minute.
	Log *slog.Logger
	// ProblemOf returns what an error is answered with.
	ProblemOf func(error) *Problem
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time

	bursts bursts
}

// logFailure logs what failed on the side of the server.
func (e *ErrorHandler) logFailure(r *http.Request, status int, err error) {
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	level := slog.LevelError
	failure, _, _ := strings.Cut(err.Error(), "\n") // without the stack of a panic
	more, begins := e.bursts.begins(failure, now())
	if !begins {
		level = slog.LevelDebug
	}
	args := []any{"method", r.Method, "path", r.URL.Path, "error", err, "status", status}
	if more > 0 {
		args = append(args, "more_of_these", more)
	}
	e.Log.Log(r.Context(), level, "request failed", args...)
}

// Handle calls handle and answers with its error, or with its panic. An answer that
// has begun is cut instead, so that the client sees it fail. So is the answer to a
// client that hung up: it may have closed its side of the connection only, and must
// not take an empty answer for success.
func (e *ErrorHandler) Handle(w http.ResponseWriter, r *http.Request, handle func(http.ResponseWriter) error) {
	wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
	fail := func(err error, gone bool) {
		p := e.ProblemOf(err)
		log := func(message string) {
			e.Log.DebugContext(r.Context(), message, "method", r.Method, "path", r.URL.Path, "error", err)
		}
		switch {
		case gone:
			log("client hung up")
		case p.Logged:
			log("request failed as the log tells already")
		case p.Status >= http.StatusInternalServerError:
			e.logFailure(r, p.Status, err)
		}
		if gone || wrapped.Status() != 0 {
			panic(http.ErrAbortHandler)
		}
		p.Write(wrapped)
	}
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()), false)
		}
	}()
	if err := handle(wrapped); err != nil {
		// Once the answer has begun, only the client can have broken it off.
		fail(err, ClientGone(r) && (errors.Is(err, context.Canceled) || wrapped.Status() != 0))
	}
}

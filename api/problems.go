package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/internal/admission"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// maxFieldErrors is the most entries of a problem's errors.
const maxFieldErrors = 100

// problem is an answer that is an error, as application/problem+json.
type problem struct {
	status     int
	code       wire.Code
	detail     string
	errors     []wire.FieldError
	retryAfter int     // seconds; 0: no Retry-After
	allow      string  // for 405
	challenge  string  // for 401
	missing    []int32 // instances, for reports_missing
	hangUp     bool    // the connection is of no more use
}

func (p *problem) Error() string { return string(p.code) + ": " + p.detail }

// at adds what is wrong with one field of the body.
func (p *problem) at(pointer, detail string) {
	p.errors = append(p.errors, wire.FieldError{Pointer: &pointer, Detail: detail})
}

// atParameter adds what is wrong with one parameter.
func (p *problem) atParameter(name, detail string) {
	p.errors = append(p.errors, wire.FieldError{Parameter: &name, Detail: detail})
}

// with is at, for one expression.
func (p *problem) with(pointer, detail string) *problem {
	p.at(pointer, detail)
	return p
}

// withParameter is atParameter, for one expression.
func (p *problem) withParameter(name, detail string) *problem {
	p.atParameter(name, detail)
	return p
}

// orNil returns p if anything was added to it.
func (p *problem) orNil() error {
	if len(p.errors) == 0 {
		return nil
	}
	return p
}

func malformed(detail string) *problem {
	return &problem{status: http.StatusBadRequest, code: wire.CodeMalformed, detail: detail}
}

func invalid() *problem {
	return &problem{status: http.StatusUnprocessableEntity, code: wire.CodeInvalid, detail: "The request breaks the rules of the contract; see errors."}
}

func conflict(code wire.Code, detail string) *problem {
	return &problem{status: http.StatusConflict, code: code, detail: detail}
}

func tooLarge(detail string) *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, code: wire.CodeTooLarge, detail: detail}
}

// subject is what an error of the store is about.
type subject struct {
	code wire.Code // when it is not found
	name string
	err  error
}

func (s *subject) Error() string { return s.name + ": " + s.err.Error() }
func (s *subject) Unwrap() error { return s.err }

func aboutOperator(name string, err error) error {
	return about(wire.CodeOperatorNotFound, "operator "+strconv.Quote(name), err)
}

func aboutPlan(id string, err error) error {
	return about(wire.CodePlanNotFound, "plan "+strconv.Quote(id), err)
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

func aboutVersion(operator string, version int64, err error) error {
	return about(wire.CodeVersionNotFound, fmt.Sprintf("version %d of operator %q", version, operator), err)
}

func about(code wire.Code, name string, err error) error {
	if err == nil {
		return nil
	}
	return &subject{code: code, name: name, err: err}
}

// problemOf is the one place where errors become HTTP.
func problemOf(err error) *problem {
	var (
		known  *problem
		about  *subject
		input  *planner.InputError
		body   *statsio.Error
		length *http.MaxBytesError
		memory *admission.ExceededError
	)
	if p := idempotencyProblem(err); p != nil {
		return p
	}
	what := "It"
	if errors.As(err, &about) {
		what = "The " + about.name
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &body):
		return bodyProblem(body)
	case errors.As(err, &input):
		return invalid().with("/"+input.Field, input.Detail)
	case errors.As(err, &length):
		return tooLarge(fmt.Sprintf("The body is longer than %d bytes.", length.Limit))
	case errors.As(err, &memory):
		return memoryProblem(memory)
	case errors.Is(err, admission.ErrFull):
		return overBudget()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow()
	case errors.Is(err, store.ErrNotFound) && about != nil:
		return &problem{status: http.StatusNotFound, code: about.code, detail: what + " does not exist."}
	case errors.Is(err, store.ErrPurged):
		return &problem{status: http.StatusGone, code: wire.CodePurged, detail: what + " is no longer kept."}
	case errors.Is(err, store.ErrIntervalPlanned):
		return conflict(wire.CodeIntervalPlanned, "The interval has a plan that was made of other statistics or under another configuration.")
	case errors.Is(err, store.ErrFenced):
		return conflict(wire.CodeFenced, "An engine with a higher epoch has taken over.")
	case errors.Is(err, store.ErrIntervalOutdated):
		return conflict(wire.CodeIntervalOutdated, "A newer interval was planned already.")
	case errors.Is(err, store.ErrBaseChanged):
		return conflict(wire.CodeBaseChanged, "The committed routing table is no longer the one that the plan changes.")
	case errors.Is(err, store.ErrConfigurationChanged):
		return conflict(wire.CodeConfigurationChanged, "The operator's configuration changed while planning; try again.")
	case errors.Is(err, store.ErrReportsChanged):
		return conflict(wire.CodeReportsChanged, "Reports of the interval keep coming while planning; try again.")
	case errors.Is(err, store.ErrPlanInFlight):
		return conflict(wire.CodePlanInFlight, "Another plan of the operator is being carried out.")
	case errors.Is(err, store.ErrPlanPending):
		return conflict(wire.CodePlanPending, "Another plan of the operator waits for approval.")
	case errors.Is(err, store.ErrNotAwaited):
		return conflict(wire.CodeNotAwaited, "The migrations of the plan do not affect every one of the instances.")
	case errors.Is(err, store.ErrRollbackRequired):
		return conflict(wire.CodeRollbackRequired, `The plan is being carried out: take the state back first, and say "rolled_back": true.`)
	case errors.Is(err, store.ErrTransition):
		return conflict(wire.CodeTransitionNotAllowed, "The status of the plan does not allow this.")
	case errors.Is(err, store.ErrUnresolved):
		return conflict(wire.CodeResolutionRequired, "Which keys the plan's classes are is not known yet.")
	case errors.Is(err, store.ErrUnavailable):
		return &problem{status: http.StatusServiceUnavailable, code: wire.CodeUnavailable, detail: "The store cannot be reached or is not migrated.", retryAfter: 5}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{status: http.StatusServiceUnavailable, code: wire.CodeBusy, detail: "The request ran out of time.", retryAfter: 1}
	default:
		return &problem{status: http.StatusInternalServerError, code: wire.CodeInternal, detail: "The service failed; its log says why."}
	}
}

// bodyProblem turns what a decoder of statistics refused into a problem.
func bodyProblem(e *statsio.Error) *problem {
	var p *problem
	switch e.Kind {
	case statsio.Malformed:
		p = malformed("The body is not well-formed.")
	case statsio.TooLarge:
		p = tooLarge("The body is over a limit.")
	default:
		p = invalid()
	}
	for _, one := range e.Problems {
		p.at(one.Pointer, one.Detail)
	}
	return p
}

// write answers with the problem.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Del("ETag")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.challenge != "" {
		h.Set("WWW-Authenticate", p.challenge)
	}
	if p.hangUp {
		h.Set("Connection", "close")
	}
	document := p.document()
	if id := h.Get(requestID); id != "" {
		document.RequestId = &id
	}
	body, err := json.Marshal(document)
	if err != nil {
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"The service failed.","code":"internal"}`)
		p.status = http.StatusInternalServerError
	}
	writeBody(w, p.status, "application/problem+json", body)
}

// document returns the problem as it stands in an answer.
func (p *problem) document() wire.Problem {
	out := wire.Problem{Type: "about:blank", Title: http.StatusText(p.status), Status: int32(p.status), Detail: p.detail, Code: p.code}
	if p.missing != nil {
		out.Missing = &p.missing
	}
	if len(p.errors) > 0 {
		list := p.errors[:min(len(p.errors), maxFieldErrors)]
		for i := range list {
			list[i].Detail = strings.ToValidUTF8(list[i].Detail, "\uFFFD")
			if list[i].Pointer != nil {
				valid := strings.ToValidUTF8(*list[i].Pointer, "\uFFFD")
				list[i].Pointer = &valid
			}
		}
		out.Errors = &list
	}
	out.Detail = strings.ToValidUTF8(out.Detail, "\uFFFD")
	return out
}

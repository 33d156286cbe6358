package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/dustin/go-humanize"

	"plannerd/internal/input"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/web/admission"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

func newProblem(status int, code wire.Code, detail string) *httpkit.Problem {
	return &httpkit.Problem{Status: status, Code: string(code), Detail: detail}
}

// retryable is a problem that goes away by itself within about the given number of
// seconds.
func retryable(status int, code wire.Code, detail string, seconds int) *httpkit.Problem {
	p := newProblem(status, code, detail)
	p.RetryAfter = seconds
	return p
}

// notConflicts are the statuses of refusals that are no conflict with what there is.
var notConflicts = map[refusal.Reason]int{
	refusal.Busy:                 http.StatusServiceUnavailable,
	refusal.IdempotencyKeyReused: http.StatusUnprocessableEntity,
	refusal.IntervalNotFound:     http.StatusNotFound,
	refusal.Invalid:              http.StatusUnprocessableEntity,
	refusal.OperatorNotFound:     http.StatusNotFound,
	refusal.PlanNotFound:         http.StatusNotFound,
	refusal.Purged:               http.StatusGone,
	refusal.RouterNotFound:       http.StatusNotFound,
	refusal.StorageFull:          http.StatusServiceUnavailable,
	refusal.TooLarge:             http.StatusRequestEntityTooLarge,
	refusal.Unavailable:          http.StatusServiceUnavailable,
	refusal.Unfinished:           http.StatusUnprocessableEntity,
	refusal.VersionNotFound:      http.StatusNotFound,
}

// retryAfter are the seconds after which what is refused may be tried again.
var retryAfter = map[refusal.Reason]int{refusal.Busy: 1, refusal.IdempotencyKeyRunning: 1, refusal.Unavailable: 5,
	refusal.NotServing: 1, refusal.StorageFull: 60}

// refusalProblem is what a refusal is answered with. Reasons are codes of the contract.
// Its problems are left to who knows where in the request they are; those that are
// about no row and no field are the same wherever they are.
func refusalProblem(e *refusal.Error) *httpkit.Problem {
	status, found := notConflicts[e.Reason]
	if !found {
		status = http.StatusConflict
	}
	p := retryable(status, wire.Code(e.Reason), e.Detail, retryAfter[e.Reason])
	p.Logged = e.Reason == refusal.Unavailable && !e.Damage() // when it began
	if e.Detail == "" {
		p.Detail = httpkit.Invalid().Detail
	}
	if e.Missing != nil {
		p.Extensions = map[string]any{"missing": e.Missing}
	}
	if e.Owner != nil {
		p.Extensions = map[string]any{"owner": *e.Owner}
	}
	for _, one := range e.Problems {
		p.Errors = append(p.Errors, httpkit.FieldError{Detail: one.Detail})
	}
	return p
}

// problemOf is the one place where errors become HTTP.
func problemOf(err error) *httpkit.Problem {
	var (
		known   *httpkit.Problem
		failed  *httpkit.PreconditionError
		refused *refusal.Error
		given   = parameters.InputError(err)
		body    *input.Error
		length  *http.MaxBytesError
		memory  *admission.ExceededError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &failed):
		return newProblem(http.StatusPreconditionFailed, wire.CodePreconditionFailed, failed.Detail)
	case errors.Is(err, httpkit.ErrPageToken):
		const detail = "The page token is not from this list with these parameters."
		return newProblem(http.StatusBadRequest, wire.CodeInvalidPageToken, detail).
			WithParameter("page_token", "must be the next_page_token of an answer to the same request")
	case errors.As(err, &body):
		return bodyProblem(body)
	case errors.As(err, &refused):
		return refusalProblem(refused)
	case given != nil:
		return httpkit.Invalid().With("/"+given.Field, given.Detail)
	case errors.As(err, &length):
		return httpkit.TooLarge(fmt.Sprintf("The body is longer than %d bytes.", length.Limit))
	case errors.As(err, &memory):
		return httpkit.TooLarge(fmt.Sprintf("The request needs at least %s of memory; this server gives %s to one.",
			humanize.IBytes(uint64(memory.Need)), humanize.IBytes(uint64(memory.Limit))))
	case errors.Is(err, admission.ErrFull): // it would fit at another time
		return retryable(http.StatusTooManyRequests, wire.CodeOverBudget,
			"Other requests hold the memory that this one needs; try again.", 1)
	case errors.Is(err, admission.ErrQueue):
		return retryable(http.StatusTooManyRequests, wire.CodeOverBudget,
			"Other requests keep the processors busy: too many wait for them, or this one has waited too long; try again.", 1)
	case errors.Is(err, os.ErrDeadlineExceeded): // httpkit.ErrBodyTooSlow, too
		p := newProblem(http.StatusRequestTimeout, wire.CodeTooSlow,
			"The body came too slowly: nothing for too long, or at too low a rate.")
		p.Close = true
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return retryable(http.StatusServiceUnavailable, wire.CodeBusy, "The request ran out of time.", 1)
	default:
		return newProblem(http.StatusInternalServerError, wire.CodeInternal, "The service failed; its log says why.")
	}
}

// refuses reports whether an error says that a request must not change anything.
func refuses(err error) bool { return problemOf(err).Status < http.StatusInternalServerError }

// failed tells whether an error is a failure of the server, and which.
func failed(err error) (code string, failed bool) {
	p := problemOf(err)
	return p.Code, p.Status >= http.StatusInternalServerError
}

// bodyProblem turns what a decoder of statistics refused into a problem.
func bodyProblem(e *input.Error) *httpkit.Problem {
	var p *httpkit.Problem
	switch e.Kind {
	case input.Malformed:
		p = httpkit.Malformed("The body is not well-formed.")
	case input.TooLarge:
		p = httpkit.TooLarge("The body is over a limit.")
	default:
		p = httpkit.Invalid()
	}
	for _, one := range e.Problems {
		p.AtLine(one.Pointer, one.Line, one.Text())
	}
	return p
}

// aboutParameter points an input error at a parameter.
func aboutParameter(err error, name string) error {
	given := parameters.InputError(err)
	if given == nil {
		return err
	}
	return httpkit.Invalid().WithParameter(name, given.Detail)
}

// or returns what p points to, or the default when it is nil.
func or[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

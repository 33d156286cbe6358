package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"plannerd/sdk/go/wire"
)

// ErrNotModified is returned by calls with [IfNoneMatch] when the representation is still
// the one that the caller has.
var ErrNotModified = errors.New("client: not modified")

// Error is what the server refused, and why. It is also its code: errors.Is(err,
// wire.CodeFenced).
type Error struct {
	// Problem has the members that the contract names. Where something between server and
	// client answered, there is a Status only, and in Detail how its answer begins.
	wire.Problem
	// Members are all members of the problem as they came, those included that this
	// version of the client does not know.
	Members map[string]json.RawMessage
	// Header is that of the answer.
	Header http.Header
	// RetryAfter is after which time the server says to come again; 0: it does not.
	RetryAfter time.Duration
	// Method and Path are those of the request.
	Method, Path string
	// Attempts is how often the call was tried.
	Attempts int
}

func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "client: %s %s: %d", e.Method, e.Path, e.Status)
	if e.Code != "" {
		s.WriteString(" " + string(e.Code))
	}
	if e.Detail != "" {
		s.WriteString(": " + e.Detail)
	}
	if e.Errors != nil {
		for _, one := range *e.Errors {
			s.WriteString("; " + where(one) + one.Detail)
		}
	}
	if e.RequestId != nil {
		s.WriteString(" (request " + *e.RequestId + ")")
	}
	return s.String()
}

// where says what of the request was wrong.
func where(e wire.FieldError) (s string) {
	if e.Line != nil {
		s = "line " + strconv.Itoa(*e.Line) + " "
	}
	if e.Parameter != nil {
		s += *e.Parameter + " "
	}
	if e.Pointer != nil {
		s += *e.Pointer + " "
	}
	return s
}

// Is reports whether the target is the code of the problem.
func (e *Error) Is(target error) bool {
	code, ok := target.(wire.Code)
	return ok && code == e.Code
}

// longestProblem bounds what is read of an answer that is an error, and shown of it when
// it is none of the server's.
const longestProblem, longestDetail = 1 << 20, 200

// refusal reads an answer that is an error.
func refusal(method, path string, r *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, longestProblem))
	if err != nil {
		return fmt.Errorf("client: %s %s: reading the answer: %w", method, path, err)
	}
	e := &Error{Header: r.Header, Method: method, Path: path}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/problem+json" || json.Unmarshal(body, &e.Problem) != nil ||
		json.Unmarshal(body, &e.Members) != nil {
		detail := bytes.TrimSpace(bytes.ToValidUTF8(body, []byte("?")))
		e.Problem, e.Members = wire.Problem{Detail: string(detail[:min(len(detail), longestDetail)])}, nil
	}
	e.Status = int32(r.StatusCode)
	e.RetryAfter = retryAfter(r.Header.Get("Retry-After"))
	return e
}

// retryAfter reads a number of seconds, or a time of day.
func retryAfter(s string) time.Duration {
	const longest = 1 << 30 // seconds, so that a duration holds them
	if seconds, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), longest)) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

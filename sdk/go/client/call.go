package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Option changes one call.
type Option func(*settings)

// settings are what the options of a call say.
type settings struct {
	header http.Header
	answer *Answer
}

// IfMatch lets a change happen only while the resource has this ETag; else the error is
// [wire.CodePreconditionFailed].
func IfMatch(etag string) Option {
	return func(s *settings) { s.header.Set("If-Match", etag) }
}

// IfNoneMatch lets reading end with [ErrNotModified] while the representation has this
// ETag. With "*" PutOperator creates an operator, and does not change one that there is.
func IfNoneMatch(etag string) Option {
	return func(s *settings) { s.header.Set("If-None-Match", etag) }
}

// IdempotencyKey gives a call that changes something a key of the caller's, who keeps it
// to make the same call again after a crash. Without this option each call has a new one.
func IdempotencyKey(key string) Option {
	return func(s *settings) { s.header.Set(idempotencyKey, key) }
}

// ReadAnswer stores what an answer says besides its body.
func ReadAnswer(into *Answer) Option {
	return func(s *settings) { s.answer = into }
}

const idempotencyKey = "Idempotency-Key"

// Answer is what an answer says besides its body.
type Answer struct {
	Status int
	// ETag of the representation, for [IfMatch] and [IfNoneMatch].
	ETag string
	// RequestID is the name of the request in the server's log.
	RequestID string
	// Replayed: a request with the same Idempotency-Key has done this before.
	Replayed bool
	Header   http.Header
}

// request is one call, which may take several attempts.
type request struct {
	method string
	path   []string
	query  any  // a struct with the parameters, see parameters
	keyed  bool // it takes an Idempotency-Key
	accept string
	// send, unless nil, makes the body.
	send func() (*body, error)
	// once: the body cannot be made twice.
	once bool
}

// body is what is sent.
type body struct {
	io.Reader
	contentType, encoding string
	rows                  int // about how many it has; 0: unknown
	// close ends what makes the body, and returns why it could not.
	close func() error
}

func get(query any, path ...string) request {
	return request{method: http.MethodGet, path: path, query: query}
}

// change changes something, once for its Idempotency-Key.
func change(method string, send func() (*body, error), path ...string) request {
	return request{method: method, path: path, send: send, keyed: true}
}

func jsonBody(contentType string, content any) func() (*body, error) {
	return func() (*body, error) {
		text, err := json.Marshal(content)
		return &body{Reader: bytes.NewReader(text), contentType: contentType}, err
	}
}

// call makes a call and reads its answer as JSON.
func call[T any](ctx context.Context, c *Client, r request, options []Option) (*T, error) {
	var out *T
	err := c.do(ctx, r, options, func(answer io.Reader) error {
		out = new(T) // of this attempt
		return json.NewDecoder(answer).Decode(out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// text makes a call and returns its answer as it is.
func (c *Client) text(ctx context.Context, r request, options []Option) (text []byte, err error) {
	r.accept = "*/*"
	err = c.do(ctx, r, options, func(answer io.Reader) (err error) {
		text, err = io.ReadAll(answer)
		return err
	})
	return text, err
}

// do makes a call, again and again where that is safe and may help.
func (c *Client) do(ctx context.Context, r request, options []Option, read func(io.Reader) error) error {
	s := settings{header: http.Header{}}
	if r.keyed {
		s.header.Set(idempotencyKey, rand.Text())
	}
	for _, o := range options {
		o(&s)
	}
	target, err := c.target(r)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := c.attempt(ctx, r, target, s, read)
		if refused := (*Error)(nil); errors.As(err, &refused) {
			refused.Attempts = attempt
		}
		var final *finalError
		if err == nil || errors.Is(err, ErrNotModified) || r.once || ctx.Err() != nil || errors.As(err, &final) {
			return err
		}
		wait, again := c.config.Retry.after(err, attempt)
		if !again {
			return err
		}
		if stopped := sleep(ctx, wait); stopped != nil {
			return fmt.Errorf("client: %w before another attempt after: %w", stopped, err)
		}
	}
}

// finalError is a failure of this program's, which another attempt would meet, too.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

func (c *Client) target(r request) (string, error) {
	var s strings.Builder
	s.WriteString(c.base)
	for _, segment := range r.path {
		s.WriteString("/" + url.PathEscape(segment))
	}
	query, err := parameters(r.query)
	if err != nil {
		return "", err
	}
	if len(query) > 0 {
		s.WriteString("?" + query.Encode())
	}
	return s.String(), nil
}

// attempt makes one request. Its errors name method and path.
func (c *Client) attempt(
	ctx context.Context, r request, target string, s settings, read func(io.Reader) error,
) (err error) {
	path := "/" + strings.Join(r.path, "/")
	failed := func(doing string, err error) error {
		return fmt.Errorf("client: %s %s: %s%w", r.method, path, doing, err)
	}
	var content *body
	var reader io.Reader
	if r.send != nil {
		if content, err = r.send(); err != nil {
			return failed("", &finalError{err})
		}
		reader = content.Reader
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return failed("", &finalError{err})
	}
	if err := c.fill(ctx, request, r, content, s); err != nil {
		return failed("", &finalError{err})
	}
	response, err := c.config.HTTP.Do(request)
	if content != nil && content.close != nil {
		// Why the body could not be made matters more than what the server thought of it.
		if broken := content.close(); broken != nil {
			err = failed("", &finalError{broken})
		}
	}
	if response != nil {
		defer response.Body.Close()
	}
	if err != nil {
		return err // of net/http, which names method and address
	}
	if s.answer != nil {
		*s.answer = Answer{
			Status: response.StatusCode, ETag: response.Header.Get("ETag"), RequestID: response.Header.Get("X-Request-Id"),
			Replayed: response.Header.Get("Idempotent-Replayed") == "true", Header: response.Header,
		}
	}
	switch {
	case response.StatusCode == http.StatusNotModified:
		return ErrNotModified
	case response.StatusCode < 200 || response.StatusCode > 299:
		return refusal(r.method, path, response)
	}
	if err := read(response.Body); err != nil {
		return failed("reading the answer: ", err)
	}
	// What is left is read, so that the connection can be used again; a cut shows itself.
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return failed("reading the answer: ", err)
	}
	return nil
}

// fill adds the headers of a request.
func (c *Client) fill(ctx context.Context, to *http.Request, r request, content *body, s settings) error {
	for name, values := range s.header {
		to.Header[name] = values
	}
	to.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	if content != nil {
		to.Header.Set("Content-Type", content.contentType)
		if content.encoding != "" {
			to.Header.Set("Content-Encoding", content.encoding)
		}
		if content.rows > 0 {
			to.Header.Set("Plannerd-Row-Count", strconv.Itoa(content.rows))
		}
	}
	if c.config.UserAgent != "" {
		to.Header.Set("User-Agent", c.config.UserAgent)
	}
	if c.config.Token == nil {
		return nil
	}
	token, err := c.config.Token(ctx)
	if err != nil {
		return fmt.Errorf("the token: %w", err)
	}
	to.Header.Set("Authorization", "Bearer "+token)
	return nil
}

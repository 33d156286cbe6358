package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"plannerd/internal/service/claim"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
)

const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotent-Replayed"
)

// caller is who makes a request: keys are their own. Without tokens all are one.
func caller(ctx context.Context) string {
	if c := callerOf(ctx); c != nil {
		return c.Name
	}
	return ""
}

// newIdempotentRequest returns the request's; nil if it has no key, or is none that
// changes anything.
func newIdempotentRequest(c *call) (*idempotentRequest, error) {
	keys := c.Header.Values(headerIdempotencyKey)
	if len(keys) == 0 || !c.op.Takes(headerIdempotencyKey) {
		return nil, nil
	}
	if len(keys) > 1 || keys[0] == "" {
		return nil, httpkit.Invalid().WithParameter(headerIdempotencyKey, "must stand once, and not be empty")
	}
	r := &idempotentRequest{sum: sha256.New()}
	r.Key, r.Scope = keys[0], strings.Join([]string{caller(c.Context()), c.Method, c.URL.Path}, "\n")
	fmt.Fprintf(r.sum, "%q %q %q\n", c.Query.Encode(), c.Header.Get("Content-Type"), c.contentEncoding())
	// Decoders close it early; the server closes what is beneath.
	c.Body = io.NopCloser(io.TeeReader(c.Body, r.sum))
	return r, nil
}

// once does what a request asks for, and answers with what came of it. If the request has
// a key, that happens together with the answer, which the store keeps; if it happened
// before, the error is that answer.
func once[T any](
	s *shared, w http.ResponseWriter, c *call, answer func(T) (*reply, error), do func(*claim.Claim[T]) (T, error),
) error {
	held, err := begin(s, c, answer)
	if err != nil {
		return err
	}
	v, err := do(held)
	if err != nil {
		return err
	}
	i := c.idempotent
	if i != nil && i.reply != nil {
		i.done = true
		return i.reply.write(w, c.Request)
	}
	r, err := answer(v)
	if err != nil {
		return err
	}
	if i != nil { // nothing had to be changed
		text, err := r.encode()
		if err != nil {
			return err
		}
		if err := held.Finish(c.Context(), r.status, text); err != nil {
			return err
		}
		i.done = true
	}
	return r.write(w, c.Request)
}

// begin claims the key of a request, if it has one, once its body was read.
func begin[T any](s *shared, c *call, answer func(T) (*reply, error)) (*claim.Claim[T], error) {
	r := c.idempotent
	if r == nil {
		return nil, nil
	}
	n, err := io.CopyN(io.Discard, c.Body, contract.MaxBody)
	switch {
	case n == contract.MaxBody: // decoders leave next to nothing
		return nil, httpkit.TooLarge("The body goes on after its end.")
	case !errors.Is(err, io.EOF):
		return nil, readProblem(c.Context(), err)
	}
	r.sum.Sum(r.Body[:0])
	held, err := claim.Begin(c.Context(), s.service.Claims, r.Request, func(v T) (int, []byte, error) {
		var err error
		if r.reply, err = answer(v); err != nil {
			return 0, nil, err
		}
		text, err := r.reply.encode()
		return r.reply.status, text, err
	})
	if err == nil {
		r.release = held.Release
	}
	return held, err
}

// end gives up the claim of a request that has one.
func (r *idempotentRequest) end(ctx context.Context) {
	if r != nil && r.release != nil {
		r.release(ctx, r.done)
	}
}

// again gives a stored answer again. Long lists are not in it; they are read from
// where they are.
func (s *shared) again(w http.ResponseWriter, c *call, e *claim.EarlierAnswer) error {
	r, err := decodeReply(e)
	if err != nil {
		return fmt.Errorf("reading the stored answer to a request: %w", err)
	}
	if r.Plan != "" {
		p, err := s.service.Plan(c.Context(), r.Plan)
		if err != nil {
			return err
		}
		r.text = &planText{head: []byte(r.Body + r.Sizes), keys: keyCoder{base64: r.Base64}}
		if r.text.lists, err = s.service.Lists(c.Context(), p, r.Changes, r.Migrations, c.memory); err != nil {
			return err
		}
	}
	w.Header().Set(headerReplayed, "true")
	return r.write(w, c.Request)
}

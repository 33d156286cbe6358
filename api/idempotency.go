package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	digest "hash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"plannerd/api/wire"
	"plannerd/store"
)

const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotent-Replayed"

	// idempotencyLease is how long a request holds its key unless it says that it is
	// still being worked on, which it does every extendEvery. One whose server died can
	// be made again after that.
	idempotencyLease = 2 * time.Minute
	extendEvery      = idempotencyLease / 4
	// releaseTime is how long giving a key back may take: its request may be over.
	releaseTime = 5 * time.Second
)

// caller is who makes a request: keys are their own. Without tokens all are one.
func caller(ctx context.Context) string {
	if c := visitOf(ctx).caller; c != nil {
		return c.Name
	}
	return ""
}

// once is a request that its Idempotency-Key lets happen only once.
type once struct {
	store.Idempotency
	sum    digest.Hash // of the request, as far as its body was read
	token  string      // by which the key is held; "": it is not
	answer func(store.Outcome) (*reply, error)
	reply  *reply // what answer came to last
	done   bool   // the store has the answer
	rest   func() // ends what extends the lease
}

// newOnce returns the request's once; nil if it has no key, or is none that
// changes anything.
func newOnce(c *call) (*once, error) {
	keys := c.Header.Values(headerIdempotencyKey)
	if len(keys) == 0 || c.route.Operation.Parameters.GetByInAndName("header", headerIdempotencyKey) == nil {
		return nil, nil
	}
	if len(keys) > 1 || keys[0] == "" {
		return nil, invalid().withParameter(headerIdempotencyKey, "must stand once, and not be empty")
	}
	o := &once{sum: sha256.New()}
	o.Key, o.Scope = keys[0], strings.Join([]string{caller(c.Context()), c.Method, c.URL.Path}, "\n")
	fmt.Fprintf(o.sum, "%q %q %q\n", c.query.Encode(), c.Header.Get("Content-Type"), c.contentEncoding())
	// Decoders close it early; the server closes what is beneath.
	c.Body = io.NopCloser(io.TeeReader(c.Body, o.sum))
	return o, nil
}

// begin claims the key of a request, if it has one, once its body was read. What
// the handler then has the store change happens together with the answer, which
// the store keeps. If it happened before, the error is that answer.
func (s *server) begin(c *call, answer func(store.Outcome) (*reply, error)) error {
	o := c.once
	if o == nil {
		return nil
	}
	if n, err := io.CopyN(io.Discard, c.Body, maxSmallBody); n == maxSmallBody { // decoders leave next to nothing
		return tooLarge("The body goes on after its end.")
	} else if !errors.Is(err, io.EOF) {
		return readProblem(c.Context(), err)
	}
	o.sum.Sum(o.Body[:0])
	claim, err := s.store.BeginIdempotent(c.Context(), o.Idempotency, idempotencyLease, s.now())
	if err != nil {
		return err
	}
	if claim.Done {
		return &earlier{claim.Status, claim.Answer}
	}
	o.token, o.answer, o.rest = claim.Token, answer, s.extending(c.Context(), o.Idempotency, claim.Token)
	c.Request = c.WithContext(store.WithCompletion(c.Context(), store.Completion{Idempotency: o.Idempotency, Token: o.token, Answer: o.complete}))
	return nil
}

// extending lets a request hold its key for as long as it is worked on: until the
// function that it returns is called. A server that cannot reach its store for longer
// than the lease may lose the key; of two requests that are then made at once, the
// first to finish counts.
func (s *server) extending(ctx context.Context, i store.Idempotency, token string) (rest func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(extendEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := s.store.ExtendIdempotent(ctx, i, token, idempotencyLease, s.now())
			if errors.Is(err, store.ErrIdempotencyLost) { // or the answer is there by now
				return
			}
			if err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "the lease of an idempotency key cannot be extended", "error", err)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// complete is the answer that the store keeps.
func (o *once) complete(out store.Outcome) (status int, answer []byte, err error) {
	if o.reply, err = o.answer(out); err != nil {
		return 0, nil, err
	}
	answer, err = o.reply.encode()
	return o.reply.status, answer, err
}

// finish answers a request. Under a key the answer is the one that the store has;
// where nothing had to be changed it gets that of make.
func (s *server) finish(w http.ResponseWriter, c *call, make func() (*reply, error)) error {
	o := c.once
	if o != nil && o.reply != nil {
		o.done = true
		return o.reply.write(w, c.Request)
	}
	r, err := make()
	if err != nil {
		return err
	}
	if o != nil {
		text, err := r.encode()
		if err != nil {
			return err
		}
		if err := s.store.FinishIdempotent(c.Context(), o.Idempotency, o.token, r.status, text); err != nil {
			return err
		}
		o.done = true
	}
	return r.write(w, c.Request)
}

// giveBack gives the key of a request back that failed, or whose fate is unknown:
// one that the store has an answer to stays as it is.
func (s *server) giveBack(c *call) {
	o := c.once
	if o == nil || o.token == "" {
		return
	}
	o.rest()
	if o.done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), releaseTime)
	defer cancel()
	if err := s.store.ReleaseIdempotent(ctx, o.Idempotency, o.token); err != nil {
		s.log.WarnContext(ctx, "an idempotency key is held until its lease ends", "error", err)
	}
}

// earlier is the stored answer of a request that was made before.
type earlier struct {
	status int
	answer []byte
}

func (*earlier) Error() string { return "the request was made before" }

// again gives a stored answer again. Long lists are not in it; they are read from
// where they are.
func (s *server) again(w http.ResponseWriter, c *call, e *earlier) error {
	r, err := decodeReply(e)
	if err != nil {
		return fmt.Errorf("reading the stored answer to a request: %w", err)
	}
	if r.Plan != "" {
		p, err := s.store.Plan(c.Context(), r.Plan)
		if err != nil {
			return aboutPlan(r.Plan, err)
		}
		r.text = &planText{head: []byte(r.Body), sizes: []byte(r.Sizes), keys: keyCoder{base64: r.Base64}}
		if err := s.include(c, p, &r.text.lists, r.Changes, r.Migrations); err != nil {
			return err
		}
	}
	w.Header().Set(headerReplayed, "true")
	return r.write(w, c.Request)
}

// reply is the answer to a request that changes something. What it says in full
// is what the store keeps of it under an idempotency key.
type reply struct {
	status   int
	ETag     string `json:"etag,omitzero"`
	Location string `json:"location,omitzero"`
	// Body is whole, or the head of a plan whose long lists follow.
	Body string `json:"body,omitzero"`

	Plan       string `json:"plan,omitzero"` // its id, if its lists follow
	Sizes      string `json:"sizes,omitzero"`
	Base64     bool   `json:"base64,omitzero"`
	Changes    bool   `json:"changes,omitzero"` // what lists there are
	Migrations bool   `json:"migrations,omitzero"`
	text       *planText
}

// jsonReply is an answer with a body and, unless it is "", an ETag.
func jsonReply(status int, etag string, v any) (*reply, error) {
	body, err := json.Marshal(v)
	return &reply{status: status, ETag: etag, Body: string(body)}, err
}

// errTwin: another request has made the same plan; its lists are not at hand yet.
var errTwin = fmt.Errorf("the same plan was made meanwhile: %w", errOvertaken)

// plannedReply is the answer with a plan that the store has just created, whose
// lists are kept.
func plannedReply(kept *lists) func(store.Outcome) (*reply, error) {
	return func(out store.Outcome) (*reply, error) {
		if !out.Created {
			return nil, errTwin
		}
		return planReply(out.Plan, *kept, true, nil)
	}
}

// reply is the answer with a plan that was made now or before.
func (m *made) reply() (*reply, error) {
	var persist *time.Duration
	if m.created {
		persist = &m.persist
	}
	return planReply(m.Plan, m.lists, m.created, persist)
}

// planReply is the answer with a whole plan. Its ETag is that of the plan as GET
// shows it.
func planReply(p store.Plan, l lists, created bool, persist *time.Duration) (*reply, error) {
	plain, err := planBody(p, keyCoder{})
	if err != nil {
		return nil, err
	}
	text, err := newPlanText(p, l, keyCoder{}, persist)
	if err != nil {
		return nil, err
	}
	r := &reply{
		status: http.StatusOK, ETag: etagOf(plain), Location: "/v1/plans/" + p.ID,
		Plan: p.ID, Body: string(text.head), Sizes: string(text.sizes), Base64: text.keys.base64,
		Changes: l.changes != nil || l.shift != nil, Migrations: l.migrations != nil, text: &text,
	}
	if created {
		r.status = http.StatusCreated
	}
	return r, nil
}

// stepReply is the answer with a plan after a step of its life, without its lists.
func stepReply(out store.Outcome) (*reply, error) {
	body, err := planBody(out.Plan, keyCoder{})
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusOK, ETag: etagOf(body), Body: string(body)}, nil
}

func (r *reply) write(w http.ResponseWriter, request *http.Request) error {
	if r.ETag != "" {
		w.Header().Set("ETag", r.ETag)
	}
	if r.Location != "" {
		w.Header().Set("Location", r.Location)
	}
	switch {
	case r.text != nil:
		return writeStream(w, request, r.status, "application/json", func(out *bufio.Writer) error { return r.text.write(out) })
	case r.status == http.StatusNoContent:
		w.WriteHeader(r.status)
	default:
		writeBody(w, r.status, "application/json", []byte(r.Body))
	}
	return nil
}

// replyCoder compresses what the store keeps: most of it are figures of instances.
var replyCoder = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	must(err)
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	must(err)
	return e, d
})

// encode returns what the store keeps of the answer.
func (r *reply) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	encoder, _ := replyCoder()
	return encoder.EncodeAll(text, nil), nil
}

func decodeReply(e *earlier) (*reply, error) {
	_, d := replyCoder()
	text, err := d.DecodeAll(e.answer, nil)
	if err != nil {
		return nil, err
	}
	r := &reply{status: e.status}
	return r, json.UnmarshalRead(bytes.NewReader(text), r)
}

// idempotencyProblem is what an error of an idempotency key is answered with; nil
// if it is none.
func idempotencyProblem(err error) *problem {
	switch {
	case errors.Is(err, store.ErrIdempotencyMismatch):
		return &problem{status: http.StatusUnprocessableEntity, code: wire.CodeIdempotencyKeyReused, detail: "The idempotency key was used for another request."}
	case errors.Is(err, store.ErrIdempotencyRunning), errors.Is(err, store.ErrIdempotencyLost):
		p := conflict(wire.CodeIdempotencyKeyRunning, "Another request with the idempotency key is being worked on.")
		p.retryAfter = 1
		return p
	}
	return nil
}

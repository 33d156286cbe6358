package claim

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"plannerd/internal/refusal"
	"plannerd/store"
)

const (
	// idempotencyLease is how long a request holds its key unless it says that it is
	// still being worked on, which it does every extendEvery. One whose server died can
	// be made again after that.
	idempotencyLease = 2 * time.Minute
	extendEvery      = idempotencyLease / 4
	// releaseTime is how long giving a key back may take: its request may be over.
	releaseTime = 5 * time.Second
)

// Request names a request that happens at most once: Scope says whose Key it
// is, and for what, and Body is a digest of the request.
type Request = store.Idempotency

// EarlierAnswer is the error of a request that was made before: its answer, as it was
// kept.
type EarlierAnswer struct {
	Status int
	Answer []byte
}

func (*EarlierAnswer) Error() string { return "the request was made before" }

// Keeper keeps claims in the store.
type Keeper struct {
	Store store.Store
	Log   *slog.Logger
}

// Claim is an idempotent request that is being worked on. What a method that is given
// the claim changes happens together with the answer, which the store keeps. A nil
// claim is a request that may happen several times.
type Claim[T any] struct {
	keeper  *Keeper
	request Request
	token   string
	answer  func(T) (status int, answer []byte, err error)
	rest    func() // ends what extends the lease
}

// Begin claims the key of a request. answer makes what the store keeps of the result of
// the method that is given the claim; it may be called more than once. If the request
// was made before the error is an [*EarlierAnswer].
func Begin[T any](ctx context.Context, s *Keeper, r Request,
	answer func(T) (int, []byte, error)) (*Claim[T], error) {
	now, err := s.Store.Now(ctx)
	if err != nil {
		return nil, refusal.AboutStore(err)
	}
	claimed, err := s.Store.BeginIdempotent(ctx, r, idempotencyLease, now)
	if err != nil {
		return nil, refusal.AboutStore(err)
	}
	if claimed.Done {
		text, err := Unpack(claimed.Answer)
		if err != nil {
			return nil, err
		}
		return nil, &EarlierAnswer{claimed.Status, text}
	}
	return &Claim[T]{keeper: s, request: r, token: claimed.Token, answer: answer,
		rest: s.extending(ctx, r, claimed.Token)}, nil
}

// extending lets a request hold its key for as long as it is worked on: until the
// function that it returns is called. A server that cannot reach its store for longer
// than the lease may lose the key; of two requests that are then made at once, the
// first to finish counts.
func (s *Keeper) extending(ctx context.Context, r Request, token string) (rest func()) {
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
			now, err := s.Store.Now(ctx)
			if err == nil {
				err = s.Store.ExtendIdempotent(ctx, r, token, idempotencyLease, now)
			}
			if errors.Is(err, store.ErrIdempotencyLost) { // or the answer is there by now
				return
			}
			if err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "the lease of an idempotency key cannot be extended", "error", err)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// Completing returns a context under which the method of the store that changes
// something keeps the answer, too. result makes the result of what the store returns.
func (c *Claim[T]) Completing(ctx context.Context, result func(store.Outcome) (T, error)) context.Context {
	if c == nil {
		return ctx
	}
	return store.WithCompletion(ctx, store.Completion{Idempotency: c.request, Token: c.token,
		Answer: func(out store.Outcome) (int, []byte, error) {
			v, err := result(out)
			if err != nil {
				return 0, nil, err
			}
			status, text, err := c.answer(v)
			return status, packed(text), err
		}})
}

// answerCoder compresses what the store keeps of answers: most of it are figures of
// instances.
var answerCoder = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err)
	}
	return e, d
})

func packed(text []byte) []byte {
	encoder, _ := answerCoder()
	return encoder.EncodeAll(text, nil)
}

// Unpack returns the text of an answer as the store keeps it. [store.ErrDamaged].
func Unpack(answer []byte) ([]byte, error) {
	_, decoder := answerCoder()
	text, err := decoder.DecodeAll(answer, nil)
	return text, store.Unreadable("the answer to a request", err)
}

// Finish keeps the answer to a request that had nothing to change.
func (c *Claim[T]) Finish(ctx context.Context, status int, answer []byte) error {
	return refusal.AboutStore(c.keeper.Store.FinishIdempotent(ctx, c.request, c.token, status, packed(answer)))
}

// Release ends the claim. The key of a request that failed, or whose fate is unknown,
// is given back: one that the store has an answer to stays as it is.
func (c *Claim[T]) Release(ctx context.Context, done bool) {
	c.rest()
	if done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := c.keeper.Store.ReleaseIdempotent(ctx, c.request, c.token); err != nil {
		c.keeper.Log.WarnContext(ctx, "an idempotency key is held until its lease ends", "error", err)
	}
}

package claim

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"plannerd/internal/refusal"
	"plannerd/store"
)

// kept is a store of one idempotency key.
type kept struct {
	store.Store
	done     bool
	status   int
	answer   []byte
	released int
}

func (*kept) Now(context.Context) (time.Time, error) { return time.Unix(1, 0), nil }

func (k *kept) BeginIdempotent(context.Context, store.Idempotency, time.Duration, time.Time) (store.Claim, error) {
	if k.done {
		return store.Claim{Done: true, Status: k.status, Answer: k.answer}, nil
	}
	if k.released < 0 {
		return store.Claim{}, store.ErrIdempotencyRunning
	}
	k.released = -1
	return store.Claim{Token: "t"}, nil
}

func (k *kept) FinishIdempotent(_ context.Context, _ store.Idempotency, token string, status int, answer []byte) error {
	if token != "t" {
		return store.ErrIdempotencyLost
	}
	k.done, k.status, k.answer = true, status, answer
	return nil
}

func (k *kept) ReleaseIdempotent(context.Context, store.Idempotency, string) error {
	k.released = 1
	return nil
}

// TestClaim: a request happens once. Meanwhile the same one is refused, and afterwards it gets the
// same answer; one that fails gives its key back.
func TestClaim(t *testing.T) {
	k := &kept{}
	keeper := &Keeper{Store: k, Log: slog.New(slog.DiscardHandler)}
	begin := func() (*Claim[string], error) {
		return Begin(t.Context(), keeper, Request{}, func(v string) (int, []byte, error) { return 201, []byte(v), nil })
	}
	c, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	var refused *refusal.Error
	if _, err := begin(); !errors.As(err, &refused) || refused.Reason != refusal.IdempotencyKeyRunning {
		t.Errorf("%v, want idempotency_key_running", err)
	}
	c.Release(t.Context(), false)
	if k.released != 1 {
		t.Error("the key of a failed request was not given back")
	}
	if c, err = begin(); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(t.Context(), 200, []byte("all of it")); err != nil {
		t.Fatal(err)
	}
	c.Release(t.Context(), true)
	var earlier *EarlierAnswer
	if _, err := begin(); !errors.As(err, &earlier) || earlier.Status != 200 || string(earlier.Answer) != "all of it" {
		t.Errorf("%v, want the earlier answer", err)
	}
}

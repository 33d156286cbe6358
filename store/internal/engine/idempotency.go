package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// BeginIdempotent implements [store.Store].
func (s *Store) BeginIdempotent(ctx context.Context, i store.Idempotency, lease time.Duration,
	at time.Time) (c store.Claim, err error) {
	k := statements.Key{Name: nameOf(i), Body: i.Body[:], Token: rand.Text(), Until: at.Add(lease), At: at}
	err = s.db.Update(ctx, func(q statements.Statements) error {
		c, err = claim(ctx, q, k)
		return err
	})
	if err != nil {
		return store.Claim{}, fmt.Errorf("idempotency key %q: %w", i.Key, err)
	}
	return c, nil
}

func claim(ctx context.Context, q statements.Statements, k statements.Key) (store.Claim, error) {
	for {
		inserted, err := q.InsertKey(ctx, k)
		if err != nil || inserted {
			return store.Claim{Token: k.Token}, err
		}
		held, err := q.LockKey(ctx, k.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue // it was given back meanwhile
		case err != nil:
			return store.Claim{}, err
		case !bytes.Equal(held.Body, k.Body):
			return store.Claim{}, store.ErrIdempotencyMismatch
		case held.Status != nil:
			return store.Claim{Done: true, Status: *held.Status, Answer: held.Answer}, nil
		case held.Until.After(k.At):
			return store.Claim{}, store.ErrIdempotencyRunning
		}
		return store.Claim{Token: k.Token}, q.RenewKey(ctx, k)
	}
}

// ExtendIdempotent implements [store.Store].
func (s *Store) ExtendIdempotent(ctx context.Context, i store.Idempotency, token string, lease time.Duration,
	at time.Time) error {
	return s.db.Update(ctx, func(q statements.Statements) error {
		held, err := q.ExtendKey(ctx, nameOf(i), token, at.Add(lease))
		return lost(i, held, err)
	})
}

// FinishIdempotent implements [store.Store].
func (s *Store) FinishIdempotent(ctx context.Context, i store.Idempotency, token string, status int,
	answer []byte) error {
	return s.db.Update(ctx, func(q statements.Statements) error { return finish(ctx, q, i, token, status, answer) })
}

// ReleaseIdempotent implements [store.Store].
func (s *Store) ReleaseIdempotent(ctx context.Context, i store.Idempotency, token string) error {
	err := s.db.Update(ctx, func(q statements.Statements) error { return q.DeleteKey(ctx, nameOf(i), token) })
	if err != nil {
		return fmt.Errorf("idempotency key %q: %w", i.Key, err)
	}
	return nil
}

// Answers implements [store.Store].
func (s *Store) Answers(ctx context.Context, after []byte, limit int) (all []store.KeptAnswer, err error) {
	err = s.db.Read(ctx, func(q statements.Statements) (err error) {
		all, err = q.Answers(ctx, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("idempotency keys after %x: %w", after, err)
	}
	return all, nil
}

// nameOf names a key within its scope, whatever bytes they are and however many.
func nameOf(i store.Idempotency) []byte {
	name := binary.AppendUvarint(nil, uint64(len(i.Scope)))
	sum := sha256.Sum256(append(append(name, i.Scope...), i.Key...))
	return sum[:]
}

// update runs f in a transaction and finishes in it what the context says.
func (s *Store) update(ctx context.Context, f func(statements.Statements) (store.Outcome, error)) error {
	return s.db.Update(ctx, func(q statements.Statements) error {
		out, err := f(q)
		if err != nil {
			return err
		}
		return complete(ctx, q, out)
	})
}

func complete(ctx context.Context, q statements.Statements, out store.Outcome) error {
	c, found := store.CompletionOf(ctx)
	if !found {
		return nil
	}
	status, answer, err := c.Answer(out)
	if err != nil {
		return err
	}
	return finish(ctx, q, c.Idempotency, c.Token, status, answer)
}

func finish(ctx context.Context, q statements.Statements, i store.Idempotency, token string, status int,
	answer []byte) error {
	held, err := q.FinishKey(ctx, nameOf(i), token, status, answer)
	return lost(i, held, err)
}

// lost is the error of a request that no longer holds its key.
func lost(i store.Idempotency, held bool, err error) error {
	if err == nil && !held {
		err = fmt.Errorf("idempotency key %q: %w", i.Key, store.ErrIdempotencyLost)
	}
	return err
}

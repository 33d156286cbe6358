package statements

import (
	"context"
	"time"

	"plannerd/store"
)

// InsertKey inserts an idempotency key, unless it is there; it tells which. It waits
// for another transaction that inserts the same key.
func (s claimStatements) InsertKey(ctx context.Context, k Key) (bool, error) {
	return s.changed(ctx,
		`INSERT INTO idempotency_keys (name, body, token, leased_until, began_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		k.Name, k.Body, k.Token, s.at(&k.Until), s.at(&k.At))
}

// LockKey returns the key of that name and keeps others from changing it.
func (s claimStatements) LockKey(ctx context.Context, name []byte) (k Key, err error) {
	k, err = s.scanKey(s.QueryRow(ctx, keyColumns+` WHERE name = $1`+s.ForUpdate(), name))
	return k, notFound(err)
}

const keyColumns = `SELECT name, body, token, leased_until, began_at, status, answer FROM idempotency_keys`

func (s claimStatements) scanKey(row Scanner) (k Key, err error) {
	err = row.Scan(&k.Name, &k.Body, &k.Token, s.at(&k.Until), s.at(&k.At), &k.Status, &k.Answer)
	return k, err
}

// Answers lists what is kept under at most limit keys, in the order of their names, which come
// after the given one.
func (s claimStatements) Answers(ctx context.Context, after []byte, limit int) ([]store.KeptAnswer, error) {
	return collect(ctx, s.base, func(row Scanner) (store.KeptAnswer, error) {
		k, err := s.scanKey(row)
		return store.KeptAnswer{Name: k.Name, Answer: k.Answer}, err
	}, keyColumns+` WHERE name > $1 ORDER BY name LIMIT $2`, append([]byte{}, after...), limit)
}

// RenewKey gives the key another token and another lease.
func (s claimStatements) RenewKey(ctx context.Context, k Key) error {
	return s.exec(ctx, `UPDATE idempotency_keys SET token = $2, leased_until = $3, began_at = $4 WHERE name = $1`,
		k.Name, k.Token, s.at(&k.Until), s.at(&k.At))
}

// held: a token holds a key and there is no answer.
const held = ` WHERE name = $1 AND token = $2 AND status IS NULL`

// ExtendKey gives the key another lease if token holds it and there is no answer. It
// tells whether that is so.
func (s claimStatements) ExtendKey(ctx context.Context, name []byte, token string, until time.Time) (bool, error) {
	return s.changed(ctx, `UPDATE idempotency_keys SET leased_until = $3`+held, name, token, s.at(&until))
}

// FinishKey keeps the answer under the key. It tells whether token holds it.
func (s claimStatements) FinishKey(ctx context.Context, name []byte, token string, status int, answer []byte) (bool,
	error) {
	return s.changed(ctx, `UPDATE idempotency_keys SET status = $3, answer = $4`+held, name, token, status, answer)
}

// DeleteKey removes the key if token holds it and there is no answer.
func (s claimStatements) DeleteKey(ctx context.Context, name []byte, token string) error {
	return s.exec(ctx, `DELETE FROM idempotency_keys`+held, name, token)
}

// PurgeKeys removes the keys of requests that began before then, and of those that are
// done all but about the newest so many.
func (s claimStatements) PurgeKeys(ctx context.Context, before time.Time, most int) error {
	if err := s.exec(ctx, `DELETE FROM idempotency_keys WHERE began_at < $1`, s.at(&before)); err != nil {
		return err
	}
	return s.exec(ctx,
		`DELETE FROM idempotency_keys WHERE status IS NOT NULL AND began_at <= (
			SELECT began_at FROM idempotency_keys ORDER BY began_at DESC LIMIT 1 OFFSET $1)`, most)
}

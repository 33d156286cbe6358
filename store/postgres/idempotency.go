package postgres

import (
	"context"
	"time"

	"plannerd/store/internal/engine"
)

// InsertKey waits for another transaction that inserts the same key.
func (s statements) InsertKey(ctx context.Context, k engine.Key) (bool, error) {
	done, err := s.db.Exec(ctx,
		`INSERT INTO idempotency_keys (name, body, token, leased_until, began_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		k.Name, k.Body, k.Token, at(&k.Until), at(&k.At))
	return done.RowsAffected() > 0, err
}

func (s statements) LockKey(ctx context.Context, name []byte) (k engine.Key, err error) {
	err = s.db.QueryRow(ctx,
		`SELECT name, body, token, leased_until, began_at, status, answer FROM idempotency_keys WHERE name = $1 FOR UPDATE`, name).Scan(
		&k.Name, &k.Body, &k.Token, at(&k.Until), at(&k.At), &k.Status, &k.Answer)
	return k, notFound(err)
}

func (s statements) RenewKey(ctx context.Context, k engine.Key) error {
	return s.exec(ctx, `UPDATE idempotency_keys SET token = $2, leased_until = $3, began_at = $4 WHERE name = $1`,
		k.Name, k.Token, at(&k.Until), at(&k.At))
}

func (s statements) ExtendKey(ctx context.Context, name []byte, token string, until time.Time) (bool, error) {
	done, err := s.db.Exec(ctx,
		`UPDATE idempotency_keys SET leased_until = $3 WHERE name = $1 AND token = $2 AND status IS NULL`, name, token, at(&until))
	return done.RowsAffected() > 0, err
}

func (s statements) FinishKey(ctx context.Context, name []byte, token string, status int, answer []byte) (bool, error) {
	done, err := s.db.Exec(ctx,
		`UPDATE idempotency_keys SET status = $3, answer = $4 WHERE name = $1 AND token = $2 AND status IS NULL`, name, token, status, answer)
	return done.RowsAffected() > 0, err
}

func (s statements) DeleteKey(ctx context.Context, name []byte, token string) error {
	return s.exec(ctx, `DELETE FROM idempotency_keys WHERE name = $1 AND token = $2 AND status IS NULL`, name, token)
}

func (s statements) PurgeKeys(ctx context.Context, before time.Time) (int, error) {
	done, err := s.db.Exec(ctx, `DELETE FROM idempotency_keys WHERE began_at < $1`, at(&before))
	return int(done.RowsAffected()), err
}

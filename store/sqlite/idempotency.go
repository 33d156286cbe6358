package sqlite

import (
	"context"
	"database/sql"
	"time"

	"plannerd/store/internal/engine"
)

func (s statements) InsertKey(ctx context.Context, k engine.Key) (bool, error) {
	n, err := affected(s.db.ExecContext(ctx,
		`INSERT INTO idempotency_keys (name, body, token, leased_until, began_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		k.Name, k.Body, k.Token, at(&k.Until), at(&k.At)))
	return n > 0, err
}

// LockKey only reads: an immediate transaction is alone in changing anything.
func (s statements) LockKey(ctx context.Context, name []byte) (k engine.Key, err error) {
	err = s.db.QueryRowContext(ctx,
		`SELECT name, body, token, leased_until, began_at, status, answer FROM idempotency_keys WHERE name = ?`, name).Scan(
		&k.Name, &k.Body, &k.Token, at(&k.Until), at(&k.At), &k.Status, &k.Answer)
	return k, notFound(err)
}

func (s statements) RenewKey(ctx context.Context, k engine.Key) error {
	return s.exec(ctx, `UPDATE idempotency_keys SET token = ?, leased_until = ?, began_at = ? WHERE name = ?`,
		k.Token, at(&k.Until), at(&k.At), k.Name)
}

func (s statements) ExtendKey(ctx context.Context, name []byte, token string, until time.Time) (bool, error) {
	n, err := affected(s.db.ExecContext(ctx,
		`UPDATE idempotency_keys SET leased_until = ? WHERE name = ? AND token = ? AND status IS NULL`, at(&until), name, token))
	return n > 0, err
}

func (s statements) FinishKey(ctx context.Context, name []byte, token string, status int, answer []byte) (bool, error) {
	n, err := affected(s.db.ExecContext(ctx,
		`UPDATE idempotency_keys SET status = ?, answer = ? WHERE name = ? AND token = ? AND status IS NULL`, status, answer, name, token))
	return n > 0, err
}

func (s statements) DeleteKey(ctx context.Context, name []byte, token string) error {
	return s.exec(ctx, `DELETE FROM idempotency_keys WHERE name = ? AND token = ? AND status IS NULL`, name, token)
}

func (s statements) PurgeKeys(ctx context.Context, before time.Time) (int, error) {
	return affected(s.db.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE began_at < ?`, at(&before)))
}

func affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

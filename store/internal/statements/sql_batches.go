package statements

import (
	"context"

	"plannerd/store"
)

// WithBatches is the version of the schema from which on plans may have batches.
const WithBatches = 15

// InsertBatch adds a batch of a plan.
func (s batchStatements) InsertBatch(ctx context.Context, seq, n int64, b store.Batch, changes, held []byte) error {
	return s.exec(ctx, `INSERT INTO plan_batches (plan_seq, n, key_count, state, busiest, seconds, theta_after, table_after, awaited,
			held, changes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		seq, n, b.Keys, b.State, b.Busiest, b.Seconds, b.ThetaAfter, b.TableAfter, numbers(&b.Awaited), held, changes)
}

// Batches lists the batches of a plan in their order.
func (s batchStatements) Batches(ctx context.Context, seq int64) ([]store.Batch, error) {
	return collect(ctx, s.base, func(row Scanner) (b store.Batch, err error) {
		err = row.Scan(&b.Keys, &b.State, &b.Busiest, &b.Seconds, &b.ThetaAfter, &b.TableAfter, &b.Version,
			numbers(&b.Awaited))
		return b, err
	}, `SELECT key_count, state, busiest, seconds, theta_after, table_after, version, awaited FROM plan_batches
		WHERE plan_seq = $1 ORDER BY n`, seq)
}

// BatchData returns what a batch changes in the table, and what else is held.
func (s batchStatements) BatchData(ctx context.Context, seq, n int64) (changes, held []byte, err error) {
	err = s.QueryRow(ctx, `SELECT changes, held FROM plan_batches WHERE plan_seq = $1 AND n = $2`, seq, n).
		Scan(&changes, &held)
	return changes, held, notFound(err)
}

// SetBatchesDone notes that the batches from first to last became a table version.
func (s batchStatements) SetBatchesDone(ctx context.Context, seq, first, last, version int64) error {
	err := s.exec(ctx, `UPDATE plan_batches SET version = $4 WHERE plan_seq = $1 AND n BETWEEN $2 AND $3`,
		seq, first, last, version)
	if err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE plans SET batches_done = $2 WHERE seq = $1`, seq, last)
}

// BeginBatch has a plan wait for other instances than before, none of which has acked.
func (s batchStatements) BeginBatch(ctx context.Context, seq int64, awaited []int32) error {
	if err := s.exec(ctx, `DELETE FROM acks WHERE plan_seq = $1`, seq); err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE plans SET awaited = $2 WHERE seq = $1`, seq, numbers(&awaited))
}

// SetStopping has a plan end after the batch that it hands over.
func (s batchStatements) SetStopping(ctx context.Context, seq int64) error {
	return s.exec(ctx, `UPDATE plans SET stopping = $2 WHERE seq = $1`, seq, true)
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"plannerd/store"
)

func (s statements) InsertReport(ctx context.Context, operator int64, r store.Report, data []byte) (id int64, err error) {
	if data == nil {
		data = []byte{}
	}
	err = s.db.QueryRow(ctx,
		`INSERT INTO reports (operator_id, epoch, interval, instance, table_version, row_count, at, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		operator, r.Epoch, r.Interval, r.Instance, r.TableVersion, r.Rows, at(&r.At), data).Scan(&id)
	return id, err
}

func (s statements) DeleteReport(ctx context.Context, operator int64, r store.Report) (bool, error) {
	result, err := s.db.Exec(ctx, `DELETE FROM reports WHERE operator_id = $1 AND epoch = $2 AND instance = $3 AND interval = $4`,
		operator, r.Epoch, r.Instance, r.Interval)
	return result.RowsAffected() > 0, err
}

func (s statements) LastReports(ctx context.Context, operator, epoch, interval int64) ([]store.Report, error) {
	return collect(ctx, s, func(row pgx.Row) (r store.Report, err error) {
		err = row.Scan(&r.Revision, &r.Epoch, &r.Interval, &r.Instance, &r.TableVersion, &r.Rows, at(&r.At))
		return r, err
	}, `SELECT DISTINCT ON (instance) id, epoch, interval, instance, table_version, row_count, at FROM reports
		WHERE operator_id = $1 AND epoch = $2 AND interval <= $3 ORDER BY instance, interval DESC`, operator, epoch, interval)
}

func (s statements) ReportData(ctx context.Context, operator, revision int64) (data []byte, err error) {
	err = s.db.QueryRow(ctx, `SELECT data FROM reports WHERE operator_id = $1 AND id = $2`, operator, revision).Scan(&data)
	return data, notFound(err)
}

func (s statements) KeepReports(ctx context.Context, operator int64, instance int32, n int) error {
	return s.exec(ctx,
		`DELETE FROM reports WHERE operator_id = $1 AND instance = $2 AND (epoch, interval) <= (
			SELECT epoch, interval FROM reports WHERE operator_id = $1 AND instance = $2
			ORDER BY epoch DESC, interval DESC LIMIT 1 OFFSET $3)`, operator, instance, n)
}

func (s statements) DropReports(ctx context.Context, operator int64, since time.Time) error {
	return s.exec(ctx, `DELETE FROM reports WHERE operator_id = $1 AND at >= $2`, operator, at(&since))
}

func (s statements) PurgeReports(ctx context.Context, operator, epoch, interval, oldest int64) error {
	return s.exec(ctx,
		`DELETE FROM reports r WHERE operator_id = $1 AND (epoch < $2 OR epoch = $2 AND (interval < $4 OR interval < $3 AND EXISTS (
			SELECT FROM reports n WHERE n.operator_id = $1 AND n.epoch = $2 AND n.instance = r.instance
			AND n.interval > r.interval AND n.interval <= $3)))`, operator, epoch, interval, oldest)
}

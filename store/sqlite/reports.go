package sqlite

import (
	"context"
	"time"

	"plannerd/store"
)

func (s statements) InsertReport(ctx context.Context, operator int64, r store.Report, data []byte) (int64, error) {
	if data == nil {
		data = []byte{}
	}
	return s.insert(ctx,
		`INSERT INTO reports (operator_id, epoch, interval, instance, table_version, row_count, at, data)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, operator, r.Epoch, r.Interval, r.Instance, r.TableVersion, r.Rows, at(&r.At), data)
}

func (s statements) DeleteReport(ctx context.Context, operator int64, r store.Report) (bool, error) {
	result, err := s.db.ExecContext(ctx, `DELETE FROM reports WHERE operator_id = ? AND epoch = ? AND instance = ? AND interval = ?`,
		operator, r.Epoch, r.Instance, r.Interval)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

func (s statements) LastReports(ctx context.Context, operator, epoch, interval int64) ([]store.Report, error) {
	return collect(ctx, s, func(row scanner) (r store.Report, err error) {
		err = row.Scan(&r.Revision, &r.Epoch, &r.Interval, &r.Instance, &r.TableVersion, &r.Rows, at(&r.At))
		return r, err
	}, `SELECT id, epoch, interval, instance, table_version, row_count, at FROM reports r
		WHERE operator_id = ?1 AND epoch = ?2 AND interval <= ?3 AND NOT EXISTS (
			SELECT 1 FROM reports n WHERE n.operator_id = ?1 AND n.epoch = ?2 AND n.instance = r.instance
			AND n.interval > r.interval AND n.interval <= ?3)
		ORDER BY instance`, operator, epoch, interval)
}

func (s statements) ReportData(ctx context.Context, operator, revision int64) (data []byte, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT data FROM reports WHERE operator_id = ? AND id = ?`, operator, revision).Scan(&data)
	if err == nil && data == nil {
		data = []byte{} // the driver reads an empty blob as nil
	}
	return data, notFound(err)
}

func (s statements) KeepReports(ctx context.Context, operator int64, instance int32, n int) error {
	return s.exec(ctx,
		`DELETE FROM reports WHERE operator_id = ?1 AND instance = ?2 AND (epoch, interval) <= (
			SELECT epoch, interval FROM reports WHERE operator_id = ?1 AND instance = ?2
			ORDER BY epoch DESC, interval DESC LIMIT 1 OFFSET ?3)`, operator, instance, n)
}

func (s statements) DropReports(ctx context.Context, operator int64, since time.Time) error {
	return s.exec(ctx, `DELETE FROM reports WHERE operator_id = ? AND at >= ?`, operator, at(&since))
}

func (s statements) PurgeReports(ctx context.Context, operator, epoch, interval, oldest int64) error {
	return s.exec(ctx,
		`DELETE FROM reports WHERE operator_id = ?1 AND (epoch < ?2 OR epoch = ?2 AND (interval < ?4 OR interval < ?3 AND EXISTS (
			SELECT 1 FROM reports n WHERE n.operator_id = ?1 AND n.epoch = ?2 AND n.instance = reports.instance
			AND n.interval > reports.interval AND n.interval <= ?3)))`, operator, epoch, interval, oldest)
}

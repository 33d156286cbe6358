package statements

import (
	"context"

	"plannerd/store"
)

// InsertReport adds a report, whose number is its revision.
func (s reportStatements) InsertReport(ctx context.Context, operator int64, r store.Report, data []byte) error {
	if data == nil {
		data = []byte{}
	}
	return s.exec(ctx,
		`INSERT INTO reports (operator_id, epoch, interval, instance, table_version, row_count, at, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, operator, r.Epoch, r.Interval, r.Instance, r.TableVersion, r.Rows,
		s.at(&r.At), data)
}

// DeleteReport removes the report of the same epoch, interval and instance, and tells
// whether there was one.
func (s reportStatements) DeleteReport(ctx context.Context, operator int64, r store.Report) (bool, error) {
	return s.changed(ctx, `DELETE FROM reports WHERE operator_id = $1 AND epoch = $2 AND instance = $3 AND interval = $4`,
		operator, r.Epoch, r.Instance, r.Interval)
}

// LastReports lists the newest report of each instance of the epoch up to the
// interval, in ascending order of the instances.
func (s reportStatements) LastReports(ctx context.Context, operator, epoch, interval int64) ([]store.Report, error) {
	return collect(ctx, s.base, s.scanReport, reportColumns+` r WHERE operator_id = $1 AND epoch = $2 AND interval <= $3 AND NOT EXISTS (
			SELECT 1 FROM reports n WHERE n.operator_id = $1 AND n.epoch = $2 AND n.instance = r.instance
			AND n.interval > r.interval AND n.interval <= $3)
		ORDER BY instance`, operator, epoch, interval)
}

// KeptReports lists all reports of an operator, oldest first.
func (s reportStatements) KeptReports(ctx context.Context, operator int64) ([]store.Report, error) {
	return collect(ctx, s.base, s.scanReport, reportColumns+` WHERE operator_id = $1 ORDER BY id`, operator)
}

const reportColumns = `SELECT id, epoch, interval, instance, table_version, row_count, at FROM reports`

func (s reportStatements) scanReport(row Scanner) (r store.Report, err error) {
	err = row.Scan(&r.Revision, &r.Epoch, &r.Interval, &r.Instance, &r.TableVersion, &r.Rows, s.at(&r.At))
	return r, err
}

// ReportData returns what the report of that revision says.
func (s reportStatements) ReportData(ctx context.Context, operator, revision int64) ([]byte, error) {
	return s.blob(ctx, `SELECT data FROM reports WHERE operator_id = $1 AND id = $2`, operator, revision)
}

// KeepReports removes the instance's reports but the newest n, by epoch and interval.
func (s reportStatements) KeepReports(ctx context.Context, operator int64, instance int32, n int) error {
	return s.exec(ctx,
		`DELETE FROM reports WHERE operator_id = $1 AND instance = $2 AND (epoch, interval) <= (
			SELECT epoch, interval FROM reports WHERE operator_id = $1 AND instance = $2
			ORDER BY epoch DESC, interval DESC LIMIT 1 OFFSET $3)`, operator, instance, n)
}

// PurgeReports removes the reports of lower epochs; of this epoch those of intervals
// before the given one that are not the last of their instance up to it, and those
// before oldest.
func (s reportStatements) PurgeReports(ctx context.Context, operator, epoch, interval, oldest int64) error {
	return s.exec(ctx,
		`DELETE FROM reports WHERE operator_id = $1 AND (epoch < $2 OR epoch = $2 AND (interval < $4 OR interval < $3 AND EXISTS (
			SELECT 1 FROM reports n WHERE n.operator_id = $1 AND n.epoch = $2 AND n.instance = reports.instance
			AND n.interval > reports.interval AND n.interval <= $3)))`, operator, epoch, interval, oldest)
}

package statements

import (
	"context"

	"plannerd/store"
)

// Entries returns the committed table in ascending bytes of the keys.
func (s tableStatements) Entries(ctx context.Context, operator int64) ([]store.Entry, error) {
	return collect(ctx, s.base, func(row Scanner) (e store.Entry, err error) {
		err = row.Scan(&e.Key, &e.Instance, partsOf{&e.Parts})
		return e, err
	}, `SELECT key, instance, parts FROM table_entries WHERE operator_id = $1 ORDER BY key`, operator)
}

// TableVersion returns one version in a table's history.
func (s tableStatements) TableVersion(ctx context.Context, operator, version int64) (v TableVersion, err error) {
	return one(ctx, s.base, s.scanVersion, versionColumns+` AND version = $2`, operator, version)
}

// TableVersions returns the versions in a table's history, newest first.
func (s tableStatements) TableVersions(ctx context.Context, operator int64) ([]TableVersion, error) {
	return collect(ctx, s.base, s.scanVersion, versionColumns+` ORDER BY version DESC`, operator)
}

const versionColumns = `SELECT version, config_version, plan_id, diff_id, created_at, checksum FROM table_versions
	WHERE operator_id = $1`

func (s tableStatements) scanVersion(row Scanner) (v TableVersion, err error) {
	err = row.Scan(&v.Version, &v.ConfigVersion, &v.PlanID, &v.DiffID, s.at(&v.CreatedAt), &v.Checksum)
	return v, err
}

// InsertTableVersion adds a version to a table's history.
func (s tableStatements) InsertTableVersion(ctx context.Context, operator int64, v TableVersion) error {
	return s.exec(ctx,
		`INSERT INTO table_versions (operator_id, version, config_version, plan_id, diff_id, created_at, checksum)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, operator, v.Version, v.ConfigVersion, v.PlanID, v.DiffID, s.at(&v.CreatedAt),
		v.Checksum)
}

// Diffs calls f with the diff of each table version above the given one, newest
// first. data is valid during the call only.
func (s tableStatements) Diffs(ctx context.Context, operator, above int64, f func(data []byte) error) error {
	rows, err := s.Query(ctx,
		`SELECT d.data FROM table_versions v JOIN diffs d ON d.id = v.diff_id
		WHERE v.operator_id = $1 AND v.version > $2 ORDER BY v.version DESC`, operator, above)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		data, err := value[[]byte](rows)
		if err == nil {
			err = f(data)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// withParts is the version of the schema from which on entries may have parts.
const withParts = 13

// InsertDiff adds a diff and returns its number. With the first one that has parts,
// programs that know nothing of these have to stop: they would take such keys for whole.
func (s tableStatements) InsertDiff(ctx context.Context, operator int64, data []byte) (id int64, err error) {
	if store.EncodesParts(data) {
		if err := s.RaiseOldestProgram(ctx, withParts); err != nil {
			return 0, err
		}
	}
	return get[int64](ctx, s.base, `INSERT INTO diffs (operator_id, data) VALUES ($1, $2) RETURNING id`, operator, data)
}

// Diff returns the diff of that number.
func (s tableStatements) Diff(ctx context.Context, id int64) ([]byte, error) {
	return get[[]byte](ctx, s.base, `SELECT data FROM diffs WHERE id = $1`, id)
}

// PurgeTableVersions removes table versions up to the given one.
func (s tableStatements) PurgeTableVersions(ctx context.Context, operator, upTo int64) error {
	return s.purge(ctx, `DELETE FROM table_versions WHERE operator_id = $1 AND version <= $2`, operator, upTo)
}

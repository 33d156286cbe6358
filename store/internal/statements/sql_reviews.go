package statements

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"plannerd/store"
)

// freezeOf reads a freeze.
type freezeOf struct{ to **store.Freeze }

// Scan implements [database/sql.Scanner].
func (f freezeOf) Scan(src any) error {
	var text []byte
	if err := (JSON{P: &text, Decoded: true}).Scan(src); err != nil || text == nil {
		*f.to = nil
		return err
	}
	*f.to = new(store.Freeze)
	return json.Unmarshal(text, *f.to)
}

// Freeze returns what holds an operator now; nil: nothing.
func (s reviewStatements) Freeze(ctx context.Context, name string, now time.Time) (f *store.Freeze, err error) {
	err = s.QueryRow(ctx, `SELECT data FROM freezes WHERE operator IN ('', $1) AND until_at > $2
		ORDER BY until_at DESC, operator LIMIT 1`, name, s.at(&now)).Scan(freezeOf{&f})
	if errors.Is(notFound(err), store.ErrNotFound) {
		return nil, nil
	}
	return f, err
}

// SetFreeze holds an operator, or all for the name "", in place of what held it, which it returns; nil
// ends that.
func (s reviewStatements) SetFreeze(ctx context.Context, name string, f *store.Freeze) (was *store.Freeze, err error) {
	err = s.QueryRow(ctx, `DELETE FROM freezes WHERE operator = $1 RETURNING data`, name).Scan(freezeOf{&was})
	if err = notFound(err); f == nil && errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) || f == nil {
		return was, err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return was, err
	}
	return was, s.exec(ctx, `INSERT INTO freezes (operator, until_at, data) VALUES ($1, $2, $3)`, name, s.at(&f.Until),
		JSON{P: &text})
}

// ForgetFreezes ends what holds an operator that is deleted, and forgets what did.
func (s reviewStatements) ForgetFreezes(ctx context.Context, name string) error {
	return cmp.Or(s.exec(ctx, `DELETE FROM freezes WHERE operator = $1`, name),
		s.exec(ctx, `DELETE FROM freeze_events WHERE operator = $1`, name))
}

// Configuration returns one version of an operator's configuration.
func (s reviewStatements) Configuration(ctx context.Context, operator string,
	version int64) (store.Configuration, error) {
	return one(ctx, s.base, s.scanConfiguration, configurationsOf+` AND c.version = $2`, operator, version)
}

const configurationsOf = `SELECT c.version, c.config, c.created_at, c.actor
	FROM configurations c JOIN operators o ON o.id = c.operator_id WHERE o.name = $1 AND o.deleted_at IS NULL`

func (s reviewStatements) scanConfiguration(row Scanner) (c store.Configuration, err error) {
	err = row.Scan(&c.Version, JSON{P: &c.Config, Decoded: true}, s.at(&c.CreatedAt), &c.Actor)
	return c, err
}

// Configurations lists the newest versions before one.
func (s reviewStatements) Configurations(ctx context.Context, operator string, before int64, limit int) (
	[]store.Configuration, error,
) {
	return collect(ctx, s.base, s.scanConfiguration, configurationsOf+` AND c.version < $2 ORDER BY c.version DESC LIMIT $3`,
		operator, before, limit)
}

// ConfiguredSince lists the versions after a time, oldest first.
func (s reviewStatements) ConfiguredSince(ctx context.Context, operator string, since time.Time) (
	[]store.Configuration, error,
) {
	return collect(ctx, s.base, s.scanConfiguration, configurationsOf+` AND c.created_at > $2 ORDER BY c.version`,
		operator, s.at(&since))
}

// InsertFreezeEvent adds an event, of which the newest so many are kept, and returns its number.
func (s reviewStatements) InsertFreezeEvent(ctx context.Context, operator string, e store.FreezeEvent, keep int) (
	id int64, err error,
) {
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	id, err = get[int64](ctx, s.base, `INSERT INTO freeze_events (operator, at, data) VALUES ($1, $2, $3) RETURNING id`,
		operator, s.at(&e.At), JSON{P: &data})
	if err != nil {
		return 0, err
	}
	return id, s.exec(ctx, `DELETE FROM freeze_events WHERE operator = $1 AND id <= (SELECT id FROM freeze_events
		WHERE operator = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`, operator, keep)
}

// FreezesSince lists what happened to freezes of an operator, or of all, after a time, oldest first.
func (s reviewStatements) FreezesSince(ctx context.Context, operator string, since time.Time) (
	[]store.FreezeEvent, error,
) {
	return collect(ctx, s.base, func(row Scanner) (e store.FreezeEvent, err error) {
		var data []byte
		if err = row.Scan(JSON{P: &data, Decoded: true}); err == nil {
			err = json.Unmarshal(data, &e)
		}
		return e, err
	}, `SELECT data FROM freeze_events WHERE operator IN ('', $1) AND at > $2 ORDER BY id`, operator, s.at(&since))
}

// InsertConfiguration adds a version of an operator's configuration.
func (s reviewStatements) InsertConfiguration(ctx context.Context, operator int64, c store.Configuration) error {
	return s.exec(ctx,
		`INSERT INTO configurations (operator_id, version, config, created_at, actor) VALUES ($1, $2, $3, $4, $5)`,
		operator, c.Version, string(c.Config), s.at(&c.CreatedAt), c.Actor)
}

// PurgeConfigurations removes the versions up to the given one that no plan and no version
// of the table is of.
func (s reviewStatements) PurgeConfigurations(ctx context.Context, operator, upTo int64) error {
	return s.exec(ctx,
		`DELETE FROM configurations WHERE operator_id = $1 AND version <= $2
		AND version NOT IN (SELECT config_version FROM plans WHERE operator_id = $1)
		AND version NOT IN (SELECT config_version FROM table_versions WHERE operator_id = $1)`, operator, upTo)
}

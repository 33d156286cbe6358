package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// Table implements [store.Store].
func (s *Store) Table(ctx context.Context, operator string, version *int64) (t store.Table, err error) {
	err = s.db.Snapshot(ctx, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		t, err = table(ctx, q, r, *cmp.Or(version, &r.TableVersion))
		return err
	}))
	if err != nil {
		return store.Table{}, fmt.Errorf("routing table of operator %q: %w", operator, err)
	}
	return t, nil
}

func table(ctx context.Context, q statements.Statements, r statements.Row, version int64) (store.Table, error) {
	if version < 0 || version > r.TableVersion {
		return store.Table{}, fmt.Errorf("version %d: %w", version, store.ErrNotFound)
	}
	v, err := q.TableVersion(ctx, r.ID, version)
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrPurged // every number up to the newest was a version
	}
	if err != nil {
		return store.Table{}, fmt.Errorf("version %d: %w", version, err)
	}
	entries, err := q.Entries(ctx, r.ID)
	if err != nil {
		return store.Table{}, err
	}
	past := history{}
	err = q.Diffs(ctx, r.ID, version, func(data []byte) error {
		changes, err := store.DecodeChanges(data)
		if err != nil {
			return err
		}
		return past.undo(changes)
	})
	if err == nil {
		entries, err = past.table(entries)
	}
	if err == nil {
		err = check(v, checksumOf(entries))
	}
	if err != nil {
		return store.Table{}, fmt.Errorf("rebuilding version %d: %w", version, err)
	}
	return store.Table{Version: version, Origin: v.Origin(), ConfigVersion: v.ConfigVersion, Entries: entries}, nil
}

// errHistory says that a table is not what the changes that made it say it is.
var errHistory = fmt.Errorf("%w: the stored table does not match the changes of its versions", store.ErrDamaged)

// history is what changed between an old table and the current one: for each
// key where it goes in both.
type history map[string]span

type span struct{ old, current route }

// route is where a key goes.
type route struct {
	instance int32
	parts    string
}

var nowhere = route{store.NoInstance, ""}

// undo goes one version back.
func (h history) undo(changes []store.Change) error {
	for _, c := range changes {
		s, seen := h[string(c.Key)]
		after := route{c.New, c.NewParts}
		if !seen {
			s.current = after
		} else if s.old != after {
			return fmt.Errorf("%w: key %q", errHistory, c.Key)
		}
		s.old = route{c.Old, c.OldParts}
		h[string(c.Key)] = s
	}
	return nil
}

// table returns the old table, given the current one. It uses h and current up.
func (h history) table(current []store.Entry) ([]store.Entry, error) {
	if len(h) == 0 {
		return current, nil
	}
	old := current[:0]
	for _, e := range current {
		if s, changed := h[string(e.Key)]; changed {
			delete(h, string(e.Key))
			if s.current != (route{e.Instance, e.Parts}) {
				return nil, fmt.Errorf("%w: key %q", errHistory, e.Key)
			}
			e.Instance, e.Parts = s.old.instance, s.old.parts
		}
		if e.Instance != store.NoInstance {
			old = append(old, e)
		}
	}
	for key, s := range h { // those that the current table does not have
		if s.current != nowhere {
			return nil, fmt.Errorf("%w: key %q", errHistory, key)
		}
		if s.old != nowhere {
			old = append(old, store.Entry{Key: []byte(key), Instance: s.old.instance, Parts: s.old.parts})
		}
	}
	slices.SortFunc(old, func(a, b store.Entry) int { return bytes.Compare(a.Key, b.Key) })
	return old, nil
}

// handOver returns what takes out the entries that are stored, with its diff, as
// the engine holds the table from now on. Mostly there are none.
func handOver(ctx context.Context, q statements.Statements, r statements.Row) (changes []store.Change, diffID *int64,
	err error) {
	if r.TableSize == 0 {
		return nil, nil, nil
	}
	entries, err := q.Entries(ctx, r.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		changes = append(changes, store.Change{Key: e.Key, Old: e.Instance, OldParts: e.Parts, New: store.NoInstance})
	}
	diff, err := store.EncodeChanges(changes)
	if err != nil {
		return nil, nil, err
	}
	id, err := q.InsertDiff(ctx, r.ID, diff)
	return changes, &id, err
}

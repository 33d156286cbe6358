package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/twmb/murmur3"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// guarded is a database to which nothing more is written once something in it was found to be
// damaged: what is worked out of a wrong table is another wrong table.
type guarded struct {
	Database
	found atomic.Pointer[error]
}

// notice remembers an error that says that something is damaged, and returns it.
func (g *guarded) notice(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		g.found.CompareAndSwap(nil, &err)
	}
	return err
}

// intact fails if something was found to be damaged.
func (g *guarded) intact() error {
	if found := g.found.Load(); found != nil {
		return fmt.Errorf("nothing more is written until plannerd is started again: %w", *found)
	}
	return nil
}

func (g *guarded) Read(ctx context.Context, f func(statements.Statements) error) error {
	return g.notice(g.Database.Read(ctx, f))
}

func (g *guarded) Snapshot(ctx context.Context, f func(statements.Statements) error) error {
	return g.notice(g.Database.Snapshot(ctx, f))
}

func (g *guarded) Update(ctx context.Context, f func(statements.Statements) error) error {
	if err := g.intact(); err != nil {
		return err
	}
	return g.notice(g.Database.Update(ctx, f))
}

func (g *guarded) Check(ctx context.Context) error {
	if err := g.intact(); err != nil {
		return err
	}
	return g.notice(g.Database.Check(ctx))
}

// NoticeDamage implements [store.Store].
func (s *Store) NoticeDamage(_ context.Context, damage error) error { return s.db.notice(damage) }

// checksum is a sum over the entries of a table, modulo 2⁶⁴. A sum follows from the one before
// and from what changed, so that a commit need not read the table.
type checksum uint64

// checksumOf returns that of a whole table.
func checksumOf(entries []store.Entry) (sum checksum) {
	var buffer []byte
	for _, e := range entries {
		buffer = sum.add(buffer, e.Key, e.Instance, e.Parts, 1)
	}
	return sum
}

// apply goes on to the table after changes. With a sign of ^0, which is −1, it goes back.
func (c checksum) apply(changes []store.Change, sign checksum) checksum {
	var buffer []byte
	for _, x := range changes {
		if x.Old != store.NoInstance {
			buffer = c.add(buffer, x.Key, x.Old, x.OldParts, -sign)
		}
		if x.New != store.NoInstance {
			buffer = c.add(buffer, x.Key, x.New, x.NewParts, sign)
		}
	}
	return c
}

func (c *checksum) add(buffer, key []byte, instance int32, parts string, sign checksum) []byte {
	buffer = binary.LittleEndian.AppendUint32(buffer[:0], uint32(instance))
	buffer = binary.LittleEndian.AppendUint32(buffer, uint32(len(key)))
	buffer = append(append(buffer, key...), parts...)
	*c += sign * checksum(murmur3.Sum64(buffer))
	return buffer
}

// stored is how the database keeps it.
func (c checksum) stored() *int64 { return new(int64(c)) }

// check fails if a table is not the one that became that version. Versions that an older program
// made have no checksum.
func check(v statements.TableVersion, sum checksum) error {
	if v.Checksum != nil && *v.Checksum != *sum.stored() {
		return fmt.Errorf("%w: version %d of the routing table is not the one that was committed", store.ErrDamaged,
			v.Version)
	}
	return nil
}

// checksumAfter is that of the table that changes have just been made to, of which v was the
// version before them.
func checksumAfter(ctx context.Context, q statements.Statements, v statements.TableVersion, operator int64,
	changes []store.Change) (checksum, error) {
	if v.Checksum != nil {
		return checksum(*v.Checksum).apply(changes, 1), nil
	}
	entries, err := q.Entries(ctx, operator)
	return checksumOf(entries), err
}

// VerifyTable implements [store.Store].
func (s *Store) VerifyTable(ctx context.Context, operator string) error {
	err := s.db.Snapshot(ctx, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) error {
		entries, err := q.Entries(ctx, r.ID)
		if err != nil {
			return err
		}
		if int64(len(entries)) != r.TableSize {
			return fmt.Errorf("%w: the routing table has %d entries instead of %d", store.ErrDamaged, len(entries), r.TableSize)
		}
		versions, err := q.TableVersions(ctx, r.ID)
		if err != nil {
			return err
		}
		sum := checksumOf(entries)
		for i, v := range versions {
			if v.Version != r.TableVersion-int64(i) {
				return fmt.Errorf("%w: version %d of the routing table is missing", store.ErrDamaged, r.TableVersion-int64(i))
			}
			if err := check(v, sum); err != nil {
				return err
			}
			if v.DiffID == nil {
				continue
			}
			data, err := q.Diff(ctx, *v.DiffID)
			var changes []store.Change
			if err == nil {
				changes, err = store.DecodeChanges(data)
			}
			if err != nil {
				return fmt.Errorf("version %d of the routing table: %w", v.Version, err)
			}
			sum = sum.apply(changes, ^checksum(0))
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("operator %q: %w", operator, err)
	}
	return nil
}

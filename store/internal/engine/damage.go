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
	var add adder
	for _, e := range entries {
		sum += add.of(e.Key, e.Instance, e.Parts)
	}
	return sum
}

// differenceOf returns what changes add to the checksum of the table before them, modulo 2⁶⁴.
func differenceOf(changes []store.Change) (difference checksum) {
	var add adder
	for _, c := range changes {
		difference += add.of(c.Key, c.New, c.NewParts) - add.of(c.Key, c.Old, c.OldParts)
	}
	return difference
}

// adder hashes entries. It holds the buffer in which they are put together.
type adder []byte

// of returns what an entry adds to a checksum; without an instance there is no entry.
func (a *adder) of(key []byte, instance int32, parts string) checksum {
	if instance == store.NoInstance {
		return 0
	}
	*a = binary.LittleEndian.AppendUint32((*a)[:0], uint32(instance))
	*a = binary.LittleEndian.AppendUint32(*a, uint32(len(key)))
	*a = append(append(*a, key...), parts...)
	return checksum(murmur3.Sum64(*a))
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

// checksumAfter returns the checksum of a table after changes that were just made to its version v.
func checksumAfter(ctx context.Context, q statements.Statements, v statements.TableVersion, operator int64,
	changes []store.Change) (checksum, error) {
	if v.Checksum != nil {
		return checksum(*v.Checksum) + differenceOf(changes), nil
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
			sum -= differenceOf(changes)
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("operator %q: %w", operator, err)
	}
	return nil
}

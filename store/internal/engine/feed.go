package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// TableChanges implements [store.Store].
func (s *Store) TableChanges(ctx context.Context, operator string, since int64) (f store.Feed, err error) {
	err = s.db.Snapshot(ctx, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		f, err = feed(ctx, q, r, since, s.now())
		return err
	}))
	if err != nil {
		return store.Feed{}, fmt.Errorf("changes of the routing table of operator %q since version %d: %w",
			operator, since, err)
	}
	return f, nil
}

func feed(ctx context.Context, q statements.Statements, r statements.Row, since int64, now time.Time) (
	store.Feed, error,
) {
	f := store.Feed{Version: r.TableVersion, ConfigVersion: r.TableConfigVersion}
	newest, err := q.TableVersion(ctx, r.ID, r.TableVersion)
	if err != nil {
		return f, err
	}
	f.Origin = newest.Origin()
	from := newest
	if since != newest.Version {
		from, err = q.TableVersion(ctx, r.ID, since)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		f.Full = true
		if f.Entries, err = q.Entries(ctx, r.ID); err == nil {
			err = check(newest, checksumOf(f.Entries))
		}
	case err == nil:
		f.FromConfigVersion, f.FromOrigin = from.ConfigVersion, from.Origin()
		f.Changes, err = changesSince(ctx, q, r, since)
	}
	if err != nil {
		return f, err
	}
	f.Pending, f.Next, err = pending(ctx, q, r, now)
	return f, err
}

// changesSince returns the net changes from an older table to the committed one.
func changesSince(ctx context.Context, q statements.Statements, r statements.Row, since int64) ([]store.Change, error) {
	var diffs [][]store.Change
	err := q.Diffs(ctx, r.ID, since, func(data []byte) error {
		changes, err := store.DecodeChanges(data)
		diffs = append(diffs, changes)
		return err
	})
	if err != nil || len(diffs) == 0 {
		return nil, err
	}
	if len(diffs) == 1 { // who asks often is one version behind
		return diffs[0], nil
	}
	past := history{}
	for _, changes := range diffs {
		if err := past.undo(changes); err != nil {
			return nil, err
		}
	}
	return past.net(), nil
}

// net returns what leads from the old table to the current one.
func (h history) net() []store.Change {
	var changes []store.Change
	for key, s := range h {
		if s.old != s.current {
			changes = append(changes, store.Change{
				Key: []byte(key), Old: s.old.instance, OldParts: s.old.parts, New: s.current.instance, NewParts: s.current.parts,
			})
		}
	}
	slices.SortFunc(changes, func(a, b store.Change) int { return bytes.Compare(a.Key, b.Key) })
	return changes
}

// pending returns the plan that an engine is at work on, and what it will change; without one, the id of
// the approved plan that it may start.
func pending(ctx context.Context, q statements.Statements, r statements.Row, now time.Time) (
	out *store.PendingChange, next string, err error,
) {
	plans, err := q.InStatus(ctx, r.ID, store.StatusApplying, store.StatusAborting, store.StatusApproved)
	if err != nil {
		return nil, "", err
	}
	for _, p := range plans { // the newest approved one is the one
		switch {
		case p.Status.InFlight():
			out, err = pendingChange(ctx, q, p.ID)
			return out, "", err
		case !lapsed(p.Plan, now):
			if next = p.ID; p.LimitsChanged {
				next = ""
			}
		}
	}
	return nil, next, nil
}

func pendingChange(ctx context.Context, q statements.Statements, id string) (*store.PendingChange, error) {
	p, err := whole(ctx, q, id)
	if err != nil {
		return nil, err
	}
	out := &store.PendingChange{Plan: p.Plan}
	if p.BatchCount > 0 {
		_, out.Changes, out.Held, err = pendingBatch(ctx, q, p)
	} else {
		out.Changes, err = planChanges(ctx, q, p)
	}
	return out, err
}

// maxEvents is how many events a mailbox holds before it forgets which.
const maxEvents = 1024

// Mailbox holds what a watcher has not taken yet.
type Mailbox struct {
	lock   sync.Mutex
	names  map[string]bool
	filled chan struct{} // holds a token when there is something
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox {
	return &Mailbox{names: map[string]bool{}, filled: make(chan struct{}, 1)}
}

// Put adds the event of an operator, or of all: "". It does not wait.
func (m *Mailbox) Put(operator string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if operator == "" || len(m.names) == maxEvents {
		clear(m.names)
		operator = ""
	}
	if !m.names[""] {
		m.names[operator] = true
	}
	select {
	case m.filled <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (m *Mailbox) take() map[string]bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	names := m.names
	m.names = map[string]bool{}
	return names
}

// Deliver sends what is put until ctx ends, and then closes the channel.
func (m *Mailbox) Deliver(ctx context.Context, to chan<- store.Event) {
	defer close(to)
	for {
		select {
		case <-m.filled:
		case <-ctx.Done():
			return
		}
		for name := range m.take() {
			select {
			case to <- store.Event{Operator: name}:
			case <-ctx.Done():
				return
			}
		}
	}
}

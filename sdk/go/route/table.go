package route

import (
	"errors"
	"iter"
	"strconv"
	"sync/atomic"
)

// ErrNoRoute is returned for a key without an entry where there is no hash function:
// under [Reported] only the engine knows where it goes.
var ErrNoRoute = errors.New("route: the key has no entry, and there is no hash function")

// EntryError says which entry cannot be in a table, and why.
type EntryError struct {
	Key    string
	Detail string // what is wrong, such as "stands twice"
}

func (e *EntryError) Error() string { return "route: key " + strconv.Quote(e.Key) + ": " + e.Detail }

// Entry is one line of a routing table.
type Entry struct {
	Key      []byte
	Instance int32 // of a split key that of its heaviest part
	// Parts are where a split key goes: IDs ascending, two at least, weights that sum up
	// to [PartUnits]. Nil: the key is whole.
	Parts []Part
}

// Pending is what a plan that is being carried out will make of a table.
type Pending struct {
	// Version is what the table's will be.
	Version int64
	// Set and Unset are the changes of entries. Their keys are held back.
	Set   []Entry
	Unset [][]byte
	// Hash places the keys without an entry then.
	Hash Function
	// Routing is how parts of split keys are chosen then; "" is [Weighted].
	Routing Routing
	// Rehashed: the hash places keys differently than now. All keys whose route will be
	// another are held back, too.
	Rehashed bool
}

// Destination is where a table sends a key.
type Destination struct {
	// Instance is where the key goes; of a split key that of the part which its entry
	// names.
	Instance int32
	// Paused: the state of the key is moving, and its messages have to wait.
	Paused bool
	// Version is the table's.
	Version int64
	split   *split
	sent    *counts // that messages are counted in; nil: they are not
}

// Parts are where the messages of a split key go; nil: all go to the one instance. The
// slice is shared.
func (d Destination) Parts() []Part {
	if d.split == nil {
		return nil
	}
	return d.split.parts
}

// Next returns the instance of the next message of the key. Those of a split key go to
// all of its parts by weighted round-robin, or as [Table.WithRouting] says.
func (d Destination) Next() int32 {
	switch {
	case d.split == nil:
		if d.sent != nil {
			d.sent.at(d.Instance).Add(1)
		}
		return d.Instance
	case d.sent != nil:
		return d.sent.next(d.split)
	}
	return d.split.next()
}

// Table is an immutable version of a routing table. Its methods may be called at the same
// time.
type Table struct {
	version  int64
	affinity *Affinity // of the hash: entries are of routed keys; nil: of whole keys
	hash     Function  // of routed keys; nil: those without an entry have no route
	router   uint64    // where its turns of split keys begin
	entries  *layer
	changes  *layer   // entries that were set or unset since, which hide those of entries
	next     *pending // nil: nothing is pending
	sent     *counts  // nil: parts are chosen by their weights
}

// pending is the table that a plan will make, and what it names.
type pending struct {
	table *Table
	named *layer
	// rehashed: also keys that are not named may go elsewhere.
	rehashed bool
}

// by has a new table place keys by a function.
func (t *Table) by(f Function) *Table {
	t.affinity, t.hash = nil, f
	if grouped, ok := f.(affine); ok {
		t.affinity, t.hash = &grouped.Affinity, grouped.function
	}
	return t
}

func (t *Table) routed(key []byte) []byte {
	if t.affinity == nil {
		return key
	}
	return t.affinity.part(key)
}

// NewTable returns a table. Keys without an entry are placed by hash; nil: nobody knows
// where they are. The router's name decides with which part of a split key it begins.
func NewTable(version int64, hash Function, entries []Entry, router string) (*Table, error) {
	t := (&Table{version: version, router: KeyHash([]byte(router)), changes: newLayer(0)}).by(hash)
	t.entries = newLayer(len(entries))
	for i, e := range entries {
		if err := t.entries.put(e, KeyHash(e.Key), t.router, nil); err != nil {
			return nil, err
		}
		if t.entries.used == i {
			return nil, &EntryError{string(e.Key), "stands twice"}
		}
	}
	return t, nil
}

// Version is the table's.
func (t *Table) Version() int64 { return t.version }

// Entries yields all entries, in no order. What they share with the table must not be
// changed.
func (t *Table) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for at, l := range []*layer{t.changes, t.entries} {
			for i := range l.slots {
				s := &l.slots[i]
				key := l.textOf(s)
				hidden := at == 1 && s.kind != free && t.changes.find(key, KeyHash(key)) != nil
				if s.kind == free || s.kind == unset || hidden {
					continue
				}
				if !yield(l.entry(s)) {
					return
				}
			}
		}
	}
}

// Lookup returns where a key goes. It does not allocate. The error says why no route is
// known; whether the key is paused is known nevertheless.
func (t *Table) Lookup(key []byte) (Destination, error) {
	routed := t.routed(key)
	hash := KeyHash(routed)
	d, err := t.at(routed, hash)
	if t.next != nil {
		if t.affinity != t.next.table.affinity { // it may be another one
			routed = t.next.table.routed(key)
			hash = KeyHash(routed)
		}
		d.Paused = t.next.pauses(routed, hash, d)
	}
	return d, err
}

// Pending returns the table that a plan will make of this one; nil: nothing is pending.
func (t *Table) Pending() *Table {
	if t.next == nil {
		return nil
	}
	return t.next.table
}

// at is Lookup of a routed key, without what is pending.
func (t *Table) at(key []byte, hash uint64) (Destination, error) {
	d := Destination{Version: t.version, sent: t.sent}
	l := t.changes
	found := l.find(key, hash)
	if found == nil {
		l = t.entries
		found = l.find(key, hash)
	}
	if found == nil || found.kind == unset {
		if t.hash == nil {
			return d, ErrNoRoute
		}
		var err error
		d.Instance, err = t.hash.Instance(key, hash)
		return d, err
	}
	d.Instance = found.instance
	if found.kind == divided {
		d.split = &l.splits[found.instance]
		d.Instance = d.split.heaviest
	}
	return d, nil
}

// pauses reports whether messages of what will be a routed key have to wait that goes there now.
func (p *pending) pauses(key []byte, hash uint64, now Destination) bool {
	if p.named.find(key, hash) != nil {
		return true
	}
	if !p.rehashed {
		return false
	}
	then, err := p.table.at(key, hash)
	return err != nil || then.Instance != now.Instance
}

// Changed returns the table of a later version: with entries set and unset, and nothing
// pending. The turns of split keys go on. The old table stays as it is.
func (t *Table) Changed(version int64, set []Entry, unset [][]byte) (*Table, error) {
	next := *t
	next.version, next.next = version, nil
	if t.sent != nil && version != t.version {
		next.sent = newCounts()
	}
	changes, err := t.changes.with(len(set) + len(unset))
	if err != nil {
		return nil, err
	}
	for _, e := range set {
		hash := KeyHash(e.Key)
		var turn *atomic.Uint32
		if old, err := t.at(e.Key, hash); err == nil && old.split != nil {
			turn = old.split.turn
		}
		if err := changes.put(e, hash, t.router, turn); err != nil {
			return nil, err
		}
	}
	if err := changes.unsetAll(unset); err != nil {
		return nil, err
	}
	// Every change copies those before it, and every lookup looks into them first. Once
	// they are many, there is one list again.
	if next.changes = changes; changes.used > max(leastMerged, t.entries.used/8) {
		if next.entries, err = t.entries.merged(changes); err != nil {
			return nil, err
		}
		next.changes = newLayer(0)
	}
	return &next, nil
}

// leastMerged is how many changes are not worth a new list.
const leastMerged = 1 << 10

// WithPending returns the same table under a plan that is being carried out; nil: under
// none.
func (t *Table) WithPending(p *Pending) (*Table, error) {
	now := *t
	now.next = nil
	if p == nil {
		return &now, nil
	}
	then, err := now.Changed(p.Version, p.Set, p.Unset)
	if err != nil {
		return nil, err
	}
	then = then.WithRouting(p.Routing).by(p.Hash)
	named := newLayer(len(p.Set) + len(p.Unset))
	for _, e := range p.Set {
		if err := named.unset(e.Key, KeyHash(e.Key)); err != nil {
			return nil, err
		}
	}
	if err := named.unsetAll(p.Unset); err != nil {
		return nil, err
	}
	now.next = &pending{table: then, named: named, rehashed: p.Rehashed}
	return &now, nil
}

// Current is the table that a router goes by now.
type Current struct{ table atomic.Pointer[Table] }

// Load returns the table; nil before the first.
func (c *Current) Load() *Table { return c.table.Load() }

// Store replaces the table. Lookups that have begun end by the old one.
func (c *Current) Store(t *Table) { c.table.Store(t) }

// Lookup is [Table.Lookup] of the table as it is now, which there must be.
func (c *Current) Lookup(key []byte) (Destination, error) { return c.table.Load().Lookup(key) }

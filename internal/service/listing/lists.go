package listing

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"plannerd/compact"
	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/service/figures"
	"plannerd/planner/ring"
	"plannerd/store"
)

// Part is a list that an answer has under a name.
type Part struct {
	Name string
	List lists.List
}

// Lists are the long parts of a plan. A nil part is not known, or was not asked for.
type Lists struct {
	// Change is what the plan does to the routing table, or to what there is in its
	// place: entries "set" and keys "unset", of a table or of a head, "tokens_added" and "tokens_removed", or
	// all "owners" afterwards.
	Change     []Part
	Migrations lists.List
}

// NeedsBase64 tells whether some key is not valid UTF-8.
func (l Lists) NeedsBase64() bool {
	return PartsNeedBase64(l.Change) || l.Migrations != nil && l.Migrations.NeedsBase64()
}

// PartsNeedBase64 reports whether some key of the parts is not valid UTF-8.
func PartsNeedBase64(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.List.NeedsBase64() })
}

// ListOf is a list of records that are in memory.
func ListOf[R lists.Record](records []R) lists.List {
	return lists.Records[R](slices.Values(records))
}

// EntriesOf lists stored entries.
func EntriesOf(entries []store.Entry) lists.List {
	return lists.Records[lists.Entry](func(yield func(lists.Entry) bool) {
		for _, e := range entries {
			if !yield(figures.EntryOf(e)) {
				return
			}
		}
	})
}

// ChangeParts lists the entries that changes set, and the keys of those that they
// unset.
func ChangeParts(changes []store.Change) []Part {
	set := func(yield func(lists.Entry) bool) {
		for _, c := range changes {
			if c.New != store.NoInstance && !yield(figures.EntryOf(figures.After(c))) {
				return
			}
		}
	}
	unset := func(yield func(lists.UnsetKey) bool) {
		for _, c := range changes {
			if c.New == store.NoInstance && !yield(c.Key) {
				return
			}
		}
	}
	return []Part{{"set", lists.Records[lists.Entry](set)}, {"unset", lists.Records[lists.UnsetKey](unset)}}
}

// Migrations are what a plan moves, of one kind.
type Migrations interface {
	List() lists.List
	Index() MoveIndex
}

// Decode reads the migrations of a plan of a routing table.
func Decode(id string, blob []byte) (Migrations, error) {
	if stored.IsClassMoves(blob) {
		m, err := DecodeClassMoves(id, blob)
		if err != nil {
			return nil, err
		}
		records := slices.DeleteFunc(m.Classes, func(r compact.Record) bool { return r.Planned == r.Current })
		if m.Named == nil {
			return ClassMigrations(records), nil
		}
		return ItemMigrations{records, KeyMigrations{m.Named}, m.Scales}, nil
	}
	m, err := stored.DecodeMigrations(blob)
	if err != nil {
		return nil, fmt.Errorf("reading the stored migrations of plan %s: %w", id, err)
	}
	return KeyMigrations{m}, nil
}

// DecodeClassMoves reads what the store keeps of the moves of a plan of classes.
func DecodeClassMoves(id string, blob []byte) (*stored.ItemMoves, error) {
	m, err := stored.DecodeItemMoves(blob)
	if err != nil {
		return nil, fmt.Errorf("reading the stored migrations of plan %s: %w", id, err)
	}
	return m, nil
}

// LayoutDiff is what a plan of a scheme without a routing table changes, in place of
// entries of one.
type LayoutDiff interface {
	Migrations
	Encode() []byte
	// Parts is what the plan does to the layout.
	Parts() []Part
}

type (
	// KeyMigrations are the migrations of a plan of keys, as the store has them.
	KeyMigrations struct{ *stored.Migrations }
	// ClassMigrations are the moves of a plan of classes, in ascending order of d, d_h,
	// v_c, v_S and d′.
	ClassMigrations []compact.Record
	// ItemMigrations are those of classes, and behind them of keys that are named. What these
	// cost is filtered, sorted and summed up in units of the scales, as that of classes is.
	ItemMigrations struct {
		classes ClassMigrations
		Named   KeyMigrations
		scales  compact.Scales
	}
	// RingDiff is what a plan changes of a token ring.
	RingDiff struct{ stored.RingPlan }
	// RangesDiff is what a plan changes of key ranges.
	RangesDiff struct{ stored.RangesPlan }
	// PkgDiff has the blob of its migrations, and what changes in the head.
	PkgDiff struct {
		KeyMigrations
		Blob []byte
		Head []store.Change
	}
)

// List implements [Migrations].
func (m KeyMigrations) List() lists.List { return m.All() }

// List implements [Migrations].
func (m ClassMigrations) List() lists.List {
	return lists.ClassMovesOf(m)
}

// List implements [Migrations].
func (m ItemMigrations) List() lists.List {
	return lists.ItemMovesOf(m.classes, m.Named.All())
}

// List implements [Migrations].
func (d RingDiff) List() lists.List { return ListOf(d.Arcs) }

// List implements [Migrations].
func (d RangesDiff) List() lists.List { return ListOf(d.Moves) }

// Parts implements [LayoutDiff].
func (d RingDiff) Parts() []Part {
	added := func(c stored.TokenChange) (from, to int32) { return c.Before, c.After }
	removed := func(c stored.TokenChange) (from, to int32) { return c.After, c.Before }
	return []Part{{"tokens_added", tokenList(d.Tokens, added)}, {"tokens_removed", tokenList(d.Tokens, removed)}}
}

// Parts implements [LayoutDiff].
func (d RangesDiff) Parts() []Part { return []Part{{"owners", ListOf(d.Owners)}} }

// Encode implements [LayoutDiff].
func (d PkgDiff) Encode() []byte { return d.Blob }

// Parts implements [LayoutDiff].
func (d PkgDiff) Parts() []Part {
	parts := ChangeParts(d.Head)
	parts[0].List = HeadList(func(yield func(store.Entry) bool) {
		for _, c := range d.Head {
			if c.New != store.NoInstance && !yield(store.Entry{Key: c.Key, Instance: c.New}) {
				return
			}
		}
	})
	return parts
}

// HeadList lists keys of a head, whose entries have a number of candidates.
func HeadList(entries iter.Seq[store.Entry]) lists.List {
	return lists.Records[lists.HeadKey](func(yield func(lists.HeadKey) bool) {
		for e := range entries {
			if !yield(lists.HeadKey{Key: e.Key, Choices: e.Instance}) {
				return
			}
		}
	})
}

// tokenList lists the tokens of each change that span names.
func tokenList(changes []stored.TokenChange, span func(stored.TokenChange) (from, to int32)) lists.List {
	return lists.Records[lists.RingToken](func(yield func(lists.RingToken) bool) {
		for _, c := range changes {
			from, to := span(c)
			name := append(strconv.AppendInt([]byte("token-"), int64(c.Instance), 10), '-')
			for j := from; j < to; j++ {
				at := ring.Position(strconv.AppendInt(name[:len(name):len(name)], int64(j), 10))
				if !yield(lists.RingToken{Instance: c.Instance, Index: j, Position: at}) {
					return
				}
			}
		}
	})
}

// Index are migrations of keys by ascending key, in whatever order the plan has them.
func (m KeyMigrations) Index() MoveIndex {
	out := newMoves(m.Len(), m.Bytes(), m.At, m.moveOf)
	out.key, out.usual = m.Key, m.byKey()
	return out
}

// byKey returns where the migrations are by ascending key. Eight bytes behind what all
// keys begin with mostly tell them apart.
func (m KeyMigrations) byKey() []int32 {
	type headed struct {
		head uint64
		at   int32
	}
	all, shared := make([]headed, m.Len()), m.sharedPrefix()
	for i := range all {
		var head [8]byte
		copy(head[:], m.Key(i)[shared:])
		all[i] = headed{binary.BigEndian.Uint64(head[:]), int32(i)}
	}
	slices.SortFunc(all, func(a, b headed) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Or(bytes.Compare(m.Key(int(a.at)), m.Key(int(b.at))), cmp.Compare(a.at, b.at))
	})
	out := make([]int32, len(all))
	for i, x := range all {
		out[i] = x.at
	}
	return out
}

// sharedPrefix is the number of bytes with which all keys begin alike.
func (m KeyMigrations) sharedPrefix() int {
	if m.Len() == 0 {
		return 0
	}
	shared := m.Key(0)
	for i := range m.Len() {
		key := m.Key(i)
		for !bytes.HasPrefix(key, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	return len(shared)
}

// recordBytes is what a move of a class takes.
const recordBytes = 40

// Index implements [Migrations].
func (m ItemMigrations) Index() MoveIndex {
	n := len(m.classes)
	return newMoves(n+m.Named.Len(), recordBytes*n+m.Named.Bytes(),
		func(i int) lists.ItemMove {
			if i < n {
				return lists.ItemMove{Class: m.classes[i]}
			}
			named := m.Named.At(i - n)
			return lists.ItemMove{Named: &named}
		}, func(i int) moveOf {
			if i < n {
				return m.classes.moveOf(i)
			}
			x := m.Named.moveOf(i - n)
			x.cost, x.state = x.cost/m.scales.Cost, x.state/m.scales.State
			return x
		})
}

func (m ClassMigrations) moveOf(i int) moveOf {
	return moveOf{from: m[i].Current, to: m[i].Planned, keys: m[i].Count, cost: m[i].Cost, state: m[i].State,
		times: m[i].Count}
}

func (m KeyMigrations) moveOf(i int) moveOf {
	x := m.Keyless(i)
	return moveOf{x.From, x.To, 1, x.Cost, x.State, 1, x.Reason}
}

// Index implements [Migrations].
func (m ClassMigrations) Index() MoveIndex {
	return newMoves(len(m), recordBytes*len(m), func(i int) lists.ClassMove { return lists.ClassMove(m[i]) },
		m.moveOf)
}

// Index implements [Migrations].
func (d RingDiff) Index() MoveIndex {
	const arcBytes = 48
	return newMoves(len(d.Arcs), arcBytes*len(d.Arcs), func(i int) lists.ArcMove { return d.Arcs[i] },
		func(i int) moveOf {
			x := d.Arcs[i]
			return moveOf{x.From, x.To, x.Keys, x.Cost, x.State, 1, x.Reason}
		})
}

// Index implements [Migrations].
func (d RangesDiff) Index() MoveIndex {
	const rangeBytes = 88 + 2*16 // its keys are rounded up
	all, size := d.Moves, rangeBytes*len(d.Moves)
	for _, x := range all {
		size += len(x.Range.From) + len(x.Range.To)
	}
	return newMoves(len(all), size, func(i int) lists.RangeMove { return all[i] }, func(i int) moveOf {
		x := all[i]
		return moveOf{x.From, x.To, x.Keys, x.Cost, x.State, 1, x.Reason}
	})
}

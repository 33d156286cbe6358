package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// maxMovesBytes is about how much memory the lists of migrations that are kept may
// take at most, in bytes: those of a plan of a million keys have room.
const maxMovesBytes = 128 << 20

// moveOf is what a migration is filtered and sorted by, besides its key, and summed up.
type moveOf struct {
	from, to    int32
	keys        int64
	cost, state float64 // of each key of a class, of all keys of an arc or a range
	times       int64   // how often cost and state count in a sum
	reason      planner.Reason
}

// moveList are the migrations of a plan, of whatever kind. They never change.
type moveList interface {
	answer(w http.ResponseWriter, c *call, filter moveFilter, order sorting) error
	len() int
	flows() []statsio.Flow
	// bytes is about how much memory it takes, with all the orders it may be asked for.
	bytes() int
}

// moves are migrations of one kind. The orders that they are asked for in are made
// once each and cost four bytes a migration.
type moves[R statsio.Record] struct {
	n, size int
	at      func(i int) R
	of      func(i int) moveOf
	key     func(i int) []byte // nil: they have none
	usual   []int32            // where they are in their default order; nil: as they are
	orders  map[sorting]func() []int32
}

func newMoves[R statsio.Record](n, size int, at func(i int) R, of func(i int) moveOf) *moves[R] {
	m := &moves[R]{n: n, size: size, at: at, of: of, orders: make(map[sorting]func() []int32, 2*len(ranks))}
	for by := range ranks {
		for _, s := range []sorting{{by, false}, {by, true}} {
			m.orders[s] = sync.OnceValue(func() []int32 { return m.sorted(s) })
		}
	}
	return m
}

func (m *moves[R]) len() int { return m.n }

func (m *moves[R]) bytes() int { return m.size + 4*m.n*(len(m.orders)+1) }

func (m *moves[R]) answer(w http.ResponseWriter, c *call, filter moveFilter, order sorting) error {
	s := selection[R]{n: m.n, at: m.at, order: m.orders[order]()}
	if !filter.takesAll() {
		s.takes = func(i int) bool { return filter.takes(m.of(i)) && (m.key == nil || filter.takesKey(m.key(i))) }
	}
	return s.answer(w, c, "migrations", filter.keys)
}

// sorting is an order of migrations.
type sorting struct {
	by         string // "", "key": the default order
	descending bool
}

// sortingOf returns the order that a query asks for: greatest first by what counts.
func sortingOf(query url.Values) sorting {
	s := sorting{by: query.Get("sort")}
	if s.by == "key" {
		s.by = ""
	}
	switch query.Get("order") {
	case "":
		s.descending = s.by == "cost" || s.by == "state" || s.by == "count"
	case "desc":
		s.descending = true
	}
	return s
}

// ranks bring what migrations may be sorted by into numbers in the same order. The
// default order has none: there, a migration's place is its rank.
var ranks = map[string]func(moveOf) uint64{
	"":       nil,
	"cost":   func(m moveOf) uint64 { return rankOf(m.cost) },
	"state":  func(m moveOf) uint64 { return rankOf(m.state) },
	"count":  func(m moveOf) uint64 { return uint64(m.keys) },
	"from":   func(m moveOf) uint64 { return uint64(m.from) },
	"to":     func(m moveOf) uint64 { return uint64(m.to) },
	"reason": func(m moveOf) uint64 { return reasonRanks[m.reason] },
}

// rankOf is the rank of a number that is not negative, −0 being 0.
func rankOf(x float64) uint64 { return math.Float64bits(math.Abs(x)) }

// reasonRanks are the places of the reasons in the order of their names.
var reasonRanks = func() (ranks [planner.ReasonExchange + 1]uint64) {
	for r := range ranks {
		for other := range ranks {
			if planner.Reason(other).String() < planner.Reason(r).String() {
				ranks[r]++
			}
		}
	}
	return ranks
}()

// sorted returns where the migrations are in an order, ties in the default one; nil
// when that is how they are.
func (m *moves[R]) sorted(by sorting) []int32 {
	if by == (sorting{}) {
		return m.usual
	}
	type ranked struct {
		rank  uint64
		place int32 // in the default order
	}
	all, rank := make([]ranked, m.n), ranks[by.by]
	for place := range all {
		x := ranked{uint64(place), int32(place)}
		if rank != nil {
			x.rank = rank(m.of(m.usually(place)))
		}
		if by.descending {
			x.rank = ^x.rank
		}
		all[place] = x
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place))
	})
	out := make([]int32, m.n)
	for i, x := range all {
		out[i] = int32(m.usually(int(x.place)))
	}
	return out
}

// usually returns where the migration is at a place of the default order.
func (m *moves[R]) usually(place int) int {
	if m.usual == nil {
		return place
	}
	return int(m.usual[place])
}

// moves are migrations of keys by ascending key, in whatever order the plan has them.
func (m keyMigrations) moves() moveList {
	out := newMoves(m.Len(), m.Bytes(), m.At, func(i int) moveOf {
		x := m.Keyless(i)
		return moveOf{x.From, x.To, 1, x.Cost, x.State, 1, x.Reason}
	})
	out.key, out.usual = m.Key, m.byKey()
	return out
}

// byKey returns where the migrations are by ascending key. Eight bytes behind what all
// keys begin with mostly tell them apart.
func (m keyMigrations) byKey() []int32 {
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
		return bytes.Compare(m.Key(int(a.at)), m.Key(int(b.at)))
	})
	out := make([]int32, len(all))
	for i, x := range all {
		out[i] = x.at
	}
	return out
}

// sharedPrefix is the number of bytes with which all keys begin alike.
func (m keyMigrations) sharedPrefix() int {
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

func (m classMigrations) moves() moveList {
	const recordBytes = 40
	return newMoves(len(m), recordBytes*len(m), func(i int) statsio.ClassMove { return statsio.ClassMove(m[i]) }, func(i int) moveOf {
		return moveOf{from: m[i].Current, to: m[i].Planned, keys: m[i].Count, cost: m[i].Cost, state: m[i].State, times: m[i].Count}
	})
}

func (s ringShift) moves() moveList {
	const arcBytes = 48
	return newMoves(len(s.Arcs), arcBytes*len(s.Arcs), func(i int) statsio.ArcMove { return s.Arcs[i] }, func(i int) moveOf {
		x := s.Arcs[i]
		return moveOf{x.From, x.To, x.Keys, x.Cost, x.State, 1, x.Reason}
	})
}

func (s rangesShift) moves() moveList {
	const rangeBytes = 88 + 2*16 // its keys are rounded up
	all, size := s.Moves, rangeBytes*len(s.Moves)
	for _, x := range all {
		size += len(x.Range.From) + len(x.Range.To)
	}
	return newMoves(len(all), size, func(i int) statsio.RangeMove { return all[i] }, func(i int) moveOf {
		x := all[i]
		return moveOf{x.From, x.To, x.Keys, x.Cost, x.State, 1, x.Reason}
	})
}

// moves returns the migrations of a plan. As they never change, they are kept:
// decoding them takes longer than all else about a page.
func (s *server) moves(c *call, p store.Plan) (moveList, error) {
	if found, ok := s.kept.get(p.ID); ok {
		return found, nil
	}
	if err := c.list(listLength(p)); err != nil {
		return nil, err
	}
	read, err := s.readMoves(c.Context(), p)
	if err == nil && read.bytes() <= s.kept.limit {
		s.kept.put(p.ID, read)
	}
	return read, err
}

func (s *server) readMoves(ctx context.Context, p store.Plan) (moveList, error) {
	if schemeOf(p.Strategy) != wire.SchemeTable {
		all, err := s.shift(ctx, p)
		if err != nil {
			return nil, err
		}
		return all.moves(), nil
	}
	list, err := s.migrations(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if classes, ok := list.(classMigrations); ok {
		return classes.moves(), nil
	}
	return list.(keyMigrations).moves(), nil
}

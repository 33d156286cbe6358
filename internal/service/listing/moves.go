package listing

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync"

	"plannerd/internal/exact"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

// moveOf is what a migration is filtered and sorted by, besides its key, and summed up.
type moveOf struct {
	from, to    int32
	keys        int64
	cost, state float64 // of each key of a class, of all keys of an arc or a range
	times       int64   // how often cost and state count in a sum
	reason      planner.Reason
}

// MoveFilter says which migrations are wanted.
type MoveFilter struct {
	KeyFilter
	Contains          []byte // in their keys
	From, To          *int32
	Reason            *planner.Reason
	MinCost, MinState float64
}

// takesAll reports whether nothing is filtered out.
func (f MoveFilter) takesAll() bool {
	return f.KeyFilter.TakesAll() && len(f.Contains) == 0 && f.From == nil && f.To == nil && f.Reason == nil &&
		f.MinCost <= 0 && f.MinState <= 0
}

// takes reports whether a migration is wanted, as far as its key does not matter.
func (f MoveFilter) takes(m moveOf) bool {
	return (f.From == nil || m.from == *f.From) && (f.To == nil || m.to == *f.To) &&
		(f.Instance == nil || m.from == *f.Instance || m.to == *f.Instance) &&
		(f.Reason == nil || m.reason == *f.Reason) && m.cost >= f.MinCost && m.state >= f.MinState
}

// takesKey reports whether a migration of this key may be wanted.
func (f MoveFilter) takesKey(key []byte) bool {
	return bytes.HasPrefix(key, f.Prefix) && bytes.Contains(key, f.Contains)
}

// MoveIndex are the migrations of a plan, of whatever kind, ready to be filtered and
// sorted. They never change.
type MoveIndex interface {
	Listing(filter MoveFilter, order Sorting) Listing
	Len() int
	Flows() []lists.Flow
	// Bytes is about how much memory it takes, with all the orders it may be asked for.
	Bytes() int
}

// moves are migrations of one kind. The orders that they are asked for in are made
// once each and cost four bytes a migration.
type moves[R lists.Record] struct {
	n, size int
	at      func(i int) R
	of      func(i int) moveOf
	key     func(i int) []byte // nil: they have none
	usual   []int32            // where they are in their default order; nil: as they are
	orders  map[Sorting]func() []int32
}

func newMoves[R lists.Record](n, size int, at func(i int) R, of func(i int) moveOf) *moves[R] {
	m := &moves[R]{n: n, size: size, at: at, of: of, orders: make(map[Sorting]func() []int32, 2*len(ranks))}
	for by := range ranks {
		for _, s := range []Sorting{{by, false}, {by, true}} {
			m.orders[s] = sync.OnceValue(func() []int32 { return m.sorted(s) })
		}
	}
	return m
}

func (m *moves[R]) Len() int { return m.n }

func (m *moves[R]) Bytes() int { return m.size + 4*m.n*(len(m.orders)+1) }

func (m *moves[R]) Listing(filter MoveFilter, order Sorting) Listing {
	s := Selection[R]{Count: m.n, At: m.at, order: m.orders[order]()}
	if !filter.takesAll() {
		s.Takes = func(i int) bool { return filter.takes(m.of(i)) && (m.key == nil || filter.takesKey(m.key(i))) }
	}
	return s
}

// Sorting is an order of migrations.
type Sorting struct {
	By         string // "cost", "state", "count", "from", "to" or "reason"; "": the default order
	Descending bool
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
var reasonRanks = func() (ranks [planner.ReasonPlacement + 1]uint64) {
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
func (m *moves[R]) sorted(by Sorting) []int32 {
	if by == (Sorting{}) {
		return m.usual
	}
	type ranked struct {
		rank  uint64
		place int32 // in the default order
	}
	all, rank := make([]ranked, m.n), ranks[by.By]
	for place := range all {
		x := ranked{uint64(place), int32(place)}
		if rank != nil {
			x.rank = rank(m.of(m.usually(place)))
		}
		if by.Descending {
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

// Flows sums the migrations up by where they come from and where they go, greatest
// state first.
func (m *moves[R]) Flows() []lists.Flow {
	type pair struct{ from, to int32 }
	var (
		out         []lists.Flow
		places      = make(map[pair]int32)
		flowOf      = make([]int32, m.n)
		cost, state = make([]float64, m.n), make([]float64, m.n)
		times       = make([]int64, m.n)
	)
	for i := range m.n {
		x := m.of(i)
		place, known := places[pair{x.from, x.to}]
		if !known {
			place = int32(len(out))
			places[pair{x.from, x.to}] = place
			out = append(out, lists.Flow{From: x.from, To: x.to})
		}
		out[place].Keys += x.keys
		flowOf[i], cost[i], state[i], times[i] = place, x.cost, x.state, x.times
	}
	costs, states := exact.SumsBy(len(out), flowOf, cost, times), exact.SumsBy(len(out), flowOf, state, times)
	for i := range out {
		out[i].Cost, out[i].State = costs[i], states[i]
	}
	slices.SortFunc(out, func(a, b lists.Flow) int {
		return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

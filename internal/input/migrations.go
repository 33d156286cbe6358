package input

import (
	"iter"
	"math"

	"plannerd/planner"
)

const migrationsMagic = "PLMG"

// Migration is one key that changes its instance.
type Migration struct {
	Key      []byte
	From, To int32   // ids of instances
	Cost     float64 // c(k); 0 where a share of the state is gathered
	State    float64 // S(k,w); 1 when no state was reported
	Reason   planner.Reason
}

// Migrations is a plan's list of migrations, in columns.
type Migrations struct {
	keys        *planner.Keys
	from, to    []int32
	cost, state []float64
	reason      []planner.Reason
}

// Len is the number of migrations.
func (m *Migrations) Len() int { return len(m.reason) }

// At returns migration i. Its key is shared: it must not be changed.
func (m *Migrations) At(i int) Migration {
	return Migration{m.keys.At(i), m.from[i], m.to[i], m.cost[i], m.state[i], m.reason[i]}
}

// Keyless returns migration i without its key, which takes long to find.
func (m *Migrations) Keyless(i int) Migration {
	return Migration{nil, m.from[i], m.to[i], m.cost[i], m.state[i], m.reason[i]}
}

// Key returns the key of migration i. It is shared: it must not be changed.
func (m *Migrations) Key(i int) []byte { return m.keys.At(i) }

// Bytes is about how much memory the list takes.
func (m *Migrations) Bytes() int {
	return m.keys.Bytes() + 4*(cap(m.from)+cap(m.to)) + 8*(cap(m.cost)+cap(m.state)) + cap(m.reason)
}

// All yields all migrations in the plan's order.
func (m *Migrations) All() iter.Seq[Migration] {
	return func(yield func(Migration) bool) {
		for i := range m.Len() {
			if !yield(m.At(i)) {
				return
			}
		}
	}
}

// MigrationsOf yields the migrations of a plan of keys, in its order.
func MigrationsOf(p *planner.Plan) iter.Seq[Migration] {
	return func(yield func(Migration) bool) {
		for i := range p.Moves {
			if !yield(migrationOf(p, i)) {
				return
			}
		}
	}
}

func migrationOf(p *planner.Plan, i int) Migration {
	s, m := p.Snapshot, p.Moves[i]
	cost := s.Cost[m.Item]
	if m.Reason == planner.ReasonGather {
		cost = 0 // it counts where the key is
	}
	return Migration{
		Key: s.Keys.At(int(m.Item)), From: s.Instances[m.From].ID, To: s.Instances[m.To].ID,
		Cost: cost, State: s.StateOf(m), Reason: m.Reason,
	}
}

// EncodeMigrations returns the migrations of a plan of keys as a compact blob,
// for storing.
func EncodeMigrations(p *planner.Plan) []byte {
	w := newBlobWriter(migrationsMagic)
	w.number(len(p.Moves))
	keyLen := func(i int) int { return len(p.Snapshot.Keys.At(int(p.Moves[i].Item))) }
	ms := make([]Migration, 0, min(len(p.Moves), blockRows))
	blocks(len(p.Moves), keyLen, func(from, to, keyBytes int) {
		n := to - from
		ms = ms[:0] // items lie all over the snapshot: look each up once
		for i := from; i < to; i++ {
			ms = append(ms, migrationOf(p, i))
		}
		w.begin(n, keyBytes)
		w.keys(n, func(i int) []byte { return ms[i].Key })
		w.column(n, 4, func(i int) uint64 { return uint64(uint32(ms[i].From)) })
		w.column(n, 4, func(i int) uint64 { return uint64(uint32(ms[i].To)) })
		w.column(n, 8, func(i int) uint64 { return math.Float64bits(ms[i].Cost) })
		w.column(n, 8, func(i int) uint64 { return math.Float64bits(ms[i].State) })
		w.column(n, 1, func(i int) uint64 { return uint64(ms[i].Reason) })
		w.end()
	})
	return w.finish()
}

// DecodeMigrations is the inverse of [EncodeMigrations]. It fails with
// [ErrCorrupt].
func DecodeMigrations(blob []byte) (*Migrations, error) {
	r := newBlobReader(blob, migrationsMagic)
	rows := r.number(math.MaxInt32)
	m := &Migrations{keys: planner.NewKeys(min(rows, blockRows))}
	for m.Len() < rows && r.err == nil {
		n := r.begin(rows - m.Len())
		r.keys(m.keys, n)
		m.from, m.to = r.ints(m.from, n), r.ints(m.to, n)
		m.cost, m.state = r.floats(m.cost, n), r.floats(m.state, n)
		r.column(n, 1, func(bits uint64) {
			if bits > uint64(planner.ReasonGather) {
				r.corrupt("unknown reason")
			}
			m.reason = append(m.reason, planner.Reason(bits))
		})
		r.end()
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return m, nil
}

package stored

import (
	"math"

	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

const migrationsMagic = "PLMG"

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
func (m *Migrations) At(i int) lists.Migration {
	x := m.Keyless(i)
	x.Key = m.keys.At(i)
	return x
}

// Keyless returns migration i without its key, which takes long to find.
func (m *Migrations) Keyless(i int) lists.Migration {
	return lists.Migration{From: m.from[i], To: m.to[i], Cost: m.cost[i], State: m.state[i], Reason: m.reason[i]}
}

// Key returns the key of migration i. It is shared: it must not be changed.
func (m *Migrations) Key(i int) []byte { return m.keys.At(i) }

// Bytes is about how much memory the list takes.
func (m *Migrations) Bytes() int {
	return m.keys.Bytes() + 4*(cap(m.from)+cap(m.to)) + 8*(cap(m.cost)+cap(m.state)) + cap(m.reason)
}

// All yields all migrations in the plan's order.
func (m *Migrations) All() lists.Records[lists.Migration] {
	return func(yield func(lists.Migration) bool) {
		for i := range m.Len() {
			if !yield(m.At(i)) {
				return
			}
		}
	}
}

// EncodeMigrations returns the migrations of a plan of keys as a compact blob,
// for storing.
func EncodeMigrations(p *planner.Plan) []byte {
	w := blob.NewWriter(migrationsMagic)
	w.Number(len(p.Moves))
	keyLen := func(i int) int { return len(p.Snapshot.Keys.At(int(p.Moves[i].Item))) }
	ms := make([]lists.Migration, 0, min(len(p.Moves), blob.BlockRows))
	blob.Blocks(len(p.Moves), keyLen, func(from, to, keyBytes int) {
		ms = ms[:0] // items lie all over the snapshot: look each up once
		for i := from; i < to; i++ {
			ms = append(ms, lists.MigrationOf(p, i))
		}
		blob.WriteBlock(w, ms, migrationPlanes, keyBytes)
	})
	return w.Finish()
}

var migrationPlanes = []blob.Plane[lists.Migration]{
	blob.Texts(func(m *lists.Migration) *[]byte { return &m.Key }),
	blob.IDs(func(m *lists.Migration) *int32 { return &m.From }),
	blob.IDs(func(m *lists.Migration) *int32 { return &m.To }),
	blob.Floats(func(m *lists.Migration) *float64 { return &m.Cost }),
	blob.Floats(func(m *lists.Migration) *float64 { return &m.State }),
	blob.Reasons(func(m *lists.Migration) *planner.Reason { return &m.Reason }),
}

// DecodeMigrations is the inverse of [EncodeMigrations]. It fails with
// [ErrCorrupt].
func DecodeMigrations(data []byte) (*Migrations, error) {
	r := blob.NewReader(data, migrationsMagic)
	rows := r.Number(math.MaxInt32)
	m := &Migrations{keys: planner.NewKeys(min(rows, blob.BlockRows))}
	blob.ReadColumns(r, m.keys, []blob.Column{
		blob.ColumnOf(&m.from, blob.IDs[int32]), blob.ColumnOf(&m.to, blob.IDs[int32]),
		blob.ColumnOf(&m.cost, blob.Floats[float64]), blob.ColumnOf(&m.state, blob.Floats[float64]),
		blob.ColumnOf(&m.reason, blob.Reasons[planner.Reason]),
	}, rows)
	return blob.Finished(r, m)
}

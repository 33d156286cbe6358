package compact

import (
	"iter"
	"slices"
	"strconv"

	"plannerd/planner"
)

// NewClasses merges posted records and resolves their instances, and those of the keys
// that are named. target.Hash places the latter only: records carry their hash instances,
// which must be target's. Which keys the entries of base.Table are of that are not of named
// ones cannot be told: those that cannot be of keys that records count stay. The error is a
// [planner.InputError]; its Row is an index into st.Records, or beyond them into the named
// keys, its Field one of Instance, HashInstance, Key, Cost, State and Count.
func NewClasses(st *Statistics, target planner.Configuration, base planner.Base) (*Classes, error) {
	if err := st.Scales.Validate(); err != nil {
		return nil, err
	}
	if st.Degree != 0 {
		if err := ValidateDegree(st.Degree); err != nil {
			return nil, err
		}
	}
	if row, ok := overflow(st.Records); ok {
		return nil, planner.InvalidRow(row, "Count", "must be ≥ 1, and all together at most 2^53−1")
	}
	unplaced := func(r Record) bool { return r.Current == planner.NoInstance }
	if row := slices.IndexFunc(st.Records, unplaced); row >= 0 {
		return nil, planner.InvalidRow(row, "Instance", "must be given")
	}
	c, rows := st.classes()
	base.IgnoreInstances, base.Kept = false, nil // nothing else knows where they are
	var err error
	if base.Table, base.Retained, err = st.entries(base); err != nil {
		return nil, err
	}
	if rows.Named == 0 {
		target.Hash, base.Configuration.Hash, base.Table = nil, nil, nil
	}
	if c.Items, err = planner.NewSnapshot(rows, target, base); err != nil {
		return nil, st.atRecord(err, c.Records)
	}
	return c, nil
}

// Unnamed are the keys that a table splits and the statistics do not name, quoted.
func (st *Statistics) Unnamed(table *planner.RoutingTable) (keys []string) {
	if table.Size() == int64(table.Len()) {
		return nil
	}
	named := map[string]bool{}
	for key := range st.names {
		named[string(key)] = true
	}
	for i := range table.Len() {
		if e := table.At(i); e.Parts != nil && !named[string(e.Key)] {
			keys = append(keys, strconv.Quote(string(e.Key)))
		}
	}
	return keys
}

// entries are those of a table that are of named keys, and the number of the others that
// cannot be those of the keys that records count: of keys that nobody can name, so they
// stay. When the hash changes none does, as every key that needs an entry is named then.
func (st *Statistics) entries(base planner.Base) (named *planner.RoutingTable, retained int64, err error) {
	if base.Table == nil {
		return nil, base.Retained, nil
	}
	var entries []planner.Entry
	for key := range st.names {
		if e := base.Table.Find(key, planner.KeyHash(key)); e >= 0 {
			entries = append(entries, base.Table.At(e))
		}
	}
	if named, err = planner.NewRoutingTable(entries); err != nil || base.HashChanged {
		return named, base.Retained, err
	}
	retained = base.Table.Size() - named.Size()
	for _, r := range st.Records {
		if r.Current != r.Hash {
			if retained -= r.Count; retained <= 0 {
				return named, base.Retained, nil
			}
		}
	}
	return named, base.Retained + retained, nil
}

// classes merges the records, and returns them also as the rows that items are
// made of.
func (st *Statistics) classes() (*Classes, *planner.Statistics) {
	merged := slices.Clone(st.Records)
	for i := range merged {
		merged[i].Planned = merged[i].Current
	}
	c := &Classes{Scales: st.Scales, Records: Merge(merged)}
	n := len(c.Records)
	rows := &planner.Statistics{
		Keys: planner.NewKeys(n), Cost: make([]float64, n), State: make([]float64, n), Count: make([]int64, n),
		Instance: make([]int32, n), HashInstance: make([]int32, n),
		Partial: st.Partial, Residual: st.Residual, Frozen: st.Frozen,
	}
	names := classNames(st.names)
	for i, r := range c.Records {
		rows.Keys.Append(names(r))
		rows.Cost[i], rows.State[i], rows.Count[i] = r.Cost*st.Scales.Cost, r.State*st.Scales.State, r.Count
		rows.Instance[i], rows.HashInstance[i] = r.Current, r.Hash
	}
	addNamed(rows, st.Named)
	return c, rows
}

// addNamed adds keys behind the rows of classes. A state that is not named is 1.
func addNamed(rows, named *planner.Statistics) {
	if named == nil {
		return
	}
	classes := int32(rows.Len())
	column := func(values []int32, i int) int32 {
		if values == nil {
			return planner.NoInstance
		}
		return values[i]
	}
	for i := range named.Len() {
		rows.Keys.Append(named.Keys.At(i))
		state := 1.0
		if named.State != nil {
			state = named.State[i]
		}
		rows.Cost, rows.State, rows.Count = append(rows.Cost, named.Cost[i]), append(rows.State, state), append(rows.Count, 1)
		rows.Instance = append(rows.Instance, column(named.Instance, i))
		rows.HashInstance = append(rows.HashInstance, column(named.HashInstance, i))
	}
	for _, x := range named.Shares {
		x.Row += classes
		rows.Shares = append(rows.Shares, x)
	}
	rows.Named, rows.PartialOn = named.Len(), named.PartialOn
}

// names yields the keys that are named.
func (st *Statistics) names(yield func([]byte) bool) {
	if st.Named == nil {
		return
	}
	for i := range st.Named.Len() {
		if !yield(st.Named.Keys.At(i)) {
			return
		}
	}
}

// classNames names classes, otherwise than any of these keys is named.
func classNames(keys iter.Seq[[]byte]) func(Record) []byte {
	taken := map[string]bool{}
	for key := range keys {
		taken[string(key)] = true
	}
	return func(r Record) []byte {
		name := r.name()
		for taken[string(name)] {
			name = append(name, 0)
		}
		return name
	}
}

// Fingerprint identifies the statistics whatever the order and the splitting of
// their records, as [planner.Statistics.Fingerprint] does.
func (st *Statistics) Fingerprint() [16]byte {
	_, rows := st.classes()
	return rows.Fingerprint()
}

// overflow returns the first record whose count is out of range, or brings the
// sum of all out of it.
func overflow(records []Record) (row int, bad bool) {
	sum := int64(0)
	for i, r := range records {
		if r.Count < 1 || r.Count > planner.MaxCount-sum {
			return i, true
		}
		sum += r.Count
	}
	return 0, false
}

// atRecord points an error about a merged record at the first that it is made of.
func (st *Statistics) atRecord(err error, merged []Record) error {
	input, ok := err.(*planner.InputError) //nolint:errorlint // NewSnapshot wraps nothing
	if !ok || input.Row < 0 {
		return err
	}
	at := *input
	if named := at.Row - len(merged); named >= 0 {
		at.Row = len(st.Records) + named
		return &at
	}
	at.Row = slices.IndexFunc(st.Records, func(r Record) bool { return r.compareClass(merged[input.Row]) == 0 })
	return &at
}

// IsNamed reports whether an item is a key, not the class of a record.
func (c *Classes) IsNamed(item int32) bool { return int(item) >= len(c.Records) }

// Moves are the migrations of classes in a plan of the items: records with d′ ≠ d,
// in ascending order of d, d_h, v_c, v_S and d′.
func (c *Classes) Moves(p *planner.Plan) []Record {
	moves := make([]Record, 0, len(p.Moves))
	for _, m := range p.Moves {
		if c.IsNamed(m.Item) {
			continue
		}
		r := c.Records[m.Item]
		r.Planned, r.Count = c.Items.Instances[m.To].ID, m.Count
		moves = append(moves, r)
	}
	return Merge(moves)
}

// MovesNamed are those of the keys that are named, in the order of the plan.
func (c *Classes) MovesNamed(p *planner.Plan) []planner.Move {
	return slices.DeleteFunc(slices.Clone(p.Moves), func(m planner.Move) bool { return !c.IsNamed(m.Item) })
}

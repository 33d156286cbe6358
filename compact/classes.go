package compact

import (
	"slices"

	"plannerd/planner"
)

// NewClasses merges posted records and resolves their instances. target.Hash is
// not asked: records carry their hash instances, which must be target's.
// base.Table must be nil: which keys its entries are of cannot be told. The error
// is a [planner.InputError]; its Row is an index into st.Records, its Field one of
// Instance, HashInstance, Cost, State and Count.
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
	target.Hash, base.IgnoreInstances = nil, false // nothing else knows where they are
	var err error
	if c.Items, err = planner.NewSnapshot(rows, target, base); err != nil {
		return nil, st.atRecord(err, c.Records)
	}
	return c, nil
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
	for i, r := range c.Records {
		rows.Keys.Append(r.name())
		rows.Cost[i], rows.State[i], rows.Count[i] = r.Cost*st.Scales.Cost, r.State*st.Scales.State, r.Count
		rows.Instance[i], rows.HashInstance[i] = r.Current, r.Hash
	}
	return c, rows
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
	at.Row = slices.IndexFunc(st.Records, func(r Record) bool { return r.compareClass(merged[input.Row]) == 0 })
	return &at
}

// Moves are the migrations of a plan of the classes' items: records with d′ ≠ d,
// in ascending order of d, d_h, v_c, v_S and d′.
func (c *Classes) Moves(p *planner.Plan) []Record {
	moves := make([]Record, len(p.Moves))
	for i, m := range p.Moves {
		moves[i] = c.Records[m.Item]
		moves[i].Planned, moves[i].Count = c.Items.Instances[m.To].ID, m.Count
	}
	return Merge(moves)
}

package columns

import (
	"strconv"

	"plannerd/compact"
	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// Builder checks rows and gathers them into columns.
type Builder struct {
	Faults
	keyList
	Options Options
	Meter   *Meter

	Cost, State            Column[float64]
	Instance, HashInstance Column[int32]
	from, to               Column[int32] // of a resolution
	records                Column[compact.Record]
	Costs                  Amounts

	withState, noState int   // first row with and without state, −1: none yet
	interval           int64 // that rows name; −1: none yet
	unnamed            bool  // a row names none
	keyed              int64 // keys that the records count
}

// Begin starts a document of rows of the given fields, which follows what was
// read before.
func (b *Builder) Begin(o Options, s Shape, fields Field) {
	m := &Meter{Reserve: o.Reserve}
	*b = Builder{
		Faults: Faults{
			Shape: s, Fields: fields, first: b.first + b.Rows, Problems: b.Problems, Line: b.Line, Ragged: b.Ragged,
			Columns: b.Columns, Resources: b.Resources,
		},
		keyList: keyList{Base64: o.Base64Keys, decoded: b.decoded, keys: planner.NewKeys(0), meter: m},
		Options: o, Meter: m, Costs: Amounts{meter: m}, withState: -1, noState: -1, interval: -1,
	}
	for _, of := range []**Meter{
		&b.Cost.meter, &b.State.meter, &b.Instance.meter, &b.HashInstance.meter, &b.records.meter, &b.from.meter, &b.to.meter,
	} {
		*of = m
	}
	b.Expect(o.RowHint)
}

// Restart starts a document whose rows are counted from the first one on.
func (b *Builder) Restart(o Options, s Shape, fields Field) {
	b.first, b.Rows = 0, 0
	b.Begin(o, s, fields)
}

// Gathered is the builder itself, of what embeds it.
func (b *Builder) Gathered() *Builder { return b }

// Full returns the error that ends decoding once there are too many problems, or
// no more memory.
func (b *Builder) Full() error {
	if err := b.Meter.Refused(); err != nil {
		return err
	}
	if len(b.Problems) < problem.Most {
		return nil
	}
	return b.Invalid()
}

// Add takes the next row. Once a problem is known, rows are only checked.
func (b *Builder) Add(r *Row) error {
	if b.Rows >= b.Options.Limits.Rows {
		return TooManyRows(b.Pointer(b.Options.Limits.Rows, ""), b.Options)
	}
	n := b.Rows
	b.Rows++
	if n == 0 {
		b.firstLine = b.lineOf(0)
	}
	switch {
	case r.Broken:
	case b.Fields&Count != 0:
		b.addRecord(n, r)
	default:
		b.addKeyed(n, r)
	}
	if len(b.Problems) > 0 {
		b.nameKey(n, r.Key)
	}
	return b.Full()
}

// TooManyRows is the error of a row that is beyond the limit.
func TooManyRows(pointer string, o Options) error {
	return problem.One(problem.TooLarge, pointer, "more than "+strconv.Itoa(o.Limits.Rows)+" rows")
}

// CheckInterval sees to it that the rows of a body are of one interval, if any of them
// names one.
func (b *Builder) CheckInterval(r *Row) {
	named := r.Seen&Interval != 0
	switch {
	case b.Fields&Interval == 0 || r.Broken || named && r.Interval < 0:
	case !named && b.interval >= 0:
		b.Wrong(b.Rows, "interval", DetailRequired)
	case !named:
		b.unnamed = true
	case b.unnamed:
		b.Wrong(b.Rows, "interval", DetailUnnamed)
	case b.interval >= 0 && b.interval != r.Interval:
		b.Wrong(b.Rows, "interval", "is "+strconv.FormatInt(r.Interval, 10)+", but "+
			strconv.FormatInt(b.interval, 10)+" in the rows before: a body holds one interval")
		fallthrough // the rows that follow are told once
	default:
		b.interval = r.Interval
	}
}

// TakesBlock reports whether rows that are right may be taken as columns: so many of them, all of
// which name that interval, or none with −1.
func (b *Builder) TakesBlock(rows int, interval int64) bool {
	if len(b.Problems) > 0 || b.Fields&Count != 0 || b.Base64 || rows > b.Options.Limits.Rows-b.Rows {
		return false
	}
	return interval < 0 || !b.unnamed && (b.interval < 0 || b.interval == interval)
}

// TookBlock counts rows whose columns were taken, if there are any.
func (b *Builder) TookBlock(rows int, interval int64, state bool) {
	b.interval = max(b.interval, interval)
	b.checkState(b.Rows, state)
	b.Rows += rows
}

// addKeyed takes a row of a key: of statistics, or of a resolution.
func (b *Builder) addKeyed(n int, r *Row) {
	switch r.Seen & (Key | Cost | Frequency | From | To) {
	case Key | Cost, Key | Frequency, Key | From | To:
	default:
		b.lacks(n, r.Seen)
	}
	if r.Key != nil {
		b.AddKey(n, r.Key)
	}
	b.checkState(n, r.Seen&State != 0)
	if len(b.Problems) > 0 {
		return
	}
	if b.Fields&From != 0 {
		b.from.Add(r.From)
		b.to.Add(r.To)
		b.AddInstance(&b.HashInstance, n, r.HashInstance)
		return
	}
	b.Cost.Add(r.Cost)
	if r.Seen&State != 0 {
		b.State.Add(r.State)
	}
	if len(r.Costs) > 0 {
		b.Costs.add(n, r)
	}
	b.AddInstance(&b.Instance, n, r.Instance)
	b.AddInstance(&b.HashInstance, n, r.HashInstance)
}

// addRecord takes a row of the compact form.
func (b *Builder) addRecord(n int, r *Row) {
	if r.Seen&RecordRow != RecordRow {
		b.lacks(n, r.Seen)
	}
	if r.Count > 0 && b.keyed <= MaxCount {
		if b.keyed += r.Count; b.keyed > MaxCount { // once is enough
			b.Wrong(n, "count", DetailKeyed)
		}
	}
	if len(b.Problems) > 0 {
		return
	}
	b.records.Add(compact.Record{
		Planned: r.Instance, Current: r.Instance, Hash: r.HashInstance,
		Cost: r.Cost, State: r.State, Count: r.Count,
	})
}

// AddInstance appends v, but leaves a column alone that has no instance yet.
func (b *Builder) AddInstance(c *Column[int32], row int, v int32) {
	if c.Len() != row {
		if v == planner.NoInstance {
			return
		}
		c.Fill(planner.NoInstance, row)
	} else if row == 0 && v == planner.NoInstance {
		return
	}
	c.Add(v)
}

// checkState sees to it that all rows have state or none.
func (b *Builder) checkState(row int, has bool) {
	first, other := &b.noState, b.withState
	if has {
		first, other = &b.withState, b.noState
	}
	if *first >= 0 {
		return
	}
	*first = row
	if other >= 0 {
		b.Wrong(b.noState, "state", DetailState)
	}
}

// AddKey checks and appends the key of a row.
func (b *Builder) AddKey(row int, text []byte) {
	if b.Base64 || len(text) == 0 || len(text) > planner.MaxKeyBytes {
		var detail string
		if text, detail = b.check(row, text); detail != "" {
			b.Wrong(row, "key", detail)
			return
		}
	}
	if len(b.Problems) == 0 && (b.keys.Len() < b.room || b.grow(1)) && b.Meter.Take(b.keys.Allocates(len(text))) {
		b.keys.AppendUnhashed(text)
	}
}

// ExpectBy reckons how many rows there will be, and a little more, from the number
// of those in the part of the body that was read.
func (b *Builder) ExpectBy(rows int, read int64) {
	if size := b.Options.Size; b.Options.RowHint == 0 && rows >= firstChunkRows && read <= size {
		b.Expect(int(float64(rows)*float64(size)/float64(read)*1.01) + firstChunkRows)
	}
}

// Expect sets the number of rows that are expected.
func (b *Builder) Expect(rows int) {
	rows = min(rows, b.Options.Limits.Rows)
	b.expected = rows
	b.Cost.hint, b.State.hint, b.Instance.hint, b.HashInstance.hint = rows, rows, rows, rows
	b.records.hint, b.from.hint, b.to.hint = rows, rows, rows
	b.Costs.expect(rows)
}

// settleKeys brings keys into their final form when the body said after them,
// or not at all, that they are base64.
func (b *Builder) settleKeys() {
	if !b.Late {
		return
	}
	b.Late = false
	b.Line = nil // the rows have left the window
	long := b.long
	b.long = nil
	if !b.Base64 {
		for _, k := range long {
			b.Wrong(k.row, "key", DetailKey)
		}
		return
	}
	texts := b.keys
	if len(b.Problems) > 0 || !b.Meter.Take(texts.Len()*planner.KeyBytes) {
		return
	}
	b.room = texts.Len()
	b.keys = planner.NewKeys(b.room)
	for i := range texts.Len() {
		text := texts.At(i)
		if len(long) > 0 && long[0].row == i {
			text, long = long[0].text, long[1:]
		}
		b.AddKey(i, text)
		if b.Meter.Refused() != nil {
			return
		}
	}
	b.Meter.Give(texts.Bytes())
}

// Document returns what the rows make, or what is wrong with them.
func (b *Builder) Document() (*Document, error) {
	d := &Document{shape: b.Shape, first: b.first, Base64Keys: b.Base64}
	if b.interval >= 0 {
		d.Interval = new(b.interval)
	}
	if !b.Ragged {
		d.firstLine = b.firstLine
	}
	if b.Fields&Count != 0 {
		if err := b.Invalid(); err != nil {
			return nil, err
		}
		if d.Records = b.records.Take(); d.Records == nil {
			d.Records = []compact.Record{}
		}
		return d, b.Meter.Refused()
	}
	if err := b.checkKeys(); err != nil {
		return nil, err
	}
	d.Stats = &planner.Statistics{
		Keys: b.keys, Cost: b.Cost.Take(), State: b.State.Take(),
		Instance: b.Instance.Take(), HashInstance: b.HashInstance.Take(),
		// All those of which a body has columns are there, even if it has no rows.
		Costs: b.Costs.take(b.Resources, b.Columns&Costs != 0, b.keys.Len()),
	}
	if b.Options.SumTwins && b.Meter.Refused() == nil {
		if d.Stats, d.rows = sumTwins(b, d.Stats); len(b.Problems) > 0 {
			return nil, b.Invalid()
		}
	}
	return d, b.Meter.Refused()
}

// Resolution returns what the rows of a resolution make, or what is wrong with them.
func (b *Builder) Resolution() (*Resolution, error) {
	if err := b.checkKeys(); err != nil {
		return nil, err
	}
	r := &Resolution{Keys: b.keys, From: b.from.Take(), To: b.to.Take(), HashInstance: b.HashInstance.Take()}
	return r, b.Meter.Refused()
}

// sieveBytes is the most that looking for duplicates holds for each key.
const sieveBytes = 6

// checkKeys brings keys into their final form, and returns what is wrong with
// the rows.
func (b *Builder) checkKeys() error {
	b.settleKeys()
	if b.Options.SumTwins {
		return b.Invalid()
	}
	sieve := b.keys.Len() * sieveBytes
	if !b.Meter.Take(sieve) {
		return b.Meter.Refused()
	}
	defer b.Meter.Give(sieve)
	if len(b.Problems) == 0 {
		b.keys.HashAppended()
		for _, d := range duplicates(b.keys, b.Meter) {
			if b.Full() != nil {
				break
			}
			b.noteTwin(d, b.keys.At(d.later))
		}
	}
	return b.Invalid()
}

package input

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"plannerd/compact"
	"plannerd/planner"
)

// field is a member of a row, or a set of them.
type field uint16

const (
	fieldKey field = 1 << iota
	fieldCost
	fieldFrequency
	fieldState
	fieldInstance
	fieldHashInstance
	fieldInterval
	fieldCount
	fieldFrom
	fieldTo
	fieldUnknown
)

// Which members rows may have; in files (streams) also fieldInterval.
const (
	statisticsRow = fieldKey | fieldCost | fieldFrequency | fieldState | fieldInstance | fieldHashInstance
	recordRow     = fieldInstance | fieldHashInstance | fieldCost | fieldState | fieldCount
	resolutionRow = fieldKey | fieldFrom | fieldTo | fieldHashInstance
)

// all are the fields of rows of a kind that must have all of them: those of f,
// but for the interval and for the hash instance of a resolution.
func (f field) all() field {
	if f&fieldFrom != 0 {
		f &^= fieldHashInstance
	}
	return f &^ fieldInterval
}

// fieldNames are the names of fields in bodies, by the numbers of their bits.
var fieldNames = [...]string{"key", "cost", "frequency", "state", "instance", "hash_instance", "interval", "count",
	"from", "to", "unknown"}

// String returns the field's name in bodies.
func (f field) String() string { return fieldNames[bitOf(f)] }

// names are those of a set of fields.
func (f field) names() []string {
	var out []string
	for one := range f.each {
		out = append(out, one.String())
	}
	return out
}

// fieldOf is the inverse of String in rows of the given fields. In files the
// state of a key may be called state_bytes.
func fieldOf(name []byte, fields field) field {
	f := namedField(name)
	const file = fieldKey | fieldInterval
	if fields&file == file && string(name) == "state_bytes" {
		f = fieldState
	}
	if f&fields == 0 {
		return fieldUnknown
	}
	return f
}

func namedField(name []byte) field {
	switch string(name) {
	case "key":
		return fieldKey
	case "cost":
		return fieldCost
	case "frequency":
		return fieldFrequency
	case "state":
		return fieldState
	case "instance":
		return fieldInstance
	case "hash_instance":
		return fieldHashInstance
	case "interval":
		return fieldInterval
	case "count":
		return fieldCount
	case "from":
		return fieldFrom
	case "to":
		return fieldTo
	}
	return fieldUnknown
}

// each yields the fields of a set.
func (f field) each(yield func(field) bool) {
	for ; f != 0; f &= f - 1 {
		if !yield(f & -f) {
			return
		}
	}
}

// Details of problems.
const (
	detailNumber   = "must be ≥ 0 and finite"
	detailGreat    = "must be at most 1e290"
	detailInstance = "must be an integer from 0 to 2147483647"
	detailInterval = "must be an integer from 0 to 9007199254740991"
	detailKey      = "must be 1 to 1024 bytes"
	detailBase64   = "must be base64 (standard alphabet, padded)"
	detailString   = "must be a string"
	detailRow      = "must be an object"
	detailUnknown  = "unknown field"
	detailColumn   = "unknown column"
	detailRequired = "is required"
	detailNoCost   = "is required, or frequency in its place"
	detailBoth     = "excludes cost"
	detailNoCount  = "excludes key"
	detailCount    = "must be an integer from 1 to 9007199254740991"
	detailKeyed    = "brings the keys of all records above 9007199254740991"
	detailRecord   = "must be a list of five numbers"
	detailState    = "is required: other rows name their state"
)

// row is one row as it is parsed. seen tells which members it has; instances
// that are null or left out are planner.NoInstance.
type row struct {
	key                    []byte // text as written; nil: a problem is noted already
	cost, state            float64
	instance, hashInstance int32
	from, to               int32 // of a resolution
	interval               int64
	count                  int64 // of a record
	seen                   field
	broken                 bool // not a row at all, which is a problem already noted
}

func (r *row) reset() {
	*r = row{instance: planner.NoInstance, hashInstance: planner.NoInstance}
}

// builder checks rows and gathers them into columns.
type builder struct {
	options  Options
	meter    *meter
	shape    shape
	fields   field // that rows may have; these also tell which kind of rows it is
	first    int   // number of the first row, for pointers
	rows     int   // rows seen, also refused ones
	problems []Problem

	line      func() int // the line of the newest row; nil: there are no lines
	firstLine int        // of the first row
	ragged    bool       // rows need not be on successive lines

	keys                   *planner.Keys
	keyRoom                int // keys that fit without growing
	expected               int // rows; 0: not known
	cost, state            column[float64]
	instance, hashInstance column[int32]
	withState, noState     int // first row with and without state, −1: none yet

	interval int64 // that rows name; −1: none yet
	unnamed  bool  // a row names none

	records column[compact.Record]
	keyed   int64 // keys that the records count

	from, to column[int32]

	base64 bool // keys are written in base64
	// late: a later member may still say that keys are base64. Keys that would be
	// too long otherwise are then kept aside.
	late    bool
	long    []longKey
	decoded []byte
}

// longKey is a key that is acceptable only if it is base64 text.
type longKey struct {
	row  int
	text []byte
}

// begin starts a document of rows of the given fields, which follows what was
// read before.
func (b *builder) begin(o Options, s shape, fields field) {
	*b = builder{
		options: o, meter: &meter{reserve: o.Reserve}, shape: s, fields: fields, first: b.first + b.rows,
		problems: b.problems,
		line:     b.line, ragged: b.ragged, base64: o.Base64Keys, decoded: b.decoded, keys: planner.NewKeys(0),
		withState: -1, noState: -1, interval: -1,
	}
	for _, m := range []**meter{
		&b.cost.meter, &b.state.meter, &b.instance.meter, &b.hashInstance.meter, &b.records.meter, &b.from.meter, &b.to.meter,
	} {
		*m = b.meter
	}
	b.expect(o.RowHint)
}

// pointer to a field of a row of this document.
func (b *builder) pointer(row int, field string) string {
	return b.shape.pointer(b.first+row, field)
}

// invalid returns the problems as an error, or nil when there are none.
func (b *builder) invalid() error {
	if len(b.problems) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Problems: append([]Problem(nil), b.problems...)}
}

// full returns the error that ends decoding once there are too many problems, or
// no more memory.
func (b *builder) full() error {
	if err := b.meter.refused(); err != nil {
		return err
	}
	if len(b.problems) < maxProblems {
		return nil
	}
	return b.invalid()
}

func (b *builder) tooManyRows() error {
	return &Error{TooLarge, []Problem{at(b.pointer(b.options.Limits.Rows, ""), "more than "+
		strconv.Itoa(b.options.Limits.Rows)+" rows")}}
}

// add takes the next row. Once a problem is known, rows are only checked.
func (b *builder) add(r *row) error {
	if b.rows >= b.options.Limits.Rows {
		return b.tooManyRows()
	}
	n := b.rows
	b.rows++
	if n == 0 {
		b.firstLine = b.lineOf(0)
	}
	switch {
	case r.broken:
	case b.fields&fieldCount != 0:
		b.addRecord(n, r)
	case b.fields&fieldFrom != 0:
		b.addResolved(n, r)
	default:
		b.addStatistics(n, r)
	}
	if len(b.problems) > 0 {
		b.nameKey(n, r.key)
	}
	return b.full()
}

// checkInterval sees to it that the rows of a body are of one interval, if any of them
// names one.
func (b *builder) checkInterval(r *row) {
	named := r.seen&fieldInterval != 0
	switch {
	case b.fields&fieldInterval == 0 || r.broken || named && r.interval < 0:
	case !named && b.interval >= 0:
		b.problem(b.rows, "interval", detailRequired)
	case !named:
		b.unnamed = true
	case b.unnamed:
		b.problem(b.rows, "interval", "other rows name no interval")
	case b.interval >= 0 && b.interval != r.interval:
		b.problem(b.rows, "interval", "is "+strconv.FormatInt(r.interval, 10)+", but "+
			strconv.FormatInt(b.interval, 10)+" in the rows before: a body holds one interval")
		fallthrough // the rows that follow are told once
	default:
		b.interval = r.interval
	}
}

// addStatistics takes a row of a key.
func (b *builder) addStatistics(n int, r *row) {
	switch r.seen & (fieldKey | fieldCost | fieldFrequency) {
	case fieldKey | fieldCost, fieldKey | fieldFrequency:
	default:
		b.required(n, r.seen)
	}
	if r.key != nil {
		b.addKey(n, r.key)
	}
	b.checkState(n, r.seen&fieldState != 0)
	if len(b.problems) > 0 {
		return
	}
	b.cost.add(r.cost)
	if r.seen&fieldState != 0 {
		b.state.add(r.state)
	}
	b.addInstance(&b.instance, n, r.instance)
	b.addInstance(&b.hashInstance, n, r.hashInstance)
}

func (b *builder) required(row int, seen field) {
	if seen&fieldKey == 0 {
		b.problem(row, "key", detailRequired)
	}
	switch seen & (fieldCost | fieldFrequency) {
	case 0:
		b.problem(row, "cost", detailNoCost)
	case fieldCost | fieldFrequency:
		b.problem(row, "frequency", detailBoth)
	}
}

// requireAll notes which fields are missing in a row of a kind that has all.
func (b *builder) requireAll(row int, seen field) {
	for f := range (b.fields.all() &^ seen).each {
		b.problem(row, f.String(), detailRequired)
	}
}

// addInstance appends v, but leaves a column alone that has no instance yet.
func (b *builder) addInstance(c *column[int32], row int, v int32) {
	if c.len() != row {
		if v == planner.NoInstance {
			return
		}
		c.fill(planner.NoInstance, row)
	} else if row == 0 && v == planner.NoInstance {
		return
	}
	c.add(v)
}

// checkState sees to it that all rows have state or none.
func (b *builder) checkState(row int, has bool) {
	first, other := &b.noState, b.withState
	if has {
		first, other = &b.withState, b.noState
	}
	if *first >= 0 {
		return
	}
	*first = row
	if other >= 0 {
		b.problem(b.noState, "state", detailState)
	}
}

// addKey checks and appends the key of a row.
func (b *builder) addKey(row int, text []byte) {
	key := text
	if b.base64 {
		var ok bool
		if key, ok = b.decode(text); !ok {
			b.problem(row, "key", detailBase64)
			return
		}
	}
	if len(key) == 0 || len(key) > planner.MaxKeyBytes {
		if b.late && len(key) > 0 && len(key) <= base64.StdEncoding.EncodedLen(planner.MaxKeyBytes) {
			if !b.meter.take(len(key) + sizeOf[longKey](2)) {
				return
			}
			b.long = append(b.long, longKey{row, bytes.Clone(key)})
			key = nil // a place in the list
		} else {
			b.problem(row, "key", detailKey)
			return
		}
	}
	if len(b.problems) == 0 && (b.keys.Len() < b.keyRoom || b.growKeys(1)) && b.meter.take(b.keys.Allocates(len(key))) {
		b.keys.AppendUnhashed(key)
	}
}

// growKeys doubles the room for keys, or follows the hint once it can be
// believed. There will be room for more keys than there are, which are at hand. It
// reports whether the meter allows that.
func (b *builder) growKeys(more int) bool {
	n, least := b.keyRoom, b.keys.Len()+more
	room := max(firstChunkRows, min(b.expected, chunkRows), 2*n, least)
	if hinted(b.expected, least-1) {
		room = b.expected
	}
	if !b.meter.take(room * planner.KeyBytes) {
		return false
	}
	b.keyRoom = room
	b.keys.GrowUnhashed(room - b.keys.Len())
	b.meter.give(n * planner.KeyBytes)
	return true
}

// expectBy reckons how many rows there will be, and a little more, from the number
// of those in the part of the body that was read.
func (b *builder) expectBy(rows int, read int64) {
	if size := b.options.Size; b.options.RowHint == 0 && rows >= firstChunkRows && read <= size {
		b.expect(int(float64(rows)*float64(size)/float64(read)*1.01) + firstChunkRows)
	}
}

// expect sets the number of rows that are expected.
func (b *builder) expect(rows int) {
	rows = min(rows, b.options.Limits.Rows)
	b.expected = rows
	b.cost.hint, b.state.hint, b.instance.hint, b.hashInstance.hint = rows, rows, rows, rows
	b.records.hint, b.from.hint, b.to.hint = rows, rows, rows
}

// decode returns the bytes that text stands for, valid until the next call.
func (b *builder) decode(text []byte) ([]byte, bool) {
	if bytes.ContainsAny(text, "\r\n") { // which the standard decoder would skip
		return nil, false
	}
	var err error
	b.decoded, err = base64.StdEncoding.Strict().AppendDecode(b.decoded[:0], text)
	return b.decoded, err == nil
}

// settleKeys brings keys into their final form when the body said after them,
// or not at all, that they are base64.
func (b *builder) settleKeys() {
	if !b.late {
		return
	}
	b.late = false
	b.line = nil // the rows have left the window
	long := b.long
	b.long = nil
	if !b.base64 {
		for _, k := range long {
			b.problem(k.row, "key", detailKey)
		}
		return
	}
	if len(b.problems) > 0 {
		return
	}
	texts := b.keys
	if !b.meter.take(texts.Len() * planner.KeyBytes) {
		return
	}
	b.keyRoom = texts.Len()
	b.keys = planner.NewKeys(b.keyRoom)
	for i := range texts.Len() {
		text := texts.At(i)
		if len(long) > 0 && long[0].row == i {
			text, long = long[0].text, long[1:]
		}
		b.addKey(i, text)
		if b.meter.refused() != nil {
			return
		}
	}
	b.meter.give(texts.Bytes())
}

// document returns what the rows make, or what is wrong with them.
func (b *builder) document() (*Document, error) {
	d := &Document{shape: b.shape, first: b.first, base64: b.base64}
	if b.interval >= 0 {
		d.Interval = new(b.interval)
	}
	if !b.ragged {
		d.firstLine = b.firstLine
	}
	if b.fields&fieldCount != 0 {
		if err := b.invalid(); err != nil {
			return nil, err
		}
		if d.Records = b.records.take(); d.Records == nil {
			d.Records = []compact.Record{}
		}
		return d, b.meter.refused()
	}
	if err := b.checkKeys(); err != nil {
		return nil, err
	}
	d.Stats = &planner.Statistics{
		Keys: b.keys, Cost: b.cost.take(), State: b.state.take(),
		Instance: b.instance.take(), HashInstance: b.hashInstance.take(),
	}
	return d, b.meter.refused()
}

// sieveBytes is the most that looking for duplicates holds for each key.
const sieveBytes = 6

// checkKeys brings keys into their final form, and returns what is wrong with
// the rows.
func (b *builder) checkKeys() error {
	b.settleKeys()
	sieve := b.keys.Len() * sieveBytes
	if !b.meter.take(sieve) {
		return b.meter.refused()
	}
	defer b.meter.give(sieve)
	if len(b.problems) == 0 {
		b.keys.HashAppended()
		for _, d := range duplicates(b.keys, b.meter) {
			if b.full() != nil {
				break
			}
			b.noteTwin(d)
		}
	}
	return b.invalid()
}

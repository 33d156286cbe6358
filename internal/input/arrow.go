package input

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/planner"
)

// DecodeArrow reads rows as a stream of Arrow IPC: a schema that names the
// columns, in any order, record batches, also with compressed buffers, and the
// end-of-stream marker. A stream without the marker is cut, even where a message
// ends, and is refused, as is anything after it.
//
// A key is utf8 or binary, or a dictionary of these, in any of their layouts.
// With Base64Keys the former is base64 text; binary is always the key itself. A
// cost, frequency or state is a float of 32 or 64 bits or an integer, all else an
// integer. A null means that the row lacks the field, and a column of type null
// that all do.
//
// A schema with the column count, and none for the key, is that of compact
// records, as in [DecodeCSV]; so is an interval.
func DecodeArrow(r io.Reader, o Options) (*Document, error) {
	p, err := newArrow(r, o, statisticsRow|fieldInterval)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for {
		more, err := p.nextBatch()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if err := p.takeBatch(); err != nil {
			return nil, err
		}
	}
	return p.document()
}

// arrowReader reads the rows of an Arrow IPC stream, batch by batch.
type arrowReader struct {
	builder
	messages *arrowMessages
	reader   *ipc.Reader
	columns  []arrowColumn

	batch arrow.RecordBatch // the present one
	size  int               // its rows
	at    int               // the next of them
}

// newArrow reads the schema of rows of the given fields; those of statistics may
// turn out to be of records. Without an error the reader must be closed.
func newArrow(r io.Reader, o Options, fields field) (*arrowReader, error) {
	o = o.withDefaults()
	p := &arrowReader{}
	p.begin(o, shapeRows, fields)
	p.messages = &arrowMessages{
		Allocator: memory.NewGoAllocator(), meter: &meter{reserve: o.Reserve}, r: r, accept: p.accept,
	}
	p.allow(o.Limits.Bytes)
	var err error
	if p.reader, err = ipc.NewReaderFromMessageReader(p.messages, ipc.WithAllocator(p.messages)); err != nil {
		err = p.explain()
		return p, err
	}
	if err := p.setTypes(p.reader.Schema()); err != nil {
		p.close()
		return p, err
	}
	return p, nil
}

// allow sets the limit of bytes, counted from here.
func (p *arrowReader) allow(n int64) {
	p.messages.bytes, p.messages.limit = n, p.messages.used+n
}

// close gives up what the library holds.
func (p *arrowReader) close() {
	if p.reader != nil {
		p.reader.Release()
	}
	p.reader, p.batch = nil, nil
	p.messages.release()
}

// explain returns why the library stopped: what the messages or their memory ran
// into, else that it could not make sense of them.
func (p *arrowReader) explain() error {
	switch m := p.messages; {
	case m.err != nil:
		return m.err
	case !m.started:
		return m.malformed("the stream has no schema")
	default:
		return m.malformed("not a valid Arrow message before the one")
	}
}

// accept checks the columns of a schema, before the library reads it.
func (p *arrowReader) accept(columns []arrowField) error {
	if len(columns) > maxMembers {
		return &Error{TooLarge, []Problem{at("", "more than 256 columns")}}
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	fields, err := p.setColumns(names)
	if err != nil {
		return err
	}
	p.columns = make([]arrowColumn, len(fields))
	for i, f := range fields {
		p.columns[i].field = f
		if c := columns[i]; !c.flat() {
			p.wrongType(f, c.String())
		}
	}
	return p.invalid()
}

// setTypes checks the types of the columns.
func (p *arrowReader) setTypes(s *arrow.Schema) error {
	for i := range p.columns {
		c, t := &p.columns[i], s.Field(i).Type
		if !c.holds(t) {
			p.wrongType(c.field, t.String())
		}
		if c.field == fieldKey && isBinary(t) {
			p.options.Base64Keys, p.base64 = false, false
		}
	}
	return p.invalid()
}

func (p *arrowReader) wrongType(f field, t string) {
	p.columnProblem(f.String(), "column "+typesOf(f)+", not "+t)
}

// nextBatch reads the next record batch; false at the end. The one before is no
// longer valid.
func (p *arrowReader) nextBatch() (bool, error) {
	if !p.reader.Next() {
		if p.messages.err == nil && p.messages.ended && p.reader.Err() == nil {
			return false, nil
		}
		return false, p.explain()
	}
	p.batch, p.at = p.reader.RecordBatch(), 0
	p.size = int(p.batch.NumRows())
	if err := p.convert(); err != nil {
		return false, err
	}
	for i := range p.columns {
		if !p.load(i) {
			return false, p.messages.malformed("column " + p.columns[i].field.String() +
				" is broken in the record batch that ends")
		}
	}
	return true, nil
}

// convert sees to room for columns that are to be converted: a byte may become eight.
func (p *arrowReader) convert() error {
	bytes := 0
	for i := range p.columns {
		bytes += p.columns[i].converts(p.batch.Column(i))
	}
	if err := p.messages.hold(&p.messages.decoding, 0); err != nil { // the batch is decompressed
		return err
	}
	return p.messages.hold(&p.messages.converting, max(bytes, p.messages.converting))
}

// load takes a column of the batch; false when it is broken. The library looks
// into some buffers only when asked, and panics then.
func (p *arrowReader) load(i int) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return p.columns[i].load(p.batch.Column(i), p.size)
}

// takeBatch takes all rows of the batch: as columns when nothing is missing or
// wrong in them, else row by row, which tells what.
func (p *arrowReader) takeBatch() error {
	p.expectBy(p.rows+p.size, p.messages.read)
	if p.whole() {
		p.takeColumns()
		return p.full()
	}
	var r row
	for {
		ok, err := p.nextOfBatch(&r)
		if err != nil || !ok {
			return err
		}
		p.checkInterval(&r)
		if err := p.add(&r); err != nil {
			return err
		}
	}
}

// whole tells whether the batch holds statistics of keys without any fault that
// shows in single rows.
func (p *arrowReader) whole() bool {
	if len(p.problems) > 0 || p.fields&fieldCount != 0 || p.base64 || p.size > p.options.Limits.Rows-p.rows {
		return false
	}
	named := false
	for i := range p.columns {
		c := &p.columns[i]
		if !c.whole() || c.field == fieldInterval && p.interval >= 0 && p.size > 0 && c.numbers[0] != p.interval {
			return false
		}
		named = named || c.field == fieldInterval
	}
	return !named || !p.unnamed
}

// roomFor reports whether the meter allows for keys of so many bytes together.
func (p *arrowReader) roomFor(text int) bool {
	block := p.keys.Allocates(text)
	return block == 0 || p.meter.take(max(block, text))
}

// takeColumns takes the batch, which is whole, unless the meter refuses to.
func (p *arrowReader) takeColumns() {
	if p.size == 0 {
		return
	}
	state := false
	for i := range p.columns {
		switch c := &p.columns[i]; c.field {
		case fieldKey:
			if p.keyRoom < p.keys.Len()+p.size && !p.growKeys(p.size) || !p.roomFor(c.keys.textBytes(p.size)) {
				return
			}
			c.keys.appendTo(p.keys, p.size)
		case fieldCost, fieldFrequency:
			p.cost.addAll(c.amounts)
		case fieldState:
			state = true
			p.state.addAll(c.amounts)
		case fieldInstance:
			p.instance.fill(planner.NoInstance, p.rows)
			p.instance.addAll(c.ids)
		case fieldHashInstance:
			p.hashInstance.fill(planner.NoInstance, p.rows)
			p.hashInstance.addAll(c.ids)
		case fieldInterval:
			p.interval = c.numbers[0]
		}
	}
	p.checkState(p.rows, state)
	p.rows += p.size
}

// next reads the next row; false at the end.
func (p *arrowReader) next(r *row) (bool, error) {
	for {
		if ok, err := p.nextOfBatch(r); ok || err != nil {
			return ok, err
		}
		if more, err := p.nextBatch(); !more {
			return false, err
		}
	}
}

// nextOfBatch reads the next row of the batch; false at its end.
func (p *arrowReader) nextOfBatch(r *row) (bool, error) {
	if p.at == p.size {
		return false, nil
	}
	r.reset()
	for i := range p.columns {
		c := &p.columns[i]
		if c.null(p.at) {
			continue
		}
		r.seen |= c.field
		if detail := c.read(p.at, r); detail != "" {
			if detail == detailNotUTF8 {
				return false, &Error{Malformed, []Problem{at(p.pointer(p.rows, c.field.String()), detail)}}
			}
			p.problem(p.rows, c.field.String(), detail)
		}
	}
	p.at++
	return true, nil
}

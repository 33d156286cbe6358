// Package arrowrows reads rows from streams of Arrow IPC. It checks, and pays for, what a stream
// announces before the library of Arrow sees it, and brings columns of other types into those that
// are needed; what rows must have is for package columns to know.
package arrowrows

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// Rows reads rows as a stream of Arrow IPC, batch by batch: a schema that names the
// columns, in any order, record batches, also with compressed buffers, and the
// end-of-stream marker. A stream without the marker is cut, even where a message
// ends, and is refused, as is anything after it.
//
// A key is utf8 or binary, or a dictionary of these, in any of their layouts.
// With Base64Keys the former is base64 text; binary is always the key itself. A
// cost, frequency or state is a float of 32 or 64 bits or an integer, an instance
// an integer or its name, which is utf8 or a dictionary of it, all else an integer.
// A null means that the row lacks the field, and a column of type null that all do.
//
// A schema with the column count, and none for the key, is that of compact
// records, as in CSV; so is an interval.
type Rows struct {
	columns.Builder
	messages *messages
	reader   *ipc.Reader
	columns  []column

	batch arrow.RecordBatch // the present one
	size  int               // its rows
	at    int               // the next of them
}

// New reads the schema of rows of the given fields; those of statistics may
// turn out to be of records. The reader must be closed, also after an error.
func New(r io.Reader, o columns.Options, fields columns.Field) (*Rows, error) {
	o = o.WithDefaults()
	p := &Rows{}
	p.Begin(o, columns.ShapeRows, fields)
	p.messages = &messages{
		Allocator: memory.NewGoAllocator(), meter: &columns.Meter{Reserve: o.Reserve}, r: r, accept: p.accept,
	}
	p.Allow(o.Limits.Bytes)
	var err error
	if p.reader, err = ipc.NewReaderFromMessageReader(p.messages, ipc.WithAllocator(p.messages)); err != nil {
		err = p.explain()
	} else {
		err = p.setTypes(p.reader.Schema())
	}
	return p, err
}

// Allow sets the limit of bytes, counted from here.
func (p *Rows) Allow(n int64) {
	p.messages.bytes, p.messages.limit = n, p.messages.used+n
}

// Close gives up what the library holds.
func (p *Rows) Close() {
	if p.reader != nil {
		p.reader.Release()
	}
	p.reader, p.batch = nil, nil
	p.messages.release()
}

// explain returns why the library stopped: what the messages or their memory ran
// into, else that it could not make sense of them.
func (p *Rows) explain() error {
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
func (p *Rows) accept(schema []schemaField) error {
	if len(schema) > columns.MaxMembers {
		return problem.One(problem.TooLarge, "", "more than 256 columns")
	}
	names := make([]string, len(schema))
	for i, c := range schema {
		names[i] = c.name
	}
	places, err := p.Places(names, &p.Options.Mapping)
	if err != nil {
		return err
	}
	p.columns = p.columns[:0]
	for i, place := range places {
		switch c := schema[i]; {
		case place.Field == columns.Key && place.Part > 0:
			p.WrongColumn(c.name, "is a part of the key; in Arrow, the key is in one column")
		case place.Field == 0 && !c.passed():
			p.WrongColumn(c.name, "column cannot be passed over, as it is "+c.String()+"; leave it out")
		case place.Field == 0:
			continue
		case !c.flat(place.Field):
			p.wrongType(place, c.String())
		}
		p.columns = append(p.columns, column{Place: place, at: i})
	}
	return p.Invalid()
}

// setTypes checks the types of the columns.
func (p *Rows) setTypes(s *arrow.Schema) error {
	for i := range p.columns {
		c := &p.columns[i]
		t := s.Field(c.at).Type
		if !c.holds(t) {
			p.wrongType(c.Place, t.String())
		}
		if c.Field == columns.Key && isBinary(t) {
			p.Options.Base64Keys, p.Base64 = false, false
		}
	}
	return p.Invalid()
}

func (p *Rows) wrongType(c columns.Place, t string) {
	p.WrongColumn(p.NameOf(c), "column "+typesOf(c.Field)+", not "+t)
}

// nextBatch reads the next record batch; false at the end. The one before is no
// longer valid.
func (p *Rows) nextBatch() (bool, error) {
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
			return false, p.messages.malformed("column " + p.NameOf(p.columns[i].Place) +
				" is broken in the record batch that ends")
		}
	}
	return true, nil
}

// convert sees to room for columns that are to be converted: a byte may become eight.
func (p *Rows) convert() error {
	bytes := 0
	for i := range p.columns {
		bytes += p.columns[i].converts(p.batch.Column(p.columns[i].at))
	}
	if err := p.messages.hold(&p.messages.decoding, 0); err != nil { // the batch is decompressed
		return err
	}
	return p.messages.hold(&p.messages.converting, max(bytes, p.messages.converting))
}

// load takes a column of the batch; false when it is broken. The library looks
// into some buffers only when asked, and panics then.
func (p *Rows) load(i int) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return p.columns[i].load(p.batch.Column(p.columns[i].at), p.size, p.Named)
}

// TakeBlocks takes batches as columns, as long as nothing is missing or wrong in them. What is
// wrong in one its rows tell one by one.
func (p *Rows) TakeBlocks() error {
	for p.at == p.size {
		more, err := p.nextBatch()
		if err != nil || !more {
			return err
		}
		p.ExpectBy(p.Rows+p.size, p.messages.read)
		if !p.TakesBlock(p.size, -1) {
			return nil
		}
		interval, whole := p.whole()
		if !whole || !p.TakesBlock(p.size, interval) {
			return nil
		}
		p.takeColumns(interval)
		p.at = p.size
		if err := p.Full(); err != nil {
			return err
		}
	}
	return nil
}

// whole tells whether the batch holds rows of keys without any fault that shows in single rows,
// and the interval that they name; −1: none.
func (p *Rows) whole() (interval int64, whole bool) {
	interval = -1
	for i := range p.columns {
		c := &p.columns[i]
		if !c.whole() {
			return 0, false
		}
		if c.Field == columns.Interval && p.size > 0 {
			interval = c.numbers[0]
		}
	}
	return interval, true
}

// takeColumns takes the batch, which is whole, unless the meter refuses to.
func (p *Rows) takeColumns(interval int64) {
	if p.size == 0 {
		return
	}
	state := false
	for i := range p.columns {
		switch c := &p.columns[i]; c.Field {
		case columns.Key:
			keys := p.KeysFor(p.size, c.keys.textBytes(p.size))
			if keys == nil {
				return
			}
			c.keys.appendTo(keys, p.size)
		case columns.Cost, columns.Frequency:
			p.Cost.AddAll(c.amounts)
		case columns.State:
			state = true
			p.State.AddAll(c.amounts)
		case columns.Costs:
			all := p.Costs.Of(c.Part)
			all.Fill(0, p.Rows)
			all.AddAll(c.amounts)
		case columns.Instance:
			p.Instance.Fill(planner.NoInstance, p.Rows)
			p.Instance.AddAll(c.ids)
		case columns.HashInstance:
			p.HashInstance.Fill(planner.NoInstance, p.Rows)
			p.HashInstance.AddAll(c.ids)
		}
	}
	p.TookBlock(p.size, interval, state)
}

// Next reads the next row; false at the end.
func (p *Rows) Next(r *columns.Row) (bool, error) {
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
func (p *Rows) nextOfBatch(r *columns.Row) (bool, error) {
	if p.at == p.size {
		return false, nil
	}
	r.Reset()
	for i := range p.columns {
		c := &p.columns[i]
		if c.null(p.at) {
			continue
		}
		r.Seen |= c.Field
		if detail := c.read(p.at, r); detail != "" {
			if detail == detailNotUTF8 {
				return false, problem.One(problem.Malformed, p.Pointer(p.Rows, c.Field.String()), detail)
			}
			p.Wrong(p.Rows, p.NameOf(c.Place), detail)
		}
	}
	p.at++
	return true, nil
}

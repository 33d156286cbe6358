package input

import (
	"errors"
	"io"
	"slices"
	"strconv"
)

// Stream reads a file of several intervals: CSV, NDJSON or Arrow whose rows name
// their interval in a further column or member "interval", or JSON documents that do so,
// each from a line of its own. The intervals of rows do not decrease, so those of
// one stand together; those of documents increase. The state of rows may be called
// state_bytes. A file that names no interval is one interval. CSV and Arrow may
// as well hold compact records.
//
// The limits hold for each interval. Pointers count rows from the start of the
// file, in JSON from that of the document.
type Stream struct {
	source  fileSource  // nil for JSON
	json    *jsonParser // nil for rows
	b       *builder    // that of source; nil for JSON
	options Options

	started bool
	has     bool
	newest  int64 // interval of the last JSON document
	pending row   // read, but not yet part of an interval
	held    bool  // there is a pending row
	mark    int   // problems noted before the pending row
	err     error
}

// fileSource is a file of rows.
type fileSource interface {
	rowSource
	allow(bytes int64) // sets the limit of what is read from here
	close()
}

// NewStream returns a stream of the file that r holds.
func NewStream(r io.Reader, f Format, o Options) *Stream {
	s := &Stream{options: o.withDefaults()}
	switch f {
	case JSON:
		s.json = newJSON(r, o)
	case CSV:
		p, err := newCSV(r, o, statisticsRow|fieldInterval)
		s.source, s.b = p, &p.builder
		s.has = slices.Contains(p.columns, fieldInterval)
		if err != nil {
			s.fail(err)
		}
	case Arrow:
		p, err := newArrow(r, o, statisticsRow|fieldInterval)
		s.source, s.b = p, &p.builder
		s.options = p.options
		s.has = slices.ContainsFunc(p.columns, func(c arrowColumn) bool { return c.field == fieldInterval })
		if err != nil {
			s.fail(err)
		}
	case NDJSON:
		p := newNDJSON(r, o, statisticsRow|fieldInterval)
		s.source, s.b = p, &p.builder
	}
	return s
}

// HasInterval tells, once Next was called, whether the file names intervals.
func (s *Stream) HasInterval() bool { return s.has }

// Next returns the next interval and its rows; io.EOF after the last. The
// interval is 0 when the file names none. An error is final.
func (s *Stream) Next() (interval int64, d *Document, err error) {
	if s.err != nil {
		return 0, nil, s.err
	}
	if s.json != nil {
		interval, d, err = s.document()
	} else {
		interval, d, err = s.rows()
	}
	if err != nil {
		s.fail(err)
	}
	return interval, d, err
}

func (s *Stream) fail(err error) {
	s.err = err
	switch {
	case s.json != nil:
		s.json.close()
	case s.source != nil:
		s.source.close()
	}
}

// document reads a JSON document as an interval.
func (s *Stream) document() (int64, *Document, error) {
	p := s.json
	if s.started {
		over, err := p.over()
		if err != nil {
			return 0, nil, err
		}
		if over {
			return 0, nil, io.EOF
		}
		p.renew(s.options)
	}
	d, err := p.body(func() error {
		if _, named := p.members["interval"]; named || s.has {
			return p.lineEnd()
		}
		return p.lastEnd()
	})
	if err == nil {
		err = s.accept(d)
	}
	if err != nil {
		return 0, nil, err
	}
	return s.newest, d, nil
}

// accept takes a JSON document for that of the next interval.
func (s *Stream) accept(d *Document) error {
	if d.Stats == nil && d.Records == nil {
		return &Error{Invalid, []Problem{at("/keys", `is required, or "columns" or the "records" of "compact" in its place`)}}
	}
	if err := s.nextInterval(d.Members["interval"]); err != nil {
		return err
	}
	s.started = true
	return nil
}

// DecodeIntervals reads a JSON object whose member "intervals" is a list of documents as
// [DecodeJSON] reads them. Each names its interval, and they ascend. take is given one after
// the other; the limits hold for each. It returns the other members.
func DecodeIntervals(r io.Reader, o Options, take func(interval int64, d *Document) error) (map[string][]byte, error) {
	s := NewStream(r, JSON, o)
	s.has = true
	p := s.json
	defer p.close()
	members, listed := p.members, false
	err := p.whole(func(name string) error {
		p.members = members
		if _, twice := members[name]; twice || name == "intervals" && listed {
			p.fail(p.pos, "duplicate member")
			return p.malformed()
		}
		if name != "intervals" {
			return p.verbatim(name)
		}
		listed = true
		return s.list(take)
	}, p.lastEnd)
	return members, err
}

// list reads the value of "intervals".
func (s *Stream) list(take func(interval int64, d *Document) error) error {
	const name = "/intervals"
	p := s.json
	if p.buf[p.pos] != '[' {
		return &Error{Invalid, []Problem{at(name, "must be a list of documents")}}
	}
	p.pos++
	c, err := p.peek()
	if err != nil {
		return err
	}
	if c == ']' {
		p.pos++
		return nil
	}
	for i := 0; ; i++ {
		p.renew(s.options)
		d, err := p.body(func() error { return nil })
		if err == nil {
			err = s.accept(d)
		}
		if err == nil {
			err = take(s.newest, d)
		}
		if err != nil {
			return below(name+"/"+strconv.Itoa(i), err)
		}
		end, err := p.separator(']')
		if end || err != nil {
			return err
		}
	}
}

// below has the problems of a document point into what it is a part of.
func below(pointer string, err error) error {
	var bad *Error
	if errors.As(err, &bad) {
		for i := range bad.Problems {
			bad.Problems[i].Pointer = pointer + bad.Problems[i].Pointer
		}
	}
	return err
}

// nextInterval takes the interval of a JSON document, nil when it names none.
func (s *Stream) nextInterval(text []byte) error {
	wrong := func(detail string) error { return &Error{Invalid, []Problem{at("/interval", detail)}} }
	if text == nil {
		if s.started || s.has {
			return wrong(detailRequired)
		}
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	switch {
	case err != nil || n > maxInterval:
		return wrong(detailInterval)
	case s.started && int64(n) <= s.newest:
		return wrong("must be greater than in the document before")
	}
	s.has, s.newest = true, int64(n)
	return nil
}

// rows reads the rows of one interval, and the first of the next one.
func (s *Stream) rows() (int64, *Document, error) {
	b := s.b
	if !s.started {
		if err := s.advance(); err != nil {
			return 0, nil, err
		}
		if s.held {
			s.has = s.pending.seen&fieldInterval != 0 || s.has
		}
	}
	if !s.held && (s.started || s.has) {
		return 0, nil, io.EOF
	}
	s.started = true
	b.begin(s.options, shapeRows, b.fields)
	s.source.allow(s.options.Limits.Bytes)
	interval := s.pending.interval
	for s.held && s.belongs(interval) {
		if err := b.add(&s.pending); err != nil {
			return 0, nil, err
		}
		if err := s.advance(); err != nil {
			return 0, nil, err
		}
	}
	next := slices.Clone(b.problems[s.mark:])
	b.problems = b.problems[:s.mark]
	d, err := b.document()
	if err != nil {
		return 0, nil, err
	}
	b.problems, s.mark = next, 0
	return interval, d, nil
}

// advance reads the next row.
func (s *Stream) advance() (err error) {
	s.mark = len(s.b.problems)
	s.held, err = s.source.next(&s.pending)
	return err
}

// belongs tells whether the pending row is one of the interval. It is taken for
// one as well when its own interval is wrong, which becomes a problem.
func (s *Stream) belongs(interval int64) bool {
	r := &s.pending
	named := r.seen&fieldInterval != 0
	switch {
	case r.broken, named && r.interval < 0:
	case named && !s.has:
		s.b.problem(s.b.rows, "interval", "other rows name no interval")
	case !named && s.has:
		s.b.problem(s.b.rows, "interval", detailRequired)
	case r.interval < interval:
		s.b.problem(s.b.rows, "interval", "must not be less than in the row before")
	default:
		return r.interval == interval
	}
	return true
}

package input

import (
	"io"
	"slices"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/jsonrows"
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
	intervals intervals
	err       error
}

// intervals are those of a file.
type intervals interface {
	Next() (int64, *Document, error)
	HasInterval() bool
	Close()
}

// NewStream returns a stream of the file that r holds.
func NewStream(r io.Reader, f Format, o Options) *Stream {
	if f = f.as(o); f == JSON {
		return &Stream{intervals: jsonrows.NewDocuments(r, o)}
	}
	source, err := open(r, f, o, statisticsFields)
	b := source.Gathered()
	s := &Stream{intervals: &rowIntervals{
		source: source, rows: b, options: b.Options, has: b.Columns&columns.Interval != 0,
	}}
	if err != nil {
		s.fail(err)
	}
	return s
}

// HasInterval tells, once Next was called, whether the file names intervals.
func (s *Stream) HasInterval() bool { return s.intervals.HasInterval() }

// Next returns the next interval and its rows; io.EOF after the last. The
// interval is 0 when the file names none. An error is final.
func (s *Stream) Next() (interval int64, d *Document, err error) {
	if s.err != nil {
		return 0, nil, s.err
	}
	if interval, d, err = s.intervals.Next(); err != nil {
		s.fail(err)
	}
	return interval, d, err
}

func (s *Stream) fail(err error) {
	s.err = err
	s.intervals.Close()
}

// DecodeIntervals reads a JSON object whose member "intervals" is a list of documents as
// [Decode] reads them. Each names its interval, and they ascend. take is given one after
// the other; the limits hold for each. It returns the other members.
func DecodeIntervals(r io.Reader, o Options, take func(interval int64, d *Document) error) (map[string][]byte, error) {
	return jsonrows.DecodeList(r, o, take)
}

// rowIntervals are the intervals of a file of rows.
type rowIntervals struct {
	source  columns.Source
	rows    *columns.Builder // of source
	options Options

	started bool
	has     bool
	pending columns.Row // read, but not yet part of an interval
	held    bool        // there is a pending row
	mark    int         // problems noted before the pending row
}

func (s *rowIntervals) Close()            { s.source.Close() }
func (s *rowIntervals) HasInterval() bool { return s.has }

// Next reads the rows of one interval, and the first of the next one.
func (s *rowIntervals) Next() (int64, *Document, error) {
	b := s.rows
	if !s.started {
		if err := s.advance(); err != nil {
			return 0, nil, err
		}
		if s.held {
			s.has = s.pending.Seen&columns.Interval != 0 || s.has
		}
	}
	if !s.held && (s.started || s.has) {
		return 0, nil, io.EOF
	}
	s.started = true
	b.Begin(s.options, columns.ShapeRows, b.Fields)
	s.source.Allow(s.options.Limits.Bytes)
	interval := s.pending.Interval
	for s.held && s.belongs(interval) {
		if err := b.Add(&s.pending); err != nil {
			return 0, nil, err
		}
		if err := s.advance(); err != nil {
			return 0, nil, err
		}
	}
	next := slices.Clone(b.Problems[s.mark:])
	b.Problems = b.Problems[:s.mark]
	d, err := b.Document()
	if err != nil {
		return 0, nil, err
	}
	b.Problems, s.mark = next, 0
	return interval, d, nil
}

// advance reads the next row.
func (s *rowIntervals) advance() (err error) {
	s.mark = len(s.rows.Problems)
	s.held, err = s.source.Next(&s.pending)
	return err
}

// belongs tells whether the pending row is one of the interval. It is taken for
// one as well when its own interval is wrong, which becomes a problem.
func (s *rowIntervals) belongs(interval int64) bool {
	r := &s.pending
	named := r.Seen&columns.Interval != 0
	switch {
	case r.Broken, named && r.Interval < 0:
	case named && !s.has:
		s.rows.Wrong(s.rows.Rows, "interval", columns.DetailUnnamed)
	case !named && s.has:
		s.rows.Wrong(s.rows.Rows, "interval", columns.DetailRequired)
	case r.Interval < interval:
		s.rows.Wrong(s.rows.Rows, "interval", "must not be less than in the row before")
	default:
		return r.Interval == interval
	}
	return true
}

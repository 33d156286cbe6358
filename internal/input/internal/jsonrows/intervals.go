package jsonrows

import (
	"errors"
	"io"
	"strconv"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
)

// Documents reads JSON documents that follow each other, each from a line of its own. Those of
// several name their interval, which increases.
type Documents struct {
	parser  *parser
	options columns.Options
	started bool
	has     bool  // documents name their interval
	newest  int64 // interval of the last document
}

// NewDocuments returns a reader of documents, which must be closed.
func NewDocuments(r io.Reader, o columns.Options) *Documents {
	p := newParser(r, o)
	return &Documents{parser: p, options: p.Options}
}

// HasInterval tells, once Next was called, whether documents name their interval.
func (s *Documents) HasInterval() bool { return s.has }

// Close gives the window back.
func (s *Documents) Close() { s.parser.Close() }

// Next returns the next interval and its rows; io.EOF after the last. The interval is 0 when the
// only document names none.
func (s *Documents) Next() (int64, *columns.Document, error) {
	p := s.parser
	if s.started {
		over, err := p.Over()
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
func (s *Documents) accept(d *columns.Document) error {
	if d.Stats == nil && d.Records == nil {
		return problem.One(problem.Invalid, "/keys", `is required, or "columns" or the "records" of "compact" in its place`)
	}
	if err := s.nextInterval(d.Members["interval"]); err != nil {
		return err
	}
	s.started = true
	return nil
}

// DecodeList reads a JSON object whose member "intervals" is a list of documents as
// [Decode] reads them. Each names its interval, and they ascend. take is given one after
// the other; the limits hold for each. It returns the other members.
func DecodeList(r io.Reader, o columns.Options,
	take func(interval int64, d *columns.Document) error) (map[string][]byte, error) {
	s := NewDocuments(r, o)
	s.has = true
	defer s.Close()
	p := s.parser
	members := p.members
	err := p.whole(func(name string) error {
		if name == "intervals" {
			return s.list(take)
		}
		p.members = members
		return p.verbatim(name)
	}, p.lastEnd)
	return members, err
}

// list reads the value of "intervals".
func (s *Documents) list(take func(interval int64, d *columns.Document) error) error {
	const name = "/intervals"
	p := s.parser
	if p.Buf[p.Pos] != '[' {
		return problem.One(problem.Invalid, name, "must be a list of documents")
	}
	if empty, err := p.empty(']'); empty || err != nil {
		return err
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
	if bad, ok := errors.AsType[*problem.Error](err); ok {
		for i := range bad.Problems {
			bad.Problems[i].Pointer = pointer + bad.Problems[i].Pointer
		}
	}
	return err
}

// nextInterval takes the interval of a JSON document, nil when it names none.
func (s *Documents) nextInterval(text []byte) error {
	wrong := func(detail string) error { return problem.One(problem.Invalid, "/interval", detail) }
	if text == nil {
		if s.started || s.has {
			return wrong(columns.DetailRequired)
		}
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	switch {
	case err != nil || n > columns.MaxInterval:
		return wrong(columns.DetailInterval)
	case s.started && int64(n) <= s.newest:
		return wrong("must be greater than in the document before")
	}
	s.has, s.newest = true, int64(n)
	return nil
}

// Package jsonrows reads statistics from JSON: bodies of rows, of columns and of compact records,
// several of them one after the other, and lines of rows. It knows how JSON writes rows, and
// checks its grammar; what rows must have is for package columns to know.
package jsonrows

import (
	"bytes"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
)

// Decode reads a JSON object whose member "keys" is a list of rows, or whose
// member "columns" has a list of values per field, and whose member "compact" may have
// a list "records" of [d, d_h, v_c, v_S, #], also beside keys. Its member "key_encoding", when
// "base64", says how keys are written, wherever it stands.
func Decode(r io.Reader, o columns.Options) (*columns.Document, error) {
	p := newParser(r, o)
	defer p.Close()
	return p.body(p.lastEnd)
}

// parser reads a JSON body.
type parser struct {
	rowParser
	members     map[string][]byte
	rowsSeen    bool // "keys" was read
	columnsSeen bool
	recordsSeen bool
	aside       *columns.Builder // of keys, or of records, that were read before those at hand
}

func newParser(r io.Reader, o columns.Options) *parser {
	p := new(parser)
	p.Start(r, o, columns.ShapeKeys, columns.StatisticsRow)
	p.renew(p.Options)
	return p
}

// renew makes the parser ready for a document that follows what was read before.
func (p *parser) renew(o columns.Options) {
	p.Renew(o, columns.ShapeKeys, columns.StatisticsRow)
	*p = parser{rowParser: p.rowParser, members: map[string][]byte{}}
	p.Late, p.Ragged = !p.Base64, true
}

// body reads a whole body; end reads what may follow it.
func (p *parser) body(end func() error) (*columns.Document, error) {
	if err := p.whole(p.bodyMember, end); err != nil {
		return nil, err
	}
	return p.finish()
}

func (p *parser) finish() (*columns.Document, error) {
	if !p.rowsSeen && !p.columnsSeen && !p.recordsSeen {
		return &columns.Document{Members: p.members, Base64Keys: p.Base64}, p.Invalid()
	}
	d, err := p.Document()
	if err != nil {
		return nil, err
	}
	if p.aside != nil {
		if d, err = p.beside(d); err != nil {
			return nil, err
		}
	}
	d.Members = p.members
	return d, nil
}

// beside is a document together with what was read before it.
func (p *parser) beside(d *columns.Document) (*columns.Document, error) {
	p.aside.Base64, p.aside.Problems = p.Base64, nil
	keys, err := p.aside.Document()
	if err != nil {
		return nil, err
	}
	if keys.Stats == nil {
		keys, d = d, keys
	}
	keys.Records = d.Records
	return keys, nil
}

// turn makes room for rows of another kind where some were read.
func (p *parser) turn(read bool, s columns.Shape, fields columns.Field) {
	if !read {
		p.Shape, p.Fields = s, fields
		return
	}
	before := p.Builder
	p.aside = &before
	p.Restart(p.Options, s, fields)
	p.Base64, p.Late = before.Base64, !before.Base64
}

// bodyMember reads a member of the body.
func (p *parser) bodyMember(name string) error {
	switch name {
	case "keys":
		p.rowsSeen = true
		return p.exclusive(p.columnsSeen, p.rowList)
	case "columns":
		p.columnsSeen = true
		return p.exclusive(p.rowsSeen, p.columnLists)
	}
	if name == "compact" && p.Buf[p.Pos] == '{' && len(p.members) < columns.MaxMembers {
		return p.compact()
	}
	if err := p.verbatim(name); err != nil || name != "key_encoding" {
		return err
	}
	return p.keyEncoding(p.members[name])
}

// verbatim keeps a member as it is.
func (p *parser) verbatim(name string) error {
	if len(p.members) == columns.MaxMembers {
		return tooManyMembers("")
	}
	value, err := p.raw(maxMemberBytes)
	if err != nil {
		return err
	}
	if !p.Meter.Take(len(value)) {
		return p.Meter.Refused()
	}
	p.members[name] = bytes.Clone(value)
	return nil
}

func tooManyMembers(pointer string) error {
	return problem.One(problem.TooLarge, pointer, "more than "+strconv.Itoa(columns.MaxMembers)+" members")
}

// exclusive reads "keys" or "columns", unless the other one was there.
func (p *parser) exclusive(other bool, read func() error) error {
	if !other {
		return read()
	}
	p.WrongAt(p.Context(), `"keys" and "columns" exclude each other`)
	return p.skip()
}

func (p *parser) keyEncoding(value []byte) error {
	encoding, err := jsontext.AppendUnquote(nil, value)
	if err == nil && string(encoding) == "utf8" {
		return nil
	}
	if err != nil || string(encoding) != "base64" {
		p.WrongAt("/key_encoding", `must be "utf8" or "base64"`)
		return p.Full()
	}
	p.Base64 = true
	if !p.rowsSeen && !p.columnsSeen && !p.recordsSeen {
		p.Late = false
	}
	return nil
}

// rowList reads the value of "keys".
func (p *parser) rowList() error {
	if p.Buf[p.Pos] != '[' {
		p.WrongAt("/keys", "must be a list of rows")
		return p.skip()
	}
	p.turn(p.recordsSeen, columns.ShapeKeys, columns.StatisticsRow)
	p.Context = func() string { return p.Pointer(p.Rows, "") }
	var r columns.Row
	return p.list(
		func(i int) (int, bool) { return p.row(i, &r) },
		func() error { return p.Add(&r) })
}

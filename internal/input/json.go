package input

import (
	"bytes"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// DecodeJSON reads a JSON object whose member "keys" is a list of rows, or whose
// member "columns" has a list of values per field, and whose member "compact" may have
// a list "records" of [d, d_h, v_c, v_S, #], also beside keys. Its member "key_encoding", when
// "base64", says how keys are written, wherever it stands.
func DecodeJSON(r io.Reader, o Options) (*Document, error) {
	p := newJSON(r, o)
	defer p.close()
	return p.body(p.lastEnd)
}

// jsonParser reads a JSON body.
type jsonParser struct {
	rowParser
	members     map[string][]byte
	rowsSeen    bool // "keys" was read
	columnsSeen bool
	recordsSeen bool
	aside       *builder // of keys, or of records, that were read before those at hand
}

func newJSON(r io.Reader, o Options) *jsonParser {
	o = o.withDefaults()
	p := new(jsonParser)
	p.open(r, o.Limits.Bytes)
	p.account = &meter{reserve: o.Reserve}
	p.renew(o)
	return p
}

// renew makes the parser ready for a document that follows what was read before.
func (p *jsonParser) renew(o Options) {
	*p = jsonParser{rowParser: rowParser{decoder: decoder{scanner: p.scanner}}, members: map[string][]byte{}}
	p.limit = p.base + int64(p.pos) + o.Limits.Bytes
	p.begin(o, shapeKeys, statisticsRow)
	p.late = !p.base64
	p.line, p.ragged = p.unitLine, true
}

// body reads a whole body; end reads what may follow it.
func (p *jsonParser) body(end func() error) (*Document, error) {
	if err := p.whole(p.bodyMember, end); err != nil {
		return nil, err
	}
	return p.finish()
}

// whole reads an object and what follows it.
func (p *jsonParser) whole(member func(name string) error, end func() error) error {
	p.context = func() string { return "" }
	c, err := p.peek()
	if err != nil {
		return err
	}
	if c != '{' {
		p.fail(p.pos, "expected an object")
		return p.malformed()
	}
	p.pos++
	if err := p.object(member); err != nil {
		return err
	}
	return end()
}

// lastEnd is the end of a body that nothing may follow.
func (p *jsonParser) lastEnd() error {
	over, err := p.over()
	if err != nil || over {
		return err
	}
	p.fail(p.pos, detailAfter)
	return p.malformed()
}

// lineEnd is the end of a body that others may follow, on lines of their own.
func (p *jsonParser) lineEnd() error {
	return p.unit(func(i int) (int, bool) { return p.endOfLine(i, detailAfter) })
}

const detailAfter = "text after the document"

func (p *jsonParser) finish() (*Document, error) {
	if !p.rowsSeen && !p.columnsSeen && !p.recordsSeen {
		return &Document{Members: p.members, base64: p.base64}, p.invalid()
	}
	d, err := p.document()
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
func (p *jsonParser) beside(d *Document) (*Document, error) {
	p.aside.base64, p.aside.problems = p.base64, nil
	keys, err := p.aside.document()
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
func (p *jsonParser) turn(read bool, s shape, fields field) {
	if !read {
		p.shape, p.fields = s, fields
		return
	}
	before := p.builder
	p.aside = &before
	p.first, p.rows = 0, 0
	p.begin(p.options, s, fields)
	p.base64, p.late = before.base64, !before.base64
}

// object reads the members of an object up to its closing brace; the opening
// one was read. member reads one value; the window stands at its first byte.
func (p *jsonParser) object(member func(name string) error) error {
	c, err := p.peek()
	if err != nil {
		return err
	}
	if c == '}' {
		p.pos++
		return nil
	}
	for {
		var name string
		if err := p.unit(func(i int) (int, bool) { return p.objectName(i, &name) }); err != nil {
			return err
		}
		if _, err := p.peek(); err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
		end, err := p.separator('}')
		if err != nil || end {
			return err
		}
	}
}

// objectName reads white space, a name and a colon.
func (p *jsonParser) objectName(i int, name *string) (next int, ok bool) {
	text, i, ok := p.str(space(p.buf, i), &p.name)
	if !ok {
		return 0, false
	}
	*name = string(text)
	i = space(p.buf, i)
	if p.buf[i] != ':' {
		return 0, p.fail(i, "expected :")
	}
	return i + 1, true
}

// separator reads a comma, or the closing bracket that ends a list of members
// or values.
func (p *jsonParser) separator(closing byte) (end bool, err error) {
	c, err := p.peek()
	if err != nil {
		return false, err
	}
	if c != ',' && c != closing {
		p.fail(p.pos, "expected , or "+string(rune(closing)))
		return false, p.malformed()
	}
	p.pos++
	return c == closing, nil
}

// bodyMember reads a member of the body.
func (p *jsonParser) bodyMember(name string) error {
	outer := p.context
	defer func() { p.context = outer }()
	p.context = func() string { return "/" + escapePointer(name) }
	_, twice := p.members[name]
	if twice || name == "keys" && p.rowsSeen || name == "columns" && p.columnsSeen {
		p.fail(p.pos, "duplicate member")
		return p.malformed()
	}
	switch name {
	case "keys":
		p.rowsSeen = true
		return p.exclusive(p.columnsSeen, p.rowList)
	case "columns":
		p.columnsSeen = true
		return p.exclusive(p.rowsSeen, p.columns)
	}
	if name == "compact" && p.buf[p.pos] == '{' && len(p.members) < maxMembers {
		return p.compact()
	}
	if err := p.verbatim(name); err != nil || name != "key_encoding" {
		return err
	}
	return p.keyEncoding(p.members[name])
}

// verbatim keeps a member as it is.
func (p *jsonParser) verbatim(name string) error {
	if len(p.members) == maxMembers {
		return tooManyMembers("")
	}
	value, err := p.raw(maxMemberBytes)
	if err != nil {
		return err
	}
	if !p.meter.take(len(value)) {
		return p.meter.refused()
	}
	p.members[name] = bytes.Clone(value)
	return nil
}

func tooManyMembers(pointer string) error {
	return &Error{TooLarge, []Problem{at(pointer, "more than "+strconv.Itoa(maxMembers)+" members")}}
}

// exclusive reads "keys" or "columns", unless the other one was there.
func (p *jsonParser) exclusive(other bool, read func() error) error {
	if !other {
		return read()
	}
	p.problemAt(p.context(), `"keys" and "columns" exclude each other`)
	return p.skip()
}

// raw reads any value and returns its text, valid until the next read.
func (p *jsonParser) raw(size int) (text []byte, err error) {
	err = p.unitUpTo(size, func(i int) (int, bool) {
		next, ok := p.value(i)
		if ok && next == p.end && !p.eof {
			ok = p.fail(next, "")
		}
		if ok {
			text = p.buf[i:next]
		}
		return next, ok
	})
	return text, err
}

// skip reads any value.
func (p *jsonParser) skip() error {
	_, err := p.raw(maxMemberBytes)
	if err != nil {
		return err
	}
	return p.full()
}

func (p *jsonParser) keyEncoding(value []byte) error {
	encoding, err := jsontext.AppendUnquote(nil, value)
	if err == nil && string(encoding) == "utf8" {
		return nil
	}
	if err != nil || string(encoding) != "base64" {
		p.problemAt("/key_encoding", `must be "utf8" or "base64"`)
		return p.full()
	}
	p.base64 = true
	if !p.rowsSeen && !p.columnsSeen && !p.recordsSeen {
		p.late = false
	}
	return nil
}

// rowList reads the value of "keys".
func (p *jsonParser) rowList() error {
	if p.buf[p.pos] != '[' {
		p.problemAt("/keys", "must be a list of rows")
		return p.skip()
	}
	p.turn(p.recordsSeen, shapeKeys, statisticsRow)
	p.context = func() string { return p.pointer(p.rows, "") }
	var r row
	return p.list(
		func(i int) (int, bool) { return p.row(i, &r) },
		func() error { return p.add(&r) })
}

// list reads the values of a list. parse reads one that lies in the window;
// take keeps it, once it is known to be whole.
func (p *jsonParser) list(parse func(i int) (int, bool), take func() error) error {
	p.pos++
	c, err := p.peek()
	if err != nil {
		return err
	}
	if c == ']' {
		p.pos++
		return nil
	}
	var closing byte
	value := func(i int) (int, bool) {
		i, ok := parse(space(p.buf, i))
		if !ok {
			return 0, false
		}
		i = space(p.buf, i)
		closing = p.buf[i]
		if closing != ',' && closing != ']' {
			return 0, p.fail(i, "expected , or ]")
		}
		return i + 1, true
	}
	for closing != ']' {
		if err := p.unit(value); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

package lists

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
)

// form is how a record is written.
type form uint8

const (
	asJSON    form = iota // an object, unless the record says otherwise
	asCSV                 // a line
	asHeader              // the line that names the columns
	asNothing             // not at all: only whether keys are text is looked at
)

// cells writes the cells of records in one form.
type cells struct {
	dst     []byte
	form    form
	base64  bool
	lines   bool   // each record is a line
	before  byte   // what stands before the next cell; 0: nothing
	closing byte   // what ends the record in JSON; 0: nothing
	bare    bool   // cells have no names in JSON
	group   string // what the names of columns begin with
	names   Names  // of instances, in CSV
	notText bool   // a key that was to be text is not UTF-8
}

// appendRecord appends a record.
func appendRecord[R Record](c *cells, dst []byte, r R) []byte {
	c.dst = dst
	c.begin()
	r.cells(c)
	c.end()
	return c.dst
}

func (c *cells) begin() {
	c.before, c.closing, c.bare = 0, '}', false
	if c.form == asJSON {
		c.before = '{'
	}
}

func (c *cells) end() {
	if c.form == asJSON && c.closing != 0 {
		c.dst = append(c.dst, c.closing)
	}
	if c.lines {
		c.dst = append(c.dst, '\n')
	}
}

// array makes the record a list without names in JSON, between brackets; 0: the one cell that it
// has.
func (c *cells) array(opening, closing byte) {
	if c.form == asJSON {
		c.before, c.closing, c.bare = opening, closing, true
	}
}

// start begins a cell, whose name is as it stands in JSON: quoted, with a colon. It is false where
// no value is wanted; else the value is to be appended to what it returns.
func (c *cells) start(name string) ([]byte, bool) {
	dst := c.dst
	switch {
	case c.form == asNothing:
		return nil, false
	case c.before != 0:
		dst = append(dst, c.before)
	}
	c.before = ','
	switch {
	case c.form == asHeader:
		c.dst = append(append(dst, c.group...), name[1:len(name)-2]...)
		return nil, false
	case c.form == asJSON && !c.bare:
		dst = append(dst, name...)
	}
	return dst, true
}

// within has cells be members of an object that is itself a cell; in CSV their names begin with
// its name.
func (c *cells) within(name string, write func()) {
	if c.form != asJSON {
		c.group = name[1:len(name)-2] + "_"
		write()
		c.group = ""
		return
	}
	c.dst, _ = c.start(name)
	c.before = '{'
	write()
	c.dst, c.before = append(c.dst, '}'), ','
}

// int writes an integer.
func (c *cells) int(name string, v int64) {
	if dst, ok := c.start(name); ok {
		c.dst = strconv.AppendInt(dst, v, 10)
	}
}

// id writes the id of an instance, or the name that it has; planner.NoInstance is null in JSON and an
// empty cell in CSV.
func (c *cells) id(name string, id int32) {
	if id == planner.NoInstance {
		c.none(name)
	} else if dst, ok := c.start(name); ok {
		c.dst = c.appendInstance(dst, id)
	}
}

// appendInstance appends the id of an instance, or the name that it has.
func (c *cells) appendInstance(dst []byte, id int32) []byte {
	if name, named := c.names[id]; named {
		return appendCell(dst, []byte(name), false)
	}
	return strconv.AppendInt(dst, int64(id), 10)
}

// none writes a cell without a value.
func (c *cells) none(name string) {
	if dst, ok := c.start(name); ok && c.form == asJSON {
		c.dst = append(dst, "null"...)
	} else if ok {
		c.dst = dst
	}
}

// number writes a cost or a state.
func (c *cells) number(name string, x float64) {
	if dst, ok := c.start(name); ok {
		c.dst = appendNumber(dst, x)
	}
}

// word writes a text that needs no quoting.
func (c *cells) word(name, text string) {
	switch dst, ok := c.start(name); {
	case ok && c.form == asCSV:
		c.dst = append(dst, text...)
	case ok:
		c.dst = append(append(append(dst, '"'), text...), '"')
	}
}

// text writes a key, which is valid UTF-8 in JSON without base64.
func (c *cells) text(name string, key []byte, base64 bool) {
	if c.form != asJSON && !base64 && !c.notText {
		c.notText = !utf8.Valid(key)
	}
	dst, ok := c.start(name)
	switch {
	case !ok:
	case c.form == asCSV:
		c.dst = appendCell(dst, key, base64)
	case base64:
		c.dst = append(appendBase64(append(dst, '"'), key), '"')
	default:
		c.dst, _ = jsontext.AppendQuote(dst, key) // it fails on invalid UTF-8 only
	}
}

// key writes the key of a record, its first cell. In JSON one that is not valid UTF-8 is in base64,
// which a member beside it says. It is false when only whether keys are text is looked at.
func (c *cells) key(key []byte) bool {
	if c.form != asJSON && !c.base64 {
		c.notText = !utf8.Valid(key)
	}
	switch c.form {
	case asNothing:
		return false
	case asCSV:
		c.dst = appendCell(c.dst, key, c.base64)
	case asHeader:
		c.dst = append(c.dst, "key"...)
	case asJSON:
		dst := append(c.dst, `{"key":`...)
		text, err := dst, error(nil)
		if !c.base64 {
			text, err = jsontext.AppendQuote(dst, key) // it fails on invalid UTF-8 only
		}
		if c.base64 || err != nil {
			text = append(appendBase64(append(dst, '"'), key), '"')
		}
		if err != nil {
			text = append(text, `,"key_encoding":"base64"`...)
		}
		c.dst = text
	}
	c.before = ','
	return true
}

// parts writes the parts of a key, if it has any: in CSV as pairs of an instance and a weight,
// such as "0:35389 1:30147".
func (c *cells) parts(name string, parts []planner.Part) {
	if c.form == asJSON && parts == nil {
		return
	}
	dst, ok := c.start(name)
	if !ok {
		return
	}
	if c.form == asJSON {
		dst = append(dst, '[')
	}
	for i, x := range parts {
		if c.form == asCSV {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = append(strconv.AppendInt(dst, int64(x.Instance), 10), ':')
			dst = strconv.AppendInt(dst, int64(x.Weight), 10)
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"instance":`...), int64(x.Instance), 10)
		dst = append(strconv.AppendInt(append(dst, `,"weight":`...), int64(x.Weight), 10), '}')
	}
	if c.form == asJSON {
		dst = append(dst, ']')
	}
	c.dst = dst
}

func appendBase64(dst, key []byte) []byte { return base64.StdEncoding.AppendEncode(dst, key) }

// appendCell appends a key as a CSV cell, quoted where it must be.
func appendCell(dst, key []byte, base64 bool) []byte {
	if base64 {
		return appendBase64(dst, key)
	}
	if !slices.ContainsFunc(key, isQuoted) {
		return append(dst, key...)
	}
	dst = append(dst, '"')
	for _, c := range key {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// isQuoted tells whether a cell with this byte stands in quotes.
func isQuoted(c byte) bool { return c == '"' || c == ',' || c == '\r' || c == '\n' }

// appendNumber appends x in the shortest form that reads back the same, valid in
// JSON and CSV. x is finite.
func appendNumber(dst []byte, x float64) []byte {
	a := math.Abs(x)
	if a < 1<<53 && x == math.Trunc(x) {
		return strconv.AppendInt(dst, int64(x), 10)
	}
	// Most numbers have few decimals. One of at most 15 digits that reads back the
	// same is the only one, so that no search is needed.
	if thousands := math.Round(x * 1000); x > 0 && thousands < 1e15 && thousands/1000 == x {
		return appendThousands(dst, uint64(thousands))
	}
	if a < 1e-6 || a >= 1e21 {
		return strconv.AppendFloat(dst, x, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, x, 'f', -1, 64)
}

// appendThousands appends n/1000, which is no whole number.
func appendThousands(dst []byte, n uint64) []byte {
	dst = strconv.AppendUint(dst, n/1000, 10)
	rest := n % 1000
	dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	return bytes.TrimRight(dst, "0")
}

// Package records turns records of JSON, as other systems write them, into CSV, which package
// csvrows reads. It knows paths into records; what their fields mean is for package columns to know.
package records

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
)

// Reader is CSV of the records of a text of JSON: a list of objects or lists at the path of the
// mapping, or at the top level, or one record after the other.
type Reader struct {
	source  io.Reader
	taken   int64 // bytes of source
	values  *jsontext.Decoder
	mapping columns.Mapping
	path    []string // that is still to be entered
	begun   bool
	list    bool // records are elements of a list
	paths   [][]string
	text    bytes.Buffer
	out     *csv.Writer
	read    int
}

// New returns a reader of the CSV.
func New(r io.Reader, m columns.Mapping) *Reader {
	d := &Reader{source: r, mapping: m}
	d.values = jsontext.NewDecoder(readerFunc(d.more), jsontext.AllowDuplicateNames(true))
	if m.Records != "" {
		d.path = strings.Split(m.Records, ".")
	}
	d.out = csv.NewWriter(&d.text)
	return d
}

// maxRecord is how long a record, or a text that is passed over, may be, in bytes. It is held as a whole.
const maxRecord = 256 << 10

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// more reads what follows what the decoder still holds, which is a part of one record.
func (d *Reader) more(b []byte) (int, error) {
	if d.taken-d.values.InputOffset() > maxRecord {
		return 0, problem.One(problem.TooLarge, "/"+strconv.Itoa(d.read), fmt.Sprintf("is longer than %d bytes", maxRecord))
	}
	n, err := d.source.Read(b[:min(len(b), maxRecord)])
	d.taken += int64(n)
	return n, err
}

// Read reads CSV.
func (d *Reader) Read(b []byte) (int, error) {
	for d.text.Len() == 0 {
		if err := d.next(); err != nil {
			return 0, d.explain(err)
		}
	}
	return d.text.Read(b)
}

// explain words an error about the text.
func (d *Reader) explain(err error) error {
	var (
		syntax *jsontext.SyntacticError
		known  *problem.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &syntax):
		return problem.One(problem.Malformed, string(syntax.JSONPointer),
			fmt.Sprintf("%v at byte %d", syntax.Err, syntax.ByteOffset))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem.One(problem.Malformed, "", "unexpected end of the text")
	}
	return err
}

// next writes the next record.
func (d *Reader) next() error {
	if !d.begun {
		d.begun = true
		if err := d.enter(); err != nil {
			return err
		}
	}
	if d.list && d.values.PeekKind() == ']' {
		return io.EOF
	}
	record, err := d.values.ReadValue()
	if err != nil {
		return err
	}
	if kind := record.Kind(); kind != '{' && kind != '[' {
		return problem.One(problem.Invalid, "/"+strconv.Itoa(d.read), "is no record, which is an object or a list")
	}
	if d.read == 0 {
		d.choose(record)
	}
	d.read++
	cells := make([]string, len(d.paths))
	for i, path := range d.paths {
		cells[i] = at(record, path)
	}
	err = d.out.Write(cells)
	d.out.Flush()
	return err
}

// enter goes to the first record.
func (d *Reader) enter() error {
	for _, name := range d.path {
		if err := d.member(name); err != nil {
			return err
		}
	}
	kind := d.values.PeekKind()
	if d.list = kind == '['; d.list {
		_, err := d.values.ReadToken()
		return err
	}
	if len(d.path) > 0 {
		return problem.One(problem.Invalid, "/"+strings.Join(d.path, "/"), "must be a list of records")
	}
	return nil
}

// member enters an object and stops before the value of its member, or before an element of a list.
func (d *Reader) member(name string) error {
	token, err := d.values.ReadToken()
	if err != nil {
		return err
	}
	kind := token.Kind()
	for n := 0; (kind == '{' || kind == '[') && d.values.PeekKind() != '}' && d.values.PeekKind() != ']'; n++ {
		is := strconv.Itoa(n)
		if kind == '{' {
			if token, err = d.values.ReadToken(); err != nil {
				return err
			}
			is = token.String()
		}
		if is == name {
			return nil
		}
		if err := d.values.SkipValue(); err != nil {
			return err
		}
	}
	return problem.One(problem.Invalid, "/"+strings.ReplaceAll(d.mapping.Records, ".", "/"),
		fmt.Sprintf("is not in the text: %q is missing", name))
}

// choose writes the header: the columns that the mapping names, and those that the first record has
// under the names of fields; without a mapping, all that it has.
func (d *Reader) choose(record jsontext.Value) {
	var names []string
	for _, of := range d.mapping.Columns {
		names = append(names, of...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range leaves(nil, "", record) {
		const fields = columns.StatisticsRow | columns.Interval | columns.Count
		known := columns.FieldOf([]byte(name), fields) != columns.Unknown || len(d.mapping.Columns) == 0
		if known && !slices.ContainsFunc(names, func(have string) bool { return strings.EqualFold(have, name) }) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		d.paths = append(d.paths, strings.Split(name, "."))
		if of, found := strings.CutPrefix(name, "costs."); found && len(d.mapping.Columns) == 0 {
			names[i] = "cost." + of // as columns are called
		}
	}
	_ = d.out.Write(names) // to a buffer, which takes everything
}

// mostLeaves is how many members of a record can be told by their names.
const mostLeaves = 64

// leaves adds the paths of the values that a record has at any depth.
func leaves(names []string, prefix string, value jsontext.Value) []string {
	each := func(name string, inner jsontext.Value) {
		if kind := inner.Kind(); kind == '{' || kind == '[' {
			names = leaves(names, prefix+name+".", inner)
		} else if len(names) < mostLeaves {
			names = append(names, prefix+name)
		}
	}
	members, elements := parts(value)
	for _, m := range members {
		each(m.name, m.value)
	}
	for i, e := range elements {
		each(strconv.Itoa(i), e)
	}
	return names
}

// at is the text of a value of a record; empty where there is none, and for null.
func at(value jsontext.Value, path []string) string {
	for i := range path {
		members, elements := parts(value)
		value = nil
		if n, err := strconv.Atoi(path[i]); err == nil && n >= 0 && n < len(elements) {
			value = elements[n]
		}
		// A name may hold dots itself, as labels do.
		for end := len(path); end > i && value == nil; end-- {
			if value = member(members, strings.Join(path[i:end], ".")); value != nil && end > i+1 {
				return at(value, path[end:])
			}
		}
		if value == nil {
			return ""
		}
	}
	switch value.Kind() {
	case 'n':
		return ""
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return string(value)
		}
		return string(text)
	}
	return string(value)
}

// Look finds the first list of records in the beginning of a text of JSON: its path, and the names
// of what its first record has. Without such a list it is the first value itself.
func Look(head []byte) (path string, names []string) {
	d := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		kind := token.Kind() // the token is void once the decoder goes on
		if next := d.PeekKind(); kind == '[' && (next == '{' || next == '[') {
			at := strings.Trim(string(d.StackPointer()), "/")
			if record, err := d.ReadValue(); err == nil {
				at, _, _ = strings.Cut(at+"/0", "/0")
				return strings.ReplaceAll(at, "/", "."), leaves(nil, "", record)
			}
			break
		}
	}
	first, err := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true)).ReadValue()
	if err != nil {
		return "", nil
	}
	return "", leaves(nil, "", first)
}

type namedValue struct {
	name  string
	value jsontext.Value
}

// member is that of a name, which is compared without case when none is written like it.
func member(members []namedValue, name string) jsontext.Value {
	for _, same := range []func(string) bool{
		func(have string) bool { return have == name }, func(have string) bool { return strings.EqualFold(have, name) },
	} {
		if i := slices.IndexFunc(members, func(m namedValue) bool { return same(m.name) }); i >= 0 {
			return members[i].value
		}
	}
	return nil
}

// parts are the members of an object in their order, or the elements of a list.
func parts(value jsontext.Value) (members []namedValue, elements []jsontext.Value) {
	switch value.Kind() {
	case '[':
		_ = json.Unmarshal(value, &elements) // it was read whole: it is valid
	case '{':
		d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
		_, _ = d.ReadToken()
		for d.PeekKind() == '"' {
			token, _ := d.ReadToken()
			name := token.String()
			inner, _ := d.ReadValue()
			members = append(members, namedValue{name, inner.Clone()})
		}
	}
	return members, elements
}

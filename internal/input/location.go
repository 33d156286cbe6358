package input

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/internal/nearest"
	"plannerd/planner"
)

// Location is where a problem is, in the words of people who look at the file. What is
// not known is 0 or empty.
type Location struct {
	Row    int    // row of the file or the body, from 1
	Line   int    // line of the text, from 1
	Column string // name of the column or member
	Key    string // key of the row, as it is written, cut if it is long
	Value  string // what is written in the column, cut if it is long
	// Twin is the row, and TwinLine the line, where the key of this row stands already.
	Twin, TwinLine int
	Near           string // the known name that an unknown one may have meant
}

// Text says what is wrong, and what is there, or what may have been meant.
func (p Problem) Text() string {
	switch {
	case p.TwinLine > 0:
		return fmt.Sprintf("is in line %d already; each key has one row", p.TwinLine)
	case p.Near != "":
		return p.Detail + "; " + p.Near + " is known"
	case p.Value == "":
		return p.Detail
	case strings.HasPrefix(p.Detail, "is "):
		return p.Value + " " + p.Detail
	case isDecimal(p.Value):
		return p.Detail + ", not " + p.Value
	case p.Column == "cost" || p.Column == "frequency" || p.Column == "state":
		return quoted(p.Value) + " is not a number; it " + p.Detail
	}
	return p.Detail + ", not " + quoted(p.Value)
}

func isDecimal(s string) bool {
	_, ok := decimal([]byte(s))
	return ok
}

// quotedRunes is how much of a value is quoted.
const quotedRunes = 64

// quoted quotes what is not quoted already, as texts of JSON are.
func quoted(value string) string {
	if runes := []rune(value); len(runes) > quotedRunes {
		value = string(runes[:quotedRunes-1]) + "…"
	}
	if strings.HasPrefix(value, `"`) && strconv.CanBackquote(value) {
		return value
	}
	return strconv.Quote(value)
}

// at is a problem that only a pointer locates.
func at(pointer, detail string) Problem { return Problem{Pointer: pointer, Detail: detail} }

// clip copies a text that a location names.
func clip(text []byte) string {
	if len(text) <= planner.MaxKeyBytes {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:planner.MaxKeyBytes]), "") + "…"
}

// problem notes what is wrong with a field of a row. What is beyond the
// greatest number of problems is dropped.
func (b *builder) problem(row int, field, detail string) { b.wrongValue(row, field, nil, detail) }

// wrongValue notes what is wrong with the value of a field of a row.
func (b *builder) wrongValue(row int, field string, value []byte, detail string) {
	b.note(Problem{b.pointer(row, field), detail, Location{
		Row: b.first + row + 1, Line: b.lineOf(row), Column: field, Value: clip(value),
	}})
}

// problemAt notes a problem that is not about a row.
func (b *builder) problemAt(pointer, detail string) { b.note(at(pointer, detail)) }

// columnProblem notes what is wrong with a column.
func (b *builder) columnProblem(name, detail string) {
	b.note(Problem{"/" + escapePointer(name), detail, Location{Line: b.lineOf(0), Column: name}})
}

func (b *builder) note(p Problem) {
	if p.Detail == detailUnknown || p.Detail == detailColumn {
		p.Near = nearest.To(p.Column, b.fields.names())
	}
	if len(b.problems) < maxProblems {
		b.problems = append(b.problems, p)
	}
}

// nameKey names the key of the newest row in its problems.
func (b *builder) nameKey(row int, key []byte) {
	for i := len(b.problems) - 1; i >= 0 && b.problems[i].Row == b.first+row+1; i-- {
		b.problems[i].Key = clip(key)
	}
}

// noteTwin notes a row whose key stands in an earlier row too.
func (b *builder) noteTwin(d duplicate) {
	p := Problem{b.pointer(d.later, "key"), "is the same as " + b.pointer(d.earlier, "key"), Location{
		Row: b.first + d.later + 1, Column: fieldKey.String(), Key: clip(b.keys.At(d.later)), Twin: b.first + d.earlier + 1,
	}}
	if !b.ragged && b.firstLine > 0 {
		p.Line, p.TwinLine = b.firstLine+d.later, b.firstLine+d.earlier
	}
	b.note(p)
}

// lineOf is the line of a row of this document; 0 where that is not known. Only the
// newest row is still in the window.
func (b *builder) lineOf(row int) int {
	switch {
	case b.line == nil:
		return 0
	case row >= b.rows-1:
		return b.line()
	case b.ragged || b.firstLine == 0:
		return 0
	}
	return b.firstLine + row
}

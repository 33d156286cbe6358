package problem

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	case IsDecimal(p.Value):
		return p.Detail + ", not " + p.Value
	case p.Column == "cost" || p.Column == "frequency" || p.Column == "state" || strings.HasPrefix(p.Column, "cost."):
		return quoted(p.Value) + " is not a number; it " + p.Detail
	}
	return p.Detail + ", not " + quoted(p.Value)
}

// IsDecimal tells whether a text is a decimal number, which is less than strconv takes for one.
func IsDecimal(text string) bool {
	if strings.Trim(text, "+-.0123456789Ee") != "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
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

// At is a problem that only a pointer locates.
func At(pointer, detail string) Problem { return Problem{Pointer: pointer, Detail: detail} }

// One is the error of a single problem that only a pointer locates.
func One(kind Kind, pointer, detail string) *Error {
	return &Error{kind, []Problem{At(pointer, detail)}}
}

// Clip copies a text that a location names.
func Clip(text []byte) string {
	if len(text) <= planner.MaxKeyBytes {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:planner.MaxKeyBytes]), "") + "…"
}

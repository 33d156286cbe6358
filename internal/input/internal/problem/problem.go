// Package problem says what is wrong with a body, and where: in the words of an API, whose
// pointers are those of JSON, and in those of people who look at a file. It knows no format.
package problem

import (
	"fmt"
	"strings"
)

// Kind says what is wrong with a body.
type Kind int

// The kinds.
const (
	Malformed Kind = iota + 1 // the text is not what its format says
	Invalid                   // a value breaks a rule
	TooLarge                  // a limit is exceeded
)

// String returns the kind in lower case.
func (k Kind) String() string {
	return [...]string{Malformed: "malformed", Invalid: "invalid", TooLarge: "too large"}[k]
}

// Most is how many problems of a body are collected.
const Most = 100

// Problem is one thing that is wrong.
type Problem struct {
	Pointer string // JSON pointer (RFC 6901) to it, e.g. "/keys/17/cost"
	Detail  string // e.g. "must be ≥ 0 and finite"
	Location
}

// Error is what decoders return for a body that they refuse. Errors of the
// reader itself are returned wrapped, not as an Error.
type Error struct {
	Kind     Kind
	Problems []Problem // 1 to 100
}

// Error returns the kind and the first problem.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	if len(e.Problems) > 0 {
		p := e.Problems[0]
		b.WriteString(": ")
		if p.Pointer != "" {
			b.WriteString(p.Pointer + ": ")
		}
		b.WriteString(p.Detail)
	}
	if n := len(e.Problems) - 1; n > 0 {
		fmt.Fprintf(&b, " (and %d more)", n)
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Escape makes a name that came from outside a token of a JSON pointer.
func Escape(name string) string { return pointerEscapes.Replace(name) }

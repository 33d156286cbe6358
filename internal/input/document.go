// Package input brings statistics of keys, or of classes of keys, into dense
// columns while it reads them, and writes plans' migrations and inputs.
//
// The decoders of text ([DecodeJSON], [DecodeNDJSON], [DecodeCSV], [Stream],
// [DecodeResolutionNDJSON], [DecodeResolutionCSV]) read a body once, through a
// window of fixed size. A row is parsed where it lies in the window and appended
// to columns of numbers and to [planner.Keys]; no row ever becomes an object of
// its own. A row that the window cuts is parsed again once the window has moved
// on, so no token is ever read in two pieces. [DecodeArrow] holds one record batch
// at a time and appends its columns as they are.
//
// They are strict. Text that is not what its format says (bad syntax, invalid
// UTF-8, a missing end, anything after the end, a member twice) is [Malformed]
// and ends decoding at once. Values that break a rule are [Invalid]; up to 100
// of them are collected, each with a JSON pointer. Whatever exceeds a limit is
// [TooLarge].
package input

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plannerd/compact"
	"plannerd/planner"
)

// Defaults of [Limits].
const (
	DefaultBytes = 1 << 30
	DefaultRows  = 20_000_000
)

// Bounds that are not configurable.
const (
	maxRowBytes    = 1 << 20  // text of one row or one value of a column
	maxMemberBytes = 64 << 20 // text of one other member of a JSON body
	maxMembers     = 256      // other members of a JSON body
	maxDepth       = 128      // nesting of arrays and objects in one value
	maxProblems    = 100
	maxInterval    = 1<<53 - 1
	maxCount       = 1<<53 - 1 // keys of one record, and of all records
)

// Limits bound what a decoder accepts. Zero values mean the defaults.
type Limits struct {
	// Bytes of decoded text, after decompression; in Arrow also what compressed
	// buffers decode to. Defaults to DefaultBytes.
	Bytes int64
	Rows  int // Defaults to DefaultRows
}

// Options are what a decoder must know beforehand.
type Options struct {
	Limits Limits
	// Base64Keys: keys are written in base64 (standard alphabet, padded).
	Base64Keys bool
	// Header names the columns of CSV whose first line is a row already. An empty
	// list, not nil, stands for key, cost, state and instance, as many of them as
	// the first row has cells. Nil: the first line is the header.
	Header []string
	// RowHint is the expected number of rows, 0 when unknown. A wrong hint is
	// harmless: memory is set aside for it only once a sixteenth of the rows
	// have been seen.
	RowHint int
	// Size is the length of the decoded text in bytes, 0 when unknown. With it, and
	// without a RowHint, the number of rows is reckoned from the first ones.
	Size int64
	// Reserve, if set, is told before the decoder takes that many bytes more for
	// what it keeps, and afterwards, as a negative number, what it does not keep in
	// the end. Its error ends decoding, and is returned as it is. What a decoder
	// always has, its window of 128 KiB and what decompresses, it does not tell.
	Reserve func(bytes int64) error
}

func (o Options) withDefaults() Options {
	if o.Limits.Bytes <= 0 {
		o.Limits.Bytes = DefaultBytes
	}
	if o.Limits.Rows <= 0 {
		o.Limits.Rows = DefaultRows
	}
	o.Limits.Rows = min(o.Limits.Rows, math.MaxInt32)
	o.RowHint = max(0, min(o.RowHint, o.Limits.Rows))
	return o
}

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

// Format is a format of statistics.
type Format int

// The formats.
const (
	JSON Format = iota + 1
	NDJSON
	CSV
	Arrow // an IPC stream
)

// String returns the format's usual short name.
func (f Format) String() string {
	return [...]string{JSON: "json", NDJSON: "ndjson", CSV: "csv", Arrow: "arrow"}[f]
}

// Document is what a decoder made of a body.
type Document struct {
	// Stats are the rows of keys, those that are named beside records included; nil where
	// there are none, as in a JSON body with neither "keys" nor "columns". Keys are distinct and 1 to planner.MaxKeyBytes
	// long; costs and states are 0 to planner.MaxAmount and never −0. Partial and
	// Residual are not set.
	Stats *planner.Statistics
	// Records are the rows of the compact form: in JSON the "records" of
	// "compact", in CSV and Arrow rows with a count and no key. Nil when the body is not of
	// that form, empty when it has no rows. They are in the order of the body, and
	// several may be of one class. d′ is d; costs and states are as in Stats, counts
	// from 1 to 2^53−1, also in sum.
	Records []compact.Record
	// Interval is that which the rows of NDJSON, CSV and Arrow name; nil: they name none.
	Interval *int64
	// Members holds every member of a JSON body but "keys" and "columns":
	// verbatim, syntactically valid, without duplicates at any depth. An object
	// "compact" is here without its "records" and without white space between its
	// members. Nil for other formats.
	Members map[string][]byte

	shape     shape // of the keys, where there are keys and records
	first     int   // number of the first row, when the document is a part of a file
	firstLine int   // line of the first row; 0: which lines the rows are on is not known
	base64    bool
}

// Base64Keys tells whether keys were written in base64, because the options or
// the member "key_encoding" said so.
func (d *Document) Base64Keys() bool { return d.base64 }

// Bytes is how much memory the document holds.
func (d *Document) Bytes() int64 {
	n := sizeOf[compact.Record](cap(d.Records))
	for _, text := range d.Members {
		n += len(text)
	}
	if s := d.Stats; s != nil {
		n += s.Keys.Bytes() + sizeOf[float64](cap(s.Cost)+cap(s.State)) + sizeOf[int32](cap(s.Instance)+cap(s.HashInstance))
	}
	return int64(n)
}

// Pointer returns the JSON pointer to a field of a row, or for row −1 to a
// member of the body. The rows of keys come behind those of records.
func (d *Document) Pointer(row int, field string) string {
	if row < 0 {
		return "/" + field
	}
	if d.Records == nil || d.Stats == nil {
		return d.shape.pointer(d.first+row, field)
	}
	if keys := row - len(d.Records); keys >= 0 {
		return d.shape.pointer(keys, field)
	}
	return shapeRecords.pointer(row, field)
}

// Location returns where a field of a row, counted from 0, is in the text.
func (d *Document) Location(row int, field string) Location {
	if d.Records != nil && d.Stats != nil {
		if row -= len(d.Records); row < 0 {
			return Location{Row: row + len(d.Records) + 1, Column: field}
		}
	}
	p := Location{Row: d.first + row + 1, Column: field}
	if d.firstLine > 0 {
		p.Line = d.firstLine + row
	}
	if d.Stats != nil {
		p.Key = clip(d.Stats.Keys.At(row))
	}
	return p
}

// shape is how rows lie in a body.
type shape uint8

const (
	shapeRows    shape = iota // NDJSON, CSV and Arrow: /17/cost
	shapeKeys                 // /keys/17/cost
	shapeColumns              // /columns/cost/17
	shapeRecords              // /compact/records/17/2
)

func (s shape) pointer(row int, field string) string {
	n := strconv.Itoa(row)
	switch {
	case s == shapeColumns:
		return "/columns/" + field + "/" + n
	case s == shapeKeys:
		n = "keys/" + n
	case s == shapeRecords:
		n = "compact/records/" + n
		if i := slices.Index(recordFields[:], field); i >= 0 {
			field = strconv.Itoa(i)
		}
	}
	if field == "" {
		return "/" + n
	}
	return "/" + n + "/" + escapePointer(field)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// escapePointer makes a name that came from outside a token of a JSON pointer.
func escapePointer(name string) string { return pointerEscapes.Replace(name) }

// Package columns gathers rows of any format into dense columns: it checks what rows must
// have, notes what is wrong with them, joins what it has and looks for keys that stand twice. It
// knows rows and their fields; how a format writes them is for the packages of the formats.
package columns

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"plannerd/compact"
	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// Defaults of [Limits].
const (
	DefaultBytes = 1 << 30
	DefaultRows  = 20_000_000
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
	Mapping
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

// WithDefaults replaces what is not set.
func (o Options) WithDefaults() Options {
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

// Document is what a decoder made of a body.
type Document struct {
	// Stats are the rows of keys, those that are named beside records included; nil where
	// there are none, as in a JSON body with neither "keys" nor "columns". Keys are distinct
	// and 1 to planner.MaxKeyBytes long; costs and states are 0 to planner.MaxAmount and never
	// −0. Partial and Residual are not set.
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
	// Grouped is how many keys the rows named that were added up by their routed keys; 0: none were.
	Grouped int
	// Base64Keys: keys were written in base64, because the options or the member
	// "key_encoding" said so.
	Base64Keys bool

	shape     Shape   // of the keys, where there are keys and records
	first     int     // number of the first row, when the document is a part of a file
	firstLine int     // line of the first row; 0: which lines the rows are on is not known
	rows      []int32 // of the body, that rows of Stats are the sums of, their first ones; nil: none was added up
}

// Group adds up the rows of each routed key. The error is an [Error] that names two rows that do not go
// together; text names instances.
func (d *Document) Group(a partitioner.Affinity, text func(id int32) string) error {
	if d.Records != nil {
		return problem.One(problem.Invalid, "/compact", DetailGrouped)
	}
	var wrong []problem.Problem
	all := d.Stats
	sum := Sum{Affinity: a, Wrong: func(row, first int, field Field) bool {
		detail := AboutSum(all, row, first, field, text)
		wrong = append(wrong, problem.Problem{
			Pointer: d.Pointer(row, field.String()), Detail: detail, Location: d.Location(row, field.String()),
		})
		return len(wrong) >= problem.Most
	}}
	stats, rows := sum.Of(all)
	if len(wrong) > 0 {
		return &problem.Error{Kind: problem.Invalid, Problems: wrong}
	}
	for i, row := range rows {
		rows[i] = int32(d.row(int(row)))
	}
	d.Stats, d.rows, d.Grouped = stats, rows, all.Len()
	return nil
}

// row is that of the body which a row of Stats began with.
func (d *Document) row(i int) int {
	if i >= 0 && i < len(d.rows) {
		return int(d.rows[i])
	}
	return i
}

// Bytes is how much memory the document holds.
func (d *Document) Bytes() int64 {
	n := SizeOf[compact.Record](cap(d.Records))
	for _, text := range d.Members {
		n += len(text)
	}
	if s := d.Stats; s != nil {
		for _, x := range s.Costs {
			n += SizeOf[float64](cap(x.Rows))
		}
		n += s.Keys.Bytes() + SizeOf[float64](cap(s.Cost)+cap(s.State)) + SizeOf[int32](cap(s.Instance)+cap(s.HashInstance))
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
		return d.shape.pointer(d.first+d.row(row), field)
	}
	if keys := row - len(d.Records); keys >= 0 {
		return d.shape.pointer(keys, field)
	}
	return ShapeRecords.pointer(row, field)
}

// Location returns where a field of a row, counted from 0, is in the text.
func (d *Document) Location(row int, field string) problem.Location {
	if d.Records != nil && d.Stats != nil {
		if row -= len(d.Records); row < 0 {
			return problem.Location{Row: row + len(d.Records) + 1, Column: columnOfField(field)}
		}
	}
	p := problem.Location{Row: d.first + d.row(row) + 1, Column: columnOfField(field)}
	if d.firstLine > 0 {
		p.Line = d.firstLine + d.row(row)
	}
	if d.Stats != nil {
		p.Key = problem.Clip(d.Stats.Keys.At(row))
	}
	return p
}

// Shape is how rows lie in a body.
type Shape uint8

// The shapes.
const (
	ShapeRows    Shape = iota // NDJSON, CSV and Arrow: /17/cost
	ShapeKeys                 // /keys/17/cost
	ShapeColumns              // /columns/cost/17
	ShapeRecords              // /compact/records/17/2
)

func (s Shape) pointer(row int, field string) string {
	n := strconv.Itoa(row)
	switch {
	case s == ShapeColumns:
		return "/columns/" + field + "/" + n
	case s == ShapeKeys:
		n = "keys/" + n
	case s == ShapeRecords:
		n = "compact/records/" + n
		if i := slices.Index(RecordFields[:], field); i >= 0 {
			field = strconv.Itoa(i)
		}
	}
	switch {
	case field == "":
		return "/" + n
	case strings.HasPrefix(field, costField): // a path
		return "/" + n + "/" + field
	}
	return "/" + n + "/" + problem.Escape(field)
}

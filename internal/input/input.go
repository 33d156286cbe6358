// Package input brings statistics of keys, or of classes of keys, into dense
// columns while it reads them. It knows the formats by name and chooses what decodes each of
// them; how rows are checked and gathered is for its packages columns, jsonrows, csvrows and
// arrowrows to know, what becomes of them for callers.
//
// The decoders of text read a body once, through a
// window of fixed size. A row is parsed where it lies in the window and appended
// to columns of numbers and to [planner.Keys]; no row ever becomes an object of
// its own. A row that the window cuts is parsed again once the window has moved
// on, so no token is ever read in two pieces. That of Arrow holds one record batch
// at a time and appends its columns as they are.
//
// They are strict. Text that is not what its format says (bad syntax, invalid
// UTF-8, a missing end, anything after the end, a member twice) is [Malformed]
// and ends decoding at once. Values that break a rule are [Invalid]; up to 100
// of them are collected, each with a JSON pointer. Whatever exceeds a limit is
// [TooLarge].
package input

import (
	"io"

	"plannerd/internal/input/internal/arrowrows"
	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/csvrows"
	"plannerd/internal/input/internal/jsonrows"
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/internal/records"
	"plannerd/internal/input/internal/window"
	"plannerd/planner"
)

type (
	// Options are what decoders are told.
	Options = columns.Options
	// Limits are a part of them.
	Limits = columns.Limits
	// Mapping is the part of them that says how other systems write statistics.
	Mapping = columns.Mapping
	// Names are those of instances.
	Names = columns.Names
	// Document is what they return of statistics.
	Document = columns.Document
	// Resolution is what they return of a resolution.
	Resolution = columns.Resolution
	// Sum says how rows are added up.
	Sum = columns.Sum
	// Field is one of rows.
	Field = columns.Field
	// Error is what they return for a body that they refuse.
	Error = problem.Error
	// Kind is that of an error.
	Kind = problem.Kind
	// Problem is one of an error.
	Problem = problem.Problem
	// Location is that of a problem.
	Location = problem.Location
)

// SumBytes is the most that adding up rows holds, beside the texts of their keys.
func SumBytes(s *planner.Statistics) int { return columns.SumBytes(s) }

// WithResidual adds what the rest i of so many takes of a resource to the amounts of so many rows. It
// returns what is wrong with the name; "": nothing.
func WithResidual(costs []planner.Amounts, rows, rests, i int, name string, x float64) ([]planner.Amounts, string) {
	return columns.WithResidual(costs, rows, rests, i, name, x)
}

// DetailGrouped is what is wrong with records where keys of one routed key stay together.
const DetailGrouped = columns.DetailGrouped

// AboutSum says why a row cannot be added to an earlier one of its routed key; text names instances.
func AboutSum(s *planner.Statistics, row, first int, field Field, text func(id int32) string) string {
	return columns.AboutSum(s, row, first, field, text)
}

// Defaults of [Limits].
const (
	DefaultBytes = columns.DefaultBytes
	DefaultRows  = columns.DefaultRows
)

// The kinds of errors.
const (
	Malformed = problem.Malformed
	Invalid   = problem.Invalid
	TooLarge  = problem.TooLarge
)

// UnknownColumn is what is wrong with a column that holds none of the fields of rows.
const UnknownColumn = columns.DetailColumn

// Format is a format of statistics.
type Format int

// The formats.
const (
	JSON Format = iota + 1
	NDJSON
	CSV
	Arrow   // an IPC stream
	Parquet // which callers turn into CSV: nothing here reads it
	Records // JSON as other systems write it: see [Mapping]
)

// String returns the format's usual short name.
func (f Format) String() string {
	return [...]string{
		JSON: "json", NDJSON: "ndjson", CSV: "csv", Arrow: "arrow", Parquet: "parquet", Records: "records",
	}[f]
}

// statisticsFields are those that rows of statistics may have.
const statisticsFields = columns.StatisticsRow | columns.Interval

// open begins to read rows of the given fields; those of statistics may turn out to be of
// records. The source must be closed, also after an error.
func open(r io.Reader, f Format, o Options, fields columns.Field) (columns.Source, error) {
	switch f {
	case CSV:
		return csvrows.New(r, o, fields)
	case Arrow:
		return arrowrows.New(r, o, fields)
	case Records:
		o.Header, o.Skip, o.Delimiter, o.NoLines = nil, 0, ',', true
		return csvrows.New(records.New(r, o.Mapping), o, fields)
	}
	return jsonrows.NewLines(r, o, fields), nil
}

// as is the format that decodes a text of format f: records, where members of JSON may have other
// names, places or values than plannerd's own.
func (f Format) as(o Options) Format {
	if (f == JSON || f == NDJSON) && o.Foreign() {
		return Records
	}
	return f
}

// decode reads all rows.
func decode[D any](r io.Reader, f Format, o Options, fields columns.Field,
	made func(*columns.Builder) (D, error)) (none D, err error) {
	s, err := open(r, f, o, fields)
	if err == nil {
		err = columns.ReadAll(s)
	}
	defer s.Close()
	if err != nil {
		return none, err
	}
	return made(s.Gathered())
}

// Decode reads the statistics of one interval.
func Decode(r io.Reader, f Format, o Options) (*Document, error) {
	if f = f.as(o); f == JSON {
		return jsonrows.Decode(r, o)
	}
	return decode(r, f, o, statisticsFields, (*columns.Builder).Document)
}

// DecodeResolution reads rows with key, from and to, as NDJSON or CSV. All three are required,
// and no key stands twice. Rows may have a hash_instance besides.
func DecodeResolution(r io.Reader, f Format, o Options) (*Resolution, error) {
	return decode(r, f, o, columns.ResolutionRow, (*columns.Builder).Resolution)
}

// Row is an event: its key, cost, state and interval, of which it has those that Seen tells. Its
// key is valid until the next event.
type Row = columns.Row

// ReadUpTo reads until b is full or r has told that it is at its end.
func ReadUpTo(r io.Reader, b []byte) (n int, eof bool, err error) { return window.ReadUpTo(r, b) }

// Events hands take one event of a text after the other.
func Events(r io.Reader, f Format, o Options, take func(r *Row) error) error {
	s, err := open(r, f.as(o), o, columns.EventRow)
	if err == nil {
		err = columns.ReadEvents(s, take)
	}
	s.Close()
	return err
}

// LookForRecords finds a list of records in the beginning of a text of JSON: its path, and what is
// in its first record.
func LookForRecords(head []byte) (path string, names []string) { return records.Look(head) }

// Delimiters are what may stand between cells of CSV, by their names.
var Delimiters = columns.Delimiters

// ParseMapping reads pairs such as key=topic+partition of a field and the columns that hold it.
func ParseMapping(pairs []string) (map[string][]string, error) { return columns.ParseMapping(pairs) }

// Package lists writes the long lists of plans, tables and statistics as JSON, NDJSON and CSV,
// from where their records are. It knows how each kind of record is written; which records a
// list has, and what is paged or filtered, callers know.
package lists

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// ErrKeyText says that a key that is not valid UTF-8 was to be written as text in CSV.
var ErrKeyText = errors.New("key is not valid UTF-8: ask for base64")

// List is a list of records of one kind, whichever. Its records are read where they
// are, each time that it is written.
type List interface {
	// AppendJSON appends the records as a JSON list.
	AppendJSON(dst []byte, base64 bool) []byte
	// WriteJSON writes the records as a JSON list, WriteNDJSON each as a line of JSON.
	WriteJSON(w io.Writer, base64 bool) error
	WriteNDJSON(w io.Writer, base64 bool) error
	// WriteCSV writes a header and each record as a line, quoted as RFC 4180 says;
	// lines end in LF. It stops with [ErrKeyText] at a key that would need base64;
	// NeedsBase64 tells beforehand. An instance that has a name is written as this.
	WriteCSV(w io.Writer, base64 bool, names Names) error
	// NeedsBase64 tells whether some key is not valid UTF-8.
	NeedsBase64() bool
}

// Names are those of instances, by id. Nil: none has one.
type Names map[int32]string

// Record is one of the records of a list.
type Record interface {
	// cells writes what the record consists of, always the same columns in the same order.
	cells(c *cells)
}

// Records is the [List] of what a sequence yields.
type Records[R Record] iter.Seq[R]

// AppendJSON appends a record as a JSON value. With base64 its key is
// written in base64; without, it is text, and one that is not valid UTF-8 is
// written in base64 beside the member "key_encoding": "base64". A record
// without a key is written the same either way.
func AppendJSON(dst []byte, r Record, base64 bool) []byte {
	return appendRecord(&cells{form: asJSON, base64: base64}, dst, r)
}

// AppendJSON implements [List].
func (records Records[R]) AppendJSON(dst []byte, base64 bool) []byte {
	c, separator := &cells{form: asJSON, base64: base64}, "["
	for r := range records {
		dst, separator = appendRecord(c, append(dst, separator...), r), ","
	}
	if separator == "[" {
		dst = append(dst, '[')
	}
	return append(dst, ']')
}

// WriteJSON implements [List].
func (records Records[R]) WriteJSON(w io.Writer, base64 bool) error {
	return records.write(w, &cells{form: asJSON, base64: base64}, "[", ",", "]")
}

// WriteNDJSON implements [List].
func (records Records[R]) WriteNDJSON(w io.Writer, base64 bool) error {
	return records.write(w, &cells{form: asJSON, base64: base64, lines: true}, "", "", "")
}

// WriteCSV implements [List].
func (records Records[R]) WriteCSV(w io.Writer, base64 bool, names Names) error {
	head := appendRecord(&cells{form: asHeader, lines: true}, nil, *new(R))
	return records.write(w, &cells{form: asCSV, base64: base64, lines: true, names: names}, string(head), "", "")
}

// NeedsBase64 implements [List].
func (records Records[R]) NeedsBase64() bool {
	c := &cells{form: asNothing}
	for r := range records {
		if r.cells(c); c.notText {
			return true
		}
	}
	return false
}

// writeBytes is how much is gathered before it is written. A [bufio.Writer] of
// that size is written to as it is, and left to its owner to flush.
const writeBytes = 64 << 10

// write writes head, the records with separator between them, and tail.
func (records Records[R]) write(w io.Writer, c *cells, head, separator, tail string) error {
	out := bufio.NewWriterSize(w, writeBytes) // w itself, if it is as good
	if _, err := out.WriteString(head); err != nil {
		return err
	}
	before := ""
	for r := range records {
		c.dst = append(out.AvailableBuffer(), before...)
		before = separator
		c.begin()
		r.cells(c)
		c.end()
		if c.notText {
			_ = flush(w, out) // what was right so far; the first error counts
			return ErrKeyText
		}
		if _, err := out.Write(c.dst); err != nil {
			return err
		}
	}
	if _, err := out.WriteString(tail); err != nil {
		return err
	}
	return flush(w, out)
}

// flush flushes out unless it is the caller's own.
func flush(w io.Writer, out *bufio.Writer) error {
	if w == io.Writer(out) {
		return nil
	}
	return out.Flush()
}

// Package lists writes the long lists of plans, tables and statistics as JSON, NDJSON and CSV,
// from where their records are. It knows how each kind of record is written; which records a
// list has, and what is paged or filtered, callers know.
package lists

import (
	"io"
	"iter"
	"strconv"
)

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
	// NeedsBase64 tells beforehand.
	WriteCSV(w io.Writer, base64 bool) error
	// NeedsBase64 tells whether some key is not valid UTF-8.
	NeedsBase64() bool
}

// Records is the [List] of what a sequence yields.
type Records[R Record] iter.Seq[R]

// UnsetKey is the key of an entry that a plan removes from a routing table.
type UnsetKey []byte

func (k UnsetKey) key() []byte     { return k }
func (UnsetKey) csvHeader() string { return "key\n" }

// AppendJSON appends the key as a string; see [Record].
func (k UnsetKey) AppendJSON(dst []byte, base64 bool) []byte {
	return appendText(dst, k, base64)
}

// AppendCSV appends the key; see [Record].
func (k UnsetKey) AppendCSV(dst []byte, base64 bool) []byte {
	return append(appendCell(dst, k, base64), '\n')
}

// RingToken is one token of an instance on a ring.
type RingToken struct {
	Instance, Index int32
	Position        uint32
}

func (RingToken) key() []byte       { return nil }
func (RingToken) csvHeader() string { return "instance,index,position\n" }

// AppendJSON appends {"instance": …, "index": …, "position": …}.
func (t RingToken) AppendJSON(dst []byte, _ bool) []byte {
	dst = strconv.AppendInt(append(dst, `{"instance":`...), int64(t.Instance), 10)
	dst = strconv.AppendInt(append(dst, `,"index":`...), int64(t.Index), 10)
	return append(strconv.AppendUint(append(dst, `,"position":`...), uint64(t.Position), 10), '}')
}

// AppendCSV appends instance, index and position.
func (t RingToken) AppendCSV(dst []byte, _ bool) []byte {
	dst = append(strconv.AppendInt(dst, int64(t.Instance), 10), ',')
	dst = append(strconv.AppendInt(dst, int64(t.Index), 10), ',')
	return append(strconv.AppendUint(dst, uint64(t.Position), 10), '\n')
}

package lists

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
)

// ErrKeyText says that a key that is not valid UTF-8 was to be written as text in CSV.
var ErrKeyText = errors.New("key is not valid UTF-8: ask for base64")

// Record is what the long lists of a plan and of its resolution consist of: a
// [Migration], a [ClassMove], an [ArcMove], a [RangeMove], an [Entry], a
// [TableChange], a [RingTokens], a [RangeOwner] or a [Flow].
type Record interface {
	// AppendJSON appends the record as a JSON value. With base64 its key is
	// written in base64; without, it is text, and one that is not valid UTF-8 is
	// written in base64 beside the member "key_encoding": "base64". A record
	// without a key is written the same either way.
	AppendJSON(dst []byte, base64 bool) []byte
	// AppendCSV appends the record as a line of CSV. Without base64 its key must
	// be valid UTF-8.
	AppendCSV(dst []byte, base64 bool) []byte
	csvHeader() string
	key() []byte // nil: it has none
}

// TableChange is what a plan does to one entry of a routing table: key goes to
// Instance instead of to Previous. planner.NoInstance stands for no entry. Of a key that
// is split Parts, or PreviousParts, say where it goes.
type TableChange struct {
	Key                  []byte
	Instance, Previous   int32
	Parts, PreviousParts []planner.Part
}

// Entry is one line of a routing table: key goes to the instance with that id, or to those
// of its parts.
type Entry planner.Entry

func (e Entry) key() []byte       { return e.Key }
func (m Migration) key() []byte   { return m.Key }
func (c TableChange) key() []byte { return c.Key }

func (Entry) csvHeader() string       { return "key,instance,weight\n" }
func (Migration) csvHeader() string   { return "key,from,to,cost,state,reason\n" }
func (TableChange) csvHeader() string { return "key,instance,previous,parts,previous_parts\n" }

// AppendJSON appends {"key": …, "instance": …, "parts": …}, parts only where there are
// some; see [Record].
func (e Entry) AppendJSON(dst []byte, base64 bool) []byte {
	dst = appendKeyMember(dst, e.Key, base64)
	dst = append(dst, `,"instance":`...)
	dst = strconv.AppendInt(dst, int64(e.Instance), 10)
	return append(appendParts(dst, `,"parts":`, e.Parts), '}')
}

// appendParts appends a member with the parts of a key, if it has any.
func appendParts(dst []byte, name string, parts []planner.Part) []byte {
	if parts == nil {
		return dst
	}
	dst = append(append(dst, name...), '[')
	for i, x := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"instance":`...), int64(x.Instance), 10)
		dst = strconv.AppendInt(append(dst, `,"weight":`...), int64(x.Weight), 10)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// AppendCSV appends key, instance and weight, which is empty of a key that is whole; a key
// that is split has a line for each part. See [Record].
func (e Entry) AppendCSV(dst []byte, base64 bool) []byte {
	if e.Parts == nil {
		dst = append(appendCell(dst, e.Key, base64), ',')
		return append(strconv.AppendInt(dst, int64(e.Instance), 10), ",\n"...)
	}
	for _, x := range e.Parts {
		dst = append(appendCell(dst, e.Key, base64), ',')
		dst = append(strconv.AppendInt(dst, int64(x.Instance), 10), ',')
		dst = append(strconv.AppendInt(dst, int64(x.Weight), 10), '\n')
	}
	return dst
}

// AppendJSON appends {"key": …, "instance": …, "previous": …, "parts": …,
// "previous_parts": …}, with null for no entry and parts only where there are some; see
// [Record].
func (c TableChange) AppendJSON(dst []byte, base64 bool) []byte {
	dst = appendKeyMember(dst, c.Key, base64)
	dst = appendInstance(append(dst, `,"instance":`...), c.Instance, "null")
	dst = appendInstance(append(dst, `,"previous":`...), c.Previous, "null")
	dst = appendParts(dst, `,"parts":`, c.Parts)
	return append(appendParts(dst, `,"previous_parts":`, c.PreviousParts), '}')
}

// AppendCSV appends key, instance and previous, which are empty for no entry, and the parts
// as pairs of an instance and a weight, such as "0:35389 1:30147"; see [Record].
func (c TableChange) AppendCSV(dst []byte, base64 bool) []byte {
	dst = append(appendCell(dst, c.Key, base64), ',')
	dst = append(appendInstance(dst, c.Instance, ""), ',')
	dst = append(appendInstance(dst, c.Previous, ""), ',')
	dst = append(appendPairs(dst, c.Parts), ',')
	return append(appendPairs(dst, c.PreviousParts), '\n')
}

func appendPairs(dst []byte, parts []planner.Part) []byte {
	for i, x := range parts {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(strconv.AppendInt(dst, int64(x.Instance), 10), ':')
		dst = strconv.AppendInt(dst, int64(x.Weight), 10)
	}
	return dst
}

// appendInstance appends an id, or what stands for planner.NoInstance.
func appendInstance(dst []byte, id int32, none string) []byte {
	if id == planner.NoInstance {
		return append(dst, none...)
	}
	return strconv.AppendInt(dst, int64(id), 10)
}

// AppendJSON appends {"key": …, "from": …, "to": …, "cost": …, "state": …,
// "reason": …}; see [Record].
func (m Migration) AppendJSON(dst []byte, base64 bool) []byte {
	dst = appendKeyMember(dst, m.Key, base64)
	dst = append(dst, `,"from":`...)
	dst = strconv.AppendInt(dst, int64(m.From), 10)
	dst = append(dst, `,"to":`...)
	dst = strconv.AppendInt(dst, int64(m.To), 10)
	dst = append(dst, `,"cost":`...)
	dst = appendNumber(dst, m.Cost)
	dst = append(dst, `,"state":`...)
	dst = appendNumber(dst, m.State)
	dst = append(dst, `,"reason":"`...)
	dst = append(dst, m.Reason.String()...)
	return append(dst, '"', '}')
}

// AppendCSV appends key, from, to, cost, state and reason; see [Record].
func (m Migration) AppendCSV(dst []byte, base64 bool) []byte {
	dst = append(appendCell(dst, m.Key, base64), ',')
	dst = append(strconv.AppendInt(dst, int64(m.From), 10), ',')
	dst = append(strconv.AppendInt(dst, int64(m.To), 10), ',')
	dst = append(appendNumber(dst, m.Cost), ',')
	dst = append(appendNumber(dst, m.State), ',')
	dst = append(dst, m.Reason.String()...)
	return append(dst, '\n')
}

// AppendJSON implements [List].
func (records Records[R]) AppendJSON(dst []byte, base64 bool) []byte {
	dst = append(dst, '[')
	first := true
	for r := range records {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = r.AppendJSON(dst, base64)
	}
	return append(dst, ']')
}

// writeBytes is how much is gathered before it is written. A [bufio.Writer] of
// that size is written to as it is, and left to its owner to flush.
const writeBytes = 64 << 10

// WriteJSON implements [List].
func (records Records[R]) WriteJSON(w io.Writer, base64 bool) error {
	out := bufio.NewWriterSize(w, writeBytes)
	opening := byte('[')
	err := write(out, nil, iter.Seq[R](records), func(dst []byte, r R) ([]byte, error) {
		dst = append(dst, opening)
		opening = ','
		return r.AppendJSON(dst, base64), nil
	})
	if err != nil {
		return err
	}
	closing := []byte("[]")
	if opening == ',' {
		closing = closing[1:]
	}
	if _, err := out.Write(closing); err != nil {
		return err
	}
	return flush(w, out)
}

// WriteNDJSON implements [List].
func (records Records[R]) WriteNDJSON(w io.Writer, base64 bool) error {
	return write(w, nil, iter.Seq[R](records), func(dst []byte, r R) ([]byte, error) {
		return append(r.AppendJSON(dst, base64), '\n'), nil
	})
}

// WriteCSV implements [List].
func (records Records[R]) WriteCSV(w io.Writer, base64 bool) error {
	var none R
	return write(w, []byte(none.csvHeader()), iter.Seq[R](records), func(dst []byte, r R) ([]byte, error) {
		if !base64 && !utf8.Valid(r.key()) {
			return dst, ErrKeyText
		}
		return r.AppendCSV(dst, base64), nil
	})
}

// NeedsBase64 implements [List].
func (records Records[R]) NeedsBase64() bool {
	for r := range records {
		if !utf8.Valid(r.key()) {
			return true
		}
	}
	return false
}

// write writes head and behind it what add appends for each record.
func write[R any](w io.Writer, head []byte, records iter.Seq[R], add func([]byte, R) ([]byte, error)) error {
	out := bufio.NewWriterSize(w, writeBytes) // w itself, if it is as good
	if _, err := out.Write(head); err != nil {
		return err
	}
	for r := range records {
		line, err := add(out.AvailableBuffer(), r)
		if err != nil {
			_ = flush(w, out) // what was right so far; the first error counts
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
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

// appendKeyMember opens an object with its key.
func appendKeyMember(dst, key []byte, base64 bool) []byte {
	dst = append(dst, `{"key":`...)
	if !base64 {
		if text, err := jsontext.AppendQuote(dst, key); err == nil { // it is valid UTF-8
			return text
		}
		return append(appendText(dst, key, true), `,"key_encoding":"base64"`...)
	}
	return appendText(dst, key, true)
}

// appendText appends a key as a JSON string. Without base64 it must be valid
// UTF-8.
func appendText(dst, key []byte, base64 bool) []byte {
	if base64 {
		return append(appendBase64(append(dst, '"'), key), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, key) // it fails on invalid UTF-8 only
	return dst
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

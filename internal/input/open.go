package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding/unicode"

	"plannerd/internal/input/compression"
	"plannerd/internal/input/internal/arrowrows"
)

// Open finds out the content encoding and the format of a file and returns its
// decoded text as UTF-8, which must be closed; that does not close r. The compressors and
// Arrow are told by their magic numbers, JSON and NDJSON by their first line:
// everything else is CSV.
func Open(r io.Reader) (io.ReadCloser, Format, error) {
	raw := bufio.NewReaderSize(r, sniffBytes)
	encoding, err := compression.Encoding(raw)
	if err != nil {
		return nil, 0, err
	}
	d, err := compression.NewDecompressor(raw, encoding)
	if err != nil {
		return nil, 0, err
	}
	text := bufio.NewReaderSize(d, sniffBytes)
	if mark, _ := text.Peek(2); string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff" {
		utf16 := unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder()
		text = bufio.NewReaderSize(utf16.Reader(text), sniffBytes)
	} else if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(mark))
	}
	f, err := detect(text)
	if err != nil {
		_ = d.Close() // never fails
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{text, d}, f, nil
}

// parquetMagic is what Parquet files begin with.
const parquetMagic = "PAR1"

// byteOrderMark is that of UTF-8.
const byteOrderMark = "\uFEFF"

// sniffBytes is how much of a file is looked at to tell what it is.
const sniffBytes = 64 << 10

// detect tells the format of a text without consuming any of it. A text that
// starts with a brace is NDJSON if its first line is an object with none of
// "keys", "columns" and "compact", else JSON; one that starts with a bracket is a list of
// records. An error is one of the reader's.
func detect(r *bufio.Reader) (Format, error) {
	head, err := r.Peek(r.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if bytes.HasPrefix(head, arrowrows.Continuation) || bytes.HasPrefix(head, []byte(arrowrows.File)) {
		return Arrow, nil
	}
	if bytes.HasPrefix(head, []byte(parquetMagic)) {
		return Parquet, nil
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) > 0 && head[0] == '[' {
		return Records, nil
	}
	if len(head) == 0 || head[0] != '{' {
		return CSV, nil
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if isRow(line) {
		return NDJSON, nil
	}
	return JSON, nil
}

// isRow tells whether a line is an object that is not a document of rows.
func isRow(line []byte) bool {
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members) != nil {
		return false
	}
	for _, name := range []string{"keys", "columns", "compact"} {
		if _, ok := members[name]; ok {
			return false
		}
	}
	return true
}

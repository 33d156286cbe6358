package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrEncoding says that the content encoding is not known.
var ErrEncoding = errors.New("unknown content encoding")

// maxZstdWindow is what a zstd frame may have the decoder hold: 8 MiB, which
// RFC 8878 asks every decoder to support, and which no level of the usual
// compressors exceeds unless told to.
const maxZstdWindow = 8 << 20

// NewDecompressor returns the decoded text of r, which is in the named content
// encoding: "gzip", "zstd", or "" and "identity" for none. It must be closed;
// that does not close r. Data that cannot be decoded is an [Error] of kind
// Malformed; errors of r itself come through as they are.
//
// Memory is bounded by the window of the encoding. The length of what comes out
// is not; decoders stop at Limits.Bytes.
func NewDecompressor(r io.Reader, encoding string) (io.ReadCloser, error) {
	source := &sourceReader{r: r}
	d := &decompressor{source: source, encoding: encoding}
	switch encoding {
	case "", "identity":
		return io.NopCloser(r), nil
	case "gzip":
		z, err := gzip.NewReader(source)
		if err != nil {
			return nil, d.explain(err)
		}
		d.Reader, d.close = z, func() { _ = z.Close() } // reading has told what there was to tell
	case "zstd":
		z, err := zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, d.explain(err)
		}
		d.Reader, d.close = z, z.Close
	default:
		return nil, fmt.Errorf("%w: %q", ErrEncoding, encoding)
	}
	return d, nil
}

// sourceReader remembers the error of a reader, so that it can be told from
// those of a decompressor.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

type decompressor struct {
	io.Reader
	source   *sourceReader
	encoding string
	close    func()
}

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.explain(err)
	}
	return n, err
}

func (d *decompressor) Close() error {
	d.close()
	return nil
}

func (d *decompressor) explain(err error) error {
	switch {
	case d.source.err != nil:
		return d.source.err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return windowTooLarge()
	}
	return &Error{Malformed, []Problem{at("", "not valid "+d.encoding+" data")}}
}

func windowTooLarge() *Error {
	return &Error{TooLarge, []Problem{at("", fmt.Sprintf("zstd window of more than %d bytes", maxZstdWindow))}}
}

// Open finds out the content encoding and the format of a file and returns its
// decoded text, which must be closed; that does not close r. The compressors and
// Arrow are told by their magic numbers, JSON and NDJSON by their first line:
// everything else is CSV.
func Open(r io.Reader) (io.ReadCloser, Format, error) {
	raw := bufio.NewReaderSize(r, sniffBytes)
	encoding, err := sniffEncoding(raw)
	if err != nil {
		return nil, 0, err
	}
	d, err := NewDecompressor(raw, encoding)
	if err != nil {
		return nil, 0, err
	}
	text := bufio.NewReaderSize(d, sniffBytes)
	f, err := Detect(text)
	if err != nil {
		_ = d.Close() // never fails
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{text, d}, f, nil
}

// sniffBytes is how much of a file is looked at to tell what it is.
const sniffBytes = 64 << 10

func sniffEncoding(r *bufio.Reader) (string, error) {
	head, err := r.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "gzip", nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd", nil
	case err != nil && !errors.Is(err, io.EOF):
		return "", err
	}
	return "", nil
}

// Detect tells the format of a text without consuming any of it. A text that
// starts with a brace is NDJSON if its first line is an object with none of
// "keys", "columns" and "compact", else JSON. An error is one of the reader's.
func Detect(r *bufio.Reader) (Format, error) {
	head, err := r.Peek(r.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if bytes.HasPrefix(head, arrowContinuation) || bytes.HasPrefix(head, []byte(arrowFile)) {
		return Arrow, nil
	}
	head = bytes.TrimLeft(head, " \t\r\n")
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
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil || slices.Contains([]string{"keys", "columns", "compact"}, name.String()) {
			return false
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	_, err := d.ReadToken()
	return err == nil
}

// Package compression undoes content encodings within bounds of memory, and tells by the first bytes
// which one a file has. It knows nothing of what is inside.
package compression

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/internal/input/internal/problem"
)

// ErrEncoding says that the content encoding is not known.
var ErrEncoding = errors.New("unknown content encoding")

// MaxZstdWindow is what a zstd frame may have the decoder hold: 8 MiB, which
// RFC 8878 asks every decoder to support, and which no level of the usual
// compressors exceeds unless told to.
const MaxZstdWindow = 8 << 20

// NewDecompressor returns the decoded text of r, which is in the named content
// encoding: "gzip", "zstd", or "" and "identity" for none. It must be closed;
// that does not close r. Data that cannot be decoded is a [problem.Error] of kind
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
			zstd.WithDecoderMaxWindow(MaxZstdWindow))
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
		return WindowTooLarge()
	}
	return problem.One(problem.Malformed, "", "not valid "+d.encoding+" data")
}

// WindowTooLarge is the error of a frame with a larger window.
func WindowTooLarge() *problem.Error {
	return problem.One(problem.TooLarge, "", fmt.Sprintf("zstd window of more than %d bytes", MaxZstdWindow))
}

// Encoding tells the content encoding of a file without consuming any of it. An error is one of the
// reader's.
func Encoding(r *bufio.Reader) (string, error) {
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

package compression

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/problem"
)

func TestDecompressor(t *testing.T) {
	body := body()
	for _, encoding := range []string{"", "identity", "gzip", "zstd"} {
		packed := body
		if encoding == "gzip" || encoding == "zstd" {
			packed = inputtest.Compressed(t, encoding, body)
		}
		d, err := NewDecompressor(iotest.HalfReader(bytes.NewReader(packed)), encoding)
		if err != nil {
			t.Fatal(encoding, err)
		}
		if text, err := io.ReadAll(d); err != nil || !bytes.Equal(text, body) {
			t.Errorf("%s: %d bytes, %v", encoding, len(text), err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewDecompressor(nil, "br"); !errors.Is(err, ErrEncoding) {
		t.Error(err)
	}
}

func TestDecompressorErrors(t *testing.T) {
	broken := errors.New("connection lost")
	read := func(r io.Reader, encoding string) error {
		d, err := NewDecompressor(r, encoding)
		if err != nil {
			return err
		}
		defer d.Close()
		_, err = io.Copy(io.Discard, d)
		return err
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		packed := inputtest.Compressed(t, encoding, body())
		damaged := slices.Clone(packed)
		damaged[len(damaged)/2] ^= 0xff
		for what, data := range map[string][]byte{
			"cut": packed[:len(packed)/2], "cut in the header": packed[:3], "damaged": damaged,
			"trailing garbage": append(slices.Clone(packed), "garbage"...), "plain": []byte("key,cost\n"),
		} {
			var e *problem.Error
			if err := read(bytes.NewReader(data), encoding); !errors.As(err, &e) || e.Kind != problem.Malformed {
				t.Errorf("%s %s: %v", encoding, what, err)
			}
		}
		for _, n := range []int{0, 3, len(packed) / 2} {
			var e *problem.Error
			err := read(io.MultiReader(bytes.NewReader(packed[:n]), iotest.ErrReader(broken)), encoding)
			if !errors.Is(err, broken) || errors.As(err, &e) {
				t.Errorf("%s after %d bytes: %v", encoding, n, err)
			}
		}
	}
	// A window of 16 MiB, in the header of a frame.
	wide := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0x00, 0x00}
	var e *problem.Error
	if err := read(bytes.NewReader(wide), "zstd"); !errors.As(err, &e) || e.Kind != problem.TooLarge {
		t.Errorf("wide window: %v", err)
	}
}

// body is some text.
func body() []byte {
	var b []byte
	for i := range 5000 {
		b = fmt.Appendf(b, "user:%d,%d\n", i*i, i)
	}
	return b
}

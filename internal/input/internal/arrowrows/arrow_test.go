package arrowrows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"

	"plannerd/internal/input/compression"
	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/problem"
)

const arrowRows = `[{"key":"a","cost":1,"state":2,"instance":3},{"key":"a key that no view holds in itself","cost":4,"state":5,"instance":6}]`

// decode decodes a whole stream.
func decode(r io.Reader, o columns.Options) (*columns.Document, error) {
	p, err := New(r, o, columns.StatisticsRow|columns.Interval)
	defer p.Close() //nolint:staticcheck // also after an error
	if err == nil {
		err = columns.ReadAll(p)
	}
	if err != nil {
		return nil, err
	}
	return p.Document()
}

// Older writers put no continuation marker before a message.
func TestArrowLegacy(t *testing.T) {
	body := inputtest.Arrow(t, inputtest.UsualColumns(arrow.BinaryTypes.String), nil, arrowRows)
	var old []byte
	rest := body
	for binary.LittleEndian.Uint32(rest[4:]) > 0 {
		f := flatbuffer{b: rest[8 : 8+binary.LittleEndian.Uint32(rest[4:])]}
		n := 8 + int64(len(f.b)) + f.header().body
		old, rest = append(old, rest[4:n]...), rest[n:]
	}
	old = append(old, 0, 0, 0, 0)
	want, err := decode(bytes.NewReader(body), columns.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(iotest.OneByteReader(bytes.NewReader(old)), columns.Options{})
	if err != nil || got.Stats.Fingerprint() != want.Stats.Fingerprint() {
		t.Errorf("%+v, %v", got, err)
	}
}

// A batch that lists fewer parts than its columns consist of: the library would
// take what lies behind the list for them.
func TestArrowMissingParts(t *testing.T) {
	for _, k := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.StringView,
		inputtest.DictionaryOf(arrow.BinaryTypes.StringView)} {
		body := inputtest.Arrow(t, inputtest.UsualColumns(k), nil, arrowRows)
		for at := 0; binary.LittleEndian.Uint32(body[at+4:]) > 0; {
			size := int(binary.LittleEndian.Uint32(body[at+4:]))
			f := flatbuffer{b: body[at+8:][:size]}
			h := f.header()
			for slot := 1; slot <= 4; slot++ {
				list := 0
				if h.record > 0 && slot != 3 {
					list = f.child(h.record, slot)
				}
				if list == 0 {
					continue
				}
				fewer := bytes.Clone(body)
				count := fewer[at+8+list:]
				binary.LittleEndian.PutUint32(count, binary.LittleEndian.Uint32(count)-1)
				if _, err := decode(bytes.NewReader(fewer), columns.Options{}); err == nil ||
					err.Error() != "malformed: not an Arrow record batch" {
					t.Errorf("%v, list %d: %v", k, slot, err)
				}
			}
			at += 8 + size + int(h.body)
		}
	}
}

// Two frames in one buffer, of which the second could ask for any window.
func TestArrowFrames(t *testing.T) {
	frame := inputtest.Compressed(t, "zstd", []byte(strings.Repeat("abc", 1000)))
	if w, ok := zstdFrame(frame); !ok || w == 0 || w > compression.MaxZstdWindow {
		t.Errorf("window %d, %t", w, ok)
	}
	for name, b := range map[string][]byte{
		"two": append(bytes.Clone(frame), frame...), "cut": frame[:len(frame)-1], "none": nil,
		"skippable": {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0},
	} {
		if _, ok := zstdFrame(b); ok {
			t.Errorf("%s: taken for one frame", name)
		}
	}
	packed := append(binary.LittleEndian.AppendUint64(nil, 3000), frame...)
	if takes, err := checkPacked(packed, 1); err != nil || takes < 3000 {
		t.Errorf("takes %d bytes, %v", takes, err)
	}
	// A window of 512 MiB: the descriptor's exponent is 19, above 1 KiB.
	wide := append(binary.LittleEndian.AppendUint64(nil, 1), 0x28, 0xb5, 0x2f, 0xfd, 0, 19<<3, 9, 0, 0, 'x')
	var refused *problem.Error
	if _, err := checkPacked(wide, 1); !errors.As(err, &refused) || refused.Kind != problem.TooLarge {
		t.Errorf("wide window: %v", err)
	}
}

// A table whose layout ends within a field: the library takes the field for there,
// so that must be looked at as well.
func TestFlatbufferOddLayout(t *testing.T) {
	b := []byte{
		12, 0, 0, 0, // the root is at 12
		7, 0, 8, 0, 0, 0, 4, 0, // its layout: 7 bytes, field 0 absent, field 1 at 4
		8, 0, 0, 0, 9, 0, 0, 0,
	}
	f := flatbuffer{b: b}
	if at := f.slot(f.follow(0), 1); at != 16 || f.broken {
		t.Errorf("the field is at %d, %t", at, f.broken)
	}
}

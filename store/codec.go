package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxKeyBytes is the greatest length of a key in a routing table, in bytes, and
// MaxPartsBytes that of the parts of an entry.
const (
	MaxKeyBytes   = 1024
	MaxPartsBytes = 1 << 20
)

// errCorrupt: the bytes are not what EncodeChanges made.
var errCorrupt = fmt.Errorf("%w: corrupt table changes", ErrDamaged)

// Encoded changes are one byte of format, the length of the body as a uvarint,
// and the body as one zstd frame. The body holds the number of changes and then
// column after column, because columns compress better than rows: how many
// bytes each key shares with the key before it, how many follow, Old+1, New+1
// (all uvarints), and at last the bytes that follow. Where some entry has parts, and only
// there, the format is another one, and behind these stand for each such change where it is
// in the list, counted from the one before, and OldParts and NewParts behind their lengths.
// Programs that know nothing of parts cannot read it.
const formatColumns, formatParts = 1, 2

// A zstd block holds at most 128 KiB and takes at least 4 bytes.
const maxBlockBytes, minBlockBytes = 128 << 10, 4

// zstd's fastest level was also the better one on these columns.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // only for options out of range
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
})

// EncodeChanges returns changes in a compact form that [DecodeChanges] reads.
// The changes must be in ascending bytes of their keys, each key once and of at
// most [MaxKeyBytes], instances from [NoInstance] up, Old and New never equal.
func EncodeChanges(changes []Change) ([]byte, error) {
	if err := checkChanges(changes); err != nil {
		return nil, err
	}
	body := binary.AppendUvarint(make([]byte, 0, 12*len(changes)+binary.MaxVarintLen64), uint64(len(changes)))
	shared := make([]int, len(changes))
	for i := 1; i < len(changes); i++ {
		shared[i] = commonPrefix(changes[i-1].Key, changes[i].Key)
	}
	for _, n := range shared {
		body = binary.AppendUvarint(body, uint64(n))
	}
	for i, c := range changes {
		body = binary.AppendUvarint(body, uint64(len(c.Key)-shared[i]))
	}
	for _, c := range changes {
		body = binary.AppendUvarint(body, uint64(int64(c.Old)+1))
	}
	for _, c := range changes {
		body = binary.AppendUvarint(body, uint64(int64(c.New)+1))
	}
	for i, c := range changes {
		body = append(body, c.Key[shared[i]:]...)
	}
	columns := len(body)
	body = appendParts(body, changes)
	format := byte(formatColumns)
	if len(body) > columns {
		format = formatParts
	}
	out := binary.AppendUvarint([]byte{format}, uint64(len(body)))
	return encoder().EncodeAll(body, out), nil
}

// appendParts appends the parts of all entries that have some.
func appendParts(body []byte, changes []Change) []byte {
	last := 0
	for i, c := range changes {
		if !c.HasParts() {
			continue
		}
		body = binary.AppendUvarint(body, uint64(i-last))
		for _, parts := range [2]string{c.OldParts, c.NewParts} {
			body = append(binary.AppendUvarint(body, uint64(len(parts))), parts...)
		}
		last = i
	}
	return body
}

// HasParts reports whether the key goes to several instances before the change or after it.
func (c Change) HasParts() bool { return c.OldParts != "" || c.NewParts != "" }

// EncodesParts reports whether some entry of encoded changes has parts.
func EncodesParts(data []byte) bool { return len(data) > 0 && data[0] == formatParts }

// DecodeChanges is the reverse of [EncodeChanges]. It fails on bytes that
// EncodeChanges cannot have made. The keys share memory.
func DecodeChanges(data []byte) ([]Change, error) {
	if len(data) == 0 || data[0] != formatColumns && !EncodesParts(data) {
		return nil, fmt.Errorf("%w: unknown format", errCorrupt)
	}
	size, n := binary.Uvarint(data[1:])
	if n <= 0 {
		return nil, fmt.Errorf("%w: no length", errCorrupt)
	}
	frame := data[1+n:]
	if size > uint64(len(frame)/minBlockBytes)*maxBlockBytes {
		return nil, fmt.Errorf("%w: %d bytes cannot hold %d", errCorrupt, len(frame), size)
	}
	body, err := decoder().DecodeAll(frame, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	if uint64(len(body)) != size {
		return nil, fmt.Errorf("%w: %d bytes instead of %d", errCorrupt, len(body), size)
	}
	return decodeColumns(body, EncodesParts(data))
}

// decodeColumns reads the body of encoded changes.
func decodeColumns(body []byte, parts bool) ([]Change, error) {
	r := reader{rest: body}
	count := r.uvarint(uint64(len(body) / 4)) // a change takes four numbers
	if r.failed {
		return nil, fmt.Errorf("%w: more changes than bytes", errCorrupt)
	}
	lengths := make([]struct{ shared, rest int }, count)
	for i := range lengths {
		lengths[i].shared = int(r.uvarint(MaxKeyBytes))
	}
	for i := range lengths {
		lengths[i].rest = int(r.uvarint(MaxKeyBytes))
	}
	changes := make([]Change, count)
	for i := range changes {
		changes[i].Old = int32(int64(r.uvarint(math.MaxInt32+1)) - 1)
	}
	for i := range changes {
		changes[i].New = int32(int64(r.uvarint(math.MaxInt32+1)) - 1)
	}
	var previous []byte
	var keys arena
	for i, l := range lengths {
		suffix := r.bytes(l.rest)
		if r.failed || l.shared > len(previous) {
			return nil, fmt.Errorf("%w: change %d", errCorrupt, i)
		}
		changes[i].Key = keys.join(previous[:l.shared], suffix)
		previous = changes[i].Key
	}
	if parts {
		r.parts(changes)
	}
	if r.failed || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: it does not end where it should", errCorrupt)
	}
	if err := checkChanges(changes); err != nil {
		return nil, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return changes, nil
}

// parts reads what appendParts appended: something, and nothing twice.
func (r *reader) parts(changes []Change) {
	for i, first := 0, true; first || len(r.rest) > 0; first = false {
		step := int(r.uvarint(math.MaxInt32))
		if i += step; step == 0 && !first || i >= len(changes) {
			r.failed = true
			return
		}
		c := &changes[i]
		c.OldParts = string(r.bytes(int(r.uvarint(MaxPartsBytes))))
		c.NewParts = string(r.bytes(int(r.uvarint(MaxPartsBytes))))
		if r.failed = r.failed || !c.HasParts(); r.failed {
			return
		}
	}
}

// checkChanges reports the first change that breaks the order or is impossible.
func checkChanges(changes []Change) error {
	var previous []byte
	for i, c := range changes {
		if err := checkChange(previous, c, i == 0); err != nil {
			return fmt.Errorf("store: change %d: %w", i, err)
		}
		previous = c.Key
	}
	return nil
}

func checkChange(previous []byte, c Change, first bool) error {
	switch {
	case len(c.Key) == 0 || len(c.Key) > MaxKeyBytes:
		return fmt.Errorf("a key of %d bytes", len(c.Key))
	case !first && bytes.Compare(previous, c.Key) >= 0:
		return errors.New("keys must ascend, each once")
	case c.Old < NoInstance || c.New < NoInstance || c.Old == c.New && c.OldParts == c.NewParts:
		return fmt.Errorf("from instance %d to %d", c.Old, c.New)
	case c.Old == NoInstance && c.OldParts != "" || c.New == NoInstance && c.NewParts != "":
		return errors.New("no entry has no parts")
	case max(len(c.OldParts), len(c.NewParts)) > MaxPartsBytes:
		return fmt.Errorf("parts of %d and %d bytes", len(c.OldParts), len(c.NewParts))
	}
	return nil
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// reader takes numbers and bytes off the front of rest. After the first that is
// not there or too great, failed is set and all further ones are zero.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.failed || n <= 0 || v > most {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) bytes(n int) []byte {
	if r.failed || n > len(r.rest) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// arena puts many small keys into few large buffers.
type arena struct{ free []byte }

func (a *arena) join(x, y []byte) []byte {
	n := len(x) + len(y)
	if n > len(a.free) {
		a.free = make([]byte, max(n, 64<<10))
	}
	key := a.free[:n:n]
	a.free = a.free[n:]
	copy(key[copy(key, x):], y)
	return key
}

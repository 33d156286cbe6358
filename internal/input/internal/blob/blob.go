// Package blob is the form in which columns are stored: versioned, with a checksum, in blocks
// of rows that are compressed plane by plane. It knows how numbers, keys and lists of rows are
// laid out, and not which of them make a plan or an interval.
package blob

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"plannerd/planner"
)

// A blob is
//
//	magic (4 bytes), version (1), CRC-32C of all that follows (4, little endian),
//	numbers as uvarints or floats (8), and blocks.
//
// A block is the length of a zstd frame as a uvarint and the frame. Its content
// is a number of rows, then their values column by column. Columns of fixed
// width are laid out in planes: the lowest byte of every value, then the second
// lowest, and so on, which compresses better and faster than whole values.

// ErrCorrupt says that a stored blob is not what was written, or is of a version that
// this build does not know.
var ErrCorrupt = errors.New("corrupt blob")

const (
	version = 1
	// HeaderBytes is the length of the magic, the version and the checksum.
	HeaderBytes = 4 + 1 + 4

	// BlockRows is the greatest number of rows of a block.
	BlockRows     = 1 << 16
	blockKeyBytes = 4 << 20
	maxNames      = 1 << 8 // of resources; what decoders let through are fewer
	// maxRowWidth is the bytes of a row besides its key and its amounts of resources; blocks with these
	// have fewer rows.
	maxRowWidth = 41
	// maxBlockBytes bounds the content of a block: its keys, of which the last
	// may exceed blockKeyBytes, and maxRowWidth bytes a row besides.
	maxBlockBytes = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	// The CRC of the blob makes one of each frame needless.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlockBytes))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// Writer writes a blob.
type Writer struct {
	out   []byte
	raw   []byte // content of the present block
	frame []byte
}

// NewWriter begins a blob of the kind that magic says.
func NewWriter(magic string) *Writer {
	out := append([]byte(magic), version)
	return &Writer{out: append(out, 0, 0, 0, 0)}
}

// Number writes a number.
func (w *Writer) Number(n int) { w.out = binary.AppendUvarint(w.out, uint64(n)) }

// Float writes a float among the numbers.
func (w *Writer) Float(x float64) {
	w.out = binary.LittleEndian.AppendUint64(w.out, math.Float64bits(x))
}

// Bytes writes a text among the numbers.
func (w *Writer) Bytes(text []byte) {
	w.Number(len(text))
	w.out = append(w.out, text...)
}

// Finish returns the blob.
func (w *Writer) Finish() []byte {
	sum := crc32.Checksum(w.out[HeaderBytes:], castagnoli)
	binary.LittleEndian.PutUint32(w.out[HeaderBytes-4:], sum)
	return w.out
}

// Begin starts a block of n rows whose keys have keyBytes bytes in all.
func (w *Writer) Begin(n, keyBytes int) {
	w.raw = slices.Grow(w.raw[:0], binary.MaxVarintLen64+keyBytes+n*maxRowWidth)
	w.raw = binary.AppendUvarint(w.raw, uint64(n))
}

// End writes the block.
func (w *Writer) End() {
	w.frame = encoder().EncodeAll(w.raw, w.frame[:0])
	w.Number(len(w.frame))
	w.out = append(w.out, w.frame...)
}

// Keys writes n keys.
func (w *Writer) Keys(n int, key func(i int) []byte) {
	low := len(w.raw)
	w.raw = append(w.raw, make([]byte, 2*n)...)
	for i := range n {
		k := key(i)
		w.raw[low+i], w.raw[low+n+i] = byte(len(k)), byte(len(k)>>8)
		w.raw = append(w.raw, k...)
	}
}

// room returns the next n bytes of the block.
func (w *Writer) room(n int) []byte {
	first := len(w.raw)
	w.raw = append(w.raw, make([]byte, n)...)
	return w.raw[first:]
}

// scatter writes value i of n into the planes of its bytes.
func scatter(planes []byte, n, i int, v uint64) {
	for ; i < len(planes); i += n {
		planes[i] = byte(v)
		v >>= 8
	}
}

// gather is the inverse of scatter.
func gather(planes []byte, n, i int) (v uint64) {
	for p := len(planes) - n + i; p >= 0; p -= n {
		v = v<<8 | uint64(planes[p])
	}
	return v
}

// Reader reads a blob. After an error all that it returns is empty.
type Reader struct {
	rest []byte // of the blob
	raw  []byte // rest of the present block
	buf  []byte
	Err  error // the first one
}

// Is tells whether a blob is of the kind that magic says, whole or not.
func Is(blob []byte, magic string) bool {
	return len(blob) >= len(magic) && string(blob[:len(magic)]) == magic
}

// NewReader reads the head of a blob, which must be of the kind that magic says.
func NewReader(blob []byte, magic string) *Reader {
	r := &Reader{}
	switch {
	case len(blob) < HeaderBytes || !Is(blob, magic):
		r.Corrupt("not a blob of this kind")
	case blob[4] != version:
		r.Corrupt(fmt.Sprintf("version %d", blob[4]))
	case binary.LittleEndian.Uint32(blob[5:]) != crc32.Checksum(blob[HeaderBytes:], castagnoli):
		r.Corrupt("wrong checksum")
	default:
		r.rest = blob[HeaderBytes:]
	}
	return r
}

// Corrupt makes the blob one that is broken.
func (r *Reader) Corrupt(why string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: %s", ErrCorrupt, why)
	}
	r.rest, r.raw = nil, nil
}

// Number reads a uvarint of the blob, up to limit.
func (r *Reader) Number(limit uint64) int { return r.uvarint(&r.rest, limit) }

func (r *Reader) uvarint(from *[]byte, limit uint64) int {
	v, n := binary.Uvarint(*from)
	if n <= 0 || v > limit {
		r.Corrupt("bad number")
		return 0
	}
	*from = (*from)[n:]
	return int(v)
}

// Float reads a float among the numbers.
func (r *Reader) Float() float64 {
	bits := r.take(&r.rest, 8)
	if r.Err != nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(bits))
}

// Bytes reads a text among the numbers. It is shared with the blob.
func (r *Reader) Bytes() []byte { return r.take(&r.rest, r.Number(math.MaxInt32)) }

// Finish returns the first error, or one if anything is left.
func (r *Reader) Finish() error {
	if r.Err == nil && len(r.rest) > 0 {
		r.Corrupt("trailing bytes")
	}
	return r.Err
}

// Finished is what a reader has made of its blob, none of it after an error.
func Finished[T any](r *Reader, made T) (T, error) {
	if r.Finish() != nil {
		return *new(T), r.Err
	}
	return made, nil
}

// Begin reads the next block, of at most limit rows, and returns their number,
// which is 0 only after an error.
func (r *Reader) Begin(limit int) int {
	frame := r.take(&r.rest, r.Number(math.MaxInt32))
	if r.Err != nil {
		return 0
	}
	var err error
	if r.buf, err = decoder().DecodeAll(frame, r.buf[:0]); err != nil {
		r.Corrupt(err.Error())
		return 0
	}
	r.raw = r.buf
	n := r.uvarint(&r.raw, uint64(min(limit, BlockRows)))
	if n == 0 {
		r.Corrupt("empty block")
	}
	return n
}

// End sees to it that the block was read to its end.
func (r *Reader) End() {
	if len(r.raw) > 0 {
		r.Corrupt("trailing bytes in a block")
	}
}

// take cuts n bytes off.
func (r *Reader) take(from *[]byte, n int) []byte {
	if n > len(*from) {
		r.Corrupt("too short")
		return nil
	}
	head := (*from)[:n]
	*from = (*from)[n:]
	return head
}

// Texts reads n keys. They are shared with the block.
func (r *Reader) Texts(n int, take func(i int, key []byte)) {
	lengths := r.take(&r.raw, 2*n)
	for i := 0; i < n && r.Err == nil; i++ {
		size := int(lengths[i]) | int(lengths[n+i])<<8
		if size > planner.MaxKeyBytes {
			r.Corrupt("key too long")
			return
		}
		if key := r.take(&r.raw, size); r.Err == nil {
			take(i, key)
		}
	}
}

// Blocks cuts n rows with keys of the given lengths into blocks and calls block
// for each.
func Blocks(n int, keyLen func(i int) int, block func(from, to, keyBytes int)) {
	BlocksOf(BlockRows, n, keyLen, block)
}

// BlocksOf is blocks of at most the given number of rows.
func BlocksOf(rows, n int, keyLen func(i int) int, block func(from, to, keyBytes int)) {
	for from := 0; from < n; {
		to, size := from, 0
		for to < n && to-from < rows && size < blockKeyBytes {
			size += keyLen(to)
			to++
		}
		block(from, to, size)
		from = to
	}
}

// RowsBeside is how many rows a block may have that have so many amounts of resources.
func RowsBeside(floats int) int { return BlockRows * maxRowWidth / (maxRowWidth + 8*floats) }

// BlocksAtOnce is blocks of at most so many rows, for many of them: processors encode several at
// the same time, each with a writer of its own that it gives to block. It reports
// false when stop, which is asked before each block, told it to give up.
func (w *Writer) BlocksAtOnce(rows, n int, keyLen func(i int) int, stop func() bool,
	block func(w *Writer, from, to, keyBytes int)) bool {
	type span struct{ from, to, keyBytes int }
	var spans []span
	BlocksOf(rows, n, keyLen, func(from, to, keyBytes int) { spans = append(spans, span{from, to, keyBytes}) })
	done := make([]chan []byte, len(spans))
	for i := range done {
		done[i] = make(chan []byte, 1)
	}
	var next atomic.Int64
	var stopped atomic.Bool
	for range min(runtime.GOMAXPROCS(0), len(spans)) {
		go func() {
			var own Writer
			for i := next.Add(1) - 1; int(i) < len(spans); i = next.Add(1) - 1 {
				if !stopped.Load() && stop() {
					stopped.Store(true)
				}
				own.out = nil
				if x := spans[i]; !stopped.Load() {
					block(&own, x.from, x.to, x.keyBytes)
				}
				done[i] <- own.out
			}
		}()
	}
	for _, encoded := range done {
		w.out = append(w.out, <-encoded...)
	}
	return !stopped.Load()
}

// Column is a list of values, one for each row.
type Column struct {
	write func(w *Writer, from, to int)
	read  func(r *Reader, n int)
}

// ColumnOf is a column that a slice holds.
func ColumnOf[V any](xs *[]V, plane func(func(*V) *V) Plane[V]) Column {
	p := plane(func(x *V) *V { return x })
	return Column{func(w *Writer, from, to int) { p.write(w, (*xs)[from:to]) }, func(r *Reader, n int) {
		if *xs == nil {
			*xs = []V{}
		}
		first := len(*xs)
		*xs = slices.Grow(*xs, n)[:first+n]
		p.read(r, (*xs)[first:])
	}}
}

// WriteColumns writes some rows of keys as a block.
func WriteColumns(w *Writer, keys *planner.Keys, columns []Column, from, to, keyBytes int) {
	w.Begin(to-from, keyBytes)
	w.Keys(to-from, func(i int) []byte { return keys.At(from + i) })
	for _, c := range columns {
		c.write(w, from, to)
	}
	w.End()
}

// ReadColumns reads all rows of keys, which are so many.
func ReadColumns(r *Reader, keys *planner.Keys, columns []Column, rows int) {
	for _, c := range columns {
		c.read(r, 0) // none is nil
	}
	for keys.Len() < rows && r.Err == nil {
		n := r.Begin(rows - keys.Len())
		r.Texts(n, func(_ int, key []byte) { keys.Append(key) })
		for _, c := range columns {
			c.read(r, n)
		}
		r.End()
	}
}

// Flag is a bit of a number that tells which parts a blob has, 0 where it lacks the part.
func Flag(bit int, has bool) int {
	if has {
		return bit
	}
	return 0
}

// Plane is a column of rows.
type Plane[T any] struct {
	write func(w *Writer, rows []T)
	read  func(r *Reader, rows []T)
	size  func(row *T) int // bytes of a text; nil: the column has none
}

// intPlane is a column of integers of that many bytes, of which most is the greatest.
func intPlane[T any, V int32 | uint32 | int64 | planner.Reason](width int, most uint64, at func(*T) *V) Plane[T] {
	return Plane[T]{write: func(w *Writer, rows []T) {
		planes := w.room(len(rows) * width)
		for i := range rows {
			scatter(planes, len(rows), i, uint64(*at(&rows[i])))
		}
	}, read: func(r *Reader, rows []T) {
		planes, greatest := r.take(&r.raw, len(rows)*width), uint64(0)
		if r.Err != nil {
			return
		}
		for i := range rows {
			v := gather(planes, len(rows), i)
			*at(&rows[i]), greatest = V(v), max(greatest, v)
		}
		if greatest > most {
			r.Corrupt("unknown reason")
		}
	}}
}

// Texts is a column of keys and other texts of at most planner.MaxKeyBytes.
func Texts[T any](at func(*T) *[]byte) Plane[T] {
	return Plane[T]{func(w *Writer, rows []T) {
		w.Keys(len(rows), func(i int) []byte { return *at(&rows[i]) })
	}, func(r *Reader, rows []T) {
		r.Texts(len(rows), func(i int, key []byte) { *at(&rows[i]) = append([]byte{}, key...) })
	}, func(row *T) int { return len(*at(row)) }}
}

// IDs is a column of ids of instances.
func IDs[T any](at func(*T) *int32) Plane[T] { return intPlane(4, math.MaxUint64, at) }

// Positions is a column of positions on a ring.
func Positions[T any](at func(*T) *uint32) Plane[T] { return intPlane(4, math.MaxUint64, at) }

// Counts is a column of counts.
func Counts[T any](at func(*T) *int64) Plane[T] { return intPlane(8, math.MaxUint64, at) }

// Reasons is a column of reasons.
func Reasons[T any](at func(*T) *planner.Reason) Plane[T] {
	return intPlane(1, uint64(planner.ReasonPlacement), at)
}

// Floats is a column of floats.
func Floats[T any](at func(*T) *float64) Plane[T] {
	return Plane[T]{write: func(w *Writer, rows []T) {
		planes := w.room(8 * len(rows))
		for i := range rows {
			scatter(planes, len(rows), i, math.Float64bits(*at(&rows[i])))
		}
	}, read: func(r *Reader, rows []T) {
		planes := r.take(&r.raw, 8*len(rows))
		if r.Err != nil {
			return
		}
		for i := range rows {
			*at(&rows[i]) = math.Float64frombits(gather(planes, len(rows), i))
		}
	}}
}

// WriteBlock writes rows as a block, whose texts have so many bytes in all.
func WriteBlock[T any](w *Writer, rows []T, planes []Plane[T], textBytes int) {
	w.Begin(len(rows), textBytes)
	WritePlanes(w, rows, planes...)
	w.End()
}

// WritePlanes writes some columns of a block.
func WritePlanes[T any](w *Writer, rows []T, planes ...Plane[T]) {
	for _, p := range planes {
		p.write(w, rows)
	}
}

// ReadPlanes reads some columns of a block.
func ReadPlanes[T any](r *Reader, rows []T, planes ...Plane[T]) {
	for _, p := range planes {
		p.read(r, rows)
	}
}

// WriteList writes rows, and how many they are.
func WriteList[T any](w *Writer, rows []T, planes []Plane[T]) {
	w.Number(len(rows))
	size := func(i int) (bytes int) {
		for _, p := range planes {
			if p.size != nil {
				bytes += p.size(&rows[i])
			}
		}
		return bytes
	}
	Blocks(len(rows), size, func(from, to, textBytes int) { WriteBlock(w, rows[from:to], planes, textBytes) })
}

// WriteSome is [WriteList] of rows that a flag tells of where there are any.
func WriteSome[T any](w *Writer, rows []T, planes []Plane[T]) {
	if len(rows) > 0 {
		WriteList(w, rows, planes)
	}
}

// ReadList is the inverse of WriteList.
func ReadList[T any](r *Reader, planes []Plane[T]) (rows []T) {
	for n := r.Number(math.MaxInt32); len(rows) < n && r.Err == nil; {
		first := len(rows)
		rows = append(rows, make([]T, r.Begin(n-first))...)
		ReadPlanes(r, rows[first:], planes...)
		r.End()
	}
	return rows
}

// Residuals are the columns of the rests of instances.
var Residuals = []Plane[planner.Residual]{
	IDs(func(r *planner.Residual) *int32 { return &r.Instance }),
	Floats(func(r *planner.Residual) *float64 { return &r.Cost }),
	Floats(func(r *planner.Residual) *float64 { return &r.State }),
	Counts(func(r *planner.Residual) *int64 { return &r.Keys }),
}

// Instances is the one column of a list of ids.
var Instances = []Plane[int32]{IDs(func(id *int32) *int32 { return id })}

// Values is the column of a list of amounts.
var Values = Floats(func(x *float64) *float64 { return x })

// WriteNames writes the names of resources whose amounts follow.
func (w *Writer) WriteNames(costs []planner.Amounts) {
	w.Number(len(costs))
	for _, x := range costs {
		w.Bytes([]byte(x.Name))
	}
}

// ReadNames is the inverse of WriteNames.
func (r *Reader) ReadNames() []planner.Amounts {
	costs := make([]planner.Amounts, r.Number(maxNames))
	for i := range costs {
		costs[i].Name = string(r.Bytes())
	}
	return costs
}

// WriteResidual writes the amounts of the rests of instances.
func (w *Writer) WriteResidual(costs []planner.Amounts) {
	for _, x := range costs {
		WriteList(w, x.Residual, []Plane[float64]{Values})
	}
}

// ReadResidual is the inverse of WriteResidual, for so many rests. All are 0 where none was written.
func (r *Reader) ReadResidual(costs []planner.Amounts, rests int) {
	for i := range costs {
		list := ReadList(r, []Plane[float64]{Values})
		if costs[i].Residual = list; list != nil && len(list) != rests {
			r.Corrupt("amounts of other rests")
		}
	}
}

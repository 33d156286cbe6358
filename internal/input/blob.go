package input

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
	blobVersion = 1
	blobHeader  = 4 + 1 + 4

	blockRows     = 1 << 16
	blockKeyBytes = 4 << 20
	maxRowWidth   = 41 // bytes of a row besides its key
	// maxBlockBytes bounds the content of a block: its keys, of which the last
	// may exceed blockKeyBytes, and maxRowWidth bytes a row besides.
	maxBlockBytes = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var blobEncoder = sync.OnceValue(func() *zstd.Encoder {
	// The CRC of the blob makes one of each frame needless.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var blobDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlockBytes))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// blobWriter writes a blob.
type blobWriter struct {
	out   []byte
	raw   []byte // content of the present block
	frame []byte
}

func newBlobWriter(magic string) *blobWriter {
	out := append([]byte(magic), blobVersion)
	return &blobWriter{out: append(out, 0, 0, 0, 0)}
}

func (w *blobWriter) number(n int) { w.out = binary.AppendUvarint(w.out, uint64(n)) }

// float writes a float among the numbers.
func (w *blobWriter) float(x float64) {
	w.out = binary.LittleEndian.AppendUint64(w.out, math.Float64bits(x))
}

// bytes writes a text among the numbers.
func (w *blobWriter) bytes(text []byte) {
	w.number(len(text))
	w.out = append(w.out, text...)
}

// finish returns the blob.
func (w *blobWriter) finish() []byte {
	sum := crc32.Checksum(w.out[blobHeader:], castagnoli)
	binary.LittleEndian.PutUint32(w.out[blobHeader-4:], sum)
	return w.out
}

// begin starts a block of n rows whose keys have keyBytes bytes in all.
func (w *blobWriter) begin(n, keyBytes int) {
	w.raw = slices.Grow(w.raw[:0], binary.MaxVarintLen64+keyBytes+n*maxRowWidth)
	w.raw = binary.AppendUvarint(w.raw, uint64(n))
}

// end writes the block.
func (w *blobWriter) end() {
	w.frame = blobEncoder().EncodeAll(w.raw, w.frame[:0])
	w.number(len(w.frame))
	w.out = append(w.out, w.frame...)
}

// keys writes n keys.
func (w *blobWriter) keys(n int, key func(i int) []byte) {
	low := len(w.raw)
	w.raw = append(w.raw, make([]byte, 2*n)...)
	for i := range n {
		k := key(i)
		w.raw[low+i], w.raw[low+n+i] = byte(len(k)), byte(len(k)>>8)
		w.raw = append(w.raw, k...)
	}
}

// column writes n values of the given width in bytes.
func (w *blobWriter) column(n, width int, bits func(i int) uint64) {
	planes := w.room(n * width)
	for i := range n {
		scatter(planes, n, i, bits(i))
	}
}

// room returns the next n bytes of the block.
func (w *blobWriter) room(n int) []byte {
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

// blobReader reads a blob. After an error all that it returns is empty.
type blobReader struct {
	rest []byte // of the blob
	raw  []byte // rest of the present block
	buf  []byte
	err  error
}

// isBlob tells whether a blob is of the kind that magic says, whole or not.
func isBlob(blob []byte, magic string) bool {
	return len(blob) >= len(magic) && string(blob[:len(magic)]) == magic
}

func newBlobReader(blob []byte, magic string) *blobReader {
	r := &blobReader{}
	switch {
	case len(blob) < blobHeader || !isBlob(blob, magic):
		r.corrupt("not a blob of this kind")
	case blob[4] != blobVersion:
		r.corrupt(fmt.Sprintf("version %d", blob[4]))
	case binary.LittleEndian.Uint32(blob[5:]) != crc32.Checksum(blob[blobHeader:], castagnoli):
		r.corrupt("wrong checksum")
	default:
		r.rest = blob[blobHeader:]
	}
	return r
}

func (r *blobReader) corrupt(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrCorrupt, why)
	}
	r.rest, r.raw = nil, nil
}

// number reads a uvarint of the blob, up to limit.
func (r *blobReader) number(limit uint64) int { return r.uvarint(&r.rest, limit) }

func (r *blobReader) uvarint(from *[]byte, limit uint64) int {
	v, n := binary.Uvarint(*from)
	if n <= 0 || v > limit {
		r.corrupt("bad number")
		return 0
	}
	*from = (*from)[n:]
	return int(v)
}

// float reads a float among the numbers.
func (r *blobReader) float() float64 {
	bits := r.take(&r.rest, 8)
	if r.err != nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(bits))
}

// bytes reads a text among the numbers. It is shared with the blob.
func (r *blobReader) bytes() []byte { return r.take(&r.rest, r.number(math.MaxInt32)) }

// finish returns the first error, or one if anything is left.
func (r *blobReader) finish() error {
	if r.err == nil && len(r.rest) > 0 {
		r.corrupt("trailing bytes")
	}
	return r.err
}

// begin reads the next block, of at most limit rows, and returns their number,
// which is 0 only after an error.
func (r *blobReader) begin(limit int) int {
	frame := r.take(&r.rest, r.number(math.MaxInt32))
	if r.err != nil {
		return 0
	}
	var err error
	if r.buf, err = blobDecoder().DecodeAll(frame, r.buf[:0]); err != nil {
		r.corrupt(err.Error())
		return 0
	}
	r.raw = r.buf
	n := r.uvarint(&r.raw, uint64(min(limit, blockRows)))
	if n == 0 {
		r.corrupt("empty block")
	}
	return n
}

// end sees to it that the block was read to its end.
func (r *blobReader) end() {
	if len(r.raw) > 0 {
		r.corrupt("trailing bytes in a block")
	}
}

// take cuts n bytes off.
func (r *blobReader) take(from *[]byte, n int) []byte {
	if n > len(*from) {
		r.corrupt("too short")
		return nil
	}
	head := (*from)[:n]
	*from = (*from)[n:]
	return head
}

// keys reads n keys and appends them.
func (r *blobReader) keys(to *planner.Keys, n int) {
	r.texts(n, func(_ int, key []byte) { to.Append(key) })
}

// texts reads n keys. They are shared with the block.
func (r *blobReader) texts(n int, take func(i int, key []byte)) {
	lengths := r.take(&r.raw, 2*n)
	for i := 0; i < n && r.err == nil; i++ {
		size := int(lengths[i]) | int(lengths[n+i])<<8
		if size > planner.MaxKeyBytes {
			r.corrupt("key too long")
			return
		}
		if key := r.take(&r.raw, size); r.err == nil {
			take(i, key)
		}
	}
}

// column reads n values of the given width in bytes.
func (r *blobReader) column(n, width int, value func(bits uint64)) {
	planes := r.take(&r.raw, n*width)
	if r.err != nil {
		return
	}
	for i := range n {
		value(gather(planes, n, i))
	}
}

// floats reads n floats and appends them.
func (r *blobReader) floats(to []float64, n int) []float64 {
	to = slices.Grow(to, n)
	r.column(n, 8, func(bits uint64) { to = append(to, math.Float64frombits(bits)) })
	return to
}

// ints reads n 32-bit integers and appends them.
func (r *blobReader) ints(to []int32, n int) []int32 {
	to = slices.Grow(to, n)
	r.column(n, 4, func(bits uint64) { to = append(to, int32(uint32(bits))) })
	return to
}

// blocks cuts n rows with keys of the given lengths into blocks and calls block
// for each.
func blocks(n int, keyLen func(i int) int, block func(from, to, keyBytes int)) {
	blocksOf(blockRows, n, keyLen, block)
}

// blocksOf is blocks of at most the given number of rows.
func blocksOf(rows, n int, keyLen func(i int) int, block func(from, to, keyBytes int)) {
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

// blocksAtOnce is blocks of a writer, for many rows: processors encode several at
// the same time, each with a writer of its own that it gives to block. It reports
// false when stop, which is asked before each block, told it to give up.
func (w *blobWriter) blocksAtOnce(n int, keyLen func(i int) int, stop func() bool,
	block func(w *blobWriter, from, to, keyBytes int)) bool {
	type span struct{ from, to, keyBytes int }
	var spans []span
	blocks(n, keyLen, func(from, to, keyBytes int) { spans = append(spans, span{from, to, keyBytes}) })
	done := make([]chan []byte, len(spans))
	for i := range done {
		done[i] = make(chan []byte, 1)
	}
	var next atomic.Int64
	var stopped atomic.Bool
	for range min(runtime.GOMAXPROCS(0), len(spans)) {
		go func() {
			var own blobWriter
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

// noKey is the length of the keys of rows that have none.
func noKey(int) int { return 0 }

// plane is a column of rows.
type plane[T any] struct {
	width int // in bytes
	most  uint64
	write func(planes []byte, rows []T)
	read  func(planes []byte, rows []T) (greatest uint64)
}

// intPlane is a column of integers of that many bytes, of which most is the greatest.
func intPlane[T any, V int32 | uint32 | int64 | planner.Reason](width int, most uint64, at func(*T) *V) plane[T] {
	return plane[T]{width, most, func(planes []byte, rows []T) {
		for i := range rows {
			scatter(planes, len(rows), i, uint64(*at(&rows[i])))
		}
	}, func(planes []byte, rows []T) (greatest uint64) {
		for i := range rows {
			v := gather(planes, len(rows), i)
			*at(&rows[i]), greatest = V(v), max(greatest, v)
		}
		return greatest
	}}
}

func idPlane[T any](at func(*T) *int32) plane[T]        { return intPlane(4, math.MaxUint64, at) }
func positionPlane[T any](at func(*T) *uint32) plane[T] { return intPlane(4, math.MaxUint64, at) }
func countPlane[T any](at func(*T) *int64) plane[T]     { return intPlane(8, math.MaxUint64, at) }
func reasonPlane[T any](at func(*T) *planner.Reason) plane[T] {
	return intPlane(1, uint64(planner.ReasonTakeover), at)
}

func floatPlane[T any](at func(*T) *float64) plane[T] {
	return plane[T]{8, 0, func(planes []byte, rows []T) {
		for i := range rows {
			scatter(planes, len(rows), i, math.Float64bits(*at(&rows[i])))
		}
	}, func(planes []byte, rows []T) uint64 {
		for i := range rows {
			*at(&rows[i]) = math.Float64frombits(gather(planes, len(rows), i))
		}
		return 0
	}}
}

// writePlanes writes rows column by column.
func writePlanes[T any](w *blobWriter, rows []T, planes []plane[T]) {
	for _, p := range planes {
		p.write(w.room(len(rows)*p.width), rows)
	}
}

// readPlanes is the inverse of writePlanes.
func readPlanes[T any](r *blobReader, rows []T, planes ...plane[T]) {
	for _, p := range planes {
		if bytes := r.take(&r.raw, len(rows)*p.width); r.err == nil && p.read(bytes, rows) > p.most {
			r.corrupt("unknown reason")
		}
	}
}

// writeList writes rows that have no keys, and how many they are.
func writeList[T any](w *blobWriter, rows []T, planes []plane[T]) {
	w.number(len(rows))
	blocks(len(rows), noKey, func(from, to, _ int) {
		w.begin(to-from, 0)
		writePlanes(w, rows[from:to], planes)
		w.end()
	})
}

// readList is the inverse of writeList.
func readList[T any](r *blobReader, planes []plane[T]) (rows []T) {
	for n := r.number(math.MaxInt32); len(rows) < n && r.err == nil; {
		readPlanes(r, beginRows(r, &rows, n), planes...)
		r.end()
	}
	return rows
}

// beginRows reads the next block, of n rows in all, and returns the room for them
// that it has made behind those there are.
func beginRows[T any](r *blobReader, rows *[]T, n int) []T {
	first := len(*rows)
	*rows = append(*rows, make([]T, r.begin(n-first))...)
	return (*rows)[first:]
}

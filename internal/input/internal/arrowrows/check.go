package arrowrows

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"plannerd/internal/input/compression"
	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
)

// The metadata of a message is a flatbuffer, in which every length and offset is
// the sender's word. It is looked through before the library reads it, so that
// nothing is allocated, copied or descended into that was not sent.

// Kinds of messages.
const (
	schemaMessage     = 1
	dictionaryMessage = 2
	recordMessage     = 3
)

// Kinds of types, by their number in schemas.
const (
	nullType       = 1
	intType        = 2
	floatType      = 3
	binaryType     = 4
	utf8Type       = 5
	boolType       = 6
	timestampType  = 10
	largeBytesType = 19
	largeUTF8Type  = 20
	bytesViewType  = 23
	utf8ViewType   = 24
)

// typeNames names the kinds of types.
var typeNames = [...]string{
	"none", "null", "int", "floating point", "binary", "utf8", "bool", "decimal", "date", "time", "timestamp", "interval",
	"list", "struct", "union", "fixed-size binary", "fixed-size list", "map", "duration", "large binary", "large utf8",
	"large list", "run-end encoded", "binary view", "utf8 view", "list view", "large list view",
}

// flatbuffer reads a flatbuffer. Once something does not lie within it, it is
// broken, and what else it returns means nothing.
type flatbuffer struct {
	b      []byte
	text   int // bytes of names and other texts seen
	broken bool
}

// at returns n bytes, zeros when they do not lie within the buffer.
func (f *flatbuffer) at(i, n int) []byte {
	if i < 0 || i > len(f.b)-n {
		f.broken = true
		return make([]byte, 8)
	}
	return f.b[i : i+n]
}

func (f *flatbuffer) u16(i int) int   { return int(binary.LittleEndian.Uint16(f.at(i, 2))) }
func (f *flatbuffer) u32(i int) int   { return int(binary.LittleEndian.Uint32(f.at(i, 4))) }
func (f *flatbuffer) i64(i int) int64 { return int64(binary.LittleEndian.Uint64(f.at(i, 8))) }

// follow returns the place that the offset at i leads to.
func (f *flatbuffer) follow(i int) int { return i + f.u32(i) }

// slot returns the place of a table's field, 0 when the table has none.
func (f *flatbuffer) slot(table, n int) int {
	layout := table - int(int32(f.u32(table)))
	if 4+2*n >= f.u16(layout) { // also with an odd length the library takes it for there
		return 0
	}
	if offset := f.u16(layout + 4 + 2*n); offset > 0 {
		return table + offset
	}
	return 0
}

// child returns the table that a table's field leads to, 0 when there is none.
func (f *flatbuffer) child(table, n int) int {
	if i := f.slot(table, n); i > 0 {
		return f.follow(i)
	}
	return 0
}

// vector returns where the elements of a vector start, and how many there are.
func (f *flatbuffer) vector(table, n, width int) (first, count int) {
	i := f.child(table, n)
	if i == 0 {
		return 0, 0
	}
	count = f.u32(i)
	f.at(i+4, min(count*width, math.MaxInt32))
	if f.broken {
		return 0, 0
	}
	return i + 4, count
}

// str returns a text. Several tables may share one: together they must not be
// longer than what was sent.
func (f *flatbuffer) str(table, n int) string {
	first, count := f.vector(table, n, 1)
	if f.text += count; f.text > len(f.b) {
		f.broken = true
	}
	if f.broken {
		return ""
	}
	return string(f.b[first : first+count])
}

// notes checks the pairs of texts that are a table's custom metadata.
func (f *flatbuffer) notes(table, n int) {
	first, count := f.vector(table, n, 4)
	for i := 0; i < count && !f.broken; i++ {
		pair := f.follow(first + 4*i)
		f.str(pair, 0)
		f.str(pair, 1)
	}
}

// header is what the metadata of a message says.
type header struct {
	kind   int
	body   int64 // length of what follows
	record int   // the table of a record batch, also that of a dictionary
	fields []schemaField
}

// schemaField is a column of a schema.
type schemaField struct {
	name       string
	kind       int // of the values, also of a dictionary's
	nested     bool
	dictionary bool
}

// buffers is how many buffers the column has in a batch, those aside that views
// lie in.
func (c schemaField) buffers() int {
	switch c.kind {
	case nullType:
		return 0
	case binaryType, utf8Type, largeBytesType, largeUTF8Type:
		return 3
	}
	return 2
}

func (c schemaField) isView() bool { return c.kind == bytesViewType || c.kind == utf8ViewType }

// columnsOf returns the columns of a batch: of a record batch those of the schema,
// with indices in place of a dictionary's values; of a dictionary its values. Only
// the key may have one.
func (h header) columnsOf(schema []schemaField) (columns []schemaField) {
	for _, c := range schema {
		if c.dictionary && h.kind == recordMessage {
			c.kind = intType
		}
		if c.dictionary || h.kind == recordMessage {
			columns = append(columns, c)
		}
	}
	return columns
}

// header reads a message's metadata.
func (f *flatbuffer) header() (h header) {
	message := f.follow(0)
	if i := f.slot(message, 1); i > 0 {
		h.kind = int(f.at(i, 1)[0])
	}
	table := f.child(message, 2)
	if i := f.slot(message, 3); i > 0 {
		h.body = f.i64(i)
	}
	f.notes(message, 4)
	if table == 0 || h.body < 0 {
		f.broken = true
	}
	switch {
	case f.broken:
	case h.kind == schemaMessage:
		h.fields = f.schema(table)
	case h.kind == dictionaryMessage:
		h.record = f.child(table, 1)
		f.broken = f.broken || h.record == 0
	case h.kind == recordMessage:
		h.record = table
	default:
		f.broken = true
	}
	return h
}

// schema reads the columns of a schema, at most one more than there may be.
func (f *flatbuffer) schema(table int) (fields []schemaField) {
	f.notes(table, 2)
	first, count := f.vector(table, 1, 4)
	for i := 0; i < min(count, columns.MaxMembers+1) && !f.broken; i++ {
		column := f.follow(first + 4*i)
		c := schemaField{name: f.str(column, 0)}
		if i := f.slot(column, 2); i > 0 {
			c.kind = int(f.at(i, 1)[0])
		}
		_, children := f.vector(column, 5, 4)
		c.nested = children > 0
		c.dictionary = f.slot(column, 4) > 0
		f.notes(column, 6)
		fields = append(fields, c)
	}
	return fields
}

// parts checks that a batch has all that its columns consist of, which the library
// takes for granted. It returns where its buffers are listed, and their number.
func (f *flatbuffer) parts(table int, columns []schemaField) (first, count int) {
	_, nodes := f.vector(table, 1, 16)
	first, count = f.vector(table, 2, 16)
	views, viewColumns := f.vector(table, 4, 8)
	needed := 0
	for _, c := range columns {
		needed += c.buffers()
		if !c.isView() {
			continue
		}
		if viewColumns == 0 {
			f.broken = true
			break
		}
		n := f.i64(views)
		if n < 0 || n > int64(count) {
			f.broken = true
		}
		needed += int(n)
		views, viewColumns = views+8, viewColumns-1
	}
	f.broken = f.broken || nodes < len(columns) || count < needed
	return first, count
}

// record checks that the buffers of a record batch lie within its body, and
// that those which are compressed do not ask for more memory than the codec may. It
// returns how many bytes decompressing them takes beside what comes out.
func (f *flatbuffer) record(table int, columns []schemaField, body []byte) (decoding int, err error) {
	buffers, count := f.parts(table, columns)
	codec := -1
	if compression := f.child(table, 3); compression > 0 {
		codec = 0
		if i := f.slot(compression, 0); i > 0 {
			codec = int(f.at(i, 1)[0])
		}
	}
	for i := 0; i < count && !f.broken; i++ {
		from, n := f.i64(buffers+16*i), f.i64(buffers+16*i+8)
		if from < 0 || n < 0 || from > int64(len(body)) || n > int64(len(body))-from {
			f.broken = true
			break
		}
		if codec < 0 || n == 0 {
			continue
		}
		takes, err := checkPacked(body[from:from+n], codec)
		if err != nil {
			return 0, err
		}
		decoding = max(decoding, takes)
	}
	if f.broken {
		return 0, problem.One(problem.Malformed, "", "not an Arrow record batch")
	}
	return decoding, nil
}

// lz4Decoding is what decompressing a frame of LZ4 takes, in bytes: the longest block, packed
// and not, and what the blocks after it refer to.
const lz4Decoding = 9 << 20

// checkPacked checks a compressed buffer: its length when decoded, and the data. It returns
// how many bytes decompressing takes.
func checkPacked(b []byte, codec int) (takes int, err error) {
	const zstdCodec = 1
	broken := problem.One(problem.Malformed, "", "not a compressed Arrow buffer")
	if len(b) < 8 || codec > zstdCodec {
		return 0, broken
	}
	size := int64(binary.LittleEndian.Uint64(b))
	switch {
	case size < -1:
		return 0, broken
	case size == -1:
		return 0, nil
	case codec != zstdCodec:
		return lz4Decoding, nil
	}
	window, ok := zstdFrame(b[8:])
	if !ok {
		return 0, broken
	}
	if window > uint64(max(size, compression.MaxZstdWindow)) {
		return 0, compression.WindowTooLarge()
	}
	return zstdDecoding(int(window)), nil
}

// zstdDecoding is what decompressing a frame takes, in bytes: the window, as much again
// before it is moved, and some blocks.
func zstdDecoding(window int) int { return 2*window + 1<<20 }

// zstdFrame returns the window of data that must be one zstd frame.
func zstdFrame(b []byte) (window uint64, ok bool) {
	const rle, reserved = 1, 3
	var h zstd.Header
	if h.Decode(b) != nil || h.Skippable {
		return 0, false
	}
	window = h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	for i := h.HeaderSize; i+3 <= len(b); {
		block := int(b[i]) | int(b[i+1])<<8 | int(b[i+2])<<16
		last, kind, size := block&1 != 0, block>>1&3, block>>3
		switch kind {
		case rle:
			size = 1
		case reserved:
			return 0, false
		}
		i += 3 + size
		if !last {
			continue
		}
		if h.HasCheckSum {
			i += 4
		}
		return window, i == len(b)
	}
	return 0, false
}

// flat tells whether columns of a kind have one value a row, of a type that some
// field may have.
func (c schemaField) flat(f columns.Field) bool {
	const texts = columns.Key | columns.Instance | columns.HashInstance
	return !c.nested && (!c.dictionary || f&texts != 0) && slices.Contains([]int{
		nullType, intType, floatType, binaryType, utf8Type, largeBytesType, largeUTF8Type, bytesViewType,
		utf8ViewType,
	}, c.kind)
}

// passed tells whether columns of a kind can be passed over: they have one value a row.
func (c schemaField) passed() bool {
	return c.flat(columns.Unknown) || !c.nested && !c.dictionary && c.kind >= boolType && c.kind <= timestampType
}

package arrowrows

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"plannerd/planner"
)

// keyColumn is the keys of a batch in one of the layouts of Arrow, which load
// has checked: every offset lies within the values.
type keyColumn struct {
	rows int
	text bool // UTF-8, as yet unchecked

	short  []int32 // offsets into values, or
	long   []int64 // these, or
	views  []byte  // 16 bytes a key, of it alone or of where it lies in
	data   [][]byte
	values []byte

	index      []int64    // of a dictionary: the entry of each row
	dictionary *keyColumn // nil: none
	absent     []byte     // entries of a dictionary that are not null; nil: all
	nulls      []byte     // a bit for each row that has a key; nil: all have
}

// load takes the keys of the next batch; false when they are broken.
func (k *keyColumn) load(a arrow.Array, n int, nulls []byte) bool {
	if d, ok := a.(*array.Dictionary); ok {
		return k.loadDictionary(d, n, nulls)
	}
	id := a.DataType().ID()
	*k = keyColumn{rows: n, text: isText(a.DataType()), nulls: nulls, data: k.data[:0]}
	buffers := a.Data().Buffers()
	switch id {
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		k.views = buffers[1].Bytes()
		for _, b := range buffers[2:] {
			k.data = append(k.data, b.Bytes())
		}
		return k.checkViews()
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		k.long = arrow.Int64Traits.CastFromBytes(buffers[1].Bytes())
		k.values = buffers[2].Bytes()
		return checkOffsets(&k.long, k.values, n)
	}
	k.short = arrow.Int32Traits.CastFromBytes(buffers[1].Bytes())
	k.values = buffers[2].Bytes()
	return checkOffsets(&k.short, k.values, n)
}

// checkOffsets cuts offsets to those of n values, which must lie within them.
func checkOffsets[O int32 | int64](offsets *[]O, values []byte, n int) bool {
	if n == 0 {
		*offsets = []O{0}
		return true
	}
	if len(*offsets) <= n {
		return false
	}
	all := (*offsets)[:n+1]
	*offsets = all
	before := O(0)
	for _, o := range all {
		if o < before {
			return false
		}
		before = o
	}
	return int64(before) <= int64(len(values))
}

const (
	viewBytes   = 16
	inlineBytes = 12 // of a key that lies in its view
)

func (k *keyColumn) checkViews() bool {
	if len(k.views)/viewBytes < k.rows {
		return false
	}
	for i := range k.rows {
		if !has(k.nulls, int64(i)) {
			continue // it may be anything
		}
		v := k.views[i*viewBytes:][:viewBytes]
		n := int32(binary.LittleEndian.Uint32(v))
		if n < 0 {
			return false
		}
		if n <= inlineBytes {
			continue
		}
		in, from := int32(binary.LittleEndian.Uint32(v[8:])), int32(binary.LittleEndian.Uint32(v[12:]))
		if in < 0 || int(in) >= len(k.data) || from < 0 || int(from)+int(n) > len(k.data[in]) {
			return false
		}
	}
	return true
}

func (k *keyColumn) loadDictionary(d *array.Dictionary, n int, nulls []byte) bool {
	entries := d.Dictionary()
	size := entries.Len()
	inner := k.dictionary
	if inner == nil {
		inner = new(keyColumn)
	}
	*k = keyColumn{rows: n, nulls: nulls, dictionary: inner, index: numbersOf(k.index, d.Indices(), n)}
	if entries.NullN() != 0 {
		if k.absent = entries.NullBitmapBytes(); len(k.absent) < (size+7)/8 {
			return false
		}
	}
	if !inner.load(entries, size, k.absent) {
		return false
	}
	for i, entry := range k.index {
		if !has(nulls, int64(i)) {
			k.index[i] = 0 // whatever it was: nobody asks
		} else if entry < 0 || entry >= int64(size) {
			return false
		}
	}
	return true
}

// has tells whether a bitmap of what is not null has row i.
func has(nulls []byte, i int64) bool { return nulls == nil || nulls[i>>3]>>(i&7)&1 != 0 }

// null tells whether the key of row i, which is not null, is a null entry of its
// dictionary.
func (k *keyColumn) null(i int) bool { return k.absent != nil && !has(k.absent, k.index[i]) }

// raw returns key i.
func (k *keyColumn) raw(i int) []byte {
	switch {
	case k.dictionary != nil:
		return k.dictionary.raw(int(k.index[i]))
	case k.short != nil:
		return k.values[k.short[i]:k.short[i+1]]
	case k.long != nil:
		return k.values[k.long[i]:k.long[i+1]]
	}
	v := k.views[i*viewBytes:][:viewBytes]
	n := binary.LittleEndian.Uint32(v)
	if n <= inlineBytes {
		return v[4 : 4+n]
	}
	from := binary.LittleEndian.Uint32(v[12:])
	return k.data[binary.LittleEndian.Uint32(v[8:])][from : from+n]
}

// at returns key i; false when it is not the text that it should be.
func (k *keyColumn) at(i int) ([]byte, bool) {
	key := k.raw(i)
	return key, !k.isText() || utf8.Valid(key)
}

func (k *keyColumn) isText() bool { return k.text || k.dictionary != nil && k.dictionary.text }

// whole tells whether all keys are as they should be.
func (k *keyColumn) whole() bool {
	switch {
	case k.absent != nil:
		return false
	case k.short != nil:
		return fitting(k.short) && (!k.text || validText(k.values, k.short))
	case k.long != nil:
		return fitting(k.long) && (!k.text || validText(k.values, k.long))
	}
	for i := range k.rows {
		if key, ok := k.at(i); !ok || len(key)-1 >= planner.MaxKeyBytes || len(key) == 0 {
			return false
		}
	}
	return true
}

// fitting tells whether all keys are 1 to planner.MaxKeyBytes long.
func fitting[O int32 | int64](offsets []O) bool {
	for i, o := range offsets[1:] {
		if n := o - offsets[i]; n < 1 || n > planner.MaxKeyBytes {
			return false
		}
	}
	return true
}

// textBytes is how long all keys are together, which are whole.
func (k *keyColumn) textBytes(n int) (size int) {
	if k.short != nil || k.long != nil {
		return len(k.values)
	}
	for i := range n {
		size += len(k.raw(i))
	}
	return size
}

// appendTo appends all keys, which are whole.
func (k *keyColumn) appendTo(to *planner.Keys, n int) {
	switch {
	case k.short != nil:
		planner.AppendKeys(to, k.values, k.short)
	case k.long != nil:
		planner.AppendKeys(to, k.values, k.long)
	default:
		for i := range n {
			to.AppendUnhashed(k.raw(i))
		}
	}
}

package input

import (
	"io"
	"iter"

	"plannerd/planner"
)

// Resolution says which keys an engine took for the moves of classes, in
// columns.
type Resolution struct {
	Keys     *planner.Keys // distinct, 1 to planner.MaxKeyBytes bytes each
	From, To []int32       // ids of instances, ≥ 0
	// HashInstance is where the engine's own hash puts each key, or
	// planner.NoInstance. Nil: named on no row.
	HashInstance []int32
}

// Len is the number of keys.
func (r *Resolution) Len() int { return len(r.From) }

// At returns row i. Its key is shared: it must not be changed.
func (r *Resolution) At(i int) KeyMove { return KeyMove{r.Keys.At(i), r.From[i], r.To[i]} }

// All yields all rows in order.
func (r *Resolution) All() iter.Seq[KeyMove] {
	return func(yield func(KeyMove) bool) {
		for i := range r.Len() {
			if !yield(r.At(i)) {
				return
			}
		}
	}
}

// Bytes is how much memory the resolution holds.
func (r *Resolution) Bytes() int64 {
	return int64(r.Keys.Bytes()) + int64(sizeOf[int32](cap(r.From)+cap(r.To)+cap(r.HashInstance)))
}

// Pointer returns the JSON pointer to a field of a row: /17/to.
func (r *Resolution) Pointer(row int, field string) string { return shapeRows.pointer(row, field) }

// DecodeResolutionNDJSON reads rows {"key": …, "from": …, "to": …}, one a line,
// as [DecodeNDJSON] does. All three are required, and no key stands twice. Rows
// may have a hash_instance besides.
func DecodeResolutionNDJSON(r io.Reader, o Options) (*Resolution, error) {
	p := newNDJSON(r, o, resolutionRow)
	defer p.close()
	return readResolution(p, &p.builder)
}

// DecodeResolutionCSV reads the columns key, from and to in any order, as
// [DecodeCSV] does. All three are required, and no key stands twice. There may be
// a column hash_instance besides.
func DecodeResolutionCSV(r io.Reader, o Options) (*Resolution, error) {
	p, err := newCSV(r, o, resolutionRow)
	defer p.close()
	if err != nil {
		return nil, err
	}
	return readResolution(p, &p.builder)
}

func readResolution(s rowSource, b *builder) (*Resolution, error) {
	if err := readRows(s, b); err != nil {
		return nil, err
	}
	if err := b.checkKeys(); err != nil {
		return nil, err
	}
	r := &Resolution{Keys: b.keys, From: b.from.take(), To: b.to.take(), HashInstance: b.hashInstance.take()}
	return r, b.meter.refused()
}

// addResolved takes a row of a resolution.
func (b *builder) addResolved(n int, r *row) {
	b.requireAll(n, r.seen)
	if r.key != nil {
		b.addKey(n, r.key)
	}
	if len(b.problems) > 0 {
		return
	}
	b.from.add(r.from)
	b.to.add(r.to)
	b.addInstance(&b.hashInstance, n, r.hashInstance)
}

// KeyMove is one key of a [Resolution]: it goes from one instance to another.
type KeyMove struct {
	Key      []byte
	From, To int32 // ids of instances
}

package arrowrows

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"plannerd/internal/input/internal/columns"
	"plannerd/planner"
)

const detailNotUTF8 = "is not UTF-8"

// String names the type of a column of a schema.
func (c schemaField) String() string {
	switch {
	case c.kind >= len(typeNames):
		return "of a type that is not known"
	case c.dictionary:
		return "dictionary of " + typeNames[c.kind]
	}
	return typeNames[c.kind]
}

// typesOf says which types the column of a field may have.
func typesOf(f columns.Field) string {
	switch f {
	case columns.Key:
		return "must be utf8 or binary"
	case columns.Cost, columns.Frequency, columns.State, columns.Costs:
		return "must be a float of 32 or 64 bits or an integer"
	}
	if f&(columns.Instance|columns.HashInstance) != 0 {
		return "must be an integer or utf8"
	}
	return "must be an integer"
}

// amounts are the fields that are one.
const amounts = columns.Cost | columns.Frequency | columns.State | columns.Costs

// holds tells whether the column may be of type t.
func (c *column) holds(t arrow.DataType) bool {
	switch {
	case t.ID() == arrow.NULL:
		return true
	case c.Field == columns.Key:
		return isBinary(t) || isText(t)
	case c.Field&amounts != 0:
		return t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64 || arrow.IsInteger(t.ID())
	}
	return arrow.IsInteger(t.ID()) || c.Field&(columns.Instance|columns.HashInstance) != 0 && isText(t)
}

// valueType is t, or what a dictionary is of.
func valueType(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// isBinary tells whether keys of type t are bytes, not text.
func isBinary(t arrow.DataType) bool {
	switch valueType(t).ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return true
	}
	return false
}

// isText tells whether keys of type t are text.
func isText(t arrow.DataType) bool {
	switch valueType(t).ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}

// column is a column of the present batch. Which of its lists it has
// depends on its field; all are as long as the batch, and those whose type is
// what is needed anyway are the batch's own.
type column struct {
	columns.Place
	at    int    // in batches
	nulls []byte // a bit for each row that is not null; nil: none is null
	none  bool   // all are null

	keys    keyColumn
	amounts []float64
	ids     []int32 // −1: no id; less: a code, where the column has names
	named   bool
	numbers []int64 // intervals and counts

	// Memory of converted lists.
	floats   []float64
	integers []int64
	narrow   []int32
}

// load takes a column of the next batch; false when its buffers are not what its
// length asks for.
func (c *column) load(a arrow.Array, n int, named func([]byte) (int32, string)) bool {
	c.none = a.DataType().ID() == arrow.NULL
	c.nulls = nil
	if c.none {
		return true
	}
	if a.NullN() != 0 {
		if c.nulls = a.NullBitmapBytes(); len(c.nulls) < (n+7)/8 {
			return false
		}
	}
	switch c.Field {
	case columns.Key:
		return c.keys.load(a, n, c.nulls)
	case columns.Cost, columns.Frequency, columns.State, columns.Costs:
		if exact, ok := a.(*array.Float64); ok {
			c.amounts = exact.Float64Values()[:n]
			return true
		}
		c.floats = numbersOf(c.floats, a, n)
		c.amounts = c.floats
	case columns.Interval, columns.Count:
		c.integers = numbersOf(c.integers, a, n)
		c.numbers = c.integers
	default:
		if c.named = isText(a.DataType()); c.named {
			return c.loadNames(a, n, named)
		}
		c.loadIDs(a, n)
	}
	return true
}

// converts is how many bytes the lists take that the column is converted to.
func (c *column) converts(a arrow.Array) int {
	switch t := a.DataType().ID(); {
	case t == arrow.NULL || c.Field == columns.Key && t != arrow.DICTIONARY:
		return 0
	case t == arrow.FLOAT64 || t == arrow.INT32 && c.Field&(columns.Instance|columns.HashInstance) != 0:
		return 0
	}
	entries := a.Len()
	if d, ok := a.(*array.Dictionary); ok && c.Field != columns.Key {
		entries = max(entries, d.Dictionary().Len())
	}
	return columns.SizeOf[int64](entries) + columns.SizeOf[int32](a.Len())
}

func (c *column) loadIDs(a arrow.Array, n int) {
	if exact, ok := a.(*array.Int32); ok {
		c.ids = exact.Int32Values()[:n]
		return
	}
	c.integers = numbersOf(c.integers, a, n)
	c.narrow = slices.Grow(c.narrow[:0], n)[:n]
	for i, v := range c.integers {
		if v < 0 || v > math.MaxInt32 {
			v = -1
		}
		c.narrow[i] = int32(v)
	}
	c.ids = c.narrow
}

// loadNames takes the names of instances, of a dictionary each once. −1 stands for what is none.
func (c *column) loadNames(a arrow.Array, n int, named func([]byte) (int32, string)) bool {
	if !c.keys.load(a, n, c.nulls) {
		return false
	}
	const unasked = math.MinInt32
	texts, index := &c.keys, c.keys.index
	entries := n
	if texts.dictionary != nil {
		texts, entries = texts.dictionary, texts.dictionary.rows
	}
	c.integers = slices.Grow(c.integers[:0], entries)[:entries]
	for e := range c.integers {
		c.integers[e] = unasked
	}
	c.narrow = slices.Grow(c.narrow[:0], n)[:n]
	for i := range c.narrow {
		if c.narrow[i] = planner.NoInstance; c.null(i) {
			continue
		}
		e := i
		if index != nil {
			e = int(index[i])
		}
		if c.integers[e] == unasked {
			id := planner.NoInstance
			if text, ok := texts.at(e); ok {
				id, _ = named(text)
			}
			c.integers[e] = int64(id)
		}
		c.narrow[i] = int32(c.integers[e])
	}
	c.ids = c.narrow
	return true
}

// null tells whether row i lacks the field.
func (c *column) null(i int) bool {
	return c.none || !has(c.nulls, int64(i)) || (c.Field == columns.Key || c.named) && c.keys.null(i)
}

// read reads the value of row i, which is not null, into r, and returns what is
// wrong with it.
func (c *column) read(i int, r *columns.Row) string {
	switch c.Field {
	case columns.Key:
		key, ok := c.keys.at(i)
		if !ok {
			return detailNotUTF8
		}
		if key == nil {
			key = []byte{} // of no length, not missing
		}
		r.Key = key
	case columns.Cost, columns.Frequency:
		r.Cost = c.amounts[i] + 0 // −0 becomes 0
		return columns.AmountDetail(r.Cost)
	case columns.State:
		r.State = c.amounts[i] + 0
		return columns.AmountDetail(r.State)
	case columns.Costs:
		r.SetCost(c.Part, c.amounts[i]+0)
		return columns.AmountDetail(c.amounts[i])
	case columns.Instance:
		r.Instance = c.ids[i]
		return c.wrongID(r.Instance)
	case columns.HashInstance:
		r.HashInstance = c.ids[i]
		return c.wrongID(r.HashInstance)
	case columns.Count:
		r.Count = c.numbers[i]
		if r.Count < 1 || r.Count > columns.MaxCount {
			r.Count = 0
			return columns.DetailCount
		}
	case columns.Interval:
		r.Interval = c.numbers[i]
		if r.Interval < 0 || r.Interval > columns.MaxInterval {
			r.Interval = -1
			return columns.DetailInterval
		}
	}
	return ""
}

func (c *column) wrongID(v int32) string {
	switch {
	case v >= 0, c.named && v != planner.NoInstance:
		return ""
	case c.named:
		return columns.DetailName
	}
	return columns.DetailInstance
}

// whole tells whether no value is missing, wrong or −0.
func (c *column) whole() bool {
	if c.none || c.nulls != nil {
		return false
	}
	switch c.Field {
	case columns.Key:
		return c.keys.whole()
	case columns.Cost, columns.Frequency, columns.State, columns.Costs:
		const greatest = planner.MaxAmount
		limit := math.Float64bits(greatest)
		for _, x := range c.amounts {
			if math.Float64bits(x) > limit { // the sign is the highest bit
				return false
			}
		}
	case columns.Interval:
		for _, v := range c.numbers {
			if v != c.numbers[0] || v < 0 || v > columns.MaxInterval {
				return false
			}
		}
	case columns.Instance, columns.HashInstance:
		if c.named {
			return !slices.Contains(c.ids, planner.NoInstance)
		}
		fallthrough
	default:
		signs := int32(0)
		for _, v := range c.ids {
			signs |= v
		}
		return signs >= 0
	}
	return true
}

// numbersOf converts n numbers of any type. An unsigned integer that is too
// great for an int64 becomes negative.
func numbersOf[D int64 | float64](to []D, a arrow.Array, n int) []D {
	switch a := a.(type) {
	case *array.Int8:
		return converted(to, a.Int8Values()[:n])
	case *array.Int16:
		return converted(to, a.Int16Values()[:n])
	case *array.Int32:
		return converted(to, a.Int32Values()[:n])
	case *array.Int64:
		return converted(to, a.Int64Values()[:n])
	case *array.Uint8:
		return converted(to, a.Uint8Values()[:n])
	case *array.Uint16:
		return converted(to, a.Uint16Values()[:n])
	case *array.Uint32:
		return converted(to, a.Uint32Values()[:n])
	case *array.Uint64:
		return converted(to, a.Uint64Values()[:n])
	case *array.Float32:
		return converted(to, a.Float32Values()[:n])
	case *array.Float64:
		return converted(to, a.Float64Values()[:n])
	}
	panic("input: a type that setTypes lets through")
}

func converted[D int64 | float64,
	S int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](to []D, from []S) []D {
	to = slices.Grow(to[:0], len(from))[:len(from)]
	for i, v := range from {
		to[i] = D(v)
	}
	return to
}

// validText tells whether every text is UTF-8. All of them together are, and
// none starts within a rune.
func validText[O int32 | int64](text []byte, offsets []O) bool {
	first, last := offsets[0], offsets[len(offsets)-1]
	if !utf8.Valid(text[first:last]) {
		return false
	}
	for _, o := range offsets {
		if o < last && !utf8.RuneStart(text[o]) {
			return false
		}
	}
	return true
}

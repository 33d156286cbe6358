package columns

const (
	firstChunkRows = 1 << 10
	chunkRows      = 1 << 16
	// hintEvidence: a row hint is believed once 1/hintEvidence of its rows came.
	hintEvidence = 16
)

// Column collects the values of one field. It grows by chunks, which are joined
// once, at the end: doubling would hold up to three times the values while it
// copies, chunks hold no more than twice, and only of the column being joined.
type Column[T any] struct {
	chunks [][]T // full ones
	last   []T
	rows   int // in chunks
	hint   int
	meter  *Meter
}

// Add appends a value, unless the meter refuses to.
func (c *Column[T]) Add(v T) {
	if len(c.last) < cap(c.last) || c.grow(1) {
		c.last = append(c.last, v)
	}
}

// AddAll adds vs, unless the meter refuses to.
func (c *Column[T]) AddAll(vs []T) {
	if room := cap(c.last) - len(c.last); room < len(vs) {
		c.last = append(c.last, vs[:room]...)
		vs = vs[room:]
		if !c.grow(len(vs)) {
			return
		}
	}
	c.last = append(c.last, vs...)
}

// Fill adds v until there are n values.
func (c *Column[T]) Fill(v T, n int) {
	for c.Len() < n && c.meter.Refused() == nil {
		c.Add(v)
	}
}

// hinted tells whether to make room for hint rows after n rows.
func hinted(hint, n int) bool { return n < hint && hint <= max(chunkRows, n*hintEvidence) }

// Len is the number of values.
func (c *Column[T]) Len() int { return c.rows + len(c.last) }

// grow makes room for more values, which are at hand, and for some to come, unless
// the meter refuses to.
func (c *Column[T]) grow(more int) bool {
	n := c.Len()
	if hinted(c.hint, n+more-1) {
		if !c.meter.Take(SizeOf[T](c.hint)) {
			return false
		}
		c.last = c.joined(c.hint)
		c.chunks, c.rows = nil, 0
		c.meter.Give(SizeOf[T](n))
		return true
	}
	size := max(more, min(max(firstChunkRows, n), chunkRows))
	if !c.meter.Take(SizeOf[T](size)) {
		return false
	}
	if len(c.last) > 0 {
		c.chunks = append(c.chunks, c.last)
		c.rows = n
	}
	c.last = make([]T, 0, size)
	return true
}

// joined returns all values in one slice of at least the given capacity.
func (c *Column[T]) joined(capacity int) []T {
	all := make([]T, 0, max(capacity, c.Len()))
	for _, chunk := range c.chunks {
		all = append(all, chunk...)
	}
	return append(all, c.last...)
}

// Take returns all values in one slice, and forgets them. It returns none when
// the meter refuses the slice.
func (c *Column[T]) Take() []T {
	all, held := c.last, c.rows+cap(c.last)
	if len(c.chunks) > 0 || cap(all) > len(all)+len(all)/8 {
		if !c.meter.Take(SizeOf[T](c.Len())) {
			return nil
		}
		all = c.joined(0)
		c.meter.Give(SizeOf[T](held))
	}
	*c = Column[T]{meter: c.meter}
	return all
}

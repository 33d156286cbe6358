package input

import (
	"math/bits"
	"slices"
	"strconv"
)

// columnsReader gathers the lists of a "columns" member.
type columnsReader struct {
	*jsonParser
	seen    field
	unknown []string
	length  [6]int // values of each field, by the number of its bit
}

// columns reads the value of "columns".
func (p *jsonParser) columns() error {
	p.turn(p.recordsSeen, shapeColumns, statisticsRow)
	if p.buf[p.pos] != '{' {
		p.problemAt("/columns", "must be an object of lists")
		return p.skip()
	}
	p.pos++
	c := columnsReader{jsonParser: p}
	if err := p.object(c.column); err != nil {
		return err
	}
	c.check()
	return p.full()
}

// column reads the list of one field.
func (c *columnsReader) column(name string) error {
	outer := c.context
	defer func() { c.context = outer }()
	pointer := "/columns/" + escapePointer(name)
	c.context = func() string { return pointer }
	f := fieldOf([]byte(name), c.fields)
	if f != fieldUnknown && c.seen&f != 0 || slices.Contains(c.unknown, name) {
		c.fail(c.pos, "duplicate member")
		return c.malformed()
	}
	if f == fieldUnknown {
		c.unknown = append(c.unknown, name)
		c.note(Problem{pointer, detailUnknown, Location{Column: name}})
		return c.skip()
	}
	c.seen |= f
	if c.buf[c.pos] != '[' {
		c.problemAt(pointer, "must be a list")
		c.length[bitOf(f)] = -1
		return c.skip()
	}
	err := c.values(f, pointer)
	c.expect(c.length[bitOf(f)])
	return err
}

// values reads the values of a field into its column.
func (c *columnsReader) values(f field, pointer string) error {
	n := &c.length[bitOf(f)]
	c.context = func() string { return pointer + "/" + strconv.Itoa(*n) }
	take := func(keep func()) func() error {
		return func() error {
			if *n == c.options.Limits.Rows {
				return &Error{TooLarge, []Problem{at(c.context(), "more than "+strconv.Itoa(*n)+" rows")}}
			}
			keep()
			*n++
			return c.full()
		}
	}
	var key []byte
	var x float64
	var v int32
	amount := func(i int) (next int, ok bool) { x, next, ok = c.amount(i, *n, f); return next, ok }
	instance := func(i int) (next int, ok bool) { v, next, ok = c.instanceValue(i, *n, f); return next, ok }
	switch f {
	case fieldKey:
		return c.list(
			func(i int) (next int, ok bool) { key, next, ok = c.keyValue(i, *n); return next, ok },
			take(func() {
				if key != nil {
					c.addKey(*n, key)
				}
			}))
	case fieldState:
		return c.list(amount, take(func() { c.state.add(x) }))
	case fieldInstance:
		return c.list(instance, take(func() { c.addInstance(&c.instance, *n, v) }))
	case fieldHashInstance:
		return c.list(instance, take(func() { c.addInstance(&c.hashInstance, *n, v) }))
	}
	return c.list(amount, take(func() { c.cost.add(x) }))
}

// check notes which columns are missing, or not as long as that of the keys.
func (c *columnsReader) check() {
	if c.seen&fieldKey == 0 {
		c.problemAt("/columns/key", detailRequired)
	}
	switch c.seen & (fieldCost | fieldFrequency) {
	case 0:
		c.problemAt("/columns/cost", detailNoCost)
	case fieldCost | fieldFrequency:
		c.problemAt("/columns/frequency", detailBoth)
	}
	rows := c.length[bitOf(fieldKey)]
	for f := fieldCost; f <= fieldHashInstance; f <<= 1 {
		n := c.length[bitOf(f)]
		if c.seen&f != 0 && c.seen&fieldKey != 0 && n >= 0 && rows >= 0 && n != rows {
			c.problemAt("/columns/"+f.String(), "has "+strconv.Itoa(n)+" values for "+strconv.Itoa(rows)+" keys")
		}
	}
	c.rows = max(rows, 0)
}

// bitOf is the number of a field's bit.
func bitOf(f field) int { return bits.TrailingZeros16(uint16(f)) }

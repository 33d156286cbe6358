package jsonrows

import (
	"strconv"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
)

// columnsReader gathers the lists of a "columns" member.
type columnsReader struct {
	*parser
	seen   columns.Field
	length [6]int // values of each field, by the number of its bit
	costs  []columnLength
}

// columnLength is how many values there are for a resource.
type columnLength struct {
	pointer string
	values  *int
}

// taking returns what keeps the next value of a list, of which there are n.
func (c *columnsReader) taking(n *int, keep func()) func() error {
	pointer := c.Context()
	c.Context = func() string { return pointer + "/" + strconv.Itoa(*n) }
	return func() error {
		if *n == c.Options.Limits.Rows {
			return columns.TooManyRows(c.Context(), c.Options)
		}
		keep()
		*n++
		return c.Full()
	}
}

// columnLists reads the value of "columns".
func (p *parser) columnLists() error {
	p.turn(p.recordsSeen, columns.ShapeColumns, columns.StatisticsRow)
	if p.Buf[p.Pos] != '{' {
		p.WrongAt("/columns", "must be an object of lists")
		return p.skip()
	}
	c := columnsReader{parser: p}
	if err := p.object(c.column); err != nil {
		return err
	}
	c.check()
	return p.Full()
}

// column reads the list of one field.
func (c *columnsReader) column(name string) error {
	pointer := c.Context()
	f := columns.FieldOf([]byte(name), c.Fields)
	if f == columns.Costs {
		return c.costLists()
	}
	if f == columns.Unknown {
		c.Note(problem.Problem{
			Pointer: pointer, Detail: columns.DetailUnknown, Location: problem.Location{Column: name},
		})
		return c.skip()
	}
	c.seen |= f
	if c.Buf[c.Pos] != '[' {
		c.WrongAt(pointer, "must be a list")
		c.length[columns.BitOf(f)] = -1
		return c.skip()
	}
	err := c.values(f)
	c.Expect(c.length[columns.BitOf(f)])
	return err
}

// costLists reads the lists of what keys take of resources.
func (c *columnsReader) costLists() error {
	pointer := c.Context()
	if c.Buf[c.Pos] != '{' {
		c.WrongAt(pointer, "must be an object of lists")
		return c.skip()
	}
	return c.object(func(name string) error {
		at, detail := c.CostOf([]byte(name))
		if detail == "" && c.Buf[c.Pos] != '[' {
			detail = "must be a list"
		}
		if detail != "" {
			c.WrongAt(c.Context(), detail)
			return c.skip()
		}
		n, x, column := 0, 0.0, c.Costs.Of(at)
		c.costs = append(c.costs, columnLength{c.Context(), &n})
		return c.list(
			func(i int) (next int, ok bool) { x, next, ok = c.amount(i, n, c.Resources[at]); return next, ok },
			c.taking(&n, func() { column.Add(x) }))
	})
}

// values reads the values of a field into its column.
func (c *columnsReader) values(f columns.Field) error {
	n := &c.length[columns.BitOf(f)]
	take := func(keep func()) func() error { return c.taking(n, keep) }
	var key []byte
	var x float64
	var v int32
	amount := func(i int) (next int, ok bool) { x, next, ok = c.amount(i, *n, f.String()); return next, ok }
	instance := func(i int) (next int, ok bool) { v, next, ok = c.instanceValue(i, *n, f); return next, ok }
	switch f {
	case columns.Key:
		return c.list(
			func(i int) (next int, ok bool) { key, next, ok = c.keyValue(i, *n); return next, ok },
			take(func() {
				if key != nil {
					c.AddKey(*n, key)
				}
			}))
	case columns.State:
		return c.list(amount, take(func() { c.State.Add(x) }))
	case columns.Instance:
		return c.list(instance, take(func() { c.AddInstance(&c.Instance, *n, v) }))
	case columns.HashInstance:
		return c.list(instance, take(func() { c.AddInstance(&c.HashInstance, *n, v) }))
	}
	return c.list(amount, take(func() { c.Cost.Add(x) }))
}

func columnsDiffer(values, keys int) string {
	return "has " + strconv.Itoa(values) + " values for " + strconv.Itoa(keys) + " keys"
}

// check notes which columns are missing, or not as long as that of the keys.
func (c *columnsReader) check() {
	columns.RequireKeys(c.seen, "", func(field, detail string) { c.WrongAt("/columns/"+field, detail) })
	rows := c.length[columns.BitOf(columns.Key)]
	for f := columns.Cost; f <= columns.HashInstance; f <<= 1 {
		n := c.length[columns.BitOf(f)]
		if c.seen&f != 0 && c.seen&columns.Key != 0 && n >= 0 && rows >= 0 && n != rows {
			c.WrongAt("/columns/"+f.String(), columnsDiffer(n, rows))
		}
	}
	for _, x := range c.costs {
		if c.seen&columns.Key != 0 && rows >= 0 && *x.values != rows {
			c.WrongAt(x.pointer, columnsDiffer(*x.values, rows))
		}
	}
	c.Rows = max(rows, 0)
}

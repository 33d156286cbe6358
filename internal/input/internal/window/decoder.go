package window

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
)

// maxRowBytes bounds the text of one row or one value of a column.
const maxRowBytes = 1 << 20

// Decoder is what the decoders of all formats share: tokens come from the
// scanner, rows go to the builder.
type Decoder struct {
	Scanner
	columns.Builder
	// Context returns the pointer to what is being read, for errors in the text.
	Context func() string
	begun   int // where in the window the newest unit begins
}

// Start begins to read a body of rows of the given fields.
func (d *Decoder) Start(r io.Reader, o columns.Options, s columns.Shape, fields columns.Field) {
	o = o.WithDefaults()
	d.open(r)
	d.account = &columns.Meter{Reserve: o.Reserve}
	d.Renew(o, s, fields)
}

// Renew begins a document that follows what was read before.
func (d *Decoder) Renew(o columns.Options, s columns.Shape, fields columns.Field) {
	*d = Decoder{Scanner: d.Scanner}
	d.Allow(o.Limits.Bytes)
	d.Begin(o, s, fields)
	d.Line = d.unitLine
}

// unitLine is the line of the newest unit, which is a row or a value.
func (d *Decoder) unitLine() int { return d.lineAt(Space(d.Buf, d.begun)) }

// Unit has parse read one thing that must lie whole in the window: from Pos on,
// again each time that the window ended first. parse returns the index behind
// it; problems that a failed call noted are forgotten.
func (d *Decoder) Unit(parse func(i int) (next int, ok bool)) error {
	return d.UnitUpTo(maxRowBytes, parse)
}

// UnitUpTo is Unit of at most so many bytes.
func (d *Decoder) UnitUpTo(size int, parse func(i int) (next int, ok bool)) error {
	known := len(d.Problems)
	for {
		d.begun = d.Pos
		if next, ok := parse(d.Pos); ok {
			d.Pos = next
			return nil
		}
		if d.at < d.End || d.EOF {
			return d.Malformed()
		}
		d.Problems = d.Problems[:known]
		if err := d.more(size); err != nil {
			return d.explain(err, size)
		}
		d.ExpectBy(d.Rows, d.Base)
	}
}

// Over skips white space and tells whether nothing follows.
func (d *Decoder) Over() (bool, error) {
	if err := d.skipSpace(); err != nil {
		return false, d.explain(err, 0)
	}
	return d.Pos == d.End, nil
}

// Peek skips white space and returns the byte after it, unread.
func (d *Decoder) Peek() (byte, error) {
	over, err := d.Over()
	if err != nil {
		return 0, err
	}
	if over {
		d.Fail(d.Pos, "")
		return 0, d.Malformed()
	}
	return d.Buf[d.Pos], nil
}

// Malformed is the error for what the scanner failed on.
func (d *Decoder) Malformed() error {
	pointer, why := d.Context(), d.why
	if d.field != "" {
		pointer += "/" + d.field
	}
	at := d.Base + int64(d.at)
	if d.at >= d.End {
		at, why = d.Base+int64(d.End), "unexpected end of the text"
	}
	e := problem.One(problem.Malformed, pointer, fmt.Sprintf("%s at byte %d", why, at))
	e.Problems[0].Line = d.lineAt(min(d.at, d.End))
	return e
}

// explain turns the limits that more ran into into an error. size is what one
// unit may take.
func (d *Decoder) explain(err error, size int) error {
	switch {
	case errors.Is(err, errUnitTooLong):
		return problem.One(problem.TooLarge, d.Context(), "longer than "+strconv.Itoa(size)+" bytes")
	case errors.Is(err, errTooManyBytes):
		return problem.One(problem.TooLarge, "", "more than "+strconv.FormatInt(d.Options.Limits.Bytes, 10)+" bytes")
	}
	return err
}

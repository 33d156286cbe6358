package input

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// decoder is what the decoders of all formats share: tokens come from the
// scanner, rows go to the builder.
type decoder struct {
	scanner
	builder
	// context returns the pointer to what is being read, for errors in the text.
	context func() string
	begun   int // where in the window the newest unit begins
}

func (d *decoder) start(r io.Reader, o Options, s shape, fields field) {
	o = o.withDefaults()
	d.open(r, o.Limits.Bytes)
	d.account = &meter{reserve: o.Reserve}
	d.begin(o, s, fields)
	d.line = d.unitLine
}

// unitLine is the line of the newest unit, which is a row or a value.
func (d *decoder) unitLine() int { return d.lineAt(space(d.buf, d.begun)) }

// unit has parse read one thing that must lie whole in the window: from pos on,
// again each time that the window ended first. parse returns the index behind
// it; problems that a failed call noted are forgotten.
func (d *decoder) unit(parse func(i int) (next int, ok bool)) error {
	return d.unitUpTo(maxRowBytes, parse)
}

func (d *decoder) unitUpTo(size int, parse func(i int) (next int, ok bool)) error {
	known := len(d.problems)
	for {
		d.begun = d.pos
		if next, ok := parse(d.pos); ok {
			d.pos = next
			return nil
		}
		if d.at < d.end || d.eof {
			return d.malformed()
		}
		d.problems = d.problems[:known]
		if err := d.more(size); err != nil {
			return d.explain(err, size)
		}
		d.expectBy(d.rows, d.base)
	}
}

// over skips white space and tells whether nothing follows.
func (d *decoder) over() (bool, error) {
	if err := d.skipSpace(); err != nil {
		return false, d.explain(err, 0)
	}
	return d.pos == d.end, nil
}

// peek skips white space and returns the byte after it, unread.
func (d *decoder) peek() (byte, error) {
	over, err := d.over()
	if err != nil {
		return 0, err
	}
	if over {
		d.fail(d.pos, "")
		return 0, d.malformed()
	}
	return d.buf[d.pos], nil
}

// malformed is the error for what the scanner failed on.
func (d *decoder) malformed() error {
	pointer, why := d.context(), d.why
	if d.field != "" {
		pointer += "/" + d.field
	}
	at := d.base + int64(d.at)
	if d.at >= d.end {
		at, why = d.base+int64(d.end), "unexpected end of the text"
	}
	return &Error{Malformed, []Problem{{pointer, fmt.Sprintf("%s at byte %d", why, at),
		Location{Line: d.lineAt(min(d.at, d.end))}}}}
}

// explain turns the limits that more ran into into an Error. size is what one
// unit may take.
func (d *decoder) explain(err error, size int) error {
	switch {
	case errors.Is(err, errUnitTooLong):
		return &Error{TooLarge, []Problem{at(d.context(), "longer than "+strconv.Itoa(size)+" bytes")}}
	case errors.Is(err, errTooManyBytes):
		return &Error{TooLarge, []Problem{at("", "more than "+strconv.FormatInt(d.options.Limits.Bytes, 10)+" bytes")}}
	}
	return err
}

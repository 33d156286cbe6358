package jsonrows

import (
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/internal/window"
)

// maxMemberBytes bounds the text of a member of a body that is not of rows.
const maxMemberBytes = 64 << 20

// grammar reads objects and lists that need not lie in the window whole.
type grammar struct{ scanner }

// whole reads an object and what follows it.
func (p *grammar) whole(member func(name string) error, end func() error) error {
	p.Context = func() string { return "" }
	c, err := p.Peek()
	if err != nil {
		return err
	}
	if c != '{' {
		p.Fail(p.Pos, "expected an object")
		return p.Malformed()
	}
	if err := p.object(member); err != nil {
		return err
	}
	return end()
}

// lastEnd is the end of a body that nothing may follow.
func (p *grammar) lastEnd() error {
	over, err := p.Over()
	if err != nil || over {
		return err
	}
	p.Fail(p.Pos, detailAfter)
	return p.Malformed()
}

// lineEnd is the end of a body that others may follow, on lines of their own.
func (p *grammar) lineEnd() error {
	return p.Unit(func(i int) (int, bool) { return p.EndOfLine(i, detailAfter) })
}

const detailAfter = "text after the document"

// object reads the members of an object, which the window stands at; no name stands twice. member
// reads one value: the window stands at its first byte.
func (p *grammar) object(member func(name string) error) error {
	if empty, err := p.empty('}'); empty || err != nil {
		return err
	}
	outer, names := p.Context, map[string]bool{}
	for {
		var name string
		if err := p.Unit(func(i int) (int, bool) { return p.objectName(i, &name) }); err != nil {
			return err
		}
		if _, err := p.Peek(); err != nil {
			return err
		}
		p.Context = func() string { return outer() + "/" + problem.Escape(name) }
		if names[name] {
			p.Fail(p.Pos, "duplicate member")
			return p.Malformed()
		}
		names[name] = true
		if err := member(name); err != nil {
			return err
		}
		p.Context = outer
		end, err := p.separator('}')
		if err != nil || end {
			return err
		}
	}
}

// objectName reads white space, a name and a colon.
func (p *grammar) objectName(i int, name *string) (next int, ok bool) {
	text, i, ok := p.str(window.Space(p.Buf, i), &p.name)
	if !ok {
		return 0, false
	}
	*name = string(text)
	i = window.Space(p.Buf, i)
	if p.Buf[i] != ':' {
		return 0, p.Fail(i, "expected :")
	}
	return i + 1, true
}

// empty reads an opening bracket, and the closing one if it follows.
func (p *grammar) empty(closing byte) (bool, error) {
	p.Pos++
	c, err := p.Peek()
	if c != closing || err != nil {
		return false, err
	}
	p.Pos++
	return true, nil
}

// separator reads a comma, or the closing bracket that ends a list of members
// or values.
func (p *grammar) separator(closing byte) (end bool, err error) {
	c, err := p.Peek()
	if err != nil {
		return false, err
	}
	if c != ',' && c != closing {
		p.Fail(p.Pos, "expected , or "+string(rune(closing)))
		return false, p.Malformed()
	}
	p.Pos++
	return c == closing, nil
}

// raw reads any value and returns its text, valid until the next read.
func (p *grammar) raw(size int) (text []byte, err error) {
	err = p.UnitUpTo(size, func(i int) (int, bool) {
		next, ok := p.value(i)
		if ok && next == p.End && !p.EOF {
			ok = p.Fail(next, "")
		}
		if ok {
			text = p.Buf[i:next]
		}
		return next, ok
	})
	return text, err
}

// skip reads any value.
func (p *grammar) skip() error {
	if _, err := p.raw(maxMemberBytes); err != nil {
		return err
	}
	return p.Full()
}

// list reads the values of a list. parse reads one that lies in the window;
// take keeps it, once it is known to be whole.
func (p *grammar) list(parse func(i int) (int, bool), take func() error) error {
	if empty, err := p.empty(']'); empty || err != nil {
		return err
	}
	var closing byte
	value := func(i int) (int, bool) {
		i, ok := parse(window.Space(p.Buf, i))
		if !ok {
			return 0, false
		}
		i = window.Space(p.Buf, i)
		closing = p.Buf[i]
		if closing != ',' && closing != ']' {
			return 0, p.Fail(i, "expected , or ]")
		}
		return i + 1, true
	}
	for closing != ']' {
		if err := p.Unit(value); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// odd are values that no schema asks for, or few.
func (m *maker) odd() any {
	switch m.IntN(8) {
	case 0:
		return nil
	case 1:
		return m.chance(50)
	case 2:
		return map[string]any{}
	case 3:
		return []any{}
	case 4:
		return m.oddText()
	case 5:
		return m.nested()
	default:
		return jsontext.Value(one(m, oddNumbers))
	}
}

var oddNumbers = []string{
	"-1", "0", "-0", "0.5", "1e-400", "1e-300", "1e290", "1.0000001e290", "1e300", "1e308", "1e309", "1e99999", "2147483647", "2147483648", "4294967296",
	"9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809",
	"1.5e0", "3.0", "1E3", "65536", "65537", "1073741824", "1073741825", "123456789012345678901234567890.123456789",
}

func (m *maker) oddText() string {
	return one(m, []string{
		"", " ", "\x00", "a\x00b", "\u202e", "\ufeff", "\ufffd", "e\u0301", "null", "NaN", "-Infinity", "1e3", "../../etc", "%00", "%", "'; --", "<b>", "{}",
		"\r\n", "\u2028", "𝔘𝔫𝔦", strings.Repeat("x", 129), strings.Repeat("é", 600), strings.Repeat("k", 5000), "\U0010ffff", "=cmd", "a/b", "~0~1",
	})
}

// nested is an array in an array, and so on.
func (m *maker) nested() jsontext.Value {
	depth := one(m, []int{3, 100, 9000})
	return jsontext.Value(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}

// spot is a place in a value, and what puts another one there or nothing.
type spot struct {
	value any
	set   func(any)
	drop  func()
}

// spots lists the places in a value.
func spots(v any) (out []spot) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sorted(v) {
			out = append(out, spot{v[name], func(n any) { v[name] = n }, func() { delete(v, name) }})
			out = append(out, spots(v[name])...)
		}
	case []any:
		for i := range v {
			out = append(out, spot{v[i], func(n any) { v[i] = n }, nil})
			out = append(out, spots(v[i])...)
		}
	}
	return out
}

// mutate changes a value in one place. It may change what it is given.
func (m *maker) mutate(v any) any {
	places := spots(v)
	if len(places) == 0 || m.chance(3) {
		return m.odd()
	}
	p := one(m, places)
	switch object, isObject := p.value.(map[string]any); {
	case p.drop != nil && m.chance(20):
		p.drop()
	case isObject && m.chance(30):
		object[one(m, []string{"unknown", "", "a/b", "~", "\x00", "Interval", "id"})] = m.odd()
	default:
		p.set(m.twist(p.value))
	}
	return v
}

// twist returns a relative of a value, or something else.
func (m *maker) twist(v any) any {
	if m.chance(40) {
		return m.odd()
	}
	switch v := v.(type) {
	case float64:
		return one(m, []any{v + 1, v - 1, -v, v * 1e6, v + 0.5, fmt.Sprint(v), []any{v}})
	case string:
		return one(m, []any{v + " ", strings.ToUpper(v), v + v, "", m.oddText(), []any{v}})
	case bool:
		return one(m, []any{!v, strconv.FormatBool(v), 0.0})
	case []any:
		return m.twistList(v)
	default:
		return m.odd()
	}
}

func (m *maker) twistList(v []any) any {
	if len(v) == 0 {
		return []any{m.odd()}
	}
	switch m.IntN(5) {
	case 0:
		return append(slices.Clone(v), clone(v[0])) // twice
	case 1:
		return v[:len(v)-1]
	case 2:
		return slices.Repeat(v, 1+300/len(v))
	case 3:
		return []any{}
	default:
		return append(slices.Clone(v), m.odd())
	}
}

// breakBytes changes a body as bytes.
func (m *maker) breakBytes(body []byte) []byte {
	if len(body) == 0 {
		return []byte(m.oddText())
	}
	at := m.IntN(len(body))
	switch m.IntN(9) {
	case 0:
		return body[:at]
	case 1:
		body = slices.Clone(body)
		body[at] ^= 1 << m.IntN(8)
		return body
	case 2:
		return slices.Insert(slices.Clone(body), at, one(m, []byte("\x00\xff\xc3\n\r\",:{}[]\\ -e")))
	case 3:
		return slices.Delete(slices.Clone(body), at, min(len(body), at+1+m.IntN(8)))
	case 4: // the first member twice
		if i := bytes.IndexByte(body, '{'); i >= 0 {
			return slices.Concat(body[:i+1], []byte(one(m, []string{`"interval":1,"interval":2,`, `"key":"a","key":"b",`, `"\ud800":1,`})), body[i+1:])
		}
		return slices.Concat(body, body)
	case 5:
		return slices.Concat([]byte("\xef\xbb\xbf"), body)
	case 6:
		return slices.Concat(body, []byte(one(m, []string{" ", "\n", "{}", "]", "\x00", ",", "x"})))
	case 7:
		return bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))
	default:
		end := min(len(body), at+1+m.IntN(64))
		return slices.Concat(body[:end], body[at:])
	}
}

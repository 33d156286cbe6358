package jsonrows

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input/internal/window"
)

// maxDepth bounds the nesting of arrays and objects in one value.
const maxDepth = 128

// scanner reads strings and values.
type scanner struct {
	window.Decoder
	text, name []byte // unescaped strings
}

// stringStops marks the lowest byte of x that is not a plain character of a
// JSON string: a quote, a backslash, a control character or a byte ≥ 0x80.
func stringStops(x uint64) uint64 {
	return window.ZeroBytes(x^'"'*window.Ones) | window.ZeroBytes(x^'\\'*window.Ones) |
		((x-' '*window.Ones)&^x|x)&window.Highs
}

// str reads the JSON string at i. The text lies in the window or in scratch.
func (s *scanner) str(i int, scratch *[]byte) (text []byte, next int, ok bool) {
	b := s.Buf
	if b[i] != '"' {
		return nil, 0, s.Fail(i, "expected a string")
	}
	i++
	start := i
	for {
		if m := stringStops(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		i += 8
	}
	if b[i] == '"' {
		return b[start:i], i + 1, true
	}
	return s.strSlow(start, i, scratch)
}

// strSlow goes on with a string that starts at start and has something else
// than plain characters at i.
func (s *scanner) strSlow(start, i int, scratch *[]byte) (text []byte, next int, ok bool) {
	b, plain := s.Buf, true
	for ; b[i] != '"'; i++ {
		if b[i] < ' ' {
			return nil, 0, s.Fail(i, "control character in a string")
		}
		if b[i] == '\\' {
			plain = false
			i++ // which may be a quote
		}
	}
	if !utf8.Valid(b[start:i]) {
		return nil, 0, s.Fail(start, "string that is not UTF-8")
	}
	if plain {
		return b[start:i], i + 1, true
	}
	text, err := jsontext.AppendUnquote((*scratch)[:0], b[start-1:i+1])
	if err != nil {
		return nil, 0, s.Fail(start, "string with an unknown escape sequence")
	}
	*scratch = text
	return text, i + 1, true
}

// literal tells whether the text at i is word.
func (s *scanner) literal(i int, word string) (next int, ok bool) {
	for k := range len(word) {
		if s.Buf[i+k] != word[k] {
			return 0, s.Fail(i+k, "unknown literal")
		}
	}
	return i + len(word), true
}

// value reads any JSON value, strictly. A number may go on behind the window if
// it ends where the window does.
func (s *scanner) value(i int) (next int, ok bool) {
	switch s.Buf[i] {
	case '"':
		_, next, ok = s.str(i, &s.name)
		return next, ok
	case '{', '[':
		return s.composite(i)
	case 'n':
		return s.literal(i, "null")
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, next, ok = s.Number(i)
		return next, ok
	}
	return 0, s.Fail(i, "expected a value")
}

// composite reads an array or object: it looks for the end by counting brackets
// and leaves the rest of the grammar to jsontext.
func (s *scanner) composite(start int) (next int, ok bool) {
	b, depth := s.Buf, 0
	for i := start; ; i++ {
		switch b[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, s.Fail(i, "nested too deeply")
			}
		case '}', ']':
			if depth--; depth > 0 {
				continue
			}
			if !jsontext.Value(b[start : i+1]).IsValid() {
				return 0, s.Fail(start, "not a valid JSON value")
			}
			return i + 1, true
		case '"':
			if _, i, ok = s.str(i, &s.name); !ok {
				return 0, false
			}
			i-- // the loop adds one
		case 0:
			return 0, s.Fail(i, "control character")
		}
	}
}

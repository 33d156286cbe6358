package analyses

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input"
)

// message is one element of the member "stream": a key, or a key and its cost.
type message struct {
	key  []byte
	cost float64
}

// DecodeStream reads the member "stream" of a JSON body: a list of keys, or of keys and
// costs. Keys are in base64 where o says so. It ends at the first message that is wrong;
// the error is a [input.Error].
func DecodeStream(text []byte, o input.Options) (*Input, error) {
	if len(text) == 0 || text[0] != '[' {
		return nil, wrong("/stream", "must be a list of keys")
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := d.ReadToken(); err != nil { // the bracket
		return nil, notJSON(err)
	}
	b := NewStreamBuilder(o)
	var m message
	for i := 0; d.PeekKind() != ']'; i++ {
		value, err := d.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		if detail := m.read(value, o.Base64Keys); detail != "" {
			return nil, wrong("/stream/"+strconv.Itoa(i), detail)
		}
		if err := b.Add(m.key, m.cost); err != nil {
			return nil, inStream(err)
		}
	}
	return b.Input(), nil
}

// read takes a message from its JSON, or says what is wrong with it.
func (m *message) read(value jsontext.Value, base64Keys bool) (detail string) {
	m.cost = 1
	if value.Kind() == '[' {
		var pair []jsontext.Value
		if err := json.Unmarshal(value, &pair); err != nil || len(pair) != 2 || json.Unmarshal(pair[1], &m.cost) != nil {
			return "must be a key, or a key and its cost"
		}
		value = pair[0]
	}
	if value.Kind() != '"' {
		return "must be a key, or a key and its cost"
	}
	var err error
	if m.key, err = jsontext.AppendUnquote(m.key[:0], value); err != nil {
		return "must be a key, or a key and its cost"
	}
	return m.decode(base64Keys)
}

// decode replaces a key that is written in base64 by what it stands for.
func (m *message) decode(base64Keys bool) (detail string) {
	if !base64Keys {
		return ""
	}
	key, err := base64.StdEncoding.Strict().AppendDecode(nil, m.key)
	if err != nil || bytes.ContainsAny(m.key, "\r\n") { // which the decoder skips
		return "must be base64 (standard alphabet, padded)"
	}
	m.key = key
	return ""
}

// inStream points an error of a stream builder into the member "stream".
func inStream(err error) error {
	if refused, ok := errors.AsType[*input.Error](err); ok {
		for i, p := range refused.Problems {
			if row, _, ok := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/"); ok {
				refused.Problems[i].Pointer = "/stream/" + row
			}
		}
	}
	return err
}

// DecodeLines reads a stream of one key a line. Keys are in base64 where o says so. The
// error is a [input.Error], or one of the reader.
func DecodeLines(r io.Reader, o input.Options) (*Input, error) {
	if !o.Base64Keys {
		return ReadStream(r, o)
	}
	b := NewStreamBuilder(o)
	lines := bufio.NewScanner(r)
	for i := 0; lines.Scan(); i++ {
		m := message{key: lines.Bytes()}
		if detail := m.decode(true); detail != "" {
			return nil, wrong("/"+strconv.Itoa(i)+"/key", detail)
		}
		if err := b.Add(m.key, 1); err != nil {
			return nil, err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, wrong("", "a line is longer than any key")
	}
	return b.Input(), lines.Err()
}

// wrong is the error that a value of the body is not what it should be.
func wrong(pointer, detail string) error {
	return &input.Error{Kind: input.Invalid, Problems: []input.Problem{{Pointer: pointer, Detail: detail}}}
}

// notJSON is the error that the member "stream" is no well-formed JSON.
func notJSON(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err
	}
	return &input.Error{Kind: input.Malformed, Problems: []input.Problem{{
		Pointer: "/stream" + string(syntax.JSONPointer), Detail: "is not well-formed JSON",
	}}}
}

package api

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

	"plannerd/internal/analyses"
	"plannerd/internal/statsio"
)

// message is one element of the member "stream": a key, or a key and its cost.
type message struct {
	key  []byte
	cost float64
}

// decodeStream reads the member "stream" of a JSON body. It ends at the first
// message that is wrong.
func decodeStream(text []byte, o statsio.Options, keys keyCoder) (*analyses.Input, error) {
	if len(text) == 0 || text[0] != '[' {
		return nil, invalid().with("/stream", "must be a list of keys")
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := d.ReadToken(); err != nil { // the bracket
		return nil, jsonProblem(err, "/stream")
	}
	b := analyses.NewStreamBuilder(o)
	var m message
	for i := 0; d.PeekKind() != ']'; i++ {
		value, err := d.ReadValue()
		if err != nil {
			return nil, jsonProblem(err, "/stream")
		}
		if detail := m.read(value, keys); detail != "" {
			return nil, invalid().with("/stream/"+strconv.Itoa(i), detail)
		}
		if err := b.Add(m.key, m.cost); err != nil {
			return nil, inStream(err)
		}
	}
	return b.Input(), nil
}

// read takes a message from its JSON, or says what is wrong with it.
func (m *message) read(value jsontext.Value, keys keyCoder) (wrong string) {
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
	return m.decode(keys)
}

// decode replaces a key that is written in base64 by what it stands for.
func (m *message) decode(keys keyCoder) (wrong string) {
	if !keys.base64 {
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
	var refused *statsio.Error
	if errors.As(err, &refused) {
		for i, p := range refused.Problems {
			if row, _, ok := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/"); ok {
				refused.Problems[i].Pointer = "/stream/" + row
			}
		}
	}
	return err
}

// decodeLines reads a stream of one key a line.
func decodeLines(r io.Reader, o statsio.Options, keys keyCoder) (*analyses.Input, error) {
	if !keys.base64 {
		return analyses.ReadStream(r, o)
	}
	b := analyses.NewStreamBuilder(o)
	lines := bufio.NewScanner(r)
	for i := 0; lines.Scan(); i++ {
		m := message{key: lines.Bytes()}
		if wrong := m.decode(keys); wrong != "" {
			return nil, invalid().with("/"+strconv.Itoa(i)+"/key", wrong)
		}
		if err := b.Add(m.key, 1); err != nil {
			return nil, err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, invalid().with("", "a line is longer than any key")
	}
	return b.Input(), lines.Err()
}

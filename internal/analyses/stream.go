package analyses

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input"
)

// DecodeStream reads the member "stream" of a JSON body: a list of keys. They are in
// base64 where o says so. It ends at the first message that is wrong;
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
	var key []byte
	for i := 0; d.PeekKind() != ']'; i++ {
		value, err := d.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		at := "/stream/" + strconv.Itoa(i)
		if key, err = jsontext.AppendUnquote(key[:0], value); err != nil || value.Kind() != '"' {
			return nil, wrong(at, "must be a key")
		}
		if key, err = decodeKey(key, o.Base64Keys); err != nil {
			return nil, wrong(at, err.Error())
		}
		if err := b.Add(key); err != nil {
			return nil, inStream(err)
		}
	}
	return b.Input(), nil
}

// decodeKey replaces a key that is written in base64 by what it stands for.
func decodeKey(key []byte, base64Keys bool) ([]byte, error) {
	if !base64Keys {
		return key, nil
	}
	decoded, err := base64.StdEncoding.Strict().AppendDecode(nil, key)
	if err != nil || bytes.ContainsAny(key, "\r\n") { // which the decoder skips
		return nil, errors.New("must be base64 (standard alphabet, padded)")
	}
	return decoded, nil
}

// inStream points an error of a stream builder into the member "stream".
func inStream(err error) error {
	var refused *input.Error
	if errors.As(err, &refused) {
		for i, p := range refused.Problems {
			if row, _, ok := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/"); ok {
				refused.Problems[i].Pointer = "/stream/" + row
			}
		}
	}
	return err
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

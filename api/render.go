package api

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"plannerd/internal/httpkit"
)

// listRevision counts the ways in which long lists have been written. It is part
// of their ETags.
const listRevision = 2

// etagOfList returns the strong validator of an answer with long lists, which are
// not at hand: what comes before them, and what is asked for, decide what they are.
func etagOfList(head []byte, asked string) string {
	return httpkit.ETag(fmt.Appendf(head[:len(head):len(head)], "\nlists %d: %s", listRevision, asked))
}

// keyCoder writes the keys of one answer, all in the same encoding.
type keyCoder struct{ base64 bool }

// see makes the answer base64 when key is not valid UTF-8.
func (c *keyCoder) see(key []byte) {
	c.base64 = c.base64 || !utf8.Valid(key)
}

// text returns the key as a string of the answer.
func (c keyCoder) text(key []byte) string {
	if c.base64 {
		return base64.StdEncoding.EncodeToString(key)
	}
	return string(key)
}

// member returns the value of key_encoding, or "" where it is left out.
func (c keyCoder) member() string {
	if c.base64 {
		return "base64"
	}
	return ""
}

// decodeKey is the inverse of text.
func (c keyCoder) decodeKey(text string) ([]byte, bool) {
	if !c.base64 {
		return []byte(text), utf8.ValidString(text)
	}
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	return key, err == nil
}

// appendMember appends `,"name":value` to an object that is still open.
func appendMember(b []byte, name string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return append(b, text...), nil
}

// openObject marshals v, which must be a struct with at least one member, and
// leaves the object open.
func openObject(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return b[:len(b)-1], nil
}

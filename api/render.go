package api

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"plannerd/internal/service/listing"
	"plannerd/internal/web/httpkit"
)

// The media types of bodies.
const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
	mediaArrow  = "application/vnd.apache.arrow.stream"
	mediaText   = "text/plain" // a stream of one key a line
)

// listRevision counts the ways in which long lists have been written. It is part
// of their ETags.
const listRevision = 6

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

// openObject marshals the members of some structs or objects as one object, and leaves
// it open. Each must have a member.
func openObject(parts ...any) ([]byte, error) {
	out := []byte{'{'}
	for i, part := range parts {
		text, err := json.Marshal(part, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text[1:len(text)-1]...)
	}
	return out, nil
}

// answer is an answer that is sent while it is written. The writer remembers its first
// error, and takes nothing after it: only the end of an answer need ask.
type answer struct {
	*bufio.Writer
	keys keyCoder
}

func (a answer) text(text []byte) { _, _ = a.Write(text) }

// lists writes lists as further members of an object.
func (a answer) lists(parts ...listing.Part) {
	for _, p := range parts {
		a.text([]byte(`,"` + p.Name + `":`))
		_ = p.List.WriteJSON(a.Writer, a.keys.base64)
	}
}

// end writes the end, and tells whether all was written.
func (a answer) end(text string) error {
	_, err := a.WriteString(text)
	return err
}

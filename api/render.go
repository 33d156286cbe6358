package api

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// writeBody answers with a whole body.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client is gone
}

// writeJSON answers 200 with v.
func writeJSON(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

// writeStatus answers with v.
func writeStatus(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeBody(w, status, "application/json", body)
	return nil
}

// writeTagged answers with a body and its ETag, or with 304 when the client has
// it already.
func writeTagged(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	if notModified(w, r, etagOf(body)) {
		return
	}
	writeBody(w, http.StatusOK, contentType, body)
}

// writeTaggedJSON is writeTagged for v.
func writeTaggedJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeTagged(w, r, "application/json", body)
	return nil
}

// etagOf returns the strong validator of a representation.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// listRevision counts the ways in which long lists have been written. It is part
// of their ETags.
const listRevision = 2

// etagOfList returns the strong validator of an answer with long lists, which are
// not at hand: what comes before them, and what is asked for, decide what they are.
func etagOfList(head []byte, asked string) string {
	return etagOf(fmt.Appendf(head[:len(head):len(head)], "\nlists %d: %s", listRevision, asked))
}

// etagOfText is etagOf for a body that is written twice: now, and as the answer.
func etagOfText(body func(*bufio.Writer) error) (string, error) {
	sum := sha256.New()
	out := bufio.NewWriter(sum)
	if err := body(out); err != nil {
		return "", err
	}
	if err := out.Flush(); err != nil {
		return "", err
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`, nil
}

// notModified sets the ETag and, when the client names it, answers 304.
func notModified(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	named, has := has(r, etag)
	if !has {
		return false
	}
	if named != "" {
		w.Header().Set("ETag", named)
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// has tells whether the client has a representation with one of the ETags, and by
// which name; "" if it names any.
func has(r *http.Request, etags ...string) (named string, found bool) {
	for candidate := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == "*" {
			return "", true
		}
		if slices.Contains(etags, plainETag(candidate)) {
			return candidate, true
		}
	}
	return "", false
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

// append appends the key as a JSON string.
func (c keyCoder) append(b, key []byte) []byte {
	if c.base64 {
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), key), '"')
	}
	b, _ = jsontext.AppendQuote(b, key) // it fails on invalid UTF-8 only, which see has seen
	return b
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

func milliseconds[T ~int64](d T) float64 { return math.Round(float64(d)/1e3) / 1e3 }

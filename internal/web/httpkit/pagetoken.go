package httpkit

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
)

// Sizes of the pages of a list.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
)

// CoercePageSize makes a page_size that overflows every integer type the greatest.
func CoercePageSize(query url.Values) {
	if n, err := strconv.ParseInt(query.Get("page_size"), 10, 64); n > 0 && errors.Is(err, strconv.ErrRange) {
		query.Set("page_size", strconv.Itoa(MaxPageSize))
	}
}

// PageSize returns the page_size of a query in which it is a positive number or not
// there.
func PageSize(query url.Values) int {
	n, err := strconv.ParseInt(query.Get("page_size"), 10, 64)
	if err != nil {
		return DefaultPageSize
	}
	return int(min(n, MaxPageSize))
}

// Skip returns the skip of a query in which it is a number or not there.
func Skip(query url.Values) int {
	n, err := strconv.Atoi(query.Get("skip"))
	if err != nil {
		return 0
	}
	return n
}

// PageToken says where a page of a list begins, in one of the ways that lists have.
type PageToken struct {
	// Identity is that of the list and of the parameters that the token belongs to.
	Identity [8]byte `json:"q"`
	After    string  `json:"a,omitzero"` // a name
	Before   int64   `json:"b,omitzero"` // a cursor
	Offset   int     `json:"o,omitzero"`
}

// ErrPageToken is the error of a page token that does not belong to the request.
var ErrPageToken = errors.New("the page token is not from this list with these parameters")

// ReadPageToken returns the page_token of a request for the list at path, or that
// of the first page when the query has none. It fails with [ErrPageToken].
func ReadPageToken(path string, query url.Values) (PageToken, error) {
	parameters := url.Values{}
	for name, values := range query {
		if name != "page_token" && name != "page_size" && name != "skip" {
			parameters[name] = values
		}
	}
	sum := sha256.Sum256([]byte(path + "?" + parameters.Encode()))
	first := PageToken{Identity: [8]byte(sum[:8])}
	text := query.Get("page_token")
	if text == "" {
		return first, nil
	}
	var t PageToken
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &t, json.RejectUnknownMembers(true))
	}
	if err != nil || t.Identity != first.Identity || t.Offset < 0 || t.Before < 0 {
		return first, ErrPageToken
	}
	return t, nil
}

// Text returns the token as it stands in an answer.
func (t PageToken) Text() *string {
	raw, err := json.Marshal(t)
	if err != nil {
		panic(err) // After is valid UTF-8: the name of something in the list
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	return &text
}

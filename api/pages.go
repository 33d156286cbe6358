package api

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
)

const (
	defaultPageSize = 100
	maxPageSize     = 1000
)

// coercePageSize makes a page_size that no integer type holds the greatest.
func coercePageSize(query url.Values) {
	if n, err := strconv.ParseInt(query.Get("page_size"), 10, 64); n > 0 && errors.Is(err, strconv.ErrRange) {
		query.Set("page_size", strconv.Itoa(maxPageSize))
	}
}

// pageSize returns the page_size of a checked query.
func pageSize(query url.Values) int {
	n, err := strconv.ParseInt(query.Get("page_size"), 10, 64)
	if err != nil { // there is none: the contract has seen that it is a number
		return defaultPageSize
	}
	return int(min(n, maxPageSize))
}

// skipped returns the skip of a checked query.
func skipped(query url.Values) int {
	n, err := strconv.Atoi(query.Get("skip"))
	if err != nil { // like page_size
		return 0
	}
	return n
}

// pageToken says where a page begins, in the way of its list.
type pageToken struct {
	list string // the path of the list

	// Query identifies the list and the parameters that the token belongs to.
	Query  [8]byte `json:"q"`
	After  string  `json:"a,omitzero"` // a name
	Before int64   `json:"b,omitzero"` // a cursor of the store
	Offset int     `json:"o,omitzero"`
}

// read fills in the page_token of a query, if it has one.
func (t *pageToken) read(query url.Values) error {
	identity := url.Values{}
	for name, values := range query {
		if name != "page_token" && name != "page_size" && name != "skip" {
			identity[name] = values
		}
	}
	sum := sha256.Sum256([]byte(t.list + "?" + identity.Encode()))
	want := [8]byte(sum[:8])
	defer func() { t.Query = want }()
	text := query.Get("page_token")
	if text == "" {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, t, json.RejectUnknownMembers(true))
	}
	if err != nil || t.Query != want || t.Offset < 0 || t.Before < 0 {
		return (&problem{status: http.StatusBadRequest, code: wire.CodeInvalidPageToken, detail: "The page token is none of this list with these parameters."}).
			withParameter("page_token", "must be the next_page_token of an answer to the same request")
	}
	return nil
}

// text returns the token as it stands in an answer.
func (t *pageToken) text() *string {
	raw, err := json.Marshal(t)
	must(err) // numbers and a name that the contract has checked
	text := base64.RawURLEncoding.EncodeToString(raw)
	return &text
}

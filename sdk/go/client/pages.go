package client

import (
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
)

// errSamePage says that a list would never end.
var errSamePage = errors.New("client: the next page of the list is the same again")

// pages yields the items of all pages of a list, from the page of a token on. Only the
// first page skips items. of returns the items of a page, and the token of the next one.
func pages[L, T any](
	token string, skip int64, fetch func(token string, skip int64) (*L, error), of func(*L) ([]T, *string, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at, skip := token, skip; ; skip = 0 {
			var items []T
			var next *string
			page, err := fetch(at, skip)
			if err == nil {
				items, next, err = of(page)
			}
			if err == nil && next != nil && *next != "" && *next == at {
				err = errSamePage
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range items {
				if !yield(one, nil) {
					return
				}
			}
			if next == nil || *next == "" {
				return
			}
			at = *next
		}
	}
}

// decodeKey puts the bytes of a key in base64 in its place.
func decodeKey(key *string) error {
	bytes, err := base64.StdEncoding.DecodeString(*key)
	if err != nil {
		return fmt.Errorf("client: a key of the list: %w", err)
	}
	*key = string(bytes)
	return nil
}

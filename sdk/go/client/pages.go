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
// first page skips items.
func pages[T any](
	token string, skip int64, page func(token string, skip int64) (items []T, next *string, err error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at, skip := token, skip; ; skip = 0 {
			items, next, err := page(at, skip)
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

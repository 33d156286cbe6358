package main

import (
	"encoding/base64"
	"fmt"
	"strings"

	"plannerd/internal/cli"
)

// tableEntry is an entry of a routing table, as the HTTP API writes it.
type tableEntry struct {
	Key      string `json:"key"`
	Instance int32  `json:"instance"`
}

// keyEncoder writes keys as they are, or all in base64: when that is asked for, and in
// JSON when one is not UTF-8.
type keyEncoder bool

func (base64Keys keyEncoder) encode(key []byte) string {
	if base64Keys {
		return base64.StdEncoding.EncodeToString(key)
	}
	return string(key)
}

// decode reads a key that encode wrote.
func (base64Keys keyEncoder) decode(text string) ([]byte, error) {
	if !base64Keys {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not base64 (standard alphabet, padded)", clip(text))
	}
	return key, nil
}

// clip cuts what is too long to be quoted.
func clip(s string) string {
	if len(s) > cli.KeyWidth {
		return strings.ToValidUTF8(s[:cli.KeyWidth], "") + "…"
	}
	return s
}

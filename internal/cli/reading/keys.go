package reading

import (
	"encoding/base64"
	"fmt"
	"strings"

	"plannerd/internal/cli"
)

// KeyEncoder writes keys as they are, or all in base64: when that is asked for, and in
// JSON when one is not UTF-8.
type KeyEncoder bool

// Encode writes a key.
func (base64Keys KeyEncoder) Encode(key []byte) string {
	if base64Keys {
		return base64.StdEncoding.EncodeToString(key)
	}
	return string(key)
}

// decode reads a key that Encode wrote.
func (base64Keys KeyEncoder) decode(text string) ([]byte, error) {
	if !base64Keys {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not base64 (standard alphabet, padded)", Clip(text))
	}
	return key, nil
}

// Clip cuts what is too long to be quoted.
func Clip(s string) string {
	if len(s) > cli.KeyWidth {
		return strings.ToValidUTF8(s[:cli.KeyWidth], "") + "…"
	}
	return s
}

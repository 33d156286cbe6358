package columns

import (
	"bytes"
	"encoding/base64"

	"plannerd/planner"
)

// keyList gathers the keys of a document.
type keyList struct {
	Base64 bool // keys are written in base64
	// Late: a later member may still say that keys are base64. Keys that would be
	// too long otherwise are then kept aside.
	Late bool

	keys     *planner.Keys
	room     int // keys that fit without growing
	expected int // rows; 0: not known
	meter    *Meter
	long     []longKey
	decoded  []byte
}

// longKey is a key that is acceptable only if it is base64 text.
type longKey struct {
	row  int
	text []byte
}

// check returns the key that a text stands for, or what is wrong with it; nil: it is kept aside,
// or there is no memory for it.
func (k *keyList) check(row int, text []byte) (key []byte, detail string) {
	key = text
	if k.Base64 {
		var ok bool
		if key, ok = k.decode(text); !ok {
			return nil, DetailBase64
		}
	}
	if len(key) > 0 && len(key) <= planner.MaxKeyBytes {
		return key, ""
	}
	if !k.Late || len(key) == 0 || len(key) > base64.StdEncoding.EncodedLen(planner.MaxKeyBytes) {
		return nil, DetailKey
	}
	if k.meter.Take(len(key) + SizeOf[longKey](2)) {
		k.long = append(k.long, longKey{row, bytes.Clone(key)})
	}
	return nil, ""
}

// KeysFor returns the keys with room for so many more, of so many bytes together; nil when the
// meter refuses that.
func (k *keyList) KeysFor(more, text int) *planner.Keys {
	if k.room < k.keys.Len()+more && !k.grow(more) {
		return nil
	}
	if block := k.keys.Allocates(text); block != 0 && !k.meter.Take(max(block, text)) {
		return nil
	}
	return k.keys
}

// grow doubles the room for keys, or follows the hint once it can be
// believed. There will be room for more keys than there are, which are at hand. It
// reports whether the meter allows that.
func (k *keyList) grow(more int) bool {
	n, least := k.room, k.keys.Len()+more
	room := max(firstChunkRows, min(k.expected, chunkRows), 2*n, least)
	if hinted(k.expected, least-1) {
		room = k.expected
	}
	if !k.meter.Take(room * planner.KeyBytes) {
		return false
	}
	k.room = room
	k.keys.GrowUnhashed(room - k.keys.Len())
	k.meter.Give(n * planner.KeyBytes)
	return true
}

// decode returns the bytes that text stands for, valid until the next call.
func (k *keyList) decode(text []byte) ([]byte, bool) {
	if bytes.ContainsAny(text, "\r\n") { // which the standard decoder would skip
		return nil, false
	}
	var err error
	k.decoded, err = base64.StdEncoding.Strict().AppendDecode(k.decoded[:0], text)
	return k.decoded, err == nil
}

package planner

import (
	"slices"

	"github.com/twmb/murmur3"
)

// MaxKeyBytes is the greatest length of a key, in bytes.
const MaxKeyBytes = 1024

// The buffers that keys are interned into. A key never straddles two of them.
const (
	keyBlockBytes      = 1 << 20
	firstKeyBlockBytes = 64 << 10 // of lists with little room: small inputs should stay small
)

// KeyBytes is what a list of keys holds for each key besides its text, in bytes.
const KeyBytes = 16

// Keys is an append-only list of byte-string keys, interned into few large
// buffers, with the hash of each. The zero value is an empty list. It holds no
// pointer per key, so the garbage collector does not visit keys.
type Keys struct {
	blocks [][]byte
	refs   []uint64 // block<<32 | offset<<11 | length
	hashes []uint64
}

// NewKeys returns an empty list with room for n keys.
func NewKeys(n int) *Keys {
	return &Keys{refs: make([]uint64, 0, n), hashes: make([]uint64, 0, n)}
}

// KeysOf returns the list of the given strings.
func KeysOf(keys ...string) *Keys {
	k := NewKeys(len(keys))
	for _, s := range keys {
		k.Append([]byte(s))
	}
	return k
}

// Grow makes room for n more keys, so that appending them copies no others.
func (k *Keys) Grow(n int) {
	k.refs, k.hashes = slices.Grow(k.refs, n), slices.Grow(k.hashes, n)
}

// Append copies key to the end of the list. It panics when key is longer than
// [MaxKeyBytes]: decoders check that before.
func (k *Keys) Append(key []byte) {
	if len(key) > MaxKeyBytes {
		panic("planner: key longer than MaxKeyBytes")
	}
	if size := k.Allocates(len(key)); size > 0 {
		k.blocks = append(k.blocks, make([]byte, 0, size))
	}
	last := len(k.blocks) - 1
	b := k.blocks[last]
	k.refs = append(k.refs, uint64(last)<<32|uint64(len(b))<<11|uint64(len(key)))
	k.blocks[last] = append(b, key...)
	k.hashes = append(k.hashes, KeyHash(key))
}

// Allocates is the size of the buffer that a key of n bytes needs if it is
// appended next; 0 when it fits into the last one.
func (k *Keys) Allocates(n int) int {
	last := len(k.blocks) - 1
	switch {
	case last >= 0 && len(k.blocks[last])+n <= cap(k.blocks[last]):
		return 0
	case last < 0 && cap(k.refs) < 4096:
		return firstKeyBlockBytes
	}
	return keyBlockBytes
}

// Bytes is how much memory the list holds.
func (k *Keys) Bytes() int64 {
	if k == nil {
		return 0
	}
	n := int64(cap(k.refs)) * KeyBytes
	for _, b := range k.blocks {
		n += int64(cap(b))
	}
	return n
}

// Len is the number of keys.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return len(k.refs)
}

// At returns key i. The slice is shared: it must not be changed.
func (k *Keys) At(i int) []byte {
	r := k.refs[i]
	off, n := r>>11&(1<<21-1), r&(1<<11-1)
	return k.blocks[r>>32][off : off+n : off+n]
}

// Hash returns [KeyHash] of key i.
func (k *Keys) Hash(i int) uint64 { return k.hashes[i] }

// KeyHash is the first half of murmur3_x64_128 with seed 0 of the key. It
// orders ties, places keys under the modulo hash and indexes
// routing tables.
func KeyHash(key []byte) uint64 { return murmur3.Sum64(key) }

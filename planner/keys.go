package planner

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"plannerd/planner/internal/assign"
	"plannerd/sdk/go/route"
)

// MaxKeyBytes is the greatest length of a key, in bytes.
const MaxKeyBytes = route.MaxKeyBytes

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
	hashes []uint64 // fewer than refs until HashAppended
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

// GrowUnhashed makes room for n more keys, so that AppendUnhashed copies no
// others.
func (k *Keys) GrowUnhashed(n int) { k.refs = slices.Grow(k.refs, n) }

// Append copies key to the end of the list. It panics when key is longer than
// [MaxKeyBytes]: decoders check that before.
func (k *Keys) Append(key []byte) {
	k.AppendUnhashed(key)
	k.hashes = append(k.hashes, KeyHash(key))
}

// AppendUnhashed is Append, but leaves the key's hash to HashAppended, which must
// follow before anything else is done with the list.
func (k *Keys) AppendUnhashed(key []byte) {
	if len(key) > MaxKeyBytes {
		panic("planner: key longer than MaxKeyBytes")
	}
	last := k.block(len(key))
	b := k.blocks[last]
	k.refs = append(k.refs, uint64(last)<<32|uint64(len(b))<<11|uint64(len(key)))
	k.blocks[last] = append(b, key...)
}

// HashAppended computes the hashes that AppendUnhashed left out, on all
// processors.
func (k *Keys) HashAppended() {
	done := len(k.hashes)
	more := len(k.refs) - done
	k.hashes = slices.Grow(k.hashes, more)[:done+more]
	assign.InParts(more, func(_, from, to int) {
		for i := done + from; i < done+to; i++ {
			k.hashes[i] = KeyHash(k.At(i))
		}
	})
}

// block returns the buffer for the next key, which is n bytes long.
func (k *Keys) block(n int) int {
	if size := k.Allocates(n); size > 0 {
		k.blocks = append(k.blocks, make([]byte, 0, size))
	}
	return len(k.blocks) - 1
}

// AppendKeys is AppendUnhashed for keys that lie one behind the other: key i is
// text[offsets[i]:offsets[i+1]].
func AppendKeys[O int32 | int64](k *Keys, text []byte, offsets []O) {
	for len(offsets) > 1 {
		last := k.block(int(offsets[1] - offsets[0]))
		b := k.blocks[last]
		n := sort.Search(len(offsets)-1, func(i int) bool { return int(offsets[i+1]-offsets[0]) > cap(b)-len(b) })
		if n == 0 {
			panic("planner: key longer than MaxKeyBytes")
		}
		ref := uint64(last)<<32 | uint64(len(b))<<11
		for i, end := range offsets[1 : n+1] {
			key := text[offsets[i]:end]
			if len(key) > MaxKeyBytes {
				panic("planner: key longer than MaxKeyBytes")
			}
			k.refs = append(k.refs, ref|uint64(len(key)))
			ref += uint64(len(key)) << 11
		}
		k.blocks[last] = append(b, text[offsets[0]:offsets[n]]...)
		offsets = offsets[n:]
	}
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

// Clone returns a list of the same keys, to which others can be appended.
func (k *Keys) Clone() *Keys {
	if k == nil {
		return NewKeys(0)
	}
	out := &Keys{refs: slices.Clip(k.refs), hashes: slices.Clip(k.hashes), blocks: slices.Clone(k.blocks)}
	for i, b := range out.blocks {
		out.blocks[i] = slices.Clip(b)
	}
	return out
}

// Same reports whether key i is key j of another list.
func (k *Keys) Same(i int, of *Keys, j int) bool {
	return k.hashes[i] == of.hashes[j] && bytes.Equal(k.At(i), of.At(j))
}

// Len is the number of keys.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return len(k.refs)
}

// Bytes is about how much memory the list takes.
func (k *Keys) Bytes() int {
	if k == nil {
		return 0
	}
	size := 8 * (cap(k.refs) + cap(k.hashes))
	for _, b := range k.blocks {
		size += cap(b)
	}
	return size
}

// At returns key i. The slice is shared: it must not be changed.
func (k *Keys) At(i int) []byte {
	r := k.refs[i]
	off, n := r>>11&(1<<21-1), r&(1<<11-1)
	return k.blocks[r>>32][off : off+n : off+n]
}

// Hash returns [KeyHash] of key i.
func (k *Keys) Hash(i int) uint64 { return k.hashes[i] }

// KeyHash is [route.KeyHash] of the key. It orders ties, places keys under the modulo
// hash and indexes routing tables.
func KeyHash(key []byte) uint64 { return route.KeyHash(key) }

// Compare orders keys i and j canonically: ascending hash, then bytes. It is
// how all ties are broken, so that the order of the rows never matters.
func (k *Keys) Compare(i, j int32) int {
	if c := cmp.Compare(k.hashes[i], k.hashes[j]); c != 0 {
		return c
	}
	return bytes.Compare(k.At(int(i)), k.At(int(j)))
}

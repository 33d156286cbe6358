package route

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// MaxKeyBytes is the greatest length of a key, in bytes.
const MaxKeyBytes = 1024

// layer is a hash table of entries, by open addressing. It is filled once, and from then
// on only read. It holds a pointer for split keys only, so that the garbage collector
// does not visit keys.
type layer struct {
	slots  []slot // a power of two, less than half of them taken
	used   int
	text   []byte // of the keys, one behind the other
	splits []split
}

// slot is what a lookup needs to know of an entry, in one line of the cache; only the text
// of the key lies elsewhere.
type slot struct {
	tag      uint32 // the upper half of the key's hash
	offset   uint32 // of the key's text
	length   uint16
	kind     kind
	instance int32 // of a split key its index into splits
}

type kind uint8

const (
	free kind = iota
	whole
	divided
	unset // there was an entry, and is none any more
)

func newLayer(keys int) *layer {
	return &layer{slots: make([]slot, 1<<bits.Len(uint(2*keys)))}
}

// find returns a key's slot, or nil. The hash is [KeyHash] of the key.
func (l *layer) find(key []byte, hash uint64) *slot {
	if l.used == 0 {
		return nil
	}
	mask, tag := uint64(len(l.slots)-1), uint32(hash>>32)
	for i := hash; ; i++ {
		s := &l.slots[i&mask]
		if s.kind == free {
			return nil
		}
		if s.tag == tag && bytes.Equal(l.textOf(s), key) {
			return s
		}
	}
}

func (l *layer) textOf(s *slot) []byte { return l.text[s.offset:][:s.length] }

// entry is what a slot that is taken says.
func (l *layer) entry(s *slot) Entry {
	e := Entry{Key: l.textOf(s), Instance: s.instance}
	if s.kind == divided {
		e.Instance, e.Parts = l.splits[s.instance].heaviest, l.splits[s.instance].parts
	}
	return e
}

// put adds or replaces the entry of a key, for which there is room. The turn is that of
// the key so far; nil: it was not split.
func (l *layer) put(e Entry, hash, router uint64, turn *atomic.Uint32) error {
	s, err := l.slotFor(e.Key, hash)
	if err != nil {
		return err
	}
	if e.Parts == nil {
		s.kind, s.instance = whole, e.Instance
		return nil
	}
	if err := ValidateParts(e.Parts); err != nil {
		return &EntryError{string(e.Key), "parts " + err.Error()}
	}
	if turn == nil {
		turn = newTurn(hash, router)
	}
	s.kind, s.instance = divided, int32(len(l.splits))
	l.splits = append(l.splits, split{e.Instance, slices.Clone(e.Parts), turn})
	return nil
}

// unset notes that a key has no entry.
func (l *layer) unset(key []byte, hash uint64) error {
	s, err := l.slotFor(key, hash)
	if err == nil {
		s.kind = unset
	}
	return err
}

func (l *layer) unsetAll(keys [][]byte) error {
	for _, key := range keys {
		if err := l.unset(key, KeyHash(key)); err != nil {
			return err
		}
	}
	return nil
}

// slotFor returns the slot of a key, which it takes if the key has none.
func (l *layer) slotFor(key []byte, hash uint64) (*slot, error) {
	if s := l.find(key, hash); s != nil {
		return s, nil
	}
	switch {
	case len(key) > MaxKeyBytes:
		return nil, &EntryError{string(key), "is longer than 1024 bytes"}
	case len(l.text)+len(key) > math.MaxUint32:
		return nil, &EntryError{string(key), "is too much: all keys together are longer than 4 GiB"}
	}
	s := l.free(hash)
	*s = slot{tag: uint32(hash >> 32), offset: uint32(len(l.text)), length: uint16(len(key))}
	l.text = append(l.text, key...)
	l.used++
	return s, nil
}

func (l *layer) free(hash uint64) *slot {
	mask := uint64(len(l.slots) - 1)
	for i := hash; ; i++ {
		if s := &l.slots[i&mask]; s.kind == free {
			return s
		}
	}
}

// with returns a copy with room for more keys.
func (l *layer) with(more int) (*layer, error) { return newLayer(l.used+more).add(l, nil) }

// merged returns the entries of l as changed by another layer.
func (l *layer) merged(changes *layer) (*layer, error) {
	out, err := newLayer(l.used+changes.used).add(l, changes)
	if err != nil {
		return nil, err
	}
	return out.add(changes, nil)
}

// add adds what a layer says of keys that are not in the other.
func (l *layer) add(from, but *layer) (*layer, error) {
	l.text = slices.Grow(l.text, len(from.text))
	for i := range from.slots {
		s := &from.slots[i]
		if s.kind == free {
			continue
		}
		key := from.textOf(s)
		hash := KeyHash(key)
		if but != nil && but.find(key, hash) != nil {
			continue
		}
		to, err := l.slotFor(key, hash)
		if err != nil {
			return nil, err
		}
		if to.kind, to.instance = s.kind, s.instance; s.kind == divided {
			to.instance = int32(len(l.splits))
			l.splits = append(l.splits, from.splits[s.instance])
		}
	}
	return l, nil
}

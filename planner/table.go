package planner

import (
	"bytes"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// Entry is one line of a routing table: key goes to the instance with that id, or to those
// of its parts.
type Entry struct {
	Key      []byte
	Instance int32 // of the heaviest part, the lowest id among equals, where there are parts
	// Parts are where a split key goes: ids ascending, two at least, weights that sum up
	// to PartUnits. Nil: the key is whole.
	Parts []Part
}

// RoutingTable is the immutable set of keys routed explicitly, A in the paper.
// Entries are in ascending byte order of their keys. A nil table is empty.
type RoutingTable struct {
	keys      *Keys
	instances []int32
	parts     map[int32][]Part // of the entries of split keys
	extra     int64            // how many parts there are more than such entries
	slots     []uint64         // open addressing: upper half of the key's hash <<32 | entry+1
	mask      uint64
}

// NewRoutingTable builds a table of the given entries, in any order; where an entry has
// parts, its instance follows from them. A key that stands twice or is too long, and
// parts that are not as [Entry] says, are an [InputError] whose Row is the index of the
// (second) entry.
func NewRoutingTable(entries []Entry) (*RoutingTable, error) {
	order := assign.UpTo(len(entries))
	slices.SortStableFunc(order, func(a, b int32) int { return bytes.Compare(entries[a].Key, entries[b].Key) })
	t := &RoutingTable{keys: NewKeys(len(entries)), instances: make([]int32, 0, len(entries))}
	t.keys.reserve(entries)
	size := uint64(1) << bits.Len(uint(2*len(entries)))
	t.slots, t.mask = make([]uint64, size), size-1
	for n, i := range order {
		e := entries[i]
		if len(e.Key) > MaxKeyBytes {
			return nil, InvalidRow(int(i), "Key", "is longer than 1024 bytes")
		}
		if n > 0 && bytes.Equal(entries[order[n-1]].Key, e.Key) {
			return nil, InvalidRow(int(i), "Key", "stands twice in the routing table")
		}
		if err := t.split(n, &e); err != nil {
			return nil, InvalidRow(int(i), "Parts", err.Error())
		}
		t.keys.Append(e.Key)
		t.instances = append(t.instances, e.Instance)
		h := t.keys.Hash(n)
		s := h & t.mask
		for t.slots[s] != 0 {
			s = (s + 1) & t.mask
		}
		t.slots[s] = h>>32<<32 | uint64(n+1)
	}
	return t, nil
}

// reserve makes room for the keys of a table: many tables may be in memory, most
// of them small.
func (k *Keys) reserve(entries []Entry) {
	size := 0
	for _, e := range entries {
		size += min(len(e.Key), MaxKeyBytes)
	}
	k.blocks = append(k.blocks, make([]byte, 0, min(size, keyBlockBytes)))
}

// split keeps the parts of entry i, if it has any.
func (t *RoutingTable) split(i int, e *Entry) error {
	if e.Parts == nil {
		return nil
	}
	if err := ValidateParts(e.Parts); err != nil {
		return err
	}
	if t.parts == nil {
		t.parts = make(map[int32][]Part)
	}
	t.parts[int32(i)] = e.Parts
	t.extra += int64(len(e.Parts) - 1)
	e.Instance = Split{Parts: e.Parts}.Heaviest().Instance
	return nil
}

// Size is what counts against a table limit: one for each entry, and for a split key one
// for each part.
func (t *RoutingTable) Size() int64 {
	if t == nil {
		return 0
	}
	return int64(len(t.instances)) + t.extra
}

// Len is the number of entries: of keys.
func (t *RoutingTable) Len() int {
	if t == nil {
		return 0
	}
	return len(t.instances)
}

// Bytes is about how much memory the table takes.
func (t *RoutingTable) Bytes() int {
	if t == nil {
		return 0
	}
	return t.keys.Bytes() + 4*cap(t.instances) + 8*len(t.slots) + 64*len(t.parts) + 8*int(t.extra)
}

// At returns entry i in ascending byte order of the keys. Its key and parts are shared.
func (t *RoutingTable) At(i int) Entry { return Entry{t.keys.At(i), t.instances[i], t.parts[int32(i)]} }

// entrySize is what entry i counts.
func (t *RoutingTable) entrySize(i int32) int64 { return max(1, int64(len(t.parts[i]))) }

// Find returns the index of key's entry, or −1. hash is [KeyHash] of key.
func (t *RoutingTable) Find(key []byte, hash uint64) int {
	if t.Len() == 0 {
		return -1
	}
	for s := hash & t.mask; ; s = (s + 1) & t.mask {
		v := t.slots[s]
		if v == 0 {
			return -1
		}
		if v>>32 == hash>>32 {
			if i := int(v&(1<<32-1)) - 1; bytes.Equal(t.keys.At(i), key) {
				return i
			}
		}
	}
}

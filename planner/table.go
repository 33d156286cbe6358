package planner

import (
	"bytes"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// Entry is one line of a routing table: key goes to the instance with that id.
type Entry struct {
	Key      []byte
	Instance int32
}

// RoutingTable is the immutable set of keys routed explicitly, A in the paper.
// Entries are in ascending byte order of their keys. A nil table is empty.
type RoutingTable struct {
	keys      *Keys
	instances []int32
	slots     []uint64 // open addressing: upper half of the key's hash <<32 | entry+1
	mask      uint64
}

// NewRoutingTable builds a table of the given entries, in any order. A key that
// stands twice or is too long is an [InputError] whose Row is the index of its
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

// Len is the number of entries.
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
	return t.keys.Bytes() + 4*cap(t.instances) + 8*len(t.slots)
}

// At returns entry i in ascending byte order of the keys. Its key is shared.
func (t *RoutingTable) At(i int) Entry { return Entry{t.keys.At(i), t.instances[i]} }

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

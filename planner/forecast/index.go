package forecast

import (
	"bytes"

	"plannerd/planner"
)

// index finds keys by their hash. A slot holds the number of a key plus one, below the
// upper half of its hash, by which others are mostly told apart; a key that finds its slot
// taken goes to the next one.
type index struct {
	slots []uint64
	keys  int
}

const (
	slotNumber = 1<<32 - 1
	slotHash   = ^uint64(slotNumber)
)

// build makes an index of all keys, unless there is one.
func (x *index) build(keys *planner.Keys) {
	if x.slots != nil && x.keys == keys.Len() {
		return
	}
	size := 16
	for size < 2*keys.Len() {
		size *= 2
	}
	*x = index{slots: make([]uint64, size)}
	for id := range keys.Len() {
		x.place(keys, int32(id))
	}
}

// insert adds the key that was appended last.
func (x *index) insert(keys *planner.Keys, id int32) {
	if 2*(x.keys+1) > len(x.slots) {
		x.slots = nil
		x.build(keys)
		return
	}
	x.place(keys, id)
}

func (x *index) place(keys *planner.Keys, id int32) {
	mask, hash := uint64(len(x.slots)-1), keys.Hash(int(id))
	at := hash & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = hash&slotHash | uint64(id+1)
	x.keys++
}

// next returns the first key from a slot on that may have a hash, or -1, and where it is.
func (x *index) next(at, hash uint64) (id int32, found uint64) {
	mask := uint64(len(x.slots) - 1)
	for at &= mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 || slot&slotHash == hash&slotHash {
			return int32(slot&slotNumber) - 1, at
		}
	}
}

// batch is how many keys findAll looks up at a time.
const batch = 256

// findAll looks up the keys of a list from one on whose ids are -1. It goes through them
// once for each thing that it reads: the memory fetches many at the same time then, where
// one key after the other would wait for each.
func (x *index) findAll(keys, of *planner.Keys, from int, ids []int32) {
	var likely [batch]int32
	var text [batch][]byte
	for i := range ids {
		likely[i] = -1
		if hash := of.Hash(from + i); ids[i] < 0 {
			likely[i], _ = x.next(hash, hash)
		}
	}
	for i := range ids {
		if id := likely[i]; id >= 0 {
			text[i] = keys.At(int(id))
		}
	}
	for i := range ids {
		if t := text[i]; len(t) > 0 && t[0] != of.At(from + i)[0] {
			likely[i] = -1
		}
	}
	for i := range ids {
		switch id := likely[i]; {
		case ids[i] >= 0:
		case id >= 0 && bytes.Equal(text[i], of.At(from+i)):
			ids[i] = id
		default:
			ids[i] = x.find(keys, of, from+i)
		}
	}
}

// find returns the number of the key that is key i of another list, or -1.
func (x *index) find(keys, of *planner.Keys, i int) int32 {
	hash := of.Hash(i)
	for id, at := x.next(hash, hash); id >= 0; id, at = x.next(at+1, hash) {
		if keys.Same(int(id), of, i) {
			return id
		}
	}
	return -1
}

package forecast

import "plannerd/planner"

// index finds keys by their hash. Its slots hold the number of a key plus one; a key
// that finds its slot taken goes to the next one.
type index struct {
	slots []int32
	keys  int
}

// build makes an index of all keys, unless there is one.
func (x *index) build(keys *planner.Keys) {
	if x.slots != nil && x.keys == keys.Len() {
		return
	}
	size := 16
	for size < 2*keys.Len() {
		size *= 2
	}
	*x = index{slots: make([]int32, size)}
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
	mask := uint64(len(x.slots) - 1)
	at := keys.Hash(int(id)) & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = id + 1
	x.keys++
}

// batch is how many keys findAll looks up at a time.
const batch = 256

// findAll looks up the keys of a list from one on whose ids are -1. It goes through them
// once for each thing that it reads: the memory fetches many at the same time then, where
// one key after the other would wait for each.
func (x *index) findAll(keys, of *planner.Keys, from int, ids []int32) {
	var likely [batch]int32
	mask := uint64(len(x.slots) - 1)
	for i := range ids {
		likely[i] = x.slots[of.Hash(from+i)&mask] - 1
	}
	for i := range ids {
		if id := likely[i]; id >= 0 && keys.Hash(int(id)) != of.Hash(from+i) {
			likely[i] = -1
		}
	}
	for i := range ids {
		switch id := likely[i]; {
		case ids[i] >= 0:
		case id >= 0 && keys.Same(int(id), of, from+i):
			ids[i] = id
		default:
			ids[i] = x.find(keys, of, from+i)
		}
	}
}

// find returns the number of the key that is key i of another list, or -1.
func (x *index) find(keys, of *planner.Keys, i int) int32 {
	mask := uint64(len(x.slots) - 1)
	for at := of.Hash(i) & mask; x.slots[at] != 0; at = (at + 1) & mask {
		if id := x.slots[at] - 1; keys.Same(int(id), of, i) {
			return id
		}
	}
	return -1
}

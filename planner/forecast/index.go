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

package grouping

import "slices"

// groups are the keys that have the same set of candidates, taken together: with
// two choices there are no more than W² of them, however many keys.
type groups struct {
	workers int
	fixed   []int64  // messages of keys with a single candidate, by worker
	start   []uint32 // of each group's members, in ascending order, and the end of the last
	member  []int32
	weight  []int64 // messages of each group
}

// newGroups groups the keys that have messages; an empty row has all workers.
func newGroups(table candidates, counts []int64, workers int) *groups {
	g := &groups{workers: workers, fixed: make([]int64, workers), start: []uint32{0}}
	index := newRowIndex(g)
	var anywhere int64
	var set []int32
	for k, n := range counts {
		row := table.row(int32(k))
		switch {
		case n == 0:
		case len(row) == 1:
			g.fixed[row[0]] += n
		case len(row) == 0 || len(row) == workers:
			anywhere += n
		default:
			set = append(set[:0], row...)
			slices.Sort(set)
			g.weight[index.of(set)] += n
		}
	}
	if anywhere > 0 {
		for w := range workers {
			g.member = append(g.member, int32(w))
		}
		g.start = append(g.start, uint32(len(g.member)))
		g.weight = append(g.weight, anywhere)
	}
	return g
}

func (g *groups) members(i int) []int32 { return g.member[g.start[i]:g.start[i+1]] }

// rowIndex finds groups by their members: open addressing, at most half full.
type rowIndex struct {
	groups *groups
	slots  []int32 // group + 1; 0 when empty
}

func newRowIndex(g *groups) *rowIndex { return &rowIndex{groups: g, slots: make([]int32, 1<<10)} }

// of returns the group of a set, which is added when it is new.
func (x *rowIndex) of(set []int32) int32 {
	at := x.find(set)
	if x.slots[at] == 0 {
		g := x.groups
		g.member = append(g.member, set...)
		g.start = append(g.start, uint32(len(g.member)))
		g.weight = append(g.weight, 0)
		x.slots[at] = int32(len(g.weight))
		if 2*len(g.weight) <= len(x.slots) {
			return x.slots[at] - 1
		}
		x.slots = make([]int32, 2*len(x.slots))
		for i := range g.weight {
			x.slots[x.find(g.members(i))] = int32(i + 1)
		}
		return int32(len(g.weight) - 1)
	}
	return x.slots[at] - 1
}

func (x *rowIndex) find(set []int32) int {
	h := uint64(len(set))
	for _, w := range set {
		h = (h ^ uint64(w)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	at := int(h) & (len(x.slots) - 1)
	for x.slots[at] != 0 && !slices.Equal(x.groups.members(int(x.slots[at]-1)), set) {
		at = (at + 1) & (len(x.slots) - 1)
	}
	return at
}

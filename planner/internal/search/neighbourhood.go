package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// neighbourhood is what the search looks at: of each instance's keys, per order of
// magnitude of their cost, the few of least regret.
type neighbourhood struct {
	active []bool
	seen   []uint8 // active keys by instance, magnitude, and whether they moved
	// By instance, active keys in ascending order.
	stay  [][]int32 // they are where they were
	guest [][]int32 // they come from elsewhere
	away  [][]int32 // they come from, or are at home, here, but are elsewhere

	byRoom []int32 // live instances by ascending limit − load
	room   []int64 // by instance: limit − load as byRoom knows it

	clock   int64
	touched []int64         // by instance: when its load changed last
	tried   [levels][]int64 // by level and key: when the last try was vain
	locked  int32           // a key that stays where it is
}

const (
	allActive      = 1000 // keys up to which all are active
	activeAlike    = 10   // active keys of an instance, a magnitude, and that moved or did not
	magnitudesSeen = 20   // orders of magnitude of cost, from the greatest down
	window         = 8    // keys of a list that are looked at, from the fitting one on
	beyond         = 2    // and on its other side
	maxPlaces      = 8    // destinations of a key that are looked at
)

// openNeighbourhood makes the neighbourhood, in which no key is active yet.
func (s *search) openNeighbourhood() {
	n := len(s.load)
	s.active = make([]bool, len(s.cost))
	for level := range s.tried {
		s.tried[level] = make([]int64, len(s.cost))
	}
	s.locked = assign.None
	s.stay, s.guest, s.away = make([][]int32, n), make([][]int32, n), make([][]int32, n)
	s.seen = make([]uint8, 2*magnitudesSeen*n)
	s.room, s.touched = make([]int64, n), make([]int64, n)
	for d := range s.room {
		s.room[d] = s.roomOn(int32(d))
	}
	s.byRoom = slices.Clone(s.p.Live)
	slices.SortFunc(s.byRoom, s.compareRooms)
}

// look chooses the active keys around the present assignment, among
// those of least regret, other ones each time.
func (s *search) look() {
	alike := uint8(activeAlike)
	if len(s.cost) <= allActive {
		alike = math.MaxUint8
	}
	clear(s.active)
	clear(s.seen)
	for d := range s.stay {
		s.stay[d], s.guest[d], s.away[d] = s.stay[d][:0], s.guest[d][:0], s.away[d][:0]
	}
	top := bits.Len64(uint64(s.cost[len(s.cost)-1]))
	for _, k := range s.byRegret {
		i := 2 * (int(s.from[k])*magnitudesSeen + min(top-bits.Len64(uint64(s.cost[k])), magnitudesSeen-1))
		if s.at[k] != s.from[k] {
			i++
		}
		if s.seen[i] < alike && (alike > activeAlike || s.clock == 0 || s.random.IntN(4) > 0) {
			s.seen[i]++
			s.active[k] = true
		}
	}
	for k, d := range s.at {
		if !s.active[k] {
			continue
		}
		k := int32(k)
		list := s.on(k, d)
		*list = append(*list, k)
		from, home := s.from[k], s.home[k]
		if from != d {
			s.away[from] = append(s.away[from], k)
		}
		if home != d && home != from {
			s.away[home] = append(s.away[home], k)
		}
	}
	s.forget()
}

func (s *search) compareRooms(a, b int32) int {
	return cmp.Or(cmp.Compare(s.room[a], s.room[b]), cmp.Compare(a, b))
}

// forget makes all keys worth trying again.
func (s *search) forget() {
	s.clock++
	for _, d := range s.p.Live {
		s.touched[d] = s.clock
	}
}

// on is the list of the keys on d to which k belongs there.
func (s *search) on(k, d int32) *[]int32 {
	if s.from[k] == d {
		return &s.stay[d]
	}
	return &s.guest[d]
}

// relist brings the neighbourhood up to date with the shifts that are being tried.
func (s *search) relist() {
	if s.active == nil {
		return
	}
	s.clock++
	for _, x := range s.shifts {
		if k := x.key; s.active[k] {
			remove(s.on(k, x.at), k)
			insert(s.on(k, x.to), k)
			if x.at == s.from[k] || x.at == s.home[k] {
				insert(&s.away[x.at], k)
			}
			if x.to == s.from[k] || x.to == s.home[k] {
				remove(&s.away[x.to], k)
			}
		}
		s.relistRoom(x.at)
		s.relistRoom(x.to)
	}
}

func (s *search) relistRoom(d int32) {
	s.touched[d] = s.clock
	room := s.roomOn(d)
	if room == s.room[d] || !s.p.IsLive[d] {
		return
	}
	i, _ := slices.BinarySearchFunc(s.byRoom, d, s.compareRooms)
	s.byRoom = slices.Delete(s.byRoom, i, i+1)
	s.room[d] = room
	i, _ = slices.BinarySearchFunc(s.byRoom, d, s.compareRooms)
	s.byRoom = slices.Insert(s.byRoom, i, d)
}

func insert(list *[]int32, k int32) {
	if i, ok := slices.BinarySearch(*list, k); !ok {
		*list = slices.Insert(*list, i, k)
	}
}

func remove(list *[]int32, k int32) {
	if i, ok := slices.BinarySearch(*list, k); ok {
		*list = slices.Delete(*list, i, i+1)
	}
}

// places lists instances worth trying for a key: where it was, its home, the
// given one, those with the least room that is enough, and those with the most.
// If there are only few it lists all.
func (s *search) places(k, also int32, buffer *[maxPlaces]int32) []int32 {
	out := buffer[:0]
	item := s.a.Item(s.piece[k])
	add := func(d int32) {
		if d != s.at[k] && !slices.Contains(out, d) && s.p.IsOpen(item, d) {
			out = append(out, d)
		}
	}
	if len(s.byRoom) <= maxPlaces-2 {
		for _, d := range s.byRoom {
			add(d)
		}
		return out
	}
	for _, d := range [2]int32{s.from[k], s.home[k]} {
		if s.p.IsLive[d] {
			add(d)
		}
	}
	if also != assign.None {
		add(also)
	}
	n := len(s.byRoom)
	fit := first(s.byRoom, s.room, s.cost[k])
	if s.p.Items.Rules != nil {
		s.addOpen(item, fit, add)
		return out
	}
	for _, d := range s.byRoom[fit:min(fit+2, n)] {
		add(d)
	}
	add(s.byRoom[n-1])
	add(s.byRoom[n-2])
	return out
}

// addOpen adds, of the instances that are open to an item, those with the least room that is
// enough, from a place in the list on, and those with the most.
func (s *search) addOpen(item int32, fit int, add func(d int32)) {
	enough, most := 2, 2
	for _, d := range s.byRoom[fit:] {
		if enough > 0 && s.p.IsOpen(item, d) {
			add(d)
			enough--
		}
	}
	for _, d := range slices.Backward(s.byRoom) {
		if most > 0 && s.p.IsOpen(item, d) {
			add(d)
			most--
		}
	}
}

// first is the index in a list, which ascends by some figure, of the first whose
// figure is at least that.
func first(list []int32, by []int64, least int64) int {
	i, j := 0, len(list)
	for i < j {
		m := int(uint(i+j) >> 1)
		if by[list[m]] < least {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

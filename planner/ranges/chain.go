package ranges

import "slices"

// passOn shifts borders along chains of neighbours to the nearest that lack
// something: from followers above their bounds, and if joined ones lack something,
// from all with a surplus. It goes on as long as that brings the loads nearer to
// their goals, but not for ever: each step moves what there is to move, so few are
// enough but for the last few keys.
func (m *mover) passOn() {
	done := make([]bool, len(m.followers))
	n := len(m.followers) + len(m.segments)
	for range min(4*n, passWork/n) {
		from, lacking := -1, m.joinedLack()
		for x := range m.followers {
			if !done[x] && m.surplus(x) > 0 && (lacking || exceeds(m.load[x], m.bound[x])) &&
				(from < 0 || m.surplus(x) > m.surplus(from)) {
				from = x
			}
		}
		if from < 0 || m.stop() {
			return
		}
		if way := m.way(from); way != nil && m.shift(way) {
			clear(done)
		} else {
			done[from] = true
		}
	}
}

// passWork bounds the intervals that passOn looks at, in units of a few.
const passWork = 1 << 24

func (m *mover) joinedLack() bool {
	for x, f := range m.followers {
		if f.Status == Joined && m.surplus(x) < 0 {
			return true
		}
	}
	return false
}

// way returns the followers from one with a surplus to the nearest that lacks much
// of that, or half of what anyone lacks, each a neighbour of the one before; nil if
// there is none.
func (m *mover) way(from int) []int {
	most := int64(0)
	for x := range m.followers {
		most = max(most, -m.surplus(x))
	}
	enough := max(1, min(m.surplus(from), most)/2)
	first, segments := m.byOwner()
	before := slices.Repeat([]int{-1}, len(m.followers))
	before[from] = from
	reached := []int{from}
	for k := 0; k < len(reached); k++ {
		x := reached[k]
		if -m.surplus(x) >= enough {
			return m.backward(before, x)
		}
		for _, i := range segments[first[x]:first[x+1]] {
			if m.weightOf(i) == 0 {
				continue
			}
			for _, j := range []int{i - 1, i + 1} {
				if j < 0 || j >= len(m.segments) {
					continue
				}
				if y := m.segments[j].owner; before[y] < 0 {
					before[y] = x
					reached = append(reached, y)
				}
			}
		}
	}
	return nil
}

// byOwner lists the segments of each follower x: from first[x] on, before
// first[x+1].
func (m *mover) byOwner() (first, segments []int) {
	first, segments = make([]int, len(m.followers)+1), make([]int, len(m.segments))
	for _, s := range m.segments {
		first[s.owner+1]++
	}
	for x := range m.followers {
		first[x+1] += first[x]
	}
	next := slices.Clone(first)
	for i, s := range m.segments {
		segments[next[s.owner]] = i
		next[s.owner]++
	}
	return first, segments
}

func (m *mover) backward(before []int, x int) []int {
	way := []int{x}
	for before[x] != x {
		x = before[x]
		way = append(way, x)
	}
	slices.Reverse(way)
	return way
}

// shift moves weight along a way, beginning at its end so that each has room, and
// reports whether the loads are nearer to their goals then. If not, all is as it
// was.
func (m *mover) shift(way []int) bool {
	segments, load, count, off := slices.Clone(m.segments), slices.Clone(m.load), slices.Clone(m.count), m.off()
	want := min(m.surplus(way[0]), -m.surplus(way[len(way)-1]))
	for k := len(way) - 1; k > 0; k-- {
		want = min(want, m.widest(way[k-1], way[k]))
	}
	moved := want > 0
	for k := len(way) - 1; k > 0 && moved; k-- {
		i, right := m.border(way[k-1], way[k])
		moved = i >= 0 && m.take(i, right, want, way[k])
	}
	if moved && m.off() < off {
		return true
	}
	m.segments, m.load, m.count = segments, load, count
	return false
}

// off is by how much the loads differ from their goals, all together.
func (m *mover) off() (sum int64) {
	for x := range m.followers {
		sum += max(m.surplus(x), -m.surplus(x))
	}
	return sum
}

// border returns the heaviest segment of x beside one of y, and whether that is to
// its right; −1 if they are no neighbours.
func (m *mover) border(x, y int) (at int, right bool) {
	at = -1
	for i, s := range m.segments {
		if s.owner != x || at >= 0 && m.weightOf(i) <= m.weightOf(at) {
			continue
		}
		switch {
		case i+1 < len(m.segments) && m.segments[i+1].owner == y:
			at, right = i, true
		case i > 0 && m.segments[i-1].owner == y:
			at, right = i, false
		}
	}
	return at, right
}

// widest is what can be moved from x to y at most at once.
func (m *mover) widest(x, y int) int64 {
	if i, _ := m.border(x, y); i >= 0 {
		return m.weightOf(i)
	}
	return 0
}

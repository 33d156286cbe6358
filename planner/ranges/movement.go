package ranges

import (
	"cmp"
	"math"
	"slices"
)

// move divides anew with as little movement as it finds, close to the bound of
// goals.moved. Borders may shift, and followers may get further intervals:
//
//  1. heavy keys go where they go;
//  2. those that take something extend their intervals into those of neighbours
//     that give;
//  3. then they get new intervals at borders of givers, as long as they may have
//     more; if too few for all givers, then evenly spread among them;
//  4. what is left of those that go falls to the neighbours, and followers with too
//     many intervals give the lightest to neighbours;
//  5. those that have too much by now give to those that still lack something, as
//     in 2 and 3;
//  6. what is still in the wrong place is passed on from neighbour to neighbour,
//     along shortest ways. With one interval each this is all there is, and comes
//     to what quantiles move;
//  7. if someone is above its bound even so, because keys cannot be split, 5 and 6
//     again, and all may take up to their bounds.
func (d *division) move() []segment {
	m := &mover{division: d, segments: slices.Clone(d.before), load: slices.Clone(d.loads)}
	m.count = d.intervals(m.segments)
	m.placeKeys()
	m.fill()
	m.empty()
	m.mergeLightest()
	m.fill()
	m.passOn()
	if m.loosen() {
		m.fill()
		m.passOn()
	}
	return m.segments
}

// loosen lets everybody take up to its bound, if somebody is above its own.
func (m *mover) loosen() (needed bool) {
	for i := range m.followers {
		needed = needed || exceeds(m.load[i], m.bound[i])
	}
	for i, f := range m.followers {
		if needed && f.stays() {
			m.goal[i] = int64(m.bound[i])
		}
	}
	return needed
}

// fill lets those that are to take something do so.
func (m *mover) fill() {
	takers := m.takers()
	for _, t := range takers {
		m.extend(t)
	}
	for _, t := range takers {
		if m.stop() {
			return
		}
		m.insert(t)
	}
}

// mover is a division in the making.
type mover struct {
	*division
	*goals
	segments []segment
	load     []int64
	count    []int // intervals by follower
}

// surplus is what a follower is to give, negative what it is to take.
func (m *mover) surplus(i int) int64 { return m.load[i] - m.goal[i] }

// placeKeys moves the heavy keys and sets the goals.
func (m *mover) placeKeys() {
	placed, on := m.placeHeavy()
	moved := int64(0)
	for k, p := range m.heavy {
		if i := m.at(p); m.segments[i].owner != placed[k] {
			moved += m.g.weight(p, p+1)
			m.assign(i, p, p+1, placed[k])
		}
	}
	m.goals = m.newGoals(slices.Clone(m.load), on, moved)
}

// at returns the index of the segment that holds point p.
func (m *mover) at(p int) int { return segmentAt(m.segments, p) }

func (m *mover) endOf(i int) int { return m.end(m.segments, i) }

func (m *mover) weightOf(i int) int64 { return m.g.weight(m.segments[i].from, m.endOf(i)) }

// assign gives the points from a on and before b, all of segment i, to a follower.
func (m *mover) assign(i, a, b, to int) {
	s, end := m.segments[i], m.endOf(i)
	if a == b || s.owner == to {
		return
	}
	w := m.g.weight(a, b)
	m.load[s.owner] -= w
	m.load[to] += w
	pieces := make([]segment, 0, 5)
	first, last := i, i+1
	if i > 0 {
		first--
		pieces = append(pieces, m.segments[first])
	}
	add := func(x segment) {
		if n := len(pieces); n == 0 || pieces[n-1].owner != x.owner {
			pieces = append(pieces, x)
		}
	}
	if s.from < a {
		add(s)
	}
	add(segment{a, to})
	if b < end {
		add(segment{b, s.owner})
	}
	if last < len(m.segments) {
		add(m.segments[last])
		last++
	}
	for _, x := range m.segments[first:last] {
		m.count[x.owner]--
	}
	for _, x := range pieces {
		m.count[x.owner]++
	}
	m.segments = slices.Replace(m.segments, first, last, pieces...)
}

// takers are the followers that are to take something, by descending amount.
func (m *mover) takers() []int {
	var takers []int
	for i, f := range m.followers {
		if f.stays() && m.surplus(i) < 0 {
			takers = append(takers, i)
		}
	}
	slices.SortStableFunc(takers, func(a, b int) int {
		return cmp.Compare(m.surplus(a), m.surplus(b))
	})
	return takers
}

// extend lets a follower take from the neighbours of its intervals.
func (m *mover) extend(to int) {
	for again := true; again; {
		again = false
		for i := 0; i < len(m.segments) && !again && m.surplus(to) < 0; i++ {
			if m.segments[i].owner != to {
				continue
			}
			for _, j := range []int{i - 1, i + 1} {
				if j < 0 || j >= len(m.segments) {
					continue
				}
				want := min(m.spare(m.segments[j].owner, to), -m.surplus(to))
				if want > 0 && m.take(j, j < i, want, to) {
					again = true
					break
				}
			}
		}
	}
}

// insert gives a follower further intervals.
func (m *mover) insert(to int) {
	left := m.o.MaxIntervals - m.count[to]
	if borders := m.spread(to, left); borders != nil {
		for _, b := range slices.Backward(borders) {
			m.insertAt(b, to)
		}
		m.extend(to)
		return
	}
	for m.count[to] < m.o.MaxIntervals && m.surplus(to) < 0 {
		if !slices.ContainsFunc(m.borders(to), func(b int) bool { return m.insertAt(b, to) }) {
			return
		}
		m.extend(to)
	}
}

// spare is what a follower has to give to another: to a joined one all that is
// above its goal, else only if it goes or is above its bound.
func (m *mover) spare(x, to int) int64 {
	if m.followers[x].stays() && m.followers[to].Status != Joined && !exceeds(m.load[x], m.bound[x]) {
		return 0
	}
	return max(0, m.surplus(x))
}

// gives is what there is to take from segment i.
func (m *mover) gives(i, to int) int64 {
	if i < 0 || i >= len(m.segments) {
		return 0
	}
	return min(m.spare(m.segments[i].owner, to), m.weightOf(i))
}

// borders returns where something is to be taken, on either side of the border
// before a segment, where there is most first.
func (m *mover) borders(to int) []int {
	type border struct {
		at     int
		weight int64
	}
	var all []border
	for i := range len(m.segments) + 1 {
		if i > 0 && m.segments[i-1].owner == to || i < len(m.segments) && m.segments[i].owner == to {
			continue
		}
		if w := m.gives(i-1, to) + m.gives(i, to); w > 0 {
			all = append(all, border{i, w})
		}
	}
	slices.SortStableFunc(all, func(a, b border) int { return cmp.Compare(b.weight, a.weight) })
	at := make([]int, len(all))
	for k, b := range all {
		at[k] = b.at
	}
	return at
}

// insertAt begins an interval before segment i, taking from both sides.
func (m *mover) insertAt(i, to int) bool {
	took := false
	if want := min(m.gives(i-1, to), -m.surplus(to)); want > 0 {
		n := len(m.segments)
		took = m.take(i-1, true, want, to)
		i += len(m.segments) - n
	}
	if want := min(m.gives(i, to), -m.surplus(to)); want > 0 {
		took = m.take(i, false, want, to) || took
	}
	return took
}

// spread returns borders for that many new intervals, evenly among all that give;
// nil if there are enough for each pair of givers to have one.
func (m *mover) spread(to, intervals int) []int {
	largest := make(map[int]int) // giver → its heaviest segment
	total := int64(0)
	for i, s := range m.segments {
		if m.spare(s.owner, to) == 0 {
			continue
		}
		if j, ok := largest[s.owner]; !ok {
			largest[s.owner] = i
			total += m.spare(s.owner, to)
		} else if m.weightOf(i) > m.weightOf(j) {
			largest[s.owner] = i
		}
	}
	part := math.Min(1, float64(-m.surplus(to))/float64(total))
	if intervals <= 0 || total == 0 || math.Ceil(float64(len(largest))*part/2-1e-6) <= float64(intervals) {
		return nil
	}
	var borders []int
	sum := 0.0
	for i, s := range m.segments {
		if j, ok := largest[s.owner]; !ok || i != j {
			continue
		}
		gives := float64(m.spare(s.owner, to))
		for len(borders) < intervals {
			at := float64(2*len(borders)+1) / float64(2*intervals) * float64(total)
			if at > sum+gives {
				break
			}
			border := i + 1
			if at <= sum+gives/2 {
				border = i
			}
			borders = append(borders, border)
		}
		sum += gives
	}
	return slices.Compact(borders)
}

// empty hands what followers that go still have to the neighbours that lack most,
// heavy keys aside, which are elsewhere by then.
func (m *mover) empty() {
	for i := 0; i < len(m.segments); {
		if m.followers[m.segments[i].owner].stays() {
			i++
			continue
		}
		best := -1
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(m.segments) || !m.followers[m.segments[j].owner].stays() {
				continue
			}
			if x := m.segments[j].owner; best < 0 || m.surplus(x) < m.surplus(best) {
				best = x
			}
		}
		switch {
		case best >= 0:
			m.assign(i, m.segments[i].from, m.endOf(i), best)
			i = max(0, i-1)
		case i+1 < len(m.segments): // so does the next
			i++
		default:
			m.emptyFirst()
			i = 0
		}
	}
}

// emptyFirst hands the last interval to the follower that lacks most: no one that
// stays has any.
func (m *mover) emptyFirst() {
	best := -1
	for x, f := range m.followers {
		if f.stays() && (best < 0 || m.surplus(x) < m.surplus(best)) {
			best = x
		}
	}
	i := len(m.segments) - 1
	m.assign(i, m.segments[i].from, m.endOf(i), best)
}

// mergeLightest brings the intervals of each follower down to what it may have.
func (m *mover) mergeLightest() {
	type interval struct {
		from   int
		weight int64
	}
	for {
		var all []interval
		for i, s := range m.segments {
			if m.count[s.owner] > m.o.MaxIntervals {
				all = append(all, interval{s.from, m.weightOf(i)})
			}
		}
		if all == nil {
			return
		}
		slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.weight, b.weight) })
		for _, x := range all {
			i := m.at(x.from)
			if s := m.segments[i]; s.from == x.from && m.count[s.owner] > m.o.MaxIntervals {
				m.assign(i, s.from, m.endOf(i), m.neighbour(i))
			}
		}
	}
}

// neighbour returns the follower beside segment i that has least for its goal.
func (m *mover) neighbour(i int) int {
	switch {
	case i == 0:
		return m.segments[1].owner
	case i+1 == len(m.segments):
		return m.segments[i-1].owner
	}
	left, right := m.segments[i-1].owner, m.segments[i+1].owner
	if m.surplus(right) < m.surplus(left) {
		return right
	}
	return left
}

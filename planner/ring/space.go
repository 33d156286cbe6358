package ring

import (
	"math"
	"slices"
)

// atom is keys that no ring of a space separates: they lie on the same arc of the
// ring that has all the tokens that any of its rings has.
type atom struct {
	cost, state int64
	home        int32 // the node that has them now; none if it leaves
	first, end  int32 // its choices
}

// choice is a token that keys belong to if the node holds it and none of those
// before is held.
type choice struct{ node, index int32 }

// space is a load on all rings that the same nodes form with any token counts up to
// given ones, at least 1 each.
type space struct {
	nodes   []Node // with the greatest token counts, in ascending order of ID
	balance balance
	total   int64
	atoms   []atom
	choices []choice
}

// newSpace prepares the rings of the members that stay, with up to as many tokens as
// they have anywhere on the lattice. Members are in ascending order of ID. Where stop
// says so, which may be nil, the space is not finished.
func newSpace(members []Member, l *lattice, m *measured, stop func() bool) *space {
	s := &space{total: m.cost.Total, balance: newBalance(capacities(members))}
	var all, before []Node
	index := make(map[int32]int32, len(members))
	for _, x := range members {
		now := Node{ID: x.ID, Tokens: x.Tokens}
		if !x.Joins {
			before = append(before, now)
		}
		if x.Leaves {
			index[x.ID] = none
			all = append(all, now)
			continue
		}
		index[x.ID] = int32(len(s.nodes))
		most := Node{ID: x.ID, Tokens: l.most(len(s.nodes))}
		s.nodes, all = append(s.nodes, most), append(all, most)
	}
	s.divide(New(all), New(before), index, m, stop)
	return s
}

// askArcs is the number of arcs between two calls of stop: each may take as many steps as
// a node may have tokens.
const askArcs = 64

// divide finds the atoms: finest has all tokens, current those of now.
func (s *space) divide(finest, current *Ring, index map[int32]int32, m *measured, stop func() bool) {
	tokens := finest.Tokens()
	nodes, homes := indices(finest, index), indices(current, index)
	at := make([]int32, len(tokens)) // the atom of each arc, +1
	for k, p := range m.position {
		t := int(finest.TokenAt(p)) % len(tokens)
		if at[t] == 0 {
			s.atoms = append(s.atoms, atom{home: homes[current.TokenAt(p)]})
			at[t] = int32(len(s.atoms))
		}
		a := &s.atoms[at[t]-1]
		a.cost += m.cost.Of[k]
		a.state += m.state.Of[k]
	}
	lowest := make([]int32, len(s.nodes))
	for t := range tokens {
		if t%askArcs == 0 && stop != nil && stop() {
			return
		}
		if at[t] > 0 {
			a := &s.atoms[at[t]-1]
			a.first = int32(len(s.choices))
			s.choose(tokens, nodes, t, lowest)
			a.end = int32(len(s.choices))
		}
	}
	// In ring order, whatever the order of the keys.
	ordered := make([]atom, 0, len(s.atoms))
	for t := range tokens {
		if at[t] > 0 {
			ordered = append(ordered, s.atoms[at[t]-1])
		}
	}
	s.atoms = ordered
}

// choose appends the tokens that the keys of the arc of token t can belong to: those
// from it onward, round to the first that is always there. A node's token is no
// choice when a lower one of the same node comes first.
func (s *space) choose(tokens []Token, nodes []int32, t int, lowest []int32) {
	start := len(s.choices)
	for i := t; ; i++ {
		x, node := tokens[i%len(tokens)], nodes[i%len(tokens)]
		if node == none || lowest[node] > 0 && x.Index >= lowest[node] {
			continue
		}
		lowest[node] = x.Index
		s.choices = append(s.choices, choice{node, x.Index})
		if x.Index == 0 {
			break
		}
	}
	for _, c := range s.choices[start:] {
		lowest[c.node] = 0
	}
}

// outcome is what a ring does to the load of a space.
type outcome struct {
	most    float64 // the greatest load per capacity
	squares float64 // of loads per capacity
	moved   int64   // state that changes its node
}

// owner is the node that an atom belongs to under token counts.
func (s *space) owner(a *atom, tokens []int) int32 {
	j := a.first
	for tokens[s.choices[j].node] <= int(s.choices[j].index) {
		j++
	}
	return s.choices[j].node
}

// evaluate computes the outcome of token counts; loads is scratch space.
func (s *space) evaluate(tokens []int, loads []int64) outcome {
	clear(loads)
	moved := int64(0)
	for i := range s.atoms {
		a := &s.atoms[i]
		node := s.owner(a, tokens)
		loads[node] += a.cost
		if node != a.home {
			moved += a.state
		}
	}
	return s.summarize(loads, moved)
}

// summarize computes the outcome of loads.
func (s *space) summarize(loads []int64, moved int64) outcome {
	x := outcome{moved: moved}
	for i, l := range loads {
		rate := float64(l) / s.balance.capacity[i]
		x.most = max(x.most, rate)
		x.squares += float64(rate * rate)
	}
	return x
}

// theta is the θ of a greatest load per capacity.
func (s *space) theta(most float64) float64 { return s.balance.thetaOf(most, s.total) }

// maxSubsetNodes is the greatest number of nodes for which lowerBound looks at every
// set of nodes.
const maxSubsetNodes = 16

// lowerBound returns a load per capacity that some node has on every ring of the
// space, whatever the token counts. It is the largest of
//   - for every set of nodes, what lies on arcs that can belong to no other node, over
//     the capacity of the set (with more than maxSubsetNodes nodes: only single nodes
//     and all);
//   - for every atom, its cost over the largest capacity of a node it can belong to;
//   - of the kR+1 heaviest atoms, k+1 share one of R nodes: the k+1 lightest of them,
//     over the largest capacity of all.
//
// Loads are sums of non-negative costs, so each holds for every ring.
func (s *space) lowerBound() float64 {
	most := float64(s.total) / s.balance.whole
	costs := make([]int64, 0, len(s.atoms))
	single := make([]int64, len(s.nodes))
	var sets []int64
	if len(s.nodes) <= maxSubsetNodes {
		sets = make([]int64, 1<<len(s.nodes))
	}
	for _, a := range s.atoms {
		set, capacity := 0, 0.0
		choices := s.choices[a.first:a.end]
		for _, c := range choices {
			set |= 1 << min(int(c.node), maxSubsetNodes)
			capacity = max(capacity, s.balance.capacity[c.node])
		}
		most = max(most, float64(a.cost)/capacity)
		costs = append(costs, a.cost)
		if sets != nil {
			sets[set] += a.cost
		} else if len(choices) == 1 {
			single[choices[0].node] += a.cost
		}
	}
	for i, c := range single {
		most = max(most, float64(c)/s.balance.capacity[i])
	}
	most = max(most, s.bySets(sets), s.byCount(costs))
	return most * (1 - 1e-11) // what rounding may have added
}

// bySets is the first bound; sets holds the cost of atoms by the nodes that they can
// belong to.
func (s *space) bySets(sets []int64) float64 {
	most := 0.0
	if sets == nil {
		return most
	}
	for i := range s.nodes {
		for set := range sets {
			if set&(1<<i) != 0 {
				sets[set] += sets[set&^(1<<i)] // so that sets counts all subsets
			}
		}
	}
	for set, cost := range sets {
		capacity := 0.0
		for i, c := range s.balance.capacity {
			if set&(1<<i) != 0 {
				capacity += c
			}
		}
		if set != 0 {
			most = max(most, float64(cost)/capacity)
		}
	}
	return most
}

// byCount is the last bound.
func (s *space) byCount(costs []int64) float64 {
	slices.Sort(costs)
	slices.Reverse(costs)
	prefix := make([]int64, len(costs)+1)
	for i, c := range costs {
		prefix[i+1] = prefix[i] + c
	}
	least := int64(0)
	for k := 0; k*len(s.nodes)+1 <= len(costs); k++ {
		last := k*len(s.nodes) + 1
		least = max(least, prefix[last]-prefix[last-k-1])
	}
	return float64(least) / slices.Max(s.balance.capacity)
}

// lattice is the token counts that a method can lead to, by how often each node was
// relieved (or, with Fitted, by the counts less 1).
type lattice struct {
	method Method
	start  []int // token counts now
	limit  int   // of the tokens of a node
	top    []int // greatest coordinates
}

func newLattice(method Method, start []int, limit, rounds int) *lattice {
	l := &lattice{method: method, start: start, limit: limit, top: make([]int, len(start))}
	if rounds == 0 {
		rounds = math.MaxInt
	}
	for i, t := range start {
		switch method {
		case Halving:
			for ; t > 1 && l.top[i] < rounds; t = (t + 1) / 2 {
				l.top[i]++
			}
		case Doubling:
			l.top[i] = min(rounds, l.rounds())
		default:
			l.top[i] = max(limit, t) - 1
		}
	}
	return l
}

// room is how often a node of t tokens can be doubled.
func (l *lattice) room(t int) int {
	n := 0
	for ; t <= l.limit/2; t *= 2 {
		n++
	}
	return n
}

// rounds is how many rounds of doubling there can be: each doubles all nodes but one.
func (l *lattice) rounds() int {
	room := 0
	for _, t := range l.start {
		room += l.room(t)
	}
	return room / max(1, len(l.start)-1)
}

// most is the greatest token count of a node anywhere on the lattice.
func (l *lattice) most(i int) int {
	if l.method == Halving {
		return l.start[i]
	}
	return max(l.limit, l.start[i])
}

// tokens computes the token counts of a point, and reports whether it is one: no
// doubled node holds more tokens than the limit. If not, no point is reached by
// raising coordinates.
func (l *lattice) tokens(x, counts []int) bool {
	rounds := 0
	for _, v := range x {
		rounds += v
	}
	for i, v := range x {
		switch l.method {
		case Halving:
			counts[i] = (l.start[i] + 1<<v - 1) >> v
		case Doubling:
			doublings := rounds - v
			if doublings > 0 && (doublings > 30 || l.start[i]<<doublings > l.limit) {
				return false
			}
			counts[i] = l.start[i] << doublings
		default:
			counts[i] = v + 1
		}
	}
	return true
}

// origin is the point of the token counts now.
func (l *lattice) origin() []int {
	x := make([]int, len(l.start))
	if l.method == Fitted {
		for i, t := range l.start {
			x[i] = t - 1
		}
	}
	return x
}

// tokensOfStaying are the token counts of the members that stay.
func tokensOfStaying(members []Member) []int {
	var out []int
	for _, x := range members {
		if !x.Leaves {
			out = append(out, x.Tokens)
		}
	}
	return out
}

// each visits all points and their token counts, in lexicographic order of their
// coordinates, until visit reports false.
func (l *lattice) each(visit func(x, counts []int) bool) {
	x, counts := make([]int, len(l.start)), make([]int, len(l.start))
	var from func(i int) bool
	from = func(i int) bool {
		if i == len(x) {
			l.tokens(x, counts)
			return visit(x, counts)
		}
		defer func() { x[i] = 0 }()
		for x[i] = 0; x[i] <= l.top[i] && l.tokens(x, counts); x[i]++ {
			if !from(i + 1) {
				return false
			}
		}
		return true
	}
	from(0)
}

// size is the number of points, or 0 when there are more than limit.
func (l *lattice) size(limit int64) int64 {
	if l.method != Doubling {
		n := int64(1)
		for _, top := range l.top {
			if n > limit/int64(top+1) {
				return 0
			}
			n *= int64(top + 1)
		}
		return n
	}
	n := int64(0)
	for rounds := 0; rounds <= l.rounds(); rounds++ {
		n = min(n+l.sizeOf(rounds, limit), limit+1)
	}
	if n > limit {
		return 0
	}
	return n
}

// sizeOf is the number of points of so many doublings in all, cut to about limit.
func (l *lattice) sizeOf(rounds int, limit int64) int64 {
	ways := make([]int64, rounds+1) // to spend so many rounds on the nodes so far
	ways[0] = 1
	for i, t := range l.start {
		next := make([]int64, rounds+1)
		for spent, n := range ways {
			for own := max(0, rounds-l.room(t)); own <= l.top[i] && spent+own <= rounds; own++ {
				next[spent+own] = min(next[spent+own]+n, limit+1)
			}
		}
		ways = next
	}
	return ways[rounds]
}

package ring

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

// newSpace prepares the rings of the members that stay, with so many tokens each at most,
// or as many as they have. Members are in ascending order of ID. Where stop says so, which
// may be nil, the space is not finished.
func newSpace(members []Member, limit int, m *measured, stop func() bool) *space {
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
		most := Node{ID: x.ID, Tokens: max(limit, x.Tokens)}
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
	most  float64 // the greatest load per capacity
	moved int64   // state that changes its node
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
		x.most = max(x.most, float64(l)/s.balance.capacity[i])
	}
	return x
}

// theta is the θ of a greatest load per capacity.
func (s *space) theta(most float64) float64 { return s.balance.thetaOf(most, s.total) }

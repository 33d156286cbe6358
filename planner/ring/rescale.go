package ring

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// Member is a node of a ring that may be joining or leaving it.
type Member struct {
	ID int32 // ≥ 0
	// Tokens is how many tokens it holds, claims when it joins, or gives up when it
	// leaves; ≥ 0.
	Tokens int
	// Capacity is κ, its relative speed, from planner.MinCapacity to
	// planner.MaxCapacity. 0: 1.
	Capacity float64
	Joins    bool // it is new: it claims its tokens
	Leaves   bool // it gives up its tokens
}

// NodeLoad is what a change does to one node.
type NodeLoad struct {
	ID                        int32
	Capacity                  float64 // κ
	TokensBefore, TokensAfter int
	Before, After             float64 // cost of its keys
	KeysBefore, KeysAfter     int64
	StateIn, StateOut         float64 // of the keys that move to it and away from it
}

// KeyMove is a key that changes its node.
type KeyMove struct {
	Key      int32 // index into the load
	Arc      int32 // index into Change.Arcs: the arc that it lies on
	From, To int32 // IDs of nodes
}

// Effect is what a change does to a load.
type Effect struct {
	// Nodes are all nodes, joining and leaving ones included, in ascending order of
	// ID.
	Nodes []NodeLoad
	// Moves are the keys that change their node, in canonical key order
	// ([planner.Keys.Compare]).
	Moves []KeyMove
	// Cost and State are those of the keys that move; Fraction is State over all
	// state, 0 when there is none.
	Cost, State, Fraction float64
	// Skew is S before and after, of the costs; see [Skew]. The nodes that count
	// are those of the ring: leaving ones before, joining ones after.
	Skew planner.Comparison
	// Theta is max_d L(d)/L̄_d − 1, ≥ 0, before and after, over the nodes that do not
	// leave, as in package planner: the fair load L̄_d is the node's share of all cost
	// by capacity.
	Theta planner.Comparison
}

// Redistribution is how a ring changes and what that does to a load.
type Redistribution struct {
	// Verdict is the policy's; the zero value when no policy was asked.
	Verdict Verdict
	// Cause is why the ring changes or does not: the verdict's cause, or
	// CauseExhausted or CauseTokenLimit when the policy fires in vain. Empty when
	// no policy was asked.
	Cause Cause
	// Change is empty when nothing changes; no round is used then. Its arcs say
	// what moves on them if a load was given.
	Change Change
	// Effect is nil when no load was given.
	Effect *Effect
}

// RedistributeOptions are the parameters of [Redistribute].
type RedistributeOptions struct {
	// Method is Halving or Doubling. Empty: Halving.
	Method Method
	Policy Policy
	// TokenLimit is the number of tokens on the ring, at most MaxTokens, beyond
	// which doubling is refused. 0: DefaultTokenLimit.
	TokenLimit int
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o RedistributeOptions) Validate() error {
	return cmp.Or(
		planner.RequireOneOf("Method", cmp.Or(o.Method, Halving), Halving, Doubling),
		o.Policy.Validate(),
		planner.RequireWithin("TokenLimit", o.TokenLimit, 0, MaxTokens),
	)
}

// Redistribute asks the policy about queue lengths, parallel to nodes, and if it
// fires relieves the node of the longest queue, once ("DPA Load Balancer" §4). At
// least two nodes, in any order; of equally long queues none fires. load may be
// nil. The error is a [planner.InputError].
func Redistribute(
	nodes []Node, queues []float64, o RedistributeOptions, load *planner.Statistics,
) (*Redistribution, error) {
	if err := cmp.Or(
		o.Validate(), validateNodes("Nodes", nodes),
		planner.Require(len(nodes) >= 2, "Nodes", "must be at least two"),
		planner.Require(len(queues) == len(nodes), "Queues", "must be one for each node"),
	); err != nil {
		return nil, err
	}
	for i, q := range queues {
		if err := planner.RequireAmount(planner.Element("Queues", i), q); err != nil {
			return nil, err
		}
	}
	members := make([]Member, len(nodes))
	for i, n := range nodes {
		members[i] = Member{ID: n.ID, Tokens: n.Tokens}
	}
	verdict := o.Policy.Judge(queues)
	after, cause := nodes, verdict.Cause
	if verdict.Fires {
		after, cause = cmp.Or(o.Method, Halving).relieve(nodes, verdict.At, cmp.Or(o.TokenLimit, DefaultTokenLimit))
	}
	out, err := redistribution(members, nodes, after, load)
	if err != nil {
		return nil, err
	}
	out.Verdict, out.Cause = verdict, cause
	return out, nil
}

// Rescale lets nodes join and leave: joining ones claim their tokens, leaving ones
// give theirs up ("DPA Load Balancer" §7). No other token changes. Members stand in
// any order; before and after there is at least one token. load may be nil. The
// error is a [planner.InputError].
func Rescale(members []Member, load *planner.Statistics) (*Redistribution, error) {
	before, after, err := split(members)
	if err != nil {
		return nil, err
	}
	return redistribution(members, before, after, load)
}

// split returns the nodes of the ring before and after members joined and left.
func split(members []Member) (before, after []Node, err error) {
	all := make([]Node, len(members))
	for i, m := range members {
		all[i] = Node{ID: m.ID, Tokens: m.Tokens}
		switch {
		case m.Capacity != 0 && !(m.Capacity >= planner.MinCapacity && m.Capacity <= planner.MaxCapacity):
			return nil, nil, planner.Invalid(planner.Element("Nodes", i)+".Capacity", "must be from 1e-6 to 1e6")
		case m.Joins && m.Leaves:
			return nil, nil, planner.Invalid(planner.Element("Nodes", i), "cannot join and leave")
		}
		if !m.Joins {
			before = append(before, all[i])
		}
		if !m.Leaves {
			after = append(after, all[i])
		}
	}
	if err := validateNodes("Nodes", all); err != nil {
		return nil, nil, err
	}
	if validateNodes("", before) != nil {
		return nil, nil, planner.Invalid("Nodes", "must have a token before any join")
	}
	if validateNodes("", after) != nil {
		return nil, nil, planner.Invalid("Nodes", "must have a token after some left")
	}
	return before, after, nil
}

// redistribution describes the change from one ring to another.
func redistribution(members []Member, before, after []Node, load *planner.Statistics) (*Redistribution, error) {
	var m *measured
	if load != nil {
		if err := load.ValidateAmounts(); err != nil {
			return nil, err
		}
		m = measure(load)
	}
	return describe(members, before, after, m), nil
}

// describe is redistribution for what has been validated and measured; m may be
// nil.
func describe(members []Member, before, after []Node, m *measured) *Redistribution {
	old, now := New(before), New(after)
	out := &Redistribution{Change: *diff(before, after, old, now)}
	if m != nil {
		out.Effect = effect(members, &out.Change, old, now, m)
	}
	return out
}

// tally is what is added up for one node.
type tally struct{ before, after, keysBefore, keysAfter, in, out int64 }

// effect adds up what a change does to a load, on the change's arcs too.
func effect(members []Member, c *Change, old, now *Ring, m *measured) *Effect {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	index := make(map[int32]int32, len(members))
	for i, x := range members {
		index[x.ID] = int32(i)
	}
	// The index of every token's node, so that keys need no search by ID.
	from, to := indices(old, index), indices(now, index)
	nodes, arcs := make([]tally, len(members)), make([]struct{ keys, cost, state int64 }, len(c.Arcs))
	e := &Effect{}
	cost, state := int64(0), int64(0)
	for k, p := range m.position {
		a, b := from[old.TokenAt(p)], to[now.TokenAt(p)]
		nodes[a].before += m.cost.Of[k]
		nodes[a].keysBefore++
		nodes[b].after += m.cost.Of[k]
		nodes[b].keysAfter++
		if a == b {
			continue
		}
		nodes[a].out += m.state.Of[k]
		nodes[b].in += m.state.Of[k]
		cost += m.cost.Of[k]
		state += m.state.Of[k]
		i := c.arcOf(p)
		arcs[i].keys++
		arcs[i].cost += m.cost.Of[k]
		arcs[i].state += m.state.Of[k]
		e.Moves = append(e.Moves, KeyMove{int32(k), int32(i), members[a].ID, members[b].ID})
	}
	slices.SortFunc(e.Moves, func(x, y KeyMove) int { return m.Keys.Compare(x.Key, y.Key) })
	for i, a := range arcs {
		x := &c.Arcs[i]
		x.Keys, x.Cost, x.State = a.keys, m.cost.Float(a.cost), m.state.Float(a.state)
	}
	e.Cost, e.State = m.cost.Float(cost), m.state.Float(state)
	if m.state.Total > 0 {
		e.Fraction = float64(state) / float64(m.state.Total)
	}
	e.sumUp(members, nodes, c, m)
	return e
}

// sumUp fills in the figures of the nodes and those that follow from them.
func (e *Effect) sumUp(members []Member, nodes []tally, c *Change, m *measured) {
	before, after := tokensOf(c.Before), tokensOf(c.After)
	var capacity []float64  // of the nodes that do not leave
	var live [2][]int64     // loads of the same
	var onRing [2][]float64 // loads of the nodes on the ring
	for i, x := range members {
		n := nodes[i]
		load := NodeLoad{
			ID: x.ID, Capacity: cmp.Or(x.Capacity, 1), TokensBefore: before[x.ID], TokensAfter: after[x.ID],
			Before: m.cost.Float(n.before), After: m.cost.Float(n.after),
			KeysBefore: n.keysBefore, KeysAfter: n.keysAfter,
			StateIn: m.state.Float(n.in), StateOut: m.state.Float(n.out),
		}
		e.Nodes = append(e.Nodes, load)
		if !x.Joins {
			onRing[0] = append(onRing[0], load.Before)
		}
		if !x.Leaves {
			onRing[1] = append(onRing[1], load.After)
			capacity = append(capacity, load.Capacity)
			live[0], live[1] = append(live[0], n.before), append(live[1], n.after)
		}
	}
	b := newBalance(capacity)
	e.Skew = planner.Comparison{Before: Skew(onRing[0]), After: Skew(onRing[1])}
	e.Theta = planner.Comparison{Before: b.theta(live[0], m.cost.Total), After: b.theta(live[1], m.cost.Total)}
}

func tokensOf(nodes []Node) map[int32]int {
	held := make(map[int32]int, len(nodes))
	for _, n := range nodes {
		held[n.ID] = n.Tokens
	}
	return held
}

// indices returns, for every token in ring order, what index says about its node.
func indices(r *Ring, index map[int32]int32) []int32 {
	out := make([]int32, len(r.Tokens()))
	for i, t := range r.Tokens() {
		out[i] = index[t.Node]
	}
	return out
}

// arcOf returns the index of the arc that p lies on, which there is.
func (c *Change) arcOf(p uint32) int {
	i, _ := slices.BinarySearchFunc(c.Arcs, p, func(a Arc, p uint32) int { return cmp.Compare(a.End, p) })
	if i == len(c.Arcs) {
		return 0 // the first one wraps round
	}
	return i
}

package ring

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"plannerd/planner"
)

// Defaults of Fitted in [RebalanceOptions], and the greatest token count of a node that
// is searched.
const (
	DefaultFittedTokens = 256
	DefaultMaxStates    = 1 << 20
	maxFittedTokens     = 1 << 16
)

// RebalanceOptions are the parameters of [Rebalance].
type RebalanceOptions struct {
	// ThetaMax is the tolerance θ_max ≥ 0. Defaults to 0.
	ThetaMax float64
	// Method is Halving, Doubling or Fitted. Empty: Halving.
	Method Method
	// Policy says which node is relieved, under Halving and Doubling; the load per
	// capacity stands in for its queue.
	Policy Policy
	// MaxRounds is how often each node may be relieved, ≥ 1. 0: DefaultMaxRounds.
	MaxRounds int
	// TokenLimit is, under Doubling, the number of tokens on the ring beyond which it is
	// refused, at most MaxTokens; 0: DefaultTokenLimit. Under Fitted it is the greatest
	// token count of a node, of those that do not hold more already; 0:
	// DefaultFittedTokens.
	TokenLimit int
	// MaxStates is how many token counts Fitted evaluates at most. 0:
	// DefaultMaxStates.
	MaxStates int64
	// Stop is asked now and then; true ends planning with planner.ErrStopped. Nil:
	// never.
	Stop func() bool
	// Progress is told now and then how many token counts of how many at most Fitted
	// has evaluated. Nil: nobody.
	Progress func(done, total int64)
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o RebalanceOptions) Validate() error {
	most := MaxTokens
	if o.Method == Fitted {
		most = maxFittedTokens
	}
	return cmp.Or(
		planner.RequireAmount("ThetaMax", o.ThetaMax),
		planner.RequireOneOf("Method", cmp.Or(o.Method, Halving), Halving, Doubling, Fitted),
		planner.RequireAtLeast("MaxRounds", o.MaxRounds, 0),
		planner.RequireAtLeast("MaxStates", o.MaxStates, 0),
		o.Policy.Validate(),
		planner.RequireWithin("TokenLimit", o.TokenLimit, 0, most),
	)
}

func (o RebalanceOptions) validateMembers(members []Member) error {
	if _, _, err := split(members); err != nil || o.Method != Fitted {
		return err
	}
	return validateTokens(members, o.TokenLimit)
}

// validateTokens checks the token counts of nodes that are to be searched.
func validateTokens(members []Member, limit int) error {
	limit = cmp.Or(limit, DefaultFittedTokens)
	for i, x := range members {
		limit = max(limit, x.Tokens)
		if x.Leaves {
			continue
		}
		if err := planner.RequireWithin(planner.Element("Nodes", i)+".Tokens", x.Tokens, 1, maxFittedTokens); err != nil {
			return err
		}
	}
	if limit > MaxTokens/len(members) {
		return planner.Invalid("TokenLimit", "must not be more than "+strconv.Itoa(MaxTokens)+" tokens on the whole ring")
	}
	return nil
}

// Round is a round of redistribution that a plan tried.
type Round struct {
	Node  int32   // the ID of the node that was relieved
	Theta float64 // θ after it
}

// Rebalancing is a new ring for known loads, as differences to the one there is.
type Rebalancing struct {
	Members []Member // in ascending order of ID
	Options RebalanceOptions
	// Cause is why the plan does no more than it does: CauseBalanced when θ_max is met;
	// otherwise why there was no further round (CauseWithinThreshold, CauseShortQueue,
	// CauseAlone, CauseExhausted, CauseTokenLimit, CauseMaxRounds), or
	// CauseNoImprovement when there were, or other token counts, but no better ones.
	Cause Cause
	// Balanced: no node that stays is above (1+θ_max) times its fair load.
	Balanced bool
	// Change is the tokens that are added and removed, members that join and leave
	// included, and the arcs that move, with their keys.
	Change Change
	// Effect is the loads, θ and S before and after, and the keys that move.
	Effect Effect
	// Tried are the rounds of Halving or Doubling that were tried, of which the first
	// Adopted are part of the plan: those after which θ was least.
	Tried   []Round
	Adopted int
	// Searched is how many token counts Fitted evaluated.
	Searched int64
}

// Reason says why an arc moves: its node leaves, it goes to a node that joins, its
// node was above its bound or was relieved, or else to make room.
func (p *Rebalancing) Reason(a Arc) planner.Reason {
	member := func(id int32) int {
		i, _ := slices.BinarySearchFunc(p.Members, id, func(m Member, id int32) int { return cmp.Compare(m.ID, id) })
		return i
	}
	from := member(a.From)
	switch {
	case p.Members[from].Leaves:
		return planner.ReasonDrain
	case p.Members[member(a.To)].Joins:
		return planner.ReasonFill
	case slices.ContainsFunc(p.Tried[:p.Adopted], func(r Round) bool { return r.Node == a.From }):
		return planner.ReasonOverload
	}
	total := 0.0
	for _, n := range p.Effect.Nodes {
		total += n.Before
	}
	b := newBalance(capacities(p.Members))
	fair := p.Effect.Nodes[from].Capacity / b.whole * total
	if !within(p.Effect.Nodes[from].Before/fair-1, p.Options.ThetaMax) {
		return planner.ReasonOverload
	}
	return planner.ReasonExchange
}

// Rebalance plans a new ring. Members join and leave first; if θ is then above θ_max,
// Halving and Doubling relieve one node after the other as long as the policy fires,
// and keep the rounds up to the one after which θ is least; Fitted looks for token
// counts that meet θ_max, else come closest to it, and among those for the least state
// that moves. A ring within θ_max is left as it is. The error is a
// [planner.InputError] or planner.ErrStopped.
func Rebalance(members []Member, load *planner.Statistics, o RebalanceOptions) (*Rebalancing, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.validateMembers(members); err != nil {
		return nil, err
	}
	if err := load.ValidateAmounts(); err != nil {
		return nil, err
	}
	members = byID(members)
	before, after, err := split(members)
	if err != nil {
		return nil, err
	}
	p := &rebalancer{
		Rebalancing: Rebalancing{Members: members, Options: o},
		m:           measure(load), balance: newBalance(capacities(members)),
	}
	if cmp.Or(o.Method, Halving) == Fitted {
		after, err = p.fit(after)
	} else {
		after, err = p.rounds(after)
	}
	if err != nil {
		return nil, err
	}
	d := describe(members, before, after, p.m)
	p.Change, p.Effect = d.Change, *d.Effect
	p.Balanced = within(p.Effect.Theta.After, o.ThetaMax)
	if p.Balanced {
		p.Cause = CauseBalanced
	}
	return &p.Rebalancing, nil
}

// byID returns the members in ascending order of ID.
func byID(members []Member) []Member {
	out := slices.Clone(members)
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// capacities are those of the members that stay.
func capacities(members []Member) []float64 {
	var out []float64
	for _, x := range members {
		if !x.Leaves {
			out = append(out, cmp.Or(x.Capacity, 1))
		}
	}
	return out
}

// rebalancer makes a rebalancing.
type rebalancer struct {
	Rebalancing
	m       *measured
	balance balance
}

// loads are the loads of nodes on their ring.
func (p *rebalancer) loads(nodes []Node) []int64 {
	r := New(nodes)
	index := make(map[int32]int32, len(nodes))
	for i, n := range nodes {
		index[n.ID] = int32(i)
	}
	indices, loads := indices(r, index), make([]int64, len(nodes))
	for k, at := range p.m.position {
		loads[indices[r.TokenAt(at)]] += p.m.cost.Of[k]
	}
	return loads
}

// rounds relieves nodes until the ring is balanced or the policy, the rounds or the
// tokens forbid it, and returns the best ring on the way.
func (p *rebalancer) rounds(nodes []Node) ([]Node, error) {
	o := p.Options
	used := make([]int, len(nodes))
	loads := p.loads(nodes)
	best, least := nodes, p.balance.theta(loads, p.m.cost.Total)
	for theta := least; !within(theta, o.ThetaMax); {
		if o.Stop != nil && o.Stop() {
			return nil, planner.ErrStopped
		}
		queues := make([]float64, len(nodes))
		for i, l := range loads {
			queues[i] = p.m.cost.Float(l) / p.balance.capacity[i]
		}
		v := o.Policy.Judge(queues)
		if p.Cause = v.Cause; !v.Fires {
			break
		}
		if used[v.At] == cmp.Or(o.MaxRounds, DefaultMaxRounds) {
			p.Cause = CauseMaxRounds
			break
		}
		after, cause := cmp.Or(o.Method, Halving).relieve(nodes, v.At, cmp.Or(o.TokenLimit, DefaultTokenLimit))
		if p.Cause = cause; cause != CauseOverloaded {
			break
		}
		used[v.At]++
		nodes, loads = after, p.loads(after)
		theta = p.balance.theta(loads, p.m.cost.Total)
		p.Tried = append(p.Tried, Round{nodes[v.At].ID, theta})
		if theta < least {
			best, least, p.Adopted = nodes, theta, len(p.Tried)
		}
	}
	if p.Adopted < len(p.Tried) {
		p.Cause = CauseNoImprovement
	}
	return best, nil
}

// fit searches for token counts.
func (p *rebalancer) fit(nodes []Node) ([]Node, error) {
	o := p.Options
	theta := p.balance.theta(p.loads(nodes), p.m.cost.Total)
	if within(theta, o.ThetaMax) {
		return nodes, nil
	}
	p.Cause = CauseNoImprovement
	space := newSpace(p.Members, cmp.Or(o.TokenLimit, DefaultFittedTokens), p.m, o.Stop)
	if o.Stop != nil && o.Stop() {
		return nil, planner.ErrStopped
	}
	s := &searcher{
		space: space, budget: cmp.Or(o.MaxStates, DefaultMaxStates), stop: o.Stop, progress: o.Progress,
	}
	s.judge = func(x outcome, counts []int) rank {
		excess := s.theta(x.most)
		if within(excess, o.ThetaMax) {
			excess = 0
		}
		changed := 0.0
		for i, n := range counts {
			changed += math.Abs(float64(n - nodes[i].Tokens))
		}
		return rank{excess, float64(x.moved), changed}
	}
	start := make([]int, len(nodes))
	for i, n := range nodes {
		start[i] = n.Tokens
	}
	s.explore(start)
	if s.stopped {
		return nil, planner.ErrStopped
	}
	p.Searched = s.searched
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Tokens = s.counts[i]
	}
	return out, nil
}

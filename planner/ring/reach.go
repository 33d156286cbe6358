package ring

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// Defaults of [ReachOptions].
const (
	DefaultReachTokens = 256
	DefaultMaxStates   = 1 << 20
)

// ReachOptions are the parameters of [Reachable].
type ReachOptions struct {
	// ThetaMax is the tolerance θ_max ≥ 0 that is asked for. Defaults to 0.
	ThetaMax float64
	// TokenLimit is the greatest token count of a node that is considered. 0:
	// DefaultReachTokens.
	TokenLimit int
	// MaxRounds is how often each node may be relieved. 0: any number of times.
	MaxRounds int
	// MaxStates is how many token counts are evaluated at most, for each method. If
	// there are no more, and that is not too much work, all are, and the result is
	// exact. 0: DefaultMaxStates.
	MaxStates int64
	// TableLimit is A_max of the routing table on top of the ring. Nil: no limit.
	TableLimit *int64
	// Stop is asked now and then; true ends with planner.ErrStopped. Nil: never.
	Stop func() bool
	// Progress is told now and then how many token counts of how many at most have been
	// evaluated, for one method after the other. Nil: nobody.
	Progress func(done, total int64)
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o ReachOptions) Validate() error {
	return cmp.Or(
		planner.RequireAmount("ThetaMax", o.ThetaMax),
		planner.RequireWithin("TokenLimit", o.TokenLimit, 0, maxReachTokens),
		planner.RequireAtLeast("MaxRounds", o.MaxRounds, 0),
		planner.RequireAtLeast("MaxStates", o.MaxStates, 0),
		planner.Require(o.TableLimit == nil || *o.TableLimit >= 0, "TableLimit", "must be ≥ 0"),
	)
}

// maxExhaust bounds the work of going through all token counts: about the square of the
// nodes and all atoms for each.
const maxExhaust = 1 << 31

// maxReachTokens is the greatest token count of a node that is searched.
const maxReachTokens = 1 << 16

// Reachability is how well a load can be balanced on a ring at all, and what a routing
// table on top of it would do instead.
type Reachability struct {
	// Theta is the θ of the ring as it is.
	Theta float64
	// Heaviest is a key of the position of the ring that costs most (almost always the
	// heaviest key), −1 without keys; HeaviestCost is what all keys there cost. No
	// tokens separate them, so that no ring of these nodes, whatever its tokens, has a
	// θ below HeaviestTheta.
	Heaviest      int32
	HeaviestCost  float64
	HeaviestTheta float64
	// Methods are Halving, Doubling and Fitted, in this order.
	Methods []Reach
	// Table is a plan of strategy optimal with the ring as it is for the hash: its
	// table entries, the state it moves, its θ, and its certificate. It is the answer
	// to the same θ_max.
	Table *planner.Plan
}

// Reachable says whether token counts alone can balance a load within θ_max, for
// halving, doubling, and any counts, and what a routing table would cost. Members hold
// a token each at least; none joins or leaves. The error is a [planner.InputError] or
// planner.ErrStopped.
func Reachable(members []Member, load *planner.Statistics, o ReachOptions) (*Reachability, error) {
	members, err := staying(members, o)
	if err != nil {
		return nil, err
	}
	if err := load.ValidateAmounts(); err != nil {
		return nil, err
	}
	o.TokenLimit, o.MaxStates = cmp.Or(o.TokenLimit, DefaultReachTokens), cmp.Or(o.MaxStates, DefaultMaxStates)
	m := measure(load)
	out := &Reachability{}
	out.heaviest(members, m)
	for _, method := range []Method{Halving, Doubling, Fitted} {
		r, err := o.reach(method, members, m)
		if err != nil {
			return nil, err
		}
		out.Methods = append(out.Methods, r)
	}
	out.Table, err = o.table(members, load)
	if err != nil {
		return nil, err
	}
	out.Theta = out.Table.Theta.Before
	return out, nil
}

// staying checks the arguments of Reachable and returns the members by ID.
func staying(members []Member, o ReachOptions) ([]Member, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if _, _, err := split(members); err != nil {
		return nil, err
	}
	if len(members) < 2 {
		return nil, planner.Invalid("Nodes", "must be at least two")
	}
	for i, x := range members {
		if x.Joins || x.Leaves {
			return nil, planner.Invalid(planner.Element("Nodes", i), "must not join or leave here")
		}
	}
	if err := validateTokens(members, o.TokenLimit); err != nil {
		return nil, err
	}
	return byID(members), nil
}

// byID returns the members in ascending order of ID.
func byID(members []Member) []Member {
	out := slices.Clone(members)
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// heaviest finds the position that costs most.
func (r *Reachability) heaviest(members []Member, m *measured) {
	r.Heaviest = none
	order := make([]int32, len(m.position))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(m.position[a], m.position[b]), m.Keys.Compare(a, b))
	})
	most, sum := int64(-1), int64(0)
	first := 0 // of the position
	for i, k := range order {
		if m.position[k] != m.position[order[first]] {
			first, sum = i, 0
		}
		if sum += m.cost.Of[k]; sum > most {
			most, r.Heaviest = sum, order[first]
		}
	}
	if r.Heaviest == none {
		return
	}
	capacity := capacities(members)
	r.HeaviestCost = m.cost.Float(most)
	r.HeaviestTheta = newBalance(capacity).thetaOf(float64(most)/slices.Max(capacity), m.cost.Total)
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

// table plans a routing table on top of the ring.
func (o ReachOptions) table(members []Member, load *planner.Statistics) (*planner.Plan, error) {
	var nodes []Node
	var instances []planner.Instance
	for _, x := range members {
		nodes = append(nodes, Node{ID: x.ID, Tokens: x.Tokens})
		instances = append(instances, planner.Instance{ID: x.ID, Capacity: cmp.Or(x.Capacity, 1)})
	}
	c := planner.Configuration{Instances: instances, Hash: New(nodes)}
	s, err := planner.NewSnapshot(load, c, planner.Base{Configuration: c})
	if err != nil {
		return nil, err
	}
	return planner.Run(planner.Optimal, s, planner.Options{ThetaMax: o.ThetaMax, TableLimit: o.TableLimit, Stop: o.Stop})
}

// Evidence says how much is known about the least θ of a [Reach].
type Evidence string

// The kinds of evidence.
const (
	EvidenceExact Evidence = "exact" // Theta is the least: all was evaluated, or the lower bound is met
	EvidenceBound Evidence = "bound" // LowerBound ≤ the least θ ≤ Theta
)

// Answer answers whether a ring can balance a load.
type Answer string

// The answers.
const (
	AnswerYes     Answer = "yes"     // the token counts found do
	AnswerNo      Answer = "no"      // it is proven that none do
	AnswerUnknown Answer = "unknown" // none were found, and nothing is proven
)

// Reach is how well a load can be balanced by token counts of one kind alone.
type Reach struct {
	// Method is Halving or Doubling: all token counts that any sequence of rounds leads
	// to from those given, whether the policy would fire or not, and so all that it can
	// reach. Fitted: any token counts.
	Method Method
	// TokenLimit is the greatest token count of a node: under Fitted, and after
	// doublings. A node that holds more to begin with keeps them.
	TokenLimit int
	// States is how many different sequences of token counts there are, up to the order
	// of rounds; 0: more than ReachOptions.MaxStates.
	States int64
	// Searched is how many were evaluated.
	Searched int64
	// Nodes are the best token counts found, and Theta is their θ. Under Halving and
	// Doubling there may be none better than those given.
	Nodes []Node
	Theta float64
	// LowerBound is proven: no token counts of this kind have a smaller θ. It rests on
	// which keys no token ever separates, and which nodes they can ever belong to.
	LowerBound float64
	Evidence   Evidence
	// Balances says whether some token counts of this kind have θ ≤ θ_max.
	Balances Answer
}

// reach looks for the best point of a lattice.
func (o ReachOptions) reach(method Method, members []Member, m *measured) (Reach, error) {
	l := newLattice(method, tokensOfStaying(members), o.TokenLimit, o.MaxRounds)
	s := newSpace(members, l, m, o.Stop)
	if o.Stop != nil && o.Stop() {
		return Reach{}, planner.ErrStopped
	}
	lower := s.theta(s.lowerBound())
	search := &searcher{
		space: s, lattice: l, judge: byBalance, budget: o.MaxStates, stop: o.Stop, progress: o.Progress,
		enough: func(r rank) bool { return within(s.theta(r[0]), lower) },
	}
	out := Reach{Method: method, TokenLimit: o.TokenLimit, States: l.size(o.MaxStates), LowerBound: lower}
	if nodes := int64(len(l.start)); out.States > 0 && out.States <= maxExhaust/(nodes*nodes+int64(len(s.atoms))) {
		search.exhaust()
	} else {
		search.explore(l.origin())
	}
	if search.stopped {
		return out, planner.ErrStopped
	}
	out.Searched, out.Theta = search.searched, s.theta(search.best[0])
	for i, n := range s.nodes {
		out.Nodes = append(out.Nodes, Node{ID: n.ID, Tokens: search.counts[i]})
	}
	out.judge(o.ThetaMax)
	return out, nil
}

// judge says what is known after the search.
func (r *Reach) judge(thetaMax float64) {
	r.Evidence = EvidenceBound
	if r.Searched == r.States {
		r.LowerBound = r.Theta
	}
	if r.LowerBound >= r.Theta || within(r.Theta, r.LowerBound) {
		r.Evidence = EvidenceExact
	}
	switch {
	case within(r.Theta, thetaMax):
		r.Balances = AnswerYes
	case !within(r.LowerBound, thetaMax):
		r.Balances = AnswerNo
	default:
		r.Balances = AnswerUnknown
	}
}

package analyses

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/planner/ring"
)

// RunRing analyses a token ring. The input may be nil where the request needs none.
func RunRing(ctx context.Context, in *Input, r RingRequest, progress Progress) (*RingResult, error) {
	j, err := newJob(ctx, in, r.Top, progress)
	if err != nil {
		return nil, err
	}
	a := ringJob{job: j, r: r, out: &RingResult{KeyEncoding: j.keys.encoding()}}
	if err := a.do(a.prepare, a.present, a.redistribute, a.rescale, a.plan); err != nil {
		return nil, err
	}
	return a.out, nil
}

// ringJob is one analysis of a ring.
type ringJob struct {
	job
	r       RingRequest
	members []ring.Member       // as posted
	load    *planner.Statistics // nil without an input
	queues  []float64           // of the nodes that do not join; nil: not known
	out     *RingResult
}

// prepare fills in defaults and checks what no package would.
func (a *ringJob) prepare() error {
	r := &a.r
	if r.Method == "" {
		r.Method = ring.Halving
	}
	tokens := cmp.Or(r.TokensPerInstance, ring.DefaultTokens)
	if r.Method == ring.Doubling {
		tokens = cmp.Or(r.TokensPerInstance, 1)
	}
	if r.Nodes == nil {
		r.Nodes = Count[RingNode](ring.DefaultReducers)
	}
	switch {
	case len(r.Nodes) == 0 || len(r.Nodes) > MaxNodes:
		return planner.Invalid("nodes", "must be from 1 to "+strconv.Itoa(MaxNodes))
	case r.TokensPerInstance < 0 || r.TokensPerInstance > ring.MaxTokens:
		return planner.Invalid("tokens_per_instance", "must be from 1 to "+strconv.Itoa(ring.MaxTokens))
	case !slices.Contains([]ring.Method{ring.Halving, ring.Doubling, ring.Fitted}, r.Method):
		return planner.Invalid("method", "must be halving, doubling or fitted")
	case r.Queues != nil && len(r.Queues) != len(r.Nodes):
		return planner.Invalid("queues", "must be one for each node")
	case r.ThetaMax == nil:
		r.ThetaMax = new(DefaultThetaMax)
	}
	all := 0
	for _, n := range r.Nodes {
		a.members = append(a.members, ring.Member{
			ID: n.ID, Tokens: cmp.Or(n.Tokens, tokens), Capacity: n.Capacity, Joins: n.Joins, Leaves: n.Leaves,
		})
		if all += max(0, cmp.Or(n.Tokens, tokens)); all > mostTokens {
			return planner.Invalid("nodes", "have more than "+strconv.Itoa(mostTokens)+" tokens together")
		}
	}
	return a.needInput()
}

// mostTokens bounds the ring, which is built several times.
const mostTokens = 1 << 22

// needInput says what there must be for what is asked.
func (a *ringJob) needInput() error {
	r := &a.r
	if a.input != nil {
		a.load = a.input.statistics()
		return nil
	}
	if r.Plan {
		return planner.Invalid("keys", "are needed: plan looks at what they cost")
	}
	if r.Queues == nil && !slices.ContainsFunc(a.members,
		func(m ring.Member) bool { return m.Joins || m.Leaves }) {
		return planner.Invalid("keys", "are needed, or queues, or nodes that join or leave")
	}
	return nil
}

// nodes are those that do not join, as a ring knows them.
func (a *ringJob) nodes() []ring.Node {
	var out []ring.Node
	for _, m := range a.members {
		if !m.Joins {
			out = append(out, ring.Node{ID: m.ID, Tokens: m.Tokens})
		}
	}
	return out
}

// present tells how the ring is.
func (a *ringJob) present() error {
	out := a.out
	if a.input != nil {
		out.Keys, out.Cost, out.State = int64(a.input.Len()), total(a.input.Cost, 0), total(a.input.State, a.input.Len())
	}
	at, err := ring.Rescale(a.members, a.load) // which checks them all
	if err != nil {
		return err
	}
	loads := map[int32]ring.NodeLoad{}
	if e := at.Effect; e != nil {
		out.Skew = e.Skew.Before
		for _, n := range e.Nodes {
			loads[n.ID] = n
		}
	}
	shares := shares(ring.New(a.nodes()).Tokens())
	for i, m := range a.members {
		capacity := cmp.Or(m.Capacity, 1)
		n := RingNodeLoad{
			ID: m.ID, Tokens: m.Tokens, Capacity: capacity, Share: shares[m.ID], Load: loads[m.ID].Before,
			Keys: loads[m.ID].KeysBefore,
		}
		if n.Queue = n.Load / capacity; a.r.Queues != nil {
			n.Queue = a.r.Queues[i]
		}
		if !m.Joins && (a.r.Queues != nil || a.load != nil) {
			a.queues = append(a.queues, n.Queue)
		}
		out.Nodes = append(out.Nodes, n)
	}
	out.Theta = a.theta()
	return nil
}

// theta is the largest overload as the ring is, before anybody joins or leaves.
func (a *ringJob) theta() float64 {
	joins := make(map[int32]bool)
	for _, m := range a.members {
		joins[m.ID] = m.Joins
	}
	there := slices.DeleteFunc(slices.Clone(a.out.Nodes), func(n RingNodeLoad) bool { return joins[n.ID] })
	return overload(there, func(n RingNodeLoad) (float64, float64, bool) { return n.Load, n.Capacity, true })
}

// shares is the part of the ring that each node has.
func shares(tokens []ring.Token) map[int32]float64 {
	positions := map[int32]uint64{}
	for i, t := range tokens {
		before := tokens[(i+len(tokens)-1)%len(tokens)].Position
		length := uint64(t.Position - before) // wraps round
		if length == 0 && (len(tokens) == 1 || i == 0 && tokens[len(tokens)-1].Position == t.Position) {
			length = 1 << 32
		}
		positions[t.Node] += length
	}
	out := make(map[int32]float64, len(positions))
	for id, n := range positions {
		out[id] = float64(n) / (1 << 32)
	}
	return out
}

func (a *ringJob) policy() ring.Policy { return ring.Policy{Tau: a.r.Tau, MinQueue: a.r.MinQueue} }

// redistribute asks the policy, and relieves a node once.
func (a *ringJob) redistribute() error {
	if err := a.policy().Validate(); err != nil {
		return err
	}
	for i, q := range a.r.Queues {
		if !(q >= 0 && q <= planner.MaxAmount) {
			return planner.Invalid("queues/"+strconv.Itoa(i), "must be ≥ 0 and finite")
		}
	}
	if a.queues == nil {
		return nil
	}
	nodes := a.nodes()
	v := a.policy().Judge(a.queues)
	a.out.Verdict = &RingVerdict{Fires: v.Fires, Longest: v.Max, Second: v.Second, Threshold: v.Threshold, Cause: v.Cause}
	if v.At >= 0 && (v.Max != v.Second || len(nodes) == 1) {
		a.out.Verdict.Node = &nodes[v.At].ID
	}
	if len(nodes) < 2 || a.r.Method == ring.Fitted {
		return nil
	}
	d, err := ring.Redistribute(nodes, a.queues, ring.RedistributeOptions{Method: a.r.Method, Policy: a.policy(),
		TokenLimit: a.r.TokenLimit}, a.load)
	if err != nil {
		return err
	}
	c := a.change(&d.Change, d.Effect)
	c.Cause = d.Cause
	a.out.Redistribution = &c
	return nil
}

// rescale lets nodes join and leave.
func (a *ringJob) rescale() error {
	if !slices.ContainsFunc(a.members, func(m ring.Member) bool { return m.Joins || m.Leaves }) {
		return nil
	}
	d, err := ring.Rescale(a.members, a.load)
	if err != nil {
		return err
	}
	a.out.Rescale = new(a.change(&d.Change, d.Effect))
	return nil
}

// plan makes a new ring.
func (a *ringJob) plan() error {
	if !a.r.Plan {
		return nil
	}
	limit, named := a.r.TokenLimit, map[string]string(nil)
	if a.r.Method == ring.Fitted {
		limit, named = a.r.NodeTokenLimit, map[string]string{"token_limit": "node_token_limit"}
	}
	p, err := ring.Rebalance(a.members, a.load, ring.RebalanceOptions{
		ThetaMax: *a.r.ThetaMax, Method: a.r.Method, Policy: a.policy(), MaxRounds: a.r.MaxRounds, TokenLimit: limit,
		MaxStates: a.r.MaxStates, Stop: a.stop, Progress: a.tell("plan"),
	})
	if err != nil {
		return a.failure(err, named)
	}
	out := &RingPlan{
		Method: a.r.Method, Balanced: p.Balanced, Cause: p.Cause, Adopted: p.Adopted, Searched: p.Searched,
		Change: a.change(&p.Change, &p.Effect),
	}
	for _, r := range p.Tried {
		out.Rounds = append(out.Rounds, RingRound(r))
	}
	a.out.Plan = out
	return nil
}

package ring

import (
	"cmp"
	"strconv"

	"plannerd/planner"
)

// MaxTicks is the longest that any single action of a simulation may take.
const MaxTicks = 1_000_000_000

// Defaults of [SimulationOptions]: those of the paper's experiments, where it
// tells them.
const (
	DefaultMappers   = 4
	DefaultReducers  = 4
	DefaultTokens    = 16 // of a node under halving; under doubling 1
	DefaultMaxRounds = 1
)

// Timing says how long each action takes, in ticks of no particular length. The
// paper gives no times. The defaults are those of compute-heavy reducers, for
// which it is made: mappers send so much faster than reducers process that queues
// build up at once, and a reducer reports its queue about once per message.
//
// Within a tick, in this order: messages arrive in the order in which they were
// sent; reports reach the load balancer; a stage of state
// forwarding begins, adopts the new ring or ends; reducers finish messages, lower
// IDs first, and take up the next; reports are taken; mappers send, lower numbers
// first.
type Timing struct {
	// Map is how long a mapper works on a message, the lookup of its reducer
	// included. 0: 1.
	Map int64
	// Process is how long a reducer works on a message of cost 1, lookup included.
	// 0: 100.
	Process int64
	// Forward is how long a reducer is busy with a message that it no longer owns.
	// 0: 1.
	Forward int64
	// Network is how long a message, a report or a state is under way. 0: 1.
	Network int64
	// Report is the time between two reports of a reducer's queue; the first one is
	// taken after a random part of it. 0: 100.
	Report int64
	// Merge is how long the final merge takes for each partial state beyond a key's
	// first. 0: 10.
	Merge int64
	// State is how long a reducer is sending one key's state under StateForwarding and
	// OldOwner.
	// 0: 10.
	State int64
	// Jitter is the random deviation of Map and Process, as a fraction of them:
	// uniform within ±Jitter, 0 ≤ Jitter < 1. Nil: DefaultJitter.
	Jitter *float64
}

// DefaultJitter is the default of Timing.Jitter.
const DefaultJitter = 0.2

// withDefaults fills in what is 0.
func (t Timing) withDefaults() Timing {
	t.Map, t.Process, t.Forward = cmp.Or(t.Map, 1), cmp.Or(t.Process, 100), cmp.Or(t.Forward, 1)
	t.Network, t.Report = cmp.Or(t.Network, 1), cmp.Or(t.Report, 100)
	t.Merge, t.State = cmp.Or(t.Merge, 10), cmp.Or(t.State, 10)
	if t.Jitter == nil {
		t.Jitter = new(DefaultJitter)
	}
	return t
}

func (t Timing) validate() error {
	ticks := func(field string, n int64) error { return planner.RequireWithin("Timing."+field, n, 0, MaxTicks) }
	return cmp.Or(
		ticks("Map", t.Map), ticks("Process", t.Process), ticks("Forward", t.Forward), ticks("Network", t.Network),
		ticks("Report", t.Report), ticks("Merge", t.Merge), ticks("State", t.State),
		planner.Require(t.Jitter == nil || *t.Jitter >= 0 && *t.Jitter < 1, "Timing.Jitter", "must be ≥ 0 and < 1"),
	)
}

// StateScheme says what becomes of a key's state when the key changes its node.
type StateScheme string

// The schemes.
const (
	// FinalMerge leaves the state where it is; partial states are merged at the end
	// ("DPA Load Balancer" §1).
	FinalMerge StateScheme = "final_merge"
	// StateForwarding moves the state along, in stages on which all reducers agree
	// ("DPA Load Balancer" §7): no reducer begins a message until all have finished
	// theirs and agree on the new ring, which mappers go by from then on; states are
	// exchanged, and meanwhile messages to forward and those of keys that change their
	// node are put back; then all goes on, what was put back first. A key's state
	// always is on one node, and nothing is to merge.
	StateForwarding StateScheme = "state_forwarding"
	// OldOwner has mappers go on sending a key to the node that owned it at the beginning
	// ("DPA Load Balancer" §7, which expects needless traffic of it). Before a node forwards
	// a message of a key whose state it has, it sends the state; from then on it forwards
	// the key's messages to where the state went. States move with the first message after
	// a change of the ring, nobody waits for anybody, and nothing is to merge.
	OldOwner StateScheme = "old_owner"
)

// SimulationOptions are the parameters of [Simulate].
type SimulationOptions struct {
	// Nodes are the reducers at the beginning, with a token each at least. Nil:
	// DefaultReducers nodes with DefaultTokens tokens, with 1 under Doubling.
	Nodes []Node
	// Mappers is their number, ≥ 1. 0: DefaultMappers.
	Mappers int
	// Method is Halving, Doubling or None. Empty: Halving.
	Method Method
	Policy Policy
	// MaxRounds is how often each node may be relieved, ≥ 1. 0: DefaultMaxRounds.
	MaxRounds int
	// TokenLimit is the number of tokens on the ring, at most MaxTokens, beyond
	// which doubling is refused. 0: DefaultTokenLimit.
	TokenLimit int
	Timing     Timing
	// State is the scheme for the state of keys that move. Empty: FinalMerge.
	State StateScheme
	// Seed decides over what is left to chance: the same seed, the same simulation.
	Seed uint64
	// Stop is asked now and then; true ends the simulation with planner.ErrStopped.
	// Nil: never.
	Stop func() bool
}

const maxActors = 1 << 16 // mappers; reducers

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o SimulationOptions) Validate() error {
	return cmp.Or(
		planner.RequireOneOf("Method", cmp.Or(o.Method, Halving), Halving, Doubling, None),
		planner.RequireWithin("Mappers", o.Mappers, 0, maxActors),
		planner.RequireWithin("MaxRounds", o.MaxRounds, 0, 1<<20),
		planner.RequireOneOf("State", cmp.Or(o.State, FinalMerge), FinalMerge, StateForwarding, OldOwner),
		o.Policy.Validate(),
		planner.RequireWithin("TokenLimit", o.TokenLimit, 0, MaxTokens),
		o.Timing.validate(),
		o.validateNodes(),
	)
}

func (o SimulationOptions) validateNodes() error {
	all := o.Nodes
	if all == nil {
		all = o.withDefaults().Nodes
	}
	for i, n := range all {
		if err := planner.RequireAtLeast(planner.Element("Nodes", i)+".Tokens", n.Tokens, 1); err != nil {
			return err
		}
	}
	if err := cmp.Or(
		planner.Require(len(all) >= 2, "Nodes", "must be at least two"),
		planner.Require(len(all) <= maxActors, "Nodes", "must be at most "+strconv.Itoa(maxActors)),
	); err != nil {
		return err
	}
	return validateNodes("Nodes", all)
}

// EqualNodes returns nodes 0…n−1 with as many tokens each.
func EqualNodes(n, tokens int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{ID: int32(i), Tokens: tokens}
	}
	return nodes
}

func (o SimulationOptions) withDefaults() SimulationOptions {
	o.Method, o.State = cmp.Or(o.Method, Halving), cmp.Or(o.State, FinalMerge)
	if o.Nodes == nil {
		tokens := DefaultTokens
		if o.Method == Doubling {
			tokens = 1
		}
		o.Nodes = EqualNodes(DefaultReducers, tokens)
	}
	o.Mappers, o.MaxRounds = cmp.Or(o.Mappers, DefaultMappers), cmp.Or(o.MaxRounds, DefaultMaxRounds)
	o.TokenLimit = cmp.Or(o.TokenLimit, DefaultTokenLimit)
	o.Nodes, o.Timing = inOrder(o.Nodes), o.Timing.withDefaults()
	return o
}

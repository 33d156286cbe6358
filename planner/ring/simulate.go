package ring

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
)

// Defaults of the experiments, those of "DPA Load Balancer" where it tells them.
const (
	DefaultReducers  = 4
	DefaultTokens    = 16 // of a node under halving; under doubling 1
	DefaultMaxRounds = 1
	defaultMappers   = 4
)

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

// timing says how long each action takes, ≥ 1, in ticks of no particular length. The
// paper gives no times. The defaults, in place of 0, are those of compute-heavy reducers, for
// which it is made: mappers send so much faster than reducers process that queues
// build up at once, and a reducer reports its queue about once per message.
type timing struct {
	mapping int64 // of a message by a mapper, the lookup of its reducer included: 1
	process int64 // of a message by a reducer, lookup included: 100
	forward int64 // of a message that the reducer no longer owns: 1
	network int64 // until a message, a report or a state arrives: 1
	report  int64 // between two reports of a reducer's queue; the first comes after a random part of it: 100
	merge   int64 // of each partial state beyond a key's first, at the end: 10
	state   int64 // until one key's state is sent, under StateForwarding and OldOwner: 10
	// jitter is the random deviation of mapping and process, as a fraction of them: uniform
	// within ±jitter, below 1. Nil: 0.2.
	jitter *float64
}

// simulationOptions are the parameters of simulate. What is 0 has its default.
type simulationOptions struct {
	nodes      []Node // at the beginning, two or more, with a token each at least
	mappers    int
	method     Method // Halving, Doubling or None
	policy     Policy
	maxRounds  int // how often each node may be relieved
	tokenLimit int
	timing     timing
	state      StateScheme
	seed       uint64
	stop       func() bool
}

// EqualNodes returns nodes 0…n−1 with as many tokens each.
func EqualNodes(n, tokens int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{ID: int32(i), Tokens: tokens}
	}
	return nodes
}

func (o simulationOptions) withDefaults() simulationOptions {
	o.method, o.state = cmp.Or(o.method, Halving), cmp.Or(o.state, FinalMerge)
	if o.nodes == nil {
		tokens := DefaultTokens
		if o.method == Doubling {
			tokens = 1
		}
		o.nodes = EqualNodes(DefaultReducers, tokens)
	}
	o.nodes = inOrder(o.nodes)
	o.mappers, o.maxRounds = cmp.Or(o.mappers, defaultMappers), cmp.Or(o.maxRounds, DefaultMaxRounds)
	o.tokenLimit = cmp.Or(o.tokenLimit, DefaultTokenLimit)
	t := &o.timing
	t.mapping, t.process, t.forward = cmp.Or(t.mapping, 1), cmp.Or(t.process, 100), cmp.Or(t.forward, 1)
	t.network, t.report = cmp.Or(t.network, 1), cmp.Or(t.report, 100)
	t.merge, t.state, t.jitter = cmp.Or(t.merge, 10), cmp.Or(t.state, 10), cmp.Or(t.jitter, new(0.2))
	return o
}

// stream is a sequence of messages by their keys.
type stream struct {
	keys     *planner.Keys
	messages []int32 // indices into keys
}

// newStream returns counts[i] messages of each key i, shuffled with the seed.
func newStream(keys *planner.Keys, counts []int64, seed uint64) *stream {
	s := &stream{keys: keys}
	for i, n := range counts {
		s.messages = append(s.messages, slices.Repeat([]int32{int32(i)}, int(n))...)
	}
	rng := rand.NewPCG(seed, 0)
	for i := len(s.messages) - 1; i > 0; i-- {
		j := below(rng, uint64(i)+1)
		s.messages[i], s.messages[j] = s.messages[j], s.messages[i]
	}
	return s
}

// below draws a number below n, n > 0. The bias is at most n/2⁶⁴.
func below(rng *rand.PCG, n uint64) uint64 {
	high, _ := bits.Mul64(rng.Uint64(), n)
	return high
}

// Simulation is a stream processed twice on a token ring: once as the ring is at
// the beginning ("No LB" in "DPA Load Balancer" Table 1), and once with load balancing.
type Simulation struct{ Baseline, Balanced Run }

// Run is one simulated run from the first message to the last. Times are in ticks.
type Run struct {
	// Reducers are the nodes.
	Reducers []Reducer
	// Skew is S of the messages that the reducers processed; see [Skew].
	Skew float64
	// Forwarded is how many times a reducer passed on a message that it did not own.
	Forwarded int64
	// Partial is of how many messages each partial state beyond a key's largest is, by
	// key, then descending: what the final merge takes over. There is none under the other schemes.
	Partial []int64
	// History are the changes of the ring, in order.
	History []Event
	// InVain counts the reports upon which the policy fired in vain: for a node with nothing
	// to halve, for one without rounds left, and because doubling would exceed the token limit.
	InVain map[Cause]int
	// Processed is when the last message was processed, Ticks the time to finish, the final merge
	// included.
	Processed, Ticks int64
	// Stages is how many changes of the ring all reducers agreed on under StateForwarding, and
	// HeldBack how many times a message was put back meanwhile.
	Stages, HeldBack int64
	// Counts are the merged counts, by key of the stream.
	Counts []int64
}

// Reducer is what one reducer did.
type Reducer struct {
	ID        int32
	Tokens    int   // at the end
	Rounds    int   // how often it was relieved
	Processed int64 // messages, M_i of the paper
	Forwarded int64 // messages
}

// Event is a change of the ring: a round of redistribution.
type Event struct {
	Tick int64
	Node int32 // the ID of the node that was relieved
	// Max and Second are Q_max and Q_s as last reported.
	Max, Second float64
	// Tokens are the counts of all nodes after it, parallel to Run.Reducers.
	Tokens []int
	// Keys is how many keys of the stream changed their node.
	Keys int64
}

// simulate processes the stream without and with load balancing. The error is
// planner.ErrStopped.
func simulate(s *stream, o simulationOptions) (*Simulation, error) {
	o = o.withDefaults()
	baseline := o
	baseline.method = None
	out := &Simulation{}
	for _, run := range []struct {
		o   simulationOptions
		out *Run
	}{{baseline, &out.Baseline}, {o, &out.Balanced}} {
		if o.stop != nil && o.stop() {
			return nil, planner.ErrStopped
		}
		sim := newSimulation(s, run.o)
		for !sim.done() {
			sim.tick()
		}
		*run.out = sim.result()
	}
	return out, nil
}

// result is the outcome of a simulation that has ended.
func (s *simulation) result() Run {
	r := s.run
	r.Processed, r.Counts = s.now, make([]int64, len(s.states))
	var loads []float64
	for i, n := range s.nodes {
		x := &s.reducers[i]
		loads = append(loads, float64(x.processed))
		r.Forwarded += x.forwarded
		r.Reducers = append(r.Reducers, Reducer{n.ID, n.Tokens, x.rounds, x.processed, x.forwarded})
	}
	r.Skew = Skew(loads)
	for key, parts := range s.states {
		var counts []int64
		for _, n := range parts {
			r.Counts[key] += n
			counts = append(counts, n)
		}
		slices.SortFunc(counts, func(a, b int64) int { return cmp.Compare(b, a) })
		r.Partial = append(r.Partial, counts[min(1, len(counts)):]...)
	}
	r.Ticks = r.Processed + int64(len(r.Partial))*s.o.timing.merge
	return r
}

// never is the time of who waits for another.
const never = math.MaxInt64

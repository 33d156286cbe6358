package analyses

import (
	"plannerd/planner/ring"
)

// Node is a node of a ring.
type Node struct {
	ID int32 `json:"id"` // ≥ 0
	// Tokens is how many tokens it holds, claims when it joins, or gives up when it
	// leaves. Defaults to tokens_per_instance.
	Tokens int `json:"tokens,omitzero"`
	// Capacity is its relative speed κ, from 1e-6 to 1e6. Defaults to 1.
	Capacity float64 `json:"capacity,omitzero"`
	// Joins: it is new and claims its tokens. Leaves: it gives up its tokens.
	Joins  bool `json:"joins,omitzero"`
	Leaves bool `json:"leaves,omitzero"`
}

func (n *Node) number(id int32) { n.ID = id }

// Nodes are the nodes of a ring; in JSON also their number.
type Nodes = Counted[Node, *Node]

// Join is a node that joins while a simulation runs.
type Join struct {
	Tick   int64 `json:"tick"`            // ≥ 1
	ID     int32 `json:"id"`              // new
	Tokens int   `json:"tokens,omitzero"` // that it claims. Defaults to tokens_per_instance
}

// Timing is how long each action of a simulation takes, in ticks of no particular
// length. 0 means the default.
type Timing struct {
	Map     int64    `json:"map,omitzero"`     // a mapper works on a message. Defaults to 1
	Process int64    `json:"process,omitzero"` // a reducer works on a message of cost 1. Defaults to 100
	Forward int64    `json:"forward,omitzero"` // a reducer passes on a message that it does not own. Defaults to 1
	Network int64    `json:"network,omitzero"` // a message, report or state is under way. Defaults to 1
	Report  int64    `json:"report,omitzero"`  // between two reports of a reducer's queue. Defaults to 100
	Merge   int64    `json:"merge,omitzero"`   // the final merge of one partial state. Defaults to 10
	State   int64    `json:"state,omitzero"`   // a reducer sends one key's state. Defaults to 10
	Jitter  *float64 `json:"jitter,omitzero"`  // random deviation of map and process, a fraction from 0 to below 1. Defaults to 0.2
}

// RingRequest asks for an analysis of a token ring ("DPA Load Balancer").
//
// The loads, the policy's verdict on them and one round of redistribution, and what
// joining and leaving nodes change, are always part of the result if there is an
// input; the rest is on request. Without an input the queues, or paper, are needed.
type RingRequest struct {
	// Nodes of the ring, one of which stays at least. In JSON also a number. Defaults
	// to 4, as in the paper.
	Nodes Nodes `json:"nodes,omitzero"`
	// TokensPerInstance are the tokens of a node that does not name its own. Defaults
	// to 16, under method doubling to 1.
	TokensPerInstance int `json:"tokens_per_instance,omitzero"`
	// Method is "halving" (default), "doubling", or, for plan alone, "fitted". A
	// simulation also knows "none".
	Method ring.Method `json:"method,omitzero"`
	// Tau is τ ≥ 0: the node of the longest queue is relieved if that exceeds (1+τ)
	// times the second longest. Defaults to 0.2.
	Tau *float64 `json:"tau,omitzero"`
	// MinQueue is the least length ≥ 0 of a queue that is relieved. Defaults to 0.
	MinQueue float64 `json:"min_queue,omitzero"`
	// Queues are queue lengths, parallel to nodes. Without them the loads of the nodes
	// per capacity stand in.
	Queues []float64 `json:"queues,omitzero"`
	// ThetaMax is the tolerance θ_max ≥ 0 of plan and reach. Defaults to 0.08.
	ThetaMax *float64 `json:"theta_max,omitzero"`
	// MaxRounds ≥ 1 is how often each node may be relieved, by plan and simulate.
	// Defaults to 1; of reach to any number of times.
	MaxRounds int `json:"max_rounds,omitzero"`
	// TokenLimit is the number of tokens of all nodes together beyond which doubling is
	// refused, at most 2^24. Defaults to 2^20.
	TokenLimit int `json:"token_limit,omitzero"`
	// NodeTokenLimit is the greatest number of tokens of one node that fitted and reach
	// consider. Defaults to 256.
	NodeTokenLimit int `json:"node_token_limit,omitzero"`
	// MaxStates bounds how many token counts plan (fitted) and reach evaluate, per
	// method. Defaults to 2^20.
	MaxStates int64 `json:"max_states,omitzero"`
	// Seed, from 0 to 2^53−1, decides over the order of messages made of frequencies
	// and over what a simulation leaves to chance.
	Seed uint64 `json:"seed,omitzero"`

	// Plan asks for a new ring for the loads.
	Plan bool `json:"plan,omitzero"`
	// Reach asks whether the ring alone can balance the loads at all, and what a routing
	// table on top of it would cost instead.
	Reach bool `json:"reach,omitzero"`
	// TableLimit is A_max ≥ 0 of that table. Nil: no limit.
	TableLimit *int64 `json:"table_limit,omitzero"`

	// Simulate asks for a simulation of the stream, without and with balancing, on the
	// nodes that do not join.
	Simulate bool `json:"simulate,omitzero"`
	// StateSchemes are what becomes of the state of keys that move: "final_merge",
	// "state_forwarding", one simulation each. Defaults to both.
	StateSchemes []ring.StateScheme `json:"state_schemes,omitzero"`
	Mappers      int                `json:"mappers,omitzero"` // their number. Defaults to 4
	Timing       Timing             `json:"timing,omitzero"`
	// Joins are nodes that join while it runs, in ascending order of tick.
	Joins []Join `json:"joins,omitzero"`
	// Messages is how many messages are made of frequencies, in proportion, at most
	// 2^28. Defaults to their sum, and to 1,000,000 where that is greater or no whole
	// number. A stream is simulated as it is.
	Messages int64 `json:"messages,omitzero"`

	// Paper asks for the experiments of the paper, with tau 0.2 and its own workloads:
	// Table 1, and with other paper_max_rounds Fig. 3.
	Paper bool `json:"paper,omitzero"`
	// PaperMaxRounds are the greatest numbers of rounds to try. Defaults to 1.
	PaperMaxRounds []int `json:"paper_max_rounds,omitzero"`
	// PaperRuns is by how many seeds each figure is judged. Defaults to 101.
	PaperRuns int `json:"paper_runs,omitzero"`

	// Top bounds each list of arcs, keys and events. Defaults to 20.
	Top *int `json:"top,omitzero"`
}

// RingResult is the answer to a RingRequest.
type RingResult struct {
	KeyEncoding KeyEncoding `json:"key_encoding,omitzero"`
	// Keys is the number of keys, Cost and State what they cost and hold together; 0
	// without an input.
	Keys  int64   `json:"keys"`
	Cost  float64 `json:"cost"`
	State float64 `json:"state"`
	// Nodes are the nodes as posted, with what they carry; those that join carry
	// nothing yet.
	Nodes []NodeLoad `json:"nodes"`
	// Skew is S = (W−U)/(M−U) of the loads, and Theta their largest overload, as the ring
	// is, before anybody joins or leaves. 0 without an input. In changes θ is that of the
	// nodes that stay, before and after.
	Skew  float64 `json:"skew"`
	Theta float64 `json:"theta"`
	// Verdict is what the policy says to the queues, or to the loads; absent without
	// either. Nodes that join do not count, those that leave do.
	Verdict *RingVerdict `json:"verdict,omitzero"`
	// Redistribution is one round, as the verdict says, before anybody joins or leaves;
	// absent without a verdict, with a single node, and under method fitted or none.
	Redistribution *RingChange `json:"redistribution,omitzero"`
	// Rescale is what the nodes that join and leave change, and nothing else.
	Rescale *RingChange `json:"rescale,omitzero"`
	Plan    *RingPlan   `json:"plan,omitzero"`
	Reach   *RingReach  `json:"reach,omitzero"`
	// Simulations, one for each state scheme.
	Simulations []RingSimulation `json:"simulations,omitzero"`
	Paper       []RingPaperRow   `json:"paper,omitzero"`
}

// NodeLoad is what a node carries.
type NodeLoad struct {
	ID       int32   `json:"id"`
	Tokens   int     `json:"tokens"`
	Capacity float64 `json:"capacity"`
	Share    float64 `json:"share"` // of the positions of the ring, from 0 to 1
	Load     float64 `json:"load"`  // cost of its keys
	Keys     int64   `json:"keys"`
	Queue    float64 `json:"queue"` // as posted, else load per capacity
}

// RingVerdict is what the policy says about some queues.
type RingVerdict struct {
	Fires     bool       `json:"fires"`
	Node      *int32     `json:"node"` // of the longest queue; null when several share it
	Longest   float64    `json:"longest"`
	Second    float64    `json:"second"`
	Threshold float64    `json:"threshold"` // (1+τ) times the second, which the longest has to exceed
	Cause     ring.Cause `json:"cause"`     // overloaded, within_threshold, short_queue or alone
}

// RingChange is a change of the ring and what it does to the loads. The tokens of a
// node are 0…T−1, so that the numbers before and after say which ones come and go.
type RingChange struct {
	// Cause is why the ring changes or does not; absent of a rescale.
	Cause         ring.Cause       `json:"cause,omitzero"`
	Nodes         []RingNodeChange `json:"nodes"`
	TokensAdded   int64            `json:"tokens_added"`
	TokensRemoved int64            `json:"tokens_removed"`
	Moved         float64          `json:"moved"` // part of the ring's positions that change their node
	// ArcsMoved is how many stretches of the ring change their node; Arcs are the first
	// top of them by descending state, then cost, length and position.
	ArcsMoved int64     `json:"arcs_moved"`
	Arcs      []RingArc `json:"arcs"`
	// Migration is what moves of the keys; absent without an input.
	Migration *KeyMigration `json:"migration,omitzero"`
	Skew      Comparison    `json:"skew"`
	Theta     Comparison    `json:"theta"`
}

// KeyMigration sums up keys that move.
type KeyMigration struct {
	Keys     int64   `json:"keys"`
	Cost     float64 `json:"cost"`
	State    float64 `json:"state"`
	Fraction float64 `json:"fraction"` // of all state
	// Top are the first top of them by descending state, then cost.
	Top []MovedKey `json:"top"`
}

// MovedKey is a key that moves.
type MovedKey struct {
	Key   string  `json:"key"`
	From  int32   `json:"from"`
	To    int32   `json:"to"`
	Cost  float64 `json:"cost"`
	State float64 `json:"state"`
}

// RingNodeChange is what a change does to one node.
type RingNodeChange struct {
	ID           int32   `json:"id"`
	Capacity     float64 `json:"capacity"`
	TokensBefore int     `json:"tokens_before"`
	TokensAfter  int     `json:"tokens_after"`
	LoadBefore   float64 `json:"load_before"`
	LoadAfter    float64 `json:"load_after"`
	KeysBefore   int64   `json:"keys_before"`
	KeysAfter    int64   `json:"keys_after"`
	StateIn      float64 `json:"state_in"`
	StateOut     float64 `json:"state_out"`
}

// RingArc is a stretch of the ring that changes its node: the positions after start
// up to and including end, wrapping round when start ≥ end.
type RingArc struct {
	Start uint32  `json:"start"`
	End   uint32  `json:"end"`
	From  int32   `json:"from"`
	To    int32   `json:"to"`
	Keys  int64   `json:"keys"`
	Cost  float64 `json:"cost"`
	State float64 `json:"state"`
}

// RingPlan is a new ring for the loads.
type RingPlan struct {
	Method   ring.Method `json:"method"`
	Balanced bool        `json:"balanced"`
	// Cause is why it does no more than it does: see package ring.
	Cause ring.Cause `json:"cause"`
	// Rounds that were tried, the first adopted of which are part of the plan.
	Rounds   []RingRound `json:"rounds"`
	Adopted  int         `json:"adopted"`
	Searched int64       `json:"searched"` // token counts that fitted evaluated
	Change   RingChange  `json:"change"`
}

// RingRound is a round of redistribution.
type RingRound struct {
	Node  int32   `json:"node"`  // that was relieved
	Theta float64 `json:"theta"` // after it
}

// RingReach is how well a ring can balance the loads at all.
type RingReach struct {
	Theta float64 `json:"theta"` // as the ring is
	// HeaviestKey is the key that no tokens split; without it, because of it, no ring of
	// these nodes has a smaller θ than heaviest_theta.
	HeaviestKey   string            `json:"heaviest_key"`
	HeaviestCost  float64           `json:"heaviest_cost"`
	HeaviestTheta float64           `json:"heaviest_theta"`
	Methods       []RingReachMethod `json:"methods"` // halving, doubling, fitted
	Table         RingTable         `json:"table"`
}

// RingReachMethod is how well token counts of one kind can balance the loads.
type RingReachMethod struct {
	Method ring.Method `json:"method"`
	// Balances: "yes", "no" (proven) or "unknown".
	Balances   ring.Answer   `json:"balances"`
	Theta      float64       `json:"theta"`       // the least found
	LowerBound float64       `json:"lower_bound"` // proven: no θ is below
	Evidence   ring.Evidence `json:"evidence"`    // "exact": theta is the least; "bound"
	TokenLimit int           `json:"token_limit"`
	States     int64         `json:"states"` // different token counts; 0: more than max_states
	Searched   int64         `json:"searched"`
	Nodes      []NodeTokens  `json:"nodes"` // the best found
}

// NodeTokens are the tokens of a node.
type NodeTokens struct {
	ID     int32 `json:"id"`
	Tokens int   `json:"tokens"`
}

// RingTable is what a routing table on top of the ring does instead: a plan of
// strategy optimal.
type RingTable struct {
	Balanced         bool    `json:"balanced"`
	TableWithinLimit bool    `json:"table_within_limit"`
	Theta            float64 `json:"theta"`
	Entries          int64   `json:"entries"` // of the table
	Keys             int64   `json:"keys"`    // that move
	State            float64 `json:"state"`   // that moves
	Fraction         float64 `json:"fraction"`
	// LowerBound is proven: no table that keeps to the limits moves less state.
	LowerBound *float64 `json:"lower_bound"`
}

// RingSimulation is a stream processed without and with balancing.
type RingSimulation struct {
	StateScheme ring.StateScheme `json:"state_scheme"`
	Method      ring.Method      `json:"method"`
	Messages    int64            `json:"messages"`
	Baseline    RingRun          `json:"baseline"`
	Balanced    RingRun          `json:"balanced"`
}

// RingRun is one simulated run. Times are in ticks.
type RingRun struct {
	Skew       float64       `json:"skew"`       // S of the messages processed
	Forwarded  int64         `json:"forwarded"`  // times a message was passed on
	SplitKeys  int64         `json:"split_keys"` // with state on several nodes at the end
	Merges     int64         `json:"merges"`     // partial states beyond each key's first
	Rounds     int64         `json:"rounds"`     // of redistribution
	Ticks      int64         `json:"ticks"`      // until all is done, merge included
	Mapped     int64         `json:"mapped"`     // when the last message left its mapper
	Processed  int64         `json:"processed"`  // when the last message was processed
	MergeTicks int64         `json:"merge_ticks"`
	Nodes      []RingReducer `json:"nodes"`
	// EventCount is the number of changes of the ring, Events the first top of them.
	EventCount int64       `json:"event_count"`
	Events     []RingEvent `json:"events"`
	// Exhausted, OutOfRounds and OverTokenLimit count reports upon which the policy
	// fired in vain.
	Exhausted      int64       `json:"exhausted"`
	OutOfRounds    int64       `json:"out_of_rounds"`
	OverTokenLimit int64       `json:"over_token_limit"`
	Stages         *RingStages `json:"stages,omitzero"` // under state_forwarding
	// Consistent: the merged counts equal a direct count of the stream.
	Consistent bool `json:"consistent"`
}

// RingReducer is what one node did in a run.
type RingReducer struct {
	ID        int32 `json:"id"`
	Tokens    int   `json:"tokens"` // at the end
	Rounds    int   `json:"rounds"` // how often it was relieved
	Processed int64 `json:"processed"`
	Forwarded int64 `json:"forwarded"`
	Busy      int64 `json:"busy"` // ticks
	MaxQueue  int64 `json:"max_queue"`
}

// RingEvent is a change of the ring in a run.
type RingEvent struct {
	Tick    int64   `json:"tick"`
	Node    int32   `json:"node"` // that was relieved, or joined
	Join    bool    `json:"join"`
	Longest float64 `json:"longest"` // queue, as last reported
	Second  float64 `json:"second"`
	Keys    int64   `json:"keys"` // of the stream that changed their node
}

// RingStages is what state forwarding cost.
type RingStages struct {
	Stages        int64 `json:"stages"`
	StatesMoved   int64 `json:"states_moved"`
	MessagesMoved int64 `json:"messages_moved"` // that those states are of
	HeldBack      int64 `json:"held_back"`      // times a message was put back
	AgreeTicks    int64 `json:"agree_ticks"`
	ExchangeTicks int64 `json:"exchange_ticks"`
	Waited        int64 `json:"waited"` // ticks, summed over the nodes
}

// RingPaperRow compares a cell of the paper's experiments to simulations of it. All
// but the names and counts are skews S.
type RingPaperRow struct {
	Workload          string      `json:"workload"`
	Method            ring.Method `json:"method"`
	MaxRounds         int         `json:"max_rounds"`
	PublishedBaseline float64     `json:"published_baseline"`
	PublishedBalanced *float64    `json:"published_balanced"` // null where the paper has no number
	Baseline          float64     `json:"baseline"`
	Balanced          Spread      `json:"balanced"` // over all seeds
	Floor             float64     `json:"floor"`    // proven: no smaller S on these rings
	Forwarded         int64       `json:"forwarded"`
	SplitKeys         int64       `json:"split_keys"`
	Rounds            int64       `json:"rounds"`
}

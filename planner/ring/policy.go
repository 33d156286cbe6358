package ring

import (
	"cmp"

	"plannerd/planner"
)

// DefaultTau is the τ of the paper's experiments.
const DefaultTau = 0.2

// Policy says when a node counts as overloaded: Q_max > Q_s·(1+τ), the longest
// queue against the second longest ("DPA Load Balancer" §4.1, predicate 1).
type Policy struct {
	// Tau is τ ≥ 0. Nil: DefaultTau.
	Tau *float64
	// MinQueue is the least Q_max ≥ 0 that counts as overload: the paper's
	// predicate alone is met by a single message when all other queues are empty.
	// Defaults to 0, the paper's predicate alone.
	MinQueue float64
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (p Policy) Validate() error {
	return cmp.Or(planner.RequireAmount("Tau", p.tau()), planner.RequireAmount("MinQueue", p.MinQueue))
}

func (p Policy) tau() float64 {
	if p.Tau == nil {
		return DefaultTau
	}
	return *p.Tau
}

// Verdict is what the policy says about some queues.
type Verdict struct {
	// Fires: the queue at index At is to be relieved.
	Fires bool
	// At is the index of the longest queue, the first of several; −1 without any.
	At int
	// Max is Q_max, Second is Q_s: the longest and the second longest queue. They
	// are equal when two are the longest. Second is 0 when there is but one queue.
	Max, Second float64
	// Threshold is Q_s·(1+τ), which Max has to exceed.
	Threshold float64
	// Cause is CauseOverloaded if it fires, else CauseWithinThreshold,
	// CauseShortQueue or CauseAlone.
	Cause Cause
}

// Judge applies the policy to queue lengths. One queue alone never fires.
func (p Policy) Judge(queues []float64) Verdict {
	v := Verdict{At: -1}
	for i, q := range queues {
		switch {
		case v.At < 0 || q > v.Max:
			if v.At >= 0 {
				v.Second = v.Max
			}
			v.At, v.Max = i, q
		case q > v.Second:
			v.Second = q
		}
	}
	v.Threshold = v.Second * (1 + p.tau())
	switch {
	case len(queues) < 2:
		v.Cause = CauseAlone
	case v.Max <= v.Threshold:
		v.Cause = CauseWithinThreshold
	case v.Max < p.MinQueue:
		v.Cause = CauseShortQueue
	default:
		v.Fires, v.Cause = true, CauseOverloaded
	}
	return v
}

// Cause is a coded reason why the ring was changed or was not.
type Cause string

// The causes.
const (
	CauseOverloaded      Cause = "overloaded"       // Q_max > Q_s·(1+τ)
	CauseWithinThreshold Cause = "within_threshold" // Q_max ≤ Q_s·(1+τ)
	CauseShortQueue      Cause = "short_queue"      // Q_max < Policy.MinQueue
	CauseAlone           Cause = "alone"            // there is no second node
	// the overloaded node has one token left, or no other node has one to double
	CauseExhausted     Cause = "exhausted"
	CauseTokenLimit    Cause = "token_limit"    // doubling would exceed the greatest number of tokens
	CauseMaxRounds     Cause = "max_rounds"     // the overloaded node has used its rounds
	CauseBalanced      Cause = "balanced"       // no load above (1+θ_max) times the fair one
	CauseNoImprovement Cause = "no_improvement" // what was tried left θ no smaller
)

// Method is a way of redistributing a ring.
type Method string

// The methods.
const (
	// Halving takes half of its tokens from the overloaded node: of T tokens those
	// below T/2 stay ("DPA Load Balancer" §4.2, token halving).
	Halving Method = "halving"
	// Doubling doubles the tokens of every other node: tokens T…2T−1 are added
	// ("DPA Load Balancer" §4.2, token doubling).
	Doubling Method = "doubling"
	// None redistributes nothing: the baseline of simulations.
	None Method = "none"
	// Fitted looks for any token counts that balance known loads with little state
	// moved. It is not in the paper, whose balancer knows no loads by key, and is
	// for plans only.
	Fitted Method = "fitted"
)

// relieve returns the nodes with the one at index at relieved, and
// CauseOverloaded; or why they cannot change: CauseExhausted, or CauseTokenLimit
// when the ring would have more than limit tokens.
func (m Method) relieve(nodes []Node, at, limit int) ([]Node, Cause) {
	after, total, changed := append([]Node(nil), nodes...), 0, false
	for i := range after {
		n := &after[i]
		switch {
		case m == Halving && i == at:
			n.Tokens = (n.Tokens + 1) / 2 // the tokens j < T/2
		case m == Doubling && i != at:
			n.Tokens *= 2
		}
		changed = changed || n.Tokens != nodes[i].Tokens
		total += n.Tokens
	}
	switch {
	case !changed:
		return nodes, CauseExhausted
	case total > limit:
		return nodes, CauseTokenLimit
	}
	return after, CauseOverloaded
}

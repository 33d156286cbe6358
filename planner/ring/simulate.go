package ring

import "slices"

// Simulation is a stream processed twice on a token ring: once as the ring is at
// the beginning, and once with load balancing.
type Simulation struct {
	// Baseline is the run without balancing ("No LB" in "DPA Load Balancer" Table 1),
	// Balanced the one with it; the same, but for the statistics of the balancer, when
	// the method is None.
	Baseline, Balanced Run
}

// Run is one simulated run from the first message to the last. Times are in ticks.
type Run struct {
	// Reducers are the nodes.
	Reducers []Reducer
	// Skew is S of the messages that the reducers processed; see [Skew].
	Skew float64
	// Forwarded is how many times a reducer passed on a message that it did not own.
	Forwarded int64
	// SplitKeys is how many keys have state on more than one reducer at the end, and
	// Merges how many partial states there are beyond each key's first: the work of
	// the final merge. 0 under the other schemes.
	SplitKeys, Merges int64
	// Partial is of how many messages each partial state beyond a key's largest is, by
	// key, then descending: what the final merge takes over.
	Partial []int64
	// History are the changes of the ring, in order.
	History []Event
	// Exhausted, OutOfRounds and OverTokenLimit count the reports upon which the
	// policy fired in vain: for a node with nothing to halve, for one without rounds
	// left, and because doubling would exceed the token limit.
	Exhausted, OutOfRounds, OverTokenLimit int64
	// Processed is when the last message was processed, MergeTicks how long the final merge
	// took, Ticks the time to finish, merge included.
	Processed, MergeTicks, Ticks int64
	// Stages is how many changes of the ring all reducers agreed on under StateForwarding, and
	// HeldBack how many times a message was put back meanwhile.
	Stages, HeldBack int64
	// Counts are the merged counts, by key of the stream.
	Counts []int64
	// Consistent: Counts equal a direct count of the stream.
	Consistent bool
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

// Simulate processes the stream without and with load balancing. The error is a
// [planner.InputError] or planner.ErrStopped.
func Simulate(s *Stream, o SimulationOptions) (*Simulation, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if err := s.validate(); err != nil {
		return nil, err
	}
	baseline := o
	baseline.Method = None
	out := &Simulation{}
	var err error
	if out.Baseline, err = run(s, baseline); err != nil {
		return nil, err
	}
	out.Balanced, err = run(s, o)
	return out, err
}

// run runs a simulation with valid options and their defaults.
func run(s *Stream, o SimulationOptions) (Run, error) {
	sim := newSimulation(s, o)
	if err := sim.run(); err != nil {
		return Run{}, err
	}
	return sim.result(), nil
}

// result is the outcome of a simulation that has ended.
func (s *simulation) result() Run {
	b := &s.balancer
	r := Run{
		History: b.history, Exhausted: b.exhausted, OutOfRounds: b.outOfRounds, OverTokenLimit: b.overTokenLimit,
		Processed: s.now, Stages: s.stage.stages, HeldBack: s.stage.heldBack,
	}
	loads := make([]float64, len(b.nodes))
	for i, n := range b.nodes {
		x := &s.reducers[i]
		loads[i] = float64(x.processed)
		r.Forwarded += x.forwarded
		r.Reducers = append(r.Reducers, Reducer{n.ID, n.Tokens, b.rounds[i], x.processed, x.forwarded})
	}
	r.Skew = Skew(loads)
	r.Counts, r.Partial, r.SplitKeys = s.states.merged()
	r.Merges = int64(len(r.Partial))
	r.Consistent = slices.Equal(r.Counts, s.stream.Counts())
	r.MergeTicks = r.Merges * s.o.Timing.Merge
	r.Ticks = r.Processed + r.MergeTicks
	return r
}

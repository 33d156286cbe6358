package analyses

import (
	"cmp"
	"slices"

	"plannerd/planner"
	"plannerd/planner/ring"
)

// change describes a change of the ring. Without an effect it is of tokens alone.
func (a *ringJob) change(c *ring.Change, e *ring.Effect) RingChange {
	out := RingChange{
		TokensAdded: int64(len(c.Added)), TokensRemoved: int64(len(c.Removed)), Moved: c.Moved(),
		ArcsMoved: int64(len(c.Arcs)),
		Nodes:     a.nodeChanges(c, e),
	}
	arcs := slices.Clone(c.Arcs)
	slices.SortStableFunc(arcs, func(x, y ring.Arc) int {
		return cmp.Or(cmp.Compare(y.State, x.State), cmp.Compare(y.Cost, x.Cost), cmp.Compare(y.Length(), x.Length()))
	})
	for _, x := range arcs[:min(a.top, len(arcs))] {
		out.Arcs = append(out.Arcs, RingArc(x))
	}
	if e == nil {
		return out
	}
	out.Skew = Comparison(e.Skew)
	out.Theta = Comparison{
		Before: overload(out.Nodes, func(n RingNodeChange) (float64, float64, bool) {
			return n.LoadBefore, n.Capacity,
				n.TokensAfter > 0
		}),
		After: overload(out.Nodes, func(n RingNodeChange) (float64, float64, bool) {
			return n.LoadAfter, n.Capacity,
				n.TokensAfter > 0
		}),
	}
	m := &RingKeyMigration{Keys: int64(len(e.Moves)), Cost: e.Cost, State: e.State, Fraction: e.Fraction}
	moves := slices.Clone(e.Moves)
	slices.SortStableFunc(moves, func(x, y ring.KeyMove) int {
		return cmp.Or(cmp.Compare(a.state(y.Key), a.state(x.Key)), cmp.Compare(a.input.Cost[y.Key], a.input.Cost[x.Key]))
	})
	for _, x := range moves[:min(a.top, len(moves))] {
		m.Top = append(m.Top, RingMovedKey{
			Key: a.keys.encode(a.input.Keys.At(int(x.Key))), From: x.From, To: x.To, Cost: a.input.Cost[x.Key],
			State: a.state(x.Key),
		})
	}
	out.Migration = m
	return out
}

// state is what a key holds.
func (j job) state(key int32) float64 {
	if j.input.State == nil {
		return 1
	}
	return j.input.State[key]
}

// nodeChanges are the nodes of a change, in ascending order of ID.
func (a *ringJob) nodeChanges(c *ring.Change, e *ring.Effect) []RingNodeChange {
	var out []RingNodeChange
	at := func(id int32) *RingNodeChange {
		i, found := slices.BinarySearchFunc(out, id, func(n RingNodeChange, id int32) int { return cmp.Compare(n.ID, id) })
		if !found {
			out = slices.Insert(out, i, RingNodeChange{ID: id})
		}
		return &out[i]
	}
	for _, m := range a.members {
		if m.Tokens > 0 {
			at(m.ID).Capacity = cmp.Or(m.Capacity, 1)
		}
	}
	for _, n := range c.Before {
		at(n.ID).TokensBefore = n.Tokens
	}
	for _, n := range c.After {
		at(n.ID).TokensAfter = n.Tokens
	}
	if e != nil {
		for _, n := range e.Nodes {
			x := at(n.ID)
			x.LoadBefore, x.LoadAfter, x.KeysBefore, x.KeysAfter = n.Before, n.After, n.KeysBefore, n.KeysAfter
			x.StateIn, x.StateOut = n.StateIn, n.StateOut
		}
	}
	return slices.DeleteFunc(out, func(n RingNodeChange) bool { return n.TokensBefore == 0 && n.TokensAfter == 0 })
}

// overload is the largest max_d L(d)/L̄_d − 1 of the nodes that stay, by their
// capacities, which a round of redistribution does not know. what tells a node's load,
// its capacity, and whether it stays.
func overload[N any](nodes []N, what func(N) (load, capacity float64, stays bool)) float64 {
	all, capacities, theta := 0.0, 0.0, 0.0
	for _, n := range nodes {
		load, capacity, stays := what(n)
		all += load
		if stays {
			capacities += capacity
		}
	}
	for _, n := range nodes {
		if load, capacity, stays := what(n); all > 0 && stays {
			theta = max(theta, load/all*capacities/capacity-1)
		}
	}
	return theta
}

// simulate runs the stream under each state scheme.
func (a *ringJob) simulate() error {
	if !a.r.Simulate {
		return nil
	}
	if a.r.Method == ring.Fitted {
		return planner.Invalid("method", "fitted is for plans only")
	}
	s, err := a.stream()
	if err != nil {
		return err
	}
	schemes := a.r.StateSchemes
	if schemes == nil {
		schemes = []ring.StateScheme{ring.FinalMerge, ring.StateForwarding}
	}
	if len(schemes) > 3 {
		return planner.Invalid("state_schemes", "must be three at most")
	}
	o := ring.SimulationOptions{
		Nodes: a.nodes(), Mappers: a.r.Mappers, Method: a.r.Method, Policy: a.policy(), MaxRounds: a.r.MaxRounds,
		TokenLimit: a.r.TokenLimit,
		Timing:     ring.Timing(a.r.Timing), Seed: a.r.Seed, Stop: a.stop,
	}
	for _, x := range a.r.Joins {
		o.Joins = append(o.Joins, ring.Join{Tick: x.Tick, Node: ring.Node{ID: x.ID, Tokens: x.Tokens}})
	}
	for _, scheme := range schemes {
		if scheme == "" {
			return planner.Invalid("state_schemes", "must be final_merge, state_forwarding or old_owner")
		}
		o.State, o.Progress = scheme, a.tell("simulate "+string(scheme))
		x, err := ring.Simulate(s, o)
		if err != nil {
			return a.failure(err, map[string]string{"state": "state_schemes", "stream": "messages"})
		}
		a.out.Simulations = append(a.out.Simulations, RingSimulation{
			StateScheme: scheme, Method: a.r.Method, Messages: int64(len(s.Messages)),
			Baseline: a.run(&x.Baseline), Balanced: a.run(&x.Balanced),
		})
	}
	return nil
}

// stream is what is simulated: the stream itself, or messages made of frequencies.
func (a *ringJob) stream() (*ring.Stream, error) {
	in := a.input
	if in.Messages != nil {
		if a.r.Messages != 0 {
			return nil, planner.Invalid("messages", "belong to frequencies: a stream has its own")
		}
		return &ring.Stream{Keys: in.Keys, Messages: in.Messages, Cost: in.MessageCost}, nil
	}
	n := a.r.Messages
	if n < 0 || n > MaxMessages {
		return nil, planner.Invalid("messages", "must be from 0 to 2^28")
	}
	if n == 0 {
		if n = wholeSum(in.Cost, DefaultMessages); n == 0 {
			n = DefaultMessages
		}
	}
	return ring.NewStream(in.Keys, apportion(in.Keys, in.Cost, n), a.r.Seed, a.stop)
}

// run describes one simulated run.
func (a *ringJob) run(r *ring.Run) RingRun {
	out := RingRun{
		Skew: r.Skew, Forwarded: r.Forwarded, SplitKeys: r.SplitKeys, Merges: r.Merges, Ticks: r.Ticks, Mapped: r.Mapped,
		Processed: r.Processed, MergeTicks: r.MergeTicks, EventCount: int64(len(r.History)), Exhausted: r.Exhausted,
		OutOfRounds: r.OutOfRounds, OverTokenLimit: r.OverTokenLimit, Stages: (*RingStages)(r.Stages),
		Consistent: r.Consistent,
	}
	for _, n := range r.Partial {
		out.MergedMessages += n
	}
	for _, x := range r.Reducers {
		out.Rounds += int64(x.Rounds)
		out.Nodes = append(out.Nodes, RingReducer(x))
	}
	for _, e := range r.History[:min(a.top, len(r.History))] {
		out.Events = append(out.Events, RingEvent{Tick: e.Tick, Node: e.Node, Join: e.Join, Longest: e.Max, Second: e.Second,
			Keys: e.Keys})
	}
	return out
}

// paper repeats the experiments of the paper.
func (a *ringJob) paper() error {
	if !a.r.Paper {
		return nil
	}
	if len(a.r.PaperMaxRounds) > MaxRuns {
		return planner.Invalid("paper_max_rounds", "must be 256 values at most")
	}
	if a.r.PaperRuns > MaxSeeds {
		return planner.Invalid("paper_runs", "must be from 1 to 1000")
	}
	rows, err := ring.Paper(ring.PaperOptions{
		MaxRounds: a.r.PaperMaxRounds, Runs: a.r.PaperRuns, Timing: ring.Timing(a.r.Timing), Stop: a.stop,
		Progress: a.tell("paper"),
	})
	if err != nil {
		return a.failure(err, map[string]string{"runs": "paper_runs", "max_rounds": "paper_max_rounds"})
	}
	for _, r := range rows {
		a.out.Paper = append(a.out.Paper, RingPaperRow{
			Workload: r.Workload, Method: r.Method, MaxRounds: r.MaxRounds, PublishedBaseline: r.PublishedBaseline,
			PublishedBalanced: r.PublishedBalanced,
			Baseline:          r.Baseline, Balanced: Spread{r.Least, r.Median, r.Most}, Floor: r.Floor,
			Forwarded: r.Forwarded, SplitKeys: r.SplitKeys, Rounds: r.Rounds,
		})
	}
	return nil
}

package batches

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// change is all that a plan does to one key.
type change struct {
	item              int32 // index into the snapshot; −1: its entry goes, and the key is absent
	set, unset, split int32 // indices into the lists of the plan; −1: not in that list
	moves             []planner.Move
	loads             []delta // what it does to the loads of instances
	entries           int64   // by how much it changes the size of the table
	state             int64   // what moves, in fixed point
	relief            float64 // the cost that leaves an instance per state that moves
	queue             *queue  // that it stands in, and where
	place             int
}

// delta is an amount in fixed point of an instance.
type delta struct {
	at     int32
	amount int64
}

// cutter holds the changes of a plan, and how far they have been taken.
type cutter struct {
	p           *planner.Plan
	cost, state exact.Scale
	changes     []change
	most        []int64   // the greatest load of each instance, in fixed point
	maximum     []float64 // L_max,d of live ones in fixed point; what a drained one may have is 0
	fair        []float64
	mostTable   int64
	busiest     int64 // bounds in fixed point
	mostState   int64

	bounds  Bounds
	load    []int64
	table   int64
	gone    []bool // taken
	pinned  []bool
	left    int
	taken   []int32 // of the batch that is being filled
	in, out []int64
	moved   int64
	longest int64 // of in and out, and at least the bound
	queues  []*queue
}

func newCutter(p *planner.Plan) *cutter {
	c := &cutter{p: p}
	c.collect()
	c.measure()
	c.reset(Bounds{})
	return c
}

// collect gathers the lists of the plan by key.
func (c *cutter) collect() {
	p := c.p
	at := map[int32]int32{} // indices of changes by item
	find := func(item int32) *change {
		i, ok := at[item]
		if !ok || item < 0 {
			i = int32(len(c.changes))
			at[item] = i
			c.changes = append(c.changes, change{item: item, set: -1, unset: -1, split: -1})
		}
		return &c.changes[i]
	}
	for i := 0; i < len(p.Moves); {
		end := i + 1
		for end < len(p.Moves) && p.Moves[end].Item == p.Moves[i].Item {
			end++
		}
		find(p.Moves[i].Item).moves = p.Moves[i:end:end]
		i = end
	}
	for i, x := range p.Splits {
		if x.Changed {
			find(x.Item).split = int32(i)
		}
	}
	for i, x := range p.Set {
		find(x.Item).set = int32(i)
	}
	for i, x := range p.Unset {
		find(x.Item).unset = int32(i)
	}
}

// measure computes what changes do, in fixed point, and what instances may carry.
func (c *cutter) measure() {
	s, plan := c.p.Snapshot, c.p
	var costs, states exact.Magnitudes
	for _, d := range plan.Instances {
		costs.Add(d.Before, 2)
		costs.Add(d.After, 2)
	}
	for i := range c.changes {
		x := &c.changes[i]
		if x.item >= 0 {
			count := int64(1)
			if s.Count != nil {
				count = s.Count[x.item]
			}
			costs.Add(s.Cost[x.item], 4*count)
			costs.Add(c.mergeCost(), 2*int64(len(s.Instances)))
		}
		for _, m := range x.moves {
			states.Add(s.StateOf(m), m.Count)
		}
	}
	c.cost, c.state = costs.Scale(), states.Scale()
	after := make([]int64, len(s.Instances))
	c.load = make([]int64, len(after))
	for d := range plan.Instances {
		c.load[d] = c.cost.Fixed(plan.Instances[d].Before)
	}
	copy(after, c.load)
	for i := range c.changes {
		x := &c.changes[i]
		c.weigh(x)
		for _, y := range x.loads {
			after[y.at] += y.amount
		}
	}
	c.most = make([]int64, len(after))
	c.maximum, c.fair = make([]float64, len(after)), make([]float64, len(after))
	for d, x := range plan.Instances {
		c.most[d] = max(c.load[d], after[d], exact.AtMost(c.cost.Scaled(x.Bound)))
		c.maximum[d], c.fair[d] = c.cost.Scaled(x.Max), c.cost.Scaled(x.Fair)
	}
	c.mostTable = max(plan.TableBefore, plan.TableAfter)
	if limit := plan.Options.TableLimit; limit != nil {
		c.mostTable = max(c.mostTable, *limit)
	} else {
		c.mostTable = math.MaxInt64
	}
}

func (c *cutter) mergeCost() float64 {
	if c.p.Options.Splitting == nil {
		return 0
	}
	return c.p.Options.Splitting.MergeCost
}

// weigh computes what a change does to loads and table.
func (c *cutter) weigh(x *change) {
	s := c.p.Snapshot
	for _, m := range x.moves {
		x.state += c.state.Fixed(s.StateOf(m)) * m.Count
	}
	if x.item < 0 {
		x.entries = -1
		return
	}
	if s.Count != nil {
		c.weighClass(x)
		return
	}
	before, after := c.partsBefore(x), c.partsAfter(x)
	switch {
	case before == nil && after == nil:
		if len(x.moves) > 0 && x.moves[0].Reason != planner.ReasonGather {
			m, cost := x.moves[0], c.cost.Fixed(s.Cost[x.item])
			x.loads = []delta{{m.From, -cost}, {m.To, cost}}
		}
	default:
		c.place(x, before, s.Current[x.item], -1)
		c.place(x, after, c.goal(x), 1)
		c.leave(x, before, after)
		x.loads = slices.DeleteFunc(x.loads, func(y delta) bool { return y.amount == 0 })
	}
	x.entries = int64(c.entriesAfter(x, after) - c.entriesBefore(x, before))
	leaves := int64(0)
	for _, y := range x.loads {
		leaves += max(0, -y.amount)
	}
	if x.relief = math.Inf(1); x.state > 0 {
		x.relief = float64(leaves) / float64(x.state)
	}
}

// weighClass is weigh where an item is several keys: those of one hash instance that are
// elsewhere count as entries.
func (c *cutter) weighClass(x *change) {
	s := c.p.Snapshot
	for _, m := range x.moves {
		cost := c.cost.Fixed(s.Cost[x.item]) * m.Count
		x.loads = append(x.loads, delta{m.From, -cost}, delta{m.To, cost})
		switch s.Hash[x.item] {
		case m.To:
			x.entries -= m.Count
		case m.From:
			x.entries += m.Count
		}
	}
}

// goal is where a whole key goes.
func (c *cutter) goal(x *change) int32 {
	for _, m := range x.moves {
		if m.Reason != planner.ReasonGather {
			return m.To
		}
	}
	switch { // a part runs out where the key was
	case x.set >= 0:
		return c.p.Set[x.set].To
	case x.unset >= 0:
		return c.p.Snapshot.Hash[x.item]
	}
	return c.p.Snapshot.Current[x.item]
}

// place adds what a key costs, whole or in parts, to a change, or takes it off.
func (c *cutter) place(x *change, parts []planner.Part, whole int32, sign int64) {
	s := c.p.Snapshot
	add := func(d int32, amount int64) {
		for i := range x.loads {
			if x.loads[i].at == d {
				x.loads[i].amount += amount
				return
			}
		}
		x.loads = append(x.loads, delta{d, amount})
	}
	if parts == nil {
		add(whole, sign*c.cost.Fixed(s.Cost[x.item]))
		return
	}
	known := int32(0) // the costs are of parts on instances of which something is known
	for _, y := range parts {
		if !s.Instances[y.Instance].Frozen {
			known += y.Weight
		}
	}
	for _, y := range parts {
		if !s.Instances[y.Instance].Frozen {
			share := s.Cost[x.item] * (float64(y.Weight) / float64(known))
			add(y.Instance, sign*(c.cost.Fixed(share)+c.cost.Fixed(c.mergeCost())))
		}
	}
}

// leave adds what it costs to merge the parts that a change takes away and that run out.
func (c *cutter) leave(x *change, before, after []planner.Part) {
	if o := c.p.Options.Splitting; o == nil || !o.Expire {
		return
	}
	for _, y := range before {
		kept := slices.ContainsFunc(after, func(z planner.Part) bool { return z.Instance == y.Instance })
		if !kept && c.p.Snapshot.Instances[y.Instance].Live() {
			x.loads = append(x.loads, delta{y.Instance, c.cost.Fixed(c.mergeCost())})
		}
	}
}

// partsBefore are the parts that the committed table has of a key; nil where it is whole.
func (c *cutter) partsBefore(x *change) []planner.Part {
	splits := c.p.Snapshot.Splits
	i, found := slices.BinarySearchFunc(splits, x.item, func(y planner.Split, item int32) int {
		return cmp.Compare(y.Item, item)
	})
	if !found {
		return nil
	}
	return splits[i].Parts
}

// partsAfter are the parts that the plan gives a key; nil where it is whole then.
func (c *cutter) partsAfter(x *change) []planner.Part {
	if x.split < 0 {
		if x.set >= 0 || x.unset >= 0 {
			return nil
		}
		return c.partsBefore(x) // state comes together, and the parts stay
	}
	return c.p.Splits[x.split].Parts
}

// entriesBefore is how much of the table a key takes.
func (c *cutter) entriesBefore(x *change, parts []planner.Part) int {
	s := c.p.Snapshot
	switch {
	case parts != nil:
		return len(parts)
	case s.Table == nil && s.Current[x.item] != s.Hash[x.item], s.Entry != nil && s.Entry[x.item] >= 0:
		return 1
	}
	return 0
}

// entriesAfter is how much of the table the key takes after the plan.
func (c *cutter) entriesAfter(x *change, parts []planner.Part) int {
	switch {
	case parts != nil:
		return len(parts)
	case x.set >= 0:
		return 1
	case x.unset >= 0:
		return 0
	}
	return c.entriesBefore(x, nil)
}

// reset begins from the state before the plan.
func (c *cutter) reset(bounds Bounds) {
	n := len(c.p.Snapshot.Instances)
	c.bounds = bounds
	c.busiest, c.mostState = math.MaxInt64, math.MaxInt64
	if bounds.Busiest > 0 {
		c.busiest = exact.AtMost(c.state.Scaled(bounds.Busiest))
	}
	if bounds.State > 0 {
		c.mostState = exact.AtMost(c.state.Scaled(bounds.State))
	}
	for d := range c.p.Instances {
		c.load[d] = c.cost.Fixed(c.p.Instances[d].Before)
	}
	c.table = c.p.TableBefore
	c.gone, c.pinned = make([]bool, len(c.changes)), make([]bool, len(c.changes))
	c.left, c.taken, c.moved = len(c.changes), nil, 0
	c.in, c.out, c.longest = make([]int64, n), make([]int64, n), c.busiest
	c.line()
}

// take takes a change into the batch that is being filled.
func (c *cutter) take(i int32) {
	x := &c.changes[i]
	c.gone[i] = true
	c.left--
	c.taken = append(c.taken, i)
	c.apply(i, 1)
	for _, m := range x.moves {
		moved := c.state.Fixed(c.p.Snapshot.StateOf(m)) * m.Count
		c.out[m.From] += moved
		c.in[m.To] += moved
		c.longest = max(c.longest, c.out[m.From], c.in[m.To])
	}
	c.moved += x.state
}

// apply adds what a change does to loads and table, or, with sign −1, takes it back.
func (c *cutter) apply(i int32, sign int64) {
	x := &c.changes[i]
	for _, y := range x.loads {
		c.load[y.at] += sign * y.amount
	}
	c.table += sign * c.entries(i)
}

// entries is by how much a change changes the size of the table, its pin included.
func (c *cutter) entries(i int32) int64 {
	if c.pinned[i] {
		return c.changes[i].entries - 1
	}
	return c.changes[i].entries
}

// within reports whether the batch keeps to its bounds with one more change. Where one
// that is more than them began the batch, others may take as long as it does.
func (c *cutter) within(i int32) bool {
	x := &c.changes[i]
	if c.bounds.Keys > 0 && int64(len(c.taken)) >= c.bounds.Keys || x.state > c.mostState-c.moved {
		return false
	}
	for _, m := range x.moves {
		moved := c.state.Fixed(c.p.Snapshot.StateOf(m)) * m.Count
		if c.out[m.From] > c.longest-moved || c.in[m.To] > c.longest-moved {
			return false
		}
	}
	return true
}

// violated returns an instance above what it may carry, or −1; and whether the table is
// longer than it may be.
func (c *cutter) violated(i int32) (d int32, table bool) {
	x := &c.changes[i]
	for _, y := range x.loads {
		if c.load[y.at] > c.most[y.at] {
			return y.at, false
		}
	}
	return -1, c.tooLong()
}

// tooLong reports whether the table is longer than it may be. Pins go beyond the limit.
func (c *cutter) tooLong() bool { return c.table > c.mostTable && !c.p.Snapshot.HashChanged }

// theta is the largest overload of a live instance now.
func (c *cutter) theta() float64 {
	theta := 0.0
	for d, y := range c.p.Snapshot.Instances {
		if d < len(c.fair) && y.Live() && c.fair[d] > 0 {
			theta = max(theta, float64(c.load[d])/c.fair[d]-1)
		}
	}
	return theta
}

// lowerBound is the most that any one instance sends or receives in the whole plan.
func (c *cutter) lowerBound() float64 {
	most := 0.0
	for _, d := range c.p.Instances {
		most = max(most, d.StateIn, d.StateOut)
	}
	return most
}

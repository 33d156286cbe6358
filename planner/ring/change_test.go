package ring

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"plannerd/planner"
)

func TestJudge(t *testing.T) {
	zero, half := 0.0, 0.5
	for _, c := range []struct {
		name   string
		p      Policy
		queues []float64
		want   Verdict
	}{
		{"nobody", Policy{}, nil, Verdict{false, -1, 0, 0, 0, CauseAlone}},
		{"alone", Policy{}, []float64{9}, Verdict{false, 0, 9, 0, 0, CauseAlone}},
		{"all empty", Policy{}, []float64{0, 0}, Verdict{false, 0, 0, 0, 0, CauseWithinThreshold}},
		{"a single message", Policy{}, []float64{0, 1, 0}, Verdict{true, 1, 1, 0, 0, CauseOverloaded}},
		{"a single message is too few", Policy{MinQueue: 2}, []float64{0, 1, 0}, Verdict{false, 1, 1, 0, 0, CauseShortQueue}},
		{"as many as asked for", Policy{MinQueue: 2}, []float64{0, 2, 0}, Verdict{true, 1, 2, 0, 0, CauseOverloaded}},
		{"at the threshold", Policy{Tau: &half}, []float64{10, 15}, Verdict{false, 1, 15, 10, 15, CauseWithinThreshold}},
		{"above it", Policy{Tau: &half}, []float64{16, 10, 3}, Verdict{true, 0, 16, 10, 15, CauseOverloaded}},
		{"two longest", Policy{Tau: &zero}, []float64{3, 7, 7}, Verdict{false, 1, 7, 7, 7, CauseWithinThreshold}},
		{"the second comes later", Policy{Tau: &zero}, []float64{8, 1, 7}, Verdict{true, 0, 8, 7, 7, CauseOverloaded}},
		{"the second comes first", Policy{Tau: &zero}, []float64{7, 1, 8}, Verdict{true, 2, 8, 7, 7, CauseOverloaded}},
	} {
		if got := c.p.Judge(c.queues); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := (Policy{}).Judge([]float64{12, 10}); got.Fires || got.Threshold != 12 {
		t.Errorf("τ is not 0.2 by default: %+v", got)
	}
}

func TestRelieve(t *testing.T) {
	three := []Node{{ID: 0, Tokens: 8}, {ID: 1, Tokens: 5}, {ID: 2, Tokens: 1}}
	for _, c := range []struct {
		name  string
		m     Method
		at    int
		limit int
		want  []Node
		cause Cause
	}{
		{"half", Halving, 0, 100, []Node{{ID: 0, Tokens: 4}, {ID: 1, Tokens: 5}, {ID: 2, Tokens: 1}}, CauseOverloaded},
		{"tokens below 5/2", Halving, 1, 100,
			[]Node{{ID: 0, Tokens: 8}, {ID: 1, Tokens: 3}, {ID: 2, Tokens: 1}}, CauseOverloaded},
		{"nothing to halve", Halving, 2, 100, three, CauseExhausted},
		{"all others doubled", Doubling, 1, 100,
			[]Node{{ID: 0, Tokens: 16}, {ID: 1, Tokens: 5}, {ID: 2, Tokens: 2}}, CauseOverloaded},
		{"just within the limit", Doubling, 1, 23,
			[]Node{{ID: 0, Tokens: 16}, {ID: 1, Tokens: 5}, {ID: 2, Tokens: 2}}, CauseOverloaded},
		{"too many tokens", Doubling, 1, 22, three, CauseTokenLimit},
	} {
		if got, cause := c.m.relieve(three, c.at, c.limit); !slices.Equal(got, c.want) || cause != c.cause {
			t.Errorf("%s: %v, %s; want %v, %s", c.name, got, cause, c.want, c.cause)
		}
	}
	if _, cause := Doubling.relieve([]Node{{ID: 0, Tokens: 3}, {ID: 1, Tokens: 0}}, 0, 100); cause != CauseExhausted {
		t.Errorf("no other node has a token to double: %s", cause)
	}
	if !slices.Equal(three, []Node{{ID: 0, Tokens: 8}, {ID: 1, Tokens: 5}, {ID: 2, Tokens: 1}}) {
		t.Errorf("the input was changed: %v", three)
	}
}

// Every position near a token, and some others, is on an arc exactly if its owner
// changes, and the arc says from where to where.
func TestDiffAgreesWithEveryPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawNodes(t), drawNodes(t)
		c := compared(before, after)
		checkArcs(t, c)
		positions := []uint32{0, math.MaxUint32}
		for _, r := range []*Ring{New(before), New(after)} {
			for _, x := range r.Tokens() {
				positions = append(positions, x.Position-1, x.Position, x.Position+1)
			}
		}
		for range 50 {
			positions = append(positions, rapid.Uint32().Draw(t, "position"))
		}
		for _, p := range positions {
			from, to := naiveOwner(before, p), naiveOwner(after, p)
			var on []Arc
			for _, a := range c.Arcs {
				if a.contains(p) {
					on = append(on, a)
				}
			}
			switch {
			case from == to && len(on) == 0:
			case from != to && len(on) == 1 && on[0].From == from && on[0].To == to:
			default:
				t.Fatalf("position %d moves from %d to %d; it is on %v", p, from, to, on)
			}
		}
		back := c.reverse()
		if want := compared(after, before); !cmp.Equal(&back, want) {
			t.Fatalf("the way back: %s", cmp.Diff(want, &back))
		}
	})
}

func compared(before, after []Node) *Change { return diff(before, after, New(before), New(after)) }

// reverse returns the change from After back to Before.
func (c *Change) reverse() Change {
	arcs := slices.Clone(c.Arcs)
	for i := range arcs {
		arcs[i].From, arcs[i].To = arcs[i].To, arcs[i].From
	}
	return Change{Before: c.After, After: c.Before, Added: c.Removed, Removed: c.Added, Arcs: arcs}
}

// checkArcs: in order, disjoint, and none that could be one with the next.
func checkArcs(t *rapid.T, c *Change) {
	positions := uint64(0)
	for i, a := range c.Arcs {
		positions += a.Length()
		next := c.Arcs[(i+1)%len(c.Arcs)]
		switch {
		case i > 0 && a.End <= c.Arcs[i-1].End, i > 0 && a.Start >= a.End:
			t.Fatalf("arcs are not in order: %v", c.Arcs)
		case len(c.Arcs) > 1 && a.End == next.Start && a.From == next.From && a.To == next.To:
			t.Fatalf("arcs %v and %v are one", a, next)
		}
	}
	if positions > 1<<32 || c.Moved() != float64(positions)/(1<<32) {
		t.Fatalf("arcs of %d positions, %v of the ring", positions, c.Moved())
	}
}

func TestTokensOfAChangeCanBeAppliedAndReversed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawNodes(t), drawNodes(t)
		c := compared(before, after)
		set := map[Token]bool{}
		for _, x := range New(before).Tokens() {
			set[x] = true
		}
		for _, x := range c.Removed {
			if !set[x] {
				t.Fatalf("%v is removed but was not there", x)
			}
			delete(set, x)
		}
		for _, x := range c.Added {
			if set[x] {
				t.Fatalf("%v is added but was there", x)
			}
			set[x] = true
		}
		want := map[Token]bool{}
		for _, x := range New(after).Tokens() {
			want[x] = true
		}
		if !cmp.Equal(set, want) {
			t.Fatal("the tokens added and removed do not turn one ring into the other")
		}
		if there := applied(c); !slices.Equal(there, holders(after)) {
			t.Fatalf("applied: %v, want %v", there, holders(after))
		}
	})
}

// applied are the nodes with the tokens that a change leaves them, by ID.
func applied(c *Change) []Node {
	held := tokensOf(c.Before)
	for _, x := range c.Added {
		held[x.Node]++
	}
	for _, x := range c.Removed {
		held[x.Node]--
	}
	var nodes []Node
	for id, tokens := range held {
		nodes = append(nodes, Node{ID: id, Tokens: tokens})
	}
	return holders(nodes)
}

// contains reports whether position p lies on the arc.
func (a Arc) contains(p uint32) bool { return a.Start == a.End || p-a.Start-1 < a.End-a.Start }

// holders are the nodes with tokens, by ID.
func holders(nodes []Node) []Node {
	return inOrder(slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.Tokens == 0 }))
}

func TestWholeRingMoves(t *testing.T) {
	c := compared([]Node{{ID: 1, Tokens: 1}}, []Node{{ID: 2, Tokens: 1}})
	if len(c.Arcs) != 1 || c.Arcs[0].Length() != 1<<32 || c.Moved() != 1 || !c.Arcs[0].contains(12345) {
		t.Errorf("%+v", c)
	}
	c = compared([]Node{{ID: 1, Tokens: 3}}, []Node{{ID: 1, Tokens: 5}})
	if len(c.Arcs) != 0 || len(c.Added) != 2 || c.Empty() {
		t.Errorf("one node alone: %+v", c)
	}
}

// drawLoad draws keys with whole costs and states, which plain sums add up exactly.
func drawLoad(t *rapid.T) *planner.Statistics {
	n := rapid.IntRange(0, 60).Draw(t, "keys")
	l := &planner.Statistics{Keys: planner.NewKeys(n)}
	for i := range n {
		l.Keys.Append([]byte("key-" + strconv.Itoa(i)))
		l.Cost = append(l.Cost, float64(rapid.IntRange(0, 1000).Draw(t, "cost")))
		l.State = append(l.State, float64(rapid.IntRange(0, 1000).Draw(t, "state")))
	}
	if rapid.Bool().Draw(t, "no state") {
		l.State = nil
	}
	return l
}

func drawMembers(t *rapid.T) []Member {
	var members []Member
	for _, n := range drawNodes(t) {
		m := Member{ID: n.ID, Tokens: n.Tokens + 1, Capacity: rapid.SampledFrom([]float64{0, 1, 0.5, 2, 3}).
			Draw(t, "capacity")}
		if len(members) > 1 { // two that stay
			switch rapid.IntRange(0, 3).Draw(t, "rescale") {
			case 0:
				m.Joins = true
			case 1:
				m.Leaves = true
			}
		}
		members = append(members, m)
	}
	return members
}

// checkEffect recounts an effect key by key.
func checkEffect(t *rapid.T, members []Member, before, after []Node, load *planner.Statistics, c *Change, e *Effect) {
	state := func(k int) float64 {
		if load.State == nil {
			return 1
		}
		return load.State[k]
	}
	want := map[int32]*NodeLoad{}
	for _, m := range members {
		want[m.ID] = &NodeLoad{ID: m.ID, Capacity: max(m.Capacity, 0)}
		if m.Capacity == 0 {
			want[m.ID].Capacity = 1
		}
	}
	for _, n := range before {
		want[n.ID].TokensBefore = n.Tokens
	}
	for _, n := range after {
		want[n.ID].TokensAfter = n.Tokens
	}
	var moves []KeyMove
	arcs := slices.Clone(c.Arcs)
	for i := range arcs {
		arcs[i].Keys, arcs[i].Cost, arcs[i].State = 0, 0, 0
	}
	cost, moved, all := 0.0, 0.0, 0.0
	for k := range load.Keys.Len() {
		p := Position(load.Keys.At(k))
		from, to := naiveOwner(before, p), naiveOwner(after, p)
		want[from].Before += load.Cost[k]
		want[from].KeysBefore++
		want[to].After += load.Cost[k]
		want[to].KeysAfter++
		all += state(k)
		if from == to {
			continue
		}
		cost += load.Cost[k]
		moved += state(k)
		want[from].StateOut += state(k)
		want[to].StateIn += state(k)
		arc := slices.IndexFunc(arcs, func(a Arc) bool { return a.contains(p) })
		arcs[arc].Keys++
		arcs[arc].Cost += load.Cost[k]
		arcs[arc].State += state(k)
		moves = append(moves, KeyMove{int32(k), int32(arc), from, to})
	}
	slices.SortFunc(moves, func(a, b KeyMove) int { return load.Keys.Compare(a.Key, b.Key) })
	if !slices.Equal(moves, e.Moves) || !slices.Equal(arcs, c.Arcs) {
		t.Fatalf("moves %v on %v, want %v on %v", e.Moves, c.Arcs, moves, arcs)
	}
	if e.Cost != cost || e.State != moved || all > 0 && e.Fraction != moved/all {
		t.Fatalf("moved cost %v, state %v, fraction %v; want %v, %v of %v", e.Cost, e.State, e.Fraction, cost, moved, all)
	}
	for _, n := range e.Nodes {
		if n != *want[n.ID] {
			t.Fatalf("node %+v, want %+v", n, *want[n.ID])
		}
	}
	if len(e.Nodes) != len(members) || !slices.IsSortedFunc(e.Nodes, func(a, b NodeLoad) int { return int(a.ID - b.ID) }) {
		t.Fatalf("nodes %+v", e.Nodes)
	}
	checkTheta(t, members, want, e)
}

func checkTheta(t *rapid.T, members []Member, loads map[int32]*NodeLoad, e *Effect) {
	total, capacity := 0.0, 0.0
	var before, after planner.Comparison // the greatest overloads; the greatest and all messages
	for _, m := range members {
		total += loads[m.ID].Before
		if !m.Leaves {
			capacity += loads[m.ID].Capacity
		}
	}
	theta := planner.Comparison{}
	for _, m := range members {
		if n := loads[m.ID]; !m.Leaves && total > 0 {
			fair := n.Capacity / capacity * total
			theta.Before, theta.After = max(theta.Before, n.Before/fair-1), max(theta.After, n.After/fair-1)
		}
	}
	if math.Abs(theta.Before-e.Theta.Before) > 1e-9 || math.Abs(theta.After-e.Theta.After) > 1e-9 {
		t.Fatalf("θ %+v, want %+v", e.Theta, theta)
	}
	nodesBefore, nodesAfter := 0.0, 0.0
	for _, m := range members {
		n := loads[m.ID]
		if !m.Joins {
			nodesBefore++
			before.Before = max(before.Before, n.Before)
		}
		if !m.Leaves {
			nodesAfter++
			after.After = max(after.After, n.After)
		}
	}
	skew := func(w, r float64) float64 {
		if u := math.Ceil(total / r); total > u {
			return max(0, (w-u)/(total-u))
		}
		return 0
	}
	if s := (planner.Comparison{Before: skew(before.Before, nodesBefore),
		After: skew(after.After, nodesAfter)}); s != e.Skew {
		t.Fatalf("S %+v, want %+v", e.Skew, s)
	}
}

func TestRedistributeAgreesWithRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, load := append(drawNodes(t), Node{ID: 2000, Tokens: 3}), drawLoad(t)
		queues := make([]float64, len(nodes))
		members := make([]Member, len(nodes))
		for i, n := range nodes {
			queues[i] = float64(rapid.IntRange(0, 30).Draw(t, "queue"))
			members[i] = Member{ID: n.ID, Tokens: n.Tokens}
		}
		o := RedistributeOptions{Method: rapid.SampledFrom([]Method{"", Halving, Doubling}).Draw(t, "method")}
		r, err := Redistribute(nodes, queues, o, load)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != o.Policy.Judge(queues) {
			t.Fatalf("verdict %+v", r.Verdict)
		}
		after := slices.Clone(nodes)
		if q := sortedQueues(queues); q[0] > 1.2*q[1] {
			at := slices.Index(queues, q[0])
			for i := range after {
				if o.Method == Doubling && i != at {
					after[i].Tokens *= 2
				}
				if o.Method != Doubling && i == at {
					after[i].Tokens -= after[i].Tokens / 2
				}
			}
			if want := !slices.Equal(after, nodes); want != (r.Cause == CauseOverloaded) || !want && r.Cause != CauseExhausted {
				t.Fatalf("cause %s", r.Cause)
			}
		} else if r.Cause != CauseWithinThreshold {
			t.Fatalf("cause %s of %v", r.Cause, queues)
		}
		if !slices.Equal(r.Change.After, inOrder(after)) || !slices.Equal(r.Change.Before, inOrder(nodes)) {
			t.Fatalf("%+v, want %v", r.Change, after)
		}
		checkEffect(t, members, nodes, after, load, &r.Change, r.Effect)
	})
}

func sortedQueues(queues []float64) []float64 {
	q := slices.Sorted(slices.Values(queues))
	slices.Reverse(q)
	return q
}

func TestRescaleAgreesWithRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, load := drawMembers(t), drawLoad(t)
		r, err := Rescale(members, load)
		if err != nil {
			t.Skip(err)
		}
		var before, after []Node
		for _, m := range members {
			if !m.Joins {
				before = append(before, Node{ID: m.ID, Tokens: m.Tokens})
			}
			if !m.Leaves {
				after = append(after, Node{ID: m.ID, Tokens: m.Tokens})
			}
		}
		checkEffect(t, members, before, after, load, &r.Change, r.Effect)
		// Consistent hashing: what moves comes from a node that leaves or goes to one
		// that joins.
		role := map[int32]Member{}
		for _, m := range members {
			role[m.ID] = m
		}
		for _, a := range r.Change.Arcs {
			if !role[a.From].Leaves && !role[a.To].Joins {
				t.Fatalf("arc %+v moves for no reason", a)
			}
		}
	})
}

func TestRedistributeInputErrors(t *testing.T) {
	two, queues := EqualNodes(2, 4), []float64{1, 2}
	negative := -1.0
	for _, c := range []struct {
		field  string
		nodes  []Node
		queues []float64
		o      RedistributeOptions
		load   *planner.Statistics
	}{
		{"Method", two, queues, RedistributeOptions{Method: Fitted}, nil},
		{"Tau", two, queues, RedistributeOptions{Policy: Policy{Tau: &negative}}, nil},
		{"TokenLimit", two, queues, RedistributeOptions{TokenLimit: -1}, nil},
		{"Nodes", EqualNodes(1, 4), []float64{1}, RedistributeOptions{}, nil},
		{"Nodes", EqualNodes(2, 0), queues, RedistributeOptions{}, nil},
		{"Nodes[1].Tokens", []Node{{ID: 0, Tokens: 1}, {ID: 1, Tokens: -1}}, queues, RedistributeOptions{}, nil},
		{"Nodes[1].ID", []Node{{ID: 7, Tokens: 1}, {ID: 7, Tokens: 1}}, queues, RedistributeOptions{}, nil},
		{"Nodes[0].ID", []Node{{ID: -7, Tokens: 1}, {ID: 7, Tokens: 1}}, queues, RedistributeOptions{}, nil},
		{"Queues", two, []float64{1}, RedistributeOptions{}, nil},
		{"Queues[1]", two, []float64{1, math.NaN()}, RedistributeOptions{}, nil},
		{"Cost", two, queues, RedistributeOptions{},
			&planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{math.Inf(1)}}},
		{"State", two, queues, RedistributeOptions{},
			&planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, State: []float64{-1}}},
		{"Keys", two, queues, RedistributeOptions{}, &planner.Statistics{Keys: planner.KeysOf("a")}},
	} {
		_, err := Redistribute(c.nodes, c.queues, c.o, c.load)
		wantInputError(t, err, c.field)
	}
	for field, members := range map[string][]Member{
		"Nodes":             {{ID: 1, Tokens: 3, Joins: true}},
		"Nodes[0]":          {{ID: 1, Tokens: 3, Joins: true, Leaves: true}},
		"Nodes[1].Capacity": {{ID: 1, Tokens: 3}, {ID: 2, Tokens: 3, Capacity: -1}},
	} {
		_, err := Rescale(members, nil)
		wantInputError(t, err, field)
	}
	_, err := Rescale([]Member{{ID: 1, Tokens: 3, Leaves: true}}, nil)
	wantInputError(t, err, "Nodes")
}

func TestSkew(t *testing.T) {
	for _, c := range []struct {
		loads []float64
		want  float64
	}{
		{nil, 0}, {[]float64{0, 0}, 0}, {[]float64{1, 0, 0, 0}, 0}, {[]float64{5}, 0},
		{[]float64{25, 25, 25, 25}, 0}, {[]float64{100, 0, 0, 0}, 1}, {[]float64{85, 15, 0, 0}, 0.8},
		{[]float64{4, 3, 3}, 0},      // U = ⌈10/3⌉ = 4
		{[]float64{2.5, 0, 0, 0}, 1}, // U = 0.625
		{[]float64{1.5, 0.5}, 0.5}, {[]float64{0.25, 0.25}, 0},
	} {
		if got := Skew(c.loads); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("S of %v is %v, want %v", c.loads, got, c.want)
		}
	}
}

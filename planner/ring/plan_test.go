package ring

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plannerd/planner"
)

var planMethods = []Method{"", Halving, Doubling, Fitted}

func TestPlanAgreesWithRecount(t *testing.T) {
	causes, adopted, reasons := map[Cause]int{}, 0, map[planner.Reason]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 4 {
			members, load := drawMembers(t), drawLoad(t)
			o := RebalanceOptions{
				ThetaMax: rapid.Float64Range(0, 0.5).Draw(t, "θ_max"), Method: rapid.SampledFrom(planMethods).Draw(t, "method"),
				MaxRounds: rapid.IntRange(0, 4).Draw(t, "rounds"), MaxStates: 300, TokenLimit: rapid.SampledFrom([]int{0, 16, 64}).
						Draw(t, "limit"),
			}
			p, err := Rebalance(members, load, o)
			if err != nil {
				continue // members that do not form rings
			}
			var before []Node
			for _, m := range members {
				if !m.Joins {
					before = append(before, Node{ID: m.ID, Tokens: m.Tokens})
				}
			}
			checkEffect(t, members, before, p.Change.After, load, &p.Change, &p.Effect)
			checkPlan(t, members, load, p)
			causes[p.Cause]++
			adopted += p.Adopted
			for _, a := range p.Change.Arcs {
				reasons[p.Reason(a)]++
			}
		}
	})
	t.Logf("%v, %d rounds, %v", causes, adopted, reasons)
	if adopted == 0 || causes[CauseBalanced] == 0 || causes[CauseNoImprovement] == 0 ||
		causes[CauseWithinThreshold] == 0 ||
		causes[CauseMaxRounds] == 0 || causes[CauseTokenLimit] == 0 || reasons[planner.ReasonDrain] == 0 ||
		reasons[planner.ReasonFill] == 0 || reasons[planner.ReasonOverload] == 0 || reasons[planner.ReasonExchange] == 0 {
		t.Error("something was not tried")
	}
}

func checkPlan(t *rapid.T, members []Member, load *planner.Statistics, p *Rebalancing) {
	left := map[int32]bool{}
	for _, m := range members {
		left[m.ID] = m.Leaves
	}
	for _, n := range p.Change.After {
		if left[n.ID] {
			t.Fatalf("node %d leaves but holds %d tokens", n.ID, n.Tokens)
		}
	}
	if there := applied(&p.Change); !slices.Equal(there, holders(p.Change.After)) {
		t.Fatalf("the tokens lead to %v, want %v", there, p.Change.After)
	}
	// Never worse than only letting members join and leave.
	r, err := Rescale(members, load)
	if err != nil || p.Effect.Theta.After > r.Effect.Theta.After {
		t.Fatalf("θ %v, without any round %v, %v", p.Effect.Theta.After, r.Effect.Theta.After, err)
	}
	if p.Balanced != within(p.Effect.Theta.After, p.Options.ThetaMax) || p.Balanced != (p.Cause == CauseBalanced) {
		t.Fatalf("balanced %v, cause %s, θ %v", p.Balanced, p.Cause, p.Effect.Theta)
	}
	if p.Adopted > 0 && p.Tried[p.Adopted-1].Theta != p.Effect.Theta.After {
		t.Fatalf("after round %d of %v, θ is %v", p.Adopted, p.Tried, p.Effect.Theta.After)
	}
	if within(r.Effect.Theta.After, p.Options.ThetaMax) && !slices.Equal(p.Change.After, r.Change.After) {
		t.Fatalf("balanced already, but %v becomes %v", r.Change.After, p.Change.After)
	}
}

func TestPlanDoesNotDependOnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 60 {
		members, load := randomMembers(rng, 2+rng.IntN(5), 16), randomLoad(rng, 100)
		for i := range load.Cost {
			load.Cost[i] *= rng.Float64() // sums that depend on the order of their terms
		}
		for _, method := range planMethods {
			o := RebalanceOptions{Method: method, MaxRounds: 3, MaxStates: 500, ThetaMax: 0.05}
			p, err := Rebalance(members, load, o)
			if err != nil {
				t.Fatal(err)
			}
			other := &planner.Statistics{Keys: planner.NewKeys(0)}
			for _, k := range rng.Perm(load.Keys.Len()) {
				other.Keys.Append(load.Keys.At(k))
				other.Cost, other.State = append(other.Cost, load.Cost[k]), append(other.State, load.State[k])
			}
			shuffled := slices.Clone(members)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			q, err := Rebalance(shuffled, other, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Change.Arcs, q.Change.Arcs) || !slices.Equal(p.Change.Added, q.Change.Added) ||
				!slices.Equal(p.Effect.Nodes, q.Effect.Nodes) || p.Effect.Theta != q.Effect.Theta ||
				!slices.Equal(p.Tried, q.Tried) {
				t.Fatalf("%s: the order of the input matters:\n%+v\n%+v", method, p.Change, q.Change)
			}
			for i, m := range p.Effect.Moves {
				n := q.Effect.Moves[i]
				if m.Key, n.Key = 0, 0; m != n || !slices.Equal(load.Keys.At(int(p.Effect.Moves[i].Key)),
					other.Keys.At(int(q.Effect.Moves[i].Key))) {
					t.Fatalf("%s: move %d differs", method, i)
				}
			}
		}
	}
}

// Planning again on the planned ring finds nothing to do once it is balanced.
func TestPlanIsStable(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	balanced := 0
	for range 100 {
		members, load := randomMembers(rng, 4, 16), randomLoad(rng, 400)
		o := RebalanceOptions{Method: planMethods[rng.IntN(4)], MaxRounds: 3, MaxStates: 1000, ThetaMax: 0.3}
		p, err := Rebalance(members, load, o)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Balanced || p.Change.Empty() {
			continue
		}
		balanced++
		next := slices.Clone(p.Members)
		for i := range next {
			next[i].Tokens = p.Change.After[i].Tokens
		}
		if q, err := Rebalance(next, load, o); err != nil || !q.Change.Empty() || q.Cause != CauseBalanced {
			t.Fatalf("%+v, %v", q, err)
		}
	}
	if balanced < 10 {
		t.Errorf("only %d plans balanced anything", balanced)
	}
}

func TestPlanSaysWhyItStops(t *testing.T) {
	one := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}}
	// Each is on a node of its own.
	two := &planner.Statistics{Keys: planner.KeysOf("b", "c", "e"), Cost: []float64{10, 10, 1}}
	for _, c := range []struct {
		cause   Cause
		members []Member
		load    *planner.Statistics
		o       RebalanceOptions
	}{
		{CauseBalanced, membersOf(EqualNodes(4, 16)), &planner.Statistics{Keys: planner.NewKeys(0)}, RebalanceOptions{}},
		{CauseExhausted, membersOf(EqualNodes(4, 1)), one, RebalanceOptions{}},
		{CauseTokenLimit, membersOf(EqualNodes(4, 1)), one, RebalanceOptions{Method: Doubling, TokenLimit: 6}},
		{CauseShortQueue, membersOf(EqualNodes(4, 16)), one, RebalanceOptions{Policy: Policy{MinQueue: 2}}},
		{CauseWithinThreshold, membersOf(EqualNodes(4, 16)), two, RebalanceOptions{}},
		{CauseNoImprovement, membersOf(EqualNodes(4, 16)), one, RebalanceOptions{}},
		{CauseNoImprovement, membersOf(EqualNodes(4, 16)), one, RebalanceOptions{Method: Fitted}},
	} {
		p, err := Rebalance(c.members, c.load, c.o)
		if err != nil || p.Cause != c.cause || !p.Change.Empty() {
			t.Errorf("%+v, %v; want cause %s", p, err, c.cause)
		}
	}
}

// Fitted on the ring of the paper's WL4: it cannot part the heavy letter, but the two
// that share a node.
func TestFittedPartsWhatCanBeParted(t *testing.T) {
	w := paperWorkloads()[3]
	load := &planner.Statistics{Keys: w.Letters, Cost: []float64{15, 23, 62}, State: []float64{1, 1, 5}}
	p, err := Rebalance(membersOf(EqualNodes(4, 16)), load, RebalanceOptions{Method: Fitted})
	if err != nil {
		t.Fatal(err)
	}
	if p.Effect.Theta != (planner.Comparison{Before: 2.4, After: 1.48}) || p.Effect.State != 1 || p.Balanced ||
		p.Cause != CauseNoImprovement {
		t.Errorf("θ %+v, state %v, %s", p.Effect.Theta, p.Effect.State, p.Cause)
	}
}

func TestPlanInputErrorsAndStop(t *testing.T) {
	load := randomLoad(rand.New(rand.NewPCG(1, 1)), 100)
	two := membersOf(EqualNodes(2, 4))
	for _, c := range []struct {
		field   string
		members []Member
		o       RebalanceOptions
	}{
		{"Method", two, RebalanceOptions{Method: None}},
		{"ThetaMax", two, RebalanceOptions{ThetaMax: math.Inf(1)}},
		{"MaxRounds", two, RebalanceOptions{MaxRounds: -1}},
		{"MaxStates", two, RebalanceOptions{MaxStates: -1}},
		{"MinQueue", two, RebalanceOptions{Policy: Policy{MinQueue: -1}}},
		{"TokenLimit", two, RebalanceOptions{TokenLimit: -1}},
		{"TokenLimit", two, RebalanceOptions{Method: Fitted, TokenLimit: 1 << 17}},
		{"Nodes[0].ID", []Member{{ID: -1, Tokens: 1}}, RebalanceOptions{}},
		{"Nodes[1].Tokens", []Member{{ID: 3, Tokens: 1}, {ID: 1}}, RebalanceOptions{Method: Fitted}},
	} {
		_, err := Rebalance(c.members, load, c.o)
		wantInputError(t, err, c.field)
	}
	for _, method := range planMethods {
		_, err := Rebalance(two, load, RebalanceOptions{Method: method, Stop: func() bool { return true }})
		if !errors.Is(err, planner.ErrStopped) {
			t.Errorf("%s: error %v", method, err)
		}
	}
}

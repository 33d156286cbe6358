package ring

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"plannerd/planner"
)

// randomLoad has whole costs, a few of them heavy.
func randomLoad(rng *rand.Rand, keys int) *planner.Statistics {
	l := &planner.Statistics{Keys: planner.NewKeys(keys)}
	salt := strconv.Itoa(rng.IntN(1 << 20))
	for i := range keys {
		l.Keys.Append([]byte(salt + "-" + strconv.Itoa(i)))
		cost := rng.IntN(20)
		if rng.IntN(5) == 0 {
			cost *= 10
		}
		l.Cost = append(l.Cost, float64(cost))
		l.State = append(l.State, float64(rng.IntN(50)))
	}
	return l
}

func randomMembers(rng *rand.Rand, nodes, tokens int) []Member {
	var members []Member
	for _, id := range rng.Perm(20)[:nodes] {
		members = append(members, Member{ID: int32(id), Tokens: 1 + rng.IntN(tokens),
			Capacity: []float64{0, 1, 2, 0.5}[rng.IntN(4)]})
	}
	return members
}

// naiveTheta is θ of token counts by members, key by key.
func naiveTheta(members []Member, counts []int, l *planner.Statistics) float64 {
	var nodes []Node
	for i, m := range members {
		nodes = append(nodes, Node{ID: m.ID, Tokens: counts[i]})
	}
	loads, total, capacity := map[int32]float64{}, 0.0, 0.0
	for k, c := range l.Cost {
		loads[naiveOwner(nodes, Position(l.Keys.At(k)))] += c
		total += c
	}
	kappa := func(m Member) float64 {
		if m.Capacity == 0 {
			return 1
		}
		return m.Capacity
	}
	for _, m := range members {
		capacity += kappa(m)
	}
	theta := 0.0
	for _, m := range members {
		if total > 0 {
			theta = max(theta, loads[m.ID]/(kappa(m)/capacity*total)-1)
		}
	}
	return theta
}

// reachedBy goes breadth first through all that rounds on the given token counts lead
// to, as the methods define them.
func reachedBy(method Method, counts []int, limit, rounds int) map[string][]int {
	type state struct{ counts, used []int }
	seen, states := map[string]bool{}, map[string][]int{}
	next := []state{{counts, make([]int, len(counts))}}
	for len(next) > 0 {
		x := next[0]
		next = next[1:]
		id := fmt.Sprint(x)
		if seen[id] {
			continue
		}
		seen[id], states[fmt.Sprint(x.counts)] = true, x.counts
		for at := range counts {
			if rounds > 0 && x.used[at] == rounds {
				continue
			}
			y := state{slices.Clone(x.counts), slices.Clone(x.used)}
			y.used[at]++
			legal := method == Doubling || x.counts[at] > 1
			for i := range counts {
				if method == Halving && i == at {
					y.counts[i] = (x.counts[i] + 1) / 2
				}
				if method == Doubling && i != at {
					y.counts[i] *= 2
					legal = legal && y.counts[i] <= limit
				}
			}
			if legal {
				next = append(next, y)
			}
		}
	}
	return states
}

func TestLatticeIsWhatRoundsLeadTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		start := make([]int, 2+rng.IntN(3))
		method, rounds, limit := []Method{Halving, Doubling}[rng.IntN(2)], rng.IntN(4), 1+rng.IntN(40)
		for i := range start {
			start[i] = 1 + rng.IntN(20)
		}
		want := reachedBy(method, start, limit, rounds)
		l := newLattice(method, start, limit, rounds)
		got, points := map[string]bool{}, int64(0)
		l.each(func(_, counts []int) bool {
			got[fmt.Sprint(counts)] = true
			points++
			return true
		})
		for s := range want {
			if !got[s] {
				t.Fatalf("%s of %v, limit %d, %d rounds: %s is missing", method, start, limit, rounds, s)
			}
		}
		if len(got) != len(want) || points != int64(len(got)) {
			t.Fatalf("%s of %v, limit %d, %d rounds: %d points, %d different, want %d", method, start, limit, rounds, points,
				len(got), len(want))
		}
		if n := l.size(1 << 20); n != points {
			t.Fatalf("%s of %v: size %d, want %d", method, start, n, points)
		}
		if n := l.size(points - 1); points > 1 && n != 0 {
			t.Fatalf("%s of %v: size %d although there are more than %d", method, start, n, points-1)
		}
	}
}

func TestSpaceAgreesWithTheRing(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range 300 {
		members := byID(randomMembers(rng, 2+rng.IntN(5), 12))
		load := randomLoad(rng, rng.IntN(80))
		limit := 1 + rng.IntN(20)
		l := newLattice(Fitted, tokensOfStaying(members), limit, 0)
		m := measure(load)
		s := newSpace(members, l, m, nil)
		lower := s.theta(s.lowerBound())
		var before []Node
		for _, x := range members {
			before = append(before, Node{ID: x.ID, Tokens: x.Tokens})
		}
		for range 10 {
			counts, nodes := make([]int, len(members)), slices.Clone(before)
			for i := range counts {
				counts[i] = 1 + rng.IntN(l.top[i]+1)
				nodes[i].Tokens = counts[i]
			}
			x := s.evaluate(counts, make([]int64, len(members)))
			theta, moved := naiveTheta(members, counts, load), 0.0
			for k := range load.Keys.Len() {
				if p := Position(load.Keys.At(k)); naiveOwner(before, p) != naiveOwner(nodes, p) {
					moved += load.State[k]
				}
			}
			if got := s.theta(x.most); math.Abs(got-theta) > 1e-9 {
				t.Fatalf("θ %v, want %v", got, theta)
			}
			if got := m.state.Float(x.moved); got != moved {
				t.Fatalf("moved %v, want %v", got, moved)
			}
			if lower > theta {
				t.Fatalf("lower bound %v, but %v has %v", lower, counts, theta)
			}
		}
	}
}

// Going through all counts of a node at once is the same as one by one.
func TestSweepAgreesWithEvaluation(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for range 200 {
		members := byID(randomMembers(rng, 2+rng.IntN(5), 12))
		l := newLattice(Fitted, tokensOfStaying(members), 1+rng.IntN(20), 0)
		s := &searcher{
			space: newSpace(members, l, measure(randomLoad(rng, rng.IntN(80))), nil), lattice: l, budget: math.MaxInt64,
			judge: func(x outcome, counts []int) rank {
				return rank{x.most, x.squares, float64(x.moved + int64(counts[0]))}
			},
		}
		s.prepare()
		x := make([]int, len(members))
		for i := range x {
			x[i] = rng.IntN(l.top[i] + 1)
		}
		for i := range x {
			was := x[i]
			var swept, stepped []rank
			s.sweep(i, x, func(_ int, r rank) { swept = append(swept, r) })
			s.step(i, x, func(_ int, r rank) { stepped = append(stepped, r) })
			if !slices.Equal(swept, stepped) || len(swept) != l.top[i]+1 {
				t.Fatalf("swept %v, one by one %v", swept, stepped)
			}
			x[i] = was
		}
	}
}

// On tiny cases all that is claimed is compared to all token counts there are.
func TestReachableAgreesWithBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	answers, tight := map[Answer]int{}, 0
	for i := range 400 {
		members := randomMembers(rng, 2+rng.IntN(2), 5)
		load := randomLoad(rng, 1+rng.IntN(12))
		o := ReachOptions{ThetaMax: rng.Float64(), TokenLimit: 1 + rng.IntN(5), MaxRounds: rng.IntN(3)}
		if rng.IntN(2) == 0 {
			o.MaxStates = 1 + rng.Int64N(30) // not all
		}
		r, err := Reachable(members, load, o)
		if err != nil {
			t.Fatal(err)
		}
		start := make([]int, len(members))
		for j, m := range members {
			start[j] = m.Tokens
		}
		for _, x := range r.Methods {
			least := math.Inf(1)
			for _, counts := range allCounts(x.Method, start, o) {
				least = min(least, naiveTheta(members, counts, load))
			}
			answers[x.Balances]++
			if x.LowerBound > 0 && x.LowerBound > least-1e-9 {
				tight++
			}
			checkReach(t, i, x, members, load, least, o.ThetaMax)
			if r.HeaviestTheta > least+1e-9 {
				t.Fatalf("case %d: no ring is said to be below %v, but %s is %v", i, r.HeaviestTheta, x.Method, least)
			}
		}
		if math.Abs(r.Theta-naiveTheta(members, start, load)) > 1e-9 || r.Table == nil {
			t.Fatalf("case %d: θ %v, want %v", i, r.Theta, naiveTheta(members, start, load))
		}
		if r.HeaviestCost != slices.Max(load.Cost) {
			t.Fatalf("case %d: heaviest %v, want %v", i, r.HeaviestCost, slices.Max(load.Cost))
		}
	}
	t.Logf("%v, lower bound tight %d times", answers, tight)
	if answers[AnswerYes] < 50 || answers[AnswerNo] < 50 || answers[AnswerUnknown] == 0 || tight < 100 {
		t.Error("some answer was hardly tried")
	}
}

func allCounts(method Method, start []int, o ReachOptions) [][]int {
	var out [][]int
	if method != Fitted {
		for _, counts := range reachedBy(method, start, o.TokenLimit, o.MaxRounds) {
			out = append(out, counts)
		}
		return out
	}
	out = [][]int{{}}
	for _, t := range start {
		var longer [][]int
		for _, x := range out {
			for n := 1; n <= max(t, o.TokenLimit); n++ {
				longer = append(longer, append(slices.Clone(x), n))
			}
		}
		out = longer
	}
	return out
}

func checkReach(t *testing.T, i int, x Reach, members []Member, load *planner.Statistics, least, thetaMax float64) {
	t.Helper()
	counts := make([]int, len(members))
	for _, n := range x.Nodes {
		counts[slices.IndexFunc(members, func(m Member) bool { return m.ID == n.ID })] = n.Tokens
	}
	switch {
	case math.Abs(naiveTheta(members, counts, load)-x.Theta) > 1e-9:
		t.Fatalf("case %d, %s: θ %v of %v, want %v", i, x.Method, x.Theta, x.Nodes, naiveTheta(members, counts, load))
	case x.LowerBound > least+1e-9:
		t.Fatalf("case %d, %s: lower bound %v above the least θ %v", i, x.Method, x.LowerBound, least)
	case x.Theta < least-1e-9:
		t.Fatalf("case %d, %s: %v cannot be reached, the least is %v", i, x.Method, x.Theta, least)
	case x.Evidence == EvidenceExact && x.Theta > least+1e-9:
		t.Fatalf("case %d, %s: %v is said to be the least θ, but %v is", i, x.Method, x.Theta, least)
	case x.Balances == AnswerYes && least > thetaMax+1e-8, x.Balances == AnswerNo && least <= thetaMax:
		t.Fatalf("case %d, %s: answer %s, but the least θ is %v of %v", i, x.Method, x.Balances, least, thetaMax)
	case x.States > 0 && x.Searched > x.States && x.Method != Fitted:
		t.Fatalf("case %d, %s: %d of %d states searched", i, x.Method, x.Searched, x.States)
	}
}

// A single hot key: no ring helps, and no table.
func TestHotKeyForbidsBalance(t *testing.T) {
	w := paperWorkloads()[2]
	r, err := Reachable(membersOf(EqualNodes(4, 16)), &planner.Statistics{Keys: w.Letters, Cost: []float64{100}},
		ReachOptions{ThetaMax: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Methods {
		if x.Balances != AnswerNo || x.Evidence != EvidenceExact || x.Theta != 3 {
			t.Errorf("%+v", x)
		}
	}
	if r.Heaviest != 0 || r.HeaviestTheta != 3 || len(r.Table.HotKeys) != 1 {
		t.Errorf("%+v", r)
	}
}

// What a table does where the ring cannot: WL1 on the ring of single tokens.
func TestTableOnTopOfTheRing(t *testing.T) {
	w := paperWorkloads()[0]
	load := &planner.Statistics{Keys: w.Letters, Cost: []float64{25, 25, 25, 25}, State: []float64{1, 2, 3, 4}}
	r, err := Reachable(membersOf(EqualNodes(4, 1)), load, ReachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Theta != 3 || !r.Table.Balanced || r.Table.TableAfter != 3 || r.Table.Migration.State != 6 {
		t.Errorf("θ %v; table of %d entries, state %v", r.Theta, r.Table.TableAfter, r.Table.Migration.State)
	}
	if h, d := r.Methods[0], r.Methods[1]; h.Balances != AnswerNo || h.States != 1 || d.Balances != AnswerYes {
		t.Errorf("%+v\n%+v", h, d)
	}
}

func membersOf(nodes []Node) []Member {
	var members []Member
	for _, n := range nodes {
		members = append(members, Member{ID: n.ID, Tokens: n.Tokens})
	}
	return members
}

func TestReachableInputErrorsAndStop(t *testing.T) {
	load := randomLoad(rand.New(rand.NewPCG(1, 1)), 500)
	two := membersOf(EqualNodes(2, 4))
	limit := int64(-1)
	for _, c := range []struct {
		field   string
		members []Member
		o       ReachOptions
	}{
		{"ThetaMax", two, ReachOptions{ThetaMax: math.NaN()}},
		{"TokenLimit", two, ReachOptions{TokenLimit: 1 << 17}},
		{"MaxRounds", two, ReachOptions{MaxRounds: -1}},
		{"MaxStates", two, ReachOptions{MaxStates: -1}},
		{"TableLimit", two, ReachOptions{TableLimit: &limit}},
		{"Nodes", membersOf(EqualNodes(1, 4)), ReachOptions{}},
		{"Nodes[1]", []Member{{ID: 1, Tokens: 1}, {ID: 2, Tokens: 1, Joins: true}}, ReachOptions{}},
		{"Nodes[1].Tokens", []Member{{ID: 1, Tokens: 1}, {ID: 2}}, ReachOptions{}},
		{"TokenLimit", membersOf(EqualNodes(300, 4)), ReachOptions{TokenLimit: 1 << 16}},
	} {
		_, err := Reachable(c.members, load, c.o)
		wantInputError(t, err, c.field)
	}
	n := 0
	_, err := Reachable(membersOf(EqualNodes(8, 16)), load, ReachOptions{Stop: func() bool { n++; return n == 5 }})
	if !errors.Is(err, planner.ErrStopped) {
		t.Errorf("error %v", err)
	}
}

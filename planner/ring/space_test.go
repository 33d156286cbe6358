package ring

import (
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

func TestSpaceAgreesWithTheRing(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range 300 {
		members := byID(randomMembers(rng, 2+rng.IntN(5), 12))
		load := randomLoad(rng, rng.IntN(80))
		limit := 1 + rng.IntN(20)
		m := measure(load)
		s := newSpace(members, limit, m, nil)
		var before []Node
		for _, x := range members {
			before = append(before, Node{ID: x.ID, Tokens: x.Tokens})
		}
		for range 10 {
			counts, nodes := make([]int, len(members)), slices.Clone(before)
			for i := range counts {
				counts[i] = 1 + rng.IntN(s.nodes[i].Tokens)
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
		}
	}
}

// Going through all counts of a node at once is the same as one by one.
func TestSweepAgreesWithEvaluation(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for range 200 {
		members := byID(randomMembers(rng, 2+rng.IntN(5), 12))
		s := &searcher{
			space: newSpace(members, 1+rng.IntN(20), measure(randomLoad(rng, rng.IntN(80))), nil), budget: math.MaxInt64,
			judge: func(x outcome, counts []int) rank {
				return rank{x.most, float64(x.moved), float64(counts[0])}
			},
		}
		s.prepare()
		x := make([]int, len(members))
		for i := range x {
			x[i] = 1 + rng.IntN(s.nodes[i].Tokens)
		}
		for i := range x {
			var swept, alone []rank
			s.sweep(i, x, func(_ int, r rank) { swept = append(swept, r) })
			counts := slices.Clone(x)
			for counts[i] = 1; counts[i] <= s.nodes[i].Tokens; counts[i]++ {
				alone = append(alone, s.judge(s.evaluate(counts, make([]int64, len(x))), counts))
			}
			if !slices.Equal(swept, alone) {
				t.Fatalf("swept %v, one by one %v", swept, alone)
			}
		}
	}
}

func membersOf(nodes []Node) []Member {
	var members []Member
	for _, n := range nodes {
		members = append(members, Member{ID: n.ID, Tokens: n.Tokens})
	}
	return members
}

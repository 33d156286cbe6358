package reproduce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
	"plannerd/planner/ring"
	"plannerd/sdk/go/route"
)

var methods = []ring.Method{ring.Halving, ring.Doubling}

// start is a workload of the report by all that it says of four of them: S on the rings at
// the beginning, by halving and by doubling. It does not give their letters.
type start struct {
	name string
	skew [2]float64
}

var starts = []start{
	{"WL1", [2]float64{0, 1}}, {"WL2", [2]float64{0, 0}}, {"WL3", [2]float64{1, 1}}, {"WL4", [2]float64{0.8, 0.49}},
	{"WL5", [2]float64{0.2, 0.55}},
}

// lettered is a workload of 100 letters.
type lettered struct {
	letters []int // 0 is a
	counts  []int64
}

// wl3 is WL3, whose letter the report does give.
var wl3 = lettered{letters: []int{0}, counts: []int64{100}}

// letters draws n workloads of the same S at the beginning, or fewer where they are rare.
func (w start) letters(n int) (all []lettered) {
	rings := [2]*ring.Ring{ring.New(ring.EqualNodes(4, 16)), ring.New(ring.EqualNodes(4, 1))}
	var owner [2][26]int32
	for i, r := range rings {
		for letter := range owner[i] {
			owner[i][letter] = r.Lookup([]byte{byte('a' + letter)})
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		if len(all) == n {
			break
		}
		x := randomLetters(rng)
		same := true
		for i := range rings {
			var loads [4]int64
			for j, letter := range x.letters {
				loads[owner[i][letter]] += x.counts[j]
			}
			same = same && math.Abs(float64(slices.Max(loads[:])-25)/75-w.skew[i]) <= 0.005
		}
		if same {
			all = append(all, x)
		}
	}
	return all
}

// randomLetters draws up to six letters, and how often each occurs: as often as the others,
// where there are four, or by chance.
func randomLetters(rng *rand.Rand) lettered {
	x := lettered{letters: rng.Perm(26)[:1+rng.IntN(6)]}
	cuts := []int{0, 100}
	for i := 1; i < len(x.letters); i++ {
		cuts = append(cuts, rng.IntN(101))
	}
	if len(x.letters) == 4 && rng.IntN(2) == 0 {
		cuts = []int{0, 25, 50, 75, 100}
	}
	slices.Sort(cuts)
	for i := range x.letters {
		x.counts = append(x.counts, int64(cuts[i+1]-cuts[i]))
	}
	return x
}

// trial is how a workload is balanced.
type trial struct {
	method ring.Method
	tokens int   // of a node by halving; by doubling it is 1
	first  int32 // the ID of the first node
	rounds int
	report int64 // ticks between two reports; 0: 100
}

// skew is the median S with balancing over a few seeds.
func (x lettered) skew(m *measurement, t trial) float64 {
	if t.method == ring.Doubling {
		t.tokens = 1
	}
	nodes := ring.EqualNodes(4, t.tokens)
	for i := range nodes {
		nodes[i].ID += t.first
	}
	keys := planner.NewKeys(len(x.letters))
	for _, letter := range x.letters {
		keys.Append([]byte{byte('a' + letter)})
	}
	var skews []float64
	for seed := range uint64(7) {
		stream := must(ring.NewStream(keys, x.counts, seed, nil))
		s := must(ring.Simulate(stream, ring.SimulationOptions{Nodes: nodes, Method: t.method, MaxRounds: t.rounds,
			Seed: seed, Timing: ring.Timing{Report: t.report}, Stop: m.stopped}))
		skews = append(skews, s.Balanced.Skew)
	}
	return median(skews)
}

// counted is a ring of four nodes by the words of §4.2: token j of node i lies at the hash of
// "token-{i}-{j}", where i and j may be counted from 0 or from 1.
type counted struct {
	node, token int // the first
	tokens      [4]int
}

// owner is the node, from 0 on, of the first token at a letter or after it.
func (c counted) owner(letter byte) int {
	at := route.RingPosition([]byte{letter})
	owner, nearest := 0, uint32(math.MaxUint32)
	for d, n := range c.tokens {
		for j := range n {
			position := route.RingPosition(fmt.Appendf(nil, "token-%d-%d", d+c.node, j+c.token))
			if distance := position - at; distance < nearest { // modulo 2³²
				owner, nearest = d, distance
			}
		}
	}
	return owner
}

// relieved says whether a letter leaves its node where the tokens become those of a round
// that relieves it.
func (c counted) relieved(letter byte, tokens func(node, relieved int) int) bool {
	before := c.owner(letter)
	for d := range c.tokens {
		c.tokens[d] = tokens(d, before)
	}
	return c.owner(letter) != before
}

package reproduce

import (
	"fmt"
	"math"
	"slices"

	"plannerd/planner"
	"plannerd/planner/ranges"
)

var shufflerItems = []Item{
	{"shuffler/formula", Shuffler, "Formula", "What a join by quantiles moves, at every place", shufflerFormula},
	{"shuffler/examples", Shuffler, "Examples", "What moves in the examples and cartoons", shufflerExamples},
	{"shuffler/middle", Shuffler, "Formula", "(3n−2)/(n²+n), O(1/n), for a join in the middle", shufflerMiddle},
}

// uniform is a CDF in which each key weighs next to nothing.
func uniform(keys int) *ranges.CDF {
	weights := make([]int64, keys)
	for i := range weights {
		weights[i] = 1
	}
	return must(ranges.NewCDF(inOrder(keys), weights))
}

// inOrder names n keys so that their order is that of their numbers.
func inOrder(n int) *planner.Keys {
	keys := planner.NewKeys(n)
	for i := range n {
		keys.Append(fmt.Appendf(nil, "%08d", i))
	}
	return keys
}

// join is one of a new follower, with so many before it, to followers that have equal shares: the share of
// the keys that moves by quantiles, and by how much the borders are off these, as keys cannot be cut.
type join struct {
	followers, before int
	moved, slack      float64
}

// joins are those at every place among up to so many followers.
func joins(m *measurement, most int) (out []join) {
	keys := of(m, 5040, 50_400)
	cdf := uniform(keys)
	slack := func(n int) (sum float64) {
		for i := range n {
			border := float64(keys) * float64(i) / float64(n)
			sum += math.Abs(math.Round(border)-border) / float64(keys)
		}
		return sum
	}
	o := ranges.Options{Method: ranges.Quantile, Stop: m.stopped}
	var followers []ranges.Follower
	for n := 1; n <= most; n++ {
		followers = append(followers, ranges.Follower{ID: int32(n)})
		start := must(ranges.Divide(cdf, nil, followers, o))
		for i := range n + 1 {
			all := slices.Insert(slices.Clone(followers), i, ranges.Follower{Status: ranges.Joined})
			d := must(ranges.Divide(cdf, start.After, all, o))
			out = append(out, join{n, i, d.Moved, slack(n) + slack(n+1)})
		}
	}
	return out
}

func shufflerFormula(m *measurement) {
	most := of(m, 10, 50)
	m.setting("keys alike, 1 to %d followers, a join at every place", most)
	m.axes("n", "share that moves, at the first place and in the middle")
	off, least, greatest := 0.0, 1.0, 0.0
	for _, x := range joins(m, most) {
		formula := ranges.JoinShare(x.before, x.followers-x.before)
		off = max(off, math.Abs(x.moved-formula)-x.slack)
		least, greatest = min(least, formula), max(greatest, formula)
		if x.before == 0 {
			m.add("at the end", x.followers, x.moved)
		}
		if x.before == x.followers/2 {
			m.add("in the middle", x.followers, x.moved)
		}
	}
	m.claim(off <= 1e-9, "[i(i+1)+j(j+1)]/[2n(n+1)] holds at every place, but for keys that cannot be cut")
	m.claim(least >= 0.25 && greatest <= 0.5, "always between ¼ and ½")
}

func shufflerExamples(m *measurement) {
	m.setting("followers with equal shares; the new one at the place of the example")
	m.axes("example", "share that moves")
	for _, example := range []struct {
		name        string
		left, right int
	}{
		{"1 → 2", 1, 0}, {"2 → 3", 1, 1}, {"4 → 5", 3, 1}, {"5 → 6", 2, 3}, {"6 → 7", 3, 3},
	} {
		m.add("moved", example.name, ranges.JoinShare(example.left, example.right))
	}
	// In 4 → 5 the new follower comes fourth. The border behind follower i goes from i/4 to
	// i/5, and the last follower gives what is left to make up a fifth.
	for i := 1; i <= 3; i++ {
		m.add("transfer of 4 → 5", i, float64(i)/4-float64(i)/5)
	}
	m.add("transfer of 4 → 5", 4, 4.0/5-3.0/4)
}

func shufflerMiddle(m *measurement) {
	m.setting("keys alike, n followers, one more joins in the middle")
	m.axes("n", "share that moves")
	most := 0.0
	for _, n := range []int{4, 10, 20, 50, 100} {
		remark, moves := float64(3*n-2)/float64(n*n+n), ranges.JoinShare(n/2, n/2)
		m.add("(3n−2)/(n²+n)", n, remark)
		m.add("moved", n, moves)
		most = max(most, math.Abs(remark-moves))
	}
	m.claim(most < 0.01, "a join in the middle moves (3n−2)/(n²+n)")
	m.claim(m.at("moved", 100) < m.at("moved", 10)/5, "what it moves falls with 1/n")
}

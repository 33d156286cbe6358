package planner

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// penalties is what the search pays for violated limits.
type penalties struct {
	perLoad    []float64 // by instance, per fixed-point unit above the limit
	basicLoad  []float64 // what perLoad starts from
	perEntry   float64   // per entry above the table limit
	basicEntry float64
	tie        float64 // per move and per entry: a touch against needless ones
	epsilon    float64 // what gains less is none
	limited    bool
	limit      int64   // on entries
	doubt      []int32 // the keys, those first about whose place there is most doubt at the prices
	clearest   []int32 // the keys, those first about whose place there is least doubt, the costliest first
}

// setPenalties derives the first penalties from prices: a little more than what
// complying is worth.
func (s *search) setPenalties(y *prices) {
	var price []float64
	entry := 0.0
	if y != nil && (y.table > 0 || slices.Max(y.load) > 0) {
		entry = y.table
		for _, u := range y.load {
			price = append(price, math.Ldexp(u, -62)) // as the relaxation scales fixed-point costs
		}
	} else {
		price = s.estimate()
	}
	weight, cost := 0.0, 0.0
	for k, w := range s.weight {
		weight += w
		cost += float64(s.cost[k])
	}
	typical := slices.Max(price)
	if typical == 0 {
		typical = max(weight, math.SmallestNonzeroFloat64) / max(cost, 1)
	}
	average := max(weight/float64(len(s.weight)), typical)
	s.perLoad, s.basicLoad = make([]float64, len(price)), make([]float64, len(price))
	for d, u := range price {
		s.basicLoad[d] = max(u, 0.3*typical)
		s.perLoad[d] = 1.05 * s.basicLoad[d]
	}
	if s.limited = s.p.o.TableLimit != nil; s.limited {
		s.limit = *s.p.o.TableLimit
		s.basicEntry = max(entry, 0.1*average)
		s.perEntry = 1.05 * s.basicEntry
	}
	s.tie = 1e-7 * average
	s.epsilon = 1e-2 * s.tie
	s.rankDoubts(price, entry)
}

// estimate prices the load of each instance that would be above its limit
// without moves at the critical ratio of the fractional knapsack.
func (s *search) estimate() []float64 {
	n := len(s.load)
	price, need := make([]float64, n), make([]int64, n)
	for _, d := range s.p.live {
		need[d] = s.load[d] - s.p.limit[d]
	}
	for k, d := range s.at {
		need[d] -= s.cost[k]
		need[s.from[k]] += s.cost[k]
	}
	on := make([][]ratioed, n)
	for k, d := range s.from {
		if need[d] > 0 && s.cost[k] > 0 {
			on[d] = append(on[d], ratioed{s.weight[k] / float64(s.cost[k]), s.cost[k]})
		}
	}
	for _, d := range s.p.live {
		if u := criticalRatio(on[d], need[d]); !math.IsInf(u, 1) {
			price[d] = u
		}
	}
	return price
}

// rankDoubts orders the keys by the doubt about their places.
func (s *search) rankDoubts(price []float64, entry float64) {
	market := s.p.live[0]
	for _, d := range s.p.live {
		if price[d] < price[market] {
			market = d
		}
	}
	doubts := make([]doubt, len(s.cost))
	for k := range doubts {
		least, second := math.Inf(1), math.Inf(1)
		for i, d := range [3]int32{s.from[k], s.home[k], market} {
			if !s.p.isLive[d] || i == 1 && d == s.from[k] || i == 2 && (d == s.from[k] || d == s.home[k]) {
				continue
			}
			x := float64(price[d] * float64(s.cost[k]))
			if d != s.from[k] {
				x += s.weight[k]
			}
			if d != s.home[k] {
				x += float64(entry * float64(s.units[k]))
			}
			if x < least {
				least, second = x, least
			} else {
				second = min(second, x)
			}
		}
		doubts[k] = doubt{(second - least) / float64(max(s.cost[k], 1)), int32(k)}
	}
	s.clearest = keysOf(doubts, func(a, b doubt) int {
		return cmp.Or(cmp.Compare(b.difference, a.difference), cmp.Compare(b.key, a.key))
	})
	s.doubt = keysOf(doubts, func(a, b doubt) int {
		return cmp.Or(cmp.Compare(a.difference, b.difference), // then keys of all costs soon
			cmp.Compare(bits.Reverse32(uint32(a.key)), bits.Reverse32(uint32(b.key))))
	})
}

// doubt is by how much, per cost, a key's second best place is worse than the
// best when places are priced.
type doubt struct {
	difference float64
	key        int32
}

// keysOf sorts doubts and returns their keys.
func keysOf(doubts []doubt, compare func(a, b doubt) int) []int32 {
	slices.SortFunc(doubts, compare)
	keys := make([]int32, len(doubts))
	for i, x := range doubts {
		keys[i] = x.key
	}
	return keys
}

// raise makes what is violated dearer, and keys around worth trying again.
func (s *search) raise(factor float64) {
	s.clock++
	for _, d := range s.over {
		s.perLoad[d] *= factor
		s.touched[d] = s.clock
	}
	if s.limited && s.now.table > s.limit {
		s.perEntry *= factor
		s.forget()
	}
}

// redraw brings all penalties back to about where they started. For entries,
// which are harder to price, that follows what they came to.
func (s *search) redraw() {
	for _, d := range s.p.live {
		s.perLoad[d] = s.basicLoad[d] * (0.5 + float64(0.7*s.random.Float64()))
	}
	s.basicEntry += float64(0.25 * (s.perEntry - s.basicEntry))
	s.perEntry = s.basicEntry * (0.5 + float64(0.7*s.random.Float64()))
}

// delta is how the penalised objective changes if key k goes to instance b.
func (s *search) delta(k, b int32) float64 {
	a, c, x := s.at[k], s.cost[k], 0.0
	switch s.from[k] {
	case a:
		x = s.weight[k] + s.tie
	case b:
		x = -s.weight[k] - s.tie
	}
	switch s.home[k] {
	case a:
		x += s.entries(s.units[k])
	case b:
		x += s.entries(-s.units[k])
	}
	if over := s.load[a] - s.p.limit[a]; over > 0 {
		x -= float64(s.perLoad[a] * float64(min(over, c)))
	}
	if over := s.load[b] - s.p.limit[b] + c; over > 0 {
		x += float64(s.perLoad[b] * float64(min(over, c)))
	}
	return x
}

// entries is what n more entries cost.
func (s *search) entries(n int64) float64 {
	x := float64(s.tie * float64(n))
	if s.limited {
		more := max(0, s.now.table+n-s.limit) - max(0, s.now.table-s.limit)
		x += float64(s.perEntry * float64(more))
	}
	return x
}

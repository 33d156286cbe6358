package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/knapsack"
	"plannerd/planner/internal/relaxation"
)

// penalties is what the search pays for violated limits.
type penalties struct {
	perLoad     []float64 // by instance, per fixed-point unit above the limit
	basicLoad   []float64 // what perLoad starts from
	perEntry    float64   // per entry above the table limit
	basicEntry  float64
	tie         float64 // per move and per entry: a touch against needless ones
	epsilon     float64 // what gains less is none
	limited     bool
	limit       int64   // on entries
	byRegret    []int32 // the keys in ascending order of regret
	byCertainty []int32 // the keys in descending order of regret, the costliest first
}

// setPenalties derives the first penalties from prices: a little more than what
// complying is worth.
func (s *search) setPenalties(y *relaxation.Prices) {
	if s.amounts != nil {
		s.setResourcePenalties(y)
		return
	}
	var price []float64
	entry := 0.0
	if y != nil && (y.Table > 0 || slices.Max(y.Load) > 0) {
		entry = y.Table
		for _, u := range y.Load {
			price = append(price, math.Ldexp(u, -62)) // as the relaxation scales fixed-point costs
		}
	} else {
		price = s.estimate(s.load, s.p.Limit, s.cost)
	}
	s.basicLoad, s.perLoad = s.basic(price, s.cost), make([]float64, len(price))
	for d, u := range s.basicLoad {
		s.perLoad[d] = 1.05 * u
	}
	s.setEntryPenalty(entry, max(s.meanWeight(), s.typical(price, s.cost)))
	s.rankRegrets(price, entry)
}

// typical is the greatest price of a load, or what keys weigh for what they cost.
func (s *search) typical(price []float64, cost []int64) float64 {
	if typical := slices.Max(price); typical > 0 {
		return typical
	}
	weight, sum := 0.0, 0.0
	for k, w := range s.weight {
		weight += w
		sum += float64(cost[k])
	}
	return max(weight, math.SmallestNonzeroFloat64) / max(sum, 1)
}

func (s *search) meanWeight() float64 {
	weight := 0.0
	for _, w := range s.weight {
		weight += w
	}
	return weight / float64(len(s.weight))
}

// basic are the first penalties of load, by instance.
func (s *search) basic(price []float64, cost []int64) []float64 {
	typical, list := s.typical(price, cost), make([]float64, len(price))
	for d, u := range price {
		list[d] = max(u, 0.3*typical)
	}
	return list
}

// setEntryPenalty sets what an entry costs, and what is no gain.
func (s *search) setEntryPenalty(entry, average float64) {
	if s.limited = s.p.Goal.TableLimit != nil; s.limited {
		s.limit = *s.p.Goal.TableLimit
		s.basicEntry = max(entry, 0.1*average)
		s.perEntry = 1.05 * s.basicEntry
	}
	s.tie = 1e-7 * average
	s.epsilon = 1e-2 * s.tie
}

// estimate prices the load of each instance that would be above its limit
// without moves at the critical ratio of the fractional knapsack.
func (s *search) estimate(load, limit, cost []int64) []float64 {
	n := len(load)
	price, need := make([]float64, n), make([]int64, n)
	for _, d := range s.p.Live {
		need[d] = load[d] - limit[d]
	}
	for k, d := range s.at {
		need[d] -= cost[k]
		need[s.from[k]] += cost[k]
	}
	on := make([][]knapsack.Ratioed, n)
	for k, d := range s.from {
		if need[d] > 0 && cost[k] > 0 {
			on[d] = append(on[d], knapsack.Ratioed{Ratio: s.weight[k] / float64(cost[k]), Cost: cost[k]})
		}
	}
	for _, d := range s.p.Live {
		if u := knapsack.CriticalRatio(on[d], need[d]); !math.IsInf(u, 1) {
			price[d] = u
		}
	}
	return price
}

// rankRegrets orders the keys by their regret.
func (s *search) rankRegrets(price []float64, entry float64) {
	s.rankRegretsBy(price, entry, func(k int, d int32) float64 { return float64(price[d] * float64(s.cost[k])) })
}

// rankRegretsBy is rankRegrets where priced is what a key costs on an instance, and price says where keys are cheapest.
func (s *search) rankRegretsBy(price []float64, entry float64, priced func(k int, d int32) float64) {
	cheapest := s.p.Live[0]
	for _, d := range s.p.Live {
		if price[d] < price[cheapest] {
			cheapest = d
		}
	}
	regrets := make([]regret, len(s.cost))
	for k := range regrets {
		least, second := math.Inf(1), math.Inf(1)
		for i, d := range [3]int32{s.from[k], s.home[k], cheapest} {
			if !s.p.IsLive[d] || i == 1 && d == s.from[k] || i == 2 && (d == s.from[k] || d == s.home[k]) {
				continue
			}
			x := priced(k, d)
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
		regrets[k] = regret{(second - least) / float64(max(s.cost[k], 1)), int32(k)}
	}
	s.byCertainty = keysOf(regrets, func(a, b regret) int {
		return cmp.Or(cmp.Compare(b.difference, a.difference), cmp.Compare(b.key, a.key))
	})
	s.byRegret = keysOf(regrets, func(a, b regret) int {
		return cmp.Or(cmp.Compare(a.difference, b.difference), // then keys of all costs soon
			cmp.Compare(bits.Reverse32(uint32(a.key)), bits.Reverse32(uint32(b.key))))
	})
}

// regret is by how much, per cost, a key's second best place is worse than the
// best when places are priced.
type regret struct {
	difference float64
	key        int32
}

// keysOf sorts regrets and returns their keys.
func keysOf(regrets []regret, compare func(a, b regret) int) []int32 {
	slices.SortFunc(regrets, compare)
	keys := make([]int32, len(regrets))
	for i, x := range regrets {
		keys[i] = x.key
	}
	return keys
}

// raise makes what is violated dearer, and keys around worth trying again.
func (s *search) raise(factor float64) {
	s.clock++
	for _, d := range s.over {
		if s.amounts == nil {
			s.perLoad[d] *= factor
		} else {
			s.raiseResources(d, factor)
		}
		s.touched[d] = s.clock
	}
	if s.limited && s.now.Table > s.limit {
		s.perEntry *= factor
		s.forget()
	}
}

// redraw brings all penalties back to about where they started. For entries,
// which are harder to price, that follows what they came to.
func (s *search) redraw() {
	if s.amounts != nil {
		s.redrawResources()
	} else {
		for _, d := range s.p.Live {
			s.perLoad[d] = s.basicLoad[d] * (0.5 + float64(0.7*s.random.Float64()))
		}
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
	if s.amounts != nil {
		return x + s.deltaOfResources(k, a, b)
	}
	if over := s.load[a] - s.p.Limit[a]; over > 0 {
		x -= float64(s.perLoad[a] * float64(min(over, c)))
	}
	if over := s.load[b] - s.p.Limit[b] + c; over > 0 {
		x += float64(s.perLoad[b] * float64(min(over, c)))
	}
	return x
}

// entries is what n more entries cost.
func (s *search) entries(n int64) float64 {
	x := float64(s.tie * float64(n))
	if s.limited {
		more := max(0, s.now.Table+n-s.limit) - max(0, s.now.Table-s.limit)
		x += float64(s.perEntry * float64(more))
	}
	return x
}

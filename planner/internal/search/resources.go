package search

import (
	"math"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/relaxation"
)

// resources is what the search knows where instances have bounds in several resources, cost being the
// first. The costs of keys are then their sizes, which order them, and rooms are in that unit.
type resources struct {
	amounts       [][]int64   // by resource and key; nil: there is cost alone
	perUnit       [][]float64 // by resource and instance: what a unit above the limit costs
	basicUnit     [][]float64 // what perUnit starts from
	sizePerAmount []float64   // by resource
}

// sizeBits is how fine sizes are.
const sizeBits = 40

func sizeOf(share float64) int64 { return int64(math.Ldexp(share, sizeBits)) }

// takeResources lays out what the keys take.
func (s *search) takeResources() {
	if s.a.Loads == nil {
		return
	}
	for _, q := range s.p.ByResource {
		amounts := make([]int64, len(s.piece))
		for k, piece := range s.piece {
			amounts[k] = q.AmountOf(piece)
		}
		s.amounts = append(s.amounts, amounts)
		s.sizePerAmount = append(s.sizePerAmount, math.Ldexp(1, sizeBits)/float64(max(q.Total, 1)))
	}
}

// roomOn is how large a key is for which an instance has room; below 0 it carries too much.
func (s *search) roomOn(d int32) int64 {
	if s.amounts == nil {
		return s.p.Limit[d] - s.load[d]
	}
	room := math.Inf(1)
	for r, q := range s.p.ByResource {
		room = min(room, s.sizePerAmount[r]*float64(q.Limit[d]-s.a.Loads[r][d]))
	}
	return int64(max(-1<<62, min(room, 1<<62)))
}

// exceeds counts the limits above which an instance carries.
func (s *search) exceeds(d int32) int {
	n := 0
	if s.amounts == nil {
		if s.load[d] > s.p.Limit[d] && s.p.Fair[d] > 0 {
			n++
		}
		return n
	}
	if s.p.IsLive[d] {
		s.a.Exceeded(d, func(int, int64) { n++ })
	}
	return n
}

// displaceAmounts moves what a key takes.
func (s *search) displaceAmounts(k, at, to int32) {
	for r, amounts := range s.amounts {
		s.a.Loads[r][at] -= amounts[k]
		s.a.Loads[r][to] += amounts[k]
	}
}

// deltaOfResources is what the penalties change by if key k goes from a to b.
func (s *search) deltaOfResources(k, a, b int32) float64 {
	x := 0.0
	for r, q := range s.p.ByResource {
		c, load := s.amounts[r][k], s.a.Loads[r]
		if c == 0 {
			continue
		}
		if over := load[a] - q.Limit[a]; over > 0 {
			x -= float64(s.perUnit[r][a] * float64(min(over, c)))
		}
		if over := load[b] - q.Limit[b] + c; over > 0 {
			x += float64(s.perUnit[r][b] * float64(min(over, c)))
		}
	}
	return x
}

// priceResources sets the first penalties of each resource, and returns the prices that they come from.
func (s *search) priceResources(y *relaxation.Prices) [][]float64 {
	prices := make([][]float64, len(s.amounts))
	for r := range s.amounts {
		if prices[r] = s.estimate(s.a.Loads[r], s.p.ByResource[r].Limit, s.amounts[r]); y != nil && y.ByResource != nil {
			prices[r] = y.ByResource[r]
		}
		basic := s.basic(prices[r], s.amounts[r])
		s.basicUnit = append(s.basicUnit, basic)
		per := make([]float64, len(basic))
		for d, u := range basic {
			per[d] = 1.05 * u
		}
		s.perUnit = append(s.perUnit, per)
	}
	return prices
}

// pricedAt is the price of what a key takes on an instance.
func (s *search) pricedAt(prices [][]float64, k int, d int32) float64 {
	x := 0.0
	for r, amounts := range s.amounts {
		x += float64(prices[r][d] * float64(amounts[k]))
	}
	return x
}

// raiseResources makes what is violated on an instance dearer.
func (s *search) raiseResources(d int32, factor float64) {
	for r := range s.perUnit {
		if s.a.Loads[r][d] > s.p.ByResource[r].Limit[d] {
			s.perUnit[r][d] *= factor
		}
	}
}

// redrawResources brings penalties back to about where they started.
func (s *search) redrawResources() {
	for r := range s.perUnit {
		for _, d := range s.p.Live {
			s.perUnit[r][d] = s.basicUnit[r][d] * (0.5 + float64(0.7*s.random.Float64()))
		}
	}
}

// violationOn is what an instance carries above its limits, at the first penalties.
func (s *search) violationOn(d int32) float64 {
	if s.amounts == nil {
		return float64(s.basicLoad[d] * float64(s.load[d]-s.p.Limit[d]))
	}
	sum := 0.0
	s.a.Exceeded(d, func(r int, by int64) { sum += float64(s.basicUnit[r][d] * float64(by)) })
	return sum
}

// excessOn is the greatest relative excess of an instance over its bounds.
func (s *search) excessOn(d int32) float64 {
	if s.amounts == nil {
		return assign.Relative(float64(s.load[d]), s.p.Bound[d])
	}
	x := 0.0
	s.a.Exceeded(d, func(r int, _ int64) {
		x = max(x, assign.Relative(float64(s.a.Loads[r][d]), s.p.ByResource[r].Bound[d]))
	})
	return x
}

// setResourcePenalties is setPenalties where there are several resources.
func (s *search) setResourcePenalties(y *relaxation.Prices) {
	prices, entry := s.priceResources(y), 0.0
	if y != nil {
		entry = y.Table
	}
	average, total := s.meanWeight(), make([]float64, len(s.load))
	for r, price := range prices {
		for d, u := range price {
			total[d] += u / s.sizePerAmount[r]
		}
	}
	s.setEntryPenalty(entry, max(average, math.SmallestNonzeroFloat64))
	s.rankRegretsBy(total, entry, func(k int, d int32) float64 { return s.pricedAt(prices, k, d) })
}

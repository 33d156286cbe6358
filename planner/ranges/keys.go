package ranges

import (
	"bytes"
	"math"

	"plannerd/planner"
)

// DivideKeys is [Divide] for keys whose cost is the weight: an exact CDF, and the sums
// over keys filled in everywhere. Keys without cost go with those around them. The
// order of the rows makes no difference.
func DivideKeys(s *planner.Statistics, owners Owners, followers []Follower, o Options) (*Division, error) {
	order, err := orderOf(s)
	if err != nil {
		return nil, err
	}
	p, err := Divide(newCDF(s.Keys, weightsOf(s, order), order), owners, followers, o)
	if err != nil {
		return nil, err
	}
	p.sum(s, order)
	return p, nil
}

// orderOf checks the keys and returns their order.
func orderOf(s *planner.Statistics) ([]int32, error) {
	if err := s.ValidateAmounts(); err != nil {
		return nil, err
	}
	order := sortedByBytes(s.Keys)
	for i := 1; i < len(order); i++ {
		if bytes.Equal(s.Keys.At(int(order[i-1])), s.Keys.At(int(order[i]))) {
			return nil, planner.InvalidRow(int(order[i]), "Key", "is there twice")
		}
	}
	return order, nil
}

// weights are the costs under a power-of-two scale that brings their sum to 2^59
// or more. Costs that are integers stay exact unless they sum to more than that,
// and what is below 2^−61 of the sum weighs nothing.
func weightsOf(s *planner.Statistics, order []int32) []int64 {
	sum := 0.0
	for _, i := range order {
		sum += s.Cost[i]
	}
	weights := make([]int64, len(s.Cost))
	if sum > 0 {
		_, exponent := math.Frexp(sum)
		for i, x := range s.Cost {
			weights[i] = int64(math.RoundToEven(math.Ldexp(x, 60-exponent)))
		}
	}
	return weights
}

// sum adds up keys by transfer and by follower, along the key space.
func (p *Division) sum(s *planner.Statistics, order []int32) {
	place := make(map[int32]*FollowerLoad, len(p.Followers))
	for i, f := range p.Followers {
		place[f.ID] = &p.Loads[i]
	}
	before, after, next := 0, 0, 0
	for _, i := range order {
		key, cost, state := s.Keys.At(int(i)), s.Cost[i], 1.0
		if s.State != nil {
			state = s.State[i]
		}
		for before+1 < len(p.Before) && bytes.Compare(p.Before[before+1].Low, key) <= 0 {
			before++
		}
		for after+1 < len(p.After) && bytes.Compare(p.After[after+1].Low, key) <= 0 {
			after++
		}
		to := place[p.After[after].Follower]
		to.CostAfter += cost
		to.KeysAfter++
		if len(p.Before) == 0 {
			continue
		}
		from := place[p.Before[before].Follower]
		from.CostBefore += cost
		from.KeysBefore++
		if from == to {
			continue
		}
		from.StateOut += state
		to.StateIn += state
		for !below(key, p.Transfers[next].Interval.High) {
			next++
		}
		t := &p.Transfers[next]
		t.Cost, t.State, t.Keys = t.Cost+cost, t.State+state, t.Keys+1
	}
}

package hindsight_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"plannerd/planner"
	"plannerd/planner/hindsight"
)

// two is a stream of two equal instances. Keys are at home on the first.
func two(cost, state [][]float64) *stream {
	s := &stream{capacity: []float64{1, 1}, cost: cost, state: state, residual: make([][]float64, len(cost))}
	for range cost[0] {
		s.home, s.start, s.first = append(s.home, 0), append(s.start, 0), append(s.first, 0)
	}
	for range cost {
		named := make([]bool, len(cost[0]))
		for k := range named {
			named[k] = true
		}
		s.named, s.policy = append(s.named, named), append(s.policy, s.start)
	}
	return s
}

// bracket is that of caps of a θ, from interval 1 on.
func (s *stream) bracket(theta float64) hindsight.Bracket {
	h, tables := s.history(rand.New(rand.NewPCG(1, 1)))
	s.caps.Warmup, s.caps.Theta = 1, nil
	for range s.cost {
		s.caps.Theta = append(s.caps.Theta, theta)
	}
	return h.Bracket(s.caps, tables, hindsight.Effort{Steps: 2000, Attempts: 5})
}

// One of two equal keys has to leave, at best when its state is least: the bound is the
// optimum up to rounding.
func TestBoundIsTight(t *testing.T) {
	s := two([][]float64{{1, 1}, {1, 1}, {1, 1}}, [][]float64{{1, 3}, {1, 3}, {1, 3}})
	b := s.bracket(0)
	if b.Found == nil || *b.Found != 0.25 || b.Bound > 0.25 || b.Bound < 0.25*(1-1e-3) || !b.Proven {
		t.Errorf("%+v, want a quarter", b)
	}
	if ratio, ok := b.Ratio(1); !ok || math.Abs(ratio-4) > 0.01 {
		t.Errorf("ratio %v %v, want 4", ratio, ok)
	}
	if b := s.bracket(1); b.Bound != 0 || *b.Found != 0 {
		t.Errorf("nothing has to move: %+v", b)
	}
}

// A key that is away from home has to go back where the table has no room for it.
func TestTableLimit(t *testing.T) {
	s := two([][]float64{{1, 1}, {1, 1}, {1, 1}}, [][]float64{{1, 3}, {2, 2}, {1, 3}})
	s.start = []int{1, 0}
	s.policy = [][]int{{1, 0}, {0, 0}, {0, 0}}
	s.caps.Table = []int64{1, 1, 0}
	if b := s.bracket(1); b.Found == nil || *b.Found != 0.25 || b.Bound > 0.25 || b.Bound < 0.249 {
		t.Errorf("%+v, want a quarter", b)
	}
	s.caps.Table = []int64{1, 0, 0}
	if b := s.bracket(0); b.Found != nil || b.Proven {
		t.Errorf("two keys on one of two instances: %+v", b)
	}
}

// Load that cannot move raises the cap.
func TestFixedLoad(t *testing.T) {
	s := two([][]float64{{1, 1}, {1, 1}}, [][]float64{{1, 3}, {1, 3}})
	s.residual[1] = []float64{0, 8}
	if b := s.bracket(0); b.Found == nil || *b.Found != 0 || b.Bound != 0 {
		t.Errorf("%+v, want 0", b)
	}
}

// The profile of a policy that is more even than it has to be is the θ_max.
func TestProfile(t *testing.T) {
	s := two([][]float64{{1, 1}, {1, 1}, {1, 1}}, [][]float64{{1, 3}, {1, 3}, {1, 3}})
	s.policy = [][]int{{0, 0}, {0, 0}, {0, 1}}
	h, tables := s.history(rand.New(rand.NewPCG(1, 1)))
	if caps := h.Profile(0.1, new(int64(3)), 1, tables, nil); !reflect.DeepEqual(caps, hindsight.Caps{
		Theta: []float64{1, 1, 0.1}, Table: []int64{3, 3, 3}, Warmup: 1}) {
		t.Errorf("%+v", caps)
	}
}

// A bound below 1 % of all state has no ratio.
func TestNoRatio(t *testing.T) {
	for _, b := range []hindsight.Bracket{{Bound: 0.0099, Proven: true}, {Bound: 0.5}} {
		if ratio, ok := b.Ratio(1); ok {
			t.Errorf("%+v: ratio %v", b, ratio)
		}
	}
}

// A load that is exactly at its cap is within it, however the sums are rounded: the policy
// itself is within its profile.
func TestRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 22))
	for n := range 300 {
		s := random(r, 12, 3, 5)
		unit := math.Exp(20 * r.NormFloat64())
		for i := range s.cost {
			for k := range s.cost[i] {
				s.cost[i][k] *= unit
				s.state[i][k] *= r.Float64()
			}
			for d := range s.residual[i] {
				s.residual[i][d] *= unit
			}
		}
		h, tables := s.history(r)
		b := h.Bracket(h.Profile(0, new(int64(0)), 1, tables, nil), tables, hindsight.Effort{Steps: 60})
		if m := s.total(); b.Found == nil || b.Bound > *b.Found || *b.Found > m*(1+1e-12) {
			t.Fatalf("case %d: policy moves %v, bracket %+v", n, m, b)
		}
	}
}

// Figures of a policy are those that the columns tell.
func TestFigures(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 23))
	for range 100 {
		s := tiny(r)
		h, tables := s.history(r)
		for i, theta := range h.Theta(tables, nil) {
			if want := s.theta(i, s.policy[i]); math.Abs(theta-want) > 1e-9 {
				t.Fatalf("interval %d: θ %v, want %v", i, theta, want)
			}
		}
	}
}

// The order of rows does not matter, nor do the units of cost, state and capacity.
func TestInvariances(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 24))
	for range 50 {
		s := random(r, 8, 3, 5)
		h, tables := s.history(r)
		s.chosen(r, h, tables)
		want := h.Bracket(s.caps, tables, little)
		for i, factor := range []float64{1, 0.25, 1 << 30} {
			for d := range s.capacity {
				s.capacity[d] *= []float64{1, 4, 0.5}[i]
			}
			for i := range s.cost {
				for k := range s.cost[i] {
					s.cost[i][k] *= factor
					s.state[i][k] *= factor
				}
				for d := range s.residual[i] {
					s.residual[i][d] *= factor
				}
			}
			again, tables := s.history(r)
			got := again.Bracket(s.caps, tables, little)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("other units, rows in another order: %+v, want %+v", got, want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	c := planner.Configuration{Instances: []planner.Instance{{ID: 1, Capacity: 1}}}
	for field, rows := range map[string]*planner.Statistics{
		"Count":        {Keys: planner.KeysOf("a"), Cost: []float64{1}, Count: []int64{2}},
		"Frozen":       {Keys: planner.KeysOf("a"), Cost: []float64{1}, Frozen: []int32{1}},
		"HashInstance": {Keys: planner.KeysOf("a"), Cost: []float64{1}},
		"Instance": {
			Keys: planner.KeysOf("a"), Cost: []float64{1}, HashInstance: []int32{1}, Instance: []int32{0},
		},
		"Residual[0].Instance": {Keys: planner.NewKeys(0), Residual: []planner.Residual{{Instance: 2}}},
	} {
		h := hindsight.NewHistory(c)
		var input *planner.InputError
		if err := h.Add(rows); !errors.As(err, &input) || input.Field != field || h.Len() != 0 {
			t.Errorf("%s: %v", field, err)
		}
	}
}

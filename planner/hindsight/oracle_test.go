package hindsight_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"plannerd/internal/lab/milp"
	"plannerd/planner/hindsight"
)

// oracleCases is how many tiny streams are searched exhaustively:
//
//	PLANNERD_ORACLE=10000 go test -run Exhaustive -timeout 0 ./planner/hindsight
func oracleCases(t *testing.T) int {
	t.Helper()
	v := os.Getenv("PLANNERD_ORACLE")
	if v == "" {
		return 600
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("PLANNERD_ORACLE is %q, want a number of cases", v)
	}
	return n
}

// little is enough work for a tiny stream.
var little = hindsight.Effort{Steps: 120, Attempts: 3}

// chosen are caps of either form.
func (s *stream) chosen(r *rand.Rand, h *hindsight.History, tables hindsight.Tables) (profile bool) {
	theta, warmup := pick(r, 0, 0.1, 0.25, 0.5), 1+r.IntN(2)
	var limit *int64
	if r.IntN(4) == 0 {
		limit = new(int64(r.IntN(len(s.home) + 1)))
	}
	if profile = s.fair != nil || r.IntN(2) == 0; profile {
		s.caps = h.Profile(theta, limit, warmup, tables, s.fair)
		return profile
	}
	s.caps = h.Absolute(theta, limit, warmup)
	return profile
}

// The bound is never above what the best of all sequences moves, and nothing is found
// that is better than that.
func TestExhaustive(t *testing.T) {
	t.Parallel()
	for _, ruled := range []bool{false, true} {
		t.Run(fmt.Sprintf("rules=%t", ruled), func(t *testing.T) {
			t.Parallel()
			exhaustive(t, ruled)
		})
	}
}

func exhaustive(t *testing.T, ruled bool) {
	r := rand.New(rand.NewPCG(20, 20))
	var priced, bounds, optima, found float64
	kinds := map[string]int{}
	for n := range oracleCases(t) {
		s := tiny(r)
		if ruled {
			s.restrict(r)
		}
		h, tables := s.history(r)
		profile := s.chosen(r, h, tables)
		if first := r.IntN(len(s.cost)); r.IntN(3) == 0 {
			s.caps.First, s.start = first, s.policy[first]
		}
		got := h.Bracket(s.caps, tables, little)
		best, looser := s.least(1e-12), s.least(3e-9)
		if got.Proven && got.Bound > best*(1+1e-14) {
			t.Fatalf("case %d: bound %v, but the best sequence moves %v\n%+v", n, got.Bound, best, s)
		}
		if got.Found != nil && (*got.Found < looser-1e-12 || *got.Found < got.Bound) {
			t.Fatalf("case %d: found %v, bound %v, but no sequence moves less than %v\n%+v", n, *got.Found, got.Bound, looser, s)
		}
		if !got.Proven && (s.caps.Table == nil || got.Found != nil) {
			t.Fatalf("case %d: nothing proven\n%+v", n, s)
		}
		if !profile && s.caps.Table == nil && math.IsInf(looser, 1) {
			t.Fatalf("case %d: no sequence keeps to the absolute caps\n%+v", n, s)
		}
		if m := s.total(); profile && (got.Found == nil || got.Bound > m || *got.Found > m*(1+1e-12)) {
			t.Fatalf("case %d: the policy itself moves %v, bound %v\n%+v", n, m, got.Bound, s)
		}
		if s.caps.Table != nil {
			kinds["table"]++
		}
		if !math.IsInf(best, 1) && best > 0 && got.Found != nil {
			priced++
			bounds, optima, found = bounds+got.Bound, optima+best, found+*got.Found
		}
	}
	t.Logf("%v cases with movement: bounds %.3f of the optima, found %.3f; %v", priced, bounds/optima, found/optima, kinds)
	if priced < 50 || bounds < 0.25*optima || found > 1.25*optima || kinds["table"] < 50 {
		t.Error("too little is proven or found")
	}
}

// program is the stream as a mixed integer program: a variable of each key, interval and
// instance, and one of each move.
func (s *stream) program() *milp.Program {
	p := new(milp.Program)
	var before [][]int // of the interval before, by key and instance
	for t := range s.cost {
		at := make([][]int, len(s.home))
		for k := range at {
			only := map[int]float64{}
			for d := range s.capacity {
				at[k] = append(at[k], p.Variable(0))
				only[at[k][d]] = 1
			}
			p.Exactly(1, only)
			if t == 0 || !s.free(k, t) {
				p.Exactly(1, map[int]float64{at[k][s.start[k]]: 1})
				continue
			}
			to := slices.Clone(s.start)
			to[k]++ // another instance than its start
			moves := p.Variable(s.moved(t-1, s.start, to))
			for d := range s.capacity {
				p.AtMost(0, map[int]float64{at[k][d]: 1, before[k][d]: -1, moves: -1})
			}
		}
		if t >= max(1, s.caps.Warmup) {
			s.limit(p, t, at)
		}
		before = at
	}
	return p
}

func (s *stream) limit(p *milp.Program, t int, at [][]int) {
	_, fixed, fair := s.loads(t, s.start)
	entries := map[int]float64{}
	for d := range s.capacity {
		loads := map[int]float64{}
		for k, c := range s.cost[t] {
			if loads[at[k][d]] = c; d != s.home[k] {
				entries[at[k][d]] = 1
			}
		}
		for i, x := range s.residual[t] {
			if i == d {
				fixed[d], fair[d] = fixed[d]-x, fair[d]-x/(1+s.caps.Theta[t])
			}
		}
		p.AtMost(max((1+s.caps.Theta[t])*fair[d], fixed[d])*(1+1e-9), loads)
	}
	if s.caps.Table != nil {
		p.AtMost(float64(s.caps.Table[t]), entries)
	}
}

// The optimum of streams that are too large for exhaustive search lies in the bracket.
func TestProgram(t *testing.T) {
	milp.Require(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 21))
	bounds, optima, found := 0.0, 0.0, 0.0
	for n := range 12 {
		s := random(r, 9, 3, 6)
		h, tables := s.history(r)
		s.chosen(r, h, tables)
		got := h.Bracket(s.caps, tables, hindsight.Effort{Steps: 500, Attempts: 10})
		solution, err := s.program().Solve(t.Context(), time.Minute)
		status, best := solution.Status, solution.Objective
		switch {
		case err != nil:
			t.Fatal(err)
		case status == milp.Infeasible:
			if got.Found != nil {
				t.Errorf("case %d: found %v of what is infeasible", n, *got.Found)
			}
			continue
		case status != milp.Optimal:
			continue
		}
		if !got.Proven && s.caps.Table == nil || got.Bound > best+1e-6 || got.Found != nil && *got.Found < best-1e-6 {
			t.Errorf("case %d: %+v, optimum %v", n, got, best)
		}
		if got.Found != nil {
			bounds, optima, found = bounds+got.Bound, optima+best, found+*got.Found
		}
	}
	t.Logf("bounds %.3f of the optima, found %.3f", bounds/optima, found/optima)
	if optima == 0 || bounds < 0.2*optima || found > 1.5*optima {
		t.Error("too little is proven or found")
	}
}

package packing

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/planner/internal/assign"
)

// packed is a problem of these costs, all on the first instance. Fluid is cost that may be
// anywhere in any parts.
func packed(thetaMax, fluid float64, costs []float64, instances ...assign.Instance) *assign.Problem {
	n := len(costs)
	items := &assign.Items{
		Cost: costs, Current: make([]int32, n), Home: make([]int32, n), Hashes: make([]uint64, n), Unplaced: fluid,
		Compare: func(i, j int32) int { return cmp.Compare(i, j) },
	}
	return assign.NewProblem(items, instances, 0, assign.Goal{ThetaMax: thetaMax}, &assign.Meter{})
}

func equal(n int) []assign.Instance {
	instances := make([]assign.Instance, n)
	for d := range instances {
		instances[d] = assign.Instance{Capacity: 1, Live: true}
	}
	return instances
}

// Keys just above half of what an instance may carry do not fit beside each other, however
// much of the load is fluid; neither do those above a third, three at a time.
func TestPackingCounts(t *testing.T) {
	for _, c := range []struct {
		name      string
		fluid     float64
		costs     []float64
		instances []assign.Instance
		theta     float64 // the least of any plan
	}{
		{"four halves on three", 18, []float64{10.5, 10.5, 10.5, 10.5}, equal(3), 0.05},
		{"seven thirds on three", 10.2, []float64{7, 7, 7, 7, 7, 7, 7}, equal(3), 21/(59.2/3) - 1},
		{"as many as instances", 20, []float64{10.5, 10.5, 10.5}, equal(3), 0},
		{"one of two is small", 5, []float64{6, 6, 6},
			[]assign.Instance{{Capacity: 2, Live: true}, {Capacity: 1, Live: true}}, 12/(23*2/3.) - 1},
		{"beside what stays", 0, []float64{8, 8}, []assign.Instance{
			{Capacity: 1, Live: true, Cost: 7}, {Capacity: 1, Live: true, Cost: 1}}, 15./12 - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := packed(0, c.fluid, c.costs, c.instances...)
			want := max(0, c.theta)
			if got := New(p).LeastTheta(0, 10); math.Abs(got-want) > 3e-6 {
				t.Errorf("θ is %v at least, want %v", got, want)
			}
			for _, theta := range []float64{want - 1e-4, want + 1e-4} {
				if theta >= 0 && Overfull(packed(theta, c.fluid, c.costs, c.instances...)) != (theta < want) {
					t.Errorf("θ_max %v: overfull is %t", theta, theta >= want)
				}
			}
		})
	}
}

// No packing that exists is refuted: small problems are held against all ways to place their
// keys, on instances of unequal capacity and with load that stays.
func TestPackingOracle(t *testing.T) {
	tight, cases := 0, 3000
	for seed := range uint64(cases) {
		r := rand.New(rand.NewPCG(seed, 3))
		instances := equal(2 + r.IntN(3))
		for d := range instances {
			instances[d].Capacity += float64(r.IntN(3) / 2)
			instances[d].Cost = float64(r.IntN(8) / 6 * r.IntN(9))
		}
		costs := make([]float64, 1+r.IntN(7))
		for i := range costs {
			costs[i] = float64(1 + r.IntN(20))
		}
		p := packed(0, float64(r.IntN(3)*r.IntN(30)), costs, instances...)
		least := leastOf(p, 0, make([]float64, len(instances)))
		got := New(p).LeastTheta(0, 100)
		if got > least+1e-9 {
			t.Fatalf("case %d: θ is said to be %v at least, and is %v: %v on %+v", seed, got, least, costs, instances)
		}
		if got >= least-1e-5*(1+least) {
			tight++
		}
		at := packed(least, p.Items.Unplaced, costs, instances...)
		if Overfull(at) {
			t.Fatalf("case %d: overfull at θ %v: %v on %+v", seed, least, costs, instances)
		}
	}
	if t.Logf("the least θ itself in %d of %d cases", tight, cases); tight < cases*7/10 {
		t.Errorf("only %d bounds of %d are tight", tight, cases)
	}
}

// leastOf is the least θ, at least 0, over all places of the items from i on.
func leastOf(p *assign.Problem, i int, load []float64) float64 {
	if i == p.Items.Len() {
		theta := 0.0
		for d, v := range load {
			theta = max(theta, p.Cost.Scaled(v+p.Instances[d].Cost)/p.Fair[d]-1)
		}
		return theta
	}
	least := math.Inf(1)
	for d := range load {
		load[d] += p.Items.Cost[i]
		least = min(least, leastOf(p, i+1, load))
		load[d] -= p.Items.Cost[i]
	}
	return least
}

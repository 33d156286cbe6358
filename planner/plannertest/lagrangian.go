package plannertest

import (
	"math/big"

	"plannerd/planner"
)

// LagrangianBound is the value of the Lagrangian relaxation at the prices u_d ≥ 0
// of load, parallel to Snapshot.Instances in units of the objective per unit of
// cost, and λ ≥ 0 of a table entry, which counts only with a table limit:
//
//	g(u,λ) = Σ_{k not hot} min_{d live} [(S(k)+o)·1(d≠F(k)) + u_d·c(k) + λ·1(d≠h(k))]
//	       + Σ_{k hot} (S(k)+o)·1(F'(k)≠F(k))
//	       − Σ_{d live} u_d·(b_d·(1+1e-9) − background_d) − λ·(A_max − A_fixed)
//
// It is a lower bound on the objective of every assignment that meets all
// constraints, whatever the prices. A_fixed are the entries of hot keys and those
// of absent keys that stay. Every destination is tried, in 300 bits.
func LagrangianBound(s *planner.Snapshot, o planner.Options, u []float64, lambda float64) float64 {
	m := newModel(s, o)
	if o.TableLimit == nil {
		lambda = 0
	}
	g := exact(0)
	fixed := m.retained
	for i := range s.Len() {
		weight := plus(exact(state(s, i)), exact(o.KeyOverhead))
		for _, d := range m.hotUnits[i] {
			if d != int(s.Current[i]) {
				g = plus(g, weight)
			}
			if d != int(s.Hash[i]) {
				fixed++
			}
		}
		units := count(s, i) - int64(len(m.hotUnits[i]))
		g = plus(g, times(exact(float64(units)), m.cheapest(i, weight, u, lambda)))
	}
	for _, d := range m.live() {
		bound := times(exact(m.bound[d]), plus(exact(1), exact(1e-9)))
		g = plus(g, times(exact(-u[d]), plus(bound, exact(-m.background[d]))))
	}
	if lambda > 0 {
		g = plus(g, times(exact(-lambda), exact(float64(*o.TableLimit-fixed))))
	}
	value, _ := g.Float64()
	return value
}

// cheapest is the least that a unit of item i costs under the prices.
func (m *model) cheapest(i int, weight *big.Float, u []float64, lambda float64) *big.Float {
	var least *big.Float
	for _, d := range m.live() {
		price := times(exact(u[d]), exact(m.s.Cost[i]))
		if d != int(m.s.Current[i]) {
			price = plus(price, weight)
		}
		if d != int(m.s.Hash[i]) {
			price = plus(price, exact(lambda))
		}
		if least == nil || price.Cmp(least) < 0 {
			least = price
		}
	}
	return least
}

const bits = 300

func exact(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }

func plus(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Add(a, b) }

func times(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Mul(a, b) }

package hindsight

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"plannerd/planner"
)

// What prices prove is rounded down: it is below the exact value, but not much.
func TestRoundedDown(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 30))
	for n := range 200 {
		h := NewHistory(planner.Configuration{Instances: []planner.Instance{
			{ID: 0, Capacity: 1}, {ID: 1, Capacity: 0.7}, {ID: 2, Capacity: 1.9}}})
		const intervals = 5
		caps := Caps{Theta: make([]float64, intervals)}
		for t := range intervals {
			s := &planner.Statistics{Keys: planner.NewKeys(0)}
			for k := range 6 {
				s.Keys.Append([]byte(strconv.Itoa(k)))
				s.Cost, s.State = append(s.Cost, r.ExpFloat64()), append(s.State, r.ExpFloat64())
				s.HashInstance = append(s.HashInstance, int32(k%3))
			}
			if err := h.Add(s); err != nil {
				panic(err)
			}
			caps.Theta[t] = r.Float64()
			caps.Table = append(caps.Table, int64(r.IntN(6)))
		}
		p := h.problem(caps, func(_ int, key int32) int32 { return key % 2 })
		y := newPrices(p)
		for i := range y.load {
			if p.bounded[i/p.instances] {
				y.load[i] = max(0, r.NormFloat64())
			}
		}
		for t := range y.table {
			if p.bounded[t] {
				y.table[t] = r.Float64() / 10
			}
		}
		got, want := newRelaxation(p).evaluate(y), exactValue(p, y)
		if above := new(big.Float).Sub(big.NewFloat(got), want); above.Sign() > 0 || above.Cmp(big.NewFloat(-1e-11)) < 0 {
			t.Fatalf("case %d: %v, by %v above the exact value", n, got, above)
		}
	}
}

// exact is a number without rounding.
func exact(x float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(x) }

func product(x, y float64) *big.Float { return exact(0).Mul(exact(x), exact(y)) }

// exactValue is the value of prices, of the paths that a direct search finds.
func exactValue(p *problem, y prices) *big.Float {
	sum := exact(0)
	for _, x := range p.paths {
		cost := make([]*big.Float, p.instances) // nil: not reached
		cost[x.start] = exact(0)
		for _, s := range p.steps[x.from:x.to] {
			next := make([]*big.Float, p.instances)
			for to := range next {
				for from, c := range cost {
					if c == nil {
						continue
					}
					v := exact(0).Add(c, product(s.cost, y.load[int(s.interval)*p.instances+to]))
					if from != to {
						v.Add(v, exact(s.state))
					}
					if int32(to) != x.home {
						v.Add(v, exact(y.table[s.interval]))
					}
					if next[to] == nil || v.Cmp(next[to]) < 0 {
						next[to] = v
					}
				}
			}
			cost = next
		}
		least := cost[0]
		for _, c := range cost {
			if c.Cmp(least) < 0 {
				least = c
			}
		}
		sum.Add(sum, least)
	}
	for t := range p.intervals {
		for d := range p.instances {
			i := t*p.instances + d
			sum.Sub(sum, product(y.load[i], p.room[i]))
		}
		sum.Sub(sum, product(y.table[t], float64(p.table[t])))
	}
	return sum
}

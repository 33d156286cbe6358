package reproduce

import (
	"math/rand/v2"
	"slices"

	"plannerd/internal/lab/queueing"
	"plannerd/planner"
)

// fig2 is what a key that is split costs where results are merged, and where it is a
// join's: each tuple of the other stream then has to reach all parts.
func fig2(m *measurement) {
	const instances, keys, theta = 10, 1000, 0.08
	const tuples, merges = 1_000_000, 1000 // in an interval of 10 s, with a merge every 10 ms
	m.setting("one key of a share of %d tuples in 10 s, %d others evenly, N_D %d, θ_max %v; parts by strategy optimal; "+
		"a partial result of each part every 10 ms; the other stream of a join is as fast, with the same keys",
		tuples, keys, instances, theta)
	m.axes("share of the key", "messages more, % of the tuples")
	cheaper, whole := true, true
	for _, share := range []float64{0.05, 0.15, 0.3, 0.5, 0.8} {
		s := &planner.Statistics{Keys: planner.KeysOf("hot"), Cost: []float64{share * tuples}}
		for k := range keys {
			s.Keys.Append([]byte{byte(k), byte(k >> 8)})
			s.Cost = append(s.Cost, (1-share)*tuples/keys)
		}
		target := synthetic{token: true}.configuration(instances)
		snapshot := must(planner.NewSnapshot(s, target, planner.Base{Configuration: target}))
		plan := must(planner.Run(planner.Optimal, snapshot, planner.Options{ThetaMax: theta, Effort: planner.EffortFast,
			Certificate: planner.CertificateOff, Splitting: &planner.Splitting{}, Stop: m.stopped}))
		parts := 1.0
		for _, y := range plan.Splits {
			parts = float64(len(y.Parts))
		}
		merged, broadcast := 100*parts*merges/tuples, 100*(parts-1)*share
		m.add("parts", share, parts)
		m.unit("parts", "parts of the key")
		if parts > 1 {
			m.add("merges of an aggregate, %", share, merged)
			m.add("broadcast of a join, %", share, broadcast)
		}
		whole = whole && (parts == 1) == (share <= (1+theta)/instances)
		cheaper = cheaper && (parts == 1 || merged < broadcast)
	}
	m.claim(whole, "a key is split where no instance can carry it")
	m.claim(cheaper, "splitting a join's key costs more than splitting an aggregate's")
}

// The continuous TPC-H Q5 of §V, as three joins one after the other: orders with customers,
// line items with orders, and both with suppliers.
const (
	q5Instances = 10
	// q5Minute is a minute as a part of the 15 minutes after which the distribution changes:
	// after it a plan takes effect, and moving all state takes as long.
	q5Minute = 1.0 / 15
)

// q5 are the operators of the query for a policy, by the numbers of foreign keys.
func (m *measurement) q5(policy string, theta float64, seed uint64) (operators []synthetic) {
	strategy := strategyOf(policy)
	for i, keys := range of(m, []int{1500, 15_000, 500}, []int{150_000, 1_500_000, 10_000}) {
		s := m.synthetic(strategy, 10*seed+uint64(i))
		s.keys, s.instances, s.z, s.theta, s.fluctuation = keys, q5Instances, 0.8, theta, 1
		s.window, s.intervals = 1, 4 // an hour
		operators = append(operators, s)
	}
	return operators
}

// pipeline simulates the messages of operators one after the other, interval by interval, and
// returns the mean throughput and latency, in ms.
func (m *measurement) pipeline(operators []synthetic, policy string, messages int, seed uint64) []float64 {
	var steps [][]step // by operator and interval
	var instances []int
	for _, s := range operators {
		var own []step
		s.drive(m, func(next step) { own = append(own, next) })
		steps, instances = append(steps, own), append(instances, s.instances)
	}
	rng := rand.New(rand.NewPCG(seed, 16))
	p := queueing.New(queueing.Config{Instances: instances, Pending: assumed.pending})
	var throughput, latency []float64
	for i := range steps[0] {
		draws := make([]func() int, len(operators))
		for o := range operators {
			draws[o] = drawing(steps[o][i].costs, rng)
		}
		takesEffect := int(q5Minute * float64(messages))
		for n := range messages {
			path := make([]queueing.Visit, len(operators))
			for o := range path {
				next := steps[o][i]
				if n == takesEffect && next.plan != nil {
					p.Hold(o, next.plan.Migration.Fraction*q5Minute*float64(messages)*messageTime/float64(instances[o]))
				}
				path[o] = next.visit(draws[o](), n, n >= takesEffect, policy)
			}
			p.Send(path...)
		}
		f := p.Figures()
		throughput, latency = append(throughput, f.Throughput), append(latency, 1000*f.Mean)
	}
	check(m.ctx.Err())
	return []float64{mean(throughput), mean(latency)}
}

// visit is where the n-th message goes, of a key, before the plan takes effect or after it.
func (next step) visit(key, n int, planned bool, policy string) queueing.Visit {
	v := queueing.Visit{Instance: int(next.before[key]), Work: messageTime}
	if policy == ideal {
		v.Instance = n % next.instances
	} else if to := int(next.after[key]); planned && to != v.Instance {
		v.Instance, v.Held = to, true
	}
	return v
}

func fig16(m *measurement) {
	messages := of(m, 6_000, 500_000)
	operators := m.q5(planner.Mixed, 0, 1)
	m.setting("three joins in a row, of %d, %d and %d keys, z 0.8, %d instances each; an hour, f 1 every 15 minutes, a "+
		"plan takes effect after a minute, moving all state takes a minute; simulated queues: 1 ms for a message at each "+
		"join, %d messages under way", operators[0].keys, operators[1].keys, operators[2].keys, q5Instances, assumed.pending)
	m.axes("θ_max", "throughput, messages a second")
	thetas := of(m, []float64{0.02, 0.1, 0.3}, []float64{0.02, 0.08, 0.1, 0.2, 0.3})
	best, above := true, true
	without := slices.DeleteFunc(slices.Clone(policies), func(policy string) bool { return policy == twoOf })
	m.overTheta(without, thetas, func(policy string, theta float64) [][]float64 {
		return m.eachOf(func(seed uint64) []float64 {
			return m.pipeline(m.q5(policy, theta, seed), policy, messages, seed)
		})
	})
	for _, theta := range thetas {
		best = best && m.at(planner.Mixed, theta) >= 0.98*max(m.at(planner.Readj, theta), m.at(planner.MinTable, theta))
		above = above && m.at(planner.Mixed, theta) > 1.1*m.at(hashAlone, theta)
	}
	m.claim(above, "hashing has much less throughput than Mixed")
	m.claim(best, "Mixed has the best throughput of the paper's strategies under any θ_max, within 2 %%")
}

package planner_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"plannerd/planner"
)

// crowded are statistics of keys on instances that carry from 0.7 to 1.3 times an even share of all, and
// configurations: by cost alone, with a limit of state, and with a third resource that has a tolerance.
func crowded(keys, instances int) (*planner.Statistics, func(resources int) planner.Configuration) {
	r := rand.New(rand.NewPCG(5, 5))
	stats := &planner.Statistics{Keys: planner.NewKeys(keys), Costs: []planner.Amounts{{Name: "network"}}}
	share, state := make([]float64, instances), 0.0
	for d := range share {
		share[d] = 0.7 + 0.6*r.Float64()
	}
	for i := range keys {
		stats.Keys.Append(fmt.Appendf(nil, "k%d", i))
		stats.Cost = append(stats.Cost, 1/(0.01+r.Float64()))
		stats.State = append(stats.State, 1+10*r.ExpFloat64())
		stats.Costs[0].Rows = append(stats.Costs[0].Rows, 1/(0.001+r.Float64()))
		state += stats.State[i]
		d := r.IntN(instances)
		for r.Float64() > share[d]/1.3 {
			d = r.IntN(instances)
		}
		stats.HashInstance = append(stats.HashInstance, int32(d))
	}
	all := []planner.Resource{{Name: "memory", From: planner.FromState, Limited: true}, {Name: "network", ThetaMax: 0.1}}
	return stats, func(n int) planner.Configuration {
		target := planner.Configuration{Resources: all[:n]}
		for d := range int32(instances) {
			target.Instances = append(target.Instances, planner.Instance{
				ID: d, Capacity: 1, Capacities: []float64{1.1 * state / float64(instances), 1}[:n],
			})
		}
		return target
	}
}

// BenchmarkResources plans a million keys on 40 instances: by cost alone, with a limit of their state, and with a third
// resource. Processor time tells more than the clock does on a machine that others use.
func BenchmarkResources(b *testing.B) {
	stats, with := crowded(1_000_000, 40)
	for _, strategy := range []string{planner.Mixed, planner.Optimal} {
		for n := range 3 {
			b.Run(fmt.Sprintf("%s/resources=%d", strategy, n+1), func(b *testing.B) {
				s, err := planner.NewSnapshot(stats, with(n), planner.Base{Configuration: with(n)})
				if err != nil {
					b.Fatal(err)
				}
				start := cpuTime(b)
				for b.Loop() {
					p, err := planner.Run(strategy, s, planner.Options{ThetaMax: 0.08, Effort: planner.EffortFast})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(p.Migration.Keys), "moved")
				}
				b.ReportMetric(float64((cpuTime(b)-start).Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpuTime is how long processors have worked for this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Where state is what runs out and what moving costs, all keys are worth the same: then few large ones move.
func TestFewKeysMoveWhereStateRunsOut(t *testing.T) {
	t.Parallel()
	stats, with := crowded(20_000, 20)
	s, err := planner.NewSnapshot(stats, with(1), planner.Base{Configuration: with(1)})
	if err != nil {
		t.Fatal(err)
	}
	mixed := run(t, planner.Mixed, s, planner.Options{ThetaMax: 0.08})
	best := run(t, planner.Optimal, s, planner.Options{ThetaMax: 0.08})
	x, y := best.Migration, mixed.Migration
	if x.Keys > 4*y.Keys || x.State > 0.98*y.State || !best.Balanced {
		t.Errorf("optimal moves %+v, mixed %+v", x, y)
	}
}

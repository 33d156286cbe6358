package batches_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
	"plannerd/planner/batches"
)

// zipfPlan balances keys with Zipf costs and unrelated states that are hashed onto
// instances, some of which are new or leave.
func zipfPlan(b *testing.B, strategy string, keys, instances, added, drained int) *planner.Plan {
	b.Helper()
	r := rand.New(rand.NewPCG(1, uint64(keys)))
	s := &planner.Snapshot{Keys: planner.NewKeys(keys), HashChanged: added+drained > 0}
	n := instances + added + drained
	for d := range n {
		s.Instances = append(s.Instances, planner.Instance{ID: int32(d), Capacity: 1,
			Added: d >= n-added, Drained: d < drained})
	}
	for i, rank := range r.Perm(keys) {
		s.Keys.Append(fmt.Appendf(nil, "key:%010d", i))
		s.Cost = append(s.Cost, math.Ceil(float64(keys)*math.Pow(float64(rank+1), -0.85)))
		s.State = append(s.State, math.Ceil(1000*r.ExpFloat64()))
		h := planner.KeyHash(s.Keys.At(i))
		before := int32(h % uint64(n-added))
		after := before
		switch {
		case h>>32%uint64(n) < uint64(added):
			after = int32(n - 1 - int(h>>40%uint64(added)))
		case int(before) < drained:
			after = int32(drained + int(h>>40%uint64(n-drained)))
		}
		s.Current, s.Hash = append(s.Current, before), append(s.Hash, after)
	}
	table, _ := planner.NewRoutingTable(nil)
	s.Table = table
	p, err := planner.Run(strategy, s, planner.Options{ThetaMax: 0.05, Certificate: planner.CertificateOff})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkCut cuts plans into twenty batches or so. It reports how much longer these
// take, one after the other, than the busiest instance needs for all that it sends or
// receives.
func BenchmarkCut(b *testing.B) {
	for _, x := range []struct{ keys, instances, added, drained int }{
		{1e4, 8, 0, 0}, {1e4, 40, 0, 0}, {1e4, 8, 4, 0}, {1e4, 40, 10, 0}, {1e4, 8, 0, 2}, {1e5, 40, 0, 10},
		{1e5, 40, 0, 0}, {1e5, 128, 40, 0}, {1e6, 40, 10, 0}, {1e6, 128, 0, 40},
	} {
		for _, strategy := range []string{planner.Mixed, planner.Optimal} {
			if strategy == planner.Optimal && x.keys > 1e5 {
				continue
			}
			name := fmt.Sprintf("keys=%.0e/instances=%d+%d-%d/strategy=%s",
				float64(x.keys), x.instances, x.added, x.drained, strategy)
			b.Run(name, func(b *testing.B) {
				p := zipfPlan(b, strategy, x.keys, x.instances, x.added, x.drained)
				most := 0.0
				for _, d := range p.Instances {
					most = max(most, d.StateIn, d.StateOut)
				}
				var s *batches.Schedule
				for b.Loop() {
					s, _ = batches.Cut(p, batches.Bounds{Busiest: most / 20})
				}
				b.ReportMetric(float64(len(s.Batches)), "batches")
				b.ReportMetric(s.Busiest/s.LowerBound, "time/bound")
				b.ReportMetric(float64(p.Migration.Keys), "keys")
			})
		}
	}
}

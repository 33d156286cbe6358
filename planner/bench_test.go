package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// zipfSnapshot is the papers' default workload (Zipf z = 0.85, state of w = 1)
// in its first interval: every key is where the hash puts it.
func zipfSnapshot(keys, instances int) *planner.Snapshot {
	r := rand.New(rand.NewPCG(1, uint64(keys)))
	s := &planner.Snapshot{
		Keys: planner.NewKeys(keys), Cost: make([]float64, keys), State: make([]float64, keys),
		Current: make([]int32, keys), Hash: make([]int32, keys),
	}
	for d := range instances {
		s.Instances = append(s.Instances, planner.Instance{ID: int32(d), Capacity: 1})
	}
	top := float64(keys) // about one tuple for each key of the tail
	for i, rank := range r.Perm(keys) {
		s.Keys.Append(fmt.Appendf(nil, "key:%010d", i))
		s.Cost[i] = math.Ceil(top * math.Pow(float64(rank+1), -0.85))
		s.State[i] = 64 * s.Cost[i]
		s.Hash[i] = int32(planner.KeyHash(s.Keys.At(i)) % uint64(instances))
		s.Current[i] = s.Hash[i]
	}
	return s
}

var planSizes = []struct{ keys, instances int }{
	{1e4, 15}, {1e4, 40}, {1e5, 15}, {1e5, 40}, {1e6, 15}, {1e6, 40},
}

func BenchmarkPlan(b *testing.B) {
	limit := int64(3000)
	for _, name := range []string{
		planner.Mixed, planner.Optimal, planner.MinMig, planner.MinTable, planner.LLFD, planner.LPT,
	} {
		for _, size := range planSizes {
			b.Run(fmt.Sprintf("strategy=%s/keys=%.0e/instances=%d", name, float64(size.keys), size.instances),
				func(b *testing.B) {
					s := zipfSnapshot(size.keys, size.instances)
					var plan *planner.Plan
					b.ReportAllocs()
					for b.Loop() {
						var err error
						plan, err = planner.Run(name, s,
							planner.Options{ThetaMax: 0.08, TableLimit: &limit, Effort: planner.EffortFast})
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(100*plan.Migration.Fraction, "%moved")
					b.ReportMetric(float64(plan.TableAfter), "entries")
					b.ReportMetric(100*plan.Theta.After, "%theta")
				})
		}
	}
}

// BenchmarkMillion plans a million keys on 40 instances at effort fast, certificates included,
// where the table limit is too low for any strategy here and where it is not.
func BenchmarkMillion(b *testing.B) {
	s := zipfSnapshot(1e6, 40)
	for _, limit := range []int64{3_000, 30_000} {
		for _, name := range []string{planner.Mixed, planner.Optimal} {
			for _, level := range []planner.CertificateLevel{planner.CertificateOff, planner.CertificateFast} {
				b.Run(fmt.Sprintf("limit=%d/strategy=%s/certificate=%s", limit, name, level), func(b *testing.B) {
					var plan *planner.Plan
					for b.Loop() {
						var err error
						plan, err = planner.Run(name, s, planner.Options{
							ThetaMax: 0.08, TableLimit: &limit, Certificate: level, Effort: planner.EffortFast,
						})
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(100*plan.Migration.Fraction, "%moved")
					b.ReportMetric(float64(plan.TableAfter), "entries")
					if c := plan.Certificate; c != nil && c.Gap != nil {
						b.ReportMetric(100**c.Gap, "%gap")
					}
				})
			}
		}
	}
}

// BenchmarkCertificate tells what a fast certificate adds to a plan of mixed.
// BenchmarkSplit plans a million keys on 128 instances, 50 of which cost 1.06 to 1.42 fair
// loads each, with these split and whole.
func BenchmarkSplit(b *testing.B) {
	const hot, instances = 50, 128
	s := zipfSnapshot(1e6, instances)
	rest := 0.0
	for _, c := range s.Cost[hot:] {
		rest += c
	}
	for i := range hot { // these are 62 of 128 fair loads together
		s.Cost[i] = math.Ceil(rest / (instances - 62) * (1.06 + 0.36*float64(i)/(hot-1)))
	}
	for _, name := range []string{planner.Mixed, planner.Optimal} {
		for _, splitting := range []*planner.Splitting{nil, {}} {
			b.Run(fmt.Sprintf("strategy=%s/split=%t", name, splitting != nil), func(b *testing.B) {
				var plan *planner.Plan
				for b.Loop() {
					var err error
					plan, err = planner.Run(name, s, planner.Options{
						ThetaMax: 0.05, Effort: planner.EffortFast, Splitting: splitting,
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(100*plan.Migration.Fraction, "%moved")
				b.ReportMetric(float64(plan.Merges()), "merges")
				b.ReportMetric(plan.Theta.After, "θ")
			})
		}
	}
}

func BenchmarkCertificate(b *testing.B) {
	limit := int64(3000)
	for _, size := range planSizes {
		s := zipfSnapshot(size.keys, size.instances)
		for _, level := range []planner.CertificateLevel{planner.CertificateOff, planner.CertificateFast} {
			b.Run(fmt.Sprintf("keys=%.0e/instances=%d/certificate=%s", float64(size.keys), size.instances, level),
				func(b *testing.B) {
					for b.Loop() {
						if _, err := planner.Run(planner.Mixed, s, planner.Options{ThetaMax: 0.08, TableLimit: &limit,
							Certificate: level}); err != nil {
							b.Fatal(err)
						}
					}
				})
		}
	}
}

// BenchmarkSortFloat64s is the yardstick: the standard library sorting a million
// random numbers.
func BenchmarkSortFloat64s(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]float64, 1e6)
	for i := range in {
		in[i] = r.Float64()
	}
	x := make([]float64, len(in))
	for b.Loop() {
		copy(x, in)
		slices.Sort(x)
	}
}

// BenchmarkNewSnapshot resolves keys that carry no instance: a hash each and a
// look-up in a routing table of 50 000 entries.
func BenchmarkNewSnapshot(b *testing.B) {
	const keys = 1_000_000
	var nodes []partitioner.Instance
	for id := range int32(40) {
		nodes = append(nodes, partitioner.Instance{ID: id})
	}
	source := zipfSnapshot(keys, len(nodes))
	var entries []planner.Entry
	for i := 0; i < keys; i += 20 {
		entries = append(entries, planner.Entry{Key: source.Keys.At(i), Instance: int32(i % len(nodes))})
	}
	table, err := planner.NewRoutingTable(entries)
	if err != nil {
		b.Fatal(err)
	}
	for _, function := range []string{"ring", "modulo", "flink"} {
		b.Run(fmt.Sprintf("hash=%s/keys=1e6/entries=5e4", function), func(b *testing.B) {
			hash, err := partitioner.New(partitioner.Config{Function: function}, nodes)
			if err != nil {
				b.Fatal(err)
			}
			config := planner.Configuration{Instances: source.Instances, Hash: hash}
			stats := &planner.Statistics{Keys: source.Keys, Cost: source.Cost, State: source.State}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := planner.NewSnapshot(stats, config, planner.Base{Configuration: config, Table: table}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	s := zipfSnapshot(1e6, 2)
	stats := &planner.Statistics{Keys: s.Keys, Cost: s.Cost, State: s.State}
	for b.Loop() {
		stats.Fingerprint()
	}
}

package ranges

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"plannerd/planner"
	"plannerd/sdk/go/sketch"
)

const benchmarkKeys = 1_000_000

func benchmarkStream(b *testing.B) stream {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	s := even(0)
	s.keys.GrowUnhashed(benchmarkKeys)
	for range benchmarkKeys {
		s.keys.Append([]byte("user:" + strconv.FormatUint(1e10+rng.Uint64N(9e10), 10)))
		s.weights = append(s.weights, 1+rng.Int64N(100))
	}
	return s
}

// One operation is a million keys of 16 bytes.
func BenchmarkSketchAdd(b *testing.B) {
	s := benchmarkStream(b)
	for _, k := range []int{256, sketch.DefaultK} {
		for _, weighted := range []bool{false, true} {
			b.Run("keys=1e6/k="+strconv.Itoa(k)+"/weighted="+strconv.FormatBool(weighted), func(b *testing.B) {
				b.ReportAllocs()
				var sketch *sketch.Sketch
				for b.Loop() {
					sketch = newSketch(b, k, 1)
					for i, w := range s.weights {
						if !weighted {
							w = 1
						}
						if err := sketch.Add(s.keys.At(i), w); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(cdfOf(b, sketch).Error()*1e6, "ppm-error")
				b.ReportMetric(float64(sketch.Len()), "keys-held")
				data, _ := sketch.MarshalBinary()
				b.ReportMetric(float64(len(data)), "bytes-sent")
			})
		}
	}
}

// One operation merges the reports of 50 followers of 20 000 keys each.
func BenchmarkSketchMerge(b *testing.B) {
	s := benchmarkStream(b)
	reports := make([]*sketch.Sketch, 50)
	for f := range reports {
		reports[f] = newSketch(b, 0, uint64(f))
		for i := f; i < benchmarkKeys; i += len(reports) {
			if err := reports[f].Add(s.keys.At(i), 1); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("followers=50/keys=1e6", func(b *testing.B) {
		b.ReportAllocs()
		var leader *sketch.Sketch
		for b.Loop() {
			leader = newSketch(b, 0, 1000)
			for _, r := range reports {
				merge(b, leader, r)
			}
		}
		b.ReportMetric(cdfOf(b, leader).Error()*1e6, "ppm-error")
	})
}

func BenchmarkCDF(b *testing.B) {
	s := benchmarkStream(b)
	b.Run("exact/keys=1e6", func(b *testing.B) {
		for b.Loop() {
			s.cdf(b)
		}
	})
	sketch := newSketch(b, 0, 1)
	for i, w := range s.weights {
		if err := sketch.Add(s.keys.At(i), w); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("sketch/keys=1e6", func(b *testing.B) {
		for b.Loop() {
			cdfOf(b, sketch)
		}
	})
}

// One operation is a join in the middle.
func BenchmarkPlan(b *testing.B) {
	c := benchmarkStream(b).cdf(b)
	for _, n := range []int{10, 50, 500} {
		before := mustPlan(b, c, nil, followersOf(n), Options{}).After
		joined := append(append(followersOf(n)[:n/2:n/2], Follower{ID: int32(n), Status: Joined}), followersOf(n)[n/2:]...)
		for _, o := range []Options{{Method: Quantile}, {Method: MinMovement}, {Method: MinMovement, MaxIntervals: 1}} {
			name := "method=" + string(o.Method) + "/followers=" + strconv.Itoa(n)
			if o.MaxIntervals > 0 {
				name += "/intervals=" + strconv.Itoa(o.MaxIntervals)
			}
			b.Run(name, func(b *testing.B) {
				var p *Division
				for b.Loop() {
					p = mustPlan(b, c, before, joined, o)
				}
				b.ReportMetric(p.Moved*100, "%moved")
				b.ReportMetric(p.LowerBound*100, "%bound")
				b.ReportMetric(p.Theta.After*1e6, "ppm-theta")
			})
		}
	}
}

func BenchmarkDivideKeys(b *testing.B) {
	s := benchmarkStream(b)
	distinct := s.cdf(b)
	k := &planner.Statistics{Keys: planner.NewKeys(distinct.Len())}
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(distinct.Len()) {
		k.Keys.Append(distinct.Key(i))
		k.Cost = append(k.Cost, float64(distinct.Weight(i)))
	}
	before := mustPlan(b, distinct, nil, followersOf(40), Options{}).After
	joined := append(followersOf(40), Follower{ID: 40, Status: Joined})
	b.Run("keys=1e6/followers=40", func(b *testing.B) {
		for b.Loop() {
			if _, err := DivideKeys(k, before, joined, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

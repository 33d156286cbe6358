package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// zipfItems are the keys of one instance under Zipf's law (z = 0.85).
func zipfItems(n int, weight func(r *rand.Rand, cost float64) float64) []Item {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	items := make([]Item, n)
	for i, rank := range r.Perm(n) {
		cost := math.Ceil(float64(n) * math.Pow(float64(rank+1), -0.85))
		items[i] = Item{Cost: int64(cost) << 20, Weight: weight(r, cost), Tie: r.Uint32(), ID: int32(i)}
	}
	return items
}

// BenchmarkCover reports how far the cover is from the bound, and the time per
// item. Weights: state of one window; any ratio; state of five windows, between
// which costs change; state of one window and an overhead per key.
func BenchmarkCover(b *testing.B) {
	for _, w := range []struct {
		name   string
		weight func(r *rand.Rand, cost float64) float64
	}{
		{"proportional", func(_ *rand.Rand, cost float64) float64 { return 64 * cost }},
		{"random", func(r *rand.Rand, cost float64) float64 { return cost * (0.1 + r.Float64()) }},
		{"windows=5", func(r *rand.Rand, cost float64) float64 {
			sum := 64 * cost
			for range 4 {
				sum += 64 * math.Ceil(cost*(0.5+r.Float64()))
			}
			return sum
		}},
		{"overhead", func(_ *rand.Rand, cost float64) float64 { return 64*cost + 1000 }},
	} {
		for _, n := range []int{25_000, 1_000_000} {
			for _, percent := range []int64{1, 5, 20} {
				b.Run(fmt.Sprintf("weights=%s/items=%.0e/need=%d%%", w.name, float64(n), percent), func(b *testing.B) {
					items, total := zipfItems(n, w.weight), int64(0)
					for _, x := range items {
						total += x.Cost
					}
					scratch := make([]Item, n)
					c := newCoverer(1 << 15)
					c.Splits = 4
					var got Cover
					for b.Loop() {
						b.StopTimer()
						copy(scratch, items)
						b.StartTimer()
						got = c.Solve(scratch, total/100*percent+12345)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
					b.ReportMetric(got.Weight/got.Bound-1, "gap")
					b.ReportMetric(float64(len(got.Taken)), "taken")
				})
			}
		}
	}
}

package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"plannerd/internal/lab/streams"
	"plannerd/planner"
)

// What the generated streams have in common.
const (
	generatedKeys      = 800
	generatedIntervals = 40
	idleKeys           = 1500
)

// messages are how many an interval has: noise is a sixth with forty times as many.
var messages = []float64{5000, 200000}

// changes are what happens to the shares of keys, besides that messages are drawn by them:
// the factor of a key in an interval.
var changes = []struct {
	name   string
	factor func(g *generator, key, interval int) float64
}{
	{"noise", func(*generator, int, int) float64 { return 1 }},
	{"idle", func(*generator, int, int) float64 { return 1 }}, // and keys without cost
	{"bursts", func(g *generator, k, _ int) float64 {
		if g.burst[k] == 0 && g.Float64() < 0.002 {
			g.burst[k] = 1 + g.IntN(4)
		}
		if g.burst[k] == 0 {
			return 1
		}
		g.burst[k]--
		return 30
	}},
	{"season", func(g *generator, k, t int) float64 {
		return 1 + 0.9*math.Sin(2*math.Pi*(float64(t)/float64(g.period)+float64(k%3)/3))
	}},
	{"drift", func(g *generator, k, t int) float64 {
		return math.Exp(2 * math.Sin(2*math.Pi*(float64(t)/80+g.phase[k])))
	}},
	{"walk", func(g *generator, k, _ int) float64 {
		g.weight[k] *= math.Exp(0.15 * g.NormFloat64())
		return 1
	}},
	{"renames", func(g *generator, k, _ int) float64 {
		if g.Float64() < 0.05 {
			g.renamed[k]++
			g.weight[k] = g.zipf(g.IntN(generatedKeys))
		}
		return 1
	}},
	{"phases", func(g *generator, k, t int) float64 {
		return g.weight[(k+t/g.change*generatedKeys/3)%generatedKeys] / g.weight[k]
	}},
}

// generator makes a stream of keys whose shares follow a Zipf distribution.
type generator struct {
	*rand.Rand
	z              float64
	weight, phase  []float64 // by key
	burst, renamed []int     // by key: intervals left, and how often
	period, change int       // intervals of a season and between phases
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), burst: make([]int, generatedKeys),
		renamed: make([]int, generatedKeys)}
	g.z, g.period, g.change = 0.6+0.5*g.Float64(), 6+g.IntN(12), 10+g.IntN(6)
	for _, rank := range g.Perm(generatedKeys) {
		g.weight, g.phase = append(g.weight, g.zipf(rank)), append(g.phase, g.Float64())
	}
	return g
}

func (g *generator) zipf(rank int) float64 { return math.Pow(float64(rank+3), -g.z) }

// interval draws so many messages.
func (g *generator) interval(factor func(g *generator, key, interval int) float64, t int, n float64) (
	s *planner.Statistics,
) {
	share, all := make([]float64, generatedKeys), 0.0
	for k := range share {
		f := factor(g, k, t)
		share[k] = g.weight[k] * f
		all += share[k]
	}
	s = &planner.Statistics{Keys: planner.NewKeys(generatedKeys)}
	for k, x := range share {
		mean := n * x / all
		if cost := math.Floor(mean + float64(math.Sqrt(mean)*g.NormFloat64()) + g.Float64()); cost > 0 {
			s.Keys.Append(fmt.Appendf(nil, "key %d.%d", k, g.renamed[k]))
			s.Cost = append(s.Cost, cost)
		}
	}
	return s
}

// generated are the streams of a seed.
func generated(seed uint64) (out []streams.Stream) {
	for _, change := range changes {
		for _, n := range messages {
			out = append(out, streams.Stream{
				Name: fmt.Sprintf("%s, %g messages", change.name, n),
				Intervals: func(yield func(streams.Interval, error) bool) {
					g := newGenerator(seed)
					for t := range generatedIntervals {
						s := g.interval(change.factor, t, n)
						for i := 0; change.name == "idle" && i < idleKeys; i++ {
							s.Keys.Append(fmt.Appendf(nil, "idle %d", i))
							s.Cost = append(s.Cost, 0)
						}
						if !yield(streams.Interval{Number: int64(t), Statistics: s}, nil) {
							return
						}
					}
				},
			})
		}
	}
	return out
}

package streams

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"plannerd/internal/lab/workload"
	"plannerd/planner"
)

// Shape says how the load of keys changes with time.
type Shape string

// The shapes. Each has keys whose frequencies follow a Zipf distribution, and is
// the same in every run.
const (
	// Fluctuation: keys swap their frequencies between intervals, as in the workload
	// of mixed-routing.
	Fluctuation Shape = "fluctuation"
	// Season: three regions, whose keys have a common prefix each, are busy at
	// different times of a day of 24 intervals.
	Season Shape = "season"
	// Bursts: now and then a few keys, often rare ones, are asked for fifty times as
	// often, for up to three intervals.
	Bursts Shape = "bursts"
	// Phases: every eighth interval other keys become the frequent ones.
	Phases Shape = "phases"
	// Hot: a few keys of which the first has more load than a fair share. Its state
	// is not reported.
	Hot Shape = "hot"
)

// Shapes are all of them.
var Shapes = []Shape{Fluctuation, Season, Bursts, Phases, Hot}

// What the generated streams have in common.
const (
	generatedIntervals = 32
	sequenceIntervals  = 4  // of which a sequence has the messages
	day                = 24 // intervals
	messagesPerKey     = 8  // of an interval, in the mean
	bytesPerMessage    = 64 // of state
	windowIntervals    = 5  // whose messages leave state
)

// Generated is the stream of a shape: 32 intervals.
func Generated(shape Shape) Stream {
	return Stream{Name: "own/" + string(shape), Intervals: func(yield func(Interval, error) bool) {
		next := generators[shape]()
		for i := range int64(generatedIntervals) {
			s, err := next()
			if !yield(Interval{i, s}, err) || err != nil {
				return
			}
		}
	}}
}

// generators begin the stream of each shape and return what makes its next interval.
var generators = map[Shape]func() func() (*planner.Statistics, error){
	Fluctuation: fluctuating,
	Season: func() func() (*planner.Statistics, error) {
		regions := []string{"asia", "europe", "america"}
		return (&sampler{
			keys: 3000, z: 0.9, seed: 2,
			name: func(k int) string { return fmt.Sprintf("%s/article-%04d", regions[k%3], k/3) },
			factor: func(_ *rand.Rand, k, interval int) float64 {
				return 1 + 0.9*math.Sin(2*math.Pi*(float64(interval)/day+float64(k%3)/3))
			},
		}).next
	},
	Bursts: func() func() (*planner.Statistics, error) {
		until := map[int]int{} // the interval in which the burst of a key ends
		return (&sampler{
			keys: 2500, z: 0.7, seed: 3,
			name: func(k int) string { return fmt.Sprintf("product-%05d", 10007*k%65521) },
			factor: func(rng *rand.Rand, k, interval int) float64 {
				if rng.IntN(5000) == 0 {
					until[k] = interval + 1 + rng.IntN(3)
				}
				if interval < until[k] {
					return 50
				}
				return 1
			},
		}).next
	},
	Phases: func() func() (*planner.Statistics, error) {
		const keys = 2000
		return (&sampler{
			keys: keys, z: 1, seed: 4,
			name: func(k int) string { return fmt.Sprintf("function-%04x", 40503*k%65536) },
			rank: func(k, interval int) int { return (k + interval/8*keys/3) % keys },
		}).next
	},
	Hot: func() func() (*planner.Statistics, error) {
		return (&sampler{
			keys: 60, messages: 5000, z: 1.4, seed: 5, stateless: true,
			name: func(k int) string { return fmt.Sprintf("channel-%02d", k) },
		}).next
	},
}

// fluctuating is the workload of mixed-routing. Its swaps are between keys that a
// hash puts on different instances.
func fluctuating() func() (*planner.Statistics, error) {
	const instances = 8
	g, err := workload.New(workload.Config{
		Keys: 4000, Instances: instances, Z: workload.DefaultZ, Tuples: 4000 * messagesPerKey,
		Fluctuation: workload.DefaultFluctuation, BytesPerTuple: bytesPerMessage, Seed: 1,
	})
	if err != nil {
		return func() (*planner.Statistics, error) { return nil, err }
	}
	current := make([]int32, g.Keys().Len())
	for k := range current {
		current[k] = int32(g.Keys().Hash(k) % instances)
	}
	return func() (*planner.Statistics, error) { return g.Next(current) }
}

// sampler draws the messages of intervals.
type sampler struct {
	keys      int
	messages  int     // of an interval, in the mean. Defaults to messagesPerKey times keys
	z         float64 // exponent of the Zipf distribution
	seed      uint64
	stateless bool // the state is not reported
	name      func(k int) string
	// rank is that of a key in the Zipf distribution, from 0. Nil: its number.
	rank func(k, interval int) int
	// factor multiplies the frequency of a key. Nil: 1. It is asked for every key of
	// every interval in order.
	factor func(rng *rand.Rand, k, interval int) float64

	rng      *rand.Rand
	interval int
	recent   [][windowIntervals]float64 // of each key, the messages of the last intervals
}

// next draws an interval: how many messages each key has is Poisson's distribution,
// approximately. Keys without a message have no row.
func (s *sampler) next() (*planner.Statistics, error) {
	if s.rng == nil {
		s.rng, s.recent = rand.New(rand.NewPCG(s.seed, 0)), make([][windowIntervals]float64, s.keys)
		s.messages = cmp.Or(s.messages, messagesPerKey*s.keys)
	}
	harmonic := 0.0
	for r := range s.keys {
		harmonic += math.Pow(float64(r+1), -s.z)
	}
	out := &planner.Statistics{Keys: planner.NewKeys(s.keys)}
	for k := range s.keys {
		rank, factor := k, 1.0
		if s.rank != nil {
			rank = s.rank(k, s.interval)
		}
		if s.factor != nil {
			factor = s.factor(s.rng, k, s.interval)
		}
		mean := factor * float64(s.messages) * math.Pow(float64(rank+1), -s.z) / harmonic
		messages := max(0, math.Floor(mean+math.Sqrt(mean)*s.rng.NormFloat64()+s.rng.Float64()))
		s.recent[k][s.interval%windowIntervals] = messages
		if messages == 0 {
			continue
		}
		out.Keys.Append([]byte(s.name(k)))
		out.Cost = append(out.Cost, messages)
		if !s.stateless {
			state := 0.0
			for _, m := range s.recent[k] {
				state += m * bytesPerMessage
			}
			out.State = append(out.State, state)
		}
	}
	s.interval++
	return out, nil
}

// shuffled is the sequence of the messages of a stream's first intervals. Those of an
// interval are in an order by chance.
func shuffled(s Stream) Sequence {
	return sequence(s.Name, func(message func(key []byte)) error {
		rng := rand.New(rand.NewPCG(1, 0))
		for in, err := range s.Intervals {
			if err != nil {
				return err
			}
			if in.Number == sequenceIntervals {
				break
			}
			var rows []int
			for i, cost := range in.Cost {
				for range int(cost) {
					rows = append(rows, i)
				}
			}
			rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			for _, i := range rows {
				message(in.Keys.At(i))
			}
		}
		return nil
	})
}

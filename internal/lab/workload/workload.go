// Package workload generates the synthetic workloads of the papers: keys whose
// frequencies follow a Zipf or a log-normal distribution, and which fluctuate
// from one interval to the next (mixed-routing §V; partial-key-grouping §6.1).
//
// The frequencies of an interval are the expected ones, rounded to whole tuples,
// not a sample: the intervals differ by the fluctuation that was asked for and
// by nothing else. A key's cost is its frequency, its state what its tuples of
// the last intervals have left.
package workload

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"plannerd/planner"
)

// ErrUnreachable is returned when no exchange of frequencies would change the
// load of any instance as much as Config.Fluctuation demands.
var ErrUnreachable = errors.New("workload: no swap of frequencies reaches the fluctuation under this assignment")

// Generator yields one interval after the other. It is not safe for concurrent use.
type Generator struct {
	config    Config
	rng       *rand.Rand
	keys      *planner.Keys
	frequency []uint32   // of each key in the newest interval, in tuples
	history   [][]uint32 // the frequencies of interval i at index i mod w
	window    []int64    // of each key, in the last w intervals together
	lowest    []int64    // lowest[n] is the sum of the n smallest frequencies
	interval  int        // intervals yielded
	swaps     []swap     // those between the newest interval and the one before
}

// New returns a generator. The error is a [planner.InputError].
func New(c Config) (*Generator, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	frequency, err := expected(c)
	if err != nil {
		return nil, err
	}
	g := &Generator{
		config:    c,
		rng:       rand.New(rand.NewPCG(c.Seed, 0)),
		keys:      names(c.Keys),
		frequency: frequency,
		history:   make([][]uint32, c.Window),
		window:    make([]int64, c.Keys),
		lowest:    prefixSums(frequency),
	}
	g.rng.Shuffle(c.Keys, func(i, j int) { frequency[i], frequency[j] = frequency[j], frequency[i] })
	return g, nil
}

// names returns the keys k0, k1, …, with as many digits as the last one needs.
func names(n int) *planner.Keys {
	keys := planner.NewKeys(n)
	digits := len(strconv.Itoa(n - 1))
	name := make([]byte, 1+digits)
	name[0] = 'k'
	for i := range n {
		for p, rest := digits, i; p > 0; p, rest = p-1, rest/10 {
			name[p] = '0' + byte(rest%10)
		}
		keys.Append(name)
	}
	return keys
}

// prefixSums returns the sums of the 0, 1, …, K smallest frequencies.
func prefixSums(frequency []uint32) []int64 {
	ascending := slices.Clone(frequency)
	slices.Sort(ascending)
	sums := make([]int64, len(ascending)+1)
	for i, f := range ascending {
		sums[i+1] = sums[i] + int64(f)
	}
	return sums
}

// Keys returns the keys, which are the same in every interval. The list is
// shared: it must not be changed.
func (g *Generator) Keys() *planner.Keys { return g.keys }

// Next returns the statistics of the next interval: a row for each of [Generator.Keys],
// in their order, idle ones too, with Cost in tuples and State in bytes, and no
// instances. The slices but Keys are the caller's.
//
// current says on which instance, 0…Instances−1, each key is at the beginning
// of the interval, that is, after the previous one was planned. It is not read
// for the first interval, nor without fluctuation, and may then be nil.
//
// The error is a [planner.InputError], or [ErrUnreachable]; no interval is used
// up then, so that another assignment may be tried.
func (g *Generator) Next(current []int32) (*planner.Statistics, error) {
	g.swaps = g.swaps[:0]
	if g.interval > 0 && g.config.Fluctuation > 0 {
		if err := g.fluctuate(current); err != nil {
			return nil, err
		}
	}
	g.remember()
	s := &planner.Statistics{
		Keys:  g.keys,
		Cost:  make([]float64, g.config.Keys),
		State: make([]float64, g.config.Keys),
	}
	for k, f := range g.frequency {
		s.Cost[k] = float64(f)
		s.State[k] = float64(g.window[k]) * g.config.BytesPerTuple
	}
	return s, nil
}

// remember moves the window on by one interval.
func (g *Generator) remember() {
	slot := g.interval % g.config.Window
	for k, f := range g.history[slot] {
		g.window[k] -= int64(f)
	}
	for k, f := range g.frequency {
		g.window[k] += int64(f)
	}
	g.history[slot] = append(g.history[slot][:0], g.frequency...)
	g.interval++
}

// Swaps returns how many pairs of keys exchanged their frequencies at the
// beginning of the newest interval.
func (g *Generator) Swaps() int { return len(g.swaps) }

// Assign returns where h puts each key, in the form that [Generator.Next] takes. The
// instances of h must have the ids 0…Instances−1.
func (g *Generator) Assign(h planner.HashFunction) ([]int32, error) {
	current := make([]int32, g.config.Keys)
	for k := range current {
		id, err := h.Instance(g.keys.At(k), g.keys.Hash(k))
		if err != nil {
			return nil, planner.InvalidRow(k, "key", err.Error())
		}
		current[k] = id
	}
	return current, nil
}

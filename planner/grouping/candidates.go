package grouping

import (
	"github.com/twmb/murmur3"

	"plannerd/planner"
)

// candidates holds the distinct candidates of each key in the order of their
// numbers. A candidate that coincides with an earlier one is left out: it could
// not be strictly less loaded.
type candidates struct {
	start   []uint32 // of each key's row in workers, and the end of the last
	workers []int32
}

// row returns the candidates of a key. An empty row means all workers.
func (c *candidates) row(k int32) []int32 { return c.workers[c.start[k]:c.start[k+1]] }

// newCandidates lists the first choices(k) candidates of every key that has
// messages; choices 0 gives an empty row. A run that is to stop gets no more of them.
func newCandidates(s *Stream, o *Options, choices func(k int) int) candidates {
	n := s.keys.Len()
	c := candidates{start: make([]uint32, n+1), workers: make([]int32, 0, min(o.Choices, 2)*s.distinct)}
	h := newHasher(o)
	stopped := false
	for k := range n {
		stopped = stopped || k%askKeys == 0 && o.stopped()
		if s.counts[k] > 0 && !stopped {
			c.workers = h.append(c.workers, s.keys.At(k), choices(k))
		}
		c.start[k+1] = uint32(len(c.workers))
	}
	return c
}

// askKeys is the number of keys between two calls of Stop.
const askKeys = 64

// hasher computes candidates.
type hasher struct {
	seed     uint32
	distinct bool
	seen     []uint32 // by worker, the last row that it is in
	rows     uint32
}

func newHasher(o *Options) *hasher {
	return &hasher{seed: o.HashSeed, distinct: o.Distinct, seen: make([]uint32, o.Workers)}
}

// append appends the first d candidates of a key but for those that coincide
// with an earlier one.
func (h *hasher) append(row []int32, key []byte, d int) []int32 {
	w := uint64(len(h.seen))
	if h.rows++; h.rows == 0 {
		clear(h.seen)
		h.rows = 1
	}
	for j := range d {
		c := candidate(key, h.seed+uint32(j)) % w
		for h.distinct && h.seen[c] == h.rows {
			c = (c + 1) % w
		}
		if h.seen[c] != h.rows {
			h.seen[c] = h.rows
			row = append(row, int32(c))
		}
	}
	return row
}

func candidate(key []byte, seed uint32) uint64 {
	if seed == 0 {
		return planner.KeyHash(key)
	}
	return murmur3.SeedSum64(uint64(seed), key)
}

package main

import (
	"math/rand/v2"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// zones are rules that spread keys over groups, each of which may be on some of the instances
// alone, drawn by seed: about two thirds of them. They are the hash function that keeps to them, too.
type zones struct {
	open   [][]int32
	hashes []planner.HashFunction
}

// drawZones draws rules for so many groups of keys.
func drawZones(groups int, seed uint64, nodes []partitioner.Instance) (z zones, err error) {
	r := rand.New(rand.NewPCG(seed, uint64(groups)))
	for range groups {
		must := r.IntN(len(nodes))
		var on []partitioner.Instance
		var ids []int32
		for i, d := range nodes {
			if i == must || r.IntN(3) > 0 {
				on, ids = append(on, d), append(ids, d.ID)
			}
		}
		hash, err := partitioner.New(partitioner.Config{}, on)
		if err != nil {
			return z, err
		}
		z.open, z.hashes = append(z.open, ids), append(z.hashes, hash)
	}
	return z, nil
}

// Instance implements [planner.HashFunction].
func (z zones) Instance(key []byte, hash uint64) (int32, error) {
	return z.hashes[z.Rule(key, hash)].Instance(key, hash)
}

// Rule implements [planner.Placement], as do the methods below.
func (z zones) Rule(_ []byte, hash uint64) int { return int(hash % uint64(len(z.open))) }
func (z zones) Eligible(rule int) []int32      { return z.open[max(rule, 0)] }
func (z zones) Stays(int) bool                 { return false }
func (z zones) Len() int                       { return len(z.open) }
func (z zones) Name(int) string                { return "" }
func (z zones) Without(int) planner.Placement  { return nil }

package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// stream is an engine's operator, seen from its statistics: keys that drift, and
// where they are.
type stream struct {
	generator *workload.Generator
	keys      *planner.Keys
	order     []int   // of the rows
	hashed    []int32 // where the hash puts each key
	at        []int32 // where each key is
}

// newStream makes a stream over instances 0…instances−1 and their default hash.
// fluctuation is that of [workload.Config].
func newStream(keys, instances int, fluctuation float64, seed uint64) (*stream, error) {
	generator, err := workload.New(workload.Config{
		Keys: keys, Instances: instances, Z: workload.DefaultZ, Fluctuation: fluctuation, Seed: seed,
	})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stream{generator: generator, keys: names(keys, r), order: r.Perm(keys)}
	if s.hashed, err = placed(s.keys, instances, partitioner.Ring); err != nil {
		return nil, err
	}
	s.at = append([]int32(nil), s.hashed...)
	return s, nil
}

// names are n keys of 12 to 16 bytes.
func names(n int, r *rand.Rand) *planner.Keys {
	keys := planner.NewKeys(n)
	var name []byte
	for i := range n {
		name = fmt.Appendf(name[:0], "user:%07d%s", i, "abcd"[:r.IntN(5)])
		keys.Append(name)
	}
	return keys
}

// number is the number of one of names.
func number(key string) (int, error) {
	if len(key) < 12 {
		return 0, fmt.Errorf("key %q was never posted", key)
	}
	return strconv.Atoi(key[5:12])
}

// placed says where a hash function puts each key.
func placed(keys *planner.Keys, instances int, function string) ([]int32, error) {
	on := make([]partitioner.Instance, instances)
	for i := range on {
		on[i].ID = int32(i)
	}
	hash, err := partitioner.New(partitioner.Config{Function: function}, on)
	if err != nil {
		return nil, err
	}
	at := make([]int32, keys.Len())
	for i := range at {
		if at[i], err = hash.Instance(keys.At(i), keys.Hash(i)); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// next yields the statistics of the next interval. located: each row says where its
// key is.
func (s *stream) next(located bool) (*planner.Statistics, error) {
	all, err := s.generator.Next(s.at)
	if err != nil {
		return nil, err
	}
	return s.report(all, located), nil
}

// report puts rows in the order of the report and leaves out those without cost and
// state.
func (s *stream) report(all *planner.Statistics, located bool) *planner.Statistics {
	rows := &planner.Statistics{Keys: planner.NewKeys(all.Len())}
	for _, i := range s.order {
		if all.Cost[i] == 0 && all.State[i] == 0 {
			continue
		}
		rows.Keys.Append(s.keys.At(i))
		rows.Cost, rows.State = append(rows.Cost, all.Cost[i]), append(rows.State, all.State[i])
		if located {
			rows.Instance = append(rows.Instance, s.at[i])
		}
	}
	return rows
}

// apply moves the keys to where a plan puts them.
func (s *stream) apply(p *plan) error {
	for _, e := range p.RoutingTable.Set {
		i, err := number(e.Key)
		if err != nil || i >= len(s.at) {
			return fmt.Errorf("key %q was never posted", e.Key)
		}
		s.at[i] = e.Instance
	}
	for _, key := range p.RoutingTable.Unset {
		i, err := number(key)
		if err != nil || i >= len(s.at) {
			return fmt.Errorf("key %q was never posted", key)
		}
		s.at[i] = s.hashed[i]
	}
	return nil
}

// columnBytes is what the decoded columns of the rows take: the bytes of the
// keys, and for each row 8 bytes to find its key, 8 of its hash, 8 of cost, 8 of
// state and 4 of instance.
func columnBytes(r *planner.Statistics) (total int64) {
	for i := range r.Len() {
		total += int64(len(r.Keys.At(i))) + 8 + 8 + 8 + 8 + 4
	}
	return total
}

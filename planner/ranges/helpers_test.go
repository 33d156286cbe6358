package ranges

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/internal/lab/streams"
	"plannerd/planner"
)

// stream is the keys of a file with their weights, by their bytes.
type stream struct {
	name    string
	keys    *planner.Keys
	weights []int64
}

// summed are the key streams whose keys have an order that means something: paths,
// regions and, where they are recorded beside the project, names and URLs. Their
// weights are summed over all intervals.
func summed(t testing.TB) (out []stream) {
	t.Helper()
	all, err := streams.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		switch s.Name {
		case "own/history", "own/season", "baby_names/intervals", "nasa_day/intervals", "git_history/intervals":
			sum, err := s.Sum()
			if err != nil {
				t.Fatal(err)
			}
			weights := make([]int64, sum.Len())
			for i, cost := range sum.Cost {
				weights[i] = int64(cost)
			}
			out = append(out, stream{s.Name, sum.Keys, weights})
		}
	}
	return out
}

func streamOf(name string, weights map[string]int64) stream {
	s := stream{name: name, keys: planner.NewKeys(len(weights))}
	for _, key := range slices.Sorted(maps.Keys(weights)) {
		s.keys.Append([]byte(key))
		s.weights = append(s.weights, weights[key])
	}
	return s
}

func (s stream) cdf(t testing.TB) *CDF {
	t.Helper()
	c, err := NewCDF(s.keys, s.weights)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// even is n keys that weigh 1 each.
func even(n int) stream {
	s := stream{name: "even", keys: planner.NewKeys(n), weights: slices.Repeat([]int64{1}, n)}
	for i := range n {
		s.keys.Append(binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	return s
}

// naiveRank adds up the weights of all keys below one.
func (s stream) naiveRank(key []byte) (sum int64) {
	for i, w := range s.weights {
		if bytes.Compare(s.keys.At(i), key) < 0 {
			sum += w
		}
	}
	return sum
}

func (s stream) total() (sum int64) {
	for _, w := range s.weights {
		sum += w
	}
	return sum
}

// permuted is the same stream with its rows in another order.
func (s stream) permuted(rng *rand.Rand) stream {
	p := stream{name: s.name, keys: planner.NewKeys(s.keys.Len())}
	for _, i := range rng.Perm(s.keys.Len()) {
		p.keys.Append(s.keys.At(i))
		p.weights = append(p.weights, s.weights[i])
	}
	return p
}

func followersOf(n int) []Follower {
	f := make([]Follower, n)
	for i := range f {
		f[i].ID = int32(i)
	}
	return f
}

func mustPlan(t testing.TB, c *CDF, owners Owners, f []Follower, o Options) *Division {
	t.Helper()
	p, err := Divide(c, owners, f, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

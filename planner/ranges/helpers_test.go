package ranges

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"plannerd/planner"
)

// stream is the keys of a file with their weights, by their bytes.
type stream struct {
	name    string
	keys    *planner.Keys
	weights []int64
}

// realStreams are names, URLs and paths, summed over all intervals. Without them
// it skips the test.
func realStreams(t testing.TB) []stream {
	t.Helper()
	all, err := readStreams()
	switch {
	case errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "true":
		t.Fatal("the real key streams are not there: they are expected in ../shared/data beside the project")
	case errors.Is(err, fs.ErrNotExist):
		t.Skip("the real key streams are not there: they are expected in ../shared/data beside the project")
	case err != nil:
		t.Fatal(err)
	}
	return all
}

var readStreams = sync.OnceValues(func() (all []stream, err error) {
	for _, name := range []string{"baby_names/intervals", "nasa_day/intervals", "git_history/intervals"} {
		s, err := readStream(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

func readStream(name string) (stream, error) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", filepath.FromSlash(name)+".csv.gz"))
	if err != nil {
		return stream{}, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return stream{}, err
	}
	r := csv.NewReader(z)
	r.LazyQuotes = true
	r.ReuseRecord = true
	weights := map[string]int64{}
	for line := 0; ; line++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return streamOf(name, weights), nil
		}
		if err != nil {
			return stream{}, err
		}
		if line == 0 { // the header
			continue
		}
		w, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			return stream{}, err
		}
		weights[row[1]] += w
	}
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
	p, err := Plan(c, owners, f, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

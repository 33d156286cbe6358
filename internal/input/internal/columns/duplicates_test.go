package columns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// TestDuplicates compares with a map, for few and many twins and for keys whose
// hashes share what the sieve looks at first.
func TestDuplicates(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 2, 3, 100, 20_000} {
		for _, kinds := range []int{1, 10, n/2 + 1, 100*n + 1} {
			keys := planner.NewKeys(n)
			first := map[string]int{}
			var want []duplicate
			for i := range n {
				k := strconv.Itoa(r.IntN(kinds))
				if e, ok := first[k]; ok {
					want = append(want, duplicate{later: i, earlier: e})
				} else {
					first[k] = i
				}
				keys.Append([]byte(k))
			}
			want = want[:min(len(want), problem.Most)] // more are never told
			if got := duplicates(keys, nil); !slices.Equal(got, want) {
				t.Fatalf("%d keys of %d: %d duplicates, want %d", n, kinds, len(got), len(want))
			}
		}
	}
}

func BenchmarkDuplicates(b *testing.B) {
	const n = 1e6
	keys := planner.NewKeys(n)
	for i := range int(n) {
		keys.Append(fmt.Appendf(nil, "user:%07d", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if d := duplicates(keys, nil); d != nil {
			b.Fatal(d)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
}

package grouping

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/sdk/go/route"
)

// TestRoutersHaveTheSameCandidates: the SDK works out the candidates that layouts have.
func TestRoutersHaveTheSameCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		l := Layout{Workers: 1 + rng.IntN(9), Choices: 1 + rng.IntN(6)}
		key := fmt.Appendf(nil, "key-%d", rng.IntN(1000))
		instances := make([]int32, l.Workers)
		for i := range instances {
			instances[i] = int32(3 * i)
		}
		var want []int32
		for _, worker := range l.Candidates().Append(nil, key) {
			want = append(want, instances[worker])
		}
		if got := route.Candidates(nil, key, instances, l.Choices); !slices.Equal(got, want) {
			t.Fatalf("%q on %d workers with %d choices: %v, want %v", key, l.Workers, l.Choices, got, want)
		}
	}
}

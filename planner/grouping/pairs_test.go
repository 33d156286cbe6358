package grouping

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The two sets agree: their figures are checked against a recount elsewhere, but
// there all is small enough for bitmaps.
func TestPairTableAgreesWithBitmaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const keys, workers = 20_000, 130
	o := &Options{Workers: workers, AggregationPeriod: 7000}
	s := &Stream{keys: numbered(keys), messages: 200_000}
	table, bitmaps := newPairTable(workers), newPairs(s, o).(*bitmaps)
	if _, ok := newPairs(s, &Options{Workers: 1 << 16}).(*pairTable); !ok {
		t.Error("bitmaps of 164 MB")
	}
	block := make([]int32, 1000)
	to := make([]int32, len(block))
	for round := range 200 {
		for i := range block {
			block[i], to[i] = rng.Int32N(rng.Int32N(keys)+1), rng.Int32N(workers)
		}
		table.add(block, to)
		bitmaps.add(block, to)
		if round%7 == 6 {
			if a, b := table.endPeriod(), bitmaps.endPeriod(); a != b {
				t.Fatalf("round %d: %d pairs in the period, bitmaps have %d", round, a, b)
			}
		}
	}
	a, byA := table.held()
	b, byB := bitmaps.held()
	if a != b || !slices.Equal(byA, byB) || a < 100_000 {
		t.Errorf("%d pairs, bitmaps have %d", a, b)
	}
}

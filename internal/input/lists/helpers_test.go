package lists

import (
	"iter"
	"math/rand/v2"
	"plannerd/compact"
)

func listOf[R Record](s iter.Seq[R]) Records[R] { return Records[R](s) }

// recordsOf makes n records as they come of keys on 40 instances: few costs and
// states, of which some are no integers, and counts that fall with the cost. d′
// is d.
func recordsOf(n int) []compact.Record {
	r := rand.New(rand.NewPCG(9, 10))
	records := make([]compact.Record, n)
	for i := range records {
		at := int32(r.IntN(40))
		records[i] = compact.Record{
			Planned: at, Current: at, Hash: int32(r.IntN(40)),
			Cost: float64(r.IntN(1<<12)) / 4, State: float64(r.IntN(1 << 16)), Count: 1 + int64(1e6/(1+r.IntN(1e6))),
		}
	}
	return records
}

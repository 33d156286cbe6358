package stored

import (
	"math"

	"plannerd/compact"
	"plannerd/planner"
)

// planOf moves every so-manieth key of s to the next of 40 instances, n in all.
func planOf(s *planner.Statistics, n int) *planner.Plan {
	snapshot := &planner.Snapshot{Keys: s.Keys, Cost: s.Cost, State: s.State}
	for i := range 40 {
		snapshot.Instances = append(snapshot.Instances, planner.Instance{ID: int32(3 * i), Capacity: 1})
	}
	p := &planner.Plan{Snapshot: snapshot}
	for i := range n {
		item := i * (s.Len() / n)
		p.Moves = append(p.Moves, planner.Move{
			Item: int32(item), From: s.Instance[item], To: (s.Instance[item] + 1) % 40, Count: 1,
			Reason: planner.Reason(i % 6),
		})
	}
	return p
}

func encodeInput(s *planner.Statistics) []byte {
	return EncodeInputUntil(s, nil, func() bool { return false })
}

func sameRecord(a, b compact.Record) bool {
	return a.Planned == b.Planned && a.Current == b.Current && a.Hash == b.Hash && a.Count == b.Count &&
		math.Float64bits(a.Cost) == math.Float64bits(b.Cost) && math.Float64bits(a.State) == math.Float64bits(b.State)
}

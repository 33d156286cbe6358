package demo

import (
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// asRequest has the statistics of an interval planned.
func asRequest(number int64, s *planner.Statistics) wire.PlanRequest {
	columns := &wire.Columns{Key: make([]string, s.Len()), Cost: &s.Cost}
	if s.State != nil {
		columns.State = &s.State
	}
	for i := range columns.Key {
		columns.Key[i] = string(s.Keys.At(i))
	}
	return wire.PlanRequest{Interval: number, Columns: columns}
}

// first makes requests of the first n intervals of a stream.
func first(s streams.Stream, n int) ([]wire.PlanRequest, error) {
	intervals, err := s.First(n)
	out := make([]wire.PlanRequest, len(intervals))
	for i, in := range intervals {
		out[i] = asRequest(in.Number, in.Statistics)
	}
	return out, err
}

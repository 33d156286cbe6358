package demo

import (
	"plannerd/internal/streams"
	"plannerd/planner"
)

// interval is the body of a request with the statistics of one.
type interval struct {
	Interval int64   `json:"interval"`
	Columns  columns `json:"columns"`
}

type columns struct {
	Key   []string  `json:"key"`
	Cost  []float64 `json:"cost"`
	State []float64 `json:"state,omitempty"`
}

// asInterval makes a body of statistics.
func asInterval(number int64, s *planner.Statistics) *interval {
	in := &interval{Interval: number, Columns: columns{Key: make([]string, s.Len()), Cost: s.Cost, State: s.State}}
	for i := range in.Columns.Key {
		in.Columns.Key[i] = string(s.Keys.At(i))
	}
	return in
}

// first makes bodies of the first n intervals of a stream.
func first(s streams.Stream, n int) ([]*interval, error) {
	intervals, err := s.First(n)
	out := make([]*interval, len(intervals))
	for i, in := range intervals {
		out[i] = asInterval(in.Number, in.Statistics)
	}
	return out, err
}

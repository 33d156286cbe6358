package e2e

import (
	"math"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/streams"
)

// row is one key of one interval.
type row struct {
	key         string
	cost, state float64
}

// interval is one interval of a stream.
type interval struct {
	number int64
	rows   []row
}

// stream is the first intervals of a key stream.
type stream struct {
	name      string // fit for an operator
	intervals []interval
}

// allStreams has the first intervals of all streams, the own ones and those recorded
// beside the project: four of each, six in a deep run, or three where there are many rows. When all
// is driven they are whole; in short there are three of each stream with few rows.
func allStreams(t *testing.T) (all []stream) {
	t.Helper()
	sources, err := streams.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		n := deep.Count(someIntervals, 6)
		switch {
		case whole:
			n = math.MaxInt
		case testing.Short():
			n = fewIntervals
		}
		intervals, err := source.First(n)
		if err != nil {
			t.Fatal(err)
		}
		if testing.Short() && intervals[0].Len() > shortRows {
			continue
		}
		if !whole && intervals[0].Len() > largeRows {
			intervals = intervals[:fewIntervals]
		}
		s := stream{name: strings.ReplaceAll(source.Name, "/", "-")}
		for _, in := range intervals {
			s.intervals = append(s.intervals, rowsOf(in))
		}
		all = append(all, s)
	}
	return all
}

// rowsOf makes rows of the statistics. Where none is told, each key has state 1.
func rowsOf(in streams.Interval) interval {
	out := interval{in.Number, make([]row, in.Len())}
	for i := range out.rows {
		out.rows[i] = row{string(in.Keys.At(i)), in.Cost[i], 1}
		if in.State != nil {
			out.rows[i].state = in.State[i]
		}
	}
	return out
}

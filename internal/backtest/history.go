// Package backtest runs policies over recorded intervals, exactly as a service would
// have: what a plan is made of is over when the plan takes effect, in the next interval.
//
// What comes of it are realised figures: those of loads that came, not of loads that
// were planned on. A policy that was chosen for its figures on some intervals is judged
// on others.
package backtest

import (
	"plannerd/internal/drive"
	"plannerd/planner"
)

// History is the intervals to run over, in their order.
type History struct {
	*drive.Window
	intervals []interval
}

// What runs over a history take in bytes; by BenchmarkMemory of this package, rounded up.
const (
	// runBytes is for a row of the longest interval, in each run at the same time.
	runBytes = 240
	// resourceBytes is for what it takes of a resource besides, as it was and as it is forecast.
	resourceBytes = 64
	// hindsightBytes is for a row of any interval, bracketBytes for one in each search for
	// a bracket at the same time.
	hindsightBytes = 32
	bracketBytes   = 104
)

// SearchBytes is what [Search] takes besides, on so many processors. With a table limit each
// key counts in every interval, as it may under rules. There are so many resources beside cost.
func (h *History) SearchBytes(processors int, limited bool, resources int) int64 {
	most, rows := 0, 0
	for _, in := range h.intervals {
		most, rows = max(most, in.stats.Len()), rows+in.stats.Len()
	}
	steps := rows
	if limited {
		steps = max(rows, h.Keys()*len(h.intervals))
	}
	each := int64(most)*int64(runBytes+resources*resourceBytes) + int64(steps)*bracketBytes
	return int64(rows)*hindsightBytes + int64(processors)*each
}

type interval struct {
	number int64
	stats  *planner.Statistics
	silent bool // of some instance nothing is known
}

// NewHistory returns a history without intervals. A key keeps its state for so many
// intervals after the last one that named it, as in a [drive.Window].
func NewHistory(window int) *History { return &History{Window: drive.NewWindow(window)} }

// Len is the number of intervals.
func (h *History) Len() int { return len(h.intervals) }

// Rows is the number of rows of all intervals together.
func (h *History) Rows() (n int) {
	for _, in := range h.intervals {
		n += in.stats.Len()
	}
	return n
}

// Number is that of an interval, as Add was told.
func (h *History) Number(i int) int64 { return h.intervals[i].number }

// Add appends the next interval.
func (h *History) Add(number int64, stats *planner.Statistics) error {
	whole, err := h.Window.Add(stats)
	if err != nil {
		return err
	}
	h.intervals = append(h.intervals, interval{number: number, stats: whole, silent: len(stats.Frozen) > 0})
	return nil
}

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

// runBytes is what a run over a history takes for a row of the longest interval; by
// BenchmarkMemory of this package, rounded up.
const runBytes = 240

// SearchBytes is what [Search] takes besides, on so many processors.
func (h *History) SearchBytes(processors int) int64 {
	most := 0
	for _, in := range h.intervals {
		most = max(most, in.stats.Len())
	}
	return int64(processors) * int64(most) * runBytes
}

type interval struct {
	number int64
	stats  *planner.Statistics
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
	h.intervals = append(h.intervals, interval{number: number, stats: whole})
	return nil
}

package main

import (
	"fmt"
	"io"
	"time"

	"plannerd/internal/lab/measure"
)

// progress tells on standard error how far the run is.
type progress struct {
	w           io.Writer
	start, last time.Time
	n, total    int
}

func newProgress(w io.Writer, total int) *progress {
	now := time.Now()
	return &progress{w: w, start: now, last: now, total: total}
}

// done reports a finished setting.
func (p *progress) done(name string, cases int) {
	now := time.Now()
	p.n++
	fmt.Fprintf(p.w, "[%d/%d] %s: %d cases in %.1f s, %s in all\n",
		p.n, p.total, name, cases, now.Sub(p.last).Seconds(), now.Sub(p.start).Round(time.Second))
	p.last = now
}

// sortTime is the median time of n sorts of a million random numbers.
func sortTime(n int) time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = measure.SortTime()
	}
	return measure.Quantile(times, 0.5)
}

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
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

// sortedFloats is how many numbers the yardstick sorts.
const sortedFloats = 1_000_000

// sortTime is the median time of n sorts of a million random numbers.
func sortTime(n int) time.Duration {
	rng := rand.New(rand.NewPCG(1, 0))
	x := make([]float64, sortedFloats)
	times := make([]float64, n)
	for i := range times {
		for j := range x {
			x[j] = rng.Float64()
		}
		start := time.Now()
		slices.Sort(x)
		times[i] = time.Since(start).Seconds()
	}
	return time.Duration(percentile(times, 50) * float64(time.Second))
}

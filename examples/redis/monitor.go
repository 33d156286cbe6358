package main

import (
	"context"
	"fmt"
	"log"
	"time"
)

// monitor prints a line each second.
type monitor struct {
	job                      *job
	begin, last              time.Time
	lines                    int
	works                    []float64
	slots, keys, bytes, errs int64
}

func newMonitor(ctx context.Context, j *job) (*monitor, error) {
	works, err := j.cluster.works(ctx)
	return &monitor{job: j, begin: time.Now(), last: time.Now(), works: works}, err
}

// watch prints for a time, and returns how much more than the mean the busiest node did in it.
func (j *job) watch(ctx context.Context, during time.Duration) (float64, error) {
	before, err := j.cluster.works(ctx)
	if err != nil {
		return 0, err
	}
	end := time.Now().Add(during)
	for left := during; left > 0; left = time.Until(end) {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(min(left, time.Second)):
		}
		if err := j.monitor.print(ctx); err != nil {
			return 0, err
		}
	}
	return balance(before, j.monitor.works), nil
}

// print prints what was done since the last one.
func (m *monitor) print(ctx context.Context) error {
	works, err := m.job.cluster.works(ctx)
	if err != nil {
		return err
	}
	if m.lines%20 == 0 {
		fmt.Fprintf(log.Writer(), "%6s %10s %9s %6s %6s %7s %9s %9s %7s\n", "s", "commands/s", "max/mean", "plans", "slots",
			"keys", "kB", "last took", "errors")
	}
	m.lines++
	h := &m.job.history
	slots, keys, bytes, errs := h.slots.Load(), h.keys.Load(), h.bytes.Load(), int64(m.job.load.errs.Load())
	fmt.Fprintf(log.Writer(), "%6.0f %10.0f %9.3f %6d %6d %7d %9.1f %9.1f %7d\n",
		time.Since(m.begin).Seconds(), sum(m.works, works)/time.Since(m.last).Seconds(), balance(m.works, works),
		h.plans.Load(), slots-m.slots, keys-m.keys, float64(bytes-m.bytes)/1000, float64(h.last.Load())/1e6, errs-m.errs)
	m.works, m.last = works, time.Now()
	m.slots, m.keys, m.bytes, m.errs = slots, keys, bytes, errs
	return nil
}

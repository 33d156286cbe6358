package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"sync"
	"time"
)

// monitor adds up what instances and routers say of themselves.
type monitor struct {
	job    *job
	mu     sync.Mutex
	latest map[int32]done
	line   figures // since the last line
	phase  figures // since the last reset
	lines  int
	begin  time.Time
}

// figures are what was done in a time.
type figures struct {
	begin                     time.Time
	before                    map[int32]done
	latencies, during, pauses histogram
}

func newMonitor(j *job) *monitor {
	m := &monitor{job: j, latest: map[int32]done{}, begin: time.Now()}
	m.line, m.phase = m.newFigures(), m.newFigures()
	return m
}

func (m *monitor) newFigures() figures {
	return figures{begin: time.Now(), before: maps.Clone(m.latest), latencies: histogram{}, during: histogram{},
		pauses: histogram{}}
}

func (f *figures) take(x live) {
	f.latencies.join(x.Latencies)
	f.during.join(x.During)
	f.pauses.join(x.Pauses)
}

// since is what the instances did: in all, and how far the busiest is above the mean.
func (m *monitor) since(f figures) (sum done, theta float64) {
	work, most := uint64(0), uint64(0)
	for i, x := range m.latest {
		old := f.before[i]
		sum.Processed += x.Processed - old.Processed
		sum.Moved += x.Moved - old.Moved
		sum.MovedSize += x.MovedSize - old.MovedSize
		own := x.Processed - old.Processed
		work += own
		most = max(most, own)
	}
	if work > 0 {
		theta = float64(most)/(float64(work)/float64(m.job.instances)) - 1
	}
	return sum, theta
}

func (m *monitor) take(heard Message) {
	var x live
	if err := json.Unmarshal(heard.Content, &x); err != nil {
		log.Printf("monitor: %v", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.line.take(x)
	m.phase.take(x)
	if x.Instance < 0 {
		return
	}
	m.latest[x.Instance] = x.Done
	sum := uint64(0)
	for _, x := range m.latest {
		sum += x.Processed
	}
	m.job.window.processed.Store(sum)
}

// done is what was done in all.
func (m *monitor) done() done {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum, _ := m.since(figures{})
	return sum
}

// reset begins another phase, and returns the figures of the one before.
func (m *monitor) reset() figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.phase
	m.phase = m.newFigures()
	return f
}

// print prints a line: what was counted since the last one, how late, and how evenly.
func (m *monitor) print() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines%20 == 0 {
		fmt.Fprintf(log.Writer(), "%6s %10s %9s %9s %7s %7s %8s %10s %9s %9s\n", "s", "events/s", "p50 ms", "p99 ms",
			"θ", "plans", "moved", "moved kB", "pause p99", "last took")
	}
	m.lines++
	sum, theta := m.since(m.line)
	m.line.latencies.join(m.line.during)
	fmt.Fprintf(log.Writer(), "%6.0f %10.0f %9.1f %9.1f %7.3f %7d %8d %10.1f %9.1f %9.1f\n", time.Since(m.begin).Seconds(),
		float64(sum.Processed)/time.Since(m.line.begin).Seconds(), m.line.latencies.quantile(0.5),
		m.line.latencies.quantile(0.99), theta, m.job.history.plans.Load(), sum.Moved, float64(sum.MovedSize)/1000,
		m.line.pauses.quantile(0.99), float64(m.job.history.last.Load())/1e6)
	m.line = m.newFigures()
}

// drivers keeps a driver running: one that is stopped has a successor.
type drivers struct {
	end    context.CancelFunc
	mu     sync.Mutex
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func newDrivers(ctx context.Context, j *job) (*drivers, error) {
	ctx, end := context.WithCancel(ctx)
	d := &drivers{end: end}
	failpoints := []*failpoint{
		{bus: j.bus, name: "driver", die: d.kill},
		{bus: j.bus, name: "plannerd", die: func() { j.kill("plannerd") }},
	}
	for _, x := range failpoints {
		if err := x.listen(); err != nil {
			end()
			return nil, err
		}
	}
	d.done.Go(func() {
		for ctx.Err() == nil {
			one, cancel := context.WithCancel(ctx)
			d.mu.Lock()
			d.cancel = cancel
			d.mu.Unlock()
			if err := runDriver(one, j.config, &j.history, failpoints); err != nil && !errors.Is(err, context.Canceled) {
				log.Printf("driver: %v", err)
			}
			cancel()
			time.Sleep(50 * time.Millisecond)
		}
	})
	return d, nil
}

// kill ends the driver at once; its successor takes over.
func (d *drivers) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}

func (d *drivers) stop() {
	d.end()
	d.done.Wait()
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

func natsHandler(take func([]byte)) nats.MsgHandler { return func(m *nats.Msg) { take(m.Data) } }

// monitor adds up what instances say of themselves.
type monitor struct {
	job       *job
	mu        sync.Mutex
	latest    map[int32]live
	before    map[int32]live
	latencies []int64
	lines     int
	begin     time.Time
	earlier   int // states that moved, as processes told that were killed since
}

func newMonitor(j *job) *monitor {
	return &monitor{job: j, latest: map[int32]live{}, before: map[int32]live{}, begin: time.Now()}
}

func (m *monitor) take(content []byte) {
	var x live
	if err := json.Unmarshal(content, &x); err != nil {
		log.Printf("monitor: %v", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latencies = append(m.latencies, x.Latencies...)
	x.Latencies = nil
	if old := m.latest[x.Instance]; x.Processed < old.Processed { // it was started again
		m.before[x.Instance] = live{}
		m.earlier += old.Moved
	}
	m.latest[x.Instance] = x
}

func (m *monitor) movedInAll() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.earlier
	for _, x := range m.latest {
		n += x.Moved
	}
	return n
}

// print prints a line: what was counted since the last one, how late, and how evenly.
func (m *monitor) print() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines%20 == 0 {
		fmt.Printf("%6s %10s %9s %9s %7s %7s %8s %10s %9s\n",
			"s", "events/s", "p50 ms", "p99 ms", "θ", "plans", "moved", "moved kB", "last took")
	}
	m.lines++
	sum, most, moved, size := 0.0, 0.0, 0, 0
	for i, x := range m.latest {
		n := float64(x.Processed - m.before[i].Processed)
		sum += n
		most = max(most, n)
		moved += x.Moved - m.before[i].Moved
		size += x.MovedSize - m.before[i].MovedSize
		m.before[i] = x
	}
	theta := 0.0
	if sum > 0 {
		theta = most/(sum/float64(m.job.instances)) - 1
	}
	slices.Sort(m.latencies)
	at := func(q float64) float64 {
		if len(m.latencies) == 0 {
			return 0
		}
		return float64(m.latencies[int(q*float64(len(m.latencies)-1))]) / 1e6
	}
	last := "-"
	if text := m.job.history.last.Load(); text != nil {
		last = *text
	}
	fmt.Printf("%6.0f %10.0f %9.1f %9.1f %7.3f %7d %8d %10.1f %9s\n", time.Since(m.begin).Seconds(), sum,
		at(0.5), at(0.99), theta, m.job.history.plans.Load(), moved, float64(size)/1000, last)
	m.latencies = m.latencies[:0]
}

// drivers keeps a driver running: one that is stopped has a successor.
type drivers struct {
	end    context.CancelFunc
	mu     sync.Mutex
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func newDrivers(ctx context.Context, j *job) *drivers {
	ctx, end := context.WithCancel(ctx)
	d := &drivers{end: end}
	d.done.Go(func() {
		for ctx.Err() == nil {
			one, cancel := context.WithCancel(ctx)
			d.mu.Lock()
			d.cancel = cancel
			d.mu.Unlock()
			if err := runDriver(one, j.config, &j.history); err != nil && !errors.Is(err, context.Canceled) {
				log.Printf("driver: %v", err)
			}
			cancel()
			time.Sleep(50 * time.Millisecond)
		}
	})
	return d
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

// killSome kills processes at random times, the driver among them.
func (j *job) killSome(ctx context.Context, finished <-chan struct{}, duration time.Duration, kills int, d *drivers) {
	r := rand.New(rand.NewPCG(uint64(kills), 2))
	for range kills {
		pause := time.Duration(float64(duration) / float64(kills) * (0.5 + r.Float64()))
		select {
		case <-ctx.Done():
			return
		case <-finished:
			return
		case <-time.After(pause):
		}
		names := j.names()
		if n := r.IntN(len(names) + 1); n < len(names) {
			j.kill(names[n])
		} else {
			d.kill()
		}
	}
}

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

// monitor adds up what instances say of themselves.
type monitor struct {
	job           *job
	mu            sync.Mutex
	latest, shown map[int32]done // now, and in the last line
	begin, last   time.Time
	lines         int
}

func newMonitor(j *job) *monitor {
	return &monitor{job: j, latest: map[int32]done{}, begin: time.Now(), last: time.Now()}
}

func (m *monitor) take(heard Message) {
	var x live
	if err := json.Unmarshal(heard.Content, &x); err != nil {
		log.Printf("monitor: %v", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[x.Instance] = x.Done
}

// since is what the instances did: in all, and how far the busiest is above the mean.
func (m *monitor) since(before map[int32]done) (sum done, theta float64) {
	most := uint64(0)
	for i, x := range m.latest {
		own := x.Processed - before[i].Processed
		sum.Processed += own
		sum.Moved += x.Moved - before[i].Moved
		sum.MovedSize += x.MovedSize - before[i].MovedSize
		most = max(most, own)
	}
	if sum.Processed > 0 {
		theta = float64(most)/(float64(sum.Processed)/float64(m.job.instances)) - 1
	}
	return sum, theta
}

// moved is how many states moved in all.
func (m *monitor) moved() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum, _ := m.since(nil)
	return sum.Moved
}

// print prints a line: what was counted since the last one, and how evenly.
func (m *monitor) print() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines%20 == 0 {
		fmt.Fprintf(log.Writer(), "%6s %10s %7s %7s %8s %10s %9s\n", "s", "events/s", "θ", "plans", "moved", "moved kB",
			"last took")
	}
	m.lines++
	sum, theta := m.since(m.shown)
	fmt.Fprintf(log.Writer(), "%6.0f %10.0f %7.3f %7d %8d %10.1f %9.1f\n", time.Since(m.begin).Seconds(),
		float64(sum.Processed)/time.Since(m.last).Seconds(), theta, m.job.history.plans.Load(), sum.Moved,
		float64(sum.MovedSize)/1000, float64(m.job.history.last.Load())/1e6)
	m.shown, m.last = maps.Clone(m.latest), time.Now()
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

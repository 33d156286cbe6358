package job

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// generator makes the events of one source, and numbers those of each key.
type generator struct {
	bus     Bus
	name    string
	keys    *zipf
	begin   time.Time
	mu      sync.Mutex
	numbers map[string]uint64
	made    atomic.Uint64
}

// frameTime is how much time a frame of a source is about, and frameEvents the most events
// of one.
const (
	frameTime   = 5 * time.Millisecond
	frameEvents = 256
)

// run makes so many events a second until the time is over or the context ends.
func (g *generator) run(ctx context.Context, rate float64, during time.Duration) error {
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	begin, made := time.Now(), uint64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		passed := time.Since(begin)
		if passed >= during {
			return nil
		}
		due := uint64(passed.Seconds() * rate)
		for made < due && ctx.Err() == nil {
			list := g.make(int(min(due-made, frameEvents)))
			if err := g.bus.Feed(ctx, g.name, appendEvents(nil, list)); err != nil {
				return err
			}
			made += uint64(len(list))
		}
	}
}

// make makes n events.
func (g *generator) make(n int) []event {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	list := make([]event, 0, n)
	for range n {
		key := g.keys.next(now.Sub(g.begin))
		g.numbers[key]++
		list = append(list, event{key: key, n: g.numbers[key]})
	}
	g.made.Add(uint64(len(list)))
	return list
}

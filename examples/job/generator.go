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
	window  *window
}

// window bounds how many events are on their way, as engines do against overload: at
// saturation the busiest instance sets the pace of all.
type window struct {
	size            uint64
	made, processed atomic.Uint64
}

// room is how many more events may be made.
func (w *window) room() uint64 {
	onTheirWay := w.made.Load() - min(w.made.Load(), w.processed.Load())
	return w.size - min(w.size, onTheirWay)
}

// frameTime is how much time a frame of a source is about, and frameEvents the most events
// of one.
const (
	frameTime   = 5 * time.Millisecond
	frameEvents = 256
)

// load is how many events come.
type load struct {
	rate   float64 // a second, of one source; 0: as the window allows
	during time.Duration
}

// run makes events until the time is over or the context ends.
func (g *generator) run(ctx context.Context, l load) error {
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
		if passed >= l.during {
			return nil
		}
		due := made + 64*frameEvents
		if l.rate > 0 {
			due = uint64(passed.Seconds() * l.rate)
		}
		n, err := g.send(ctx, due-made, l.rate == 0)
		if err != nil {
			return err
		}
		made += n
	}
}

// send sends so many events, or as many as the window allows.
func (g *generator) send(ctx context.Context, due uint64, windowed bool) (sent uint64, err error) {
	for sent < due && ctx.Err() == nil {
		room := min(due-sent, frameEvents)
		if windowed {
			room = min(room, g.window.room())
		}
		if room == 0 {
			break
		}
		list := g.make(int(room))
		if err := g.bus.Feed(ctx, g.name, appendEvents(nil, list)); err != nil {
			return sent, err
		}
		sent += uint64(len(list))
	}
	return sent, nil
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
		list = append(list, event{key: key, n: g.numbers[key], at: now.UnixNano()})
	}
	g.made.Add(uint64(len(list)))
	g.window.made.Add(uint64(len(list)))
	return list
}

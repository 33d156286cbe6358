package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// generator makes the events of one source: keys by Zipf's law, whose ranks change from
// time to time, and numbers that go up by key.
type generator struct {
	config
	name    string
	mu      sync.Mutex
	numbers map[string]uint64
	made    atomic.Uint64
}

// frameTime is how much time a frame of a source is about.
const frameTime = 5 * time.Millisecond

// run makes events at a steady rate until so many are made, or the context ends.
func (g *generator) run(ctx context.Context, seed uint64, events uint64) error {
	b, err := connect(g.nats)
	if err != nil {
		return err
	}
	defer b.Close()
	r := rand.New(rand.NewPCG(seed, 1))
	shared := rand.New(rand.NewPCG(1, 1)) // all sources agree which keys are hot
	cumulated, sum := make([]float64, g.keys), 0.0
	for i := range cumulated {
		sum += math.Pow(float64(i+1), -g.zipf)
		cumulated[i] = sum
	}
	ranks := shared.Perm(g.keys)
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	begin, shifted := time.Now(), time.Duration(0)
	for g.made.Load() < events {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		passed := time.Since(begin)
		for ; g.shift > 0 && passed-shifted >= g.shift; shifted += g.shift {
			for range 1 + g.keys/100 { // some keys become what others were
				i, j := shared.IntN(g.keys), shared.IntN(min(g.keys, 20))
				ranks[i], ranks[j] = ranks[j], ranks[i]
			}
		}
		due := min(events, uint64(passed.Seconds()*g.rate/float64(g.routers)))
		for due > g.made.Load() {
			n := min(due-g.made.Load(), 512)
			list := make([]event, n)
			g.mu.Lock()
			for i := range list {
				rank, _ := slices.BinarySearch(cumulated, r.Float64()*sum)
				key := fmt.Sprintf("word-%d", ranks[min(rank, g.keys-1)])
				g.numbers[key]++
				list[i] = event{key: key, n: g.numbers[key], at: time.Now().UnixNano()}
			}
			g.mu.Unlock()
			if _, err := b.js.Publish(ctx, "src."+g.name, appendEvents(nil, list)); err != nil {
				return err
			}
			g.made.Add(n)
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"plannerd/sdk/go/stats"
)

// record is what is known of a key at its writers: the number of the last write that was
// sent, and of the last that was acknowledged. One write of a key is under way at a time.
type record struct {
	mu          sync.Mutex
	sent, acked atomic.Uint64
	slot        []byte // as a key of plannerd
	size        int    // of its values, in bytes
}

// load are the clients, the keys, and how often each is used.
type load struct {
	config
	clients   []*redis.ClusterClient
	keys      []record
	cumulated []float64             // by rank
	ranks     atomic.Pointer[[]int] // keys by rank
	rate      atomic.Int64          // commands a second, of all workers; 0: as many as they can
	counters  *stats.Exact          // commands by slot
	errs      atomic.Uint64
	wrong     atomic.Pointer[string] // the first value that should not have been read
}

func newLoad(c config, nodes []*node) *load {
	l := &load{config: c, keys: make([]record, c.keys), counters: stats.NewExact()}
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.address)
	}
	for range c.clients {
		one := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, ReadTimeout: time.Minute,
			WriteTimeout: time.Minute, PoolSize: 2 * c.workers})
		l.clients = append(l.clients, one)
	}
	rng := rand.New(rand.NewPCG(c.seed, 0))
	for i := range l.keys {
		l.keys[i].slot = strconv.AppendInt(nil, int64(keySlot(name(i))), 10)
		// Sizes are between the bounds, as many of each order of magnitude.
		l.keys[i].size = int(float64(c.least) * math.Pow(float64(c.most)/float64(c.least), rng.Float64()))
	}
	sum := 0.0
	for i := range c.keys {
		sum += math.Pow(float64(i+1), -c.zipf)
		l.cumulated = append(l.cumulated, sum)
	}
	ranks := rng.Perm(c.keys)
	l.ranks.Store(&ranks)
	return l
}

func name(key int) string { return "key:" + strconv.Itoa(key) }

// keySlot is the slot of a key: the CRC16 of XMODEM of all its bytes, or of what is between
// the first braces, modulo the number of slots (Redis Cluster Specification).
func keySlot(key string) int {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// value is what a write of a key stores: its name, the number of the write, and padding.
func (l *load) value(key int, n uint64) string {
	head := name(key) + " " + strconv.FormatUint(n, 10) + " "
	return head + strings.Repeat(".", max(0, l.keys[key].size-len(head)))
}

// number reads the number of the write that made a value.
func (l *load) number(key int, value string) (uint64, error) {
	fields := strings.Fields(value[:min(len(value), 64)])
	if len(fields) >= 2 && fields[0] == name(key) {
		if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil && value == l.value(key, n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s has a value of %d bytes that nobody wrote: %.60q", name(key), len(value), value)
}

// fill writes each key once.
func (l *load) fill(ctx context.Context) error {
	return l.batches(func(some []int) error {
		_, err := l.clients[0].Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range some {
				p.Set(ctx, name(key), l.value(key, 1), 0)
				l.keys[key].sent.Store(1)
				l.keys[key].acked.Store(1)
			}
			return nil
		})
		return err
	})
}

// run makes commands until the context ends.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	for w := range l.workers {
		all.Go(func() { l.worker(ctx, w) })
	}
	if l.shift > 0 {
		all.Go(func() { l.shifts(ctx) })
	}
	all.Wait()
}

// worker makes one command after the other. Where there is a rate, a command that is due
// waits if the one before takes long.
func (l *load) worker(ctx context.Context, w int) {
	rng := rand.New(rand.NewPCG(l.seed, uint64(w+1)))
	client := l.clients[w%len(l.clients)]
	due := time.Now()
	for ctx.Err() == nil {
		if rate := l.rate.Load(); rate > 0 {
			due = due.Add(time.Duration(rng.ExpFloat64() * float64(l.workers) / float64(rate) * float64(time.Second)))
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(due)):
			}
		}
		rank, _ := slices.BinarySearch(l.cumulated, rng.Float64()*l.cumulated[len(l.cumulated)-1])
		key := (*l.ranks.Load())[min(rank, len(l.keys)-1)]
		err := l.command(client, key, rng.Float64() < l.writes)
		l.counters.Add(l.keys[key].slot, 1)
		if err != nil {
			l.errs.Add(1)
			l.complain(err)
		}
	}
}

// command reads a key, or writes it unless somebody else does. Nothing is broken off when
// the job ends, so that it is known of each write whether it was made.
func (l *load) command(client *redis.ClusterClient, key int, write bool) error {
	ctx, r := context.Background(), &l.keys[key]
	if write && r.mu.TryLock() {
		defer r.mu.Unlock()
		n := r.sent.Add(1)
		if err := client.Set(ctx, name(key), l.value(key, n), 0).Err(); err != nil {
			return err
		}
		r.acked.Store(n)
		return nil
	}
	least := r.acked.Load()
	value, err := client.Get(ctx, name(key)).Result()
	if err != nil {
		return fmt.Errorf("%s: %w", name(key), err)
	}
	return l.judge(key, value, least, r.sent.Load())
}

// judge says whether a value is one that may be read: at least as new as what was
// acknowledged before, and not newer than what was sent.
func (l *load) judge(key int, value string, least, most uint64) error {
	n, err := l.number(key, value)
	if err == nil && (n < least || n > most) {
		err = fmt.Errorf("%s has the value of write %d; %d was acknowledged, %d sent", name(key), n, least, most)
	}
	return err
}

func (l *load) complain(err error) {
	text := err.Error()
	l.wrong.CompareAndSwap(nil, &text)
}

// complaint is the first error that a client saw.
func (l *load) complaint() error {
	if text := l.wrong.Load(); text != nil {
		return fmt.Errorf("%d errors at the clients; the first: %s", l.errs.Load(), *text)
	}
	return nil
}

// shifts has some hot keys change places with any others from time to time.
func (l *load) shifts(ctx context.Context) {
	rng := rand.New(rand.NewPCG(l.seed, math.MaxUint64))
	for tick := time.Tick(l.shift); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		ranks := slices.Clone(*l.ranks.Load())
		for range l.swaps {
			i, j := rng.IntN(len(ranks)), rng.IntN(min(len(ranks), 20))
			ranks[i], ranks[j] = ranks[j], ranks[i]
		}
		l.ranks.Store(&ranks)
	}
}

// verify reads every key: it must have the value that was last acknowledged to its writer.
// Together the nodes must have as many keys as there are, so that none is at two.
func (l *load) verify(ctx context.Context, nodes []*node) error {
	there := int64(0)
	for _, n := range nodes {
		size, err := n.DBSize(ctx).Result()
		if err != nil {
			return err
		}
		there += size
	}
	if there != int64(len(l.keys)) {
		return fmt.Errorf("there are %d keys, and the nodes have %d", len(l.keys), there)
	}
	return l.batches(func(some []int) error {
		var values []*redis.StringCmd
		if _, err := l.clients[0].Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range some {
				values = append(values, p.Get(ctx, name(key)))
			}
			return nil
		}); err != nil {
			return err
		}
		for i, key := range some {
			// A write that was refused may have been made.
			if err := l.judge(key, values[i].Val(), l.keys[key].acked.Load(), l.keys[key].sent.Load()); err != nil {
				return err
			}
		}
		return nil
	})
}

// batches does something with all keys, some at a time.
func (l *load) batches(do func(some []int) error) error {
	all := make([]int, len(l.keys))
	for i := range all {
		all[i] = i
	}
	for some := range slices.Chunk(all, 1000) {
		if err := do(some); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) stop() error {
	var err error
	for _, c := range l.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/sdk/go/kafka"
)

// lateness counts messages by how late they were processed, in classes that are 10 % apart.
type lateness [200]atomic.Int64

func (l *lateness) add(d time.Duration) {
	class := math.Log(max(1, float64(d.Microseconds()))) / math.Log(1.1)
	l[min(int(class), len(l)-1)].Add(1)
}

// quantile is how late a part of the messages were at most.
func (l *lateness) quantile(part float64) time.Duration {
	all, below := int64(0), int64(0)
	for i := range l {
		all += l[i].Load()
	}
	for i := range l {
		if below += l[i].Load(); float64(below) >= part*float64(all) {
			return time.Duration(math.Pow(1.1, float64(i+1))) * time.Microsecond
		}
	}
	return 0
}

// worker is what processes messages, one after the other, each in a fixed time.
type worker struct {
	done atomic.Int64 // messages, each once
	late lateness
	free time.Time
}

// process takes the time that a message takes, and notes how late it is done. What a sleep takes longer
// than it should is made up for.
func (r *run) process(m int, x *kgo.Record) {
	w := &r.workers[m]
	now := time.Now()
	if now.Sub(w.free) > 50*time.Millisecond { // it had nothing to do
		w.free = now
	}
	w.free = w.free.Add(r.config.service)
	if ahead := w.free.Sub(now); ahead > 2*time.Millisecond {
		time.Sleep(ahead)
	}
	r.note(m, x.Partition, x.Offset, int64(binary.BigEndian.Uint64(x.Value)))
}

// note counts a message that was sent at a time and is processed now.
func (r *run) note(m int, partition int32, offset, sent int64) {
	r.workers[m].done.Add(r.first(partition, offset))
	r.workers[m].late.add(time.Since(time.Unix(0, sent)))
}

// first is how many messages are processed for the first time now: what a member had begun when it lost
// the partition is processed again.
func (r *run) first(partition int32, offset int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := max(0, offset+1-r.next[partition])
	r.next[partition] += fresh
	r.ahead.Add(-fresh)
	return fresh
}

// run is a group that processes a load.
type run struct {
	config
	*service
	group    string
	workers  []worker
	clients  []*kgo.Client
	producer *kgo.Client
	factor   atomic.Uint64 // of the load, as bits of a float; 0: it is saturated
	ahead    atomic.Int64  // messages that are sent and not processed
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	owner []int // by partition, the last member that had it
	owns  []bool
	next  []int64 // by partition: the offset that comes next
	moved atomic.Int64
	base  int64 // rebalances before it was reset

	stores     []int        // with -streams, by partition: how many keys its store has
	carried    atomic.Int64 // keys in stores of tasks that moved
	rebalanced atomic.Int64 // with -streams
}

// begin starts a topic, a load on it, and the members of a group of that name.
func begin(ctx context.Context, s *service, c config, group string) (_ *run, err error) {
	r := &run{config: c, service: s, group: group, workers: make([]worker, c.members),
		owner: slices.Repeat([]int{-1}, 2*c.partitions), owns: make([]bool, 2*c.partitions),
		next: make([]int64, 2*c.partitions)} // partitions may be added
	from, err := c.source()
	if err != nil {
		return nil, err
	}
	if _, err := s.admin.CreateTopic(ctx, int32(c.partitions), 1, nil, group); err != nil {
		return nil, err
	}
	if r.producer, err = kgo.NewClient(kgo.SeedBrokers(s.broker.Address), kgo.DefaultProduceTopic(group),
		kgo.ProducerLinger(5*time.Millisecond)); err != nil {
		return nil, err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			r.end()
		}
	}()
	switch {
	case c.policy == "ideal":
		err = r.queue(ctx)
	case c.streams:
		r.stores = c.sizes()
		err = r.streams(ctx)
	default:
		for m := range c.members {
			err = errors.Join(err, r.join(ctx, m))
		}
	}
	if err != nil {
		return nil, err
	}
	for range 300 { // nothing comes before all members have their parts
		if c.policy == "ideal" || !slices.ContainsFunc(r.counts(), func(n int) bool { return n == 0 }) {
			break
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if r.stores != nil {
		if err := r.fillStores(ctx); err != nil {
			return nil, err
		}
	}
	r.offer(c.load)
	r.running.Go(func() { r.produce(ctx, from) })
	return r, nil
}

func (r *run) end() {
	r.cancel()
	r.running.Wait()
	for _, client := range r.clients {
		client.Close()
	}
	r.producer.Close()
}

// offer sets what arrives, as a part of what all members can process; 0: as much as they do process.
func (r *run) offer(load float64) { r.factor.Store(math.Float64bits(load)) }

// produce sends messages.
func (r *run) produce(ctx context.Context, from *source) {
	sent, changed := time.Now(), time.Now()
	for ctx.Err() == nil {
		if r.drift > 0 && time.Since(changed) > r.drift {
			changed = changed.Add(r.drift)
			from.change()
		}
		for each := r.each(); time.Since(sent) > each; sent = sent.Add(each) {
			if each == 0 && r.ahead.Load() >= int64(r.window) {
				sent = time.Now()
				break
			}
			r.ahead.Add(1)
			now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
			r.producer.Produce(ctx, &kgo.Record{Key: []byte(from.draw()), Value: now}, nil)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// each is the time between two messages; 0: there is none.
func (r *run) each() time.Duration {
	load := math.Float64frombits(r.factor.Load())
	if load == 0 {
		return 0
	}
	return time.Duration(float64(r.config.service) / load / float64(len(r.workers)))
}

// join starts a member.
func (r *run) join(ctx context.Context, m int) error {
	options := []kgo.Opt{kgo.SeedBrokers(r.broker.Address), kgo.ConsumerGroup(r.group), kgo.ConsumeTopics(r.group),
		kgo.InstanceID("member-" + strconv.Itoa(m)), kgo.AutoCommitInterval(time.Second),
		kgo.HeartbeatInterval(500 * time.Millisecond), kgo.MetadataMaxAge(metadata),
		kgo.FetchMaxWait(100 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(r.own(m, true)), kgo.OnPartitionsRevoked(r.own(m, false)),
		kgo.OnPartitionsLost(r.own(m, false))}
	beside := func(*kgo.Client) {}
	switch r.policy {
	case "range":
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	case "cooperative-sticky":
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case "by lag":
		b := &byLag{GroupBalancer: kgo.RangeBalancer(), run: r}
		options = append(options, kgo.Balancers(b))
		beside = func(client *kgo.Client) { b.again(ctx, client) }
	default:
		b, err := kafka.New(kafka.Config{Source: r.api, Operator: r.group})
		if err != nil {
			return err
		}
		options = append(options, kgo.Balancers(b))
		beside = func(client *kgo.Client) { _ = b.Run(ctx, client) }
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	r.clients = append(r.clients, client)
	r.running.Go(func() { beside(client) })
	r.running.Go(func() {
		for ctx.Err() == nil {
			fetched := client.PollRecords(ctx, 50)
			if fetched.IsClientClosed() {
				return
			}
			fetched.EachRecord(func(x *kgo.Record) { r.process(m, x) })
		}
	})
	return nil
}

// own notes that a member gets partitions, or loses them.
func (r *run) own(m int, has bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, p := range partitions[r.group] {
			if r.owns[p] = has; !has {
				continue
			}
			if r.owner[p] >= 0 && r.owner[p] != m {
				r.moved.Add(1)
				if r.stores != nil {
					r.carried.Add(int64(r.stores[p]))
				}
			}
			r.owner[p] = m
		}
	}
}

// counts are how many partitions members have.
func (r *run) counts() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := make([]int, len(r.workers))
	for p, m := range r.owner {
		if r.owns[p] {
			has[m]++
		}
	}
	return has
}

// queue processes messages from one queue, which no group can do.
func (r *run) queue(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(r.broker.Address), kgo.ConsumeTopics(r.group),
		kgo.FetchMaxWait(100*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	r.clients = append(r.clients, client)
	queue := make(chan *kgo.Record, len(r.workers))
	for m := range r.workers {
		r.running.Go(func() {
			for x := range queue {
				r.process(m, x)
			}
		})
	}
	r.running.Go(func() {
		defer close(queue)
		for ctx.Err() == nil {
			client.PollRecords(ctx, 100).EachRecord(func(x *kgo.Record) {
				select {
				case queue <- x:
				case <-ctx.Done():
				}
			})
		}
	})
	return nil
}

// generation is how often the group was rebalanced.
func (r *run) generation() (n int64) {
	n = r.rebalanced.Load()
	for _, client := range r.clients {
		_, generation := client.GroupMetadata()
		n = max(n, int64(generation))
	}
	return n
}

// reset begins to count anew.
func (r *run) reset() {
	for m := range r.workers {
		w := &r.workers[m]
		w.done.Store(0)
		for i := range w.late {
			w.late[i].Store(0)
		}
	}
	r.moved.Store(0)
	r.carried.Store(0)
	r.base = r.generation()
}

func (r *run) rebalances() int64 { return r.generation() - r.base }

// done is how many messages were processed.
func (r *run) done() (n int64) {
	for m := range r.workers {
		n += r.workers[m].done.Load()
	}
	return n
}

// late is how late the messages of all members were.
func (r *run) late() *lateness {
	all := &lateness{}
	for m := range r.workers {
		for i := range all {
			all[i].Add(r.workers[m].late[i].Load())
		}
	}
	return all
}

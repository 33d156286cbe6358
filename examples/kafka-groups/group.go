package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
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
	came atomic.Int64 // messages in its partitions
	done atomic.Int64
	late lateness
	free time.Time
}

// process takes the time that a message takes, and notes how late it is done. What a sleep takes longer
// than it should is made up for.
func (w *worker) process(service time.Duration, sent time.Time) {
	now := time.Now()
	if now.Sub(w.free) > 50*time.Millisecond { // it had nothing to do
		w.free = now
	}
	w.free = w.free.Add(service)
	if ahead := w.free.Sub(now); ahead > 2*time.Millisecond {
		time.Sleep(ahead)
	}
	w.done.Add(1)
	w.late.add(time.Since(sent))
}

// run is a group that processes a load.
type run struct {
	config
	*service
	group    string
	workers  []worker
	clients  []*kgo.Client
	producer *kgo.Client
	factor   atomic.Uint64 // of the load, as bits of a float
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	owner []int // by partition, the last member that had it
	owns  []bool
	moved atomic.Int64
	base  int64 // rebalances before it was reset
}

// begin starts a topic, a load on it, and the members of a group of that name.
func begin(ctx context.Context, s *service, c config, group string) (_ *run, err error) {
	r := &run{config: c, service: s, group: group, workers: make([]worker, c.members),
		owner: slices.Repeat([]int{-1}, c.partitions), owns: make([]bool, c.partitions)}
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
	if c.policy == "ideal" {
		err = r.queue(ctx)
	} else {
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
	r.offer(c.load)
	r.running.Go(func() { r.produce(ctx) })
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

// offer sets what arrives, as a part of what all members can process.
func (r *run) offer(load float64) { r.factor.Store(math.Float64bits(load)) }

// produce sends messages whose keys are drawn by Zipf's law. Every now and then hot keys change.
func (r *run) produce(ctx context.Context) {
	random := rand.New(rand.NewPCG(r.seed, 1))
	names, sums, sum := random.Perm(r.keys), make([]float64, r.keys), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -r.zipf)
		sums[i] = sum
	}
	start := time.Now()
	sent, drifted := start, start
	for ctx.Err() == nil {
		if r.drift > 0 && time.Since(drifted) > r.drift {
			drifted = drifted.Add(r.drift)
			for range r.swaps {
				hot, any := random.IntN(2*r.swaps), random.IntN(r.keys)
				names[hot], names[any] = names[any], names[hot]
			}
		}
		for each := r.each(); time.Since(sent) > each; sent = sent.Add(each) {
			i, _ := slices.BinarySearch(sums, random.Float64()*sum)
			now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
			r.producer.Produce(ctx, &kgo.Record{Key: []byte("user:" + strconv.Itoa(names[i])), Value: now}, r.arrived)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// arrived notes whose a message is.
func (r *run) arrived(x *kgo.Record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.owner[x.Partition]; err == nil && m >= 0 {
		r.workers[m].came.Add(1)
	}
}

// sustained is how many messages a second may arrive until the busiest member cannot do more, if they are
// divided as those that arrived.
func (r *run) sustained() float64 {
	all, most := int64(0), int64(0)
	for m := range r.workers {
		n := r.workers[m].came.Load()
		all, most = all+n, max(most, n)
	}
	if r.policy == "ideal" {
		return float64(len(r.workers)) / r.config.service.Seconds()
	}
	return float64(all) / float64(most) / r.config.service.Seconds()
}

// each is the time between two messages.
func (r *run) each() time.Duration {
	return time.Duration(float64(r.config.service) / math.Float64frombits(r.factor.Load()) / float64(len(r.workers)))
}

// join starts a member.
func (r *run) join(ctx context.Context, m int) error {
	options := []kgo.Opt{kgo.SeedBrokers(r.broker.Address), kgo.ConsumerGroup(r.group), kgo.ConsumeTopics(r.group),
		kgo.InstanceID("member-" + strconv.Itoa(m)), kgo.AutoCommitInterval(time.Second),
		kgo.FetchMaxWait(100 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(r.own(m, true)), kgo.OnPartitionsRevoked(r.own(m, false)),
		kgo.OnPartitionsLost(r.own(m, false))}
	beside := func(*kgo.Client) {}
	switch r.policy {
	case "range":
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	case "server-side": // the newer protocol, in which the broker assigns
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
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
			fetched.EachRecord(func(x *kgo.Record) { r.workers[m].process(r.config.service, at(x)) })
		}
	})
	return nil
}

func at(x *kgo.Record) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(x.Value))) }

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
				r.workers[m].process(r.config.service, at(x))
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
		w.came.Store(0)
		w.done.Store(0)
		for i := range w.late {
			w.late[i].Store(0)
		}
	}
	r.moved.Store(0)
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

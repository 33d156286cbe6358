package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"log"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/examples/internal/broker"
	"plannerd/examples/job"
)

// The topics. Those of an instance have a partition for each; each router's source is a topic of
// its own.
const (
	channels  = "channels"
	transfers = "transfers"
	control   = "control" // what is told all: by its subject in one of so many partitions
	said      = 16
)

func source(router string) string { return "source." + router }

// transport is a broker of Apache Kafka.
type transport struct{}

// Start implements [job.Transport].
func (transport) Start(ctx context.Context, dir string, routers []string, instances int) (string, func(), error) {
	b, err := broker.Start(ctx, dir, "")
	if err != nil {
		return "", nil, err
	}
	if err := makeTopics(ctx, b.Address, routers, instances); err != nil {
		b.Stop()
		return "", nil, err
	}
	return b.Address, b.Stop, nil
}

func makeTopics(ctx context.Context, address string, routers []string, instances int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return err
	}
	defer client.Close()
	partitions := map[string]int{channels: instances, transfers: instances, control: said}
	for _, router := range routers {
		partitions[source(router)] = 1
	}
	for topic, n := range partitions {
		if _, err := kadm.NewClient(client).CreateTopic(ctx, int32(n), 1, nil, topic); err != nil {
			return fmt.Errorf("making topic %s: %w", topic, err)
		}
	}
	return nil
}

// Connect implements [job.Transport].
func (transport) Connect(_ context.Context, address string) (job.Bus, error) {
	b := &bus{address: address, takes: map[string]func(job.Message){}}
	client, err := b.client()
	if err != nil {
		return nil, err
	}
	b.Client, b.admin = client, kadm.NewClient(client)
	b.hearing, b.end = context.WithCancel(context.Background())
	return b, nil
}

// bus is a connection. Its producer is idempotent, so that what it appends to a partition comes
// once, and in order, as long as it lives.
type bus struct {
	*kgo.Client
	address string
	admin   *kadm.Client

	mu      sync.Mutex
	takes   map[string]func(job.Message) // by subject
	hears   *kgo.Client                  // nil: nobody listens
	hearing context.Context              // of hears
	end     context.CancelFunc
}

// client returns another client.
func (b *bus) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.address), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(8 << 20)}, options...)...)
}

// Close implements [job.Bus].
func (b *bus) Close() {
	b.end()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hears != nil {
		b.hears.Close()
	}
	b.Client.Close()
}

// partition is where a subject is.
func partition(subject string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(subject))
	return int32(h.Sum32() % said)
}

// Publish implements [job.Bus].
func (b *bus) Publish(subject string, content []byte) error {
	b.Produce(b.hearing, &kgo.Record{
		Topic: control, Partition: partition(subject), Key: []byte(subject), Value: content,
	}, nil)
	return nil
}

// Listen implements [job.Bus]: it reads the subject's partition from where that ends now.
func (b *bus) Listen(subject string, take func(job.Message)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ends, err := b.admin.ListEndOffsets(b.hearing, control)
	if err != nil {
		return err
	}
	p := partition(subject)
	end, found := ends.Lookup(control, p)
	if !found || end.Err != nil {
		return fmt.Errorf("there is no partition for subject %s: %w", subject, end.Err)
	}
	b.takes[subject] = take
	from := map[string]map[int32]kgo.Offset{control: {p: kgo.NewOffset().At(end.Offset)}}
	if b.hears != nil {
		b.hears.AddConsumePartitions(from) // it changes nothing of a partition that is read already
		return nil
	}
	if b.hears, err = b.client(kgo.ConsumePartitions(from)); err != nil {
		return err
	}
	go poll(b.hearing, b.hears, func(r *kgo.Record) bool {
		b.mu.Lock()
		take := b.takes[string(r.Key)]
		b.mu.Unlock()
		if take != nil {
			take(job.Message{Subject: string(r.Key), Content: r.Value})
		}
		return true
	})
	return nil
}

// poll has what comes taken, until the context ends, or take says that it has.
func poll(ctx context.Context, client *kgo.Client, take func(*kgo.Record) bool) {
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil {
				log.Printf("reading %s, partition %d: %v", topic, partition, err)
			}
		})
		for r := range fetches.RecordsAll() {
			if !take(r) {
				return
			}
		}
	}
}

// Follow implements [job.Bus]. Of transactions it reads those that were committed. A position is
// the offset of what comes next.
func (b *bus) Follow(ctx context.Context, stream job.Stream, of string, after uint64) (<-chan *job.Message, error) {
	topic, p := source(of), 0
	if stream != job.Sources {
		var err error
		if p, err = strconv.Atoi(of); err != nil {
			return nil, err
		}
		topic = channels
		if stream == job.Transfers {
			topic = transfers
		}
	}
	client, err := b.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {int32(p): kgo.NewOffset().At(int64(after))}}))
	if err != nil {
		return nil, err
	}
	out := make(chan *job.Message, 64)
	go func() {
		defer close(out)
		defer client.Close()
		poll(ctx, client, func(r *kgo.Record) bool {
			select {
			case out <- &job.Message{From: string(r.Key), At: uint64(r.Offset) + 1, Content: r.Value}:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return out, nil
}

// Feed implements [job.Bus].
func (b *bus) Feed(ctx context.Context, router string, content []byte) error {
	return b.ProduceSync(ctx, &kgo.Record{Topic: source(router), Value: content}).FirstErr()
}

// Transfer implements [job.Bus].
func (b *bus) Transfer(ctx context.Context, _ int32, list []job.Addressed) error {
	records := make([]*kgo.Record, 0, len(list))
	for _, x := range list {
		records = append(records, &kgo.Record{Topic: transfers, Partition: x.To, Value: x.Content})
	}
	return b.ProduceSync(ctx, records...).FirstErr()
}

// Floor implements [job.Bus]: routers commit it, as the offset of their source, in the
// transactions of what they append.
func (b *bus) Floor(ctx context.Context, router string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var floor int64
	err := insist(ctx, func() error {
		offsets, err := b.admin.FetchOffsets(kadm.RequireStable(ctx), router)
		if err != nil {
			return err
		}
		o, _ := offsets.Lookup(source(router), 0)
		floor = max(0, o.At) // −1: there is none
		return o.Err
	})
	return uint64(floor), err
}

// insist repeats what the broker says may be tried again: a coordinator may just come up.
func insist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if !kerr.IsRetriable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

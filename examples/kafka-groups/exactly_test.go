package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/kafka"
)

// memberCommand is the first argument of a process that is a member. Its name, the broker and plannerd
// follow.
const memberCommand = "member"

// copying is the group whose members copy messages from one topic to another in transactions.
const copying, copies = "copying", "copies"

// transaction is how long one may take.
const transaction = 10 * time.Second

// runMember copies messages until the context ends: each with its offset in one transaction.
func runMember(ctx context.Context, name, broker, plannerd string) error {
	api, err := client.New(plannerd, client.Config{})
	if err != nil {
		return err
	}
	b, err := kafka.New(kafka.Config{Source: api, Operator: copying})
	if err != nil {
		return err
	}
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(broker), kgo.Balancers(b),
		kgo.ConsumerGroup(copying), kgo.ConsumeTopics(copying), kgo.DefaultProduceTopic(copies), kgo.InstanceID(name),
		kgo.TransactionalID(name), kgo.TransactionTimeout(transaction), kgo.SessionTimeout(6*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ProducerLinger(0),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.MetadataMaxAge(metadata), kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo,
			func() string { return time.Now().Format("15:04:05.000 ") })))
	if err != nil {
		return err
	}
	defer session.Close()
	go func() { _ = b.Run(ctx, session.Client()) }()
	for ctx.Err() == nil {
		fetched := session.PollRecords(ctx, 1000)
		fetched.EachError(func(topic string, p int32, err error) { log.Printf("%s/%d: %v", topic, p, err) })
		if fetched.Empty() {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		var failed kgo.FirstErrPromise
		fetched.EachRecord(func(x *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Key: x.Key, Value: x.Value}, failed.Promise())
		})
		// Where it takes longer, another process goes on, which aborts it.
		soon, cancel := context.WithTimeout(ctx, 2*transaction)
		err := session.Client().Flush(soon) // what waits for the messages below has no such limit
		if err == nil {
			_, err = session.End(soon, failed.Err() == nil)
		}
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// process is one that is started again whenever it ends.
type process struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	start func() (*exec.Cmd, error)
}

// keep keeps it running until the context ends.
func (p *process) keep(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		cmd, err := p.start()
		p.cmd = cmd
		p.mu.Unlock()
		if err == nil {
			_ = cmd.Wait()
		}
		_ = pause(ctx, 500*time.Millisecond)
	}
}

func (p *process) signal(by os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(by)
	}
}

func (p *process) kill() { p.signal(syscall.SIGKILL) }

// copied is what was seen of the copies.
type copied struct {
	messages []atomic.Int32 // by number: how often it was seen
	all      atomic.Int64
}

// watch reads the copies that were committed.
func (c *copied) watch(ctx context.Context, client *kgo.Client) {
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(x *kgo.Record) {
			if n, err := strconv.Atoi(string(x.Value)); err == nil && n < len(c.messages) && c.messages[n].Add(1) == 1 {
				c.all.Add(1)
			}
		})
	}
}

// still is for how long nothing may be copied. Nothing that Kafka waits for takes so long: a session of a
// member takes 6 s, a transaction that is not ended 20 s, a member that does not join again a minute.
const still = 2 * time.Minute

// await waits until so many are copied.
func (c *copied) await(ctx context.Context, n int) error {
	for last, since := int64(-1), time.Now(); ; {
		now := c.all.Load()
		switch {
		case now >= int64(n):
			return nil
		case now > last:
			last, since = now, time.Now()
		case time.Since(since) > still:
			return fmt.Errorf("%d of %d messages were copied, and none more for %v", now, n, still)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d messages were copied: %w", now, n, err)
		}
	}
}

// faults are what processes have to bear.
type faults struct {
	*service
	messages, kills, partitions, members int
	away                                 time.Duration // for how long there is no plannerd
	seed                                 uint64        // of the pauses before kills
}

// run copies messages while processes are killed: in turn members, the controller, plannerd and the
// broker. Its error says how many messages were lost or doubled.
func (f *faults) run(ctx context.Context) error {
	for _, topic := range []string{copying, copies} {
		if _, err := f.admin.CreateTopic(ctx, int32(f.partitions), 1, nil, topic); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	processes := make([]*process, f.members+1) // the last is the controller
	defer func() {
		cancel()
		for _, p := range processes {
			p.kill()
		}
		group.Wait()
	}()
	for m := range processes {
		p := &process{start: func() (*exec.Cmd, error) { return f.control(ctx, copying, 2*time.Second) }}
		if m < f.members {
			p.start = func() (*exec.Cmd, error) {
				name := "member-" + strconv.Itoa(m)
				return f.start(ctx, name+".log", self, memberCommand, name, f.broker.Address, "http://"+f.address)
			}
		}
		processes[m] = p
		group.Go(func() { p.keep(running) })
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(f.broker.Address), kgo.ConsumeTopics(copies),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer reader.Close()
	seen := &copied{messages: make([]atomic.Int32, f.messages)}
	group.Go(func() { seen.watch(running, reader) })
	if err := f.kill(ctx, processes, seen); err != nil {
		return fmt.Errorf("%w\n%s", err, f.trace(ctx, processes))
	}
	if err := pause(ctx, 3*time.Second); err != nil { // what comes twice may come later
		return err
	}
	lost, doubled := 0, 0
	for n := range seen.messages {
		switch times := seen.messages[n].Load(); {
		case times == 0:
			lost++
		case times > 1:
			doubled++
		}
	}
	if lost+doubled > 0 {
		return fmt.Errorf("%d messages lost, %d doubled", lost, doubled)
	}
	return nil
}

// trace is what tells why members stand still: what the broker knows of the group and of transactions, what it
// said last, and what members and the controller said last, with what their goroutines do.
func (f *faults) trace(ctx context.Context, processes []*process) string {
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	lag, err := f.admin.Lag(soon, copying)
	text := fmt.Appendf(nil, "lag: %v\n", err)
	for _, l := range lag[copying].Lag.Sorted() {
		text = fmt.Appendf(text, "%s/%d: %d, from %d, %v %+v\n", l.Topic, l.Partition, l.Lag, l.Commit.At, l.Err, l.Member)
	}
	transactions, err := f.admin.DescribeTransactions(soon)
	text = fmt.Appendf(text, "transactions: %v %+v\n", err, transactions)
	producers, err := f.admin.DescribeProducers(soon, nil)
	text = fmt.Appendf(text, "producers: %v %+v\n", err, producers)
	_ = f.broker.Process.Signal(syscall.SIGQUIT)
	for _, p := range processes {
		p.signal(syscall.SIGQUIT)
	}
	_ = pause(ctx, 2*time.Second) // until they have written
	logs, _ := filepath.Glob(filepath.Join(f.dir, "*.log"))
	more, _ := filepath.Glob(filepath.Join(f.dir, "broker", "*", "broker.log"))
	for _, name := range append(logs, more...) {
		said, _ := os.ReadFile(name)
		text = fmt.Appendf(text, "\n%s:\n%s\n", name, said[max(0, len(said)-100_000):])
	}
	return string(text)
}

// kill sends the messages in parts, and kills a process after each. Then the topic gets more partitions. It
// returns when all are copied.
func (f *faults) kill(ctx context.Context, processes []*process, seen *copied) error {
	random, sent := rand.New(rand.NewPCG(f.seed, 1)), 0
	zipf := rand.NewZipf(random, 1.1, 1, 10_000)
	send := func(until int) error {
		for ; sent < until; sent++ {
			f.client.Produce(ctx, &kgo.Record{Topic: copying, Key: fmt.Append(nil, "user:", zipf.Uint64()),
				Value: strconv.AppendInt(nil, int64(sent), 10)}, nil)
		}
		return f.client.Flush(ctx)
	}
	part := func(i int) int { return f.messages * i / (f.kills + 1) }
	for i := range f.kills {
		if i%5 == 3 {
			if err := f.without(ctx, processes[0], send, seen, part(i), part(i+1)); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(send(part(i+1)), pause(ctx, time.Duration(random.IntN(2000))*time.Millisecond)); err != nil {
			return err
		}
		switch members := len(processes) - 1; i % 5 {
		case 1:
			processes[members].kill()
		case 4:
			if err := f.broker.Restart(ctx); err != nil {
				return err
			}
		default:
			processes[i/2%members].kill()
		}
		if err := seen.await(ctx, part(i)); err != nil {
			return err
		}
	}
	more, err := f.admin.UpdatePartitions(ctx, f.partitions+4, copying)
	if err := errors.Join(err, more.Error()); err != nil {
		return err
	}
	if err := pause(ctx, 2*metadata); err != nil { // until clients know
		return err
	}
	return errors.Join(send(f.messages), seen.await(ctx, f.messages))
}

// without has plannerd be killed, then a member. The group has to copy messages without it until it is back.
func (f *faults) without(
	ctx context.Context, member *process, send func(int) error, seen *copied, from, to int,
) error {
	end(f.plannerd, syscall.SIGKILL)
	member.kill()
	begin, longest := time.Now(), time.Duration(0)
	for time.Since(begin) < f.away {
		at := from + int(float64(to-from)*min(1, float64(time.Since(begin)+time.Second)/float64(f.away)))
		sent := time.Now()
		if err := errors.Join(send(at), seen.await(ctx, at), pause(ctx, time.Second-time.Since(sent))); err != nil {
			return err
		}
		longest = max(longest, time.Since(sent))
	}
	log.Printf("plannerd was away for %v, and %d messages were copied, those of a second within %v",
		time.Since(begin).Round(time.Second), to-from, longest.Round(time.Millisecond))
	return errors.Join(send(to), seen.await(ctx, to), f.servePlannerd(ctx))
}

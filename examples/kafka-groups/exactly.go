package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
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
		kgo.TransactionalID(name), kgo.TransactionTimeout(10*time.Second), kgo.SessionTimeout(6*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ProducerLinger(0),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer session.Close()
	go func() { _ = b.Run(ctx, session.Client()) }()
	for ctx.Err() == nil {
		fetched := session.PollRecords(ctx, 1000)
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
		if _, err := session.End(ctx, failed.Err() == nil); err != nil {
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

func (p *process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

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

// killing copies messages while processes are killed: in turn members, the controller, plannerd and the
// broker. Its error says how many messages were lost or doubled.
func killing(ctx context.Context, s *service, messages, kills, partitions, members int) error {
	for _, topic := range []string{copying, copies} {
		if _, err := s.admin.CreateTopic(ctx, int32(partitions), 1, nil, topic); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	processes := make([]*process, members+1) // the last is the controller
	defer func() {
		cancel()
		for _, p := range processes {
			p.signal(syscall.SIGKILL)
		}
		group.Wait()
	}()
	for m := range processes {
		p := &process{start: func() (*exec.Cmd, error) { return s.control(ctx, copying, 2*time.Second) }}
		if m < members {
			p.start = func() (*exec.Cmd, error) {
				cmd := exec.CommandContext(context.WithoutCancel(ctx), self, memberCommand, "member-"+strconv.Itoa(m),
					s.broker.Address, "http://"+s.address)
				err := cmd.Start()
				return cmd, err
			}
		}
		processes[m] = p
		group.Go(func() { p.keep(running) })
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Address), kgo.ConsumeTopics(copies),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer reader.Close()
	seen := &copied{messages: make([]atomic.Int32, messages)}
	group.Go(func() { seen.watch(running, reader) })
	if err := s.kill(ctx, processes, seen, messages, kills); err != nil {
		return err
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

// kill sends the messages in parts, and kills a process after each. It returns when all are copied.
func (s *service) kill(ctx context.Context, processes []*process, seen *copied, messages, kills int) error {
	random, sent := rand.New(rand.NewPCG(1, 1)), 0
	zipf := rand.NewZipf(random, 1.1, 1, 10_000)
	for i := range kills + 1 {
		for ; sent < messages*(i+1)/(kills+1); sent++ {
			s.client.Produce(ctx, &kgo.Record{Topic: copying, Key: fmt.Append(nil, "user:", zipf.Uint64()),
				Value: strconv.AppendInt(nil, int64(sent), 10)}, nil)
		}
		enough := int64(messages * i / (kills + 1)) // of those before
		if i < kills {
			if err := pause(ctx, time.Duration(random.IntN(2000))*time.Millisecond); err != nil {
				return err
			}
			if err := s.killOne(ctx, processes, i); err != nil {
				return err
			}
		} else {
			enough = int64(messages)
		}
		for seen.all.Load() < enough {
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return errors.Join(err, fmt.Errorf("%d of %d messages were copied, %d kills", seen.all.Load(), sent, i))
			}
		}
	}
	return s.client.Flush(ctx)
}

// killOne kills a member, the controller, a member, plannerd or the broker, in turn.
func (s *service) killOne(ctx context.Context, processes []*process, turn int) error {
	members := len(processes) - 1
	switch turn % 5 {
	case 1:
		processes[members].signal(syscall.SIGKILL)
	case 3:
		end(s.plannerd, syscall.SIGKILL)
		if err := pause(ctx, 3*time.Second); err != nil {
			return err
		}
		return s.servePlannerd(ctx)
	case 4:
		return s.broker.Restart(ctx)
	default:
		processes[turn/2%members].signal(syscall.SIGKILL)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"plannerd/examples/job"
)

// transport is a NATS server with JetStream.
type transport struct{}

// streams are what JetStream has, and what their subjects begin with. It is followed by the
// router or instance that reads, and by who appended.
var streams = map[job.Stream]struct{ name, subject string }{
	job.Sources:   {"SRC", "src"},
	job.Channels:  {"EV", "ev"},
	job.Transfers: {"TR", "tr"},
}

// Start implements [job.Transport].
func (transport) Start(ctx context.Context, dir string, _ []string, _ int) (address string, stop func(), err error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir,
		NoSigs: true, NoLog: true, MaxPayload: 8 << 20})
	if err != nil {
		return "", nil, err
	}
	s.Start()
	defer func() {
		if err != nil {
			s.Shutdown()
		}
	}()
	if !s.ReadyForConnections(10 * time.Second) {
		return "", nil, errors.New("the NATS server does not come up")
	}
	b, err := connect(s.ClientURL())
	if err != nil {
		return "", nil, err
	}
	defer b.Close()
	for _, x := range streams {
		if _, err := b.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: x.name, Subjects: []string{x.subject + ".*.*"}, Storage: jetstream.FileStorage,
		}); err != nil {
			return "", nil, err
		}
	}
	return s.ClientURL(), s.Shutdown, nil
}

// Connect implements [job.Transport].
func (transport) Connect(_ context.Context, address string) (job.Bus, error) { return connect(address) }

// bus is a connection.
type bus struct {
	*nats.Conn
	js jetstream.JetStream
}

func connect(url string) (*bus, error) {
	c, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(c)
	if err != nil {
		return nil, err
	}
	return &bus{c, js}, nil
}

// Flush implements [job.Bus].
func (b *bus) Flush(ctx context.Context) error { return b.FlushWithContext(ctx) }

// Listen implements [job.Bus].
func (b *bus) Listen(subject string, take func(job.Message)) error {
	_, err := b.Subscribe(subject, func(m *nats.Msg) { take(job.Message{Subject: m.Subject, Content: m.Data}) })
	return err
}

// Follow implements [job.Bus].
func (b *bus) Follow(ctx context.Context, stream job.Stream, of string, after uint64) (<-chan *job.Message, error) {
	x := streams[stream]
	consumer, err := b.js.OrderedConsumer(ctx, x.name, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{x.subject + "." + of + ".*"}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1,
	})
	if err != nil {
		return nil, err
	}
	out := make(chan *job.Message, 64)
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, messages.Stop)
	go func() {
		defer close(out)
		for {
			m, err := messages.Next()
			if err != nil {
				return
			}
			at, err := m.Metadata()
			if err != nil {
				return
			}
			from := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
			select {
			case out <- &job.Message{From: from, At: at.Sequence.Stream, Content: m.Data()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// Feed implements [job.Bus].
func (b *bus) Feed(ctx context.Context, router string, content []byte) error {
	_, err := b.js.Publish(ctx, streams[job.Sources].subject+"."+router+".source", content)
	return err
}

// Floor implements [job.Bus].
func (b *bus) Floor(ctx context.Context, router string) (floor uint64, err error) {
	s, err := b.js.Stream(ctx, streams[job.Channels].name)
	if err != nil {
		return 0, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(channel("*", router)))
	if err != nil {
		return 0, err
	}
	for subject := range info.State.Subjects {
		f, _, err := b.last(ctx, subject)
		if err != nil {
			return 0, err
		}
		floor = max(floor, f.Floor)
	}
	return floor, nil
}

// channel is the subject of the channel from a router to an instance.
func channel(instance any, router string) string {
	return fmt.Sprintf("%s.%v.%s", streams[job.Channels].subject, instance, router)
}

// last returns the last frame of a channel, and its position; 0: there is none.
func (b *bus) last(ctx context.Context, subject string) (f job.Frame, at uint64, err error) {
	s, err := b.js.Stream(ctx, streams[job.Channels].name)
	if err != nil {
		return f, 0, err
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return f, 0, nil
	}
	if err != nil {
		return f, 0, err
	}
	f, err = job.DecodeFrame(m.Data)
	return f, m.Sequence, err
}

// Transfer implements [job.Bus].
func (b *bus) Transfer(ctx context.Context, from int32, list []job.Addressed) error {
	var all []jetstream.PubAckFuture
	for _, x := range list {
		ack, err := b.js.PublishAsync(fmt.Sprintf("%s.%d.%d", streams[job.Transfers].subject, x.To, from), x.Content)
		if err != nil {
			return err
		}
		all = append(all, ack)
	}
	for _, ack := range all {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// appender appends to the channels of a router: it knows the position of the last message of
// each, by instance.
type appender struct {
	*bus
	router string
	ends   map[int32]uint64
}

// Open implements [job.Bus].
func (b *bus) Open(_ context.Context, router string) (job.Appender, error) {
	return &appender{b, router, map[int32]uint64{}}, nil
}

// Close implements [job.Appender]. The connection stays.
func (*appender) Close() {}

// Append implements [job.Appender].
func (a *appender) Append(ctx context.Context, frames []*job.Outgoing, sent func()) error {
	var acks []jetstream.PubAckFuture
	for _, f := range frames {
		ack, err := a.js.PublishAsync(channel(f.To, a.router), f.Encode(),
			jetstream.WithExpectLastSequencePerSubject(a.ends[f.To]))
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	sent()
	var fenced error
	for i, f := range frames {
		err := a.await(ctx, f, acks[i])
		if errors.Is(err, job.ErrFenced) {
			fenced = err
			continue
		}
		if err != nil {
			return err
		}
		f.Done = true
	}
	return fenced
}

// await waits until a frame is appended. One that was refused is appended again, if it may be.
func (a *appender) await(ctx context.Context, f *job.Outgoing, ack jetstream.PubAckFuture) error {
	select {
	case ack := <-ack.Ok():
		a.ends[f.To] = ack.Sequence
		return nil
	case err := <-ack.Err():
		if !isOutdated(err) {
			return fmt.Errorf("appending to the channel of instance %d: %w", f.To, err)
		}
		return a.publish(ctx, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOutdated reports whether an append was refused as there is another last message.
func isOutdated(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// publish appends a frame to a channel, unless another router has one of a higher epoch
// there: the append says which message it takes for the last.
func (a *appender) publish(ctx context.Context, f *job.Outgoing) error {
	subject, content := channel(f.To, a.router), f.Encode()
	for {
		ack, err := a.js.Publish(ctx, subject, content, jetstream.WithExpectLastSequencePerSubject(a.ends[f.To]))
		if err == nil {
			a.ends[f.To] = ack.Sequence
			return nil
		}
		if !isOutdated(err) {
			return fmt.Errorf("appending to %s: %w", subject, err)
		}
		there, at, err := a.last(ctx, subject)
		switch {
		case err != nil:
			return err
		case there.Epoch > f.Epoch:
			return job.ErrFenced
		}
		a.ends[f.To] = at
	}
}

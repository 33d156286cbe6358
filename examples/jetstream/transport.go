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
)

// streams are what JetStream has, and what their subjects begin with. It is followed by the
// router or instance that reads, and by who appended.
var streams = map[Stream]struct{ name, subject string }{
	Sources:   {"SRC", "src"},
	Channels:  {"EV", "ev"},
	Transfers: {"TR", "tr"},
}

// startServer starts a NATS server with JetStream on loopback, with its data in a folder. Stop ends it.
func startServer(ctx context.Context, dir string) (address string, stop func(), err error) {
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

// bus is the connection of a process to the log. What it publishes is told to all who listen, and may be lost.
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

// Flush waits until what was published is at the server.
func (b *bus) Flush(ctx context.Context) error { return b.FlushWithContext(ctx) }

// Listen has what is published from now on under a subject taken, one after the other. Take
// must not wait.
func (b *bus) Listen(subject string, take func(Message)) error {
	_, err := b.Subscribe(subject, func(m *nats.Msg) { take(Message{Subject: m.Subject, Content: m.Data}) })
	return err
}

// Follow reads the stream of a router, or of an instance by its number, after a position, in
// order. The channel is closed when the context ends.
func (b *bus) Follow(ctx context.Context, stream Stream, of string, after uint64) (<-chan *Message, error) {
	x := streams[stream]
	consumer, err := b.js.OrderedConsumer(ctx, x.name, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{x.subject + "." + of + ".*"}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1,
	})
	if err != nil {
		return nil, err
	}
	out := make(chan *Message, 64)
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
			case out <- &Message{From: from, At: at.Sequence.Stream, Content: m.Data()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// Feed appends events to the source of a router.
func (b *bus) Feed(ctx context.Context, router string, content []byte) error {
	_, err := b.js.Publish(ctx, streams[Sources].subject+"."+router+".source", content)
	return err
}

// Floor is the highest Floor of frames that were appended for a router.
func (b *bus) Floor(ctx context.Context, router string) (floor uint64, err error) {
	s, err := b.js.Stream(ctx, streams[Channels].name)
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
	return fmt.Sprintf("%s.%v.%s", streams[Channels].subject, instance, router)
}

// last returns the last frame of a channel, and its position; 0: there is none.
func (b *bus) last(ctx context.Context, subject string) (f Frame, at uint64, err error) {
	s, err := b.js.Stream(ctx, streams[Channels].name)
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
	f, err = DecodeFrame(m.Data)
	return f, m.Sequence, err
}

// Transfer appends to the transfers of instances, in order, and waits until all is there.
func (b *bus) Transfer(ctx context.Context, from int32, list []Addressed) error {
	var all []jetstream.PubAckFuture
	for _, x := range list {
		ack, err := b.js.PublishAsync(fmt.Sprintf("%s.%d.%d", streams[Transfers].subject, x.To, from), x.Content)
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

// Append appends at most one frame to each channel, and marks those as done that are there.
// Sent is called when they are on their way. The error is errFenced where another has a higher
// epoch: what is not done has to be appended again by another.
func (a *appender) Append(ctx context.Context, frames []*Outgoing, sent func()) error {
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
		if errors.Is(err, errFenced) {
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
func (a *appender) await(ctx context.Context, f *Outgoing, ack jetstream.PubAckFuture) error {
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
func (a *appender) publish(ctx context.Context, f *Outgoing) error {
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
			return errFenced
		}
		a.ends[f.To] = at
	}
}

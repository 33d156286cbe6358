package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams, and what their subjects are.
const (
	sources   = "SRC" // src.<router>: frames of events, numbered by key
	channels  = "EV"  // ev.<instance>.<router>: frames of what a router appends
	transfers = "TR"  // tr.<to>.<from>: states of keys, and ends
)

// Messages outside of streams go to these subjects.
const (
	ackSubject   = "ctl.acks"
	statsSubject = "ctl.statistics"
	// Statistics are asked for here.
	reportSubject = "ctl.report"
	liveSubject   = "ctl.live"
	wrongSubject  = "ctl.wrong"
	dumpSubject   = "ctl.dump"  // .<instance>: answered with all that it holds
	dieSubject    = "ctl.die"   // .<role>.<name>: a step at which the process kills itself
	diedSubject   = "ctl.died"  // it did
	mergeSubject  = "ctl.merge" // .<instance>: partial counts of keys that are merged there
	askSubject    = "ctl.again" // what is owed to the driver is said again
)

// startBus starts a NATS server with JetStream on loopback, and makes the streams.
func startBus(ctx context.Context, dir string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir,
		NoSigs: true, NoLog: true, MaxPayload: 8 << 20})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return nil, errors.New("the NATS server does not come up")
	}
	b, err := connect(s.ClientURL())
	if err != nil {
		return nil, err
	}
	defer b.Close()
	for name, subject := range map[string]string{sources: "src.*", channels: "ev.*.*", transfers: "tr.*.*"} {
		if _, err := b.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{subject}, Storage: jetstream.FileStorage,
		}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

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

// follow reads a stream from after a position on, in order, into a channel.
func (b *bus) follow(ctx context.Context, stream, subject string, after uint64) (<-chan jetstream.Msg, error) {
	consumer, err := b.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return nil, err
	}
	out := make(chan jetstream.Msg, 64)
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
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// last returns the last message of a subject, if there is one.
func (b *bus) last(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// sequence is the position of a message in its stream.
func sequence(m jetstream.Msg) (uint64, error) {
	at, err := m.Metadata()
	if err != nil {
		return 0, err
	}
	return at.Sequence.Stream, nil
}

// event is a message of the stream that is counted: number n of its source and key.
type event struct {
	key  string
	n    uint64
	at   int64 // when it came up, in nanoseconds
	from uint64
}

// frame is what a router appends at once: events, or a marker.
type frame struct {
	epoch, marker int64
	// floor is the position in its source before which the router has appended everything.
	floor  uint64
	events []event
}

func (f frame) encode() []byte {
	b := binary.AppendVarint(nil, f.epoch)
	b = binary.AppendVarint(b, f.marker)
	b = binary.AppendUvarint(b, f.floor)
	return appendEvents(b, f.events)
}

func appendEvents(b []byte, events []event) []byte {
	b = binary.AppendUvarint(b, uint64(len(events)))
	for _, e := range events {
		b = binary.AppendUvarint(b, uint64(len(e.key)))
		b = append(b, e.key...)
		b = binary.AppendUvarint(b, e.n)
		b = binary.AppendVarint(b, e.at)
	}
	return b
}

// reader reads numbers and texts, until something is missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) int() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) text() string {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) events() []event {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := make([]event, n)
	for i := range out {
		out[i] = event{key: r.text(), n: r.uint(), at: r.int()}
	}
	return out
}

var errFrame = errors.New("a frame is broken")

func decodeFrame(b []byte) (frame, error) {
	r := reader{b: b}
	f := frame{epoch: r.int(), marker: r.int(), floor: r.uint(), events: r.events()}
	if r.bad {
		return f, errFrame
	}
	return f, nil
}

func decodeEvents(b []byte) ([]event, error) {
	r := reader{b: b}
	out := r.events()
	if r.bad {
		return nil, errFrame
	}
	return out, nil
}

func evSubject(instance int32, router string) string {
	return fmt.Sprintf("ev.%d.%s", instance, router)
}

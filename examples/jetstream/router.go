package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// lease is for how long a router counts as alive that says nothing.
const lease = "5s"

// sender is a router: it takes events from its source and appends them to the channels of
// the instances that the table names.
type sender struct {
	config
	name    string
	bus     *bus
	api     *client.Client
	machine *handoff.Router[event]
	epoch   int64
	ends    map[int32]uint64 // the position of the last message of each channel
	source  <-chan jetstream.Msg
	// What was taken from the source and not appended yet, by position: events are
	// acknowledged by the position before which nothing is left.
	open  map[uint64]int
	floor uint64
	order []uint64
}

func runRouter(ctx context.Context, c config, name string) error {
	b, err := connect(c.nats)
	if err != nil {
		return err
	}
	defer b.Close()
	api, err := client.New(c.plannerd, client.Config{})
	if err != nil {
		return err
	}
	s := &sender{config: c, name: name, bus: b, api: api, machine: handoff.NewRouter[event](handoff.Holding),
		ends: map[int32]uint64{}, open: map[uint64]int{}}
	return s.run(ctx)
}

func (s *sender) run(ctx context.Context) error {
	if err := s.recover(ctx); err != nil {
		return err
	}
	source, err := s.bus.follow(ctx, sources, "src."+s.name, s.floor)
	if err != nil {
		return err
	}
	s.source = source
	for {
		if err := s.register(ctx); err != nil {
			return err
		}
		if err := s.forward(ctx); !errors.Is(err, errFenced) {
			return err
		}
	}
}

// recover finds how far the source has been appended: each frame says it.
func (s *sender) recover(ctx context.Context) error {
	for i := range int32(s.instances) {
		m, err := s.bus.last(ctx, channels, evSubject(i, s.name))
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		f, err := decodeFrame(m.Data)
		if err != nil {
			return err
		}
		s.floor = max(s.floor, f.floor)
	}
	return nil
}

// register gets a new epoch. Only then the table is read: a plan that starts later waits
// for this router.
func (s *sender) register(ctx context.Context) error {
	return patiently(ctx, func() error {
		r, err := s.api.PutRouter(ctx, operator, s.name, wire.RouterRequest{Lease: lease})
		if err == nil {
			s.epoch = r.Epoch
			s.machine.Registered(r.Epoch)
		}
		return err
	})
}

var errFenced = errors.New("another has a higher epoch")

// forward follows the table, and appends what comes.
func (s *sender) forward(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views, err := follow(ctx, s.api, s.name)
	if err != nil {
		return err
	}
	select {
	case v := <-views:
		err = s.see(ctx, v)
	case <-ctx.Done():
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	renew := time.NewTicker(time.Second)
	defer renew.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case v := <-views:
			err = s.see(ctx, v)
		case m, ok := <-s.source:
			if !ok {
				return nil
			}
			err = s.take(ctx, m)
		case <-renew.C:
			err = s.renew(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// follow sends each view of the table that there is when it is asked for, until the
// context ends.
func follow(ctx context.Context, api *client.Client, name string) (<-chan *router.View, error) {
	follower, err := router.Open(router.Config{Source: api, Operator: operator, Router: name})
	if err != nil {
		return nil, err
	}
	go follower.Run(ctx) //nolint:errcheck // it ends with the context
	views := make(chan *router.View)
	go func() {
		var v *router.View
		for ctx.Err() == nil {
			if v, _ = follower.Next(ctx, v); v == nil {
				continue
			}
			select {
			case views <- v:
			case <-ctx.Done():
			}
		}
	}()
	return views, nil
}

// renew extends the lease. That the service is away does not matter.
func (s *sender) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := s.api.PutRouter(ctx, operator, s.name, wire.RouterRequest{Lease: lease, Epoch: &s.epoch})
	if errors.Is(err, wire.CodeFenced) {
		s.machine.Refused()
		return errFenced
	}
	return nil
}

func (s *sender) see(ctx context.Context, v *router.View) error {
	list, err := s.machine.See(v.Handover())
	if err != nil {
		return err
	}
	return s.append(ctx, list)
}

// take takes a frame of the source.
func (s *sender) take(ctx context.Context, m jetstream.Msg) error {
	at, err := sequence(m)
	if err != nil {
		return err
	}
	events, err := decodeEvents(m.Data())
	if err != nil {
		return err
	}
	s.order = append(s.order, at)
	s.open[at] = len(events)
	var list []handoff.Append[event]
	for _, e := range events {
		e.from = at
		a, held, err := s.machine.Take([]byte(e.key), e)
		if err != nil {
			return err
		}
		if !held {
			list = append(list, a)
		}
	}
	return s.append(ctx, list)
}

// append appends to channels, in the order of each: a frame for the events that come
// one after the other.
func (s *sender) append(ctx context.Context, list []handoff.Append[event]) error {
	type batch struct {
		frame
		to   int32
		list []handoff.Append[event]
	}
	var batches []*batch
	lastOf := map[int32]*batch{}
	for _, a := range list {
		b := lastOf[a.To]
		if b == nil || a.Marker != 0 || b.marker != 0 {
			b = &batch{frame: frame{epoch: a.Epoch, marker: a.Marker}, to: a.To}
			lastOf[a.To] = b
			batches = append(batches, b)
		}
		if a.Marker == 0 {
			b.events = append(b.events, a.Message)
		}
		b.list = append(b.list, a)
	}
	for i, b := range batches {
		b.floor = s.floor
		err := s.publish(ctx, b.to, b.frame)
		if errors.Is(err, errFenced) {
			var rest []handoff.Append[event]
			for _, left := range batches[i:] {
				rest = append(rest, left.list...)
			}
			s.machine.Refused(rest...)
			return err
		}
		if err != nil {
			return err
		}
		for _, e := range b.events {
			s.open[e.from]--
		}
		for len(s.order) > 0 && s.open[s.order[0]] == 0 {
			delete(s.open, s.order[0])
			s.floor, s.order = s.order[0], s.order[1:]
		}
	}
	return nil
}

// publish appends a frame to a channel, unless another router has one of a higher epoch
// there: the append says which message it takes for the last.
func (s *sender) publish(ctx context.Context, to int32, f frame) error {
	subject, content := evSubject(to, s.name), f.encode()
	for {
		ack, err := s.bus.js.Publish(ctx, subject, content, jetstream.WithExpectLastSequencePerSubject(s.ends[to]))
		if err == nil {
			s.ends[to] = ack.Sequence
			return nil
		}
		var refused *jetstream.APIError
		if !errors.As(err, &refused) || refused.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence {
			return fmt.Errorf("appending to %s: %w", subject, err)
		}
		m, err := s.bus.last(ctx, channels, subject)
		if err != nil {
			return err
		}
		if m == nil {
			s.ends[to] = 0
			continue
		}
		there, err := decodeFrame(m.Data)
		switch {
		case err != nil:
			return err
		case there.epoch > f.epoch:
			return errFenced
		}
		s.ends[to] = m.Sequence
	}
}

// patiently tries something until it succeeds or the context ends.
func patiently(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// routerOf is the router of a channel's subject.
func routerOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

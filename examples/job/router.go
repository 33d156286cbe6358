package job

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

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
	name      string
	bus       Bus
	api       *client.Client
	machine   *handoff.Router[event]
	failpoint *failpoint
	epoch     int64
	channels  Appender // of this epoch
	source    <-chan *Message
	// What was taken from the source and not appended yet, by position: events are
	// acknowledged by the position before which nothing is left.
	open  map[uint64]int
	floor uint64
	order []uint64
}

func runRouter(ctx context.Context, c config, name string) error {
	b, err := c.transport.Connect(ctx, c.address)
	if err != nil {
		return err
	}
	defer b.Close()
	api, err := client.New(c.plannerd, client.Config{})
	if err != nil {
		return err
	}
	end, err := newFailpoint(c, b, "router."+name)
	if err != nil {
		return err
	}
	s := &sender{config: c, failpoint: end, name: name, bus: b, api: api, machine: handoff.NewRouter[event](c.mode()),
		open: map[uint64]int{}}
	return s.run(ctx)
}

func (s *sender) run(ctx context.Context) (err error) {
	if err := s.register(ctx); err != nil {
		return err
	}
	// What another process of this router is appending, the channels refuse from now on.
	if s.floor, err = s.bus.Floor(ctx, s.name); err != nil {
		return err
	}
	if s.source, err = s.bus.Follow(ctx, Sources, s.name, s.floor); err != nil {
		return err
	}
	for {
		err := s.forward(ctx)
		s.channels.Close()
		if !errors.Is(err, ErrFenced) {
			return err
		}
		if err := s.register(ctx); err != nil {
			return err
		}
	}
}

// register gets a new epoch. Only then the table is read: a plan that starts later waits
// for this router.
func (s *sender) register(ctx context.Context) error {
	return patiently(ctx, func() error {
		r, err := s.api.PutRouter(ctx, operator, s.name, wire.RouterRequest{Lease: lease})
		if err != nil {
			return err
		}
		s.epoch = r.Epoch
		s.machine.Registered(r.Epoch)
		s.failpoint.at("registered")
		s.channels, err = open(ctx, s.bus, s.api, s.name, r.Epoch)
		return err
	})
}

// open opens the channels of a router under an epoch. The order in which a log was asked
// may be another than that of epochs: who finds a higher epoch afterwards is not first.
func open(ctx context.Context, bus Bus, api *client.Client, name string, epoch int64) (Appender, error) {
	channels, err := bus.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	_, err = api.PutRouter(ctx, operator, name, wire.RouterRequest{Lease: lease, Epoch: &epoch})
	if err == nil {
		return channels, nil
	}
	channels.Close()
	if errors.Is(err, wire.CodeFenced) {
		err = ErrFenced
	}
	return nil, err
}

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
		s.failpoint.at("table read")
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
		return ErrFenced
	}
	return nil
}

func (s *sender) see(ctx context.Context, v *router.View) error {
	list, err := s.machine.See(v.Handover())
	if err != nil {
		return err
	}
	announces := slices.ContainsFunc(list, func(a handoff.Append[event]) bool { return a.Marker != 0 })
	releases := slices.ContainsFunc(list, func(a handoff.Append[event]) bool { return a.Marker == 0 })
	if announces {
		s.failpoint.at("before markers")
	}
	if releases {
		s.failpoint.at("before release")
	}
	if err := s.append(ctx, list); err != nil {
		return err
	}
	if announces {
		s.failpoint.at("markers appended")
	}
	if releases {
		s.failpoint.at("released")
	}
	return nil
}

// take takes a frame of the source, and what came behind it meanwhile.
func (s *sender) take(ctx context.Context, m *Message) error {
	var list []handoff.Append[event]
	for {
		events, err := decodeEvents(m.Content)
		if err != nil {
			return err
		}
		s.order = append(s.order, m.At)
		s.open[m.At] = len(events)
		for _, e := range events {
			e.from = m.At
			a, held, err := s.machine.Take([]byte(e.key), e)
			if err != nil {
				return err
			}
			if held {
				s.failpoint.at("message held")
			} else {
				list = append(list, a)
			}
		}
		if len(list) >= s.together {
			return s.append(ctx, list)
		}
		select {
		case next, ok := <-s.source:
			if !ok {
				return s.append(ctx, list)
			}
			m = next
		default:
			return s.append(ctx, list)
		}
	}
}

// append appends to channels, in the order of each: a frame for the events that come
// one after the other. Frames of different channels are appended at the same time.
func (s *sender) append(ctx context.Context, list []handoff.Append[event]) error {
	for len(list) > 0 {
		var rest []handoff.Append[event]
		batches := map[int32]*appending{}
		for _, a := range list {
			b := batches[a.To]
			switch {
			case b == nil:
				b = &appending{Outgoing: Outgoing{To: a.To, Frame: Frame{Epoch: a.Epoch, Marker: a.Marker, Floor: s.floor}}}
				batches[a.To] = b
			case b.isFull || a.Marker != 0 || b.Marker != 0:
				b.isFull = true
				rest = append(rest, a)
				continue
			}
			if a.Marker == 0 {
				b.events = append(b.events, a.Message)
			}
			b.list = append(b.list, a)
		}
		if err := s.appendAll(ctx, batches); err != nil {
			if errors.Is(err, ErrFenced) {
				var back []handoff.Append[event]
				for _, b := range batches {
					if !b.Done {
						back = append(back, b.list...)
					}
				}
				s.machine.Refused(append(back, rest...)...)
			}
			return err
		}
		list = rest
	}
	return nil
}

// appending is a frame that is appended to a channel.
type appending struct {
	Outgoing
	list   []handoff.Append[event]
	isFull bool
}

// appendAll appends a frame to each of some channels. What was not appended is not done.
func (s *sender) appendAll(ctx context.Context, batches map[int32]*appending) error {
	var frames []*Outgoing
	for _, to := range slices.Sorted(maps.Keys(batches)) {
		frames = append(frames, &batches[to].Outgoing)
	}
	err := s.channels.Append(ctx, frames, func() { s.failpoint.at("frames sent") })
	if err == nil {
		s.failpoint.at("frames appended")
	}
	for _, f := range frames {
		if !f.Done {
			continue
		}
		for _, e := range f.events {
			s.open[e.from]--
		}
	}
	for len(s.order) > 0 && s.open[s.order[0]] == 0 {
		delete(s.open, s.order[0])
		s.floor, s.order = s.order[0], s.order[1:]
	}
	return err
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

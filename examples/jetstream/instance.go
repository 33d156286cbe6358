package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.etcd.io/bbolt"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
)

// counter is an instance: it counts the messages of its keys.
type counter struct {
	config
	id      int32
	bus     *bus
	db      database
	meta    meta
	machine *handoff.Instance[event]
	costs   map[string]float64 // since the statistics were sent last
	live    live
	unsent  []handoff.Action[event]
	exports bool

	views  <-chan *router.View
	view   *router.View
	stable int64 // the version of the table since the last report; 0: it changed
	inputs [2]input
	asked  chan *nats.Msg
}

// input is a stream that an instance reads: its channels, or transfers.
type input struct {
	messages <-chan jetstream.Msg
	waiting  jetstream.Msg // was read before its hand-over was seen
	take     func(context.Context, jetstream.Msg) (waits bool, err error)
}

// next is where the next message comes from: nowhere, while one waits.
func (in *input) next() <-chan jetstream.Msg {
	if in.waiting != nil {
		return nil
	}
	return in.messages
}

// read takes a message, or keeps it until it need not wait.
func (in *input) read(ctx context.Context, m jetstream.Msg) error {
	waits, err := in.take(ctx, m)
	if in.waiting = nil; waits {
		in.waiting = m
	}
	return err
}

// live is what an instance says of itself a few times a second.
type live struct {
	Instance  int32   `json:"instance"`
	Processed uint64  `json:"processed"`
	Latencies []int64 `json:"latencies"` // of some messages, in nanoseconds
	Moved     int     `json:"moved"`     // states that came
	MovedSize int     `json:"moved_size"`
}

// statistics are what an instance measured of its keys.
type statistics struct {
	Instance int32           `json:"instance"`
	Version  int64           `json:"version"` // of the table; 0: it changed meanwhile
	Keys     []keyStatistics `json:"keys"`
}

type keyStatistics struct {
	Key   string  `json:"key"`
	Cost  float64 `json:"cost"`
	State int     `json:"state"`
}

// reply tells the driver that an instance has done its part of a plan, or has gone back.
type reply struct {
	Instance int32 `json:"instance"`
	Version  int64 `json:"version"`
	Epoch    int64 `json:"epoch"`
	Vote     bool  `json:"vote"`
}

func runInstance(ctx context.Context, c config, id int32) error {
	b, err := connect(c.nats)
	if err != nil {
		return err
	}
	defer b.Close()
	api, err := client.New(c.plannerd, client.Config{})
	if err != nil {
		return err
	}
	db, m, err := openDatabase(c.dir, id)
	if err != nil {
		return err
	}
	defer db.Close()
	x := &counter{config: c, id: id, bus: b, db: db, meta: m, costs: map[string]float64{}, live: live{Instance: id},
		machine: handoff.NewInstance(id, handoff.Holding, m.Machine)}
	return x.run(ctx, api)
}

// run opens everything that the instance reads, and does what is owed.
func (x *counter) run(ctx context.Context, api *client.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	if x.views, err = follow(ctx, api, ""); err != nil {
		return err
	}
	x.inputs[0].take, x.inputs[1].take = x.read, x.receive
	in := fmt.Sprintf("%d.*", x.id)
	if x.inputs[0].messages, err = x.bus.follow(ctx, channels, "ev."+in, x.meta.Channel); err != nil {
		return err
	}
	if x.inputs[1].messages, err = x.bus.follow(ctx, transfers, "tr."+in, x.meta.Transfer); err != nil {
		return err
	}
	x.asked = make(chan *nats.Msg, 16)
	for _, subject := range []string{fmt.Sprintf("%s.%d", dumpSubject, x.id), askSubject} {
		if _, err := x.bus.ChanSubscribe(subject, x.asked); err != nil {
			return err
		}
	}
	select {
	case x.view = <-x.views:
	case <-ctx.Done():
		return nil
	}
	x.stable = x.view.Table.Version()
	err = x.step(ctx, func() ([]handoff.Action[event], error) {
		return append(x.machine.See(x.view.Handover()), x.machine.Resume()...), nil
	})
	if err == nil {
		err = x.loop(ctx)
	}
	if err != nil {
		return fmt.Errorf("instance %d: %w", x.id, err)
	}
	return nil
}

// loop does one thing after the other until the context ends.
func (x *counter) loop(ctx context.Context) error {
	tick, report := time.NewTicker(200*time.Millisecond), time.NewTicker(x.interval)
	defer tick.Stop()
	defer report.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case x.view = <-x.views:
			err = x.see(ctx)
		case m, ok := <-x.inputs[0].next():
			if !ok {
				return nil
			}
			err = x.inputs[0].read(ctx, m)
		case m, ok := <-x.inputs[1].next():
			if !ok {
				return nil
			}
			err = x.inputs[1].read(ctx, m)
		case m := <-x.asked:
			err = x.answer(ctx, m)
		case <-tick.C:
			err = x.say(liveSubject, x.live)
			x.live.Latencies = nil
		case <-report.C:
			err = x.report()
		}
		if err != nil {
			return err
		}
	}
}

// see takes a new view, and what waited for it.
func (x *counter) see(ctx context.Context) error {
	if x.view.Table.Version() != x.stable || x.view.Pending != nil {
		x.stable = 0
	}
	err := x.step(ctx, func() ([]handoff.Action[event], error) { return x.machine.See(x.view.Handover()), nil })
	for i := range x.inputs {
		if in := &x.inputs[i]; err == nil && in.waiting != nil {
			err = in.read(ctx, in.waiting)
		}
	}
	return err
}

// step has the machine do something, and makes all of it durable at once. What it
// exports is sent first, what it tells others last.
func (x *counter) step(ctx context.Context, do func() ([]handoff.Action[event], error)) error {
	err := x.db.Update(func(tx *bbolt.Tx) error {
		s := states{tx}
		actions, err := do()
		if err != nil {
			return err
		}
		if err := x.carryOut(s, actions); err != nil {
			return err
		}
		if x.exports {
			x.exports = false
			if err := x.export(ctx, s); err != nil {
				return err
			}
		}
		x.meta.Machine = x.machine.Record
		return s.save(x.meta)
	})
	if err != nil {
		return err
	}
	for _, a := range x.unsent {
		if a.Do == handoff.SendEnd {
			err = x.transfer(ctx, a.Transfer)
		} else {
			err = x.say(ackSubject, reply{x.id, a.Version, a.Epoch, a.Do == handoff.SendVote})
		}
		if err != nil {
			return err
		}
	}
	x.unsent = nil
	return nil
}

func (x *counter) carryOut(s states, actions []handoff.Action[event]) error {
	for _, a := range actions {
		switch {
		case a.Do.IsSent():
			x.unsent = append(x.unsent, a)
		case a.Do == handoff.Export:
			x.exports = true
		case a.Do == handoff.Process:
			if err := x.process(s, a); err != nil {
				return err
			}
		case a.Do == handoff.Import:
			c, err := decodeCount(a.Transfer.State)
			if err != nil {
				return err
			}
			x.live.Moved++
			x.live.MovedSize += len(a.Transfer.State)
			if err := s.putIncoming(a.Transfer.Key, c); err != nil {
				return err
			}
		}
		for _, key := range a.Keys {
			if err := s.settle(key, a.Do); err != nil {
				return err
			}
		}
	}
	return nil
}

// process counts a message, and demands the numbers of its source and key one by one. It
// counts on state that is provisional where none is active.
func (x *counter) process(s states, a handoff.Action[event]) error {
	e := a.Message
	c, as, found, err := s.get(e.key)
	if err != nil {
		return err
	}
	isIncoming := false
	if (!found || as == kept) && !a.Early {
		came, ok, err := s.incoming(e.key)
		if err != nil {
			return err
		}
		if isIncoming = ok; ok {
			c, as, found = came, active, true
		}
	}
	last := c.last[a.Router]
	switch {
	case found && as == kept:
		return x.complain("message %d of %q comes to instance %d, which has handed the key over", e.n, e.key, x.id)
	case e.n <= last:
		return nil // it came again
	case e.n > last+1:
		err := x.complain("message %d of %q and %s follows %d at instance %d", e.n, e.key, a.Router, last, x.id)
		if err != nil {
			return err
		}
	}
	c.last[a.Router] = e.n
	if !found {
		c.ballast = x.stateBytes
	}
	x.costs[e.key]++
	x.live.Processed++
	if x.live.Processed%64 == 0 && len(x.live.Latencies) < 10_000 {
		x.live.Latencies = append(x.live.Latencies, time.Now().UnixNano()-e.at)
	}
	if isIncoming {
		return s.putIncoming(e.key, c)
	}
	return s.put(e.key, c, active)
}

// complain tells everybody that a message was lost, reordered, or in the wrong place.
func (x *counter) complain(format string, args ...any) error {
	return x.bus.Publish(wrongSubject, fmt.Appendf(nil, format, args...))
}

// read takes a frame of a channel, unless it has to wait.
func (x *counter) read(ctx context.Context, m jetstream.Msg) (waits bool, err error) {
	at, err := sequence(m)
	if err != nil {
		return false, err
	}
	f, err := decodeFrame(m.Data())
	if err != nil {
		return false, err
	}
	source := routerOf(m.Subject())
	err = x.step(ctx, func() (out []handoff.Action[event], err error) {
		if f.marker != 0 {
			out, waits = x.machine.Read(handoff.Read[event]{Router: source, Epoch: f.epoch, Marker: f.marker})
		}
		for _, e := range f.events {
			var more []handoff.Action[event]
			more, waits = x.machine.Read(handoff.Read[event]{Router: source, Epoch: f.epoch, Key: []byte(e.key), Message: e})
			if waits {
				return nil, nil // of the first already: all events of a frame come behind the same marker
			}
			out = append(out, more...)
		}
		if !waits {
			x.meta.Channel = at
		}
		return out, nil
	})
	if !waits {
		time.Sleep(time.Duration(len(f.events)) * x.service)
	}
	return waits, err
}

// receive takes a transfer, unless it has to wait.
func (x *counter) receive(ctx context.Context, m jetstream.Msg) (waits bool, err error) {
	at, err := sequence(m)
	if err != nil {
		return false, err
	}
	var t handoff.Transfer
	if err := json.Unmarshal(m.Data(), &t); err != nil {
		return false, err
	}
	err = x.step(ctx, func() (out []handoff.Action[event], err error) {
		if out, waits = x.machine.Receive(t); !waits {
			x.meta.Transfer = at
		}
		return out, nil
	})
	return waits, err
}

// export sends the states of keys that belong elsewhere.
func (x *counter) export(ctx context.Context, s states) error {
	held := func(yield func(string) bool) {
		_ = s.each(func(key string, _ count, as status) bool { return as != active || yield(key) })
	}
	list, err := x.machine.Exports(held, func(key string) ([]byte, error) {
		c, _, _, err := s.get(key)
		return c.encode(), err
	})
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := x.transfer(ctx, t); err != nil {
			return err
		}
		c, _, _, err := s.get(t.Key)
		if err == nil {
			err = s.put(t.Key, c, kept)
		}
		if err != nil {
			return err
		}
	}
	return x.carryOut(s, x.machine.Exported(list))
}

func (x *counter) transfer(ctx context.Context, t handoff.Transfer) error {
	content, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = x.bus.js.Publish(ctx, fmt.Sprintf("tr.%d.%d", t.To, t.From), content)
	return err
}

func (x *counter) say(subject string, what any) error {
	content, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return x.bus.Publish(subject, content)
}

// report sends what the keys cost since the last report, and how large they are.
func (x *counter) report() error {
	out := statistics{Instance: x.id, Version: x.stable}
	if x.stable = x.view.Table.Version(); x.view.Pending != nil {
		x.stable = 0
	}
	err := x.db.View(func(tx *bbolt.Tx) error {
		return states{tx}.each(func(key string, c count, as status) bool {
			if as != kept {
				out.Keys = append(out.Keys, keyStatistics{key, x.costs[key], len(c.encode())})
			}
			return true
		})
	})
	clear(x.costs)
	if err != nil {
		return err
	}
	return x.say(statsSubject, out)
}

// answer answers what is asked: all counts, or what is owed to the driver.
func (x *counter) answer(ctx context.Context, m *nats.Msg) error {
	if m.Subject == askSubject {
		return x.step(ctx, func() ([]handoff.Action[event], error) { return x.machine.Resume(), nil })
	}
	dump := map[string]map[string]uint64{}
	err := x.db.View(func(tx *bbolt.Tx) error {
		return states{tx}.each(func(key string, c count, as status) bool {
			if as == active {
				dump[key] = c.last
			}
			return true
		})
	})
	if err != nil {
		return err
	}
	content, err := json.Marshal(dump)
	if err != nil {
		return err
	}
	return m.Respond(content)
}

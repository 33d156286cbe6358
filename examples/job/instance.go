package job

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/stats"
)

// counter is an instance: it counts the messages of its keys.
type counter struct {
	member
	db        database
	meta      meta
	machine   *handoff.Instance[event]
	costs     costs // since the statistics were sent last
	unsent    []handoff.Action[event]
	outbox    []Addressed // transfers
	exports   bool
	failpoint *failpoint
	doing     []string // steps that are not durable yet

	views  <-chan *router.View
	view   *router.View
	inputs [2]input
	asked  <-chan Message

	given []handoff.Transfer // were sent: their keys are about to be kept
	going *export            // exports that are being sent; nil: none
}

// input is a stream that an instance reads: its channels, or transfers.
type input struct {
	messages <-chan *Message
	waiting  *Message // was read before its hand-over was seen
	take     func(context.Context, *Message) (waiting *Message, err error)
}

// next is where the next message comes from: nowhere, while one waits.
func (in *input) next() <-chan *Message {
	if in.waiting != nil {
		return nil
	}
	return in.messages
}

// there is the next message if it has come already; nil: it has not.
func (in *input) there() *Message {
	select {
	case m := <-in.messages:
		return m
	default:
		return nil
	}
}

// read takes a message, or keeps it until it need not wait.
func (in *input) read(ctx context.Context, m *Message) (err error) {
	in.waiting, err = in.take(ctx, m)
	return err
}

// live is what an instance says of itself several times a second.
type live struct {
	Instance int32 `json:"instance"`
	Done     done  `json:"done"`
}

// reply tells the driver that an instance has done its part of a plan, or has gone back.
type reply struct {
	Instance int32 `json:"instance"`
	Version  int64 `json:"version"`
	Epoch    int64 `json:"epoch"`
	Vote     bool  `json:"vote"`
}

func runInstance(ctx context.Context, c config, id int32) error {
	b, err := c.transport.Connect(ctx, c.address)
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
	end, err := newFailpoint(c, b, fmt.Sprintf("instance.%d", id))
	if err != nil {
		return err
	}
	x := &counter{member: member{c, id, b}, failpoint: end, db: db, meta: m,
		machine: handoff.NewInstance(id, c.mode(), m.Machine),
		costs:   costs{stats.NewExact()}}
	err = db.View(func(tx *bbolt.Tx) error { // what it holds is in the statistics, idle or not
		return states{tx}.each(func(key string, c count, as status) bool {
			if as == active {
				x.costs.SetState([]byte(key), c.size())
			}
			return true
		})
	})
	if err != nil {
		return err
	}
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
	self := strconv.Itoa(int(x.id))
	if x.inputs[0].messages, err = x.bus.Follow(ctx, Channels, self, x.meta.Channel); err != nil {
		return err
	}
	if x.inputs[1].messages, err = x.bus.Follow(ctx, Transfers, self, x.meta.Transfer); err != nil {
		return err
	}
	if x.asked, err = inbox(x.bus, 16, dumpSubject, askSubject, reportSubject); err != nil {
		return err
	}
	select {
	case x.view = <-x.views:
	case <-ctx.Done():
		return nil
	}
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
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
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
		case sent := <-x.going.over():
			err = x.exported(ctx, sent)
		case m := <-x.asked:
			err = x.answer(ctx, m)
		case <-tick.C:
			err = x.say(liveSubject, live{x.id, x.meta.Done})
		}
		if err != nil {
			return err
		}
	}
}

// see takes a new view, and what waited for it.
func (x *counter) see(ctx context.Context) error {
	err := x.step(ctx, func() ([]handoff.Action[event], error) { return x.machine.See(x.view.Handover()), nil })
	for i := range x.inputs {
		if in := &x.inputs[i]; err == nil && in.waiting != nil {
			err = in.read(ctx, in.waiting)
		}
	}
	return err
}

// step has the machine do something, and makes all of it durable at once. What it tells
// others is sent last; what it exports was sent before.
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
		if err := x.keep(s); err != nil {
			return err
		}
		x.meta.Machine = x.machine.Record
		for _, step := range x.doing {
			x.failpoint.at(step + ", not durable")
		}
		return s.save(x.meta)
	})
	if err != nil {
		return err
	}
	for _, step := range x.doing {
		x.failpoint.at(step + ", durable")
	}
	x.doing = x.doing[:0]
	if err := x.send(ctx); err != nil || !x.exports {
		return err
	}
	x.exports = false
	return x.export(ctx)
}

// send sends what is told others.
func (x *counter) send(ctx context.Context) (err error) {
	for _, a := range x.unsent {
		if a.Do == handoff.SendEnd {
			var end Addressed
			end, err = addressed(a.Transfer)
			x.outbox = append(x.outbox, end)
		} else {
			x.failpoint.at("before acknowledgement")
			err = x.say(ackSubject, reply{x.id, a.Version, a.Epoch, a.Do == handoff.SendVote})
			x.failpoint.at("acknowledgement sent")
		}
		if err != nil {
			return err
		}
	}
	x.unsent = nil
	if len(x.outbox) == 0 {
		return nil
	}
	list := x.outbox
	x.outbox = nil
	err = x.bus.Transfer(ctx, x.id, list)
	x.failpoint.at("ends sent")
	return err
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
			x.doing = append(x.doing, "import")
			x.meta.Done.Moved++
			x.meta.Done.MovedSize += len(a.Transfer.State)
			if err := s.takeIn(a.Transfer.Key, a.Transfer.State); err != nil {
				return err
			}
		}
		if len(a.Keys) > 0 {
			x.doing = append(x.doing, "plan's end")
		}
		for _, key := range a.Keys {
			if err := s.settle(key, a.Do); err != nil {
				return err
			}
			if err := x.costs.follow(s, key); err != nil {
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
	c.n++
	if !found {
		c.ballast = x.stateBytes
		if err := s.putBallast(e.key, make([]byte, c.ballast)); err != nil {
			return err
		}
		x.costs.SetState(a.Key, c.size())
	}
	x.costs.Add(a.Key, 1)
	x.meta.Done.Processed++
	if isIncoming {
		return s.putIncoming(e.key, c)
	}
	return s.put(e.key, c, active)
}

// read takes a frame of a channel, and those that came behind it meanwhile, in one
// transaction. It returns the one that has to wait, if there is one.
func (x *counter) read(ctx context.Context, m *Message) (waiting *Message, err error) {
	err = x.step(ctx, func() (out []handoff.Action[event], err error) {
		x.doing = append(x.doing, "frame")
		for taken := 0; m != nil; m = x.inputs[0].there() {
			f, err := DecodeFrame(m.Content)
			if err != nil {
				return nil, err
			}
			actions, waits := x.readFrame(m.From, f)
			if waits {
				waiting = m
				break
			}
			x.meta.Channel = m.At
			out = append(out, actions...)
			if f.Marker != 0 {
				x.doing = append(x.doing, "marker")
				break
			}
			if taken += len(f.events); taken >= x.together {
				break
			}
		}
		return out, nil
	})
	return waiting, err
}

func (x *counter) readFrame(source string, f Frame) (out []handoff.Action[event], waits bool) {
	if f.Marker != 0 {
		return x.machine.Read(handoff.Read[event]{Router: source, Epoch: f.Epoch, Marker: f.Marker})
	}
	for _, e := range f.events {
		more, waits := x.machine.Read(handoff.Read[event]{Router: source, Epoch: f.Epoch, Key: []byte(e.key), Message: e})
		if waits {
			return nil, true // of the first already: all events of a frame come behind the same marker
		}
		out = append(out, more...)
	}
	return out, false
}

// receive takes a transfer, and those that came behind it meanwhile, in one transaction. It
// returns the one that has to wait, if there is one.
func (x *counter) receive(ctx context.Context, m *Message) (waiting *Message, err error) {
	size := 0
	err = x.step(ctx, func() (out []handoff.Action[event], err error) {
		for m != nil {
			var t handoff.Transfer
			if err := json.Unmarshal(m.Content, &t); err != nil {
				return nil, err
			}
			actions, waits := x.machine.Receive(t)
			if waits {
				waiting = m
				break
			}
			x.meta.Transfer = m.At
			size += len(t.State)
			out = append(out, actions...)
			if m = nil; size < mostTransferred {
				m = x.inputs[1].there()
			}
		}
		return out, nil
	})
	return waiting, err
}

// answer answers what is asked: statistics or all counts, or what is owed to the driver.
func (x *counter) answer(ctx context.Context, m Message) error {
	if m.Subject == askSubject {
		return x.step(ctx, func() ([]handoff.Action[event], error) { return x.machine.Resume(), nil })
	}
	asked, err := strconv.Atoi(string(m.Content))
	if err != nil {
		return err
	}
	if m.Subject == reportSubject {
		return x.say(statsSubject, statistics{x.id, asked, x.costs.Close()})
	}
	all := dump{Instance: x.id, Asked: asked, Keys: map[string]dumped{}}
	err = x.db.View(func(tx *bbolt.Tx) error {
		return states{tx}.each(func(key string, c count, as status) bool {
			if as == active {
				all.Keys[key] = dumped{c.n, c.last}
			}
			return true
		})
	})
	if err != nil {
		return err
	}
	return x.say(dumpedSubject, all)
}

// dump is all that an instance holds.
type dump struct {
	Instance int32             `json:"instance"`
	Asked    int               `json:"asked"` // the question that this answers
	Keys     map[string]dumped `json:"keys"`
}

type dumped struct {
	N    uint64            `json:"n"`
	Last map[string]uint64 `json:"last"`
}

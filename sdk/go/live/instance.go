package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"plannerd/sdk/go/handoff"
)

// errClosed is answered by a node that does not run.
var errClosed = errors.New("live: the node does not run")

// Answer answers a request of another node, which an [Exchange] has brought.
func (n *Node) Answer(ctx context.Context, text []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken == nil && !n.seen || ctx.Err() != nil {
		return nil, errClosed // it has not seen the table yet
	}
	var a answer
	var sent []handoff.Action[[]byte]
	switch {
	case n.broken != nil:
		return nil, n.broken
	case r.Channel != nil:
		sent = n.read(*r.Channel)
	default:
		a.Took, sent = n.receive(r.Transfers)
	}
	if err := n.settle(sent); err != nil {
		return nil, err
	}
	if r.Channel != nil {
		a.Position = n.record.Channels[r.Channel.Router]
	}
	a.said = n.said
	return json.Marshal(a)
}

// read takes what is new of a part of a channel, up to what has to wait for another view.
func (n *Node) read(c channelPart) (sent []handoff.Action[[]byte]) {
	at := n.record.Channels[c.Router]
	switch {
	case c.Epoch < at.Epoch:
		return nil
	case c.Epoch > at.Epoch:
		at = position{Epoch: c.Epoch}
	}
	for i, f := range c.Frames {
		number := c.First + int64(i)
		if number <= at.Last {
			continue
		}
		// What was sent by a newer table may rest on the end of a hand-over.
		if number > at.Last+1 || f.Version > n.version {
			break
		}
		actions, waits := n.machine.Read(handoff.Read[[]byte]{
			Router: c.Router, Epoch: c.Epoch, Marker: f.Marker, Key: f.Key, Message: f.Message,
		})
		if waits {
			break
		}
		at.Last = number
		sent = append(sent, n.apply(actions)...)
	}
	if at != n.record.Channels[c.Router] {
		n.record.Channels[c.Router], n.dirty = at, true
	}
	return sent
}

// receive takes transfers, up to the first that has to wait.
func (n *Node) receive(list []handoff.Transfer) (all bool, sent []handoff.Action[[]byte]) {
	for _, t := range list {
		actions, waits := n.machine.Receive(t)
		if waits {
			return false, sent
		}
		n.dirty = true
		sent = append(sent, n.apply(actions)...)
	}
	return true, sent
}

// see tells the instance what the service says now.
func (n *Node) see(v handoff.View) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken != nil {
		return n.broken
	}
	resumes := !n.seen
	n.seen, n.version = true, max(n.version, v.Version)
	actions := n.machine.See(v)
	if resumes {
		actions = append(actions, n.machine.Resume()...)
	}
	n.dirty = n.dirty || len(actions) > 0
	return n.settle(n.apply(actions))
}

// apply does actions up to those that are sent, and returns these.
func (n *Node) apply(actions []handoff.Action[[]byte]) (sent []handoff.Action[[]byte]) {
	for _, a := range actions {
		var err error
		switch a.Do {
		case handoff.Process:
			n.engine.Process(string(a.Key), a.Message)
		case handoff.Import:
			n.record.Provisional = append(n.record.Provisional, a.Transfer)
		case handoff.Keep:
			for _, t := range n.record.Provisional {
				err = cmp.Or(err, n.engine.Import(t.Key, t.State))
			}
			n.record.Provisional = nil
		case handoff.Drop:
			n.record.Provisional = nil
		case handoff.Forget:
			for _, key := range a.Keys {
				n.engine.Forget(key)
			}
		case handoff.Export, handoff.SendEnd, handoff.SendAck, handoff.SendVote:
			sent = append(sent, a)
		case handoff.Activate: // the engine has it still
		}
		if err != nil {
			n.stop(err)
		}
	}
	return sent
}

// settle makes what has changed durable, and then sends what is to be sent.
func (n *Node) settle(sent []handoff.Action[[]byte]) error {
	if n.dirty && n.broken == nil {
		n.record.Machine = n.machine.Record
		text, err := json.Marshal(n.record)
		if err == nil {
			err = n.engine.Commit(text)
		}
		if err != nil {
			n.stop(err)
		}
		n.dirty = false
	}
	if n.broken != nil {
		return n.broken
	}
	var ends []handoff.Transfer
	for _, a := range sent {
		switch a.Do {
		case handoff.Export:
			if err := n.export(); err != nil {
				n.stop(err)
				return err
			}
		case handoff.SendEnd:
			ends = append(ends, a.Transfer)
		case handoff.SendAck:
			n.said = said{Version: a.Version, Acked: true}
		case handoff.SendVote:
			n.said = said{Version: a.Version, Voted: true}
		}
	}
	if len(ends) > 0 {
		n.transfer(ends, func() {})
	}
	return nil
}

// export sends the states that go elsewhere, and tells the machine when they are there.
func (n *Node) export() error {
	version := n.machine.Doing.Version
	if n.exporting == version {
		return nil
	}
	list, err := n.machine.Exports(n.engine.Keys(), n.engine.Export)
	if err != nil {
		return err
	}
	n.exporting = version
	n.transfer(list, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if d := n.machine.Doing; d == nil || d.Version != version || d.Voted || d.Exported || n.broken != nil {
			return
		}
		n.dirty = true
		n.settle(n.apply(n.machine.Exported(list))) //nolint:errcheck // it is kept in broken
	})
	return nil
}

// mostTransferred is the size, in bytes of states and messages, from which on a request takes no more
// of them.
const mostTransferred = 1 << 20

// transfer sends transfers, in their order to each instance, and then calls done, unless the
// node ends before that.
func (n *Node) transfer(list []handoff.Transfer, done func()) {
	to := map[int32][]handoff.Transfer{}
	for _, t := range list {
		to[t.To] = append(to[t.To], t)
	}
	n.spawn(func(ctx context.Context) {
		for id, list := range to {
			for len(list) > 0 {
				some, size := 0, 0
				for some < len(list) && size < mostTransferred {
					size += len(list[some].State) + len(list[some].Key)
					some++
				}
				part := list[:some]
				if persist(ctx, func() bool {
					a, err := n.ask(ctx, id, request{Transfers: part})
					return err == nil && a.Took
				}) != nil {
					return
				}
				list = list[some:]
			}
		}
		done()
	})
}

// persist tries until it succeeds, or the context ends.
func persist(ctx context.Context, try func() bool) error {
	for pause := 2 * time.Millisecond; !try(); pause = min(2*pause, 200*time.Millisecond) {
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

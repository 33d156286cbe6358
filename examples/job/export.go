package job

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"

	"plannerd/sdk/go/handoff"
)

// export is what is being exported: messages of other keys are counted meanwhile. No message
// of the keys that go can come, as all routers have announced that they hold them.
type export struct {
	version int64
	list    []handoff.Transfer
	end     context.CancelFunc
	sent    chan error
}

// over is when everything was sent; nil: nothing is.
func (e *export) over() <-chan error {
	if e == nil {
		return nil
	}
	return e.sent
}

// export sends the states of keys that belong elsewhere.
func (x *counter) export(ctx context.Context) error {
	version := x.machine.Doing.Version
	if x.going != nil {
		if x.going.version == version {
			return nil
		}
		x.going.end() // its hand-over was aborted
		if err := <-x.going.sent; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	e := &export{version: version, sent: make(chan error, 1)}
	err := x.db.View(func(tx *bbolt.Tx) (err error) {
		s := states{tx}
		held := func(yield func(string) bool) {
			_ = s.each(func(key string, _ count, as status) bool { return as != active || yield(key) })
		}
		e.list, err = x.machine.Exports(held, s.export)
		return err
	})
	if err != nil {
		return err
	}
	ctx, e.end = context.WithCancel(ctx)
	x.going = e
	go func() { e.sent <- x.sendStates(ctx, e.list) }()
	return nil
}

// mostTransferred is how many bytes of states are sent, or taken in, in one step.
const mostTransferred = 128 << 10

// exported has the keys of what was sent be kept, unless the hand-over ended meanwhile.
func (x *counter) exported(ctx context.Context, err error) error {
	e := x.going
	x.going = nil
	e.end()
	if err != nil {
		return err
	}
	if d := x.machine.Doing; d == nil || d.Version != e.version || d.Voted {
		return nil
	}
	return x.step(ctx, func() ([]handoff.Action[event], error) {
		x.given = e.list
		if x.given == nil {
			x.given = []handoff.Transfer{}
		}
		x.doing = append(x.doing, "exports")
		return nil, nil
	})
}

// keep does what follows from the states that were sent, if any were just now.
func (x *counter) keep(s states) error {
	if x.given == nil {
		return nil
	}
	list := x.given
	x.given = nil
	for _, t := range list {
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

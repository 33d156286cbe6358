package sqlite

import (
	"context"
	"fmt"
	"sync"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// watchers are told of what this process commits, not of what others do: the file is
// for one process that serves.
type watchers struct {
	lock      sync.Mutex
	mailboxes map[*engine.Mailbox]context.CancelFunc
	running   sync.WaitGroup
	closed    bool
}

// Watch implements [engine.Database].
func (d *database) Watch(ctx context.Context) (<-chan store.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &d.watchers
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.closed {
		return nil, fmt.Errorf("%w: it is closed", store.ErrUnavailable)
	}
	if w.mailboxes == nil {
		w.mailboxes = map[*engine.Mailbox]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(ctx)
	box, events := engine.NewMailbox(), make(chan store.Event)
	w.mailboxes[box] = cancel
	w.running.Go(func() {
		box.Deliver(ctx, events)
		cancel()
		w.lock.Lock()
		defer w.lock.Unlock()
		delete(w.mailboxes, box)
	})
	return events, nil
}

func (w *watchers) tell(operators []string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, name := range operators {
		for box := range w.mailboxes {
			box.Put(name)
		}
	}
}

// close ends all watching and waits for it.
func (w *watchers) close() {
	w.lock.Lock()
	w.closed = true
	for _, cancel := range w.mailboxes {
		cancel()
	}
	w.lock.Unlock()
	w.running.Wait()
}

func (s session) Tell(_ context.Context, operator string) error {
	*s.told = append(*s.told, operator)
	return nil
}

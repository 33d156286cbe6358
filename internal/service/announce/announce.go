package announce

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"plannerd/internal/service/reading"
	"plannerd/store"
)

// Receiver is somebody who is told.
type Receiver interface {
	// Name tells receivers apart in the store, in metrics and in the log. No secret is in it.
	Name() string
	// Send delivers an event. An error says that it has to be delivered again.
	Send(ctx context.Context, e store.WebhookEvent) error
}

// Options are what receivers are told, and how. Zero values stand for defaults.
type Options struct {
	Receivers []Receiver
	// Patience is how long an approved plan may wait to be started, and an operator be without
	// statistics, before that is told. Defaults to five minutes.
	Patience time.Duration
	// Every is how often it is looked whether there is something to deliver; the look for what no step
	// says comes every ten of them. Defaults to a second.
	Every time.Duration
}

const (
	lease   = 15 * time.Second // that a process which died keeps others from delivering
	timeout = 5 * time.Second  // of a delivery
	// The pause after a delivery in vain doubles each time, up to the greatest.
	firstPause, lastPause = time.Second, 5 * time.Minute
)

// Announcer delivers what is in the outbox of a store.
type Announcer struct {
	Options
	store    store.Store
	observer reading.Observer
	log      *slog.Logger
	process  string // tells this process from others
	// What the looks know: of operators, by their names; and the ids of what this one and the one before
	// announced.
	seen         map[string]pace
	told, before map[string]bool
}

// New returns an announcer.
func New(s store.Store, observer reading.Observer, log *slog.Logger, o Options) *Announcer {
	o.Patience, o.Every = cmp.Or(o.Patience, 5*time.Minute), cmp.Or(o.Every, time.Second)
	return &Announcer{Options: o, store: s, observer: observer, log: log, process: rand.Text()}
}

// Run delivers until ctx ends. Of all processes that use the store one delivers to a receiver at a time.
func (a *Announcer) Run(ctx context.Context) {
	var serving sync.WaitGroup
	defer serving.Wait()
	for i, r := range a.Receivers {
		serving.Go(func() { a.serve(ctx, r, i == 0) })
	}
}

// courier delivers to one receiver.
type courier struct {
	*Announcer
	Receiver
	until   time.Time // by the clock of this machine: until then no other process delivers
	dropped int64     // that were logged; -1: none were looked at
}

func (a *Announcer) serve(ctx context.Context, r Receiver, looks bool) {
	c := &courier{Announcer: a, Receiver: r, dropped: -1}
	defer c.release(ctx)
	var look time.Time // when the next one is due
	for ctx.Err() == nil {
		more, err := c.round(ctx)
		if now := time.Now(); err == nil && looks && now.Before(c.until) && !now.Before(look) {
			look = now.Add(10 * a.Every)
			err = a.look(ctx)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) { // of that the log has it already
			a.log.WarnContext(ctx, "webhooks wait, it is tried again", "receiver", r.Name(), "error", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-time.After(a.Every):
		case <-ctx.Done():
		}
	}
}

// hold has this process be the one that delivers, and tells whether it is. It asks when a third of the lease
// is over.
func (c *courier) hold(ctx context.Context) (bool, error) {
	begin := time.Now()
	if c.until.Sub(begin) > lease*2/3 {
		return true, nil
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return false, err
	}
	held, err := c.store.HoldReceiver(ctx, c.Name(), c.process, lease, now)
	if err != nil || !held {
		c.until = time.Time{}
		return false, err
	}
	c.until = begin.Add(lease)
	return true, nil
}

// release lets another process deliver at once.
func (c *courier) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if now, err := c.store.Now(ctx); err == nil && time.Now().Before(c.until) {
		_, _ = c.store.HoldReceiver(ctx, c.Name(), c.process, 0, now) // else the lease runs out
	}
}

// How many events are read at a time, and of how many operators they are delivered at a time.
const (
	page     = 200
	together = 8
)

// round delivers the oldest events, those of each operator one after the other. more tells whether there
// may be others already. What it begins ends before another process may deliver.
func (c *courier) round(ctx context.Context) (more bool, err error) {
	if held, err := c.hold(ctx); !held || err != nil {
		return false, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return false, err
	}
	events, err := c.store.PendingEvents(ctx, c.Name(), page, now)
	if err != nil || len(events) == 0 {
		return false, err
	}
	if lost := events[0].Dropped; lost != c.dropped {
		if c.dropped >= 0 {
			c.log.WarnContext(ctx, "events were dropped undelivered", "receiver", c.Name(), "events", lost-c.dropped)
		}
		c.dropped = lost
	}
	queues := map[string][]store.WebhookEvent{}
	for _, e := range events {
		queues[e.Operator] = append(queues[e.Operator], e)
	}
	var sending errgroup.Group
	sending.SetLimit(together)
	for _, queue := range queues {
		sending.Go(func() error { return c.deliver(ctx, queue) })
	}
	err = sending.Wait()
	return len(events) == page, err
}

// deliver sends events of one operator until one cannot be delivered, or the lease is nearly over.
func (c *courier) deliver(ctx context.Context, queue []store.WebhookEvent) error {
	var delivered []int64
	var failed error
	var late store.WebhookEvent
	for _, e := range queue {
		if ctx.Err() != nil || time.Until(c.until) < timeout*3/2 {
			break
		}
		if failed = c.send(ctx, e); failed != nil {
			late = e
			break
		}
		delivered = append(delivered, e.Seq)
	}
	stopped := ctx.Err() != nil
	// What was delivered would be so again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	var err error
	if len(delivered) > 0 {
		err = c.store.RemoveEvents(ctx, delivered)
	}
	if failed == nil || stopped || err != nil {
		return err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	return c.store.DelayEvent(ctx, late.Seq, now.Add(pause(late.Tries)))
}

// pause is how long an event waits after so many deliveries in vain and one more.
func pause(tries int64) time.Duration {
	return min(firstPause<<min(tries, 30), lastPause)
}

func (c *courier) send(ctx context.Context, e store.WebhookEvent) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := c.Send(limited, e)
	if ctx.Err() != nil {
		return err
	}
	c.observer.Delivered(c.Name(), err == nil)
	switch {
	case err != nil && e.Tries == 0:
		c.log.WarnContext(ctx, "a webhook was not delivered, it is tried again", "receiver", c.Name(),
			"operator", e.Operator, "event", e.ID, "error", err)
	case err == nil && e.Tries > 0:
		c.log.InfoContext(ctx, "a webhook was delivered at last", "receiver", c.Name(), "operator", e.Operator,
			"event", e.ID, "tries", e.Tries+1)
	}
	return err
}

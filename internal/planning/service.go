package planning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"plannerd/internal/refusal"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
	"plannerd/store/metered"
)

// Limits bound what one call may ask for. All must be set.
type Limits struct {
	Plans      int           // plans that are computed at the same time
	Analyses   int           // analyses, plans of what-ifs and replays that are
	Queue      int           // plans that wait to be computed, and analyses as well
	PlanTime   time.Duration // that one of them may take, its wait included
	Rows       int           // of all reports of an interval together
	Waiting    int           // calls of Follow at the same time
	SweepEvery time.Duration // between two looks for what has expired
}

// Config is what a service needs. Draining alone may be nil.
type Config struct {
	Store    store.Store
	Measured metered.Options // of the store
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
	Limits   Limits
	// Memory is what all calls together may hold. Caches take up to 3/8 as much besides.
	Memory *admission.Budget
	// Draining, when it is closed, ends calls of Follow.
	Draining <-chan struct{}
}

// Service is what can be done with operators and their plans.
type Service struct {
	*engine
	trials   *engine // computes what changes nothing
	log      *slog.Logger
	limits   Limits
	memory   *admission.Budget
	draining <-chan struct{}
	hub      *hub
	chooser  *chooser
	// forms: programs that know reports of keys alone refuse to serve. named: those that know no
	// keys beside records, too.
	forms, named atomic.Bool
}

// requireForms has programs refuse to serve that know reports of keys alone, and neither
// windows nor phases; named: nor keys that are named beside records.
func (s *Service) requireForms(ctx context.Context, named bool) error {
	required := &s.forms
	if named {
		required = &s.named
	}
	if required.Load() {
		return nil
	}
	if err := s.store.RequireForms(ctx, named); err != nil {
		return refusal.AboutStore(err)
	}
	required.Store(true)
	return nil
}

// New returns a service.
func New(c Config) *Service {
	room := c.Memory.Usage().Budget
	build := func(text []byte) (*placement, error) {
		p, err := buildPlacement(text)
		if err == nil {
			c.Observer.HashBuilt()
		}
		return p, err
	}
	measured := metered.New(c.Store, c.Measured)
	r := &reader{
		store:      measured,
		placements: newPlacementCache(min(maxPlacementBytes, room/4), c.Limits.Plans, build),
		tables:     newCache[tableKey](int(min(maxTableBytes, room/16)), (*planner.RoutingTable).Bytes),
		moves:      newCache[string](int(min(maxMovesBytes, room/16)), moveIndex.bytes),
	}
	engineOf := func(kind string, size int) *engine {
		slots := admission.NewSlots(size, c.Limits.Queue, func(d time.Duration) { c.Observer.Waited(kind, d) })
		return &engine{reader: r, slots: slots, longest: c.Limits.PlanTime, now: c.Now, observer: c.Observer}
	}
	return &Service{
		engine: engineOf("plans", c.Limits.Plans), trials: engineOf("analyses", c.Limits.Analyses),
		log: c.Logger, limits: c.Limits, memory: c.Memory, draining: c.Draining,
		hub: newHub(measured.Watch, c.Limits.Waiting), chooser: newChooser(),
	}
}

// Waiting is how many calls of Follow wait.
func (s *Service) Waiting() int { return s.hub.count() }

// Ready reports whether the store can be reached and has the schema that this build
// needs, within that time.
func (s *Service) Ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, store.ErrUnavailable)
	defer cancel()
	err := s.store.Ready(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, store.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return refusal.AboutStore(err)
}

// Run does until ctx ends what no call does: it writes down what has expired, removes what
// is too old, and chooses policies. Any number of processes may.
func (s *Service) Run(ctx context.Context) {
	var choosing sync.WaitGroup
	choosing.Go(func() { s.choose(ctx) })
	defer choosing.Wait()
	tick := time.NewTicker(s.limits.SweepEvery)
	defer tick.Stop()
	for {
		s.sweep(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// keep is how long idempotency keys are kept, and it is known of plans that they were
// purged.
var keep = store.Keep{Keys: 24 * time.Hour, MostKeys: 1_000_000, Purged: 30 * 24 * time.Hour}

// sweep does once what Run does again and again.
func (s *Service) sweep(ctx context.Context) {
	now, err := s.store.Now(ctx)
	if err == nil {
		var n int
		n, err = s.store.Expire(ctx, now)
		s.observer.Expired(n)
	}
	if err == nil {
		err = s.store.Tidy(ctx, now, keep)
	}
	// of that the log has it from when it began
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) {
		s.log.WarnContext(ctx, "sweeping failed, it is tried again", "in", s.limits.SweepEvery.String(), "error", err)
	}
}

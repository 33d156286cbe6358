package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"plannerd/internal/input/stored"
	"plannerd/internal/refusal"
	"plannerd/internal/service/announce"
	"plannerd/internal/service/archive"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/feed"
	"plannerd/internal/service/foresight"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/life"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
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

// Config is what a service needs. Draining and Webhooks alone may be left out.
type Config struct {
	Store    store.Store
	Measured metered.Options // of the store
	Observer reading.Observer
	Logger   *slog.Logger
	Now      func() time.Time
	Limits   Limits
	// Memory is what all calls together may hold. Caches take up to 3/8 as much besides.
	Memory *admission.Budget
	// Draining, when it is closed, ends calls of Follow.
	Draining <-chan struct{}
	// Webhooks say who is told what happens.
	Webhooks announce.Options
}

// Service is what can be done with operators and their plans.
type Service struct {
	*reading.Reader
	*intake.Intake
	*foresight.Forecaster
	*archive.Archive
	*feed.Feed
	*propose.Proposer
	*life.Life
	Claims *claim.Keeper

	plans, trials *scheme.Engine
	announcer     *announce.Announcer
	observer      reading.Observer
	log           *slog.Logger
	limits        Limits
}

// New returns a service.
func New(c Config) *Service {
	measured := metered.New(c.Store, c.Measured)
	r := reading.New(measured, c.Memory.Usage().Budget, c.Limits.Plans, c.Observer)
	engineOf := func(kind string, size int) *scheme.Engine {
		slots := admission.NewSlots(size, c.Limits.Queue, func(d time.Duration) { c.Observer.Waited(kind, d) })
		return &scheme.Engine{Reader: r, Slots: slots, Longest: c.Limits.PlanTime, Now: c.Now, Observer: c.Observer}
	}
	plans, trials := engineOf("plans", c.Limits.Plans), engineOf("analyses", c.Limits.Analyses)
	takes := &intake.Intake{History: &intake.History{Engine: plans}, MaxRows: c.Limits.Rows}
	forecaster := foresight.NewForecaster(takes, c.Memory, c.Logger)
	kept := &archive.Archive{Intake: takes}
	return &Service{
		Reader: r, Intake: takes, Forecaster: forecaster, Archive: kept,
		Feed:      feed.New(r, c.Limits.Waiting, c.Memory, c.Draining),
		Proposer:  &propose.Proposer{Forecaster: forecaster, Archive: kept, Trials: trials},
		Life:      &life.Life{Engine: plans},
		Claims:    &claim.Keeper{Store: measured, Log: c.Logger},
		announcer: announce.New(measured, c.Observer, c.Logger, c.Webhooks),
		plans:     plans, trials: trials, observer: c.Observer, log: c.Logger, limits: c.Limits,
	}
}

// Ready reports whether the store can be reached and has the schema that this build
// needs, within that time.
func (s *Service) Ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, store.ErrUnavailable)
	defer cancel()
	err := s.Store.Ready(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, store.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return refusal.AboutStore(err)
}

// NoticeDamage looks at an error that some call returned. If it says that what is stored cannot be
// read, the store writes nothing more, and the error is returned as a refusal. Other errors are
// returned as they are.
func (s *Service) NoticeDamage(ctx context.Context, err error) error {
	if errors.Is(err, stored.ErrCorrupt) && !errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return refusal.AboutStore(s.Store.NoticeDamage(ctx, err))
}

// Run does until ctx ends what no call does: it writes down what has expired, removes what
// is too old, chooses policies, and tells receivers of webhooks. Any number of processes may.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	beside.Go(func() { s.Choose(ctx) })
	beside.Go(func() { s.announcer.Run(ctx) })
	defer beside.Wait()
	tick := time.NewTicker(s.limits.SweepEvery)
	defer tick.Stop()
	var due time.Time
	for {
		s.sweep(ctx)
		if now := time.Now(); !now.Before(due) {
			s.verifyTables(ctx)
			due = now.Add(verifyEvery)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// keep is how long idempotency keys are kept, it is known of plans that they were purged, routers stay
// registered whose leases have run out, and webhooks are kept of which nobody takes any.
var keep = store.Keep{
	Keys: 24 * time.Hour, MostKeys: 1_000_000, Purged: 30 * 24 * time.Hour, Routers: 7 * 24 * time.Hour,
	Receiver: 7 * 24 * time.Hour, Events: 7 * 24 * time.Hour, MostEvents: 100_000,
}

// sweep does once what Run does again and again.
func (s *Service) sweep(ctx context.Context) {
	now, err := s.Store.Now(ctx)
	if err == nil {
		var n int
		n, err = s.Store.Expire(ctx, now)
		s.observer.Expired(n)
	}
	if err == nil {
		err = s.Store.Tidy(ctx, now, keep)
	}
	if err == nil {
		err = s.count(ctx, now)
	}
	// of that the log has it from when it began
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) {
		s.log.WarnContext(ctx, "sweeping failed, it is tried again", "in", s.limits.SweepEvery.String(), "error", err)
	}
}

// count tells metrics what waits.
func (s *Service) count(ctx context.Context, now time.Time) error {
	waiting, err := s.Store.WaitingPlans(ctx, now)
	if err != nil {
		return err
	}
	receivers, err := s.Store.Receivers(ctx)
	if err == nil {
		s.observer.Outstanding(now, waiting, receivers)
	}
	return err
}

// verifyEvery is how often the tables of all operators are read, from the start on, to find what
// is damaged before somebody routes by it.
const verifyEvery = time.Hour

func (s *Service) verifyTables(ctx context.Context) {
	for after := ""; ; {
		all, err := s.Store.Operators(ctx, after, scheme.PlansAtATime)
		if err != nil || len(all) == 0 {
			return
		}
		for _, op := range all {
			if err := s.Store.VerifyTable(ctx, op.Name); errors.Is(err, store.ErrDamaged) {
				s.log.ErrorContext(ctx, "the database is damaged, nothing more is written to it; see plannerd check", "error", err)
			}
		}
		after = all[len(all)-1].Name
	}
}

// Analyse runs an analysis when a slot for it is free, within the time of a plan.
func (s *Service) Analyse(ctx context.Context, name string, run func(context.Context) error) error {
	e := s.trials
	limited, cancel := context.WithTimeout(ctx, e.Longest)
	defer cancel()
	release, err := e.Slots.Take(ctx, e.Longest)
	if err != nil {
		return err
	}
	defer release()
	begin := time.Now()
	limited, end := e.Observer.Start(limited, "analyse", "plannerd.analysis", name)
	err = run(limited)
	end(err)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return refusal.New(refusal.Unfinished,
			fmt.Sprintf("The analysis takes longer than %v, the most that this server allows; ask for less.", e.Longest))
	case err == nil:
		e.Observer.Analysed(name, time.Since(begin))
	}
	return err
}

// PlanSlots tells how the slots of plans stand.
func (s *Service) PlanSlots() admission.SlotUsage { return s.plans.Slots.Usage() }

// AnalysisSlots tells how the slots of analyses, what-ifs and replays stand.
func (s *Service) AnalysisSlots() admission.SlotUsage { return s.trials.Slots.Usage() }

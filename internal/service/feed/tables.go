package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// heldByService reads an operator whose routing table the service holds.
func (s *Feed) heldByService(ctx context.Context, name string) (store.Operator, error) {
	op, err := s.StoredOperator(ctx, name)
	if err != nil {
		return op, err
	}
	return op, operator.RefuseNotHeld(op)
}

// TableState tells how the committed table that a query asks for stands.
func (s *Feed) TableState(ctx context.Context, q TableQuery) (TableState, error) {
	op, err := s.heldByService(ctx, q.Operator)
	if err != nil {
		return TableState{}, err
	}
	return stateOf(op, q.NextPlan)
}

// Table reads what a query asks for, into memory that the lease holds.
func (s *Feed) Table(ctx context.Context, q TableQuery, memory *admission.Lease) (*TableView, error) {
	op, err := s.heldByService(ctx, q.Operator)
	if err != nil {
		return nil, err
	}
	if q.Since != op.TableVersion || !q.means(op.TableOrigin) {
		if err := reading.HoldTable(memory, op); err != nil {
			return nil, err
		}
	}
	feed, config, err := s.readFeed(ctx, q)
	if err != nil {
		return nil, err
	}
	length := len(feed.Entries) + len(feed.Changes)
	if feed.Pending != nil {
		length += len(feed.Pending.Changes) + int(feed.Pending.Plan.MigrationKeys)
	}
	if err := memory.Settle(int64(length) * reading.EntryBytes); err != nil {
		return nil, err
	}
	v, err := s.view(ctx, q, feed, config)
	if err != nil || v.Next == "" {
		return v, err
	}
	if v.StartsAt, err = operator.StartsAt(op, op.ReadAt); !v.StartsAt.IsZero() {
		v.Next = ""
	}
	return v, err
}

// readFeed reads the table that q asks for, or its changes where they tell enough, and then the
// configuration by which they do.
func (s *Feed) readFeed(ctx context.Context, q TableQuery) (store.Feed, *operator.Configuration, error) {
	if q.Version != NotAsked {
		t, err := s.Store.Table(ctx, q.Operator, &q.Version)
		return store.Feed{
			Version: t.Version, Origin: t.Origin, ConfigVersion: t.ConfigVersion, Full: true, Entries: t.Entries,
		}, nil, refusal.AboutVersion(q.Operator, q.Version, err)
	}
	feed, err := s.Store.TableChanges(ctx, q.Operator, q.Since)
	if err != nil || feed.Full {
		return feed, nil, refusal.AboutOperator(q.Operator, err)
	}
	if q.means(feed.FromOrigin) {
		config, enough, err := s.changesTell(ctx, q.Operator, feed)
		if err != nil || enough {
			return feed, config, err
		}
	}
	feed, err = s.Store.TableChanges(ctx, q.Operator, NotAsked)
	return feed, nil, refusal.AboutOperator(q.Operator, err)
}

// changesTell returns the configuration that the table pins, and whether keys without an entry are
// where they were.
func (s *Feed) changesTell(ctx context.Context, name string, f store.Feed) (*operator.Configuration, bool, error) {
	now, err := s.Configuration(ctx, name, f.ConfigVersion)
	if err != nil {
		return nil, false, err
	}
	then := now
	if f.FromConfigVersion != f.ConfigVersion {
		if then, err = s.Configuration(ctx, name, f.FromConfigVersion); err != nil {
			return nil, false, err
		}
	}
	return &now, schemes.Named(now.Scheme).ChangesTell(then, now), nil
}

// view makes of a feed what there is to say. pinned is the configuration that its table pins; nil: it
// was not read yet.
func (s *Feed) view(ctx context.Context, q TableQuery, f store.Feed, pinned *operator.Configuration) (
	*TableView, error,
) {
	if pinned == nil {
		read, err := s.Configuration(ctx, q.Operator, f.ConfigVersion)
		if err != nil {
			return nil, err
		}
		pinned = &read
	}
	config := *pinned
	v := &TableView{
		TableState: TableState{Version: f.Version, Origin: f.Origin.String()},
		Scheme:     config.Scheme, ConfigVersion: f.ConfigVersion, Full: f.Full,
	}
	if f.Full {
		content, err := schemes.Named(config.Scheme).Table(config, f.Entries)
		if err != nil {
			return nil, err
		}
		v.Parts, v.Instances, v.Hash = []listing.Part{content.Part}, config.Instances, content.Hash
		v.Placement = config.Placement.Resolved(config.Instances)
		v.Choices, v.Routing, v.Serves = config.Choices(), content.Routing, config.Phase()
	} else {
		v.Parts = listing.ChangeParts(f.Changes)
	}
	v.Base64 = listing.PartsNeedBase64(v.Parts)
	if q.NextPlan {
		v.Next = f.Next
	}
	if f.Pending == nil {
		return v, nil
	}
	target, err := s.Configuration(ctx, q.Operator, f.Pending.Plan.ConfigVersion)
	if err != nil {
		return nil, err
	}
	parts, hash, err := schemes.Named(target.Scheme).Pending(ctx, s.Reader,
		scheme.PendingPlan{PendingChange: *f.Pending, Entries: f.Entries, Now: config, Target: target})
	if err != nil {
		return nil, err
	}
	v.Pending, v.Phase, v.ExecutorEpoch = f.Pending.Plan.ID, f.Pending.Plan.Status, f.Pending.Plan.Executor.Epoch
	v.NextPlan = &PendingTable{
		Plan: f.Pending.Plan, Hash: hash, Placement: target.Placement.Resolved(target.Instances),
		Routing: target.Splitting.Routing, Instances: target.Instances, Choices: target.Choices(), Parts: parts,
	}
	v.Base64 = v.Base64 || listing.PartsNeedBase64(parts)
	return v, nil
}

// Follow waits until the table has changed in the eyes of the caller, but no longer
// than wait, and hands it to answer, which must not keep it. If it has not changed the
// state is returned, and answered is false.
func (s *Feed) Follow(
	ctx context.Context, q TableQuery, wait time.Duration,
	hasChanged func(TableState) bool, answer func(*TableView) error,
) (state TableState, answered bool, err error) {
	sub, err := s.hub.subscribe(ctx, q.Operator)
	if err != nil {
		return state, false, refusal.AboutStore(err)
	}
	defer sub.leave()
	changed, generation := sub.mark()
	key := viewKey{TableQuery: q, generation: generation}
	if state, answered, err = s.answerState(ctx, key, hasChanged, answer); answered || err != nil {
		return state, answered, err
	}
	if wait, err = s.untilStart(ctx, state.StartsAt, wait); err != nil {
		return state, false, err
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return state, false, ctx.Err()
		case <-late.C: // an event may have been lost
			return s.answerState(ctx, key, hasChanged, answer)
		case <-s.draining:
			return state, false, nil
		}
		changed, key.generation = sub.mark()
		if answered, err := s.answerChange(ctx, key, hasChanged, answer); answered || err != nil {
			return state, answered, err
		}
	}
}

// NextPlan returns the plan that an operator's engine is to carry out: the approved one, or the one
// that is being carried out or given up, whose executor may have died. It waits that long for one; nil:
// there is none. A plan that breaks limits which nobody has agreed to cannot be started, nor one of an
// operator that is frozen, or outside of its windows: then startsAt is from when on it can, and the wait
// ends with that.
func (s *Feed) NextPlan(ctx context.Context, name string, wait time.Duration) (
	p *store.Plan, startsAt time.Time, err error,
) {
	sub, err := s.hub.subscribe(ctx, name)
	if err != nil {
		return nil, startsAt, refusal.AboutStore(err)
	}
	defer sub.leave()
	end := time.Now().Add(wait)
	for last := false; ; {
		changed, _ := sub.mark()
		if p, startsAt, err = s.toCarryOut(ctx, name); p != nil || err != nil || last {
			return p, startsAt, err
		}
		left, err := s.untilStart(ctx, startsAt, time.Until(end))
		if err != nil {
			return nil, startsAt, err
		}
		late := time.NewTimer(left)
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, startsAt, ctx.Err()
		case <-late.C: // an event may have been lost
			last = true
		case <-s.draining:
			return nil, startsAt, nil
		}
		late.Stop()
	}
}

// untilStart is how long to wait where a plan may be started at that time, by the store's clock.
func (s *Feed) untilStart(ctx context.Context, at time.Time, wait time.Duration) (time.Duration, error) {
	if at.IsZero() || wait <= 0 {
		return wait, nil
	}
	now, err := s.Store.Now(ctx)
	return min(wait, at.Sub(now)), refusal.AboutStore(err)
}

func (s *Feed) toCarryOut(ctx context.Context, name string) (_ *store.Plan, startsAt time.Time, err error) {
	op, err := s.StoredOperator(ctx, name)
	if err != nil || op.CurrentStatus != store.StatusApproved && !op.CurrentStatus.InFlight() {
		return nil, startsAt, err
	}
	if op.CurrentStatus == store.StatusApproved {
		if startsAt, err = operator.StartsAt(op, op.ReadAt); err != nil || !startsAt.IsZero() {
			return nil, startsAt, err
		}
	}
	p, err := s.Plan(ctx, op.CurrentPlan)
	if err != nil || p.Status == store.StatusApproved && p.LimitsChanged || p.Status.Ended() {
		return nil, startsAt, err
	}
	return &p, startsAt, nil
}

// answerState answers if the table has changed by now. Many come at once, as after a
// commit, so that what others read will do if it is as new.
func (s *Feed) answerState(
	ctx context.Context, key viewKey, hasChanged func(TableState) bool,
	answer func(*TableView) error,
) (state TableState, answered bool, err error) {
	if state, err = s.TableState(ctx, key.TableQuery); err != nil || !hasChanged(state) {
		return state, false, err
	}
	asNew := func(other TableState) bool { return other == state }
	if answered, err = s.answerChange(ctx, key, asNew, answer); answered || err != nil {
		return state, answered, err
	}
	return state, true, s.Current(ctx, key.TableQuery, state, answer)
}

// Current hands the committed table, as it was when it was in that state or later, to answer, which
// must not keep it. What several ask for at once is read once.
func (s *Feed) Current(ctx context.Context, q TableQuery, state TableState, answer func(*TableView) error) error {
	_, err := s.answerChange(ctx, viewKey{TableQuery: q, state: state}, func(TableState) bool { return true }, answer)
	return err
}

// answerChange answers if there is a change after an event. What all that want the same
// see is read once.
func (s *Feed) answerChange(
	ctx context.Context, key viewKey, hasChanged func(TableState) bool, answer func(*TableView) error,
) (answered bool, err error) {
	v, release, err := s.views.get(ctx, key, func(ctx context.Context) (*TableView, *admission.Lease, error) {
		return s.readShared(ctx, key.TableQuery)
	})
	if err != nil {
		return false, err
	}
	defer release()
	if !hasChanged(v.TableState) {
		return false, nil
	}
	return true, answer(v)
}

// readShared reads a table for all who ask for it: into memory that is for that alone, so that no
// other request keeps it out, or, where that is not enough, as any other request.
func (s *Feed) readShared(ctx context.Context, q TableQuery) (*TableView, *admission.Lease, error) {
	memory := s.shared.Lease(admission.WithCaller(ctx, ""))
	v, err := s.Table(ctx, q, memory)
	var exceeded *admission.ExceededError
	if errors.Is(err, admission.ErrFull) || errors.As(err, &exceeded) {
		memory.Release()
		memory = s.memory.Lease(ctx)
		v, err = s.Table(ctx, q, memory)
	}
	return v, memory, err
}

// Route says where the committed table of an operator puts a key. Of an instance that is
// asked it refuses that, unless it answers for the key.
func (s *Feed) Route(ctx context.Context, name string, key []byte, asked *int32) (scheme.Route, error) {
	op, entry, err := s.Store.Route(ctx, name, key)
	if err != nil {
		return scheme.Route{}, refusal.AboutOperator(name, err)
	}
	if err := operator.RefuseNotHeld(op); err != nil {
		return scheme.Route{}, err
	}
	f, err := operator.FixedChoicesOf(op)
	if err != nil {
		return scheme.Route{}, err
	}
	var routed []byte // nil: it is the key
	if f.Scheme == operator.SchemeTable {
		if routed, err = routedKey(ctx, s.Reader, op, key); err != nil {
			return scheme.Route{}, err
		}
	}
	if routed != nil {
		by := op.TableConfigVersion
		if op, entry, err = s.Store.Route(ctx, name, routed); err == nil && op.TableConfigVersion != by {
			err = refusal.Overtaken(store.ErrConfigurationChanged)
		}
		if err != nil {
			return scheme.Route{}, refusal.AboutOperator(name, err)
		}
		key = routed
	}
	r, err := schemes.Schemes[f.Scheme].Route(ctx, s.Reader, op, key, entry)
	r.RoutedKey = routed
	if asked == nil {
		return r, err
	}
	r.Pins = cmp.Or(r.Pins, op.TableConfigVersion)
	return r, s.answers(ctx, op, r, err, *asked)
}

// routedKey is the part of a key by which the committed table routes it; nil: all of it, under no affinity.
func routedKey(ctx context.Context, r *reading.Reader, op store.Operator, key []byte) ([]byte, error) {
	pinned, err := r.Pinned(ctx, op)
	if err != nil || pinned.Hash.Affinity.IsZero() {
		return nil, err
	}
	return pinned.Hash.Affinity.RoutedKey(key), nil
}

// answers refuses that an instance answers for a key with a route, or with the reason why
// it has none.
func (s *Feed) answers(ctx context.Context, op store.Operator, r scheme.Route, noRoute error, id int32) error {
	pinned, err := s.Configuration(ctx, op.Name, r.Pins)
	if err != nil {
		return err
	}
	if !pinned.Has(id) {
		newest, err := operator.DecodeConfiguration(op.Config)
		switch {
		case err != nil:
			return err
		case !newest.Has(id):
			return planner.Invalid("instance", "is not a known instance")
		}
		return refusal.New(refusal.NotServing,
			"The instance is joining: it answers for no key until a plan that includes it is committed.")
	}
	var refused *refusal.Error
	switch {
	case errors.As(noRoute, &refused) && refused.Reason == refusal.NobodyOwns:
		return refusal.New(refusal.NotServing, "No plan of the operator's key ranges was committed yet: "+
			"no instance answers for a key.")
	case noRoute != nil:
		return noRoute
	case pinned.Ranges != nil && pinned.Ranges.Phase == operator.PhasePut:
		return refusal.New(refusal.NotServing,
			"The input has not ended, or not all records are where they belong: no instance answers yet.")
	case !r.Has(id):
		return &refusal.Error{Reason: refusal.NotOwner,
			Detail: fmt.Sprintf("Instance %d answers for the key, by version %d of the table.",
				r.Instance, r.Version), Owner: &r.Instance}
	}
	return nil
}

// Feed tells routers of the committed tables.
type Feed struct {
	*reading.Reader
	hub      *hub
	views    views
	shared   *admission.Budget // of tables alone
	memory   *admission.Budget
	draining <-chan struct{}
}

// sharedPart: tables that requests share have this part of the memory of requests, besides that.
const sharedPart = 16

// New returns a feed on which so many calls of Follow may wait. Draining, when it is closed,
// ends them; it may be nil.
func New(r *reading.Reader, waiting int, memory *admission.Budget, draining <-chan struct{}) *Feed {
	return &Feed{
		Reader: r, hub: newHub(r.Store.Watch, waiting), views: views{all: map[viewKey]*view{}},
		shared: admission.NewBudget(memory.Usage().Budget/sharedPart, 0), memory: memory, draining: draining,
	}
}

// Waiting is how many calls of Follow wait.
func (s *Feed) Waiting() int { return s.hub.count() }

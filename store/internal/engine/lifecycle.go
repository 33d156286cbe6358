package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// CreatePlan implements [store.Store].
func (s *Store) CreatePlan(ctx context.Context, in store.NewPlan, by store.Transition) (p store.Plan,
	created bool, err error) {
	in.Version, in.ResolvedKeys, in.Executor, in.ExecutorSince, in.Acked = nil, nil, store.Executor{}, nil, nil
	in.Routers, in.Batches, in.BatchCount, in.BatchesDone, in.Stopping = nil, nil, int64(len(in.NewBatches)), 0, false
	in.SupersededBy, in.ApprovedBy, in.Latest, in.LimitsChanged = "", nil, nil, false
	if in.Status != store.StatusProposed {
		in.WaitsFor = nil
	}
	if in.Status != store.StatusProposed && in.Status != store.StatusApproved {
		in.ExpiresAt = nil
	}
	in.LeavesOpen = in.LeavesOpen && in.Status == store.StatusNoAction
	in.Awaited = slices.Compact(slices.Sorted(slices.Values(in.Awaited)))
	if in.BatchCount > 0 {
		in.Awaited = in.NewBatches[0].Awaited
	}
	if err := checkPlan(&in); err != nil {
		return store.Plan{}, false, err
	}
	in.Changes = sorted(in.Changes)
	diff, err := store.EncodeChanges(in.Changes) // before the transaction: it takes its time
	if err != nil {
		return store.Plan{}, false, fmt.Errorf("plan %q: %w", in.ID, err)
	}
	err = s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		p, created, err = createPlan(ctx, q, in, diff, repairTransition(by))
		return store.Outcome{Plan: p, Created: created}, err
	})
	if err != nil {
		return store.Plan{}, false, fmt.Errorf("creating a plan of operator %q, interval %d: %w", in.Operator,
			in.Interval, err)
	}
	return p, created, nil
}

func createPlan(ctx context.Context, q statements.Statements, in store.NewPlan, diff []byte,
	by store.Transition) (store.Plan,
	bool, error) {
	r, err := lock(ctx, q, in.Operator)
	if err != nil {
		return store.Plan{}, false, err
	}
	if _, err := expire(ctx, q, r, by.At); err != nil {
		return store.Plan{}, false, err
	}
	live, planned, err := livePlan(ctx, q, in.Operator, in.Epoch, in.Interval, in.Fingerprint, by.At)
	if err != nil {
		return store.Plan{}, false, err
	}
	if live.ID != "" && live.Fingerprint == in.Fingerprint {
		live, err = whole(ctx, q, live.ID)
		return live.Plan, false, err
	}
	if live.ID == in.Replaces && live.Status == store.StatusProposed {
		planned = false
	}
	err = cmp.Or(admit(r, in.Plan, planned), checkOrigin(ctx, q, r, in.BaseOrigin), checkReports(ctx, q, r, in))
	if err != nil {
		return store.Plan{}, false, err
	}
	if err := makeWay(ctx, q, r, in, by); err != nil {
		return store.Plan{}, false, err
	}
	beginInterval(&r, &in.Plan)
	p, err := insert(ctx, q, r.ID, in, diff, by)
	if err != nil {
		return store.Plan{}, false, err
	}
	if in.Evaluated != nil {
		if err := q.SetLatest(ctx, r.ID, *in.Evaluated); err != nil {
			return store.Plan{}, false, err
		}
	}
	if in.Status == store.StatusApproved {
		if err := supersedeApproved(ctx, q, r, in.ID, by); err != nil {
			return store.Plan{}, false, err
		}
	}
	if in.Status == store.StatusCommitted {
		if err := commit(ctx, q, &r, p, in.Changes, by); err != nil {
			return store.Plan{}, false, err
		}
	}
	if err := q.Save(ctx, r); err != nil {
		return store.Plan{}, false, err
	}
	if err := retain(ctx, q, r, in.Retention, by.At); err != nil {
		return store.Plan{}, false, err
	}
	if err := retainReports(ctx, q, r, in.Retention); err != nil {
		return store.Plan{}, false, err
	}
	p, err = whole(ctx, q, in.ID)
	return p.Plan, true, err
}

// beginInterval notes that the interval of a plan is the newest.
func beginInterval(r *statements.Row, p *store.Plan) {
	if p.Undo == nil || r.Epoch == nil {
		r.Epoch, r.Interval = &p.Epoch, &p.Interval
	}
}

// insert writes a plan with its long parts. One that is to be committed is
// approved until commit has made it a table version.
func insert(ctx context.Context, q statements.Statements, operator int64, in store.NewPlan, diff []byte,
	by store.Transition) (statements.PlanRow, error) {
	p := statements.PlanRow{Plan: in.Plan, Input: statements.InputNone}
	if p.Status == store.StatusCommitted {
		p.Status = store.StatusApproved
	}
	if in.Input != nil {
		p.Input = statements.InputKept
	}
	if len(in.Changes) > 0 {
		id, err := q.InsertDiff(ctx, operator, diff)
		if err != nil {
			return p, err
		}
		p.DiffID = &id
	}
	seq, err := q.InsertPlan(ctx, operator, p)
	if err != nil {
		return p, err
	}
	p.Seq = seq
	for _, part := range []struct {
		kind statements.BlobKind
		data []byte
	}{{statements.BlobMigrations, in.Migrations}, {statements.BlobInput, in.Input}, {statements.BlobAbsences, in.Absences},
		{statements.BlobForecast, in.ForecastState}} {
		if part.data == nil {
			continue
		}
		if err := q.InsertBlob(ctx, p.Seq, part.kind, part.data); err != nil {
			return p, err
		}
	}
	if err := insertBatches(ctx, q, p.Seq, in.NewBatches); err != nil {
		return p, err
	}
	by.From, by.To = "", in.Status
	return p, q.InsertTransition(ctx, p.Seq, by)
}

// admit tells whether a plan may be created, as far as what was planned before
// says. planned: its interval has a plan that counts.
func admit(r statements.Row, p store.Plan, planned bool) error {
	if err := checkInterval(r, p.Epoch, p.Interval, planned); err != nil && p.Undo == nil {
		return err
	}
	if p.ConfigVersion != r.ConfigVersion {
		return fmt.Errorf("planned for version %d, now it has version %d: %w", p.ConfigVersion, r.ConfigVersion,
			store.ErrConfigurationChanged)
	}
	if p.BaseVersion != r.TableVersion {
		return fmt.Errorf("planned on version %d, now it has version %d: %w", p.BaseVersion, r.TableVersion,
			store.ErrBaseChanged)
	}
	return nil
}

// checkOrigin tells whether the committed table has the origin of the one that was planned on. It
// has another one where the database went on from an older state meanwhile.
func checkOrigin(ctx context.Context, q statements.Statements, r statements.Row, origin string) error {
	if origin == "" {
		return nil
	}
	newest, err := q.TableVersion(ctx, r.ID, r.TableVersion)
	if err == nil && newest.Origin().String() != origin {
		err = fmt.Errorf("planned on another version %d: %w", r.TableVersion, store.ErrBaseChanged)
	}
	return err
}

// checkInterval orders intervals within an epoch, and epochs before them.
func checkInterval(r statements.Row, epoch, interval int64, planned bool) error {
	switch {
	case r.Epoch != nil && epoch < *r.Epoch:
		return fmt.Errorf("epoch %d is the newest: %w", *r.Epoch, store.ErrFenced)
	case planned:
		return store.ErrIntervalPlanned
	case r.Epoch != nil && epoch == *r.Epoch && interval < *r.Interval:
		return fmt.Errorf("interval %d is the newest: %w", *r.Interval, store.ErrIntervalOutdated)
	}
	return nil
}

// makeWay deals with the plan that is being applied and with those that wait for
// approval, before another one is created.
func makeWay(ctx context.Context, q statements.Statements, r statements.Row, in store.NewPlan,
	by store.Transition) error {
	idle := in.Status == store.StatusNoAction
	if idle && in.Replaces == "" {
		return nil
	}
	if !idle {
		if err := cmp.Or(notFrozen(ctx, q, r, by.At), noneInFlight(ctx, q, r, 0)); err != nil {
			return err
		}
	}
	proposed, err := q.InStatus(ctx, r.ID, store.StatusProposed)
	if err != nil {
		return err
	}
	by.Reason = fmt.Sprintf("plan %s replaces it", in.ID)
	for _, p := range proposed {
		switch {
		case p.ID == in.Replaces:
		case idle:
			continue
		case in.OnPending != store.PendingReplace:
			return fmt.Errorf("plan %q: %w", p.ID, store.ErrPlanPending)
		}
		if err := supersede(ctx, q, p, in.ID, by); err != nil {
			return err
		}
	}
	return nil
}

// commit makes a plan the newest table version. The caller saves r.
// changes are the plan's; where the engine holds the table, nobody asks for them.
func commit(ctx context.Context, q statements.Statements, r *statements.Row, p statements.PlanRow,
	changes []store.Change, by store.Transition) error {
	if p.EngineTable {
		var err error
		if changes, p.DiffID, err = handOver(ctx, q, *r); err != nil {
			return err
		}
	}
	version := r.TableVersion + 1
	if err := q.SetStatus(ctx, p.Seq, store.StatusCommitted, &version); err != nil {
		return err
	}
	if p.BatchCount > 0 { // they were handed over at once
		if err := q.SetBatchesDone(ctx, p.Seq, 1, p.BatchCount, version); err != nil {
			return err
		}
	}
	return advance(ctx, q, r, p, changes, by)
}

// advance makes the newest table version of a plan's changes, or those of a batch of it,
// whose diff p has. The caller saves r.
func advance(ctx context.Context, q statements.Statements, r *statements.Row, p statements.PlanRow,
	changes []store.Change, by store.Transition) error {
	sets, moves, unsets := split(changes)
	if err := q.Apply(ctx, r.ID, sets, moves, unsets); err != nil {
		return err
	}
	before, err := q.TableVersion(ctx, r.ID, r.TableVersion)
	if err != nil {
		return err
	}
	sum, err := checksumAfter(ctx, q, before, r.ID, changes)
	if err != nil {
		return err
	}
	r.TableVersion++
	r.TableConfigVersion = p.ConfigVersion
	r.TableSize += int64(len(sets) - len(unsets))
	r.UpdatedAt = by.At
	version := statements.TableVersion{
		Version: r.TableVersion, ConfigVersion: p.ConfigVersion, PlanID: &p.ID, DiffID: p.DiffID, CreatedAt: by.At,
		Checksum: sum.stored(),
	}
	if err := q.InsertTableVersion(ctx, r.ID, version); err != nil {
		return err
	}
	by.Reason = fmt.Sprintf("plan %s was committed", p.ID)
	if err := supersedeWaiting(ctx, q, *r, p.ID, by); err != nil {
		return err
	}
	return q.Tell(ctx, r.Name)
}

// supersedeWaiting ends the operator's plans that wait: their base is no longer the
// committed table. successor is the plan that was committed, if one was.
func supersedeWaiting(ctx context.Context, q statements.Statements, r statements.Row, successor string,
	by store.Transition) error {
	waiting, err := q.InStatus(ctx, r.ID, store.StatusProposed, store.StatusApproved)
	if err != nil {
		return err
	}
	for _, p := range waiting {
		if err := supersede(ctx, q, p, successor, by); err != nil {
			return err
		}
	}
	return nil
}

// supersede ends a plan whose place another one takes; successor is that one, or "".
func supersede(ctx context.Context, q statements.Statements, p statements.PlanRow, successor string,
	by store.Transition) error {
	by.From, by.To = p.Status, store.StatusSuperseded
	if err := q.InsertTransition(ctx, p.Seq, by); err != nil {
		return err
	}
	return q.Supersede(ctx, p.Seq, successor)
}

// retain removes what keep does not keep. Counts are of plans as created and of
// table versions as numbered, the committed one included. The plan of the
// committed table and one that is being applied stay in any case.
func retain(ctx context.Context, q statements.Statements, r statements.Row, keep store.Retention, at time.Time) error {
	err := older(ctx, q, r, keep.Inputs, func(upTo int64) error { return q.PurgeInputs(ctx, r.ID, upTo) })
	if err != nil {
		return err
	}
	err = older(ctx, q, r, keep.Plans, func(upTo int64) error { return q.PurgePlans(ctx, r.ID, upTo, r.TableVersion, at) })
	if err != nil {
		return err
	}
	if keep.Versions > 0 {
		return q.PurgeTableVersions(ctx, r.ID, r.TableVersion-int64(keep.Versions))
	}
	return nil
}

// older calls purge if there are plans beyond the newest n; 0 keeps all.
func older(ctx context.Context, q statements.Statements, r statements.Row, n int, purge func(upTo int64) error) error {
	if n <= 0 {
		return nil
	}
	upTo, err := q.OlderThanNewest(ctx, r.ID, n)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return purge(upTo)
}

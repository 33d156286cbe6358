package propose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/archive"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/foresight"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/store"
)

// planAttempts is how often a plan is made when another request is faster to change
// what it is made of.
const planAttempts = 3

// Propose makes and stores the plan of an operator's statistics, or finds the one that
// was made of them before.
func (s *Proposer) Propose(ctx context.Context, name string, in intake.Proposal) (*intake.StoredPlan, error) {
	var err error
	decoded := in.Memory.Used()
	for range planAttempts {
		if err = in.Memory.Settle(decoded + in.PlanBytes()); err != nil {
			break
		}
		var p *intake.StoredPlan
		if p, err = s.tryPropose(ctx, name, in); err == nil {
			return p, nil
		}
		if !errors.Is(err, refusal.ErrOvertaken) {
			break
		}
	}
	if errors.Is(err, errTwin) { // its configuration or its table changed each time
		err = refusal.New(refusal.ConfigurationChanged, "The operator keeps changing while planning; try again.")
	}
	return nil, err
}

func (s *Proposer) tryPropose(ctx context.Context, name string, in intake.Proposal) (*intake.StoredPlan, error) {
	b, err := schemes.Load(ctx, s.Reader, name, in.Memory)
	if err != nil {
		return nil, err
	}
	if err := in.Memory.Reserve(in.ResourceBytes(b.Newest.Resources)); err != nil {
		return nil, err
	}
	d := draft{by: in.By, claim: in.Claim, hash: "reports"}
	if in.Reports == nil {
		d.hash = in.Hash()
	}
	// A plan of reports is identified by its interval alone: reports are closed once
	// that has its plan.
	if p, err := s.findPlan(ctx, b, in.Statistics, d.hash); p != nil || err != nil {
		if err := s.unlessStale(ctx, b, err); err != nil {
			return nil, err
		}
		return p, nil
	}
	d.source = in.Identity(d.hash, b.Op.ConfigVersion, b.Op.TableVersion)
	d.fingerprint = d.source
	if err := in.Memory.Reserve(in.GroupBytes(b.Newest.Hash.Affinity)); err != nil {
		return nil, err
	}
	if d.Statistics, err = in.Grouped(b.Newest.Hash.Affinity, b.Regrouped()); err != nil {
		return nil, s.unlessStale(ctx, b, err)
	}
	if in.Reports != nil {
		if d.merged, err = s.Merge(ctx, b, in); err != nil {
			return nil, err
		}
		d.Statistics = d.merged.Statistics
		d.hash = d.Hash()
	}
	if err := schemes.Admit(b, d.Statistics); err != nil {
		return nil, s.unlessStale(ctx, b, d.merged.Refusal(d.InRows(err)))
	}
	if b.Absences.Before, err = s.AbsencesBefore(ctx, b, d.Statistics); err != nil {
		return nil, err
	}
	begin := s.Now()
	observed := *d.Statistics
	d.Statistics = &observed
	out, err := s.computePlan(ctx, b, d.Statistics, in.Memory)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case err != nil:
		return nil, d.merged.Refusal(d.InRows(err))
	}
	d.merged.Note(out.Result)
	if d.reports, err = d.merged.Encode(out.Result); err != nil {
		return nil, err
	}
	if err := in.Memory.Reserve(out.AnswerBytes()); err != nil {
		return nil, err
	}
	if out.small && in.Reports != nil { // others may come, so it is identified by these
		d.source = in.Identity(d.hash, b.Op.ConfigVersion, b.Op.TableVersion)
		d.fingerprint = d.source
	}
	if out.returned, err = s.Returned(ctx, b, d.Statistics, out.Result, in.Memory); err != nil {
		return nil, err
	}
	out.Took = s.Now().Sub(begin)
	d.outcome, d.parameters = out, d.Over(b.Newest.Planned())
	return s.keep(ctx, b, d)
}

// unlessStale returns a refusal, or none, and marks what rests on a configuration or a
// table that is no longer the operator's: together with what was read after them it may
// never have been true. A plan that was found rests on the configuration alone.
func (s *Proposer) unlessStale(ctx context.Context, b *scheme.Base, refused error) error {
	op, err := s.Store.Operator(ctx, b.Op.Name)
	switch {
	case err != nil: // who cannot look cannot say either that a refusal holds
		return refusal.AboutOperator(b.Op.Name, err)
	case refused == nil && op.ConfigVersion != b.Op.ConfigVersion:
		return refusal.AboutOperator(b.Op.Name, refusal.Overtaken(store.ErrConfigurationChanged))
	case refused != nil && (op.ConfigVersion != b.Op.ConfigVersion || op.TableVersion != b.Op.TableVersion):
		return fmt.Errorf("%w: %w", refusal.ErrOvertaken, refused)
	}
	return refused
}

// mostPlansOfInterval is how many plans of one interval are looked through.
const mostPlansOfInterval = 1000

// findPlan looks for the plan that was made of the same statistics before: on the
// committed table, or, when the interval can have no other plan, on the table that was
// committed then. It returns nil when there is none and one may be made.
func (s *Proposer) findPlan(ctx context.Context, b *scheme.Base, st *scheme.Statistics,
	hash string) (*intake.StoredPlan, error) {
	name, epoch, interval := b.Op.Name, st.Epoch, st.Interval
	p, err := s.Store.FindPlan(ctx, name, epoch, interval, st.Identity(hash, b.Op.ConfigVersion, b.Op.TableVersion))
	if err == nil {
		return s.load(ctx, p)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, refusal.AboutOperator(name, err)
	}
	refused := s.Store.CheckInterval(ctx, name, epoch, interval)
	if refused == nil {
		return nil, nil
	}
	if errors.Is(refused, store.ErrIntervalPlanned) || errors.Is(refused, store.ErrIntervalOutdated) ||
		errors.Is(refused, store.ErrFenced) {
		earlier, _, err := s.Store.Plans(ctx, store.PlanFilter{Operator: name, Interval: &interval,
			Limit: mostPlansOfInterval})
		if err != nil {
			return nil, refusal.AboutOperator(name, err)
		}
		planned := errors.Is(refused, store.ErrIntervalPlanned)
		for _, p := range slices.DeleteFunc(earlier, func(p store.Plan) bool { return p.Epoch != epoch || p.Undo != nil }) {
			if p.Fingerprint != st.Identity(hash, b.Op.ConfigVersion, p.BaseVersion) || planned && p.Status.Ended() {
				if planned && !p.Status.Ended() {
					return nil, intervalPlanned(p, refused)
				}
				continue
			}
			whole, err := s.Plan(ctx, p.ID)
			if err != nil {
				return nil, err
			}
			return s.load(ctx, whole)
		}
	}
	return nil, refusal.AboutOperator(name, refused)
}

// intervalPlanned refuses another plan of an interval that has one.
func intervalPlanned(p store.Plan, err error) error {
	return &refusal.Error{Reason: refusal.IntervalPlanned, Detail: fmt.Sprintf(
		"The interval has plan %s, which is %s: it was made of other statistics or under another configuration.", p.ID,
		p.Status), Err: err}
}

// load adds its lists to a stored plan.
func (s *Proposer) load(ctx context.Context, p store.Plan) (*intake.StoredPlan, error) {
	lists, err := s.Archive.ListsHeld(ctx, p, true, true)
	return &intake.StoredPlan{Plan: p, Lists: lists}, err
}

// draft is a computed plan that is to be stored, with what the record says besides.
type draft struct {
	outcome
	*scheme.Statistics
	parameters  operator.Parameters
	merged      *intake.MergedReports // nil: the statistics came whole
	hash        string                // of the statistics
	fingerprint string                // of the plan
	source      string                // the fingerprint of the plan that has the statistics
	reports     []byte                // JSON; nil: the statistics came whole
	replaces    string                // the plan whose place it takes; "": none
	by          store.Transition
	claim       *claim.Claim[*intake.StoredPlan]
}

// errTwin: another request has made the same plan; its lists are not at hand yet.
var errTwin = fmt.Errorf("the same plan was made meanwhile: %w", refusal.ErrOvertaken)

// keep stores a plan.
func (s *Proposer) keep(ctx context.Context, b *scheme.Base, d draft) (*intake.StoredPlan, error) {
	begin := s.Now()
	form := store.Form(0)
	switch {
	case d.Statistics.Statistics != nil && len(d.Costs) > 0:
		form = store.FormResources
	case d.Classes != nil && d.Snapshot.Named > 0:
		form = store.FormNamedKeys
	}
	if form > 0 {
		if err := s.RequireForms(ctx, form); err != nil {
			return nil, err
		}
	}
	levels, err := foresight.LevelsOf(b, d.Result)
	if err != nil {
		return nil, err
	}
	at, err := s.Store.Now(ctx)
	if err != nil {
		return nil, refusal.AboutStore(err)
	}
	record, err := recordOf(b, d, at)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // encoding has stopped, perhaps
		return nil, ctx.Err()
	}
	d.by.At = at
	lists := d.ListsWith(record.Changes)
	p, created, err := s.Store.CreatePlan(d.claim.Completing(ctx, func(out store.Outcome) (*intake.StoredPlan, error) {
		if !out.Created {
			return nil, errTwin
		}
		return &intake.StoredPlan{Plan: out.Plan, Lists: lists, Created: true}, nil
	}), record, d.by)
	if err != nil {
		return nil, refusal.AboutOperator(b.Op.Name, refusal.Overtaken(err))
	}
	if !created {
		return s.load(ctx, p)
	}
	s.Observer.Created(p, d.Result.Plan, levels)
	s.Planned(b)
	took := s.Now().Sub(begin)
	return &intake.StoredPlan{Plan: p, Lists: lists, Created: true, Persist: &took}, nil
}

// recordOf is a plan as the store takes it.
func recordOf(b *scheme.Base, d draft, at time.Time) (store.NewPlan, error) {
	f, err := d.figures()
	if err != nil {
		return store.NewPlan{}, err
	}
	f.InputHash, f.Reports, f.DecodeMS, f.PlanMS = d.hash, d.reports, Milliseconds(d.Decode), Milliseconds(d.Took)
	id, err := uuid.NewV7()
	if err != nil {
		return store.NewPlan{}, fmt.Errorf("making an id: %w", err)
	}
	parameters, err := b.Newest.EncodeParameters(d.parameters)
	if err != nil {
		return store.NewPlan{}, err
	}
	p := store.Plan{
		ID: id.String(), Operator: b.Op.Name, Epoch: d.Epoch, Interval: d.Interval, Status: d.Status(),
		Scheme: string(b.Newest.Scheme), Strategy: d.Strategy, Parameters: parameters,
		BaseVersion: b.Op.TableVersion, ConfigVersion: b.Op.ConfigVersion,
		Fingerprint: d.fingerprint, Source: d.source, Outdated: d.Outdated(b.Op.TableVersion), CreatedAt: at, Figures: f,
		Classes: d.OfClasses(), EngineTable: b.EngineHolds(), Approvers: b.Newest.Approval.Approvers,
	}
	if d.undo != nil {
		if p.Undo, err = json.Marshal(d.undo); err != nil {
			return store.NewPlan{}, fmt.Errorf("encoding what a plan undoes: %w", err)
		}
	}
	p.LeavesOpen = d.small && p.Status == store.StatusNoAction
	if p.Status == store.StatusApproved {
		p.WaitsFor = figures.ReasonsText(waitsFor(b.Newest.ApprovalRule, d.outcome))
		p.Status = operator.FirstStatus(len(p.WaitsFor) > 0)
		since := at
		if p.Status == store.StatusApproved {
			since = b.Newest.StartsFrom(at)
		}
		p.ExpiresAt = b.Newest.Expiry(since)
		p.Awaited = awaitedBy(b, d.Result)
	}
	batched, err := batchesOf(b, d.Result, p.Status)
	if err != nil {
		return store.NewPlan{}, err
	}
	evaluated, err := d.evaluation(p)
	if err != nil {
		return store.NewPlan{}, err
	}
	out := store.NewPlan{
		Plan: p, BaseOrigin: b.Op.TableOrigin.String(), Evaluated: evaluated, Changes: d.Changes(),
		NewBatches: batched, Retention: b.Newest.StoreRetention(),
		OnPending: b.Newest.OnPending(), Replaces: d.replaces,
		Migrations: d.EncodedMigrations(b.Changed && !b.EngineHolds()), Input: storedInput(b, d.Statistics),
		Absences: b.AbsencesIn(d.Statistics, d.Snapshot).Encode(),
	}
	if b.Foreseen != nil && b.Foreseen.State != nil {
		out.ForecastState = b.Foreseen.State.Encode()
	}
	if d.merged != nil {
		out.LastReports = d.merged.Last
	}
	return out, nil
}

// storedInput returns the statistics as the store keeps them; nil when it is to keep
// none, or nobody waits for the plan any more.
func storedInput(b *scheme.Base, st *scheme.Statistics) []byte {
	switch {
	case !b.Newest.StoreInputs:
		return nil
	case st.Records != nil:
		return stored.EncodeCompact(st.Records)
	}
	return stored.EncodeInputUntil(st.Statistics, st.Added, b.Stop)
}

// Milliseconds is a duration in milliseconds, to the microsecond.
func Milliseconds(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }

// Proposer makes plans.
type Proposer struct {
	*foresight.Forecaster
	Archive *archive.Archive
	Trials  *scheme.Engine // computes what changes nothing
}

package propose

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/table"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/planner/policy"
	"plannerd/store"
)

// Replay is a stored plan with what it was made of, ready to be planned again.
type Replay struct {
	store.Plan
	Statistics *scheme.Statistics

	planner *Proposer
	base    *scheme.Base
	memory  *admission.Lease
}

// Replay reads what a stored plan was made of, into memory that the lease holds.
func (s *Proposer) Replay(ctx context.Context, id string, memory *admission.Lease) (*Replay, error) {
	p, err := s.Plan(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := schemes.Of(p).RefuseTable(); err != nil {
		return nil, err
	}
	r := &Replay{Plan: p, planner: s, memory: memory}
	if r.base, err = schemes.LoadAgain(ctx, s.Reader, p, memory); err != nil {
		return nil, err
	}
	begin := s.Now()
	if r.Statistics, err = s.InputOf(ctx, p, memory); err != nil {
		return nil, err
	}
	r.Statistics.Decode = s.Now().Sub(begin)
	err = r.foresee(ctx)
	return r, err
}

// NewestPlan is the id of the plan of an operator that was made last.
func (s *Proposer) NewestPlan(ctx context.Context, name string) (string, error) {
	if err := s.CheckOperator(ctx, name); err != nil {
		return "", err
	}
	plans, _, err := s.Store.Plans(ctx, store.PlanFilter{Operator: name, Limit: 1})
	switch {
	case err != nil:
		return "", refusal.AboutOperator(name, err)
	case len(plans) == 0:
		return "", refusal.New(refusal.PlanNotFound, "The operator has no plan, so there are no statistics to plan on.")
	}
	return plans[0].ID, nil
}

// foresee reads what the plan expected of the next interval.
func (r *Replay) foresee(ctx context.Context) error {
	told, err := scheme.ForesightOf(r.Plan)
	if told == nil || err != nil {
		return err
	}
	f := &scheme.Foreseen{Policy: told.Policy, Chosen: told.Chosen}
	if f.State, err = r.planner.StateAfter(ctx, r.Plan, r.memory); err != nil {
		return err
	}
	if f.State == nil {
		return refusal.New(refusal.Purged, "The data from which the plan's forecast was made are no longer kept.")
	}
	if f.Forecast, err = f.State.Again(r.Statistics.Statistics); err == nil {
		r.base.ForeseeOf(r.Statistics, f)
	}
	return err
}

// Parameters are those that the plan was made under. One that its deadline cut off did
// as much work as it says.
func (r *Replay) Parameters() (operator.Parameters, error) {
	p, err := reading.ParametersOf(r.Plan)
	if err == nil && r.EndReason == string(planner.EndStopped) {
		p.Deadline, p.WorkBudget = nil, max(1, r.WorkUnits)
	}
	return p, err
}

// retargeted is what a trial rests on.
func (r *Replay) retargeted(ctx context.Context, t Trial) (*scheme.Base, error) {
	b := *r.base
	var err error
	if b.Newest, err = r.planner.retargeted(ctx, r.base.Newest, t); err != nil || b.Newest == r.base.Newest {
		return r.base, err
	}
	b.Changed = !operator.SamePlacement(b.Pinned.Configuration, b.Newest.Configuration)
	b.Filling = table.Added(b.Pinned, b.Newest)
	return &b, nil
}

// Configuration is what the plan was made under.
func (r *Replay) Configuration() operator.Configuration { return r.base.Newest.Configuration }

// input is what a plan is made of.
func (r *Replay) input(b *scheme.Base) (*scheme.Input, error) {
	in, err := table.Input(b, r.Statistics)
	if err == nil {
		// A replay is there to plan: nothing holds it back.
		was := b.Policy()
		in.Foreseen, in.Policy = r.base.Foreseen, policy.Policy{TargetTheta: was.TargetTheta, Budget: was.Budget}
		in.Drifted = r.DriftedKeys // reports count more of them than the table tells
	}
	return in, err
}

// finish makes of a result what would be stored of it.
func (r *Replay) finish(b *scheme.Base, o *scheme.Result) {
	table.CorrectSizes(b, o)
	o.LeaveIdle()
	if slices.Contains(r.Causes, string(figures.CauseCarried)) {
		o.Causes = append(o.Causes, figures.CauseCarried)
	}
}

// Try plans all that is to be tried in place of the plan; see [Proposer.WhatIf].
func (r *Replay) Try(ctx context.Context, trials []Trial, lists bool) (results []*scheme.Result, front []bool,
	err error) {
	in := WhatIf{Statistics: r.Statistics, Configuration: r.Configuration(), Trials: trials, Lists: lists,
		Memory: r.memory}
	var base *scheme.Base // of the trials that are planned now
	prepare := func(t Trial) (in *scheme.Input, err error) {
		if base, err = r.retargeted(ctx, t); err != nil {
			return nil, err
		}
		return r.input(base)
	}
	return r.planner.tryAll(ctx, in, prepare, func(o *scheme.Result) { r.finish(base, o) })
}

// ReplayProposal is a result of a replay that is to be a plan of the operator.
type ReplayProposal struct {
	Trial
	By store.Transition
	// Replace: it takes the place of the plan that was replayed, if that waits for approval
	// still. Both happen, or neither does.
	Replace bool
	Claim   *claim.Claim[*intake.StoredPlan]
}

// Propose makes the result of one trial a plan of the operator.
func (r *Replay) Propose(ctx context.Context, in ReplayProposal) (*intake.StoredPlan, error) {
	p, err := r.propose(ctx, in)
	if errors.Is(err, errTwin) {
		p, err = r.propose(ctx, in)
	}
	return p, err
}

func (r *Replay) propose(ctx context.Context, t ReplayProposal) (*intake.StoredPlan, error) {
	s := r.planner
	fingerprint, err := r.fingerprint(t.Trial)
	if err != nil {
		return nil, err
	}
	// What another request proposes meanwhile may be why this one is refused: so the
	// same plan is looked for afterwards.
	replaces := ""
	if t.Replace && r.Status == store.StatusProposed {
		replaces = r.ID
	}
	refused := s.proposable(ctx, r.Plan)
	if replaces != "" && errors.Is(refused, store.ErrIntervalPlanned) {
		refused = nil // by the plan that is replaced, or else the store says so
	}
	p, err := s.Store.FindPlan(ctx, r.Operator, r.Epoch, r.Interval, fingerprint)
	switch {
	case err == nil:
		return s.load(ctx, p)
	case !errors.Is(err, store.ErrNotFound):
		return nil, refusal.AboutOperator(r.Operator, err)
	case refused != nil:
		return nil, refused
	}
	need := r.Statistics.PlanBytes() + r.Statistics.ResourceBytes(r.base.Newest.Resources)
	if err := r.memory.Settle(r.memory.Used() + need); err != nil {
		return nil, err
	}
	begin := s.Now()
	in, err := r.input(r.base)
	if err != nil {
		return nil, err
	}
	result, err := s.Run(ctx, t.Strategy, in, t.Parameters)
	if err != nil {
		return nil, err
	}
	r.finish(r.base, result)
	if err := r.memory.Reserve(result.AnswerBytes()); err != nil {
		return nil, err
	}
	if r.base.Before, _, err = s.LastAccepted(ctx, r.base, r.Statistics); err != nil {
		return nil, err
	}
	out := outcome{Result: result, small: intake.IsSmall(r.Plan)}
	if out.returned, err = s.Returned(ctx, r.base, r.Statistics, result, r.memory); err != nil {
		return nil, err
	}
	out.Took = s.Now().Sub(begin)
	return s.keep(ctx, r.base, draft{
		outcome: out, Statistics: r.Statistics, parameters: t.Parameters, hash: r.InputHash,
		fingerprint: fingerprint, source: r.Source, reports: r.Reports, by: t.By, claim: t.Claim, replaces: replaces,
	})
}

// proposable refuses what the store would refuse too, before it is planned.
func (s *Proposer) proposable(ctx context.Context, p store.Plan) error {
	op, err := s.StoredOperator(ctx, p.Operator)
	switch {
	case err != nil:
		return err
	case op.TableVersion != p.BaseVersion:
		return refusal.AboutPlan(p.ID, store.ErrBaseChanged)
	case op.ConfigVersion != p.ConfigVersion:
		return refusal.New(refusal.ConfigurationChanged, "The plan was made under an older configuration of the operator.")
	}
	return refusal.AboutOperator(p.Operator, s.Store.CheckInterval(ctx, p.Operator, p.Epoch, p.Interval))
}

// fingerprint identifies what a replay makes of the plan's statistics.
func (r *Replay) fingerprint(t Trial) (string, error) {
	text, err := r.base.Newest.EncodeParameters(t.Parameters)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return r.Source + "/replay-" + t.Strategy + "-" + hex.EncodeToString(sum[:16]), nil
}

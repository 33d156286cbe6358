package propose

import (
	"context"
	"errors"
	"fmt"

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
	"plannerd/store"
)

// Undo is the plan that would bring the routing table of an earlier version back.
type Undo struct {
	*scheme.Result
	figures.Undo
	Base int64 // the committed version, which it changes

	planner    *Proposer
	base       *scheme.Base
	source     store.Plan // whose statistics its figures are of
	statistics *scheme.Statistics
}

// Undo works out what would bring the table of a version back, nil: that before the committed one,
// under the newest statistics that are kept. Nothing is stored.
func (s *Proposer) Undo(ctx context.Context, name string, version *int64, memory *admission.Lease) (*Undo, error) {
	b, err := schemes.Load(ctx, s.Reader, name, memory)
	if err != nil {
		return nil, err
	}
	if err := undoable(b); err != nil {
		return nil, err
	}
	if version == nil {
		version = new(b.Op.TableVersion - 1)
	}
	if *version < 0 || *version >= b.Op.TableVersion {
		return nil, planner.Invalid("to_version", fmt.Sprintf(
			"must be a version before the committed one, which is %d", b.Op.TableVersion))
	}
	u := &Undo{Undo: figures.Undo{ToVersion: *version}, Base: b.Op.TableVersion, planner: s, base: b}
	if u.source, u.statistics, err = s.newestInput(ctx, b, memory); err != nil {
		return nil, err
	}
	stored, err := s.Store.Table(ctx, name, version)
	if err != nil {
		return nil, refusal.AboutVersion(name, *version, err)
	}
	under, err := s.Placement(ctx, name, stored.ConfigVersion)
	if err != nil {
		return nil, err
	}
	if under.Hash.Affinity != b.Newest.Hash.Affinity {
		return nil, planner.Invalid("to_version", "is a table of other routed keys: its affinity is another one")
	}
	rows := int64(len(stored.Entries)) * (reading.EntryBytes + reading.PlanRowBytes)
	if err := memory.Settle(memory.Used() + u.statistics.PlanBytes() + rows); err != nil {
		return nil, err
	}
	then, err := reading.PlannerTable(stored.Entries)
	if err != nil {
		return nil, err
	}
	begin := s.Now()
	if u.Result, u.LeftKeys, err = table.Restore(ctx, s.Engine, b, u.statistics, then); err != nil {
		return nil, unfit(u.source, err)
	}
	u.Took = s.Now().Sub(begin)
	if u.Status() == store.StatusNoAction {
		return nil, planner.Invalid("to_version", fmt.Sprintf("has nothing to bring back: by the statistics of "+
			"interval %d, the newest, version %d moves no key, or none that can be moved", u.source.Interval, *version))
	}
	return u, nil
}

// Interval is that of the statistics which its figures are of.
func (u *Undo) Interval() int64 { return u.source.Interval }

// undoable refuses operators whose earlier tables say nothing.
func undoable(b *scheme.Base) error {
	if b.EngineHolds() {
		return refusal.New(refusal.TableNotHeld,
			"The engine holds the routing table, so no entries of earlier versions are kept here.")
	}
	return schemes.Named(b.Newest.Scheme).RefuseTable()
}

// newestInput reads the newest statistics of keys that are kept.
func (s *Proposer) newestInput(ctx context.Context, b *scheme.Base, memory *admission.Lease) (
	p store.Plan, st *scheme.Statistics, err error,
) {
	filter := store.PlanFilter{Operator: b.Op.Name, Limit: scheme.PlansBefore}
	for {
		plans, next, err := s.Store.Plans(ctx, filter)
		if err != nil {
			return p, nil, refusal.AboutOperator(b.Op.Name, err)
		}
		for _, p = range plans {
			st, err := s.InputOf(ctx, p, memory)
			if intake.IsPurged(err) {
				continue
			}
			if err != nil {
				return p, nil, err
			}
			return p, st, s.fits(ctx, b, p, st)
		}
		if next == 0 {
			return p, nil, refusal.New(refusal.Purged,
				"No statistics of the operator are kept, so it is not known what would move.")
		}
		filter.Before, filter.Limit = next, scheme.PlansAtATime
	}
}

// fits refuses statistics of a stored plan that do not tell where keys are on the committed table.
func (s *Proposer) fits(ctx context.Context, b *scheme.Base, p store.Plan, st *scheme.Statistics) error {
	st.Older = st.Older || p.BaseVersion != b.Op.TableVersion
	if st.Records != nil {
		return refusal.New(refusal.KeysNotKnown,
			"The newest statistics that are kept are in compact form, which names no keys.")
	}
	under, err := s.Placement(ctx, b.Op.Name, p.ConfigVersion)
	if err != nil {
		return err
	}
	if under.Hash.Affinity != b.Newest.Hash.Affinity {
		return refusal.New(refusal.HashNotKnown, fmt.Sprintf("The affinity has changed since the newest "+
			"statistics, those of interval %d: wait for the next ones.", p.Interval))
	}
	if b.Newest.Model.Hash == nil && !operator.SamePlacement(under.Configuration, b.Newest.Configuration) {
		return refusal.New(refusal.HashNotKnown, fmt.Sprintf("The hash is the engine's own, and has changed since the "+
			"newest statistics, those of interval %d: wait for the next ones.", p.Interval))
	}
	return schemes.Admit(b, st)
}

// unfit says which statistics do not fit, where that is the reason: nobody sent them now.
func unfit(p store.Plan, err error) error {
	if !operator.IsInputError(err) {
		return err
	}
	return &refusal.Error{Reason: refusal.KeysNotKnown, Detail: fmt.Sprintf(
		"The newest statistics that are kept, those of interval %d, do not fit the configuration: wait for the next ones.",
		p.Interval), Err: err}
}

// Propose makes it a plan of the operator, or finds the one that was made of the same.
func (u *Undo) Propose(ctx context.Context, by store.Transition, held *claim.Claim[*intake.StoredPlan],
	memory *admission.Lease) (*intake.StoredPlan, error) {
	s, b, p := u.planner, u.base, u.source
	fingerprint := fmt.Sprintf("%s/undo-%d-to-%d/config-%d", p.Source, u.Base, u.ToVersion, b.Op.ConfigVersion)
	same, err := s.Store.FindPlan(ctx, p.Operator, p.Epoch, p.Interval, fingerprint)
	switch {
	case err == nil:
		return s.load(ctx, same)
	case !errors.Is(err, store.ErrNotFound):
		return nil, refusal.AboutOperator(p.Operator, err)
	}
	if err := memory.Reserve(u.AnswerBytes()); err != nil {
		return nil, err
	}
	if b.Absences.Before, err = schemes.AbsencesAfter(ctx, s.Reader, p); err != nil {
		return nil, err
	}
	b.Absences.Counted = true // by the plan whose statistics these are
	out := outcome{Result: u.Result, undo: &u.Undo}
	if out.returned, err = s.Returned(ctx, b, u.statistics, u.Result, memory); err != nil {
		return nil, err
	}
	parameters := b.Newest.Planned()
	parameters.Certificate = planner.CertificateOff
	return s.keep(ctx, b, draft{
		outcome: out, Statistics: u.statistics, parameters: parameters, hash: p.InputHash, by: by, claim: held,
		fingerprint: fingerprint, source: p.Source, reports: p.Reports,
	})
}

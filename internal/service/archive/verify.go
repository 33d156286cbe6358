package archive

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

// Verified counts what was read.
type Verified struct{ Operators, Plans int64 }

// Verify reads the configurations, routing tables, routers, reports and plans of all operators, with
// all that is kept of plans, and the answers under idempotency keys. It calls found with an error for
// each of these of which something is damaged. It fails if the store cannot be read. In memory it
// holds one plan or one routing table at a time.
func Verify(ctx context.Context, from store.Store, found func(error)) (read Verified, err error) {
	v := verifier{read: &read, found: found}
	v.Archive = &Archive{Intake: &intake.Intake{History: &intake.History{Engine: &scheme.Engine{
		Reader: reading.New(from, 0, 1, nil),
	}}}}
	for after := ""; ; {
		all, err := from.Operators(ctx, after, scheme.PlansAtATime)
		if err != nil || len(all) == 0 {
			return read, errors.Join(v.damage(err), v.answers(ctx))
		}
		for _, op := range all {
			if err := v.operator(ctx, op); err != nil {
				return read, fmt.Errorf("operator %q: %w", op.Name, err)
			}
		}
		after = all[len(all)-1].Name
	}
}

type verifier struct {
	*Archive
	read  *Verified
	found func(error)
}

// damage tells of an error that says that something is damaged, and returns any other.
func (v verifier) damage(err error) error {
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, stored.ErrCorrupt) {
		v.found(err)
		return nil
	}
	return err
}

// unlessGone is damage, but for what was removed since it was listed.
func (v verifier) unlessGone(err error) error {
	if errors.Is(err, store.ErrPurged) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return v.damage(err)
}

// reports reads the reports of an operator, also those of which there is no plan yet.
func (v verifier) reports(ctx context.Context, operator string) error {
	all, err := v.Store.KeptReports(ctx, operator)
	if err := v.unlessGone(err); err != nil {
		return err
	}
	for _, one := range all {
		data, err := v.Store.ReportData(ctx, operator, one.Revision)
		if err == nil {
			err = intake.VerifyReport(data)
		}
		if err != nil {
			err = fmt.Errorf("report of instance %d of operator %q, interval %d: %w", one.Instance, operator, one.Interval, err)
		}
		if err := v.unlessGone(err); err != nil {
			return err
		}
	}
	return nil
}

// answers reads what is kept under idempotency keys.
func (v verifier) answers(ctx context.Context) error {
	for after := []byte(nil); ; {
		all, err := v.Store.Answers(ctx, after, scheme.PlansAtATime)
		if err != nil || len(all) == 0 {
			return v.damage(err) // the keys after this page cannot be found
		}
		for _, one := range all {
			text, err := claim.Unpack(one.Answer)
			if after = one.Name; err == nil && len(text) > 0 && !jsontext.Value(text).IsValid() {
				err = store.Unreadable("it", errors.New("no JSON"))
			}
			if err != nil {
				v.found(fmt.Errorf("answer under idempotency key %x: %w", one.Name, err))
			}
		}
	}
}

func (v verifier) operator(ctx context.Context, op store.Operator) error {
	v.read.Operators++
	for version := max(1, op.ConfigVersion-store.KeptConfigurations+1); version <= op.ConfigVersion; version++ {
		c, err := v.Store.Configuration(ctx, op.Name, version)
		if errors.Is(err, store.ErrNotFound) { // it was removed since
			continue
		}
		if err == nil {
			_, err = operator.DecodeConfiguration(c.Config)
		}
		if err := v.damage(about(op, version, err)); err != nil {
			return err
		}
	}
	if err := v.unlessGone(v.Store.VerifyTable(ctx, op.Name)); err != nil {
		return err
	}
	_, err := v.Store.Routers(ctx, op.Name)
	if err := v.unlessGone(err); err != nil {
		return err
	}
	if err := v.reports(ctx, op.Name); err != nil {
		return err
	}
	filter := store.PlanFilter{Operator: op.Name, Limit: scheme.PlansAtATime}
	for {
		plans, next, err := v.Store.Plans(ctx, filter)
		for _, p := range plans {
			v.read.Plans++
			err := v.plan(ctx, p.ID)
			if err != nil {
				err = fmt.Errorf("plan %s of operator %q: %w", p.ID, op.Name, err)
			}
			if err := v.unlessGone(err); err != nil {
				return err
			}
		}
		if filter.Before = next; err != nil || next == 0 {
			return v.damage(err) // the plans before this page cannot be found
		}
	}
}

func about(op store.Operator, version int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("configuration %d of operator %q: %w", version, op.Name, err)
}

// plan reads all that is kept of a plan.
func (v verifier) plan(ctx context.Context, id string) error {
	p, err := v.Store.Plan(ctx, id)
	if err != nil {
		return err
	}
	memory := admission.NewBudget(math.MaxInt64/4, 0).Lease(ctx)
	defer memory.Release()
	for _, read := range []func() error{
		func() error { _, err := reading.ParametersOf(p); return err },
		func() error { _, err := figures.LatestOf(p); return err },
		func() error { _, err := figures.LoadsWith(p.Figures, "id"); return err },
		func() error { _, err := scheme.ForesightOf(p); return err },
		func() error { _, err := figures.NamedKeysOf(p.Figures); return err },
		func() error { _, err := schemes.AbsencesAfter(ctx, v.Reader, p); return err },
		func() error { _, err := v.Store.ForecastState(ctx, id); return err },
		func() error { _, err := v.Store.Transitions(ctx, id); return err },
		func() error { _, err := v.Store.Changes(ctx, id); return err },
		func() error { _, err := v.ListsHeld(ctx, p, false, true); return err },
		func() error { _, err := v.InputOf(ctx, p, memory); return err },
	} {
		var refused *refusal.Error
		if err := read(); err != nil && (!errors.As(err, &refused) || refused.Reason != refusal.Purged) {
			return err
		}
	}
	return nil
}

package life

import (
	"bytes"
	"context"
	"errors"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/schemes"
	"plannerd/store"
)

// Configure creates an operator, or gives it a new configuration. guard is asked
// whether it may; where unlessSame is set it is not asked about the same configuration.
func (s *Life) Configure(
	ctx context.Context, name string, c operator.Configuration, guard reading.OperatorGuard,
	unlessSame bool, held *claim.Claim[reading.Operator],
) (reading.Operator, error) {
	text, err := c.Encode()
	if err != nil {
		return reading.Operator{}, err
	}
	guarded := guard.Guarding(func(op store.Operator) bool { return unlessSame && bytes.Equal(op.Config, text) })
	ctx = held.Completing(ctx, func(out store.Outcome) (reading.Operator,
		error) {
		return reading.NewOperator(out.Operator, out.Created)
	})
	if form := c.Form(); form > 0 {
		if err := s.RequireForms(ctx, form); err != nil {
			return reading.Operator{}, err
		}
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return reading.Operator{}, refusal.AboutStore(err)
	}
	choices := operator.FixedChoices{Scheme: c.Scheme, TableOwner: c.TableOwner, Ranges: c.Ranges}
	op, created, err := s.Store.PutOperator(ctx, name, text, now, guarded, choices.Guard)
	if err != nil {
		return reading.Operator{}, refusal.AboutOperator(name, err)
	}
	if c.TableOwner == operator.OwnerPlanner && schemes.Named(c.Scheme).CountsEntries() {
		s.Observer.TableSize(name, op.TableSize)
	}
	return reading.NewOperator(op, created)
}

// configureAttempts is how often a configuration is changed when others are faster.
const configureAttempts = 3

var errReconfigured = refusal.New(refusal.ConfigurationChanged,
	"The operator's configuration keeps changing; try again.")

// Reconfigure gives an operator the configuration that change makes of the JSON of its
// newest one.
func (s *Life) Reconfigure(
	ctx context.Context, name string, change func(was []byte) (operator.Configuration, error), guard reading.OperatorGuard,
	held *claim.Claim[reading.Operator],
) (op reading.Operator, err error) {
	for range configureAttempts {
		if op, err = s.tryReconfigure(ctx, name, change, guard, held); !errors.Is(err, errReconfigured) {
			break
		}
	}
	return op, err
}

func (s *Life) tryReconfigure(
	ctx context.Context, name string, change func([]byte) (operator.Configuration, error), guard reading.OperatorGuard,
	held *claim.Claim[reading.Operator],
) (reading.Operator, error) {
	was, err := s.Operator(ctx, name)
	if err != nil {
		return was, err
	}
	text, err := was.Configuration.Encode()
	if err != nil {
		return was, err
	}
	config, err := change(text)
	if err != nil {
		return was, err
	}
	return s.Configure(ctx, name, config, func(now *reading.Operator) error {
		if now == nil || now.ConfigVersion != was.ConfigVersion {
			return errReconfigured
		}
		return guard(now)
	}, true, held)
}

// Delete removes an operator with all its history.
func (s *Life) Delete(ctx context.Context, name string, guard reading.OperatorGuard,
	held *claim.Claim[struct{}]) error {
	ctx = held.Completing(ctx, func(store.Outcome) (struct{}, error) { return struct{}{}, nil })
	guarded := guard.Guarding(func(store.Operator) bool { return false })
	now, err := s.Store.Now(ctx)
	if err != nil {
		return refusal.AboutStore(err)
	}
	if err := s.Store.DeleteOperator(ctx, name, now, guarded); err != nil {
		return refusal.AboutOperator(name, err)
	}
	s.Observer.Deleted(name)
	return nil
}

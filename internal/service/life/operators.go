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

// Change makes a configuration of the JSON of an operator's newest one, and of the names that its
// instances have ever had; nil: there is no such operator yet.
type Change func(was []byte, known operator.InstanceNames) (operator.Configuration, error)

// Reconfigure gives an operator the configuration that a change makes. create: there may be no such
// operator yet. unlessSame is that of [Life.Configure].
func (s *Life) Reconfigure(
	ctx context.Context, name string, change Change, guard reading.OperatorGuard, create, unlessSame bool,
	held *claim.Claim[reading.Operator],
) (op reading.Operator, err error) {
	for range configureAttempts {
		var config operator.Configuration
		var version int64
		if config, version, err = s.changed(ctx, name, change, create); err != nil {
			return op, err
		}
		op, err = s.Configure(ctx, name, config, func(now *reading.Operator) error {
			if now == nil && version != 0 || now != nil && now.ConfigVersion != version {
				return errReconfigured
			}
			return guard(now)
		}, unlessSame, held)
		if !errors.Is(err, errReconfigured) {
			break
		}
	}
	return op, err
}

// changed is the configuration that a change makes, and the version of that of which it makes it; 0:
// there is none.
func (s *Life) changed(ctx context.Context, name string, change Change, create bool) (
	config operator.Configuration, version int64, err error,
) {
	was, err := s.Operator(ctx, name)
	if missing := new(refusal.Error); create && errors.As(err, &missing) && missing.Reason == refusal.OperatorNotFound {
		config, err = change(nil, operator.InstanceNames{})
		return config, 0, err
	}
	if err != nil {
		return config, 0, err
	}
	text, err := was.Configuration.Encode()
	if err != nil {
		return config, 0, err
	}
	known, err := s.InstanceNames(ctx, name)
	if err != nil {
		return config, 0, err
	}
	config, err = change(text, known)
	return config, min(was.ConfigVersion, known.ConfigVersion), err
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

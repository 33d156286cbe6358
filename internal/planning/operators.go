package planning

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/store"
)

// Operator is an operator as it stands.
type Operator struct {
	store.Operator
	Configuration operator.Configuration // the newest
	Created       bool                   // it is new
}

func newOperator(op store.Operator, created bool) (Operator, error) {
	config, err := operator.DecodeConfiguration(op.Config)
	return Operator{op, config, created}, refusal.AboutOperator(op.Name, err)
}

// OperatorGuard refuses to change an operator as it stands; nil: there is none of the
// name.
type OperatorGuard func(current *Operator) error

// guarding returns the guard as the store asks it, unless the operator is as happened
// says.
func (g OperatorGuard) guarding(happened func(store.Operator) bool) store.OperatorGuard {
	return func(current *store.Operator) error {
		if current == nil {
			return g(nil)
		}
		if happened(*current) {
			return nil
		}
		op, err := newOperator(*current, false)
		if err != nil {
			return err
		}
		return g(&op)
	}
}

// Configure creates an operator, or gives it a new configuration. guard is asked
// whether it may; where unlessSame is set it is not asked about the same configuration.
func (s *Service) Configure(
	ctx context.Context, name string, c operator.Configuration, guard OperatorGuard, unlessSame bool, claim *Claim[Operator],
) (Operator, error) {
	text, err := c.Encode()
	if err != nil {
		return Operator{}, err
	}
	guarded := guard.guarding(func(op store.Operator) bool { return unlessSame && bytes.Equal(op.Config, text) })
	ctx = claim.completing(ctx, func(out store.Outcome) (Operator,
		error) {
		return newOperator(out.Operator, out.Created)
	})
	if c.Window > 1 || c.Ranges != nil && c.Ranges.Phase == operator.PhasePut {
		if err := s.requireForms(ctx, false); err != nil {
			return Operator{}, err
		}
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return Operator{}, refusal.AboutStore(err)
	}
	choices := operator.FixedChoices{Scheme: c.Scheme, TableOwner: c.TableOwner, Ranges: c.Ranges}
	op, created, err := s.store.PutOperator(ctx, name, text, now, guarded, choices.Guard)
	if err != nil {
		return Operator{}, refusal.AboutOperator(name, err)
	}
	if c.TableOwner == operator.OwnerPlanner && schemeNamed(c.Scheme).countsEntries() {
		s.observer.TableSize(name, op.TableSize)
	}
	return newOperator(op, created)
}

// configureAttempts is how often a configuration is changed when others are faster.
const configureAttempts = 3

var errReconfigured = refusal.New(refusal.ConfigurationChanged, "The operator's configuration keeps changing; try again.")

// Reconfigure gives an operator the configuration that change makes of the JSON of its
// newest one.
func (s *Service) Reconfigure(
	ctx context.Context, name string, change func(was []byte) (operator.Configuration, error), guard OperatorGuard,
	claim *Claim[Operator],
) (op Operator, err error) {
	for range configureAttempts {
		if op, err = s.tryReconfigure(ctx, name, change, guard, claim); !errors.Is(err, errReconfigured) {
			break
		}
	}
	return op, err
}

func (s *Service) tryReconfigure(
	ctx context.Context, name string, change func([]byte) (operator.Configuration, error), guard OperatorGuard,
	claim *Claim[Operator],
) (Operator, error) {
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
	return s.Configure(ctx, name, config, func(now *Operator) error {
		if now == nil || now.ConfigVersion != was.ConfigVersion {
			return errReconfigured
		}
		return guard(now)
	}, true, claim)
}

// Operator reads an operator.
func (s *Service) Operator(ctx context.Context, name string) (Operator, error) {
	op, err := s.operator(ctx, name)
	if err != nil {
		return Operator{}, err
	}
	return newOperator(op, false)
}

// CheckOperator refuses operators that do not exist.
func (s *Service) CheckOperator(ctx context.Context, name string) error {
	_, err := s.operator(ctx, name)
	return err
}

// operatorsAtATime: an operator may have very many instances, so few are read at a
// time.
const operatorsAtATime = 10

// Operators yields the operators after a name, in ascending order of their names, up to
// the first error. Unless ahead is nil it returns after which name there may be one that is
// wanted, from a name on, and whether there may be one at all; not all others are left out.
func (s *Service) Operators(
	ctx context.Context, after string, ahead func(after string) (string, bool),
) iter.Seq2[Operator, error] {
	return func(yield func(Operator, error) bool) {
		for {
			if ahead != nil {
				var more bool
				if after, more = ahead(after); !more {
					return
				}
			}
			ops, err := s.store.Operators(ctx, after, operatorsAtATime)
			if err != nil {
				yield(Operator{}, refusal.AboutStore(err))
				return
			}
			for _, op := range ops {
				after = op.Name
				if read, err := newOperator(op, false); !yield(read, err) || err != nil {
					return
				}
			}
			if len(ops) < operatorsAtATime {
				return
			}
		}
	}
}

// RecentPlans is how many of an operator's newest plans tell how it went, unless somebody
// says.
const RecentPlans = 40

// Recent is how an operator went lately.
type Recent struct {
	store.Recent
	Realised Realised // over the intervals of these plans
}

// Recent tells how operators went lately, in their order, by so many of the newest plans of
// each.
func (s *Service) Recent(ctx context.Context, operators []Operator, most int) ([]Recent, error) {
	stored := make([]store.Operator, len(operators))
	for i, op := range operators {
		stored[i] = op.Operator
	}
	recent, err := s.store.RecentPlans(ctx, stored, most)
	out := make([]Recent, len(recent))
	for i, r := range recent {
		out[i] = Recent{r, realisedOf(r.Brief, operators[i].Configuration.ThetaMax)}
		for _, p := range r.Plans {
			err = cmp.Or(err, SchemeOf(p).Check())
		}
	}
	return out, refusal.AboutStore(err)
}

// Delete removes an operator with all its history.
func (s *Service) Delete(ctx context.Context, name string, guard OperatorGuard, claim *Claim[struct{}]) error {
	ctx = claim.completing(ctx, func(store.Outcome) (struct{}, error) { return struct{}{}, nil })
	guarded := guard.guarding(func(store.Operator) bool { return false })
	now, err := s.store.Now(ctx)
	if err != nil {
		return refusal.AboutStore(err)
	}
	if err := s.store.DeleteOperator(ctx, name, now, guarded); err != nil {
		return refusal.AboutOperator(name, err)
	}
	s.observer.Deleted(name)
	return nil
}

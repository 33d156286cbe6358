package reading

import (
	"context"
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

// NewOperator reads the configuration of a stored operator; created: it is new.
func NewOperator(op store.Operator, created bool) (Operator, error) {
	config, err := operator.DecodeConfiguration(op.Config)
	return Operator{op, config, created}, refusal.AboutOperator(op.Name, err)
}

// OperatorGuard refuses to change an operator as it stands; nil: there is none of the
// name.
type OperatorGuard func(current *Operator) error

// Guarding returns the guard as the store asks it, unless the operator is as happened
// says.
func (g OperatorGuard) Guarding(happened func(store.Operator) bool) store.OperatorGuard {
	return func(current *store.Operator) error {
		if current == nil {
			return g(nil)
		}
		if happened(*current) {
			return nil
		}
		op, err := NewOperator(*current, false)
		if err != nil {
			return err
		}
		return g(&op)
	}
}

// Operator reads an operator.
func (r *Reader) Operator(ctx context.Context, name string) (Operator, error) {
	op, err := r.StoredOperator(ctx, name)
	if err != nil {
		return Operator{}, err
	}
	return NewOperator(op, false)
}

// InstanceNames reads which names and ids the instances of an operator have ever had.
func (r *Reader) InstanceNames(ctx context.Context, name string) (operator.InstanceNames, error) {
	known, err := r.Store.InstanceNames(ctx, name)
	return known, refusal.AboutOperator(name, err)
}

// CheckOperator refuses operators that do not exist.
func (r *Reader) CheckOperator(ctx context.Context, name string) error {
	_, err := r.StoredOperator(ctx, name)
	return err
}

// operatorsAtATime: an operator may have very many instances, so few are read at a
// time.
const operatorsAtATime = 10

// Operators yields the operators after a name, in ascending order of their names, up to
// the first error. Unless ahead is nil it returns after which name there may be one that is
// wanted, from a name on, and whether there may be one at all; not all others are left out.
func (r *Reader) Operators(
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
			ops, err := r.Store.Operators(ctx, after, operatorsAtATime)
			if err != nil {
				yield(Operator{}, refusal.AboutStore(err))
				return
			}
			for _, op := range ops {
				after = op.Name
				if read, err := NewOperator(op, false); !yield(read, err) || err != nil {
					return
				}
			}
			if len(ops) < operatorsAtATime {
				return
			}
		}
	}
}

package service_test

import (
	"context"
	"testing"

	"plannerd/internal/refusal"
	"plannerd/internal/service"
	"plannerd/store"
)

// lost is a store that answers no longer once it has said that an interval cannot be planned.
type lost struct {
	store.Store
	gone bool
}

func (l *lost) CheckInterval(ctx context.Context, operator string, epoch, interval int64) error {
	err := l.Store.CheckInterval(ctx, operator, epoch, interval)
	l.gone = err != nil
	return err
}

func (l *lost) Operator(ctx context.Context, name string) (store.Operator, error) {
	if l.gone {
		return store.Operator{}, store.ErrUnavailable
	}
	return l.Store.Operator(ctx, name)
}

// TestUncheckedRefusal: a refusal may rest on a configuration that is no longer the operator's.
// While that cannot be looked up the service is unavailable, and does not refuse.
func TestUncheckedRefusal(t *testing.T) {
	e := newEnv(t, func(c *service.Config) { c.Store = &lost{Store: c.Store} })
	e.configure("clicks", configuration(2))
	e.propose("clicks", skewed(2))
	_, err := e.tryPropose("clicks", skewed(1))
	e.refused(err, refusal.Unavailable)
}

package life

import (
	"context"
	"time"

	"plannerd/internal/refusal"
	"plannerd/planner"
	"plannerd/store"
)

// Freeze holds an operator, or all for the name "", until then; see [store.Operators].
func (s *Life) Freeze(ctx context.Context, name string, f store.Freeze) (store.Freeze, error) {
	var err error
	if f.Since, err = s.Store.Now(ctx); err != nil {
		return f, refusal.AboutStore(err)
	}
	if !f.Until.After(f.Since) {
		return f, planner.Invalid("until", "must be in the future: it is "+f.Since.UTC().Format(time.RFC3339)+" now")
	}
	f.All = name == ""
	err = s.Store.Freeze(ctx, name, &f)
	return f, refusal.AboutOperator(name, err)
}

// Unfreeze ends a freeze; it is no error if there is none.
func (s *Life) Unfreeze(ctx context.Context, name string) error {
	return refusal.AboutOperator(name, s.Store.Freeze(ctx, name, nil))
}

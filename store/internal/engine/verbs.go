package engine

import (
	"context"
	"errors"
	"time"

	"plannerd/store"
)

// ApprovePlan implements [store.Store].
func (s *Store) ApprovePlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
	return store.Plan{}, errors.ErrUnsupported
}

// RejectPlan implements [store.Store].
func (s *Store) RejectPlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
	return store.Plan{}, errors.ErrUnsupported
}

// StartPlan implements [store.Store].
func (s *Store) StartPlan(ctx context.Context, id, executor string, by store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
	return store.Plan{}, errors.ErrUnsupported
}

// AckPlan implements [store.Store].
func (s *Store) AckPlan(
	ctx context.Context, id string, instances []int32, by store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	return store.Plan{}, false, errors.ErrUnsupported
}

// Expire implements [store.Store].
func (s *Store) Expire(ctx context.Context, at time.Time) (n int, err error) {
	return 0, errors.ErrUnsupported
}

// BeginIdempotent implements [store.Store].
func (s *Store) BeginIdempotent(ctx context.Context, i store.Idempotency, lease time.Duration, at time.Time) (store.Claim, error) {
	return store.Claim{}, errors.ErrUnsupported
}

// ReleaseIdempotent implements [store.Store].
func (s *Store) ReleaseIdempotent(ctx context.Context, i store.Idempotency, token string) error {
	return errors.ErrUnsupported
}

// PurgeIdempotency implements [store.Store].
func (s *Store) PurgeIdempotency(ctx context.Context, before time.Time) (n int, err error) {
	return 0, errors.ErrUnsupported
}

// TableChanges implements [store.Store].
func (s *Store) TableChanges(ctx context.Context, operator string, since int64) (store.Feed, error) {
	return store.Feed{}, errors.ErrUnsupported
}

// Watch implements [store.Store].
func (s *Store) Watch(ctx context.Context) (<-chan store.Event, error) {
	return nil, errors.ErrUnsupported
}

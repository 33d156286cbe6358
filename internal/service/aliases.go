package service

import (
	"context"

	"plannerd/internal/service/announce"
	"plannerd/internal/service/archive"
	"plannerd/store"
	"plannerd/store/metered"
)

// The records of the store that callers see as they are.
type (
	// Store keeps everything.
	Store = store.Store
	// Measurements say where the measurements of the store go.
	Measurements = metered.Options
	// Webhooks say who is told what happens.
	Webhooks = announce.Options
	// Plan is a stored plan.
	Plan = store.Plan
	// Figures are what a plan reports about itself.
	Figures = store.Figures
	// Status is where a plan stands in its life.
	Status = store.Status
	// Transition is a step of a plan's life.
	Transition = store.Transition
	// Batch is a part of a plan that is handed over on its own.
	Batch = store.Batch
	// Executor is who carries a plan out.
	Executor = store.Executor
	// Ack says that an instance has finished the migrations of a plan.
	Ack = store.Ack
	// Report is the share of one instance in the statistics of an interval.
	Report = store.Report
	// Freeze holds an operator, or all.
	Freeze = store.Freeze
	// PlanFilter selects and pages through plans.
	PlanFilter = store.PlanFilter
	// Change is what a plan does to one entry of a routing table.
	Change = store.Change
)

// Unreadable says that what was stored cannot be read any more; nil if err is nil.
func Unreadable(what string, err error) error { return store.Unreadable(what, err) }

// Verify reads what a store keeps of operators and plans; see [archive.Verify].
func Verify(ctx context.Context, from Store, found func(error)) (archive.Verified, error) {
	return archive.Verify(ctx, from, found)
}

// WithActor has what is changed in the context be the doing of somebody.
var WithActor = store.WithActor

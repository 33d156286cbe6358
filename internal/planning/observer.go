package planning

import (
	"context"
	"time"

	"plannerd/planner"
	"plannerd/store"
	"plannerd/store/metered"
)

// The records of the store that callers see as they are.
type (
	// Store keeps everything.
	Store = store.Store
	// Measurements say where the measurements of the store go.
	Measurements = metered.Options
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
	// PlanFilter selects and pages through plans.
	PlanFilter = store.PlanFilter
	// Change is what a plan does to one entry of a routing table.
	Change = store.Change
)

// Observer is told what happens, for metrics and traces.
type Observer interface {
	// Start begins a span of a call: attribute says what it is about. end ends it
	// with what came of it.
	Start(ctx context.Context, name, attribute, value string) (spanned context.Context, end func(error))
	// HashBuilt: a hash function was built.
	HashBuilt()
	// Planned: a strategy took so long for a plan.
	Planned(strategy string, took time.Duration)
	// Waited: something of a kind, "plans" or "analyses", waited so long for a slot.
	Waited(kind string, took time.Duration)
	// Analysed: an analysis took so long.
	Analysed(name string, took time.Duration)
	// Created: a plan is new in the store. planned is the θ that the plan of the interval
	// before had planned for this one; nil: none had.
	Created(p Plan, computed *planner.Plan, planned *float64)
	// Moved: a plan made a step of its life.
	Moved(p Plan, from Status)
	// Committed: a plan became the operator's table just now.
	Committed(p Plan)
	// TableSize: the committed routing table of an operator has so many entries.
	TableSize(operator string, entries int64)
	// Deleted: an operator is no more.
	Deleted(operator string)
	// Expired: the expiry of so many plans was written down unasked.
	Expired(n int)
}

package reading

import (
	"context"
	"time"

	"plannerd/planner"
	"plannerd/store"
)

// Levels are the figures of a resource around a plan: θ, or with a limit the greatest part of a capacity that is taken.
type Levels struct {
	Resource    string   // of cost ""
	Came, After float64  // in the interval of the plan, and by the plan
	Planned     *float64 // by the plan of the interval before, for this one; nil: none had
	Bound       float64
}

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
	// Created: a plan is new in the store. levels are those of its resources, cost first.
	Created(p store.Plan, computed *planner.Plan, levels []Levels)
	// Moved: a plan made a step of its life.
	Moved(p store.Plan, from store.Status)
	// Committed: a plan became the operator's table just now.
	Committed(p store.Plan)
	// TableSize: the committed routing table of an operator has so many entries.
	TableSize(operator string, entries int64)
	// Deleted: an operator is no more.
	Deleted(operator string)
	// Expired: the expiry of so many plans was written down unasked.
	Expired(n int)
	// Delivered: an event was delivered to a receiver of webhooks, or in vain.
	Delivered(receiver string, ok bool)
	// Outstanding: these plans wait, and so stand the receivers of webhooks.
	Outstanding(now time.Time, waiting []store.WaitingPlan, receivers []store.Receiver)
}

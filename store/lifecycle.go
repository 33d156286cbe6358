package store

import (
	"context"
	"slices"
	"time"
)

// Status is where a plan stands in its lifecycle.
type Status string

// The statuses of a plan.
const (
	StatusNoAction   Status = "no_action"  // nothing was to be done, or something forbade it
	StatusProposed   Status = "proposed"   // waits for approval
	StatusApproved   Status = "approved"   // may be started, or committed
	StatusApplying   Status = "applying"   // an engine migrates; at most one of an operator
	StatusAborting   Status = "aborting"   // the engine takes the state back; no ack counts any more
	StatusCommitted  Status = "committed"  // its version became the operator's table
	StatusRejected   Status = "rejected"   // not approved
	StatusAborted    Status = "aborted"    // given up by the engine
	StatusSuperseded Status = "superseded" // replaced, or another plan was committed on the same base
	StatusExpired    Status = "expired"    // not approved, or not started, in time
)

// transitions is what follows each status; "" is before a plan is created.
var transitions = map[Status][]Status{
	"":             {StatusNoAction, StatusProposed, StatusApproved, StatusCommitted},
	StatusProposed: {StatusApproved, StatusRejected, StatusSuperseded, StatusExpired},
	StatusApproved: {StatusApplying, StatusCommitted, StatusAborted, StatusSuperseded, StatusExpired},
	StatusApplying: {StatusAborting, StatusCommitted},
	StatusAborting: {StatusAborted},
}

// Next returns the statuses that a plan may go to from one; those that it may be
// born with from "".
func Next(from Status) []Status { return slices.Clone(transitions[from]) }

// Allowed tells whether a plan may go from one status to another.
func Allowed(from, to Status) bool { return slices.Contains(transitions[from], to) }

// Ended tells whether a plan came to nothing: its interval may have another one.
func (s Status) Ended() bool {
	switch s {
	case StatusRejected, StatusAborted, StatusSuperseded, StatusExpired:
		return true
	}
	return false
}

// InFlight tells whether an engine is at work on a plan. An operator has at most one
// such plan.
func (s Status) InFlight() bool { return s == StatusApplying || s == StatusAborting }

// Executor is who carries a plan out. Epoch tells a successor from its predecessor: it
// takes over with a higher one.
type Executor struct {
	Name  string
	Epoch int64
}

// Transition is one step of a plan's lifecycle. A resolution is one from
// approved to approved. When another executor takes a plan over, its status stays.
type Transition struct {
	From   Status // "" for the creation
	To     Status
	Actor  string
	Reason string
	At     time.Time
	Kind   StepKind
}

// StepKind tells what leaves the status of a plan as it is from other steps.
type StepKind string

// The kinds of steps.
const (
	StepPlain    StepKind = ""
	StepComment  StepKind = "comment"  // somebody says something of the plan; Reason is what
	StepApproval StepKind = "approval" // somebody approves that more have to approve
)

// MaxComments is how many comments a plan may have.
const MaxComments = 100

type actorKey struct{}

// WithActor has what is changed in the context be the doing of somebody.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf is who it is; "": it is not known.
func ActorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

// Expirer is the actor of the transitions to expired.
const Expirer = "plannerd"

// Ack says that an instance has finished the migrations of a plan.
type Ack struct {
	Instance int32
	Actor    string
	At       time.Time
}

// PendingPolicy says what becomes of a proposed plan when another one is created.
type PendingPolicy string

// The policies on proposed plans. The zero value is PendingKeep.
const (
	PendingKeep    PendingPolicy = "keep"    // it stays, and the new one is refused
	PendingReplace PendingPolicy = "replace" // the new one supersedes it
)

// PlanGuard refuses a step on a plan by an error, which the method returns
// wrapped. It is given the plan as Store.Plan would return it, must not call the
// store, and may be asked more than once.
type PlanGuard func(Plan) error

// OperatorGuard is a PlanGuard on an operator; nil: there is none of the name.
type OperatorGuard func(current *Operator) error

package store

import "context"

// Idempotency is the key under which a request is made at most once.
type Idempotency struct {
	// Scope and Key may hold any bytes. Scope says whose key it is, and for what.
	Scope, Key string
	// Body is a digest of the request.
	Body [32]byte
}

// Claim is what there is under an idempotency key.
type Claim struct {
	// Token is what the caller holds the key by, unless the request is done.
	Token string
	// Done: Status and Answer are those of the [Completion].
	Done   bool
	Status int
	Answer []byte
}

// KeptAnswer is what is kept under an idempotency key.
type KeptAnswer struct {
	Name   []byte // a digest of the key and its scope
	Answer []byte
}

// Completion finishes a request that [Store].BeginIdempotent began, in the
// transaction that has its effect: there is an answer if and only if there is
// the effect. If another request took the key over, the method fails with
// ErrIdempotencyLost and changes nothing.
type Completion struct {
	Idempotency
	Token string
	// Answer returns what is kept. Its error becomes the method's, which then changes
	// nothing. It must not call the store, and may be called more than once.
	Answer func(Outcome) (status int, answer []byte, err error)
}

// Outcome is what a method returns, so far as it returns something of the kind.
type Outcome struct {
	Plan     Plan
	Operator Operator
	Reports  []Report
	// Created: the plan, the operator or the report is new. Of AckPlan and CommitPlan
	// it is committed; of other verbs, whether they changed anything.
	Created bool
}

type completionKey struct{}

// WithCompletion returns a context under which one method that changes something
// finishes c. A second one fails.
func WithCompletion(ctx context.Context, c Completion) context.Context {
	return context.WithValue(ctx, completionKey{}, c)
}

// CompletionOf returns the completion that a context carries.
func CompletionOf(ctx context.Context) (c Completion, found bool) {
	c, found = ctx.Value(completionKey{}).(Completion)
	return c, found
}

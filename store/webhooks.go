package store

import "time"

// WebhookEvent is something that receivers of webhooks are told.
type WebhookEvent struct {
	Seq      int64 // set by the store: the order of an operator's events for one receiver
	ID       string
	Type     string // "plannerd.plan." and a status, where a plan came to it
	Operator string
	Plan     string // "": it is about no plan
	At       time.Time
	Data     []byte // JSON
	// Tries is how often it was delivered in vain; Dropped, how many events its receiver will never
	// get, since they were removed. Both are set by the store.
	Tries, Dropped int64
}

// Receiver is how a receiver of webhooks stands.
type Receiver struct {
	Name    string
	Pending int64      // events that it has not got
	Oldest  *time.Time // when the oldest of them happened; nil: there is none
	Dropped int64      // see [WebhookEvent]
}

// WaitingPlan is a plan that waits for approval or, approved, for somebody who carries it out.
type WaitingPlan struct {
	Plan
	Since time.Time // it was proposed, or approved last
}

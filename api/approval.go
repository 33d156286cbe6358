package api

import (
	"cmp"
	"fmt"
	"time"

	"plannerd/api/wire"
	"plannerd/planner"
	"plannerd/store"
)

// approval says whether plans wait for it, and how long.
type approval struct {
	RequireApproval bool            `json:"require_approval"`
	Approval        approvalOptions `json:"approval"`
}

type approvalOptions struct {
	OnPending wire.OnPending `json:"on_pending"`
	TTL       *duration      `json:"ttl"` // 0: for ever
}

// Limits of how long a plan may wait for approval, and the default.
const (
	shortestTTL = time.Second
	longestTTL  = 365 * 24 * time.Hour
	defaultTTL  = 10 * time.Minute
)

// approvalOf fills in the defaults of what a configuration says about approval.
// The error is a [planner.InputError].
func approvalOf(in wire.OperatorConfiguration) (approval, error) {
	said := or(in.Approval, wire.ApprovalOptions{})
	out := approval{RequireApproval: or(in.RequireApproval, false), Approval: approvalOptions{OnPending: or(said.OnPending, "")}}
	if said.Ttl == nil {
		return out.withDefaults(), nil
	}
	ttl := new(duration)
	if err := ttl.UnmarshalText([]byte(*said.Ttl)); err != nil || *ttl != 0 && (*ttl < duration(shortestTTL) || *ttl > duration(longestTTL)) {
		return out, &planner.InputError{Row: -1, Field: "approval/ttl", Detail: fmt.Sprintf("must be 0s or from %v to %v", shortestTTL, longestTTL)}
	}
	out.Approval.TTL = ttl
	return out.withDefaults(), nil
}

// withDefaults fills in what nobody has said: a stored configuration may be older
// than the choice.
func (a approval) withDefaults() approval {
	a.Approval.OnPending = cmp.Or(a.Approval.OnPending, wire.Keep)
	if a.Approval.TTL == nil {
		ttl := duration(defaultTTL)
		a.Approval.TTL = &ttl
	}
	return a
}

// born is the status and the end of a plan that is to be carried out.
func (a approval) born(at time.Time) (store.Status, *time.Time) {
	if !a.RequireApproval {
		return store.StatusApproved, nil
	}
	if *a.Approval.TTL == 0 {
		return store.StatusProposed, nil
	}
	end := at.Add(time.Duration(*a.Approval.TTL))
	return store.StatusProposed, &end
}

// onPending says what becomes of a plan that waits when another is stored.
func (a approval) onPending() store.PendingPolicy {
	if a.Approval.OnPending == wire.Replace {
		return store.PendingReplace
	}
	return store.PendingKeep
}

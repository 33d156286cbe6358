package figures

import (
	"slices"

	"plannerd/planner"
)

// Causes of plans that the service itself knows.
const (
	CauseCooldown        planner.Cause = "cooldown"
	CauseUnfinished      planner.Cause = "unfinished"       // no plan was complete in time
	CausePendingApproval planner.Cause = "pending_approval" // another plan waits for approval
	CausePlanInFlight    planner.Cause = "plan_in_flight"   // another plan is being carried out
	CauseFrozen          planner.Cause = "operator_frozen"  // somebody holds the operator
	CauseSmall           planner.Cause = "statistics_too_small"
	CauseImprobable      planner.Cause = "improbable"  // θ_max is not likely enough to be broken
	CauseLittleGain      planner.Cause = "little_gain" // it would move too much for what it improves
	CauseCarried         planner.Cause = "carried"     // earlier reports stood in for missing ones
	CauseGranularity     planner.Cause = "granularity" // of whole keys, and of the number of ranges
	CauseStateLost       planner.Cause = "state_lost"  // an instance is lost, and so is the one that had a copy
	// CauseQueues is that of every plan that is made of queue lengths alone: which keys move is
	// not known, nor what comes of it.
	CauseQueues planner.Cause = "queue_lengths"
)

// LeavesAll reports whether a plan leaves everything alone, whatever there would be
// to do.
func LeavesAll(causes []planner.Cause) bool {
	return slices.ContainsFunc(causes, func(c planner.Cause) bool {
		return c == CauseUnfinished || c == CausePendingApproval || c == CausePlanInFlight || c == CauseFrozen ||
			c == CauseSmall
	})
}

package planning

import (
	"slices"

	"plannerd/planner"
)

// Causes of plans that the service itself knows.
const (
	causeCooldown        planner.Cause = "cooldown"
	causeUnfinished      planner.Cause = "unfinished"       // no plan was complete in time
	causePendingApproval planner.Cause = "pending_approval" // another plan waits for approval
	causePlanInFlight    planner.Cause = "plan_in_flight"   // another plan is being carried out
	causeSmall           planner.Cause = "statistics_too_small"
	causeImprobable      planner.Cause = "improbable"  // θ_max is not likely enough to be broken
	causeLittleGain      planner.Cause = "little_gain" // it would move too much for what it improves
	causeCarried         planner.Cause = "carried"     // earlier reports stood in for missing ones
	causeGranularity     planner.Cause = "granularity" // of whole keys, and of the number of ranges
	causeStateLost       planner.Cause = "state_lost"  // an instance is lost, and so is the one that had a copy
	// causeQueues is that of every plan that is made of queue lengths alone: which keys move is
	// not known, nor what comes of it.
	causeQueues planner.Cause = "queue_lengths"
)

// leavesAll reports whether a plan leaves everything alone, whatever there would be
// to do.
func leavesAll(causes []planner.Cause) bool {
	return slices.ContainsFunc(causes, func(c planner.Cause) bool {
		return c == causeUnfinished || c == causePendingApproval || c == causePlanInFlight || c == causeSmall
	})
}

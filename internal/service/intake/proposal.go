package intake

import (
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

// Proposal is what a plan is asked of.
type Proposal struct {
	*scheme.Statistics
	// Reports asks for a plan made of the reports of the interval; nil: the statistics
	// come whole.
	Reports *ReportsQuery
	By      store.Transition // who asks
	Memory  *admission.Lease
	Claim   *claim.Claim[*StoredPlan]
}

// ReportsQuery says how the reports of an interval are to be merged.
type ReportsQuery struct {
	Missing operator.MissingReports // "": as the operator says
}

// StoredPlan is a plan that the store has, with its lists.
type StoredPlan struct {
	store.Plan
	Lists   listing.Lists
	Created bool           // it was made now
	Persist *time.Duration // that storing it took; nil: it is not known (yet)
}

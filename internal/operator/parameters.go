package operator

import (
	"errors"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// Parameters are those of one plan, with all defaults filled in.
type Parameters struct {
	parameters.Values
	Ring   *RingParameters   `json:"ring,omitzero"`   // of scheme ring only
	Ranges *RangesParameters `json:"ranges,omitzero"` // of scheme ranges only
	Pkg    *PkgParameters    `json:"pkg,omitzero"`    // of scheme pkg only
}

// RingParameters are those of scheme ring, with defaults filled in.
type RingParameters struct {
	Method    ring.Method `json:"method"`
	Tau       *float64    `json:"tau,omitzero"`        // nil under fitted
	MaxRounds int         `json:"max_rounds,omitzero"` // 0 under fitted
}

// Options are those of a plan of the ring for so many instances, without Stop.
func (p *RingParameters) Options(thetaMax float64, instances int) ring.RebalanceOptions {
	o := ring.RebalanceOptions{
		ThetaMax: min(thetaMax, planner.MaxAmount), Method: p.Method, Policy: ring.Policy{Tau: p.Tau}, MaxRounds: p.MaxRounds,
	}
	if p.Method == ring.Fitted {
		o.TokenLimit = max(1, min(ring.DefaultFittedTokens, partitioner.MaxRingTokens/instances))
	}
	return o
}

// RangesParameters are those of scheme ranges, with defaults filled in.
type RangesParameters struct {
	Method       ranges.Method `json:"method"`
	MaxIntervals int           `json:"max_intervals,omitzero"` // 0 under quantile
	Phase        RangesPhase   `json:"phase"`
}

// RangesPhase says whether the owners of ranges answer for their keys.
type RangesPhase string

// The phases, in their order.
const (
	// PhasePut: records come to any instance, and each sends on what it does not own;
	// nobody answers.
	PhasePut RangesPhase = "put"
	// PhaseGet: every key has one instance that answers for it.
	PhaseGet RangesPhase = "get"
)

// Options are those of a plan of the ranges for so many instances, without Stop:
// there are never more ranges than can be planned on.
func (p *RangesParameters) Options(thetaMax float64, instances int) ranges.Options {
	return ranges.Options{
		Method: p.Method, ThetaMax: min(thetaMax, planner.MaxAmount),
		MaxIntervals: min(p.MaxIntervals, ranges.MaxOwners/instances),
	}
}

// PkgParameters are those of scheme pkg, with defaults filled in.
type PkgParameters struct {
	Method  grouping.Scheme `json:"method"`
	Choices int             `json:"choices"`
}

// IsInputError reports whether an error is a [planner.InputError].
func IsInputError(err error) bool {
	var input *planner.InputError
	return errors.As(err, &input)
}

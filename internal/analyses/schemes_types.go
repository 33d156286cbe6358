package analyses

import (
	"plannerd/planner/grouping"
	"plannerd/planner/schemes"
)

// Instance is a task instance.
type Instance struct {
	ID       int32   `json:"id"`                // ≥ 0
	Capacity float64 `json:"capacity,omitzero"` // κ, from 1e-6 to 1e6. Defaults to 1
}

func (i *Instance) number(id int32) { i.ID = id }

// Instances are those of an operator; in JSON also their number.
type Instances = Counted[Instance, *Instance]

// SchemesRequest asks for all schemes side by side, for the same keys, the same
// instances and the same tolerance.
type SchemesRequest struct {
	// Instances of the operator. In JSON also a number. Defaults to 8.
	Instances Instances `json:"instances,omitzero"`
	// ThetaMax is the tolerance θ_max ≥ 0 of all. Defaults to 0.08.
	ThetaMax *float64 `json:"theta_max,omitzero"`
	// Hash is where keys are before: "ring" (default) or "modulo".
	Hash string `json:"hash,omitzero"`
	// TokensPerInstance of the ring. Defaults to 128.
	TokensPerInstance int `json:"tokens_per_instance,omitzero"`
	// TableLimit is A_max ≥ 0 of the routing table. Nil: no limit.
	TableLimit *int64 `json:"table_limit,omitzero"`
	// Mergeable says that partial results of one key on several instances can be merged,
	// so that keys may be split. Defaults to true.
	Mergeable *bool `json:"mergeable,omitzero"`
	// MaxChoices is the most choices of pkg to try. Defaults to the number of instances,
	// at most 256.
	MaxChoices int `json:"max_choices,omitzero"`
	// Sources is S of pkg. Defaults to 1.
	Sources int `json:"sources,omitzero"`
	// LoadInformation of pkg: global (default) or local.
	LoadInformation grouping.LoadInformation `json:"load_information,omitzero"`
	// AggregationPeriod of pkg, in messages. Defaults to 0, once at the end.
	AggregationPeriod int64 `json:"aggregation_period,omitzero"`
	// MaxRounds of the ring's redistribution, for each instance. Defaults to 8.
	MaxRounds int `json:"max_rounds,omitzero"`
	// MaxIntervals of each follower of ranges. Defaults to 32.
	MaxIntervals int `json:"max_intervals,omitzero"`
	// Order, messages and seed are those of PKGRequest.
	Order    grouping.Order `json:"order,omitzero"`
	Messages int64          `json:"messages,omitzero"`
	Seed     uint64         `json:"seed,omitzero"`
	// Seeds is by how many seeds pkg is judged, from 1 to 1000. Defaults to 5.
	Seeds int `json:"seeds,omitzero"`
}

// SchemesResult is the answer to a SchemesRequest.
type SchemesResult struct {
	Keys     int64   `json:"keys"`
	Cost     float64 `json:"cost"`
	State    float64 `json:"state"`
	Messages int64   `json:"messages"` // of the stream of pkg
	// Sampled: that stream was drawn, so that the pairs and aggregation messages of pkg
	// are those of a sample, and fewer than those of all that the keys cost.
	Sampled bool `json:"sampled"`
	// Instances is their number, ThetaMax the tolerance, Hash where keys are before.
	Instances int     `json:"instances"`
	ThetaMax  float64 `json:"theta_max"`
	Hash      string  `json:"hash"`
	P1        float64 `json:"p1"` // share of the costliest key
	// LeastTheta is the θ below which no scheme comes that keeps each key on one
	// instance, because of the costliest key.
	LeastTheta     float64              `json:"least_theta"`
	Schemes        []SchemeFigures      `json:"schemes"`
	Recommendation SchemeRecommendation `json:"recommendation"`
}

// SchemeFigures are what came of one scheme.
type SchemeFigures struct {
	// Scheme: hash_modulo, hash_ring, ring, pkg, mixed, optimal or ranges.
	Scheme schemes.Scheme `json:"scheme"`
	// Theta is max_d L(d)/L̄_d − 1, Imbalance is the greatest load above the mean one,
	// over all load: I(m)/m.
	Theta     float64 `json:"theta"`
	Imbalance float64 `json:"imbalance"`
	Balanced  bool    `json:"balanced"` // θ ≤ θ_max
	// WithinLimit: its routing table, if it has one, keeps to table_limit.
	WithinLimit bool `json:"table_within_limit"`
	// KeepsKeys: every key is on one instance, so that nothing has to be merged.
	KeepsKeys bool `json:"keeps_keys"`

	Pairs        int64 `json:"pairs"` // (instance, key) pairs held
	TableEntries int64 `json:"table_entries"`
	Tokens       int64 `json:"tokens"`
	Intervals    int64 `json:"intervals"`

	// KeysMoved change their instance to get there from the plain hash, with so much
	// state, a fraction of all. Under pkg nothing has to move: partial states are merged
	// wherever they are.
	KeysMoved     int64   `json:"keys_moved"`
	StateMoved    float64 `json:"state_moved"`
	StateFraction float64 `json:"state_fraction"`
	// AggregationMessages are sent on by the instances in a period, to be merged; 0
	// where keys are whole.
	AggregationMessages float64 `json:"aggregation_messages"`

	Method  string `json:"method,omitzero"`  // of ring: the best of halving, doubling and fitted
	Choices int    `json:"choices,omitzero"` // of pkg: the best d
	// OverSeeds is θ of pkg over all seeds; theta is its median.
	OverSeeds *Spread `json:"over_seeds,omitzero"`
}

// SchemeRecommendation is which scheme to use, and why.
type SchemeRecommendation struct {
	Scheme schemes.Scheme `json:"scheme"`
	Rule   schemes.Rule   `json:"rule"`   // by which it was chosen
	Reason string         `json:"reason"` // one sentence
}

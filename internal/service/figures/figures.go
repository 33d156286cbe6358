package figures

import (
	"plannerd/compact"
	"plannerd/planner"
)

// The figures of a plan that the store keeps as JSON follow. The API answers with
// them as they are.

// Certificate proves how good a plan can be at best.
type Certificate struct {
	Gap        *float64 `json:"gap"`
	Infeasible bool     `json:"infeasible"`
	LowerBound *float64 `json:"lower_bound"`
	Scope      string   `json:"scope"` // what may be placed otherwise: "keys", "classes", "ranges" or "candidates"
	Unmet      []Unmet  `json:"unmet"`
}

// Unmet is a constraint that no plan meets.
type Unmet struct {
	AtLeast    float64 `json:"at_least"`
	Constraint string  `json:"constraint"`
	Limit      float64 `json:"limit"`
	Resource   string  `json:"resource,omitzero"` // "": of cost, or of none
	Rule       string  `json:"rule,omitzero"`     // of constraint placement
	Without    float64 `json:"without,omitzero"`  // θ of a plan without the rule
}

// Comparison is a figure before and after a plan.
type Comparison struct {
	After  float64 `json:"after"`
	Before float64 `json:"before"`
}

// MigrationFigures are what a plan moves.
type MigrationFigures struct {
	Fraction  float64 `json:"fraction"`
	Keys      int64   `json:"keys"`
	Objective float64 `json:"objective"`
	State     float64 `json:"state"`
}

// Compaction says how statistics were compacted.
type Compaction struct {
	CostScale  float64     `json:"cost_scale"`
	Degree     *int32      `json:"degree"`
	Error      *Comparison `json:"error"`
	Keys       int64       `json:"keys"`
	Records    int64       `json:"records"`
	StateScale float64     `json:"state_scale"`
}

// Affinity is how many keys statistics named, and how many routed keys these are.
type Affinity struct {
	Keys       int64 `json:"keys"`
	RoutedKeys int64 `json:"routed_keys"`
}

// Load is what an instance carries before and after a plan.
type Load struct {
	Added      *bool       `json:"added,omitzero"`
	Capacity   float64     `json:"capacity"`
	Cordoned   *bool       `json:"cordoned,omitzero"`
	Drained    *bool       `json:"drained,omitzero"`
	FairLoad   *float64    `json:"fair_load,omitzero"` // nil: in proportion to the capacity
	Filling    *bool       `json:"filling,omitzero"`
	ID         int32       `json:"id"`
	KeysAfter  int64       `json:"keys_after"`
	KeysBefore int64       `json:"keys_before"`
	LeastLoad  *float64    `json:"least_load,omitzero"` // nil: nothing is asked for
	LoadAfter  float64     `json:"load_after"`
	LoadBefore float64     `json:"load_before"`
	LoadError  *Comparison `json:"load_error,omitzero"`
	// MergesBefore and MergesAfter are nil where each key has one instance.
	MergesBefore *int64    `json:"merges_before,omitzero"`
	MergesAfter  *int64    `json:"merges_after,omitzero"`
	Name         string    `json:"name,omitzero"` // "": the instance has none
	StateIn      float64   `json:"state_in"`
	StateOut     float64   `json:"state_out"`
	Unfilled     *Shortage `json:"unfilled,omitzero"`
}

// Shortage is why an instance stays below its least load.
type Shortage struct {
	Cause  string `json:"cause,omitzero"`
	Proven bool   `json:"proven"`
}

// HotKey is a key, or a class of them, that no instance can carry within its bound.
type HotKey struct {
	Key         []byte    `json:"key,omitzero"`
	Class       []float64 `json:"class,omitzero"` // in place of the key
	Instance    int32     `json:"instance"`
	Cost        float64   `json:"cost"`
	Pieces      *int32    `json:"pieces"`
	ForcedTheta float64   `json:"forced_theta"`
	Resource    string    `json:"resource,omitzero"` // in which it is too large; "": cost
}

// SplitKey is a key that goes to several instances.
type SplitKey struct {
	Key     []byte         `json:"key"`
	Cost    float64        `json:"cost"`
	Cause   string         `json:"cause"`
	Changed bool           `json:"changed"` // it was whole before, or had other parts
	Parts   []planner.Part `json:"parts"`   // with the ids of instances
}

// ClassOf is a record as hot keys name it.
func ClassOf(r compact.Record) []float64 {
	return []float64{float64(r.Current), float64(r.Hash), r.Cost, r.State, float64(r.Count)}
}

// PlanReports are the reports that a plan was made of.
type PlanReports struct {
	Carried  []CarriedReport `json:"carried"`
	Frozen   []int32         `json:"frozen"`
	Received []int32         `json:"received"`
	Lost     []int32         `json:"lost,omitzero"`
	Estimate *Estimate       `json:"estimate,omitzero"` // nil: the reports name keys
}

// CarriedReport is an earlier report that stands in for one that is missing.
type CarriedReport struct {
	Instance int32 `json:"instance"`
	Interval int64 `json:"interval"`
}

// BlockingPlan is a plan because of which nothing else is planned.
type BlockingPlan struct {
	Plan    string            `json:"plan"`
	Status  string            `json:"status"`
	Figures *EvaluatedFigures `json:"figures"` // nil: they cannot be told
}

// LatestFigures are how a plan does under newer statistics than it was made of.
type LatestFigures struct {
	Plan     string            `json:"plan"` // that was made of them
	Epoch    int64             `json:"epoch"`
	Interval int64             `json:"interval"`
	Figures  *EvaluatedFigures `json:"figures"` // nil: they cannot be told
	Breaks   []string          `json:"breaks"`  // but for those that keep to Agreed
	Agreed   Agreement         `json:"agreed,omitzero"`
}

// EvaluatedFigures are what would come of the moves of a plan.
type EvaluatedFigures struct {
	Balanced  *bool            `json:"balanced"` // nil: loads are expectations
	Theta     Comparison       `json:"theta"`
	Underload Comparison       `json:"underload"`
	Skewness  Comparison       `json:"skewness"`
	Migration MigrationFigures `json:"migration"`
}

// Estimate says how far figures of sketches may be off.
type Estimate struct {
	RankError  float64 `json:"rank_error"` // of the weight below a key, as a share of all
	LoadError  float64 `json:"load_error"` // of the load of any instance after the plan, likewise
	Confidence float64 `json:"confidence"` // that no rank is off by more
}

// Package wire has the small types of the HTTP API as they stand in
// openapi.yaml: most are generated from it, unions are written by hand.
package wire

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:generate go tool -modfile=../../tools/go.mod oapi-codegen -config oapi-codegen.yaml ../../openapi.yaml

// Instances are the instances of an operator. In JSON a number n is short for n
// instances with the ids from 0 and no more said.
type Instances []Instance

// UnmarshalJSONFrom reads a number or an array.
func (i *Instances) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '0' {
		return json.UnmarshalDecode(dec, (*[]Instance)(i))
	}
	var n int32
	if err := json.UnmarshalDecode(dec, &n); err != nil {
		return err
	}
	*i = CountedInstances(int(n))
	return nil
}

// CountedInstances returns n instances with the ids from 0.
func CountedInstances(n int) Instances {
	out := make(Instances, n)
	for id := range out {
		out[id].Id = InstanceID(id)
	}
	return out
}

// OneOrMany is a list that may stand as a single value in JSON.
type OneOrMany[T any] []T

// UnmarshalJSONFrom reads a value or an array of them.
func (m *OneOrMany[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '[' {
		return json.UnmarshalDecode(dec, (*[]T)(m))
	}
	*m = make([]T, 1)
	return json.UnmarshalDecode(dec, &(*m)[0])
}

// ParameterGrid are the parameter values of a what-if; all their combinations
// are planned. An empty list stands for the operator's value.
type ParameterGrid struct {
	ThetaMax    OneOrMany[float64] `json:"theta_max"`
	TableLimit  OneOrMany[*int64]  `json:"table_limit"`
	Beta        OneOrMany[float64] `json:"beta"`
	KeyOverhead OneOrMany[float64] `json:"key_overhead"`

	Certificate    OneOrMany[string]          `json:"certificate"`
	Objective      OneOrMany[string]          `json:"objective"`
	MigrationLimit OneOrMany[*MigrationLimit] `json:"migration_limit"`
	WorkBudget     OneOrMany[int64]           `json:"work_budget"`
	Deadline       OneOrMany[*string]         `json:"deadline"`

	CompactDegree OneOrMany[int32] `json:"compact_degree"`
}

// PlanMigration is a migration of any kind. That of a key is a Migration; those of
// arcs and ranges have its fields but for the key.
type PlanMigration struct {
	Migration
	Class [6]float64 `json:"-"` // a ClassMove, in place of all else
}

// UnmarshalJSON reads an object, or the array of a ClassMove.
func (m *PlanMigration) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, &m.Class)
	}
	return json.Unmarshal(text, &m.Migration)
}

// PlanParameters are those of a plan of a routing table; of other plans they are
// those that such plans have, too.
type PlanParameters = Parameters

// CompactStatistics are the compact form of statistics, without its records.
type CompactStatistics struct {
	Degree     *int32   `json:"degree"`
	CostScale  *float64 `json:"cost_scale"`
	StateScale *float64 `json:"state_scale"`
}

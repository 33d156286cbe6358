// Package wire has the small types of the HTTP API as they stand in
// openapi.yaml: most are generated from it, unions are written by hand.
package wire

import "github.com/go-json-experiment/json"

//go:generate go tool -modfile=../../tools/go.mod oapi-codegen -config oapi-codegen.yaml ../../openapi.yaml

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

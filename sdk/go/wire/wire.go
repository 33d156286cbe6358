// Package wire has the types of the HTTP API as they stand in openapi.yaml. The server
// and its clients share them. Most are generated; unions are written by hand.
//
// Requests write unions in the form that says most: a list of instances rather than their
// number, a list of values rather than one.
package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// InstanceRef is the name of an instance, or its id in digits.
type InstanceRef string

// ID refers to an instance by its id.
func ID(id int32) InstanceRef { return InstanceRef(strconv.FormatInt(int64(id), 10)) }

// IDs refer to instances by their ids.
func IDs(ids ...int32) []InstanceRef {
	out := make([]InstanceRef, len(ids))
	for i, id := range ids {
		out[i] = ID(id)
	}
	return out
}

// MarshalJSON writes an id as a number, and a name as text.
func (r InstanceRef) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseUint(string(r), 10, 31); err == nil {
		return strconv.AppendUint(nil, n, 10), nil
	}
	return json.Marshal(string(r))
}

// UnmarshalJSON reads a number or text.
func (r *InstanceRef) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(r))
	}
	var id int32
	err := json.Unmarshal(text, &id)
	*r = ID(id)
	return err
}

// Numbered are n instances of capacity 1 with the ids from 0.
func Numbered(n int) Instances {
	out := make(Instances, n)
	for i := range out {
		out[i].Id = new(int32(i))
	}
	return out
}

// Named are instances of capacity 1 that the service gives ids.
func Named(names ...string) Instances {
	out := make(Instances, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// PlanMigration is a migration of any kind. That of a key is a Migration; those of
// arcs and ranges have its fields but for the key.
type PlanMigration struct {
	Migration
	Arc   *Arc       `json:"arc,omitempty"`
	Range *KeyRange  `json:"range,omitempty"`
	Keys  *int64     `json:"keys,omitempty"` // how many the arc or the range has
	Class [6]float64 `json:"-"`              // a ClassMove, in place of all else
}

// UnmarshalJSON reads an object, or the array of a ClassMove.
func (m *PlanMigration) UnmarshalJSON(text []byte) error {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, &m.Class)
	}
	type object PlanMigration
	return json.Unmarshal(text, (*object)(m))
}

// MarshalJSON writes what UnmarshalJSON reads.
func (m PlanMigration) MarshalJSON() ([]byte, error) {
	if count := m.Class[5]; count > 0 {
		return json.Marshal(m.Class)
	}
	type object PlanMigration
	return json.Marshal(object(m))
}

// PlanParameters are those of a plan: of a routing table Parameters, of another scheme
// its options, and of Parameters those that it has, too.
type PlanParameters struct {
	Parameters
	Ring   *RingOptions   `json:"ring,omitempty"`
	Ranges *RangesOptions `json:"ranges,omitempty"`
	Pkg    *PkgOptions    `json:"pkg,omitempty"`
}

// ReplayResult is what a replay answers: one of these.
type ReplayResult struct {
	Results *WhatIfResults
	Plan    *Plan // of a replay that proposes
}

// UnmarshalJSON tells the two apart by the member that only results have.
func (r *ReplayResult) UnmarshalJSON(text []byte) error {
	var is struct {
		Results json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return err
	}
	if is.Results != nil {
		return json.Unmarshal(text, &r.Results)
	}
	return json.Unmarshal(text, &r.Plan)
}

// AnalysisStream is a stream of messages, in their order.
type AnalysisStream []AnalysisMessage

// AnalysisMessage is a message of a stream: its key, and what it costs.
type AnalysisMessage struct {
	Key  string
	Cost *float64 // nil: 1
}

// MarshalJSON writes the key alone, or both as an array.
func (m AnalysisMessage) MarshalJSON() ([]byte, error) {
	if m.Cost == nil {
		return json.Marshal(m.Key)
	}
	return json.Marshal([]any{m.Key, *m.Cost})
}

// Error makes each code an error, so that errors.Is tells what was refused.
func (c Code) Error() string { return string(c) }

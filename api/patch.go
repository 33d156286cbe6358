package api

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
)

// mergePatch applies a JSON Merge Patch, RFC 7396: members of an object replace those of
// the same name, null removes them, and all that is no object replaces the whole.
func mergePatch(target, patch jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() != '{' {
		return patch, nil
	}
	var from map[string]jsontext.Value
	into := map[string]jsontext.Value{}
	if err := json.Unmarshal(patch, &from); err != nil {
		return nil, err
	}
	if target.Kind() == '{' {
		if err := json.Unmarshal(target, &into); err != nil {
			return nil, err
		}
	}
	for name, value := range from {
		if value.Kind() == 'n' {
			delete(into, name)
			continue
		}
		var err error
		if into[name], err = mergePatch(into[name], value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(into, json.Deterministic(true))
}

// readOnly are the members of an operator that its configuration does not have.
func readOnly(op planning.Operator) (map[string]jsontext.Value, error) {
	text, err := json.Marshal(struct {
		Name string `json:"name"`
		operatorStatus
	}{op.Name, operatorStatusOf(op)})
	if err != nil {
		return nil, err
	}
	var out map[string]jsontext.Value
	err = json.Unmarshal(text, &out)
	return out, err
}

// writable returns what a configuration, or a change of one, says about what can be
// changed. What it says of the rest must be as the operator stands, so that what was read
// can be sent back.
func (s operators) writable(c *call, text jsontext.Value) (jsontext.Value, error) {
	var said map[string]jsontext.Value
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	none, err := readOnly(planning.Operator{})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(none)), func(name string) bool { return said[name] != nil }) {
		return text, nil
	}
	op, err := s.service.Operator(c.Context(), c.param("operator"))
	if err != nil {
		return nil, err
	}
	current, err := readOnly(op)
	if err != nil {
		return nil, err
	}
	bad := httpkit.Invalid()
	for name, is := range current {
		if value, ok := said[name]; ok && !bytes.Equal(value, is) {
			bad.At("/"+name, "cannot be changed: it is "+string(is))
		}
		delete(said, name)
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	return json.Marshal(said, json.Deterministic(true))
}

package httpkit

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MergePatch applies a JSON Merge Patch, RFC 7396: members of an object replace those of
// the same name, null removes them, and all that is no object replaces the whole.
func MergePatch(target, patch jsontext.Value) (jsontext.Value, error) {
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
		if into[name], err = MergePatch(into[name], value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(into, json.Deterministic(true))
}

package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/nearest"
)

const wrongType = "must be of type "

func typeName(s *openapi3.Schema) string {
	if s.Type == nil || len(*s.Type) == 0 {
		return "string"
	}
	name := (*s.Type)[0]
	if s.Items != nil && s.Items.Value.Type != nil {
		name += " of " + (*s.Items.Value.Type)[0]
	}
	return name
}

// field is what is wrong with one value.
type field struct{ pointer, detail string }

// schemaProblems flattens the validator's errors. prefix is the JSON pointer of
// the value that was checked.
func schemaProblems(err error, prefix string) []field {
	// Layer by layer: each may be one of these, and what it wraps must wait.
	switch e := err.(type) { //nolint:errorlint // see above
	case openapi3.MultiError:
		var out []field
		for _, one := range e {
			out = append(out, schemaProblems(one, prefix)...)
		}
		return out
	case *openapi3.SchemaError:
		return schemaProblem(e, prefix)
	case nil:
		return nil
	}
	return schemaProblems(errors.Unwrap(err), prefix)
}

func schemaProblem(e *openapi3.SchemaError, prefix string) []field {
	at := jsontext.Pointer(prefix)
	for _, token := range e.JSONPointer() {
		at = at.AppendToken(token)
	}
	detail := e.Reason
	switch e.SchemaField {
	case "oneOf", "allOf":
		return alternatives(schemaProblems(e.Origin, prefix), string(at))
	case "type":
		detail = wrongType + typeName(e.Schema)
	case "properties":
		// The validator points at the object; the field's name is in its reason.
		var name string
		if _, err := fmt.Sscanf(e.Reason, "property %q", &name); err == nil {
			at, detail = at.AppendToken(name), UnknownField(name, e.Schema)
		}
	case "required":
		detail = "is needed"
	case "pattern":
		detail = "must match " + e.Schema.Pattern
		if words, ok := e.Schema.Extensions["x-words"].(string); ok {
			detail = "must be " + words
		}
	case "enum":
		names := make([]string, len(e.Schema.Enum))
		for i, v := range e.Schema.Enum {
			names[i] = fmt.Sprint(v)
		}
		detail = "must be one of " + strings.Join(names, ", ")
	}
	return []field{{string(at), detail}}
}

// alternatives sums up why a value at pointer is none of several: where one of
// them is of the value's type, only what that one says is to the point.
func alternatives(found []field, pointer string) []field {
	var types []string
	rest := slices.DeleteFunc(found, func(f field) bool {
		name, mismatch := strings.CutPrefix(f.detail, wrongType)
		if mismatch = mismatch && f.pointer == pointer; mismatch {
			types = append(types, name)
		}
		return mismatch
	})
	if len(rest) > 0 {
		return rest
	}
	if len(types) == 0 { // the value fits several
		return []field{{pointer, "is ambiguous"}}
	}
	return []field{{pointer, wrongType + strings.Join(types, " or ")}}
}

// UnknownField says that an object has no member of that name, and which one it has.
func UnknownField(name string, s *openapi3.Schema) string {
	return "is not a known field" + nearest.Suffix(name, slices.Sorted(maps.Keys(s.Properties)))
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const wireHeading = `"""The types of the HTTP API as they stand in openapi.yaml, which describes each member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from typing_extensions import NotRequired, Required, TypeAlias, TypedDict

from plannerd.transport import Call
`

// wireModule writes the types of all schemas, and of the parameters of all operations.
func wireModule(schemas openapi3.Schemas, operations []operation) (string, error) {
	var text strings.Builder
	text.WriteString(wireHeading)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		declaration, err := declare(name, schemas[name])
		if err != nil {
			return "", fmt.Errorf("schema %s: %w", name, err)
		}
		text.WriteString(declaration)
	}
	for _, o := range operations {
		fmt.Fprintf(&text, "\nclass %s(Call, total=False):\n", o.parametersType())
		for _, p := range o.parameters {
			fmt.Fprintf(&text, "    %s: %s\n", p.name, p.kind)
		}
		if len(o.parameters) == 0 {
			text.WriteString("    pass\n")
		}
	}
	return text.String(), nil
}

// declare writes the declaration of one schema.
func declare(name string, s *openapi3.SchemaRef) (string, error) {
	if s.Ref != "" || len(s.Value.Properties) == 0 {
		t, err := expression(s)
		return fmt.Sprintf("\n%s: TypeAlias = '%s'\n", name, t), err
	}
	members := slices.Sorted(maps.Keys(s.Value.Properties))
	types := make([]string, len(members))
	for i, member := range members {
		t, err := expression(s.Value.Properties[member])
		if err != nil {
			return "", fmt.Errorf("%s: %w", member, err)
		}
		if !slices.Contains(s.Value.Required, member) {
			t = "NotRequired[" + t + "]"
		}
		types[i] = t
	}
	var text strings.Builder
	if slices.ContainsFunc(members, isKeyword) {
		fmt.Fprintf(&text, "\n%s = TypedDict(\n    '%s',\n    {\n", name, name)
		for i, member := range members {
			fmt.Fprintf(&text, "        '%s': '%s',\n", member, types[i])
		}
		text.WriteString("    },\n)\n")
		return text.String(), nil
	}
	fmt.Fprintf(&text, "\nclass %s(TypedDict):\n", name)
	for i, member := range members {
		fmt.Fprintf(&text, "    %s: %s\n", member, types[i])
	}
	return text.String(), nil
}

// isKeyword reports whether a name cannot be that of an attribute of a class.
func isKeyword(name string) bool {
	return slices.Contains([]string{"from", "with", "in", "is", "not", "class", "global"}, name)
}

// expression writes the type of a schema.
func expression(s *openapi3.SchemaRef) (string, error) {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		if len(s.Value.Properties) == 0 {
			return name, nil // an alias, which says itself whether it may be null
		}
		return orNone(name, s.Value), nil
	}
	t, err := inline(s.Value)
	return orNone(t, s.Value), err
}

func orNone(t string, s *openapi3.Schema) string {
	if s.Nullable {
		return t + " | None"
	}
	return t
}

// inline writes the type of a schema that has no name.
func inline(s *openapi3.Schema) (string, error) {
	switch {
	case len(s.AllOf) == 1:
		return expression(s.AllOf[0])
	case len(s.OneOf) > 0:
		return union(s.OneOf)
	case len(s.AllOf) > 0 || len(s.AnyOf) > 0:
		return "", errors.New("a schema of several others")
	case s.Type == nil:
		return "Any", nil
	case s.Type.Is("object"):
		return object(s)
	case s.Type.Is("array"):
		items, err := expression(s.Items)
		return "list[" + items + "]", err
	case len(s.Enum) > 0:
		return literal(s.Enum), nil
	}
	return scalar(s)
}

func union(all openapi3.SchemaRefs) (string, error) {
	types := make([]string, 0, len(all))
	for _, one := range all {
		t, err := expression(one)
		if err != nil {
			return "", err
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return strings.Join(types, " | "), nil
}

// object writes the type of an object without a name: a map, or one whose members the
// contract alone describes.
func object(s *openapi3.Schema) (string, error) {
	if values := s.AdditionalProperties.Schema; values != nil {
		t, err := expression(values)
		return "dict[str, " + t + "]", err
	}
	return "dict[str, Any]", nil
}

func literal(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.Quote(fmt.Sprint(v))
	}
	return "Literal[" + strings.Join(texts, ", ") + "]"
}

var scalars = map[string]string{"boolean": "bool", "integer": "int", "number": "float", "string": "str"}

func scalar(s *openapi3.Schema) (string, error) {
	if s.Format == "binary" {
		return "bytes", nil
	}
	for _, name := range s.Type.Slice() {
		if t := scalars[name]; t != "" {
			return t, nil
		}
	}
	return "", fmt.Errorf("type %v", s.Type)
}

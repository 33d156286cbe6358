package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// operation is one of the contract's as a method of Python.
type operation struct {
	*openapi3.Operation

	name, method, route string
	path                []segment
	parameters          []parameter
	keyed               bool // it takes an Idempotency-Key
	// media are the types of its body, body the type of the argument; "": it has none.
	media    []string
	body     string
	optional bool
	// answer is the type of what it answers in JSON; "": bytes.
	answer string
}

// segment is a part of a path: a text, or an argument and its type.
type segment struct{ text, argument, kind string }

// parameter is a keyword of a method.
type parameter struct{ name, kind string }

// capital is its name in the contract as a type begins with it.
func (o operation) capital() string { return strings.ToUpper(o.OperationID[:1]) + o.OperationID[1:] }

func (o operation) parametersType() string { return o.capital() + "Parameters" }

// collect reads the operations in the order of their names.
func collect(document *openapi3.T) ([]operation, error) {
	var all []operation
	for _, path := range document.Paths.InMatchingOrder() {
		item := document.Paths.Value(path)
		for method, o := range item.Operations() {
			read, err := readOperation(path, method, item, o)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			all = append(all, read)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

func readOperation(path, method string, item *openapi3.PathItem, o *openapi3.Operation) (operation, error) {
	out := operation{Operation: o, name: snake(o.OperationID), method: method, route: path}
	kinds := map[string]string{}
	for _, p := range append(slices.Clone(item.Parameters), o.Parameters...) {
		if err := out.readParameter(p.Value, kinds); err != nil {
			return out, fmt.Errorf("parameter %s: %w", p.Value.Name, err)
		}
	}
	for text := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		s := segment{text: text}
		if name, found := strings.CutPrefix(text, "{"); found {
			s.argument = strings.TrimSuffix(name, "}")
			s.kind = kinds[s.argument]
		}
		out.path = append(out.path, s)
	}
	if err := out.readBody(o.RequestBody); err != nil {
		return out, err
	}
	err := out.readAnswer(o.Responses)
	return out, err
}

// rowCount is a header that the client fills in by itself.
const rowCount, idempotencyKey = "Plannerd-Row-Count", "Idempotency-Key"

// readParameter adds a keyword. The kinds are those of the parameters of the path.
func (o *operation) readParameter(p *openapi3.Parameter, kinds map[string]string) error {
	kind, err := parameterKind(p.Schema)
	switch {
	case err != nil:
		return err
	case p.In == "path":
		kinds[p.Name], err = pathKind(p.Schema)
		return err
	case p.Name == rowCount:
		return nil
	}
	o.keyed = o.keyed || p.Name == idempotencyKey
	if p.In == "header" {
		kind = "str"
	}
	if p.Required {
		kind = "Required[" + kind + "]"
	}
	name := strings.ToLower(strings.ReplaceAll(p.Name, "-", "_"))
	if isKeyword(name) {
		name += "_"
	}
	o.parameters = append(o.parameters, parameter{name, kind})
	return nil
}

// parameterKind writes the type of a parameter. A query is text, so what is any text may be
// a number, too; and None in a list is null.
func parameterKind(s *openapi3.SchemaRef) (string, error) {
	switch v := s.Value; {
	case v.Type.Is("array"):
		items, err := parameterKind(v.Items)
		if isText(v.Items.Value) {
			items += " | None"
		}
		return "Sequence[" + items + "]", err
	case isText(v):
		return "str | float", nil
	}
	return expression(s)
}

func isText(s *openapi3.Schema) bool {
	return s.Type.Is("string") && len(s.Enum) == 0 && len(s.AllOf) == 0
}

func (o *operation) readBody(body *openapi3.RequestBodyRef) error {
	if body == nil {
		return nil
	}
	o.optional = !body.Value.Required
	for media := range body.Value.Content {
		if !strings.HasPrefix(media, "text/") { // rows have a form that says more
			o.media = append(o.media, media)
		}
	}
	slices.Sort(o.media)
	var kinds []string
	for _, media := range o.media {
		if media == ndjson || !strings.HasSuffix(media, "json") {
			continue
		}
		kind, err := typeName(body.Value.Content[media].Schema)
		if err != nil {
			return err
		}
		kinds = append(kinds, kind)
	}
	if slices.Contains(o.media, ndjson) {
		kinds = append(kinds, "Rows")
	}
	o.body = strings.Join(kinds, " | ")
	return nil
}

const ndjson = "application/x-ndjson"

// typeName writes the type of a body as another module names it.
func typeName(s *openapi3.SchemaRef) (string, error) {
	kind, err := expression(s)
	if s.Ref != "" {
		kind = "wire." + kind
	}
	return kind, err
}

func (o *operation) readAnswer(responses *openapi3.Responses) error {
	var kinds []string
	for _, status := range []string{"200", "201", "204"} {
		r := responses.Value(status)
		if r == nil {
			continue
		}
		kind := "None"
		if len(r.Value.Content) > 0 {
			content := r.Value.Content["application/json"]
			if content == nil {
				return nil
			}
			var err error
			if kind, err = typeName(content.Schema); err != nil {
				return err
			}
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	o.answer = strings.Join(kinds, " | ")
	return nil
}

var capitals = regexp.MustCompile(`([a-z])([A-Z])`)

// snake writes a name as methods of Python are: analysePKG is analyse_pkg.
func snake(name string) string { return strings.ToLower(capitals.ReplaceAllString(name, "${1}_${2}")) }

const operationsHeading = `"""A method for each operation of the contract."""

from __future__ import annotations

from typing_extensions import Unpack

from plannerd import wire
from plannerd.rows import Rows
from plannerd.transport import Transport


class Operations(Transport):
    """The operations of openapi.yaml, which says what each takes and answers."""
`

// operationsModule writes the methods.
func operationsModule(operations []operation) string {
	var text strings.Builder
	text.WriteString(operationsHeading)
	for _, o := range operations {
		text.WriteString(o.text())
	}
	return text.String()
}

func (o operation) text() string {
	arguments, path := []string{"self"}, make([]string, len(o.path))
	for i, s := range o.path {
		path[i] = fmt.Sprintf("%q", s.text)
		if s.argument != "" {
			arguments, path[i] = append(arguments, s.argument+": "+s.kind), s.argument
		}
	}
	call := fmt.Sprintf("%q, [%s], parameters", o.method, strings.Join(path, ", "))
	if o.body != "" {
		body := "request: " + o.body
		if o.optional {
			body += " | None = None"
		}
		arguments = append(arguments, body)
		call += ", request"
	}
	if len(o.media) > 1 || len(o.media) == 1 && o.media[0] != "application/json" {
		call += ",\n            media=" + list(o.media)
	}
	if o.keyed {
		call += ", keyed=True"
	}
	answer := o.answer
	switch answer {
	case "":
		answer, call = "bytes", "return self._bytes("+call+")"
	case "None":
		call = "self._bytes(" + call + ")"
	default:
		call = "return self._json(" + call + ")"
	}
	if strings.Contains(call, "\n") {
		call = strings.Replace(call, "(", "(\n            ", 1)
		call = strings.TrimSuffix(call, ")") + "\n        )"
	}
	arguments = append(arguments, "**parameters: Unpack[wire."+o.parametersType()+"]")
	return fmt.Sprintf("\n    def %s(\n        %s,\n    ) -> %s:\n        \"\"\"%s.\"\"\"\n        %s\n",
		o.name, strings.Join(arguments, ",\n        "), answer, strings.TrimSuffix(o.Summary, "."), call)
}

func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// pathKind writes the type of an argument of a path.
func pathKind(s *openapi3.SchemaRef) (string, error) {
	kinds := make([]string, len(s.Value.OneOf))
	for i, one := range s.Value.OneOf {
		var err error
		if kinds[i], err = inline(one.Value); err != nil {
			return "", err
		}
	}
	if len(kinds) > 0 {
		return strings.Join(kinds, " | "), nil
	}
	return inline(s.Value)
}

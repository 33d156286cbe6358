// Package contract holds requests against an OpenAPI document: their parameters, and
// bodies of JSON. What is wrong with them comes out as problems, all at once, each with
// the place that it is about.
package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// Contract is an OpenAPI document.
type Contract struct{ doc *openapi3.T }

// Load reads a document, and fails when it is not sound.
func Load(text []byte) (*Contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("checking the contract: %w", err)
	}
	return &Contract{doc}, nil
}

// Operation is an operation of a contract.
type Operation struct {
	*openapi3.Operation
	Method, Path string // as the contract spells them

	route      *routers.Route
	parameters openapi3.Parameters // those of its path, too
}

// Operation returns the operation of a method and path as the contract spells it.
func (c *Contract) Operation(method, path string) (*Operation, error) {
	item := c.doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return nil, fmt.Errorf("the contract lacks %s %s", method, path)
	}
	o := item.GetOperation(method)
	return &Operation{
		Operation: o, Method: method, Path: path, parameters: slices.Concat(item.Parameters, o.Parameters),
		route: &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: method, Operation: o},
	}, nil
}

// jsonTypes are the media types of JSON, by what is asked with it.
var jsonTypes = []string{"application/json", "application/merge-patch+json"}

// jsonType is that of the JSON body that requests have.
func (o *Operation) jsonType() string {
	i := slices.IndexFunc(jsonTypes, func(name string) bool { return o.RequestBody.Value.Content[name] != nil })
	return jsonTypes[i]
}

// Body is the schema of the JSON body that requests have.
func (o *Operation) Body() *openapi3.Schema {
	return o.RequestBody.Value.Content[o.jsonType()].Schema.Value
}

// Component is a schema of the contract by its name.
func (o *Operation) Component(name string) *openapi3.Schema {
	return o.route.Spec.Components.Schemas[name].Value
}

// Takes reports whether the operation knows a header.
func (o *Operation) Takes(header string) bool {
	return o.parameters.GetByInAndName(openapi3.ParameterInHeader, header) != nil
}

package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"plannerd/internal/openapi"
)

// contract is openapi.yaml as the fuzzer needs it.
type contract struct {
	doc        *openapi3.T
	operations []*operation
	weight     int // of all operations
	// row is how one key is described, wherever statistics are sent.
	row *openapi3.Schema
}

// operation is one operation of the contract.
type operation struct {
	method, path string
	item         *openapi3.PathItem
	*openapi3.Operation
	parameters []*openapi3.Parameter // those of the path as well
	media      []string              // of request bodies
	weight     int                   // how often it is asked for
}

func (o *operation) name() string { return o.method + " " + o.path }

// loadContract reads the contract that is built in.
func loadContract() (*contract, error) {
	doc, err := openapi.Load()
	if err != nil {
		return nil, err
	}
	c := &contract{doc: doc, row: doc.Components.Schemas["Row"].Value}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			o := &operation{method: method, path: path, item: item, Operation: item.GetOperation(method)}
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				o.parameters = append(o.parameters, p.Value)
			}
			if o.RequestBody != nil {
				o.media = slices.Sorted(maps.Keys(o.RequestBody.Value.Content))
			}
			o.weight = weigh(o)
			c.weight += o.weight
			c.operations = append(c.operations, o)
		}
	}
	return c, nil
}

// weigh says how often an operation is asked for: what changes state most, what
// never changes least, and deletion seldom enough that something grows.
func weigh(o *operation) int {
	switch {
	case !strings.HasPrefix(o.path, "/v1/"), o.method == http.MethodDelete:
		return 1
	case o.method == http.MethodGet:
		return 4
	case strings.Contains(o.path, "{"):
		return 10
	default: // it computes, and stores nothing
		return 5
	}
}

// documented reports whether the operation names the status.
func documented(o *openapi3.Operation, status int) bool { return o.Responses.Status(status) != nil }

// served is the operation that answers to a method at the path of o, if any.
func (o *operation) served(method string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return o.item.Operations()[method]
}

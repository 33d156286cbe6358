// Package openapi reads openapi.yaml for tests that hold answers against it.
package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"plannerd"
)

// Load returns the contract of the HTTP API. Bodies of all its media types can be
// held against it, and what its extension x-one-of says counts as oneOf does.
func Load() (*openapi3.T, error) {
	for _, media := range []string{
		"application/x-ndjson", "application/vnd.apache.arrow.stream",
		"text/css", "text/csv", "text/html", "text/javascript",
	} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.PlainBodyDecoder)
	}
	doc, err := openapi3.NewLoader().LoadFromData(plannerd.OpenAPI)
	if err != nil {
		return nil, err
	}
	for name, s := range doc.Components.Schemas {
		if err := takeAlternatives(s.Value); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return doc, nil
}

// takeAlternatives makes oneOf of x-one-of, which names for each of some
// alternatives the members that are there. It is an extension because generators
// would make a type of each alternative.
func takeAlternatives(s *openapi3.Schema) error {
	extension, ok := s.Extensions["x-one-of"]
	if !ok {
		return nil
	}
	text, err := json.Marshal(extension)
	if err != nil {
		return err
	}
	var alternatives map[string][]string
	if err := json.Unmarshal(text, &alternatives); err != nil {
		return err
	}
	for _, title := range slices.Sorted(maps.Keys(alternatives)) {
		alternative := &openapi3.Schema{Title: title, Required: alternatives[title]}
		s.OneOf = append(s.OneOf, openapi3.NewSchemaRef("", alternative))
	}
	return nil
}

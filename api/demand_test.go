package api

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"plannerd/internal/access"
)

// TestDemandOf: an operation of which the contract says nothing is for admins, and one
// of which it says nonsense is for nobody.
func TestDemandOf(t *testing.T) {
	for _, c := range []struct {
		said  map[string]any
		want  demand
		fails bool
	}{
		{nil, demand{role: access.Admin}, false},
		{map[string]any{"x-operators": "all"}, demand{role: access.Admin, all: true}, false},
		{map[string]any{"x-role": "viewer"}, demand{role: access.Viewer}, false},
		{map[string]any{"x-role": "open"}, demand{role: access.Open}, false},
		{map[string]any{"x-role": "everybody"}, demand{}, true},
		{map[string]any{"x-role": ""}, demand{}, true},
		{map[string]any{"x-role": 1}, demand{}, true},
	} {
		got, err := demandOf(&routers.Route{Operation: &openapi3.Operation{Extensions: c.said}})
		if (err != nil) != c.fails || err == nil && got != c.want {
			t.Errorf("%v: %+v, %v", c.said, got, err)
		}
	}
}

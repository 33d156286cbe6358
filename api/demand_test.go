package api

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"plannerd/internal/web/access"
	"plannerd/internal/web/contract"
)

// TestRequiredRoleOf: an operation of which the contract says nothing is for admins, and one
// of which it says nonsense is for nobody.
func TestRequiredRoleOf(t *testing.T) {
	for _, c := range []struct {
		said  map[string]any
		want  requiredRole
		fails bool
	}{
		{nil, requiredRole{role: access.Admin}, false},
		{map[string]any{"x-operators": "all"}, requiredRole{role: access.Admin, all: true}, false},
		{map[string]any{"x-role": "viewer"}, requiredRole{role: access.Viewer}, false},
		{map[string]any{"x-role": "open"}, requiredRole{role: access.Open}, false},
		{map[string]any{"x-role": "everybody"}, requiredRole{}, true},
		{map[string]any{"x-role": ""}, requiredRole{}, true},
		{map[string]any{"x-role": 1}, requiredRole{}, true},
	} {
		got, err := requiredRoleOf(&contract.Operation{Operation: &openapi3.Operation{Extensions: c.said}})
		if (err != nil) != c.fails || err == nil && got != c.want {
			t.Errorf("%v: %+v, %v", c.said, got, err)
		}
	}
}

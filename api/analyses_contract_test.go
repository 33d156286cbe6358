package api_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"

	"plannerd/internal/analyses"
	"plannerd/internal/web/httpkit"
)

// ofTheBody are the members of a request that are no field of the analysis.
var ofTheBody = []string{"stream", "keys", "columns", "operator", "interval", "epoch", "key_encoding"}

// TestAnalysisSchemas: the contract says of each analysis what its types say.
func TestAnalysisSchemas(t *testing.T) {
	doc, _ := spec()
	for _, v := range []any{
		analyses.RingRequest{}, analyses.PKGRequest{}, analyses.RangesRequest{}, analyses.SchemesRequest{},
		analyses.RingResult{}, analyses.PKGResult{}, analyses.RangesResult{}, analyses.SchemesResult{},
	} {
		typ := reflect.TypeOf(v)
		schema := doc.Components.Schemas[typ.Name()]
		if schema == nil {
			t.Fatalf("the contract has no %s", typ.Name())
		}
		sameObject(t, typ.Name(), schema.Value, typ, strings.HasSuffix(typ.Name(), "Request"))
	}
}

// sameObject holds the properties of a schema against the fields of a struct.
func sameObject(t *testing.T, at string, schema *openapi3.Schema, typ reflect.Type, request bool) {
	t.Helper()
	top := request && !strings.Contains(at, ".")
	known := map[string]bool{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = true
		property := schema.Properties[name]
		if property == nil {
			t.Errorf("%s.%s is not in the contract", at, name)
			continue
		}
		optional := strings.Contains(options, "omitzero")
		if required := slices.Contains(schema.Required, name); required == optional {
			t.Errorf("%s.%s: required in the contract: %t, in the type: %t", at, name, required, !optional)
		}
		sameValue(t, at+"."+name, property.Value, field.Type, !optional, request)
	}
	for name := range schema.Properties {
		if !known[name] && !(top && slices.Contains(ofTheBody, name)) {
			t.Errorf("%s.%s is in the contract only", at, name)
		}
	}
	if closed := schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has; request && !closed {
		t.Errorf("%s takes unknown members", at)
	}
}

// sameValue holds a schema against a type.
func sameValue(t *testing.T, at string, schema *openapi3.Schema, typ reflect.Type, present, request bool) {
	t.Helper()
	for len(schema.AllOf) == 1 {
		schema = schema.AllOf[0].Value
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
		if present && !schema.Nullable {
			t.Errorf("%s may be null", at)
		}
	} else if schema.Nullable {
		t.Errorf("%s is never null", at)
	}
	if len(schema.OneOf) == 2 && request { // a list, or how many
		if !schema.OneOf[0].Value.Type.Is("integer") {
			t.Errorf("%s may be a number", at)
		}
		schema = schema.OneOf[1].Value
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean",
		reflect.Float64: "number",
		reflect.Int:     "integer", reflect.Int32: "integer", reflect.Int64: "integer", reflect.Uint32: "integer",
		reflect.Uint64: "integer",
	}[typ.Kind()]
	if !schema.Type.Is(want) {
		t.Errorf("%s is %s, in the contract %v", at, want, schema.Type)
		return
	}
	switch typ.Kind() {
	case reflect.Slice:
		sameValue(t, at+".0", schema.Items.Value, typ.Elem(), true, request)
	case reflect.Struct:
		sameObject(t, at, schema, typ, request)
	}
}

// TestAnalysisParameters: every field of a request that is flat is a parameter,
// too, and no other but those that say how rows are read.
func TestAnalysisParameters(t *testing.T) {
	doc, _ := spec()
	for _, k := range kinds {
		op := doc.Paths.Value(k.path()).Post
		want := []string{"key_encoding", "columns", "decimal", "delimiter", "duplicates", "header", "key_separator",
			"records", "skip"}
		for name, property := range op.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			if !slices.Contains(ofTheBody, name) && isFlat(property.Value) {
				want = append(want, name)
			}
		}
		var got []string
		for _, p := range op.Parameters {
			if p.Value.In == "query" {
				got = append(got, p.Value.Name)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has parameters %v, want %v", k.name, got, want)
		}
	}
}

// isFlat: a value, a list of values, or a list that may be a number.
func isFlat(s *openapi3.Schema) bool {
	for len(s.AllOf) == 1 {
		s = s.AllOf[0].Value
	}
	switch {
	case len(s.OneOf) > 0:
		return true
	case s.Type.Is("array"):
		return isFlat(s.Items.Value)
	}
	return !s.Type.Is("object")
}

// line is a line of an answer.
type line struct {
	Progress *struct {
		Phase       string
		Done, Total int64
	}
	Result  *struct{}
	Problem *httpkit.Problem
}

// lines returns the lines of an answer, each held against the contract.
func (a *answer) lines(k kind) []line {
	a.Helper()
	doc, _ := spec()
	result := doc.Paths.Value(k.path()).Post.Responses.Status(200).Value.Content["application/json"].Schema
	progress := openapi3.NewObjectSchema().WithRequired([]string{"phase", "done", "total"}).
		WithProperty("phase", openapi3.NewStringSchema()).
		WithProperty("done", openapi3.NewInt64Schema()).WithProperty("total", openapi3.NewInt64Schema())
	schemas := map[string]*openapi3.SchemaRef{
		"progress": progress.NewRef(), "result": result, "problem": doc.Components.Schemas["Problem"],
	}
	var out []line
	for text := range strings.Lines(string(a.body)) {
		var members map[string]any
		if err := json.Unmarshal([]byte(text), &members); err != nil || len(members) != 1 || !strings.HasSuffix(text, "\n") {
			a.Fatalf("%q is no line of an analysis: %v", text, err)
		}
		for name, v := range members {
			if schemas[name] == nil {
				a.Fatalf("a line of %q", name)
			}
			if err := schemas[name].Value.VisitJSON(v); err != nil {
				a.Error(err)
			}
		}
		var l line
		if err := json.Unmarshal([]byte(text), &l, json.MatchCaseInsensitiveNames(true)); err != nil {
			a.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"plannerd/internal/httpkit"
	"plannerd/internal/nearest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd"
)

// maxSmallBody is the limit of all bodies but statistics, and of a small member
// of a body of statistics, in bytes.
const maxSmallBody = 1 << 20

// contract checks requests against openapi.yaml.
type contract struct {
	doc *openapi3.T
}

// loadContract reads the contract that is built in, once: it never changes.
var loadContract = sync.OnceValues(func() (*contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(plannerd.OpenAPI)
	if err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("checking the contract: %w", err)
	}
	return &contract{doc: doc}, nil
})

// operation returns the route of a method and path as the contract spells it.
func (c *contract) operation(method, path string) (*routers.Route, error) {
	item := c.doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return nil, fmt.Errorf("the contract lacks %s %s", method, path)
	}
	return &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)}, nil
}

// outOfRange is what is wrong with a number that its type does not hold.
const outOfRange = "is out of range"

// checkParameters holds the path, query and header of r against the contract and
// returns the query. Bodies are checked elsewhere: the validator gets a request
// without one, so that it cannot read statistics into memory.
func checkParameters(r *http.Request, route *routers.Route) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformed("The query string cannot be read.")
	}
	if err := unescapePath(r); err != nil {
		return nil, err
	}
	p := invalid()
	for name, values := range query {
		switch known := route.Operation.Parameters.GetByInAndName("query", name); {
		case known == nil:
			p.AtParameter(name, "is not a parameter of this operation"+nearest.Suffix(name, queryNames(route.Operation)))
		case len(values) > 1:
			p.AtParameter(name, "stands more than once")
		}
	}
	if err := p.OrNil(); err != nil {
		return nil, err
	}
	httpkit.CoercePageSize(query)
	clone := r.Clone(r.Context())
	clone.Body = http.NoBody
	params := chi.RouteContext(r.Context()).URLParams
	path := make(map[string]string, len(params.Keys))
	for i, name := range params.Keys {
		path[name] = params.Values[i]
	}
	err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: clone, PathParams: path, QueryParams: query, Route: route,
		Options: &openapi3filter.Options{ExcludeRequestBody: true, MultiError: true, SkipSettingDefaults: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}, // see admit
	})
	if err != nil {
		return nil, parameterProblem(err)
	}
	return query, nil
}

// unescapePath makes the parameters of the path what they stand for: the router
// takes them verbatim from a path that is encoded in an unusual way.
func unescapePath(r *http.Request) error {
	if r.URL.RawPath == "" {
		return nil
	}
	values := chi.RouteContext(r.Context()).URLParams.Values
	for i, text := range values {
		plain, err := url.PathUnescape(text)
		if err != nil {
			return malformed("The path cannot be read.")
		}
		values[i] = plain
	}
	return nil
}

// parameterProblem turns what the validator says about parameters into a problem.
func parameterProblem(err error) error {
	var many openapi3.MultiError
	if !errors.As(err, &many) {
		many = openapi3.MultiError{err}
	}
	p := invalid()
	for _, one := range many {
		var (
			request *openapi3filter.RequestError
			parse   *openapi3filter.ParseError
		)
		if !errors.As(one, &request) || request.Parameter == nil {
			return malformed("The request cannot be read.")
		}
		name := request.Parameter.Name
		if errors.Is(one, strconv.ErrRange) {
			p.AtParameter(name, outOfRange)
			continue
		}
		if errors.As(one, &parse) {
			return malformed("A parameter cannot be read.").WithParameter(name, wrongType+typeName(request.Parameter.Schema.Value))
		}
		found := schemaProblems(request.Err, "")
		switch {
		case len(found) > 0:
		case errors.Is(one, openapi3.ErrSchemaInputNaN), errors.Is(one, openapi3.ErrSchemaInputInf):
			p.AtParameter(name, "must be a finite number")
		default:
			p.AtParameter(name, "is needed and must not be empty")
		}
		for _, f := range found {
			p.AtParameter(name, f.detail)
		}
	}
	return p
}

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

const wrongType = "must be of type "

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
	pointer := pointerTo(prefix, e.JSONPointer())
	switch e.SchemaField {
	case "oneOf", "allOf":
		return alternatives(schemaProblems(e.Origin, prefix), pointer)
	case "type":
		return []field{{pointer, wrongType + typeName(e.Schema)}}
	case "properties":
		// The validator points at the object; the field's name is in its reason.
		if name, ok := quoted(e.Reason); ok {
			return []field{{pointer + "/" + escapePointer(name), unknownField(name, e.Schema)}}
		}
	case "required":
		return []field{{pointer, "is needed"}}
	case "pattern":
		if words, ok := e.Schema.Extensions["x-words"].(string); ok {
			return []field{{pointer, "must be " + words}}
		}
		return []field{{pointer, "must match " + e.Schema.Pattern}}
	case "enum":
		names := make([]string, len(e.Schema.Enum))
		for i, v := range e.Schema.Enum {
			names[i] = fmt.Sprint(v)
		}
		return []field{{pointer, "must be one of " + strings.Join(names, ", ")}}
	}
	return []field{{pointer, e.Reason}}
}

// unknownField says that an object has no member of that name, and which one it has.
func unknownField(name string, s *openapi3.Schema) string {
	return "is not a known field" + nearest.Suffix(name, slices.Sorted(maps.Keys(s.Properties)))
}

// queryNames are the query parameters of an operation.
func queryNames(o *openapi3.Operation) []string {
	var names []string
	for _, p := range o.Parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			names = append(names, p.Value.Name)
		}
	}
	return names
}

// pointerTo returns the JSON pointer to what the tokens name under prefix.
func pointerTo(prefix string, tokens []string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, token := range tokens {
		b.WriteString("/" + escapePointer(token))
	}
	return b.String()
}

// quoted returns the first Go-quoted string in s.
func quoted(s string) (string, bool) {
	start := strings.IndexByte(s, '"')
	if start < 0 {
		return "", false
	}
	q, err := strconv.QuotedPrefix(s[start:])
	if err != nil {
		return "", false
	}
	name, err := strconv.Unquote(q)
	return name, err == nil
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escapePointer(token string) string { return pointerEscapes.Replace(token) }

// decodeStrict brings JSON text into a Go value: no unknown and no repeated
// members, valid UTF-8. prefix is the JSON pointer of the text in the body.
// When schema is given the text is first held against it, which finds all
// problems and not only the first.
func decodeStrict(text []byte, into any, prefix string, schema *openapi3.Schema) error {
	if schema != nil {
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			return jsonProblem(err, prefix)
		}
		if err := schema.VisitJSON(tree, openapi3.MultiErrors(), openapi3.VisitAsRequest()); err != nil {
			p := invalid()
			for _, f := range schemaProblems(err, prefix) {
				p.At(f.pointer, f.detail)
			}
			return p
		}
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return jsonProblem(err, prefix)
	}
	return nil
}

// jsonProblem turns an error of the JSON decoder into a problem.
func jsonProblem(err error, prefix string) error {
	var (
		syntax   *jsontext.SyntacticError
		semantic *json.SemanticError
	)
	switch {
	case errors.As(err, &syntax):
		return malformed("The body is not well-formed JSON.").With(prefix+string(syntax.JSONPointer), fmt.Sprintf("at byte %d: %s", syntax.ByteOffset, plainJSON(syntax.Err)))
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return invalid().With(prefix+string(semantic.JSONPointer), "is not a known field")
	case errors.As(err, &semantic):
		return invalid().With(prefix+string(semantic.JSONPointer), "is of the wrong type or out of range")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return malformed("The body ends too early.")
	default:
		return err
	}
}

func plainJSON(err error) string {
	if err == nil {
		return "is not valid"
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// readSmall reads and checks a small JSON body into the Go value. It reports
// whether there was one.
func readSmall(w http.ResponseWriter, r *http.Request, route *routers.Route, into any) (bool, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSmallBody))
	if err != nil {
		var length *http.MaxBytesError
		if errors.As(err, &length) || errors.Is(err, httpkit.ErrBodyTooSlow) {
			return false, err
		}
		return false, malformed("The body cannot be read.")
	}
	required := route.Operation.RequestBody.Value.Required
	if len(body) == 0 {
		if required {
			return false, malformed("The body is missing.")
		}
		return false, nil
	}
	if err := checkSmallType(r); err != nil {
		return false, err
	}
	schema := route.Operation.RequestBody.Value.Content["application/json"].Schema.Value
	return true, decodeStrict(body, into, "", schema)
}

func checkSmallType(r *http.Request) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" || !isUTF8(params) {
		return unsupported("This operation takes application/json: curl -H 'Content-Type: application/json' --data @file.")
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return unsupported("This operation takes no Content-Encoding.")
	}
	return nil
}

func isUTF8(params map[string]string) bool {
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

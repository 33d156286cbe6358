package contract

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/nearest"
	"plannerd/internal/web/httpkit"
)

// Parameters are those of a request in its path and its query. They are within the
// contract.
type Parameters struct {
	Path      map[string]string
	Query     url.Values
	operation *Operation
}

// Check holds the path, query and header of a request against the operation. Bodies are
// checked elsewhere: the validator gets a request without one, so that it cannot read
// statistics into memory.
func (o *Operation) Check(r *http.Request) (Parameters, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return Parameters{}, httpkit.Malformed("The query string cannot be read.")
	}
	if err := o.checkNames(query); err != nil {
		return Parameters{}, err
	}
	path, err := pathOf(r)
	if err != nil {
		return Parameters{}, err
	}
	httpkit.CoercePageSize(query)
	numbers, err := o.readShares(query)
	if err != nil {
		return Parameters{}, err
	}
	clone := r.Clone(r.Context())
	clone.Body = http.NoBody
	err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: clone, PathParams: path, QueryParams: numbers, Route: o.route,
		Options: &openapi3filter.Options{ExcludeRequestBody: true, MultiError: true, SkipSettingDefaults: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}, // whoever calls sees to that
	})
	if err != nil {
		return Parameters{}, parameterProblem(err)
	}
	return Parameters{path, query, o}, nil
}

// checkNames refuses parameters of a query that the operation does not know.
func (o *Operation) checkNames(query url.Values) error {
	var known []string
	for _, p := range o.parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			known = append(known, p.Value.Name)
		}
	}
	p := httpkit.Invalid()
	for name, values := range query {
		switch {
		case o.parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil:
			p.AtParameter(name, "is not a parameter of this operation"+nearest.Suffix(name, known))
		case len(values) > 1:
			p.AtParameter(name, "stands more than once"+o.commas(name))
		}
	}
	return p.OrNil()
}

// commas says how several values are written, where a parameter may have several.
func (o *Operation) commas(name string) string {
	schema := o.parameters.GetByInAndName(openapi3.ParameterInQuery, name).Schema.Value
	if !schema.Type.Is(openapi3.TypeArray) {
		return ""
	}
	return "; separate values by commas: " + name + "=A,B"
}

// pathOf returns the parameters of the path. The router takes them verbatim from a path
// that is encoded in an unusual way.
func pathOf(r *http.Request) (map[string]string, error) {
	params := chi.RouteContext(r.Context()).URLParams
	path := make(map[string]string, len(params.Keys))
	for i, name := range params.Keys {
		path[name] = params.Values[i]
		if r.URL.RawPath == "" {
			continue
		}
		var err error
		if path[name], err = url.PathUnescape(path[name]); err != nil {
			return nil, httpkit.Malformed("The path cannot be read.")
		}
	}
	return path, nil
}

// parameterProblem turns what the validator says about parameters into a problem.
func parameterProblem(err error) error {
	var many openapi3.MultiError
	if !errors.As(err, &many) {
		many = openapi3.MultiError{err}
	}
	p := httpkit.Invalid()
	for _, one := range many {
		var (
			request *openapi3filter.RequestError
			parse   *openapi3filter.ParseError
		)
		if !errors.As(one, &request) || request.Parameter == nil {
			return httpkit.Malformed("The request cannot be read.")
		}
		name := request.Parameter.Name
		found := schemaProblems(request.Err, "")
		switch {
		case errors.Is(one, strconv.ErrRange):
			p.AtParameter(name, "is out of range")
		case errors.As(one, &parse):
			return httpkit.Malformed("A parameter cannot be read.").
				WithParameter(name, wrongType+typeName(request.Parameter.Schema.Value))
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

// Decode brings the parameters into the fields of a struct, whose names may differ in
// case and underscores. It panics when a field cannot hold what the contract allows.
func (p Parameters) Decode(into any) {
	values := p.Values()
	for name, text := range p.Path {
		values[name] = p.value(openapi3.ParameterInPath, name, text)
	}
	options := json.JoinOptions(json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true))
	text, err := json.Marshal(values, options)
	if err == nil {
		err = json.Unmarshal(text, into, options)
	}
	if err != nil {
		panic(err)
	}
}

// Values are the parameters of the query as JSON has them: text, numbers, truth values,
// and lists of these.
func (p Parameters) Values() map[string]any {
	values := make(map[string]any, len(p.Query)+len(p.Path))
	for name := range p.Query {
		values[name] = p.value(openapi3.ParameterInQuery, name, p.Query.Get(name))
	}
	return values
}

func (p Parameters) value(in, name, text string) any {
	return valueOf(p.operation.parameters.GetByInAndName(in, name).Schema.Value, text)
}

// valueOf is what a text within the schema stands for.
func valueOf(schema *openapi3.Schema, text string) (v any) {
	for schema.Type == nil && len(schema.AllOf) > 0 {
		schema = schema.AllOf[0].Value
	}
	switch {
	case schema.Type.Is("array"):
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			list = append(list, valueOf(schema.Items.Value, part))
		}
		return list
	case schema.Type.Is("integer"):
		v, _ = strconv.ParseInt(text, 10, 64)
	case schema.Type.Is("number"):
		share, ok := shareOf(text)
		if v = share; !ok {
			v, _ = strconv.ParseFloat(text, 64)
		}
	case len(schema.OneOf) > 0: // an id or a name
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		v = text
	case schema.Type.Is("boolean"):
		v, _ = strconv.ParseBool(text)
	default:
		v = text
	}
	return v
}

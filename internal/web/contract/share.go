package contract

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/web/httpkit"
)

// isShare reports whether a schema has the extension x-share. Its values are shares of
// something, without a bound above: 0.05 is 5 %. A person who writes 5 may mean either 5 % or
// 500 %, so that from 1 on requests have to write a share with its sign, as the text "500%".
// They may do so with any share. Answers have numbers.
func isShare(s *openapi3.Schema) bool {
	is, _ := s.Extensions["x-share"].(bool)
	return is
}

// shareOf is the number that a text with a percent sign stands for.
func shareOf(text string) (x float64, ok bool) {
	digits, signed := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	return x / 100, signed && err == nil
}

// bareShare says what is wrong with a share that has no sign; "": nothing is.
func bareShare(x float64) string {
	if x < 1 || math.IsInf(x, 0) {
		return ""
	}
	digits := func(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }
	return fmt.Sprintf(`is a share, and %s would be %s %%: write %s %% as %s, or %[2]s %% as "%[2]s%%"`,
		digits(x), digits(100*x), digits(x), digits(x/100))
}

// ReadShares puts numbers in place of texts that are shares, in JSON within a schema, and
// refuses numbers that may be meant as percents. prefix is the JSON pointer of the text.
func ReadShares(text []byte, schema *openapi3.Schema, prefix string) ([]byte, error) {
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, JSONProblem(err, prefix)
	}
	r := shares{bad: httpkit.Invalid(), seen: map[jsontext.Pointer]bool{}}
	tree = r.visit(tree, schema, jsontext.Pointer(prefix))
	if err := r.bad.OrNil(); err != nil || !r.changed {
		return text, err
	}
	return json.Marshal(tree, json.Deterministic(true))
}

// shares reads those of one text.
type shares struct {
	bad     *httpkit.Problem
	seen    map[jsontext.Pointer]bool // a value may be within several alternatives
	changed bool
}

func (r *shares) visit(v any, s *openapi3.Schema, at jsontext.Pointer) any {
	if isShare(s) {
		return r.share(v, at)
	}
	for _, one := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		v = r.visit(v, one.Value, at)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p := s.Properties[name]; p != nil {
				v[name] = r.visit(v[name], p.Value, at.AppendToken(name))
			}
		}
	case []any:
		for i := range v {
			if s.Items == nil {
				break
			}
			v[i] = r.visit(v[i], s.Items.Value, at.AppendToken(strconv.Itoa(i)))
		}
	}
	return v
}

func (r *shares) share(v any, at jsontext.Pointer) any {
	if r.seen[at] {
		return v
	}
	r.seen[at] = true
	switch x := v.(type) {
	case float64:
		if detail := bareShare(x); detail != "" {
			r.bad.At(string(at), detail)
		}
	case string:
		if share, ok := shareOf(x); ok {
			r.changed = true
			return share
		}
	}
	return v
}

// readShares does the same for the parameters of a query.
func (o *Operation) readShares(query url.Values) (url.Values, error) {
	query, bad := maps.Clone(query), httpkit.Invalid()
	for _, p := range o.parameters {
		s := p.Value.Schema.Value
		one := s
		if s.Items != nil {
			one = s.Items.Value
		}
		text := query.Get(p.Value.Name)
		if p.Value.In != openapi3.ParameterInQuery || text == "" || !isShare(one) {
			continue
		}
		parts := strings.Split(text, ",")
		for i, part := range parts {
			x, err := strconv.ParseFloat(part, 64)
			if share, ok := shareOf(part); ok {
				parts[i] = strconv.FormatFloat(share, 'g', -1, 64)
			} else if detail := bareShare(x); err == nil && detail != "" {
				bad.AtParameter(p.Value.Name, strings.ReplaceAll(detail, `"`, ""))
			}
		}
		query.Set(p.Value.Name, strings.Join(parts, ","))
	}
	return query, bad.OrNil()
}

package api

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
)

// members are the parts of a request beside its rows: members of a JSON body, or what
// query parameters say in their place.
type members struct {
	schema *openapi3.Schema // of the JSON body
	raw    map[string][]byte
	query  bool             // they came as query parameters
	read   bool             // as part of a body that was read as a whole: shares are numbers
	bad    *httpkit.Problem // what was found wrong so far
}

// newMembers returns the members of a JSON body. What the contract does not know is
// refused.
func newMembers(c *call, raw map[string][]byte) *members {
	m := &members{schema: c.op.Body(), raw: raw, bad: httpkit.Invalid()}
	for name := range raw {
		if m.schema.Properties[name] == nil {
			m.bad.At(string(jsontext.Pointer("").AppendToken(name)), contract.UnknownField(name, m.schema))
		}
	}
	return m
}

// place is where a JSON body has what a query parameter says.
type place struct{ parameter, field string }

// places are those that are not named as their parameters are; the first is where the
// value of a parameter goes, the others are what else it is held responsible for.
var places = func() []place {
	out := []place{
		{"hash_function", "operator/hash/function"},
		{"tokens_per_instance", "operator/hash/tokens_per_instance"},
		{"max_parallelism", "operator/hash/max_parallelism"},
		{"key_type", "operator/hash/key_type"},
		{"partitions", "operator/hash/partitions"},
		{"affinity_tag", "operator/hash/affinity/tag"},
		{"affinity_until", "operator/hash/affinity/until"},
		{"affinity_count", "operator/hash/affinity/count"},
		{"affinity_tag", "operator/hash/affinity"},
		{"partitions", "operator/hash/assignment"},
		{"target_instances", "parameters/instances"},
		{"instances", "operator/instances"},
		{"instances", "operator"},
		{"cost_scale", "compact/cost_scale"},
		{"state_scale", "compact/state_scale"},
		{"compact_degree", "compact"},
	}
	for _, p := range parameters.All() {
		if p.Grid != "" {
			out = append(out, place{p.Grid, "parameters/" + p.Grid})
		}
	}
	return out
}()

// parameterOf is the query parameter that stands for a field of a JSON body.
func parameterOf(field string) string {
	for _, p := range places {
		if field == p.field || strings.HasPrefix(field, p.field+"/") {
			return p.parameter
		}
	}
	name, _, _ := strings.Cut(field, "/")
	return name
}

// ofOperator reports whether the question is about the instances that an operator has.
func (m *members) ofOperator() bool { return m.schema.Properties["operator"] == nil }

// queriedMembers returns the members of a JSON body for which the query stands. records:
// the rows are compact records, which have one degree.
func queriedMembers(c *call, body *openapi3.Schema, records bool) (*members, error) {
	m := &members{schema: body, raw: map[string][]byte{}, query: true, bad: httpkit.Invalid()}
	tree := map[string]any{}
	for name, value := range c.Values() {
		switch i := slices.IndexFunc(places, func(p place) bool { return p.parameter == name }); {
		case slices.Contains(readingRows, name): // the decoder of the rows has acted on it
		case name == "compact_degree":
			m.putDegrees(tree, c.Query.Get(name), records)
		case name == "residual":
			m.putResidual(tree, c.Query.Get(name))
		case name == "target_instances", name == "instances" && m.ofOperator():
			put(tree, "parameters/instances", value)
		case name == "instances":
			m.putInstances(tree, c.Query.Get(name))
		case i < 0:
			put(tree, name, value)
		case strings.HasPrefix(places[i].field, "parameters/"):
			m.putGrid(tree, name, c.Query.Get(name))
		default:
			put(tree, places[i].field, value)
		}
	}
	for name, value := range tree {
		var err error
		if m.raw[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// put puts a value into a tree of objects.
func put(tree map[string]any, field string, value any) {
	name, rest, deeper := strings.Cut(field, "/")
	if !deeper {
		tree[name] = value
		return
	}
	inner, ok := tree[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		tree[name] = inner
	}
	put(inner, rest, value)
}

// putGrid puts the values that are to be tried of a parameter, and returns them.
func (m *members) putGrid(tree map[string]any, name, text string) []any {
	all := parameters.All()
	i := slices.IndexFunc(all, func(p parameters.Parameter) bool { return p.Grid == name })
	values, err := all[i].ParseList(text)
	if err != nil {
		m.bad.AtParameter(name, err.Error())
		return nil
	}
	put(tree, "parameters/"+name, values)
	return values
}

// putDegrees puts the degrees of the compact form: of several, each is tried.
func (m *members) putDegrees(tree map[string]any, text string, records bool) {
	grid := map[string]any{}
	degrees := m.putGrid(grid, "compact_degree", text)
	if len(degrees) == 0 {
		return
	}
	put(tree, "compact/degree", slices.MaxFunc(degrees, func(a, b any) int { return cmp.Compare(a.(int64), b.(int64)) }))
	switch {
	case m.schema.Properties["parameters"] == nil: // nothing is tried
	case !records:
		put(tree, "parameters/compact_degree", degrees)
	case len(degrees) > 1:
		m.bad.AtParameter("compact_degree", "must be one value with compact records")
	}
}

// putResidual puts what instance:cost:state:keys says, comma-separated.
func (m *members) putResidual(tree map[string]any, text string) {
	list := []map[string]jsontext.Value{}
	for part := range strings.SplitSeq(text, ",") {
		one, values := map[string]jsontext.Value{}, strings.Split(part, ":")
		if n := len(values) - 3; n > 1 { // a name may have colons
			values = append([]string{strings.Join(values[:n], ":")}, values[n:]...)
		}
		for i, name := range []string{"instance", "cost", "state", "keys"} {
			if len(values) == 4 {
				one[name] = jsontext.Value(values[i])
			}
			if i == 0 && len(values) == 4 && !operator.IsID(values[0]) {
				one[name], _ = jsontext.AppendQuote(nil, values[0])
				continue
			}
			if one[name].Kind() != '0' || !one[name].IsValid() {
				m.bad.AtParameter("residual", "must be instance:cost:state:keys, comma-separated")
				return
			}
		}
		list = append(list, one)
	}
	tree["residual"] = list
}

// putInstances puts a number of instances, or ids or names, each with :capacity behind it or not,
// comma-separated.
func (m *members) putInstances(tree map[string]any, text string) {
	if operator.IsID(text) {
		put(tree, "operator/instances", jsontext.Value(strings.TrimLeft(text[:len(text)-1], "0")+text[len(text)-1:]))
		return
	}
	list := []map[string]any{}
	for part := range strings.SplitSeq(text, ",") {
		ref, x, ok := operator.CutCapacity(part)
		one := map[string]any{"name": ref, "capacity": x}
		if operator.IsID(ref) {
			n, err := strconv.ParseInt(ref, 10, 32)
			one, ok = map[string]any{"id": n, "capacity": x}, err == nil
		}
		if !ok {
			m.bad.AtParameter("instances", strconv.Quote(part)+" is no id:capacity such as 0:1.5")
			put(tree, "operator/instances", 1) // they are not missing
			return
		}
		list = append(list, one)
	}
	put(tree, "operator/instances", list)
}

// refuse adds what is wrong with a field.
func (m *members) refuse(field, detail string) {
	if !m.query {
		m.bad.At("/"+field, detail)
		return
	}
	name := parameterOf(field)
	if name == "target_instances" && m.ofOperator() {
		name = "instances"
	}
	m.bad.AtParameter(name, detail)
}

// add merges the problems of err, if it is one.
func (m *members) add(err error) {
	var p *httpkit.Problem
	if err != nil && !errors.As(err, &p) {
		p = problemOf(err)
	}
	if p == nil {
		return
	}
	for _, e := range p.Errors {
		if e.Pointer == nil {
			m.bad.Errors = append(m.bad.Errors, e)
			continue
		}
		m.refuse(strings.TrimPrefix(*e.Pointer, "/"), e.Detail)
	}
}

// problem returns everything that was found wrong.
func (m *members) problem() error { return m.bad.OrNil() }

// has reports whether the request has the member.
func (m *members) has(name string) bool {
	_, ok := m.raw[name]
	return ok
}

// member reads one small member, or returns nil where there is none.
func member[T any](m *members, name string) *T {
	raw, schema := m.raw[name], m.schema.Properties[name]
	if raw == nil || schema == nil {
		return nil
	}
	if len(raw) > contract.MaxBody {
		m.refuse(name, "is longer than "+strconv.Itoa(contract.MaxBody)+" bytes")
		return nil
	}
	out := new(T)
	decode := contract.DecodeRequest
	if m.query || m.read {
		decode = contract.Decode
	}
	if err := decode(raw, out, "/"+name, schema.Value); err != nil {
		m.add(err)
		return nil
	}
	return out
}

// optional is member with a value for where there is none.
func optional[T any](m *members, name string, fallback T) T { return or(member[T](m, name), fallback) }

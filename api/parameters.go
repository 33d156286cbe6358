package api

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api/wire"
	"plannerd/internal/parameters"
	"plannerd/internal/planning"
	"plannerd/planner"
)

// operatorRequest is an operator's configuration as a request has it: what the contract
// knows by name, and the parameters of plans, which are read by the list of them.
type operatorRequest struct {
	wire.OperatorConfiguration
	members map[string]jsontext.Value
	said    parameters.Values // with the defaults of what is left out
}

// UnmarshalJSONFrom reads an object that is within the contract.
func (o *operatorRequest) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	o.said = parameters.Defaults()
	for _, into := range []any{&o.OperatorConfiguration, &o.members, &o.said} {
		if err := json.Unmarshal(text, into); err != nil {
			return err
		}
	}
	return nil
}

// given reports whether the request has a member, and not as null.
func (o *operatorRequest) given(name string) bool {
	text, ok := o.members[name]
	return ok && text.Kind() != 'n'
}

// values are the parameters, with the defaults of what is left out.
func (o *operatorRequest) values() parameters.Values {
	if o.members == nil { // there was no JSON
		return parameters.Defaults()
	}
	return o.said
}

// trials returns what the strategies and the parameter values of the request combine to.
// What its grid leaves out is as in p. Deadlines are at most longest.
func (m *members) trials(strategies []string, p planning.Parameters, longest time.Duration) []planning.Trial {
	trials, problems := m.grid().Trials(strategies, p.Values, longest)
	for _, problem := range problems {
		m.refuseParameter(problem)
	}
	out := make([]planning.Trial, len(trials))
	for i, t := range trials {
		out[i] = planning.Trial{Strategy: t.Strategy, Parameters: planning.Parameters{Values: t.Values}}
	}
	return out
}

// refuseParameter adds a problem with one of the parameters of a what-if.
func (m *members) refuseParameter(p *planner.InputError) {
	name, _, _ := strings.Cut(p.Field, "/")
	switch {
	case m.query != nil || name == "strategies":
		m.refuse(name, p.Detail)
	default:
		m.refuse("parameters/"+p.Field, p.Detail)
	}
}

// grid reads the parameter values. The degree of records is none of them.
func (m *members) grid() parameters.Grid {
	if m.query == nil {
		g := or(member[parameters.Grid](m, "parameters"), nil)
		if m.records && g["compact/degree"] != nil {
			m.refuseParameter(&planner.InputError{Field: "compact_degree", Detail: "is for statistics of keys: these are in compact form"})
		}
		return g
	}
	g := parameters.Grid{}
	for _, p := range parameters.All() {
		if p.Grid == "" || !m.has(p.Grid) || m.records && p.Name == "compact/degree" {
			continue
		}
		values, err := p.ParseList(m.query[p.Grid][0])
		if err != nil {
			m.refuse(p.Grid, err.Error())
			continue
		}
		g[p.Name] = values
	}
	return g
}

func orOne[T any](values []T, fallback T) []T {
	if len(values) == 0 {
		return []T{fallback}
	}
	return values
}

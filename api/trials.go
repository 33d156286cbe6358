package api

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/propose"
)

// readTrials returns what the strategies and the parameter values of a request combine
// to, for one number of instances after the other. What it leaves out is the operator's own:
// its strategy, and its parameters, under which records are planned on if they are compact.
// Deadlines are at most longest. of is the configuration that rules are to be planned for.
func readTrials(
	m *members, records bool, of operator.Configuration, strategy string, under operator.Parameters, longest time.Duration,
) []propose.Trial {
	target := readTarget(m, of)
	strategies := optional(m, "strategies", []string{strategy})
	grid := optional(m, "parameters", parameters.Grid{})
	if records && grid["compact/degree"] != nil {
		m.refuse("parameters/compact_degree", "is for statistics of keys: these are in compact form")
	}
	trials, problems := grid.Trials(strategies, under.Values, longest)
	for _, p := range problems {
		field := p.Field
		if !strings.HasPrefix(field, "strategies") {
			field = "parameters/" + field
		}
		m.refuse(field, p.Detail)
	}
	numbers := grid[parameters.Instances]
	if numbers == nil {
		numbers = []any{0}
	}
	out := make([]propose.Trial, 0, len(numbers)*len(trials))
	for _, n := range numbers {
		target.Instances = n.(int)
		for _, t := range trials {
			out = append(out, propose.Trial{
				Strategy: t.Strategy, Parameters: operator.Parameters{Values: t.Values}, Target: target,
			})
		}
	}
	return out
}

// readTarget returns the rules and resources that are to be planned for.
func readTarget(m *members, of operator.Configuration) (t operator.Target) {
	text := optional(m, "placement", jsontext.Value(nil))
	t.Resources = optional(m, "resources", operator.Resources(nil))
	if len(m.bad.Errors) > 0 {
		return t
	}
	var err error
	if text != nil {
		t.Placement, err = operator.ParsePlacement(text, namesIn(of).known)
	}
	if err == nil {
		_, err = operator.Retargeted(of, t)
	}
	if input := parameters.InputError(err); input != nil {
		m.refuse(input.Field, input.Detail)
	} else if err != nil {
		m.add(err)
	}
	return t
}

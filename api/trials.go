package api

import (
	"strings"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/propose"
)

// readTrials returns what the strategies and the parameter values of a request combine
// to, for one number of instances after the other. What it leaves out is the operator's own:
// its strategy, and its parameters, under which records are planned on if they are compact.
// Deadlines are at most longest.
func readTrials(
	m *members, records bool, strategy string, under operator.Parameters, longest time.Duration,
) []propose.Trial {
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
		for _, t := range trials {
			out = append(out, propose.Trial{
				Strategy: t.Strategy, Parameters: operator.Parameters{Values: t.Values}, Instances: n.(int),
			})
		}
	}
	return out
}

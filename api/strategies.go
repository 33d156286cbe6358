package api

import (
	"net/http"

	"plannerd/internal/parameters"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// listStrategies answers with the strategies and the parameters that plans may have.
func listStrategies(w http.ResponseWriter, _ *call) error {
	out := wire.StrategyList{MostTrials: parameters.MostTrials}
	for _, info := range planner.Strategies() {
		out.Strategies = append(out.Strategies, wire.StrategyInfo{
			Name: wire.Strategy(info.Name), Title: info.Title, Summary: info.Summary, Source: info.Source,
			Reads: append([]string{}, info.Reads...), Objectives: objectivesOf(info), Anytime: info.Anytime,
			Cost: wire.CostClass(info.Cost),
		})
	}
	for _, p := range parameters.All() {
		out.Parameters = append(out.Parameters, parameterInfo(&p))
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}

func objectivesOf(info planner.Info) []wire.Objective {
	var known []wire.Objective
	for _, o := range []planner.Objective{planner.MinMigration, planner.MinImbalance} {
		if info.Knows(o) {
			known = append(known, wire.Objective(o))
		}
	}
	return known
}

func parameterInfo(p *parameters.Parameter) wire.ParameterInfo {
	out := wire.ParameterInfo{
		Name: p.Name, Label: p.Label, Help: p.Help, Type: wire.ParameterType(p.Type), Range: p.Range(), Default: p.Default,
		PowersOfTwo: p.PowersOfTwo, First: p.First,
		Choices: []wire.ParameterWord{}, Schemes: []wire.Scheme{}, Strategies: []wire.Strategy{},
		Unit: (*wire.ParameterUnit)(given(string(p.Unit))), None: given(p.None), Grid: given(p.Grid),
	}
	for _, scheme := range parameters.Schemes() {
		if p.KnownTo(scheme) {
			out.Schemes = append(out.Schemes, wire.Scheme(scheme))
		}
	}
	for _, name := range p.Readers() {
		out.Strategies = append(out.Strategies, wire.Strategy(name))
	}
	for _, word := range p.Choices {
		out.Choices = append(out.Choices, wire.ParameterWord{Value: word.Value, Label: word.Label, Help: word.Help})
	}
	if p.Type == parameters.Number || p.Type == parameters.Integer {
		out.Minimum, out.Maximum = &p.Minimum, &p.Maximum
	}
	return out
}

// given is the text, or nil where there is none.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

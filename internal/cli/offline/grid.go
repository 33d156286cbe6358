package offline

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// Planned are the parameters that have a flag.
func Planned() []parameters.Parameter {
	return slices.DeleteFunc(parameters.All(), func(p parameters.Parameter) bool { return !p.IsOption() })
}

// NewStrategyFlags makes a flag of each parameter that is an option of the planner. They take
// lists of values.
func NewStrategyFlags() kong.Plugins {
	var fields []reflect.StructField
	for i, p := range Planned() {
		help := []string{p.Help}
		for _, word := range p.Choices {
			help = append(help, word.Value+": "+word.Help)
		}
		if readers := p.Readers(); len(readers) > 0 {
			help = append(help, "Read by "+strings.Join(readers, ", ")+".")
		}
		placeholder := p.Text(p.Default)
		if p.Type == parameters.Choice {
			placeholder += ",..."
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[[]any](),
			Tag: reflect.StructTag(fmt.Sprintf("type:\"grid\" name:%q default:%q placeholder:%q enum:%q group:%q help:%q",
				p.Flag(), p.Text(p.Default), placeholder, strings.Join(p.Words(), ","), "Parameters",
				strings.TrimSuffix(strings.Join(help, " "), "."))),
		})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// GridType reads the values of the flag of a parameter as the parameter says. Shares above 1
// need a sign.
var GridType = kong.NamedMapper("grid", kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	i := slices.IndexFunc(Planned(), func(p parameters.Parameter) bool { return p.Flag() == ctx.Value.Name })
	p, text := Planned()[i], fmt.Sprint(ctx.Scan.Pop().Value)
	if p.Unit == parameters.Share {
		for part := range strings.SplitSeq(text, ",") {
			if value, err := p.Parse(part); value == nil && err == nil {
				continue // none
			}
			if _, err := cli.ParseShare(part); err != nil {
				return err
			}
		}
	}
	values, err := p.ParseList(text)
	target.Set(reflect.ValueOf(values))
	return err
}))

// grid is what the flags say: the values of each parameter.
func (f *driveFlags) grid() parameters.Grid {
	flags, g := reflect.ValueOf(f.Plugins[0]).Elem(), parameters.Grid{}
	for i, p := range Planned() {
		g[p.Name] = flags.Field(i).Interface().([]any)
	}
	return g
}

// trials returns what the strategies and the values of the flags combine to, the last
// flag varying fastest. Without names these are all strategies that know an objective.
func (f *driveFlags) trials(names []string) ([]parameters.Trial, error) {
	g := f.grid()
	if len(names) == 0 {
		names = knowing(g["objective"])
	}
	if err := errors.Join(reading.CheckStrategies(names), checkObjective(g["objective"], names)); err != nil {
		return nil, err
	}
	trials, problems := g.Trials(names, parameters.Defaults(), math.MaxInt64)
	switch {
	case len(problems) == 0:
		return trials, nil
	case problems[0].Field == "strategies":
		return nil, cli.Usagef("--strategies %s", problems[0].Detail)
	}
	return nil, reading.AsFlag(problems[0])
}

// knowing are the strategies that know one of the objectives.
func knowing(objectives []any) []string {
	return slices.DeleteFunc(reading.StrategyNames(),
		func(name string) bool { return checkObjective(objectives, []string{name}) != nil })
}

// checkObjective reports strategies that know none of the objectives.
func checkObjective(objectives []any, names []string) error {
	for _, name := range names {
		info, ok := planner.Lookup(name)
		knows := func(o any) bool { return info.Knows(planner.Objective(fmt.Sprint(o))) }
		if ok && !slices.ContainsFunc(objectives, knows) {
			return cli.Usagef("--objective: %s, not to %s", planner.OnlyKnowing(planner.Objective(fmt.Sprint(objectives[0]))),
				name)
		}
	}
	return nil
}

// single returns the one trial of a strategy where no flag may have several values.
func (f *driveFlags) single(strategy string) (parameters.Trial, error) {
	trials, err := f.trials([]string{strategy})
	if err != nil {
		return parameters.Trial{}, err
	}
	g := f.grid()
	for _, p := range Planned() {
		if len(g[p.Name]) > 1 {
			return trials[0], cli.Usagef("--%s: plan takes one value; compare takes several", p.Flag())
		}
	}
	return trials[0], nil
}

// shownAs is a value for people.
func shownAs(p *parameters.Parameter, v parameters.Values) string {
	if n, ok := p.Get(&v).(int64); ok {
		return cli.Integer(n)
	}
	return written(p, v)
}

// written is a value as the flag takes it.
func written(p *parameters.Parameter, v parameters.Values) string { return p.Text(p.Get(&v)) }

// varying are the parameters in which plans differ.
func varying(all []Outcome) []parameters.Parameter {
	return slices.DeleteFunc(Planned(), func(p parameters.Parameter) bool {
		return !slices.ContainsFunc(all, func(o Outcome) bool {
			return written(&p, o.Parameters) != written(&p, all[0].Parameters)
		})
	})
}

// titleOf is the name of a parameter within a sentence.
func titleOf(p *parameters.Parameter) string {
	if len(p.Label) < 2 || p.Label[1] < 'a' || p.Label[1] > 'z' {
		return p.Label // a symbol
	}
	return strings.ToLower(p.Label)
}

// gridGoals says what all the plans of a grid are to reach.
func gridGoals(all []Outcome) string {
	over := varying(all)
	if len(over) == 0 {
		return goals(all[0].Parameters.Planner())
	}
	varied := map[string]bool{}
	var parts []string
	for _, p := range over {
		varied[p.Name] = true
		parts = append(parts, titleOf(&p))
	}
	text := []string{fmt.Sprintf("%s of %s", cli.Plural(len(all), "combination"), strings.Join(parts, " and "))}
	for _, p := range Planned() {
		limits := p.Name == "theta_max" || p.Name == "table_limit"
		if value := shownAs(&p, all[0].Parameters); limits && value != p.None && !varied[p.Name] {
			text = append(text, titleOf(&p)+" "+value)
		}
	}
	return strings.Join(text, ", ")
}

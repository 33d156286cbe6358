package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli/collecting"
	"plannerd/internal/cli/serving"
	"plannerd/internal/nearest"
)

// variablePrefix begins the names of all variables.
const variablePrefix = "PLANNERD_"

// variables are the names of the flags' environment variables, the first of each flag
// and, after it, those of its older names.
type variables map[*kong.Flag][]string

// collect names the flags of a command and those below it. A flag whose name means
// something else, or takes other values, in another command has the command in its
// variable: all flags of collect, count, generate, analyze and token, and those with the tag own.
func (v variables) collect(node *kong.Node, prefix string) {
	switch node.Name {
	case "collect", "count", "generate", "analyze", "token":
		prefix += variableName(node.Name) + "_"
	}
	for _, flag := range node.Flags {
		if flag.Name == "help" {
			continue
		}
		own := prefix
		if flag.Tag.Has("own") {
			own += variableName(node.Name) + "_"
		}
		v[flag] = []string{own + variableName(flag.Name)}
		for _, name := range flag.Aliases {
			v[flag] = append(v[flag], prefix+variableName(name))
		}
	}
	for _, child := range node.Children {
		v.collect(child, prefix)
	}
}

func variableName(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// help appends the environment variable to a flag's help.
func (v variables) help(value *kong.Value) string {
	if names := v[value.Flag]; len(names) > 0 {
		return strings.TrimSuffix(value.Help, ".") + " ($" + names[0] + ")."
	}
	return value.Help
}

// resolver takes flags that the command line does not set from the environment.
func (v variables) resolver(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range v[flag] {
			if value := getenv(name); value != "" {
				return value, nil
			}
		}
		return nil, nil
	})
}

// unknown warns about the variables of the environment that look like the program's
// and are not, each with the name that may be meant.
func (v variables) unknown(environ []string) (warnings []string) {
	known := map[string]bool{serving.TokenVariable: true, collecting.PasswordVariable: true}
	for _, names := range v {
		for _, name := range names {
			known[name] = true
		}
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		words = append(words, strings.TrimPrefix(name, variablePrefix))
	}
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, variablePrefix) || known[name] {
			continue
		}
		warning := fmt.Sprintf("the environment variable %s is not known", name)
		if near := nearest.To(strings.TrimPrefix(name, variablePrefix), words); near != "" {
			warning += "; did you mean " + variablePrefix + near + "?"
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plannerd/internal/parameters"
	"plannerd/planner"
)

// listed is a line of a part in whose place what the list of parameters says is written.
var listed = regexp.MustCompile(`^( *)(?:- )?x-parameters: (\w+)$`)

// kinds are what such a line can ask for, line by line and not indented.
var kinds = map[string]func() []string{
	"schemas":    schemaLines,
	"settings":   func() []string { return memberLines(settingLines) },
	"values":     func() []string { return memberLines(valueLines) },
	"grid":       func() []string { return gridLines(gridMember) },
	"query":      func() []string { return gridLines(queryComponent) },
	"references": func() []string { return gridLines(queryReference) },
}

// expand returns the lines that stand for a line.
func expand(line string) ([]string, error) {
	m := listed.FindStringSubmatch(line)
	if m == nil {
		return []string{line}, nil
	}
	lines := kinds[m[2]]
	if lines == nil {
		return nil, fmt.Errorf("there is no list of parameters %q", m[2])
	}
	var out []string
	for _, line := range lines() {
		out = append(out, m[1]+line)
	}
	return out, nil
}

// schemaLines are the schemas of the strategies and of all parameters that are numbers,
// words or times.
func schemaLines() []string {
	var names, texts []string
	for _, s := range planner.Strategies() {
		names = append(names, s.Name)
		texts = append(texts, fmt.Sprintf("%#q: %s (%s)", s.Name, s.Summary, s.Source))
	}
	out := append([]string{"Strategy:", "  type: string", "  enum: " + flow(names)},
		described("How to plan. "+strings.Join(texts, "; ")+".")...)
	for _, p := range parameters.All() {
		if strings.HasSuffix(p.Name, "/method") {
			names = append(names, p.Words()...)
		}
	}
	out = append(append(out, "PlanStrategy:", "  type: string", "  enum: "+flow(names)),
		described("The strategy that made the plan; under the schemes `ring`, `ranges` and `pkg` their method.")...)
	for _, p := range parameters.All() {
		if p.KnownTo(parameters.SchemeTable) && p.Type != parameters.Limit && p.Grid != "" {
			out = append(out, schemaOf(&p)...)
		}
	}
	return out
}

func schemaOf(p *parameters.Parameter) []string {
	out := []string{schemaName(p) + ":"}
	add := func(format string, args ...any) { out = append(out, "  "+fmt.Sprintf(format, args...)) }
	switch p.Type {
	case parameters.Number:
		add("type: number")
		add("format: double")
		add("minimum: %s", scalar(p.Minimum))
		add("maximum: %s", scalar(p.Maximum))
		if p.Unit == parameters.Share {
			add("x-share: true")
		}
	case parameters.Integer:
		add("type: integer")
		add("format: int%d", bits(p.Maximum))
		add("minimum: %.0f", p.Minimum)
		add("maximum: %.0f", p.Maximum)
	case parameters.Choice:
		add("type: string")
		add("enum: %s", flow(p.Words()))
	default:
		add("type: string")
		add("maxLength: 32")
		add(`pattern: "%s"`, parameters.DurationPattern)
		add("x-words: %s", quoted(p.Range()))
	}
	if p.None != "" {
		add("nullable: true")
	}
	text := p.Doc
	switch {
	case text == "" && p.None != "":
		text = p.Help + " null stands for " + p.None + "."
	case text == "":
		text = p.Help
	}
	if p.Unit == parameters.Share {
		text += " " + shareDoc
	}
	return append(out, described(text)...)
}

// shareDoc is how requests write a share.
const shareDoc = "In a request from 1 on a text, `\"500%\"`, and a text with a sign where you like, `\"5%\"`."

// settingLines are a member of an operator's configuration, with its default.
func settingLines(p *parameters.Parameter) []string {
	if p.Default == nil {
		return valueLines(p)
	}
	return []string{p.Name + ":", "  allOf: [" + reference(p) + "]", "  default: " + scalar(p.Default)}
}

// valueLines are a member of what was configured or planned with.
func valueLines(p *parameters.Parameter) []string { return []string{p.Name + ": " + reference(p)} }

// memberLines are the members of an object that has all parameters, and one object of
// those that belong together.
func memberLines(lines func(*parameters.Parameter) []string) []string {
	var out, objects []string
	for _, p := range parameters.All() {
		object, _, inside := strings.Cut(p.Name, "/")
		switch {
		case !p.KnownTo(parameters.SchemeTable), inside && slices.Contains(objects, object):
		case inside:
			objects = append(objects, object)
			out = append(out, object+`: {$ref: "#/components/schemas/`+camel(object)+`"}`)
		default:
			out = append(out, lines(&p)...)
		}
	}
	return out
}

// gridLines are what the parameters of a grid have, one after the other.
func gridLines(lines func(*parameters.Parameter) []string) []string {
	var out []string
	for _, p := range parameters.All() {
		if p.Grid != "" {
			out = append(out, lines(&p)...)
		}
	}
	return out
}

const manyOf = "{type: array, minItems: 1, maxItems: 256, uniqueItems: true, items: %s}"

// gridMember is a parameter of a grid: a value or a list.
func gridMember(p *parameters.Parameter) []string {
	out := []string{p.Grid + ":"}
	text := p.GridDoc
	if p.None != "" {
		text = strings.TrimSpace(text + " null stands for " + p.None + ".")
	}
	if text != "" {
		out = append(out, described(text)...)
	}
	return append(out, "  oneOf:", "    - "+reference(p), "    - "+fmt.Sprintf(manyOf, reference(p)))
}

// queryComponent is a parameter of a grid as a query has it.
func queryComponent(p *parameters.Parameter) []string {
	item := reference(p)
	text := "As `parameters." + p.Grid + "`, comma-separated"
	switch {
	case p.Type == parameters.Limit:
		text += ", each `unit:amount`, for instance `fraction:0.01,fraction:0.05`"
		item = `{type: string, maxLength: 64, pattern: "^(state|fraction|keys):[0-9.eE+-]+$|^(null|none)$", ` +
			`x-words: "state:amount, fraction:0…1, keys:number or none"}`
	case p.None != "": // null has no form in a query but a word
		text += ", null as `null` or `" + p.None + "`"
		item = "{type: string, maxLength: 64}"
	}
	if p.GridQueryDoc != "" {
		text += "; " + p.GridQueryDoc
	}
	out := []string{camel(p.Grid) + "ValuesParameter:", "  name: " + p.Grid, "  in: query"}
	out = append(out, described(text+". For CSV, NDJSON and Arrow bodies.")...)
	return append(out, "  explode: false", "  schema: "+fmt.Sprintf(manyOf, item))
}

func queryReference(p *parameters.Parameter) []string {
	return []string{`- $ref: "#/components/parameters/` + camel(p.Grid) + `ValuesParameter"`}
}

func schemaName(p *parameters.Parameter) string {
	if p.Schema != "" {
		return p.Schema
	}
	return camel(p.Name)
}

func reference(p *parameters.Parameter) string {
	return `{$ref: "#/components/schemas/` + schemaName(p) + `"}`
}

// camel turns theta_max into ThetaMax.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// bits is the size of the type of an integer.
func bits(greatest float64) int {
	if greatest < 1<<31 {
		return 32
	}
	return 64
}

// flow is a list of words. off would be read as false.
func flow(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "off" {
			out[i] = `"off"`
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// scalar is a value as YAML has it, great and small numbers with an exponent and a point.
func scalar(value any) string {
	x, ok := value.(float64)
	switch {
	case ok && x != 0 && (x >= 1e15 || x <= 1e-15):
		return fmt.Sprintf("%.1e", x)
	case ok:
		return fmt.Sprintf("%g", x)
	}
	return fmt.Sprint(value)
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has no error
	}
	return string(out)
}

// described is a description, in lines of at most 110 characters where it is a long one.
func described(text string) []string {
	if len(text) < 90 {
		return []string{"  description: " + quoted(text)}
	}
	out, line := []string{"  description: |"}, ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+len(word) > 108 {
			out, line = append(out, "    "+line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(out, "    "+line)
}

package parameters

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
)

// MostTrials is the greatest number of plans that one grid may ask for.
const MostTrials = 256

// Grid has the values to try of parameters, by their names in [All]. A parameter that
// it does not have keeps the value that it has anyway.
type Grid map[string][]any

// Instances has the numbers of instances in a grid; see [Grid.Trials].
const Instances = "instances"

// Trial is a strategy with its parameters.
type Trial struct {
	Strategy string
	Values
}

// UnmarshalJSONFrom reads an object of values, or of lists of them, by the names that
// a grid has for the parameters.
func (g *Grid) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var members map[string]jsontext.Value
	if err := json.UnmarshalDecode(dec, &members); err != nil {
		return err
	}
	*g = Grid{}
	if text, ok := members[Instances]; ok {
		delete(members, Instances)
		texts, err := valuesOf(text)
		for _, text := range texts {
			var n int
			if err == nil {
				err = json.Unmarshal(text, &n)
			}
			(*g)[Instances] = append((*g)[Instances], n)
		}
		if err != nil {
			return err
		}
	}
	for i := range list {
		p := &list[i]
		text, ok := members[p.Grid]
		if !ok {
			continue
		}
		delete(members, p.Grid)
		values, err := valuesOf(text)
		if err != nil {
			return err
		}
		for _, text := range values {
			var v Values
			if err := json.Unmarshal(text, p.field(&v).Addr().Interface()); err != nil {
				return err
			}
			(*g)[p.Name] = append((*g)[p.Name], p.Get(&v))
		}
	}
	for name := range members {
		return fmt.Errorf("%w: %q", json.ErrUnknownName, name)
	}
	return nil
}

// valuesOf are those of a list, or the only one.
func valuesOf(text jsontext.Value) (values []jsontext.Value, err error) {
	if text.Kind() != '[' {
		return []jsontext.Value{text}, nil
	}
	err = json.Unmarshal(text, &values)
	return values, err
}

// Trials returns the combinations of strategies and values, the last parameter varying
// fastest; what the grid leaves out is as in base. An objective combines with the
// strategies that know it, and migration limits with min_imbalance, and with nothing
// else. problems has an input error for each value that is out of bounds or is then
// never tried, by the parameter's name in the grid and, of several values, the place;
// longest is the greatest deadline. Each number of instances has all of these trials, which
// is for the caller to repeat.
func (g Grid) Trials(strategies []string, base Values, longest time.Duration) (trials []Trial,
	problems []*planner.InputError) {
	bad := func(field, detail string) {
		problems = append(problems, &planner.InputError{Row: -1, Field: field, Detail: detail})
	}
	g.checkObjectives(strategies, base, bad)
	g.checkPrices(base, bad)
	combinations := len(strategies) * max(1, len(g[Instances]))
	for i := range list {
		p := &list[i]
		for place, value := range g[p.Name] {
			field := p.Grid
			if len(g[p.Name]) > 1 {
				field += "/" + strconv.Itoa(place)
			}
			detail := p.outside(value)
			if d, ok := value.(Duration); ok {
				detail = d.outside(longest)
			}
			if detail != "" {
				bad(field, detail)
			}
		}
		combinations *= max(1, len(g[p.Name]))
	}
	if combinations > MostTrials {
		bad("strategies", fmt.Sprintf("and parameters make %d combinations; at most %d are planned",
			combinations, MostTrials))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, name := range strategies {
		info, _ := planner.Lookup(name) // callers have checked the names
		for _, v := range g.expand(info, base) {
			if err := v.Splitting.check(); err != nil {
				bad("max_parts", detailOf(err))
				return nil, problems
			}
			trials = append(trials, Trial{name, v})
		}
	}
	return trials, nil
}

// checkObjectives finds objectives and migration limits that no strategy, or not every
// one, has a use for.
func (g Grid) checkObjectives(strategies []string, base Values, bad func(field, detail string)) {
	objectives, limits := g["objective"], g["migration_limit"]
	if objectives == nil {
		objectives = []any{string(base.Objective)}
	}
	none := slices.Contains(limits, nil) || limits == nil && base.MigrationLimit == nil
	isKnown := func(name string) bool {
		info, _ := planner.Lookup(name)
		return info.Knows(planner.MinImbalance)
	}
	if !slices.Contains(objectives, any(string(planner.MinImbalance))) {
		if slices.ContainsFunc(limits, func(l any) bool { return l != nil }) {
			bad("migration_limit", "belongs to objective min_imbalance")
		}
		return
	}
	known := slices.ContainsFunc(strategies, isKnown)
	others := slices.ContainsFunc(strategies, func(name string) bool { return !isKnown(name) })
	switch {
	case !known, others && len(objectives) == 1:
		bad("objective", planner.OnlyKnowing(planner.MinImbalance))
	case none:
		bad("migration_limit", "is needed with objective min_imbalance")
	}
}

// checkPrices finds prices of parts where no key may have several.
func (g Grid) checkPrices(base Values, bad func(field, detail string)) {
	parts := g["splitting/max_parts"]
	splits := func(n any) bool { return n.(int64) > 1 }
	if slices.ContainsFunc(parts, splits) || parts == nil && base.Splitting.Allowed() {
		return
	}
	if slices.ContainsFunc(g["splitting/price"], func(price any) bool { return price != nil }) {
		bad("split_price", "is for max_parts above 1")
	}
}

// expand returns the combinations for one strategy.
func (g Grid) expand(info planner.Info, base Values) []Values {
	all := []Values{base}
	for i := range list {
		p := &list[i]
		if p.Name == "objective" || p.Name == "migration_limit" || len(g[p.Name]) > 0 {
			all = p.expand(all, info, g[p.Name])
		}
	}
	return all
}

// expand puts the values of one parameter, where there are any, into sets of the
// others that they go with.
func (p *Parameter) expand(in []Values, info planner.Info, values []any) []Values {
	out := make([]Values, 0, len(in)*max(1, len(values)))
	for _, v := range in {
		of := values
		if len(of) == 0 {
			of = []any{p.Get(&v)}
		}
		switch {
		case p.Name == "migration_limit" && v.Objective != planner.MinImbalance,
			p.Name == "splitting/price" && !v.Splitting.Allowed():
			of = []any{nil}
		}
		for _, value := range of {
			if p.Name == "objective" && !info.Knows(planner.Objective(value.(string))) {
				continue
			}
			one := v
			p.Set(&one, value)
			if one.Compact.Degree == 0 {
				one.Compact = Compact{} // scales are for a degree above 0
			}
			if !one.Splitting.Allowed() {
				one.Splitting = Splitting{MaxParts: one.Splitting.MaxParts} // the others are of parts
			}
			out = append(out, one)
		}
	}
	return out
}

package parameters

import (
	"errors"
	"strings"
	"unicode"

	"plannerd/planner"
)

// shortened are the paths of Go fields that the contract names otherwise than by their
// parts in snake case.
var shortened = strings.NewReplacer(
	"Scales.Cost", "CostScale", "Scales.State", "StateScale",
	"Base.Configuration.", "Base.", ".Node.", ".",
	"]", "", "[", ".",
)

// costs is the member of rows that has members of names that users gave.
const costs = "costs"

// InputError finds the [planner.InputError] in an error, nil if there is none. Its field
// is in the words of the contract: Instances[2].Capacity is instances/2/capacity. What is
// in these words already stays.
func InputError(err error) *planner.InputError {
	var input *planner.InputError
	if !errors.As(err, &input) {
		return nil
	}
	parts := strings.Split(shortened.Replace(input.Field), ".")
	for i, part := range parts {
		if i == 0 || parts[i-1] != costs { // a name that users gave stays
			parts[i] = snakeCase(part)
		}
	}
	return &planner.InputError{Row: input.Row, Field: strings.Join(parts, "/"), Detail: input.Detail}
}

// snakeCase turns MaxRounds into max_rounds, and ID into id.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

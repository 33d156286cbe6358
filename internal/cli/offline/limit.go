package offline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

var errNoLimit = errors.New(
	"write 5% for a share of all state up to 100%, 1200keys for a number of keys, or 3e6 for an amount of state")

// parseLimit reads a migration limit as --migration-limit takes it.
func parseLimit(s string) (planner.MigrationLimit, error) {
	p, _ := parameters.Lookup("migration_limit")
	value, err := p.Parse(s)
	limit, ok := value.(parameters.MigrationLimit)
	if err != nil || !ok {
		return planner.MigrationLimit{}, fmt.Errorf("%q is no migration limit: %w", s, errNoLimit)
	}
	return *limit.Planner(), nil
}

// amountText writes an amount in the unit of a migration limit as the flag takes
// it, with so many significant digits.
func amountText(unit planner.MigrationUnit, amount float64, digits int) string {
	switch unit {
	case planner.MigrationFraction:
		return strconv.FormatFloat(100*amount, 'g', digits, 64) + "%"
	case planner.MigrationKeys:
		return strconv.FormatFloat(amount, 'f', -1, 64) + "keys"
	}
	return strconv.FormatFloat(amount, 'g', digits, 64)
}

// curve is the value of --curve: off, a ladder that suits the input, or limits.
type curve struct {
	on     bool
	limits []planner.MigrationLimit // nil: the ladder
}

// IsBool lets the flag stand without a value.
func (*curve) IsBool() bool { return true }

// Decode reads the value, if there is one.
func (c *curve) Decode(ctx *kong.DecodeContext) error {
	c.on, c.limits = true, nil
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	return c.set(fmt.Sprint(ctx.Scan.Pop().Value))
}

func (c *curve) set(text string) error {
	switch text {
	case "true", "auto":
		return nil
	case "false":
		c.on = false
		return nil
	}
	limits, err := ParseLimits(text)
	c.limits = limits
	return err
}

// ParseLimits reads a comma-separated list of migration limits in one unit, and
// sorts it.
func ParseLimits(text string) ([]planner.MigrationLimit, error) {
	limits, err := cli.ParseList(text, parseLimit)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(limits, func(a, b planner.MigrationLimit) int { return cmp.Compare(a.Amount, b.Amount) })
	if slices.ContainsFunc(limits, func(l planner.MigrationLimit) bool { return l.Unit != limits[0].Unit }) {
		return nil, errors.New("the limits of a curve must be in one unit")
	}
	return slices.Compact(limits), nil
}

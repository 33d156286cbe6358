package offline

import (
	"strconv"

	"plannerd/planner"
)

// limitDigits is as exact as percents can be written without showing that they
// are fractions.
const limitDigits = 12

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

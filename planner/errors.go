package planner

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ErrStopped is returned when a Stop function asked to stop, or [Options.WorkBudget]
// ran out, before there was anything complete to return.
var ErrStopped = errors.New("planner: stopped before a plan was complete")

// InputError says which field of the input is wrong, and why.
type InputError struct {
	Row int // row of the statistics, from 0; −1 when it is not about a row
	// Field is the Go name of an option, a column or an argument, or a path from there:
	// "Cost", "ThetaMax", "Residual[3].Cost".
	Field  string
	Detail string // what is wrong, e.g. "must be ≥ 0 and finite"
}

func (e *InputError) Error() string {
	if e.Row < 0 {
		return e.Field + ": " + e.Detail
	}
	return "row " + strconv.Itoa(e.Row) + ": " + e.Field + ": " + e.Detail
}

// Invalid returns the [InputError] about a field that is not one of a row.
func Invalid(field, detail string) error { return InvalidRow(-1, field, detail) }

// InvalidRow returns the [InputError] about a field of a row.
func InvalidRow(row int, field, detail string) error {
	return &InputError{Row: row, Field: field, Detail: detail}
}

// Element names element i of a list for an [InputError]: "Instances[2]".
func Element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// Require returns nil if a field is as the detail says, else the [InputError].
// [cmp.Or] returns the first of several.
func Require(ok bool, field, detail string) error {
	if ok {
		return nil
	}
	return Invalid(field, detail)
}

// RequireAmount is [Require] for a field from 0 to MaxAmount.
func RequireAmount(field string, x float64) error { return Require(isAmount(x), field, mustBeAmount) }

// RequireWithin is [Require] for a whole number from least to most.
func RequireWithin[T ~int | ~int32 | ~int64](field string, x, least, most T) error {
	if least <= x && x <= most { // the words below take time
		return nil
	}
	return Invalid(field, "must be from "+strconv.FormatInt(int64(least), 10)+" to "+strconv.FormatInt(int64(most), 10))
}

// RequireAtLeast is [Require] for a whole number of at least so much.
func RequireAtLeast[T ~int | ~int32 | ~int64](field string, x, least T) error {
	return Require(x >= least, field, "must be ≥ "+strconv.FormatInt(int64(least), 10))
}

// RequireOneOf is [Require] for one of two words or more.
func RequireOneOf[T ~string](field string, x T, words ...T) error {
	if slices.Contains(words, x) {
		return nil
	}
	var b strings.Builder
	for i, w := range words {
		b.WriteString(cmp.Or(map[int]string{0: "must be ", len(words) - 1: " or "}[i], ", ") + string(w))
	}
	return Invalid(field, b.String())
}

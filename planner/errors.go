package planner

import (
	"errors"
	"strconv"
)

// ErrStopped is returned when [Options.Stop] asked to stop, or
// [Options.WorkBudget] ran out, before any plan was complete.
var ErrStopped = errors.New("planner: stopped before a plan was complete")

// InputError says which field of the input is wrong, and why.
type InputError struct {
	Row    int    // row of the statistics, from 0; −1 when it is not about a row
	Field  string // in the words of the HTTP API, e.g. "cost", "theta_max", "residual/3/cost"
	Detail string // what is wrong, e.g. "must be ≥ 0 and finite"
}

// Invalid returns the [InputError] about a field that is not one of a row.
func Invalid(field, detail string) error { return InvalidRow(-1, field, detail) }

// InvalidRow returns the [InputError] about a field of a row.
func InvalidRow(row int, field, detail string) error {
	return &InputError{Row: row, Field: field, Detail: detail}
}

func (e *InputError) Error() string {
	if e.Row < 0 {
		return e.Field + ": " + e.Detail
	}
	return "row " + strconv.Itoa(e.Row) + ": " + e.Field + ": " + e.Detail
}

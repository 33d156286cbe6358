package planner

// Strategy computes a plan from a snapshot. The error is an [InputError] or
// [ErrStopped].
type Strategy func(*Snapshot, Options) (*Plan, error)

// Info describes a registered strategy.
type Info struct {
	Name    string
	Summary string // one line, for people
	Source  string // where it comes from
	Plan    Strategy
}

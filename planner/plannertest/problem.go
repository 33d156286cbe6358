package plannertest

import "plannerd/planner"

// Problem is what a snapshot and options ask for, as the checker reads them. Its
// slices are parallel to Snapshot.Instances.
type Problem struct {
	Live []int // indices of the live instances, ascending
	Fair []float64
	// Background is the residual cost and that of the hot keys where the rules
	// place them; Bound is b_d, which a load may exceed by 1e-9 of itself.
	Background, Bound []float64
	// Hot holds, for each hot item, the instance of each of its units.
	Hot map[int][]int
	// Retained counts the table entries of absent keys that stay.
	Retained int64
	// Others are resources beside cost.
	Others []ProblemResource
	// AllState is the state of all items and residuals.
	AllState float64
}

// ProblemResource is what a problem has of a resource: what keys take of it, and by instance what
// [Problem] has of cost, and its capacity.
type ProblemResource struct {
	Amount, Fair, Background, Bound, Capacity []float64
}

// ProblemOf reads a problem off a snapshot. Under [planner.MinImbalance] no key
// is hot: all are placed alike.
func ProblemOf(s *planner.Snapshot, o planner.Options) Problem {
	m := newModel(s, o)
	var others []ProblemResource
	for _, x := range m.dims[1:] {
		others = append(others, ProblemResource{x.amount, x.fair, x.background, x.bound, x.capacity})
	}
	return Problem{
		Others: others,
		Live:   m.live(), Fair: m.fair, Background: m.background, Bound: m.bound,
		Hot: m.hotUnits, Retained: m.retained, AllState: m.allState(),
	}
}

// CurrentAssignment is F.
func CurrentAssignment(s *planner.Snapshot) Assignment { return current(s) }

// Migrated is what an assignment moves, in the unit of the migration limit: the
// state, also under planner.MigrationFraction, or the number of keys.
func Migrated(s *planner.Snapshot, o planner.Options, a Assignment) float64 {
	moved := 0.0
	for i, units := range a {
		n := float64(count(s, i) - units[s.Current[i]])
		if o.MigrationLimit.Unit == planner.MigrationKeys {
			moved += n
		} else {
			moved += n * state(s, i)
		}
	}
	return moved
}

// MigrationAllowance is the migration limit in the unit of [Migrated].
func MigrationAllowance(s *planner.Snapshot, o planner.Options) float64 {
	if o.MigrationLimit.Unit == planner.MigrationFraction {
		return o.MigrationLimit.Amount * newModel(s, o).allState()
	}
	return o.MigrationLimit.Amount
}

// WithinMigrationLimit reports whether an assignment moves no more than the
// limit allows, with the same tolerance as loads.
func WithinMigrationLimit(s *planner.Snapshot, o planner.Options, a Assignment) bool {
	return fits(Migrated(s, o, a), MigrationAllowance(s, o))
}

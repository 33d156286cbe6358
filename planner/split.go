package planner

import (
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/division"
	"plannerd/sdk/go/route"
)

// Splitting lets a plan send a key to several instances, each of which then holds a part
// of its state.
type Splitting = division.Splitting

func validateSplitting(s *Splitting) error {
	if s == nil {
		return nil
	}
	return cmp.Or(
		Require(s.MaxParts == 0 || s.MaxParts >= 2, "Splitting.MaxParts", "must be ≥ 2, or 0 for no limit"),
		RequireAmount("Splitting.MergeCost", s.MergeCost),
		Require(s.Price == nil || isAmount(*s.Price), "Splitting.Price", "must be from 0 to 1e290"),
	)
}

// PartUnits is the weight of a whole key.
const PartUnits = division.PartUnits

// Part is one of the instances of a split key: by its id in a [RoutingTable], by its index
// into Snapshot.Instances elsewhere.
type Part = division.Part

// Split is a key that goes to several instances.
type Split = division.Split

// PlannedSplit is a key that a plan has split.
type PlannedSplit struct {
	Split
	// Cause is [CauseHotKey] where no instance can carry the key within its bound,
	// [CauseCheaperSplit] where it is split as other plans would move more than its parts
	// are worth, and [CauseKept] where it is split from earlier on.
	Cause Cause
	// Changed: the committed table has the key whole, or other parts or weights.
	Changed bool
}

// ValidateParts reports what is wrong with the parts of a table entry.
func ValidateParts(parts []Part) error { return route.ValidateParts(parts) }

// Divisible lists the rows, ascending, of the keys that plans of a snapshot may have to
// split, under whatever limits, and of those that are split: they are few. The error is an
// [InputError].
func Divisible(s *Snapshot) ([]int32, error) {
	x, err := prepare(s, Options{})
	if err != nil {
		return nil, err
	}
	rows := x.space.Divisible()
	for _, y := range s.Splits {
		rows = append(rows, y.Item)
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil
}

// Merges is how many partial results are merged per interval: one for each part of a key
// but its first.
func (p *Plan) Merges() int64 {
	n := int64(0)
	for _, x := range p.Splits {
		n += int64(len(x.Parts) - 1)
	}
	return n
}

// plannedSplits are the keys that the plan splits.
func (x *prepared) plannedSplits() []PlannedSplit {
	if len(x.at.Splits) == 0 {
		return nil
	}
	planned := make([]PlannedSplit, 0, len(x.at.Splits))
	for _, y := range x.at.Splits {
		out := PlannedSplit{Split: y, Cause: CauseKept, Changed: true}
		if x.space.IsHot(y.Item) {
			out.Cause = CauseHotKey
		}
		if old := division.SplitOf(x.s.Splits, y.Item); old != nil {
			out.Changed = !slices.Equal(old.Parts, y.Parts)
		}
		if out.Changed && out.Cause == CauseKept && x.space.Priced() {
			out.Cause = CauseCheaperSplit
		}
		planned = append(planned, out)
	}
	return assign.InOrder(planned, x.p.Items, func(y *PlannedSplit) int32 { return y.Item })
}

package compact

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// Record stands for Count keys that are on the same instance, have the same hash
// instance and count as equal: (d′, d, d_h, v_c, v_S, #). Instances are named by
// id.
type Record struct {
	// Planned is d′. [planner.NoInstance], the paper's nil, is that of a key that
	// waits for a place.
	Planned int32
	Current int32 // d
	Hash    int32 // d_h
	// Cost and State are v_c and v_S of each key, ≥ 0: the real values are Cost
	// times [Scales].Cost and State times [Scales].State.
	Cost, State float64
	Count       int64 // #, ≥ 1
}

// compareClass orders records by the four values that make a class.
func (r Record) compareClass(o Record) int {
	return cmp.Or(
		cmp.Compare(r.Current, o.Current), cmp.Compare(r.Hash, o.Hash),
		cmp.Compare(r.Cost, o.Cost), cmp.Compare(r.State, o.State),
	)
}

// Merge returns records in ascending order of d, d_h, v_c, v_S and d′, in which
// those that agree in all five have become one. Their counts must not overflow
// in sum. The argument stays as it is.
func Merge(records []Record) []Record {
	out := slices.Clone(records)
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(a.compareClass(b), cmp.Compare(a.Planned, b.Planned))
	})
	n := 0
	for _, r := range out {
		if n > 0 && out[n-1].compareClass(r) == 0 && out[n-1].Planned == r.Planned {
			out[n-1].Count += r.Count
			continue
		}
		out[n] = r
		n++
	}
	return out[:n]
}

// Scales are the real values of a discretised 1, > 0.
type Scales struct {
	Cost, State float64
}

// Validate reports the first scale that is not from 1e-290 to 1e290 as a
// [planner.InputError] of field Scales.Cost or Scales.State.
func (s Scales) Validate() error {
	inRange := func(field string, scale float64) error {
		return planner.Require(scale >= 1/planner.MaxAmount && scale <= planner.MaxAmount, field,
			"must be from 1e-290 to 1e290")
	}
	return cmp.Or(inRange("Scales.Cost", s.Cost), inRange("Scales.State", s.State))
}

// Statistics is one interval in compact form, as an engine posts it. d′ of its
// records says nothing.
type Statistics struct {
	Records []Record
	Scales  Scales
	// Degree is R, for the record: the values are discretised already. 0: not said.
	Degree int
	// Named are keys that no record counts: each is a record of its own, with exact values,
	// and can be split. Their coverage is that below. Nil: there are none.
	Named *planner.Statistics
	// Partial: keys exist that no record counts; Residual sums them up.
	Partial  bool
	Residual []planner.Residual
	// Frozen are the ids of instances of which nothing is known, ascending: no record is of
	// one of them.
	Frozen []int32
}

package columns

import "plannerd/planner"

// Resolution says which keys an engine took for the moves of classes, in
// columns.
type Resolution struct {
	Keys     *planner.Keys // distinct, 1 to planner.MaxKeyBytes bytes each
	From, To []int32       // ids of instances, ≥ 0
	// HashInstance is where the engine's own hash puts each key, or
	// planner.NoInstance. Nil: named on no row.
	HashInstance []int32
}

// Len is the number of keys.
func (r *Resolution) Len() int { return len(r.From) }

// Bytes is how much memory the resolution holds.
func (r *Resolution) Bytes() int64 {
	return int64(r.Keys.Bytes()) + int64(SizeOf[int32](cap(r.From)+cap(r.To)+cap(r.HashInstance)))
}

// Pointer returns the JSON pointer to a field of a row: /17/to.
func (r *Resolution) Pointer(row int, field string) string { return ShapeRows.pointer(row, field) }

package stored

import (
	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

const (
	ringMagic   = "PLRT"
	rangesMagic = "PLRN"
)

// RingPlan is what a plan of a token ring changes, as it is stored.
type RingPlan struct {
	Tokens []TokenChange // in ascending order of Instance
	Arcs   []lists.ArcMove
}

// TokenChange says that an instance held tokens 0…Before−1 of the ring and holds
// 0…After−1.
type TokenChange struct {
	Instance      int32
	Before, After int32 // ≥ 0, never equal
}

// RangesPlan is a division of the key space and what leads to it, as it is
// stored.
type RangesPlan struct {
	Owners []lists.RangeOwner // afterwards, in ascending order of From
	Moves  []lists.RangeMove  // in ascending order of Range.From
}

// Encode returns the plan as a compact blob, for storing.
func (p RingPlan) Encode() []byte {
	w := blob.NewWriter(ringMagic)
	blob.WriteList(w, p.Tokens, tokenPlanes)
	blob.WriteList(w, p.Arcs, arcPlanes)
	return w.Finish()
}

// DecodeRingPlan is the inverse of [RingPlan.Encode]. It fails with [ErrCorrupt].
func DecodeRingPlan(data []byte) (RingPlan, error) {
	r := blob.NewReader(data, ringMagic)
	p := RingPlan{Tokens: blob.ReadList(r, tokenPlanes), Arcs: blob.ReadList(r, arcPlanes)}
	return blob.Finished(r, p)
}

var tokenPlanes = []blob.Plane[TokenChange]{
	blob.IDs(func(t *TokenChange) *int32 { return &t.Instance }),
	blob.IDs(func(t *TokenChange) *int32 { return &t.Before }),
	blob.IDs(func(t *TokenChange) *int32 { return &t.After }),
}

var arcPlanes = []blob.Plane[lists.ArcMove]{
	blob.Positions(func(m *lists.ArcMove) *uint32 { return &m.Start }),
	blob.Positions(func(m *lists.ArcMove) *uint32 { return &m.End }),
	blob.IDs(func(m *lists.ArcMove) *int32 { return &m.From }),
	blob.IDs(func(m *lists.ArcMove) *int32 { return &m.To }),
	blob.Counts(func(m *lists.ArcMove) *int64 { return &m.Keys }),
	blob.Floats(func(m *lists.ArcMove) *float64 { return &m.Cost }),
	blob.Floats(func(m *lists.ArcMove) *float64 { return &m.State }),
	blob.Reasons(func(m *lists.ArcMove) *planner.Reason { return &m.Reason }),
}

// Encode returns the plan as a compact blob, for storing.
func (p RangesPlan) Encode() []byte {
	w := blob.NewWriter(rangesMagic)
	blob.WriteList(w, p.Owners, ownerPlanes)
	blob.WriteList(w, p.Moves, movePlanes)
	return w.Finish()
}

// DecodeRangesPlan is the inverse of [RangesPlan.Encode]. It fails with
// [ErrCorrupt].
func DecodeRangesPlan(data []byte) (RangesPlan, error) {
	r := blob.NewReader(data, rangesMagic)
	p := RangesPlan{Owners: blob.ReadList(r, ownerPlanes), Moves: blob.ReadList(r, movePlanes)}
	return blob.Finished(r, p)
}

var ownerPlanes = []blob.Plane[lists.RangeOwner]{
	blob.Texts(func(o *lists.RangeOwner) *[]byte { return &o.Range.From }),
	blob.Texts(func(o *lists.RangeOwner) *[]byte { return &o.Range.To }),
	blob.IDs(func(o *lists.RangeOwner) *int32 { return &o.Instance }),
}

var movePlanes = []blob.Plane[lists.RangeMove]{
	blob.Texts(func(m *lists.RangeMove) *[]byte { return &m.Range.From }),
	blob.Texts(func(m *lists.RangeMove) *[]byte { return &m.Range.To }),
	blob.IDs(func(m *lists.RangeMove) *int32 { return &m.From }),
	blob.IDs(func(m *lists.RangeMove) *int32 { return &m.To }),
	blob.Counts(func(m *lists.RangeMove) *int64 { return &m.Keys }),
	blob.Floats(func(m *lists.RangeMove) *float64 { return &m.Cost }),
	blob.Floats(func(m *lists.RangeMove) *float64 { return &m.State }),
	blob.Reasons(func(m *lists.RangeMove) *planner.Reason { return &m.Reason }),
}

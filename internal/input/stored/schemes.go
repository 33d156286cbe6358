package stored

import (
	"math"

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

// DecodeRingPlan is the inverse of [RingPlan.Encode]. It fails with [blob.ErrCorrupt].
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
	writeRanges(w, p.Owners, ownerRange, ownerPlanes)
	writeRanges(w, p.Moves, moveRange, movePlanes)
	return w.Finish()
}

// DecodeRangesPlan is the inverse of [RangesPlan.Encode]. It fails with
// [blob.ErrCorrupt].
func DecodeRangesPlan(data []byte) (RangesPlan, error) {
	r := blob.NewReader(data, rangesMagic)
	p := RangesPlan{Owners: readRanges(r, ownerRange, ownerPlanes), Moves: readRanges(r, moveRange, movePlanes)}
	return blob.Finished(r, p)
}

func ownerRange(o *lists.RangeOwner) *lists.Range { return &o.Range }

var ownerPlanes = []blob.Plane[lists.RangeOwner]{blob.IDs(func(o *lists.RangeOwner) *int32 { return &o.Instance })}

func moveRange(m *lists.RangeMove) *lists.Range { return &m.Range }

var movePlanes = []blob.Plane[lists.RangeMove]{
	blob.IDs(func(m *lists.RangeMove) *int32 { return &m.From }),
	blob.IDs(func(m *lists.RangeMove) *int32 { return &m.To }),
	blob.Counts(func(m *lists.RangeMove) *int64 { return &m.Keys }),
	blob.Floats(func(m *lists.RangeMove) *float64 { return &m.Cost }),
	blob.Floats(func(m *lists.RangeMove) *float64 { return &m.State }),
	blob.Reasons(func(m *lists.RangeMove) *planner.Reason { return &m.Reason }),
}

// writeRanges is blob.WriteList for rows with a range.
func writeRanges[T any](w *blob.Writer, rows []T, at func(*T) *lists.Range, planes []blob.Plane[T]) {
	w.Number(len(rows))
	size := func(i int) int { return len(at(&rows[i]).From) + len(at(&rows[i]).To) }
	blob.Blocks(len(rows), size, func(from, to, keyBytes int) {
		block := rows[from:to]
		w.Begin(len(block), keyBytes)
		w.Keys(len(block), func(i int) []byte { return at(&block[i]).From })
		w.Keys(len(block), func(i int) []byte { return at(&block[i]).To })
		blob.WritePlanes(w, block, planes)
		w.End()
	})
}

// readRanges is the inverse of writeRanges.
func readRanges[T any](r *blob.Reader, at func(*T) *lists.Range, planes []blob.Plane[T]) (rows []T) {
	for n := r.Number(math.MaxInt32); len(rows) < n && r.Err == nil; {
		block := blob.BeginRows(r, &rows, n)
		r.Texts(len(block), func(i int, key []byte) { at(&block[i]).From = append([]byte{}, key...) })
		r.Texts(len(block), func(i int, key []byte) { at(&block[i]).To = append([]byte{}, key...) })
		blob.ReadPlanes(r, block, planes...)
		r.End()
	}
	return rows
}

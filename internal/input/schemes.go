package input

import (
	"math"

	"plannerd/planner"
)

const (
	ringMagic   = "PLRT"
	rangesMagic = "PLRN"
)

// RingPlan is what a plan of a token ring changes, as it is stored.
type RingPlan struct {
	Tokens []TokenChange // in ascending order of Instance
	Arcs   []ArcMove
}

// TokenChange says that an instance held tokens 0…Before−1 of the ring and holds
// 0…After−1.
type TokenChange struct {
	Instance      int32
	Before, After int32 // ≥ 0, never equal
}

// ArcMove is an arc of the ring that changes its instance: the positions after
// Start up to and including End, wrapping round when Start ≥ End.
type ArcMove struct {
	Start, End uint32
	From, To   int32 // ids of instances
	// The keys of the statistics that lie on it, what they cost and how much state
	// they hold.
	Keys        int64
	Cost, State float64
	Reason      planner.Reason
}

// RangesPlan is a division of the key space and what leads to it, as it is
// stored.
type RangesPlan struct {
	Owners []RangeOwner // afterwards, in ascending order of From
	Moves  []RangeMove  // in ascending order of Range.From
}

// Range is the keys from From on and below To: an empty From is the lowest end of
// the key space, an empty To its end.
type Range struct{ From, To []byte }

// RangeOwner says that an instance owns a range.
type RangeOwner struct {
	Range    Range
	Instance int32
}

// RangeMove is a range that changes its owner.
type RangeMove struct {
	Range    Range
	From, To int32 // ids of instances
	// The keys of the statistics that lie in it, what they cost and how much state
	// they hold.
	Keys        int64
	Cost, State float64
	Reason      planner.Reason
}

// Encode returns the plan as a compact blob, for storing.
func (p RingPlan) Encode() []byte {
	w := newBlobWriter(ringMagic)
	writeList(w, p.Tokens, tokenPlanes)
	writeList(w, p.Arcs, arcPlanes)
	return w.finish()
}

// DecodeRingPlan is the inverse of [RingPlan.Encode]. It fails with [ErrCorrupt].
func DecodeRingPlan(blob []byte) (RingPlan, error) {
	r := newBlobReader(blob, ringMagic)
	p := RingPlan{Tokens: readList(r, tokenPlanes), Arcs: readList(r, arcPlanes)}
	if err := r.finish(); err != nil {
		return RingPlan{}, err
	}
	return p, nil
}

var tokenPlanes = []plane[TokenChange]{
	idPlane(func(t *TokenChange) *int32 { return &t.Instance }),
	idPlane(func(t *TokenChange) *int32 { return &t.Before }),
	idPlane(func(t *TokenChange) *int32 { return &t.After }),
}

var arcPlanes = []plane[ArcMove]{
	positionPlane(func(m *ArcMove) *uint32 { return &m.Start }),
	positionPlane(func(m *ArcMove) *uint32 { return &m.End }),
	idPlane(func(m *ArcMove) *int32 { return &m.From }),
	idPlane(func(m *ArcMove) *int32 { return &m.To }),
	countPlane(func(m *ArcMove) *int64 { return &m.Keys }),
	floatPlane(func(m *ArcMove) *float64 { return &m.Cost }),
	floatPlane(func(m *ArcMove) *float64 { return &m.State }),
	reasonPlane(func(m *ArcMove) *planner.Reason { return &m.Reason }),
}

// Encode returns the plan as a compact blob, for storing.
func (p RangesPlan) Encode() []byte {
	w := newBlobWriter(rangesMagic)
	writeRanges(w, p.Owners, ownerRange, ownerPlanes)
	writeRanges(w, p.Moves, moveRange, movePlanes)
	return w.finish()
}

// DecodeRangesPlan is the inverse of [RangesPlan.Encode]. It fails with
// [ErrCorrupt].
func DecodeRangesPlan(blob []byte) (RangesPlan, error) {
	r := newBlobReader(blob, rangesMagic)
	p := RangesPlan{Owners: readRanges(r, ownerRange, ownerPlanes), Moves: readRanges(r, moveRange, movePlanes)}
	if err := r.finish(); err != nil {
		return RangesPlan{}, err
	}
	return p, nil
}

func ownerRange(o *RangeOwner) *Range { return &o.Range }

var ownerPlanes = []plane[RangeOwner]{idPlane(func(o *RangeOwner) *int32 { return &o.Instance })}

func moveRange(m *RangeMove) *Range { return &m.Range }

var movePlanes = []plane[RangeMove]{
	idPlane(func(m *RangeMove) *int32 { return &m.From }),
	idPlane(func(m *RangeMove) *int32 { return &m.To }),
	countPlane(func(m *RangeMove) *int64 { return &m.Keys }),
	floatPlane(func(m *RangeMove) *float64 { return &m.Cost }),
	floatPlane(func(m *RangeMove) *float64 { return &m.State }),
	reasonPlane(func(m *RangeMove) *planner.Reason { return &m.Reason }),
}

// writeRanges is writeList for rows with a range.
func writeRanges[T any](w *blobWriter, rows []T, at func(*T) *Range, planes []plane[T]) {
	w.number(len(rows))
	size := func(i int) int { return len(at(&rows[i]).From) + len(at(&rows[i]).To) }
	blocks(len(rows), size, func(from, to, keyBytes int) {
		block := rows[from:to]
		w.begin(len(block), keyBytes)
		w.keys(len(block), func(i int) []byte { return at(&block[i]).From })
		w.keys(len(block), func(i int) []byte { return at(&block[i]).To })
		writePlanes(w, block, planes)
		w.end()
	})
}

// readRanges is the inverse of writeRanges.
func readRanges[T any](r *blobReader, at func(*T) *Range, planes []plane[T]) (rows []T) {
	for n := r.number(math.MaxInt32); len(rows) < n && r.err == nil; {
		block := beginRows(r, &rows, n)
		r.texts(len(block), func(i int, key []byte) { at(&block[i]).From = append([]byte{}, key...) })
		r.texts(len(block), func(i int, key []byte) { at(&block[i]).To = append([]byte{}, key...) })
		readPlanes(r, block, planes...)
		r.end()
	}
	return rows
}

package statsio

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
	w.number(len(p.Tokens))
	blocks(len(p.Tokens), noKey, func(from, to, _ int) {
		ts := p.Tokens[from:to]
		w.begin(len(ts), 0)
		w.column(len(ts), 4, func(i int) uint64 { return uint64(uint32(ts[i].Instance)) })
		w.column(len(ts), 4, func(i int) uint64 { return uint64(uint32(ts[i].Before)) })
		w.column(len(ts), 4, func(i int) uint64 { return uint64(uint32(ts[i].After)) })
		w.end()
	})
	w.number(len(p.Arcs))
	blocks(len(p.Arcs), noKey, func(from, to, _ int) {
		ms := p.Arcs[from:to]
		w.begin(len(ms), 0)
		w.column(len(ms), 4, func(i int) uint64 { return uint64(ms[i].Start) })
		w.column(len(ms), 4, func(i int) uint64 { return uint64(ms[i].End) })
		writeMoved(w, len(ms), func(i int) moved { return ms[i].moved() })
		w.end()
	})
	return w.finish()
}

// DecodeRingPlan is the inverse of [RingPlan.Encode]. It fails with [ErrCorrupt].
func DecodeRingPlan(blob []byte) (RingPlan, error) {
	r, p := newBlobReader(blob, ringMagic), RingPlan{}
	for rows := r.number(math.MaxInt32); len(p.Tokens) < rows && r.err == nil; {
		block := beginRows(r, &p.Tokens, rows)
		eachRow(r, block, 4, func(t *TokenChange, bits uint64) { t.Instance = int32(uint32(bits)) })
		eachRow(r, block, 4, func(t *TokenChange, bits uint64) { t.Before = int32(uint32(bits)) })
		eachRow(r, block, 4, func(t *TokenChange, bits uint64) { t.After = int32(uint32(bits)) })
		r.end()
	}
	for rows := r.number(math.MaxInt32); len(p.Arcs) < rows && r.err == nil; {
		block := beginRows(r, &p.Arcs, rows)
		eachRow(r, block, 4, func(m *ArcMove, bits uint64) { m.Start = uint32(bits) })
		eachRow(r, block, 4, func(m *ArcMove, bits uint64) { m.End = uint32(bits) })
		for i, x := range readMoved(r, len(block)) {
			m := &block[i]
			m.From, m.To, m.Keys, m.Cost, m.State, m.Reason = x.from, x.to, x.keys, x.cost, x.state, x.reason
		}
		r.end()
	}
	if err := r.finish(); err != nil {
		return RingPlan{}, err
	}
	return p, nil
}

// Encode returns the plan as a compact blob, for storing.
func (p RangesPlan) Encode() []byte {
	w := newBlobWriter(rangesMagic)
	w.number(len(p.Owners))
	blocks(len(p.Owners), func(i int) int { return p.Owners[i].Range.size() }, func(from, to, keyBytes int) {
		os := p.Owners[from:to]
		w.begin(len(os), keyBytes)
		writeRanges(w, len(os), func(i int) Range { return os[i].Range })
		w.column(len(os), 4, func(i int) uint64 { return uint64(uint32(os[i].Instance)) })
		w.end()
	})
	w.number(len(p.Moves))
	blocks(len(p.Moves), func(i int) int { return p.Moves[i].Range.size() }, func(from, to, keyBytes int) {
		ms := p.Moves[from:to]
		w.begin(len(ms), keyBytes)
		writeRanges(w, len(ms), func(i int) Range { return ms[i].Range })
		writeMoved(w, len(ms), func(i int) moved { return ms[i].moved() })
		w.end()
	})
	return w.finish()
}

// DecodeRangesPlan is the inverse of [RangesPlan.Encode]. It fails with
// [ErrCorrupt].
func DecodeRangesPlan(blob []byte) (RangesPlan, error) {
	r, p := newBlobReader(blob, rangesMagic), RangesPlan{}
	for rows := r.number(math.MaxInt32); len(p.Owners) < rows && r.err == nil; {
		block := beginRows(r, &p.Owners, rows)
		for i, x := range readRanges(r, len(block)) {
			block[i].Range = x
		}
		eachRow(r, block, 4, func(o *RangeOwner, bits uint64) { o.Instance = int32(uint32(bits)) })
		r.end()
	}
	for rows := r.number(math.MaxInt32); len(p.Moves) < rows && r.err == nil; {
		block := beginRows(r, &p.Moves, rows)
		for i, x := range readRanges(r, len(block)) {
			block[i].Range = x
		}
		for i, x := range readMoved(r, len(block)) {
			m := &block[i]
			m.From, m.To, m.Keys, m.Cost, m.State, m.Reason = x.from, x.to, x.keys, x.cost, x.state, x.reason
		}
		r.end()
	}
	if err := r.finish(); err != nil {
		return RangesPlan{}, err
	}
	return p, nil
}

func (x Range) size() int { return len(x.From) + len(x.To) }

// moved is what moves of arcs and of ranges have in common.
type moved struct {
	from, to    int32
	keys        int64
	cost, state float64
	reason      planner.Reason
}

func (m ArcMove) moved() moved {
	return moved{m.From, m.To, m.Keys, m.Cost, m.State, m.Reason}
}

func (m RangeMove) moved() moved {
	return moved{m.From, m.To, m.Keys, m.Cost, m.State, m.Reason}
}

func writeMoved(w *blobWriter, n int, at func(i int) moved) {
	w.column(n, 4, func(i int) uint64 { return uint64(uint32(at(i).from)) })
	w.column(n, 4, func(i int) uint64 { return uint64(uint32(at(i).to)) })
	w.column(n, 8, func(i int) uint64 { return uint64(at(i).keys) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(at(i).cost) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(at(i).state) })
	w.column(n, 1, func(i int) uint64 { return uint64(at(i).reason) })
}

func readMoved(r *blobReader, n int) []moved {
	rows := make([]moved, n)
	eachRow(r, rows, 4, func(m *moved, bits uint64) { m.from = int32(uint32(bits)) })
	eachRow(r, rows, 4, func(m *moved, bits uint64) { m.to = int32(uint32(bits)) })
	eachRow(r, rows, 8, func(m *moved, bits uint64) { m.keys = int64(bits) })
	eachRow(r, rows, 8, func(m *moved, bits uint64) { m.cost = math.Float64frombits(bits) })
	eachRow(r, rows, 8, func(m *moved, bits uint64) { m.state = math.Float64frombits(bits) })
	eachRow(r, rows, 1, func(m *moved, bits uint64) {
		if bits > uint64(planner.ReasonExchange) {
			r.corrupt("unknown reason")
		}
		m.reason = planner.Reason(bits)
	})
	return rows
}

func writeRanges(w *blobWriter, n int, at func(i int) Range) {
	w.keys(n, func(i int) []byte { return at(i).From })
	w.keys(n, func(i int) []byte { return at(i).To })
}

func readRanges(r *blobReader, n int) []Range {
	rows := make([]Range, n)
	for _, end := range []func(*Range) *[]byte{
		func(x *Range) *[]byte { return &x.From }, func(x *Range) *[]byte { return &x.To },
	} {
		r.texts(n, func(i int, key []byte) { *end(&rows[i]) = append([]byte{}, key...) })
	}
	return rows
}

// beginRows reads the next block, of rows in all, and returns the room for them
// that it has made behind all.
func beginRows[T any](r *blobReader, all *[]T, rows int) []T {
	first := len(*all)
	*all = append(*all, make([]T, r.begin(rows-first))...)
	return (*all)[first:]
}

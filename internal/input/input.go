package input

import (
	"math"

	"plannerd/planner"
)

const inputMagic = "PLIN"

// Which parts an input has.
const (
	inputPartial = 1 << iota
	inputState
	inputInstance
	inputHashInstance
	inputPartialOn
	inputFrozen
	inputShares
	inputAdded
	inputIdle  // shares that have cost nothing, by their places in the list
	inputFlags = 1<<iota - 1
)

// EncodeInputUntil returns statistics of keys, of which no row counts several, as a
// small blob, for storing: rows keep their order and every bit of their values. When
// stop asks it to give up, it returns nil. It asks once for each block of rows, from
// several goroutines.
//
// added is the state that the interval itself added to each row, where the states are sums
// over several intervals; nil: they are not.
func EncodeInputUntil(s *planner.Statistics, added []float64, stop func() bool) []byte {
	w := newBlobWriter(inputMagic)
	flags := 0
	set := func(bit int, on bool) {
		if on {
			flags |= bit
		}
	}
	set(inputPartial, s.Partial)
	set(inputState, s.State != nil)
	set(inputInstance, s.Instance != nil)
	set(inputHashInstance, s.HashInstance != nil)
	set(inputPartialOn, len(s.PartialOn) > 0)
	set(inputFrozen, len(s.Frozen) > 0)
	set(inputShares, len(s.Shares) > 0)
	set(inputAdded, added != nil)
	idle := idleShares(s.Shares)
	set(inputIdle, len(idle) > 0)
	w.number(flags)
	w.number(s.Len())
	keyLen := func(i int) int { return len(s.Keys.At(i)) }
	if !w.blocksAtOnce(s.Len(), keyLen, stop, func(w *blobWriter, from, to,
		keyBytes int) {
		w.inputBlock(s, added, from, to, keyBytes)
	}) {
		return nil
	}
	writeList(w, s.Residual, residualPlanes)
	for _, list := range [][]int32{s.PartialOn, s.Frozen} {
		if len(list) > 0 {
			writeList(w, list, idPlanes)
		}
	}
	if len(s.Shares) > 0 {
		writeList(w, s.Shares, sharePlanes)
	}
	if len(idle) > 0 {
		writeList(w, idle, idPlanes)
	}
	return w.finish()
}

func (w *blobWriter) inputBlock(s *planner.Statistics, added []float64, from, to, keyBytes int) {
	n := to - from
	w.begin(n, keyBytes)
	w.keys(n, func(i int) []byte { return s.Keys.At(from + i) })
	w.floats(s.Cost[from:to])
	if s.State != nil {
		w.floats(s.State[from:to])
	}
	if s.Instance != nil {
		w.ints(s.Instance[from:to])
	}
	if s.HashInstance != nil {
		w.ints(s.HashInstance[from:to])
	}
	if added != nil {
		w.floats(added[from:to])
	}
	w.end()
}

func (w *blobWriter) floats(xs []float64) {
	w.column(len(xs), 8, func(i int) uint64 { return math.Float64bits(xs[i]) })
}

func (w *blobWriter) ints(vs []int32) {
	w.column(len(vs), 4, func(i int) uint64 { return uint64(uint32(vs[i])) })
}

// StoredRows is how many rows an encoded input has, 0 of what is none: its length
// does not tell.
func StoredRows(blob []byte) int {
	r := newBlobReader(blob, inputMagic)
	r.number(inputFlags)
	return r.number(math.MaxInt32)
}

// DecodeInput is the inverse of [EncodeInputUntil]. It fails with [ErrCorrupt].
func DecodeInput(blob []byte) (s *planner.Statistics, added []float64, err error) {
	r := newBlobReader(blob, inputMagic)
	flags := r.number(inputFlags)
	rows := r.number(math.MaxInt32)
	s = &planner.Statistics{Keys: planner.NewKeys(min(rows, blockRows)), Partial: flags&inputPartial != 0}
	if flags&inputState != 0 {
		s.State = []float64{}
	}
	if flags&inputInstance != 0 {
		s.Instance = []int32{}
	}
	if flags&inputHashInstance != 0 {
		s.HashInstance = []int32{}
	}
	if flags&inputAdded != 0 {
		added = []float64{}
	}
	for s.Len() < rows && r.err == nil {
		added = r.inputBlock(s, added, rows-s.Len())
	}
	s.Residual = readList(r, residualPlanes)
	if flags&inputPartialOn != 0 {
		s.PartialOn = readList(r, idPlanes)
	}
	if flags&inputFrozen != 0 {
		s.Frozen = readList(r, idPlanes)
	}
	if flags&inputShares != 0 {
		s.Shares = readList(r, sharePlanes)
	}
	if flags&inputIdle != 0 {
		for _, i := range readList(r, idPlanes) {
			if i < 0 || int(i) >= len(s.Shares) {
				return nil, nil, ErrCorrupt
			}
			s.Shares[i].Idle = true
		}
	}
	if err := r.finish(); err != nil {
		return nil, nil, err
	}
	return s, added, nil
}

func (r *blobReader) inputBlock(s *planner.Statistics, added []float64, limit int) []float64 {
	n := r.begin(limit)
	r.keys(s.Keys, n)
	s.Cost = r.floats(s.Cost, n)
	if s.State != nil {
		s.State = r.floats(s.State, n)
	}
	if s.Instance != nil {
		s.Instance = r.ints(s.Instance, n)
	}
	if s.HashInstance != nil {
		s.HashInstance = r.ints(s.HashInstance, n)
	}
	if added != nil {
		added = r.floats(added, n)
	}
	r.end()
	return added
}

// idleShares are the places of those that have cost nothing.
func idleShares(shares []planner.Share) (at []int32) {
	for i, x := range shares {
		if x.Idle {
			at = append(at, int32(i))
		}
	}
	return at
}

var residualPlanes = []plane[planner.Residual]{
	idPlane(func(r *planner.Residual) *int32 { return &r.Instance }),
	floatPlane(func(r *planner.Residual) *float64 { return &r.Cost }),
	floatPlane(func(r *planner.Residual) *float64 { return &r.State }),
	countPlane(func(r *planner.Residual) *int64 { return &r.Keys }),
}

var sharePlanes = []plane[planner.Share]{
	idPlane(func(x *planner.Share) *int32 { return &x.Row }),
	idPlane(func(x *planner.Share) *int32 { return &x.Instance }),
	floatPlane(func(x *planner.Share) *float64 { return &x.State }),
}

// idPlanes are the ids of some instances.
var idPlanes = []plane[int32]{idPlane(func(id *int32) *int32 { return id })}

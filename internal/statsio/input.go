package statsio

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
	inputFlags = 1<<iota - 1
)

// EncodeInput returns statistics of keys, of which no row counts several, as a
// small blob, for storing: rows keep their order and every bit of their values.
func EncodeInput(s *planner.Statistics) []byte {
	return EncodeInputUntil(s, func() bool { return false })
}

// EncodeInputUntil is [EncodeInput], unless stop asks it to give up: then it
// returns nil. It asks once for each block of rows, from several goroutines.
func EncodeInputUntil(s *planner.Statistics, stop func() bool) []byte {
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
	w.number(flags)
	w.number(s.Len())
	keyLen := func(i int) int { return len(s.Keys.At(i)) }
	if !w.blocksAtOnce(s.Len(), keyLen, stop, func(w *blobWriter, from, to, keyBytes int) { w.inputBlock(s, from, to, keyBytes) }) {
		return nil
	}
	w.residual(s.Residual)
	for _, list := range [][]int32{s.PartialOn, s.Frozen} {
		if len(list) > 0 {
			w.idList(list)
		}
	}
	return w.finish()
}

func (w *blobWriter) inputBlock(s *planner.Statistics, from, to, keyBytes int) {
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
	w.end()
}

func (w *blobWriter) residual(rs []planner.Residual) {
	w.number(len(rs))
	blocks(len(rs), noKey, func(from, to, _ int) { w.residualBlock(rs[from:to]) })
}

func (w *blobWriter) residualBlock(rs []planner.Residual) {
	n := len(rs)
	w.begin(n, 0)
	w.column(n, 4, func(i int) uint64 { return uint64(uint32(rs[i].Instance)) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(rs[i].Cost) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(rs[i].State) })
	w.column(n, 8, func(i int) uint64 { return uint64(rs[i].Keys) })
	w.end()
}

// idList writes the ids of some instances.
func (w *blobWriter) idList(ids []int32) {
	w.number(len(ids))
	blocks(len(ids), noKey, func(from, to, _ int) {
		w.begin(to-from, 0)
		w.ints(ids[from:to])
		w.end()
	})
}

func (w *blobWriter) floats(xs []float64) {
	w.column(len(xs), 8, func(i int) uint64 { return math.Float64bits(xs[i]) })
}

func (w *blobWriter) ints(vs []int32) {
	w.column(len(vs), 4, func(i int) uint64 { return uint64(uint32(vs[i])) })
}

// InputRows is how many rows an encoded input has, 0 of what is none: its length
// does not tell.
func InputRows(blob []byte) int {
	r := newBlobReader(blob, inputMagic)
	r.number(inputFlags)
	return r.number(math.MaxInt32)
}

// DecodeInput is the inverse of [EncodeInput]. It fails with [ErrCorrupt].
func DecodeInput(blob []byte) (*planner.Statistics, error) {
	r := newBlobReader(blob, inputMagic)
	flags := r.number(inputFlags)
	rows := r.number(math.MaxInt32)
	s := &planner.Statistics{Keys: planner.NewKeys(min(rows, blockRows)), Partial: flags&inputPartial != 0}
	if flags&inputState != 0 {
		s.State = []float64{}
	}
	if flags&inputInstance != 0 {
		s.Instance = []int32{}
	}
	if flags&inputHashInstance != 0 {
		s.HashInstance = []int32{}
	}
	for s.Len() < rows && r.err == nil {
		r.inputBlock(s, rows-s.Len())
	}
	s.Residual = r.residual()
	if flags&inputPartialOn != 0 {
		s.PartialOn = r.idList()
	}
	if flags&inputFrozen != 0 {
		s.Frozen = r.idList()
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *blobReader) inputBlock(s *planner.Statistics, limit int) {
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
	r.end()
}

func (r *blobReader) residual() (rs []planner.Residual) {
	for rows := r.number(math.MaxInt32); len(rs) < rows && r.err == nil; {
		n := r.begin(rows - len(rs))
		first := len(rs)
		rs = append(rs, make([]planner.Residual, n)...)
		block := rs[first:]
		eachRow(r, block, 4, func(d *planner.Residual, bits uint64) { d.Instance = int32(uint32(bits)) })
		eachRow(r, block, 8, func(d *planner.Residual, bits uint64) { d.Cost = math.Float64frombits(bits) })
		eachRow(r, block, 8, func(d *planner.Residual, bits uint64) { d.State = math.Float64frombits(bits) })
		eachRow(r, block, 8, func(d *planner.Residual, bits uint64) { d.Keys = int64(bits) })
		r.end()
	}
	return rs
}

// idList reads the ids of some instances.
func (r *blobReader) idList() (ids []int32) {
	for n := r.number(math.MaxInt32); len(ids) < n && r.err == nil; {
		ids = r.ints(ids, r.begin(n-len(ids)))
		r.end()
	}
	return ids
}

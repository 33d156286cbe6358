// Package stored brings what the service keeps into blobs and back: the statistics of an
// interval, of keys or compact, and what a plan moves. It knows which parts each of these has;
// how columns are laid out is for package blob to know, and where blobs are kept for the store.
package stored

import (
	"math"

	"plannerd/internal/input/internal/blob"
	"plannerd/planner"
)

// ErrCorrupt says that what is stored is not what was written, or is of a version that this build
// does not know.
var ErrCorrupt = blob.ErrCorrupt

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
	inputCosts // amounts of resources
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
	w := blob.NewWriter(inputMagic)
	idle := idleShares(s.Shares)
	flags := blob.Flag(inputPartial, s.Partial) | blob.Flag(inputState, s.State != nil) |
		blob.Flag(inputInstance, s.Instance != nil) | blob.Flag(inputHashInstance, s.HashInstance != nil) |
		blob.Flag(inputPartialOn, len(s.PartialOn) > 0) | blob.Flag(inputFrozen, len(s.Frozen) > 0) |
		blob.Flag(inputShares, len(s.Shares) > 0) | blob.Flag(inputAdded, added != nil) |
		blob.Flag(inputIdle, len(idle) > 0) | blob.Flag(inputCosts, len(s.Costs) > 0)
	w.Number(flags)
	w.Number(s.Len())
	if flags&inputCosts != 0 {
		w.WriteNames(s.Costs)
	}
	keyLen := func(i int) int { return len(s.Keys.At(i)) }
	columns := columnsOf(s, &added, flags)
	if !w.BlocksAtOnce(blob.RowsBeside(len(s.Costs)), s.Len(), keyLen, stop, func(w *blob.Writer, from, to, keyBytes int) {
		blob.WriteColumns(w, s.Keys, columns, from, to, keyBytes)
	}) {
		return nil
	}
	blob.WriteList(w, s.Residual, blob.Residuals)
	w.WriteResidual(s.Costs)
	blob.WriteSome(w, s.PartialOn, blob.Instances)
	blob.WriteSome(w, s.Frozen, blob.Instances)
	blob.WriteSome(w, s.Shares, sharePlanes)
	blob.WriteSome(w, idle, blob.Instances)
	return w.Finish()
}

// columnsOf are the columns that statistics with these flags have besides their keys.
func columnsOf(s *planner.Statistics, added *[]float64, flags int) []blob.Column {
	columns := []blob.Column{blob.ColumnOf(&s.Cost, blob.Floats[float64])}
	if flags&inputState != 0 {
		columns = append(columns, blob.ColumnOf(&s.State, blob.Floats[float64]))
	}
	if flags&inputInstance != 0 {
		columns = append(columns, blob.ColumnOf(&s.Instance, blob.IDs[int32]))
	}
	if flags&inputHashInstance != 0 {
		columns = append(columns, blob.ColumnOf(&s.HashInstance, blob.IDs[int32]))
	}
	if flags&inputAdded != 0 {
		columns = append(columns, blob.ColumnOf(added, blob.Floats[float64]))
	}
	for i := range s.Costs {
		columns = append(columns, blob.ColumnOf(&s.Costs[i].Rows, blob.Floats[float64]))
	}
	return columns
}

// RowsOf is how many rows an encoded input has, and how many amounts of resources each of them, 0 of
// what is none: its length does not tell.
func RowsOf(data []byte) (rows, costs int) {
	r := blob.NewReader(data, inputMagic)
	flags := r.Number(inputFlags)
	rows = r.Number(math.MaxInt32)
	if flags&inputCosts != 0 {
		costs = len(r.ReadNames())
	}
	return rows, costs
}

// DecodeInput is the inverse of [EncodeInputUntil]. It fails with [ErrCorrupt].
func DecodeInput(data []byte) (s *planner.Statistics, added []float64, err error) {
	r := blob.NewReader(data, inputMagic)
	flags := r.Number(inputFlags)
	rows := r.Number(math.MaxInt32)
	s = &planner.Statistics{Keys: planner.NewKeys(min(rows, blob.BlockRows)), Partial: flags&inputPartial != 0}
	if flags&inputCosts != 0 {
		s.Costs = r.ReadNames()
	}
	blob.ReadColumns(r, s.Keys, columnsOf(s, &added, flags), rows)
	s.Residual = blob.ReadList(r, blob.Residuals)
	r.ReadResidual(s.Costs, len(s.Residual))
	if flags&inputPartialOn != 0 {
		s.PartialOn = blob.ReadList(r, blob.Instances)
	}
	if flags&inputFrozen != 0 {
		s.Frozen = blob.ReadList(r, blob.Instances)
	}
	if flags&inputShares != 0 {
		s.Shares = blob.ReadList(r, sharePlanes)
	}
	if flags&inputIdle != 0 {
		for _, i := range blob.ReadList(r, blob.Instances) {
			if i < 0 || int(i) >= len(s.Shares) {
				return nil, nil, blob.ErrCorrupt
			}
			s.Shares[i].Idle = true
		}
	}
	if err := r.Finish(); err != nil {
		return nil, nil, err
	}
	return s, added, nil
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

var sharePlanes = []blob.Plane[planner.Share]{
	blob.IDs(func(x *planner.Share) *int32 { return &x.Row }),
	blob.IDs(func(x *planner.Share) *int32 { return &x.Instance }),
	blob.Floats(func(x *planner.Share) *float64 { return &x.State }),
}

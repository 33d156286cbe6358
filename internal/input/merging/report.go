// Package merging encodes what each instance reports of its own keys, and makes the statistics
// of an interval of such reports. It knows where the state of a key counts that several
// instances name; when an interval is complete, and what the routing table says, callers know.
package merging

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/stored"
	"plannerd/planner"
)

const reportMagic = "PLRP"

// Which parts a report has.
const (
	reportPartial = 1 << iota
	reportState
	reportHashInstance
	reportCosts // amounts of resources
	reportFlags = 1<<iota - 1
)

// reportBlockRows is the greatest number of rows of a block. It is small: merging
// holds one block of every report.
const reportBlockRows = 1 << 9

// EncodeReport returns the statistics that one instance reports of itself as a
// blob for [MergeReports]: rows in ascending order of the hashes of their keys,
// then of the keys. Their Instance is left out, as it is the reporter.
func EncodeReport(s *planner.Statistics) []byte {
	w := blob.NewWriter(reportMagic)
	flags := blob.Flag(reportPartial, s.Partial) | blob.Flag(reportState, s.State != nil) |
		blob.Flag(reportHashInstance, s.HashInstance != nil) | blob.Flag(reportCosts, len(s.Costs) > 0)
	w.Number(flags)
	w.Number(s.Len())
	if flags&reportCosts != 0 {
		w.WriteNames(s.Costs)
	}
	blob.WriteList(w, s.Residual, blob.Residuals)
	w.WriteResidual(s.Costs)
	order := hashOrder(s.Keys)
	keyLen := func(i int) int { return len(s.Keys.At(int(order[i]))) }
	blob.BlocksOf(reportBlockRows, s.Len(), keyLen, func(from, to, keyBytes int) {
		writeBlock(w, s, flags, order[from:to], keyBytes)
	})
	return w.Finish()
}

// DecodeQueue returns the residual of a report that names no key and has one, which is the queue
// length that an instance reports; false: it is another report. The error is [blob.ErrCorrupt].
func DecodeQueue(data []byte) (q planner.Residual, ok bool, err error) {
	r, err := openReport(data)
	if err != nil || r.flags&reportPartial == 0 || r.left > 0 || len(r.residual) != 1 {
		return q, false, err
	}
	return r.residual[0], true, nil
}

// Verify reads the whole of a report, of keys or compact. The error is [blob.ErrCorrupt].
func Verify(data []byte) error {
	if stored.IsCompact(data) {
		_, named, err := stored.DecodeCompactBeside(data)
		if err != nil || named == nil {
			return err
		}
		data = named
	}
	r, err := openReport(data)
	for err == nil && r.next() {
		r.at = len(r.rows) // a row is not looked at: go to the next block
	}
	return r.blob.Err
}

func writeBlock(w *blob.Writer, s *planner.Statistics, flags int, order []int32, keyBytes int) {
	rows := make([]reportRow, len(order))
	for i, at := range order {
		row := &rows[i]
		if row.key, row.cost = s.Keys.At(int(at)), s.Cost[at]; s.State != nil {
			row.state = s.State[at]
		}
		if s.HashInstance != nil {
			row.home = s.HashInstance[at]
		}
	}
	w.Begin(len(rows), keyBytes)
	blob.WritePlanes(w, rows, append([]blob.Plane[reportRow]{reportKeys}, reportPlanes(flags)...)...)
	for _, x := range s.Costs {
		amounts := make([]float64, len(order))
		for i, at := range order {
			amounts[i] = x.Rows[at]
		}
		blob.WritePlanes(w, amounts, blob.Values)
	}
	w.End()
}

// hashOrder returns the rows of keys in ascending order of their hashes, then of
// the keys.
func hashOrder(keys *planner.Keys) []int32 {
	type hashed struct {
		hash uint64
		row  int32
	}
	rows := make([]hashed, keys.Len())
	for i := range rows {
		rows[i] = hashed{keys.Hash(i), int32(i)}
	}
	slices.SortFunc(rows, func(a, b hashed) int {
		if c := cmp.Compare(a.hash, b.hash); c != 0 {
			return c
		}
		return bytes.Compare(keys.At(int(a.row)), keys.At(int(b.row)))
	})
	order := make([]int32, len(rows))
	for i, r := range rows {
		order[i] = r.row
	}
	return order
}

// reportReader reads the rows of an encoded report one by one, holding one block.
type reportReader struct {
	blob     *blob.Reader
	flags    int
	planes   []blob.Plane[reportRow]
	residual []planner.Residual
	costs    []planner.Amounts // those of the block and of the residual
	places   []int             // of these in what is made of all reports
	left     int               // rows behind the block

	rows []reportRow // of the block
	at   int         // the present one
	last []byte      // key of the last row of the block before
}

// reportRow is a row of a report. What it holds lies together: merging goes from
// report to report.
type reportRow struct {
	hash        uint64
	cost, state float64 // a state that is not named is 1
	key         []byte  // shared with the block
	home        int32   // NoInstance: not named
}

var reportKeys = blob.Texts(func(r *reportRow) *[]byte { return &r.key })

// reportPlanes are the columns of a report besides its keys.
func reportPlanes(flags int) []blob.Plane[reportRow] {
	planes := []blob.Plane[reportRow]{blob.Floats(func(r *reportRow) *float64 { return &r.cost })}
	if flags&reportState != 0 {
		planes = append(planes, blob.Floats(func(r *reportRow) *float64 { return &r.state }))
	}
	if flags&reportHashInstance != 0 {
		planes = append(planes, blob.IDs(func(r *reportRow) *int32 { return &r.home }))
	}
	return planes
}

// openReport reads the head of a report. No row is present before next.
func openReport(data []byte) (*reportReader, error) {
	r := &reportReader{blob: blob.NewReader(data, reportMagic)}
	r.flags = r.blob.Number(reportFlags)
	r.planes = reportPlanes(r.flags)
	r.left = r.blob.Number(math.MaxInt32)
	if r.flags&reportCosts != 0 {
		r.costs = r.blob.ReadNames()
	}
	r.residual = blob.ReadList(r.blob, blob.Residuals)
	r.blob.ReadResidual(r.costs, len(r.residual))
	return r, r.blob.Err
}

// next goes to the next row; false at the end and after an error, which is in
// blob.Err.
func (r *reportReader) next() bool {
	if r.at++; r.at < len(r.rows) {
		return true
	}
	r.at = 0
	if r.left == 0 {
		r.rows = nil
		_ = r.blob.Finish() // it keeps what it says
		return false
	}
	var previous reportRow
	if n := len(r.rows); n > 0 {
		previous = r.rows[n-1]
		r.last = append(r.last[:0], previous.key...)
		previous.key = r.last
	}
	r.block()
	for _, row := range r.rows {
		if previous.key != nil && (row.hash < previous.hash || row.hash == previous.hash &&
			bytes.Compare(row.key, previous.key) <= 0) {
			r.blob.Corrupt("rows out of order")
		}
		previous = row
	}
	if r.blob.Err != nil {
		r.rows = nil
	}
	return r.blob.Err == nil
}

// block reads the next block.
func (r *reportReader) block() {
	b := r.blob
	n := b.Begin(min(r.left, reportBlockRows))
	r.left -= n
	r.rows = r.rows[:0]
	b.Texts(n, func(_ int, key []byte) {
		if len(key) == 0 {
			b.Corrupt("empty key")
		}
		r.rows = append(r.rows, reportRow{hash: planner.KeyHash(key), key: key, state: 1, home: planner.NoInstance})
	})
	if b.Err != nil {
		return
	}
	blob.ReadPlanes(b, r.rows, r.planes...)
	for i := range r.costs {
		r.costs[i].Rows = slices.Grow(r.costs[i].Rows[:0], n)[:n]
		blob.ReadPlanes(b, r.costs[i].Rows, blob.Values)
	}
	b.End()
}

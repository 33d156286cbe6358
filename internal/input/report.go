package input

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"plannerd/planner"
)

const reportMagic = "PLRP"

// Which parts a report has.
const (
	reportPartial = 1 << iota
	reportState
	reportHashInstance
	reportFlags = 1<<iota - 1
)

// reportBlockRows is the greatest number of rows of a block. It is small: merging
// holds one block of every report.
const reportBlockRows = 1 << 9

// EncodeReport returns the statistics that one instance reports of itself as a
// blob for [MergeReports]: rows in ascending order of the hashes of their keys,
// then of the keys. Their Instance is left out, as it is the reporter.
func EncodeReport(s *planner.Statistics) []byte {
	w := newBlobWriter(reportMagic)
	flags := 0
	if s.Partial {
		flags |= reportPartial
	}
	if s.State != nil {
		flags |= reportState
	}
	if s.HashInstance != nil {
		flags |= reportHashInstance
	}
	w.number(flags)
	w.number(s.Len())
	writeList(w, s.Residual, residualPlanes)
	order := hashOrder(s.Keys)
	keyLen := func(i int) int { return len(s.Keys.At(int(order[i]))) }
	blocksOf(reportBlockRows, s.Len(), keyLen, func(from, to, keyBytes int) { w.reportBlock(s, order[from:to], keyBytes) })
	return w.finish()
}

// DecodeQueue returns the residual of a report that names no key and has one, which is the queue
// length that an instance reports; false: it is another report. The error is [ErrCorrupt].
func DecodeQueue(blob []byte) (q planner.Residual, ok bool, err error) {
	r, err := openReport(blob)
	if err != nil || r.flags&reportPartial == 0 || r.left > 0 || len(r.residual) != 1 {
		return q, false, err
	}
	return r.residual[0], true, nil
}

func (w *blobWriter) reportBlock(s *planner.Statistics, rows []int32, keyBytes int) {
	n := len(rows)
	w.begin(n, keyBytes)
	w.keys(n, func(i int) []byte { return s.Keys.At(int(rows[i])) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(s.Cost[rows[i]]) })
	if s.State != nil {
		w.column(n, 8, func(i int) uint64 { return math.Float64bits(s.State[rows[i]]) })
	}
	if s.HashInstance != nil {
		w.column(n, 4, func(i int) uint64 { return uint64(uint32(s.HashInstance[rows[i]])) })
	}
	w.end()
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
	blob     *blobReader
	flags    int
	residual []planner.Residual
	left     int // rows behind the block

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

var (
	reportCost   = floatPlane(func(r *reportRow) *float64 { return &r.cost })
	reportStates = floatPlane(func(r *reportRow) *float64 { return &r.state })
	reportHome   = idPlane(func(r *reportRow) *int32 { return &r.home })
)

// openReport reads the head of a report. No row is present before next.
func openReport(blob []byte) (*reportReader, error) {
	r := &reportReader{blob: newBlobReader(blob, reportMagic)}
	r.flags = r.blob.number(reportFlags)
	r.left = r.blob.number(math.MaxInt32)
	r.residual = readList(r.blob, residualPlanes)
	return r, r.blob.err
}

// next goes to the next row; false at the end and after an error, which is in
// blob.err.
func (r *reportReader) next() bool {
	if r.at++; r.at < len(r.rows) {
		return true
	}
	r.at = 0
	if r.left == 0 {
		r.rows = nil
		_ = r.blob.finish() // it keeps what it says
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
			r.blob.corrupt("rows out of order")
		}
		previous = row
	}
	if r.blob.err != nil {
		r.rows = nil
	}
	return r.blob.err == nil
}

// block reads the next block.
func (r *reportReader) block() {
	b := r.blob
	n := b.begin(min(r.left, reportBlockRows))
	r.left -= n
	r.rows = r.rows[:0]
	b.texts(n, func(_ int, key []byte) {
		if len(key) == 0 {
			b.corrupt("empty key")
		}
		r.rows = append(r.rows, reportRow{hash: planner.KeyHash(key), key: key, state: 1, home: planner.NoInstance})
	})
	if b.err != nil {
		return
	}
	readPlanes(b, r.rows, reportCost)
	if r.flags&reportState != 0 {
		readPlanes(b, r.rows, reportStates)
	}
	if r.flags&reportHashInstance != 0 {
		readPlanes(b, r.rows, reportHome)
	}
	b.end()
}

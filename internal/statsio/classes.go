package statsio

import (
	"math"

	"plannerd/compact"
)

const (
	compactMagic    = "PLCS"
	classMovesMagic = "PLCM"
)

// IsCompact tells whether a stored input is of [EncodeCompact], not of
// [EncodeInput].
func IsCompact(blob []byte) bool { return isBlob(blob, compactMagic) }

// IsClassMoves tells whether a stored list of migrations is of
// [EncodeClassMoves], not of [EncodeMigrations].
func IsClassMoves(blob []byte) bool { return isBlob(blob, classMovesMagic) }

// EncodeCompact returns compact statistics as a blob, for storing: records keep
// their order and every bit of their values, but d′, which says nothing in
// statistics.
func EncodeCompact(s *compact.Statistics) []byte {
	w := newBlobWriter(compactMagic)
	flags := 0
	if s.Partial {
		flags = inputPartial
	}
	w.number(flags)
	w.number(s.Degree)
	w.float(s.Scales.Cost)
	w.float(s.Scales.State)
	w.number(len(s.Records))
	blocks(len(s.Records), noKey, func(from, to, _ int) {
		w.begin(to-from, 0)
		w.records(s.Records[from:to])
		w.end()
	})
	w.residual(s.Residual)
	return w.finish()
}

// DecodeCompact is the inverse of [EncodeCompact]; d′ of each record is d. It
// fails with [ErrCorrupt].
func DecodeCompact(blob []byte) (*compact.Statistics, error) {
	r := newBlobReader(blob, compactMagic)
	s := &compact.Statistics{Partial: r.number(inputPartial)&inputPartial != 0}
	s.Degree = r.number(math.MaxInt)
	s.Scales.Cost, s.Scales.State = r.float(), r.float()
	for rows := r.number(math.MaxInt32); len(s.Records) < rows && r.err == nil; {
		block := r.beginRecords(&s.Records, rows)
		r.records(block)
		for i := range block {
			block[i].Planned = block[i].Current
		}
		r.end()
	}
	s.Residual = r.residual()
	if err := r.finish(); err != nil {
		return nil, err
	}
	return s, nil
}

// EncodeClassMoves returns the moves of a plan of classes as a blob, for
// storing: they keep their order and every bit.
func EncodeClassMoves(moves []compact.Record) []byte {
	w := newBlobWriter(classMovesMagic)
	w.number(len(moves))
	blocks(len(moves), noKey, func(from, to, _ int) {
		block := moves[from:to]
		w.begin(len(block), 0)
		w.column(len(block), 4, func(i int) uint64 { return uint64(uint32(block[i].Planned)) })
		w.records(block)
		w.end()
	})
	return w.finish()
}

// DecodeClassMoves is the inverse of [EncodeClassMoves]. It fails with
// [ErrCorrupt].
func DecodeClassMoves(blob []byte) ([]compact.Record, error) {
	r := newBlobReader(blob, classMovesMagic)
	var moves []compact.Record
	for rows := r.number(math.MaxInt32); len(moves) < rows && r.err == nil; {
		block := r.beginRecords(&moves, rows)
		eachRow(r, block, 4, func(c *compact.Record, bits uint64) { c.Planned = int32(uint32(bits)) })
		r.records(block)
		r.end()
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return moves, nil
}

// records writes all of the records but d′.
func (w *blobWriter) records(rs []compact.Record) {
	n := len(rs)
	w.column(n, 4, func(i int) uint64 { return uint64(uint32(rs[i].Current)) })
	w.column(n, 4, func(i int) uint64 { return uint64(uint32(rs[i].Hash)) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(rs[i].Cost) })
	w.column(n, 8, func(i int) uint64 { return math.Float64bits(rs[i].State) })
	w.column(n, 8, func(i int) uint64 { return uint64(rs[i].Count) })
}

// beginRecords reads the next block of records, of rows in all, and returns the
// room for them that it has made behind all.
func (r *blobReader) beginRecords(all *[]compact.Record, rows int) []compact.Record {
	first := len(*all)
	*all = append(*all, make([]compact.Record, r.begin(rows-first))...)
	return (*all)[first:]
}

// records reads what the writer's records wrote.
func (r *blobReader) records(rs []compact.Record) {
	eachRow(r, rs, 4, func(c *compact.Record, bits uint64) { c.Current = int32(uint32(bits)) })
	eachRow(r, rs, 4, func(c *compact.Record, bits uint64) { c.Hash = int32(uint32(bits)) })
	eachRow(r, rs, 8, func(c *compact.Record, bits uint64) { c.Cost = math.Float64frombits(bits) })
	eachRow(r, rs, 8, func(c *compact.Record, bits uint64) { c.State = math.Float64frombits(bits) })
	eachRow(r, rs, 8, func(c *compact.Record, bits uint64) { c.Count = int64(bits) })
}

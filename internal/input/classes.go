package input

import (
	"math"

	"plannerd/compact"
)

const (
	compactMagic    = "PLCS"
	namedMagic      = "PLCN" // as compactMagic, and the keys that are named
	classMovesMagic = "PLCM"
)

// IsCompact tells whether a stored input is of [EncodeCompact], not of
// [EncodeInputUntil].
func IsCompact(blob []byte) bool { return isBlob(blob, compactMagic) || NamesKeys(blob) }

// IsClassMoves tells whether a stored list of migrations is of
// [EncodeClassMoves] or [EncodeItemMoves], not of [EncodeMigrations].
func IsClassMoves(blob []byte) bool {
	return isBlob(blob, classMovesMagic) || isBlob(blob, itemMovesMagic)
}

// NamesKeys tells whether a blob of [EncodeCompact] or [EncodeCompactReport] has keys that are
// named: programs that know nothing of these cannot read it.
func NamesKeys(blob []byte) bool { return isBlob(blob, namedMagic) }

// EncodeCompact returns compact statistics as a blob, for storing: records keep
// their order and every bit of their values, but d′, which says nothing in
// statistics.
func EncodeCompact(s *compact.Statistics) []byte {
	if s.Named == nil {
		return encodeCompact(s, nil)
	}
	return encodeCompact(s, EncodeInputUntil(s.Named, nil, func() bool { return false }))
}

// EncodeCompactReport is [EncodeCompact] of what one instance reports of itself, for
// [MergeCompact].
func EncodeCompactReport(s *compact.Statistics) []byte {
	if s.Named == nil {
		return encodeCompact(s, nil)
	}
	keys := *s.Named
	keys.Partial, keys.Residual = s.Partial, s.Residual
	return encodeCompact(s, EncodeReport(&keys))
}

// encodeCompact is EncodeCompact with the keys that are named as a blob of their own; nil:
// there are none.
func encodeCompact(s *compact.Statistics, named []byte) []byte {
	magic, flags := compactMagic, 0
	if named != nil {
		magic = namedMagic
	}
	if s.Partial {
		flags = inputPartial
	}
	if len(s.Frozen) > 0 {
		flags |= inputFrozen
	}
	w := newBlobWriter(magic)
	w.number(flags)
	w.number(s.Degree)
	w.float(s.Scales.Cost)
	w.float(s.Scales.State)
	w.records(s.Records, false)
	writeList(w, s.Residual, residualPlanes)
	if len(s.Frozen) > 0 {
		writeList(w, s.Frozen, idPlanes)
	}
	if named != nil {
		w.bytes(named)
	}
	return w.finish()
}

// DecodeCompact is the inverse of [EncodeCompact]; d′ of each record is d. It
// fails with [ErrCorrupt].
func DecodeCompact(blob []byte) (*compact.Statistics, error) {
	s, named, err := decodeCompact(blob)
	if named != nil && err == nil {
		s.Named, _, err = DecodeInput(named)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// DecodeCompactForm is [DecodeCompact] of a report, without the keys that are named.
func DecodeCompactForm(blob []byte) (*compact.Statistics, error) {
	s, _, err := decodeCompact(blob)
	return s, err
}

// decodeCompact is the inverse of encodeCompact.
func decodeCompact(blob []byte) (s *compact.Statistics, named []byte, err error) {
	magic := compactMagic
	if NamesKeys(blob) {
		magic = namedMagic
	}
	r := newBlobReader(blob, magic)
	flags := r.number(inputPartial | inputFrozen)
	s = &compact.Statistics{Partial: flags&inputPartial != 0}
	s.Degree = r.number(math.MaxInt)
	s.Scales.Cost, s.Scales.State = r.float(), r.float()
	s.Records = readList(r, recordPlanes)
	for i := range s.Records {
		s.Records[i].Planned = s.Records[i].Current
	}
	s.Residual = readList(r, residualPlanes)
	if flags&inputFrozen != 0 {
		s.Frozen = readList(r, idPlanes)
	}
	if magic == namedMagic {
		named = r.bytes()
	}
	if err := r.finish(); err != nil {
		return nil, nil, err
	}
	return s, named, nil
}

// EncodeClassMoves returns the moves of a plan of classes as a blob, for
// storing: they keep their order and every bit.
func EncodeClassMoves(moves []compact.Record) []byte {
	w := newBlobWriter(classMovesMagic)
	w.records(moves, true)
	return w.finish()
}

// DecodeClassMoves is the inverse of [EncodeClassMoves]. It fails with
// [ErrCorrupt].
func DecodeClassMoves(blob []byte) ([]compact.Record, error) {
	r := newBlobReader(blob, classMovesMagic)
	moves := readList(r, classMovePlanes)
	if err := r.finish(); err != nil {
		return nil, err
	}
	return moves, nil
}

// records writes what readList reads by recordPlanes, or classMovePlanes where d′ is
// planned. Columns are looked up here, which takes less time than planes do.
func (w *blobWriter) records(all []compact.Record, planned bool) {
	w.number(len(all))
	blocks(len(all), noKey, func(from, to, _ int) {
		n, rs := to-from, all[from:to]
		w.begin(n, 0)
		if planned {
			w.column(n, 4, func(i int) uint64 { return uint64(uint32(rs[i].Planned)) })
		}
		w.column(n, 4, func(i int) uint64 { return uint64(uint32(rs[i].Current)) })
		w.column(n, 4, func(i int) uint64 { return uint64(uint32(rs[i].Hash)) })
		w.column(n, 8, func(i int) uint64 { return math.Float64bits(rs[i].Cost) })
		w.column(n, 8, func(i int) uint64 { return math.Float64bits(rs[i].State) })
		w.column(n, 8, func(i int) uint64 { return uint64(rs[i].Count) })
		w.end()
	})
}

// recordPlanes are all of a record but d′.
var recordPlanes = []plane[compact.Record]{
	idPlane(func(r *compact.Record) *int32 { return &r.Current }),
	idPlane(func(r *compact.Record) *int32 { return &r.Hash }),
	floatPlane(func(r *compact.Record) *float64 { return &r.Cost }),
	floatPlane(func(r *compact.Record) *float64 { return &r.State }),
	countPlane(func(r *compact.Record) *int64 { return &r.Count }),
}

var classMovePlanes = append([]plane[compact.Record]{idPlane(func(r *compact.Record) *int32 { return &r.Planned })},
	recordPlanes...)

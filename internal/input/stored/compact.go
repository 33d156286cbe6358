package stored

import (
	"math"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
)

const (
	compactMagic    = "PLCS"
	namedMagic      = "PLCN" // as compactMagic, and the keys that are named
	classMovesMagic = "PLCM"
)

// IsCompact tells whether a stored input is of [EncodeCompact], not of
// [EncodeInputUntil].
func IsCompact(data []byte) bool { return blob.Is(data, compactMagic) || NamesKeys(data) }

// IsClassMoves tells whether a stored list of migrations is of
// [EncodeClassMoves] or [EncodeItemMoves], not of [EncodeMigrations].
func IsClassMoves(data []byte) bool {
	return blob.Is(data, classMovesMagic) || blob.Is(data, itemMovesMagic)
}

// NamesKeys tells whether a blob of [EncodeCompact] or of a compact report has keys that are
// named: programs that know nothing of these cannot read it.
func NamesKeys(data []byte) bool { return blob.Is(data, namedMagic) }

// EncodeCompact returns compact statistics as a blob, for storing: records keep
// their order and every bit of their values, but d′, which says nothing in
// statistics.
func EncodeCompact(s *compact.Statistics) []byte {
	if s.Named == nil {
		return EncodeCompactBeside(s, nil)
	}
	return EncodeCompactBeside(s, EncodeInputUntil(s.Named, nil, func() bool { return false }))
}

// EncodeCompactBeside is [EncodeCompact] with the keys that are named as a blob of their own; nil:
// there are none.
func EncodeCompactBeside(s *compact.Statistics, named []byte) []byte {
	magic := compactMagic
	if named != nil {
		magic = namedMagic
	}
	w := blob.NewWriter(magic)
	w.Number(blob.Flag(inputPartial, s.Partial) | blob.Flag(inputFrozen, len(s.Frozen) > 0))
	w.Number(s.Degree)
	w.Float(s.Scales.Cost)
	w.Float(s.Scales.State)
	blob.WriteList(w, s.Records, recordPlanes)
	blob.WriteList(w, s.Residual, blob.Residuals)
	blob.WriteSome(w, s.Frozen, blob.Instances)
	if named != nil {
		w.Bytes(named)
	}
	return w.Finish()
}

// DecodeCompact is the inverse of [EncodeCompact]; d′ of each record is d. It
// fails with [ErrCorrupt].
func DecodeCompact(data []byte) (*compact.Statistics, error) {
	s, named, err := DecodeCompactBeside(data)
	if named != nil && err == nil {
		s.Named, _, err = DecodeInput(named)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// DecodeCompactBeside is the inverse of [EncodeCompactBeside].
func DecodeCompactBeside(data []byte) (s *compact.Statistics, named []byte, err error) {
	magic := compactMagic
	if NamesKeys(data) {
		magic = namedMagic
	}
	r := blob.NewReader(data, magic)
	flags := r.Number(inputPartial | inputFrozen)
	s = &compact.Statistics{Partial: flags&inputPartial != 0}
	s.Degree = r.Number(math.MaxInt)
	s.Scales.Cost, s.Scales.State = r.Float(), r.Float()
	s.Records = blob.ReadList(r, recordPlanes)
	for i := range s.Records {
		s.Records[i].Planned = s.Records[i].Current
	}
	s.Residual = blob.ReadList(r, blob.Residuals)
	if flags&inputFrozen != 0 {
		s.Frozen = blob.ReadList(r, blob.Instances)
	}
	if magic == namedMagic {
		named = r.Bytes()
	}
	if err := r.Finish(); err != nil {
		return nil, nil, err
	}
	return s, named, nil
}

// EncodeClassMoves returns the moves of a plan of classes as a blob, for
// storing: they keep their order and every bit.
func EncodeClassMoves(moves []compact.Record) []byte {
	w := blob.NewWriter(classMovesMagic)
	blob.WriteList(w, moves, classMovePlanes)
	return w.Finish()
}

// DecodeClassMoves is the inverse of [EncodeClassMoves]. It fails with
// [ErrCorrupt].
func DecodeClassMoves(data []byte) ([]compact.Record, error) {
	r := blob.NewReader(data, classMovesMagic)
	moves := blob.ReadList(r, classMovePlanes)
	return blob.Finished(r, moves)
}

// recordPlanes are all of a record but d′.
var recordPlanes = []blob.Plane[compact.Record]{
	blob.IDs(func(r *compact.Record) *int32 { return &r.Current }),
	blob.IDs(func(r *compact.Record) *int32 { return &r.Hash }),
	blob.Floats(func(r *compact.Record) *float64 { return &r.Cost }),
	blob.Floats(func(r *compact.Record) *float64 { return &r.State }),
	blob.Counts(func(r *compact.Record) *int64 { return &r.Count }),
}

var classMovePlanes = append([]blob.Plane[compact.Record]{
	blob.IDs(func(r *compact.Record) *int32 { return &r.Planned }),
}, recordPlanes...)

package stored

import (
	"math"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/planner"
)

const itemMovesMagic = "PLNM"

// ItemMoves are the moves of a plan of classes, and what it does to keys that are named
// beside them.
type ItemMoves struct {
	Classes []compact.Record
	Scales  compact.Scales // of the classes; 0 where no keys are named
	Named   *Migrations    // nil: no keys are named
	// After are the keys that are named, by ascending bytes, with their entries after the
	// plan: of planner.NoInstance where a key has none.
	After []planner.Entry
}

// EncodeItemMoves returns the moves of classes, those of the keys that are named, which are
// the moves of the plan, and the entries of all of these as a blob, for storing.
func EncodeItemMoves(classes []compact.Record, scales compact.Scales, named *planner.Plan,
	after []planner.Entry) []byte {
	w := blob.NewWriter(itemMovesMagic)
	w.Bytes(EncodeClassMoves(classes))
	w.Float(scales.Cost)
	w.Float(scales.State)
	w.Bytes(EncodeMigrations(named))
	w.Number(len(after))
	for _, e := range after {
		w.Bytes(e.Key)
		w.Number(int(e.Instance - planner.NoInstance))
		w.Number(len(e.Parts))
		for _, x := range e.Parts {
			w.Number(int(x.Instance))
			w.Number(int(x.Weight))
		}
	}
	return w.Finish()
}

// DecodeItemMoves is the inverse of [EncodeItemMoves] and of [EncodeClassMoves]. It fails with
// [ErrCorrupt].
func DecodeItemMoves(data []byte) (m *ItemMoves, err error) {
	m = &ItemMoves{}
	if !blob.Is(data, itemMovesMagic) {
		m.Classes, err = DecodeClassMoves(data)
		return m, err
	}
	r := blob.NewReader(data, itemMovesMagic)
	classes := r.Bytes()
	m.Scales.Cost, m.Scales.State = r.Float(), r.Float()
	named := r.Bytes()
	for n := r.Number(math.MaxInt32); n > 0 && r.Err == nil; n-- {
		m.After = append(m.After, readEntry(r))
	}
	if err := r.Finish(); err != nil {
		return nil, err
	}
	if m.Classes, err = DecodeClassMoves(classes); err != nil {
		return nil, err
	}
	m.Named, err = DecodeMigrations(named)
	return m, err
}

// readEntry reads an entry of a key that may have none.
func readEntry(r *blob.Reader) planner.Entry {
	e := planner.Entry{Key: r.Bytes(), Instance: int32(r.Number(math.MaxInt32)) + planner.NoInstance}
	for n := r.Number(math.MaxInt32); n > 0 && r.Err == nil; n-- {
		e.Parts = append(e.Parts, planner.Part{
			Instance: int32(r.Number(math.MaxInt32)), Weight: int32(r.Number(math.MaxInt32)),
		})
	}
	if e.Parts != nil && r.Err == nil && planner.ValidateParts(e.Parts) != nil {
		r.Corrupt("parts of an entry")
	}
	return e
}

package input

import (
	"iter"
	"math"

	"plannerd/compact"
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
	w := newBlobWriter(itemMovesMagic)
	w.bytes(EncodeClassMoves(classes))
	w.float(scales.Cost)
	w.float(scales.State)
	w.bytes(EncodeMigrations(named))
	w.number(len(after))
	for _, e := range after {
		w.bytes(e.Key)
		w.number(int(e.Instance - planner.NoInstance))
		w.number(len(e.Parts))
		for _, x := range e.Parts {
			w.number(int(x.Instance))
			w.number(int(x.Weight))
		}
	}
	return w.finish()
}

// DecodeItemMoves is the inverse of [EncodeItemMoves] and of [EncodeClassMoves]. It fails with
// [ErrCorrupt].
func DecodeItemMoves(blob []byte) (m *ItemMoves, err error) {
	m = &ItemMoves{}
	if !isBlob(blob, itemMovesMagic) {
		m.Classes, err = DecodeClassMoves(blob)
		return m, err
	}
	r := newBlobReader(blob, itemMovesMagic)
	classes := r.bytes()
	m.Scales.Cost, m.Scales.State = r.float(), r.float()
	named := r.bytes()
	for n := r.number(math.MaxInt32); n > 0 && r.err == nil; n-- {
		m.After = append(m.After, r.entry())
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	if m.Classes, err = DecodeClassMoves(classes); err != nil {
		return nil, err
	}
	m.Named, err = DecodeMigrations(named)
	return m, err
}

// entry reads an entry of a key that may have none.
func (r *blobReader) entry() planner.Entry {
	e := planner.Entry{Key: r.bytes(), Instance: int32(r.number(math.MaxInt32)) + planner.NoInstance}
	for n := r.number(math.MaxInt32); n > 0 && r.err == nil; n-- {
		e.Parts = append(e.Parts, planner.Part{
			Instance: int32(r.number(math.MaxInt32)), Weight: int32(r.number(math.MaxInt32)),
		})
	}
	if e.Parts != nil && r.err == nil && planner.ValidateParts(e.Parts) != nil {
		r.corrupt("parts of an entry")
	}
	return e
}

// ItemMove is a migration of a plan of classes beside which keys are named: of a class, or of
// such a key.
type ItemMove struct {
	Class compact.Record
	Named *Migration // nil: it is of the class
}

// ItemMovesOf lists moves of classes, and behind them those of keys that are named.
func ItemMovesOf(classes []compact.Record, named iter.Seq[Migration]) Records[ItemMove] {
	return func(yield func(ItemMove) bool) {
		for _, r := range classes {
			if !yield(ItemMove{Class: r}) {
				return
			}
		}
		for m := range named {
			if !yield(ItemMove{Named: &m}) {
				return
			}
		}
	}
}

func (m ItemMove) key() []byte {
	if m.Named == nil {
		return nil
	}
	return m.Named.Key
}

func (ItemMove) csvHeader() string {
	return "key,planned,instance,hash_instance,cost,state,count,reason\n"
}

// AppendJSON appends what [ClassMove] or [Migration] is in JSON.
func (m ItemMove) AppendJSON(dst []byte, base64 bool) []byte {
	if m.Named != nil {
		return m.Named.AppendJSON(dst, base64)
	}
	return ClassMove(m.Class).AppendJSON(dst, base64)
}

// AppendCSV appends the columns of a [ClassMove] between an empty key and an empty reason. Of a
// key that is named cost and state are real values, its hash instance is empty and the count is
// 1.
func (m ItemMove) AppendCSV(dst []byte, base64 bool) []byte {
	if m.Named == nil {
		dst = ClassMove(m.Class).AppendCSV(append(dst, ','), base64)
		return append(dst[:len(dst)-1], ",\n"...)
	}
	x := m.Named
	dst = appendInstance(append(appendCell(dst, x.Key, base64), ','), x.To, "")
	dst = append(appendInstance(append(dst, ','), x.From, ""), ",,"...)
	dst = append(appendNumber(dst, x.Cost), ',')
	dst = append(appendNumber(dst, x.State), ",1,"...)
	return append(append(dst, x.Reason.String()...), '\n')
}

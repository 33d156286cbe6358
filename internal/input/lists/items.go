package lists

import (
	"iter"

	"plannerd/compact"
)

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

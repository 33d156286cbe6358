package figures

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"plannerd/internal/input/lists"
	"plannerd/planner"
	"plannerd/store"
)

// errParts: the bytes are not what encodeParts made.
var errParts = errors.New("the parts of a stored entry cannot be read")

// EncodeParts is how the store keeps where a split key goes: for each part, by ascending
// ids, how much greater its id is than the one before, and its weight, as uvarints. Those
// of a key that is whole are "".
func EncodeParts(parts []planner.Part) string {
	var text []byte
	last := int32(0)
	for _, x := range parts {
		text = binary.AppendUvarint(text, uint64(x.Instance-last))
		text = binary.AppendUvarint(text, uint64(x.Weight))
		last = x.Instance
	}
	return string(text)
}

// DecodeParts is the inverse of encodeParts.
func DecodeParts(text string) ([]planner.Part, error) {
	var parts []planner.Part
	rest, last := []byte(text), uint64(0)
	number := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > math.MaxInt32 {
			rest = nil
			return math.MaxInt32 // no weight is as great, so that the parts are refused
		}
		rest = rest[n:]
		return v
	}
	for len(rest) > 0 {
		id := last + number()
		weight := number()
		if id > math.MaxInt32 {
			return nil, errParts
		}
		parts, last = append(parts, planner.Part{Instance: int32(id), Weight: int32(weight)}), id
	}
	if parts == nil {
		return nil, nil
	}
	if err := planner.ValidateParts(parts); err != nil {
		return nil, fmt.Errorf("%w: %w", errParts, err)
	}
	return parts, nil
}

// PartsOf are the parts of an entry that the store gave. They were checked when they were
// stored.
func PartsOf(text string) []planner.Part {
	parts, err := DecodeParts(text)
	if err != nil {
		panic(err)
	}
	return parts
}

// EntryOf is a stored entry as answers list it.
func EntryOf(e store.Entry) lists.Entry {
	return lists.Entry{Key: e.Key, Instance: e.Instance, Parts: PartsOf(e.Parts)}
}

// Before is the entry that a change finds; of NoInstance where there is none.
func Before(c store.Change) store.Entry {
	return store.Entry{Key: c.Key, Instance: c.Old, Parts: c.OldParts}
}

// After is the entry that a change leaves; of NoInstance where there is none.
func After(c store.Change) store.Entry {
	return store.Entry{Key: c.Key, Instance: c.New, Parts: c.NewParts}
}

// InItsParts counts the keys that stand in several reports, all of instances that have a part
// of them, or had one that runs out: that is not drift.
func InItsParts(s *planner.Snapshot) (n int64) {
	for _, x := range s.Splits {
		on := func(d int32) bool {
			return slices.ContainsFunc(x.Parts, func(part planner.Part) bool { return part.Instance == d })
		}
		shares, strays := 0, 0
		for i, _ := slices.BinarySearchFunc(s.Shares, x.Item, func(y planner.Share, row int32) int {
			return cmp.Compare(y.Row, row)
		}); i < len(s.Shares) && s.Shares[i].Row == x.Item; i++ {
			shares++
			if !on(s.Shares[i].Instance) && !s.Shares[i].Idle {
				strays++
			}
		}
		if shares > 0 && strays == 0 && s.Current[x.Item] == x.Heaviest().Instance {
			n++
		}
	}
	return n + leftByWhole(s)
}

// leftByWhole counts the whole keys that stand in several reports, of which all but that of
// where they are tell of parts that run out: that is not drift either.
func leftByWhole(s *planner.Snapshot) (n int64) {
	for i := 0; i < len(s.Shares); {
		row, first, idle := s.Shares[i].Row, i, true
		for ; i < len(s.Shares) && s.Shares[i].Row == row; i++ {
			idle = idle && s.Shares[i].Idle
		}
		_, split := slices.BinarySearchFunc(s.Splits, row, func(x planner.Split, row int32) int {
			return cmp.Compare(x.Item, row)
		})
		alone := i-first == 1 && s.Cost[row] == 0 && s.State != nil && s.State[row] == 0 // it stands in one report
		if idle && !split && !alone {
			n++
		}
	}
	return n
}

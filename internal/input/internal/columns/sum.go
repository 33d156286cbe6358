package columns

import (
	"fmt"

	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// twinBytes is what finding rows of one key holds for each key, beside its text.
const twinBytes = 64

// sumTwins adds up the rows of each key in the place of its first row. Those that name an instance
// must name the same one: what others have is counted for that.
func sumTwins(b *Builder, s *planner.Statistics) {
	held := b.keys.Len()*twinBytes + b.keys.Bytes()
	if !b.Meter.Take(held) {
		return
	}
	defer b.Meter.Give(held)
	first := make(map[string]int, s.Keys.Len())
	kept := planner.NewKeys(s.Keys.Len())
	for row := range s.Keys.Len() {
		key := s.Keys.At(row)
		to, twin := first[string(key)]
		if !twin {
			to = kept.Len()
			first[string(key)] = to
			kept.AppendUnhashed(key)
		}
		addAmount(s.Cost, row, to, twin)
		addAmount(s.State, row, to, twin)
		addInstance(b, s.Instance, Instance, row, to, twin, key)
		addInstance(b, s.HashInstance, HashInstance, row, to, twin, key)
		if !IsAmount(s.Cost[to]) || s.State != nil && !IsAmount(s.State[to]) {
			b.Wrong(row, "cost", "brings the sum of its key above 1e290")
		}
		if b.Full() != nil {
			return
		}
	}
	kept.HashAppended()
	n := kept.Len()
	s.Keys, s.Cost = kept, s.Cost[:n]
	s.State, s.Instance, s.HashInstance = s.State[:min(n, len(s.State))],
		s.Instance[:min(n, len(s.Instance))], s.HashInstance[:min(n, len(s.HashInstance))]
}

// addAmount adds the value of a row, or moves it to its key's place if it is the first one.
func addAmount(column []float64, row, to int, twin bool) {
	switch {
	case column == nil:
	case twin:
		column[to] += column[row]
	default:
		column[to] = column[row]
	}
}

// addInstance moves the instance of a row to its key's place, where another row may have left one.
func addInstance(b *Builder, column []int32, field Field, row, to int, twin bool, key []byte) {
	switch {
	case column == nil:
	case !twin, column[to] == planner.NoInstance:
		column[to] = column[row]
	case column[row] != planner.NoInstance && column[row] != column[to]:
		b.Note(problem.Problem{
			Pointer: b.Pointer(row, field.String()),
			Detail: fmt.Sprintf("is %s, but %s in another row of the key: rows that are added up are of one instance",
				b.Options.Instances.text(column[row]), b.Options.Instances.text(column[to])),
			Location: problem.Location{Row: b.first + row + 1, Column: field.String(), Key: problem.Clip(key)},
		})
	}
}

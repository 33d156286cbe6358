package backtest

import (
	"context"
	"runtime"

	"plannerd/planner/hindsight"
)

// Bracket encloses the least that could have been moved in the judged intervals by
// somebody who knew them in advance, began where the policy was then, and broke θ_max and
// the table limit in no interval by more than it did.
type Bracket struct {
	Bound float64  `json:"bound"` // proven: nobody moves less
	Found *float64 `json:"found"` // what somebody moves. Null: no such sequence was found
	// Ratio is how many times the bound the policy moved. Null where the bound is below
	// 1 % of all state.
	Ratio *float64 `json:"ratio"`
}

// Brackets finds out for each track what the intervals from one on needed. They are nil
// where that is not known: no intervals are judged, or some tell nothing of an instance. Under rules
// fair loads are those that the policy had. Hindsight knows cost alone: where there are other resources
// beside it, the bound holds, and no sequence counts as found.
func (h *History) Brackets(ctx context.Context, op Operator, tracks []Track, from int) ([]*Bracket, error) {
	brackets := make([]*Bracket, len(tracks))
	past := hindsight.NewHistory(op.Target)
	for _, in := range h.intervals {
		if err := past.Add(in.stats); err != nil || in.silent || from >= h.Len() || from == 0 {
			return brackets, nil //nolint:nilerr // it says that hindsight has no answer
		}
	}
	each(len(tracks), runtime.GOMAXPROCS(0), func(i int) {
		if ctx.Err() != nil {
			return
		}
		t := &tracks[i]
		caps := past.Profile(t.ThetaMax, op.Options.TableLimit, from, t.tables, t.fair)
		caps.First = from - 1
		b := past.Bracket(caps, t.tables, hindsight.DefaultEffort)
		if len(op.Target.Resources) > 0 {
			b.Found = nil
		}
		brackets[i] = &Bracket{Bound: b.Bound, Found: b.Found}
		if ratio, ok := b.Ratio(t.Figures(from, h.Len()).Moved); ok {
			brackets[i].Ratio = &ratio
		}
	})
	return brackets, ctx.Err()
}

package optimal

import (
	"math/rand/v2"

	"plannerd/planner/internal/ablation"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/search"
)

const (
	roundLonger = 5         // times the evaluations after a candidate …
	roundMost   = 1_000_000 // … but no more of them
	lateRound   = 10        // from which on rounds are lateLonger times as long
	lateLonger  = 4
)

// searchOn searches on in rounds while there is a gap: from each candidate, and from crosses
// of the best with another one, late rounds by turns. Chance differs from round to round, and the
// prices, which mislead the search where heavy keys decide, guide every other one.
func (b *primal) searchOn() {
	f := b.proof
	if f.Infeasible() || ablation.Off(ablation.Rounds) {
		return
	}
	if b.rounds == 0 {
		b.fresh = append(b.fresh, b.rivals...)
		b.pool = append(b.pool, b.rivals...)
	}
	random := rand.New(rand.NewPCG(2, uint64(1+b.rounds)))
	for ; b.rounds < b.effort.Rounds(); b.rounds++ {
		if b.closed() || b.p.Meter.End != assign.Running {
			return
		}
		y, a := &f.Y, b.Best.Clone()
		if len(b.fresh) > 0 && (b.rounds < lateRound || b.rounds%4 < 2) {
			a, b.fresh = b.fresh[0].Clone(), b.fresh[1:]
		} else {
			b.cross(a, b.pool[random.IntN(len(b.pool))], random)
		}
		core := searchCore(a, f.Relaxation, y)
		if b.rounds%2 == 1 {
			y = nil
		}
		search.Improve(b.p, a, core, y, b.roundEffort(b.rounds))
		b.Offer(a)
		b.pool = append(b.pool, a)
	}
}

func (b *primal) roundEffort(round int) search.Effort {
	longer := 1
	if round >= lateRound {
		longer = lateLonger
	}
	return search.Effort{
		Evaluations: int64(longer) * min(roundMost, roundLonger*evaluations(b.p)),
		Patience:    longer * search.Patience, Seed: uint64(round + 1), Enough: b.closeEnough(),
	}
}

// cross gives the keys of some instances the places that they have in another
// assignment.
func (b *primal) cross(a, other *assign.Assignment, random *rand.Rand) {
	if a.Units != nil {
		return // pieces are not the same in both
	}
	taken := make([]bool, len(a.Load))
	for _, d := range b.p.Live {
		taken[d] = random.IntN(2) == 0
	}
	for piece, d := range other.At {
		if d != a.At[piece] && taken[b.p.Items.Current[piece]] {
			a.Move(int32(piece), d)
		}
	}
}

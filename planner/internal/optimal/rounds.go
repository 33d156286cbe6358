package optimal

import (
	"math/rand/v2"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/search"
)

const (
	roundLonger = 5         // times the evaluations after a candidate …
	roundMost   = 1_000_000 // … but no more of them
	lateRound   = 10        // from which on rounds are lateLonger times as long
	lateLonger  = 4

	coreEvaluations = 2   // evaluations that gathering the core counts as, for each item
	fewKeys         = 100 // with fewer keys than these, rounds are bounded by the number of pairs of keys
	mostPooled      = 16  // assignments that are kept to be crossed
)

// searchOn searches on in rounds while there is a gap and the effort allows: many short rounds
// on few keys, few long ones on many. They start from each candidate, and from crosses of the best
// with another good one, late rounds by turns. Chance differs from round to round, and the
// prices, which mislead the search where heavy keys decide, guide every other one.
func (b *primal) searchOn() {
	f := b.proof
	if f.Infeasible() {
		return
	}
	if b.rounds == 0 {
		b.fresh = append(b.fresh, b.rivals...)
		b.pool = append(b.pool, b.rivals...)
	}
	random := rand.New(rand.NewPCG(2, uint64(1+b.rounds)))
	n := int64(b.p.Items.Len())
	gather, most := coreEvaluations*n, b.effort.RoundEvaluations()*min(n*n, fewKeys*fewKeys)/(fewKeys*fewKeys)
	for ; b.evaluated+gather < most; b.rounds++ {
		if b.closed() || b.p.Meter.End != assign.Running {
			return
		}
		y, a := &f.Y, b.Best.Clone()
		if len(b.fresh) > 0 && (b.rounds < lateRound || b.rounds%4 < 2) {
			a, b.fresh = b.fresh[0].Clone(), b.fresh[1:]
		} else {
			cross(b.p, a, b.pool[random.IntN(len(b.pool))], random)
		}
		core := searchCore(a, f.Relaxation, y)
		if b.rounds%2 == 1 {
			y = nil
		}
		b.evaluated += gather + search.Improve(b.p, a, core, y, b.roundEffort(b.rounds))
		b.Offer(a)
		b.admit(a)
	}
}

// admit takes an assignment into the pool, from which the worst one leaves when it is full.
func (b *primal) admit(a *assign.Assignment) {
	b.pool = append(b.pool, a)
	if len(b.pool) <= mostPooled {
		return
	}
	worst := slices.MaxFunc(assign.UpTo(len(b.pool)), func(i, j int32) int {
		return b.pool[i].Score().Compare(b.pool[j].Score())
	})
	b.pool = slices.Delete(b.pool, int(worst), int(worst)+1)
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
func cross(p *assign.Problem, a, other *assign.Assignment, random *rand.Rand) {
	if a.Units != nil {
		return // pieces are not the same in both
	}
	taken := make([]bool, len(a.Load))
	for _, d := range p.Live {
		taken[d] = random.IntN(2) == 0
	}
	for piece, d := range other.At {
		if d != a.At[piece] && taken[p.Items.Current[piece]] {
			a.Move(int32(piece), d)
		}
	}
}

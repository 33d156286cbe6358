package planner

import (
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/division"
)

// Rehash is the plan that the hash alone makes: every key goes to its hash
// instance, hot ones too, and no entry stays in the table. A key whose hash
// instance is frozen stays where it is, by an entry, or goes from a drained
// instance to where the relative load ends least. The figures are those of any
// other plan; there is no certificate. It is how placements that were
// decided on elsewhere are judged: the hash then stands for them. Keys of splits, which
// ascend, go to their parts instead; all others become whole. The error is an [InputError].
func Rehash(s *Snapshot, o Options, splits []Split) (*Plan, error) {
	return Place(s, o, s.Hash, splits)
}

// Place is [Rehash] with every key at its instance of to, an index, in place of its hash instance:
// it gets an entry where the hash puts it elsewhere.
func Place(s *Snapshot, o Options, to []int32, splits []Split) (*Plan, error) {
	o.Certificate = CertificateOff
	x, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	if len(s.Splits) > 0 || len(splits) > 0 {
		x.divide(x.space.Divided(splits, nil))
	}
	p := x.p
	a := p.Unmoved().Clone()
	var homeless []assign.Ranked
	for i, home := range to {
		switch {
		case division.SplitOf(splits, int32(i)) != nil:
		case p.IsOpen(int32(i), home):
			a.Move(int32(i), home)
		case !p.IsLive[p.Items.Current[i]]:
			homeless = append(homeless, byCostRank(a, int32(i)))
		}
	}
	order := assign.NewLazyOrder(homeless, p.Items, a.ItemOf)
	for e := range order.All() {
		a.Move(e.Piece, a.LeastLoadedWith(a.Item(e.Piece), a.UnitCost(e.Piece)*a.Count(e.Piece)))
	}
	plan := x.finish("", a, bound.Evidence{})
	for i := range plan.HotKeys {
		plan.HotKeys[i].Instance = a.At[plan.HotKeys[i].Item]
	}
	return plan, nil
}

package planner

import "slices"

// Rehash is the plan that the hash alone makes: every key goes to its hash
// instance, hot ones too, and no entry stays in the table. A key whose hash
// instance is frozen stays where it is, by an entry, or goes from a drained
// instance to where the relative load ends least. The figures are those of any
// other plan; there is no certificate. It is how placements that were
// decided on elsewhere are judged: the hash then stands for them. The error is an
// [InputError].
func Rehash(s *Snapshot, o Options) (*Plan, error) {
	o.Certificate = CertificateOff
	p, err := newProblem(s, o)
	if err != nil {
		return nil, err
	}
	a := p.unmoved()
	a.at, a.load = slices.Clone(a.at), slices.Clone(a.load)
	var homeless []ranked
	for i, home := range s.Hash {
		switch {
		case p.isLive[home]:
			a.move(int32(i), home)
		case !p.isLive[s.Current[i]]:
			homeless = append(homeless, a.byCostRank(int32(i)))
		}
	}
	order := newLazyOrder(homeless, s.Keys, a.items)
	for e := range order.all() {
		a.move(e.piece, a.leastLoadedWith(a.unitCost(e.piece)*a.count(e.piece)))
	}
	plan := p.finish("", a)
	for i := range plan.HotKeys {
		plan.HotKeys[i].Instance = a.at[plan.HotKeys[i].Item]
	}
	return plan, nil
}

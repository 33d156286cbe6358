package planner

import "slices"

// Rehash is the plan that the hash alone makes: every key goes to its hash
// instance, hot ones too, and no entry stays in the table. Its figures are those
// of any other plan; it has no certificate. It is how placements that were
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
	for i, home := range s.Hash {
		a.move(int32(i), home)
	}
	plan := p.finish("", a)
	for i := range plan.HotKeys {
		plan.HotKeys[i].Instance = s.Hash[plan.HotKeys[i].Item]
	}
	return plan, nil
}

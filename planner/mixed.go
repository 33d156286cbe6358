package planner

import "plannerd/planner/internal/assign"

// mixed tries to move back n entries, n growing by the number of entries that
// the last trial had too many, and at least twofold. The first trial within the
// table limit wins; if there is none, the best.
func mixed(p *assign.Problem, o Options) *assign.Assignment {
	return trials(p, o, true, func(n, excess int64) int64 { return n + max(excess, n) })
}

// mixedBruteForce tries every n; the best trial wins.
func mixedBruteForce(p *assign.Problem, o Options) *assign.Assignment {
	return trials(p, o, false, func(n, _ int64) int64 { return n + 1 })
}

// trials runs Algorithm 4's loop: Phase I moves the n entries of smallest state
// back, from n = 0, then as minmig. next says which n to try after a trial whose
// table has excess entries too many; it is cut to the number of entries. It
// returns the first trial within the table limit if firstFit, else the best.
func trials(p *assign.Problem, o Options, firstFit bool, next func(n, excess int64) int64) *assign.Assignment {
	order := assign.NewLazyOrder(entriesByState(p), p.Items, nil)
	total := int64(0)
	for _, e := range order.E {
		total += p.Items.UnitsOf(int(e.Piece))
	}
	var b assign.Incumbent
	for n := int64(0); ; {
		if !p.Meter.Spend(int64(p.Items.Len()/assign.ItemsPerWorkUnit) + 1) {
			return b.Best
		}
		a := assign.NewAssignment(p)
		moveBack(a, &order, n)
		if a = leastLoadFit(a, largestGamma(o)); a == nil {
			return b.Best
		}
		sc := a.Score()
		if firstFit && sc.TableExcess == 0 {
			return a
		}
		b.Keep(a, sc)
		if n == total {
			return b.Best
		}
		n = min(total, next(n, sc.TableExcess))
	}
}

// entriesByState ranks the items off their hash instance that could return to it
// by ascending state of a unit. Hot keys stay where they were placed.
func entriesByState(p *assign.Problem) []assign.Ranked {
	var e []assign.Ranked
	for i, d := range p.Items.Current {
		if h := p.Items.Home[i]; d != h && p.IsLive[h] && !p.IsHot(i) {
			e = append(e, p.Items.Ranked(int32(i), ^assign.Descending(p.Items.StateOf(i))))
		}
	}
	return e
}

// moveBack moves the first n units of the order to their hash instances. It may
// be called again with the same order.
func moveBack(a *assign.Assignment, order *assign.LazyOrder, n int64) {
	for i := 0; n > 0; i++ {
		for order.Next <= i { // sort as far as any trial needs
			if _, ok := order.Peek(); !ok {
				return
			}
			order.Skip()
		}
		piece := order.E[i].Piece
		units := min(n, a.Count(piece))
		n -= units
		a.MoveUnits(piece, units, a.Hash(piece))
	}
}

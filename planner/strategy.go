package planner

// Strategy computes a plan from a snapshot. The error is an [InputError] or
// [ErrStopped].
type Strategy func(*Snapshot, Options) (*Plan, error)

// Info describes a registered strategy.
type Info struct {
	Name    string
	Summary string // one line, for people
	Source  string // where it comes from
	Plan    Strategy
}

// The registry, in the order in which strategies are listed.
var registry = []Info{
	strategy("mixed", "moves back as few entries as the table limit demands, then as minmig", "mixed-routing §III-C, Algorithm 4", mixed),
	strategy("optimal", "Lagrangian relaxation with primal repair: never worse than mixed, minmig and mintable", "own", optimal),
	strategy("mixed_bf", "mixed for every number of entries to move back; the best plan", "mixed-routing §III-C, MixedBF", mixedBruteForce),
	strategy("minmig", "least-load fit, keys of most cost per state first; blind to the table", "mixed-routing §III-B, Algorithm 3", minMig),
	strategy("mintable", "moves all entries back, then least-load fit, costliest keys first", "mixed-routing §III-B, Algorithm 2", minTable),
	strategy("llfd", "least-load fit, costliest keys first, from where the keys are", "mixed-routing §III-A, Algorithm 1", leastLoadFit),
	strategy("readj", "moves and swaps of single heavy keys", "mixed-routing §V, after Gedik 2014", readj),
	strategy("lpt", "all keys anew, the costliest first, each to the least loaded instance", "mixed-routing Appendix A, Lemma 3 (Simple)", longestProcessingTime),
}

// Strategies lists what [Run] knows.
func Strategies() []Info { return append([]Info(nil), registry...) }

// Lookup finds a strategy by its name.
func Lookup(name string) (Info, bool) {
	for _, info := range registry {
		if info.Name == name {
			return info, true
		}
	}
	return Info{}, false
}

// Run plans with the strategy of that name. An unknown name is an [InputError]
// of field "strategy".
func Run(name string, s *Snapshot, o Options) (*Plan, error) {
	info, ok := Lookup(name)
	if !ok {
		return nil, &InputError{Row: -1, Field: "strategy", Detail: "is not a known strategy"}
	}
	return info.Plan(s, o)
}

// Inspect returns the plan that moves nothing: the figures of the snapshot as it
// is, and the table without the entries that are no longer needed. Its causes
// contain [CauseBalanced] exactly if every strategy would answer the same.
func Inspect(s *Snapshot, o Options) (*Plan, error) {
	p, err := newProblem(s, o)
	if err != nil {
		return nil, err
	}
	return p.finish("", p.unmoved()), nil
}

// strategy wraps an algorithm with what all share: preparing the problem,
// leaving a settled one alone, and computing the figures. An algorithm returns
// nil when the meter ran out before it had a complete assignment.
func strategy(name, summary, source string, algorithm func(*problem) *assignment) Info {
	plan := func(s *Snapshot, o Options) (*Plan, error) {
		p, err := newProblem(s, o)
		if err != nil {
			return nil, err
		}
		if o.Objective == MinImbalance && name != "optimal" {
			return nil, &InputError{Row: -1, Field: "objective", Detail: "min_imbalance is known to strategy optimal only"}
		}
		if p.settled() {
			return p.finish(name, p.unmoved()), nil
		}
		a := p.run(name, algorithm)
		if a == nil {
			return nil, ErrStopped
		}
		return p.finish(name, a), nil
	}
	return Info{Name: name, Summary: summary, Source: source, Plan: plan}
}

// run runs an algorithm, and meanwhile proves what the certificate rests on, if
// the algorithm does not do that itself.
func (p *problem) run(name string, algorithm func(*problem) *assignment) *assignment {
	if name == "optimal" || p.o.Certificate == CertificateOff || !p.concurrent() {
		return algorithm(p)
	}
	wait := p.aside(func(q *problem) { q.proof = q.prove(q.o.Certificate) })
	a := algorithm(p)
	p.proof = wait().proof
	return a
}

// complete runs Phases II and III on a; nil when the meter ran out.
func (a *assignment) complete(psi criterion, byCost bool) *assignment {
	if !a.rebalance(psi, byCost) {
		return nil
	}
	return a
}

func leastLoadFit(p *problem) *assignment {
	return newAssignment(p).complete(highestCost, true)
}

func minTable(p *problem) *assignment {
	a := newAssignment(p)
	for piece := range a.at {
		if h := a.hash(int32(piece)); a.at[piece] != h && p.isLive[h] && !p.isHot(int(a.item(int32(piece)))) {
			a.move(int32(piece), h)
		}
	}
	return a.complete(highestCost, true)
}

func minMig(p *problem) *assignment {
	return newAssignment(p).complete(largestGamma, false)
}

// mixed tries to move back n entries, n growing by the number of entries that
// the last trial had too many, and at least twofold. The first trial within the
// table limit wins; if there is none, the best.
func mixed(p *problem) *assignment {
	return p.trials(true, func(n, excess int64) int64 { return n + max(excess, n) })
}

// mixedBruteForce tries every n; the best trial wins.
func mixedBruteForce(p *problem) *assignment {
	return p.trials(false, func(n, _ int64) int64 { return n + 1 })
}

// trials runs Algorithm 4's loop: Phase I moves the n entries of smallest state
// back, from n = 0, then as minmig. next says which n to try after a trial whose
// table has excess entries too many; it is cut to the number of entries. It
// returns the first trial within the table limit if firstFit, else the best.
func (p *problem) trials(firstFit bool, next func(n, excess int64) int64) *assignment {
	order := newLazyOrder(p.entriesByState(), p.s.Keys, nil)
	total := int64(0)
	for _, e := range order.e {
		total += p.s.count(int(e.piece))
	}
	var best *assignment
	var bestScore score
	for n := int64(0); ; {
		if !p.meter.spend(int64(p.s.Len()/itemsPerUnit) + 1) {
			return best
		}
		a := newAssignment(p)
		a.moveBack(&order, n)
		if a = a.complete(largestGamma, false); a == nil {
			return best
		}
		sc := a.score()
		if firstFit && sc.tableExcess == 0 {
			return a
		}
		if best == nil || a.better(sc, best, bestScore) {
			best, bestScore = a, sc
		}
		if n == total {
			return best
		}
		n = min(total, next(n, sc.tableExcess))
	}
}

// entriesByState ranks the items off their hash instance that could return to it
// by ascending state of a unit. Hot keys stay where they were placed.
func (p *problem) entriesByState() []ranked {
	var e []ranked
	for i, d := range p.s.Current {
		if h := p.s.Hash[i]; d != h && p.isLive[h] && !p.isHot(i) {
			e = append(e, ranked{^descending(p.s.state(i)), uint32(p.s.Keys.hashes[i] >> 32), int32(i)})
		}
	}
	return e
}

// moveBack moves the first n units of the order to their hash instances. It may
// be called again with the same order.
func (a *assignment) moveBack(order *lazyOrder, n int64) {
	for i := 0; n > 0; i++ {
		for order.next <= i { // sort as far as any trial needs
			if _, ok := order.peek(); !ok {
				return
			}
			order.skip()
		}
		piece := order.e[i].piece
		units := min(n, a.count(piece))
		n -= units
		if units < a.count(piece) {
			piece = a.split(piece, units)
		}
		a.move(piece, a.hash(piece))
	}
}

// longestProcessingTime places all keys anew, whatever it moves.
func longestProcessingTime(p *problem) *assignment {
	a := newAssignment(p)
	e := make([]ranked, 0, len(a.at))
	for piece := range a.at {
		if !p.isHot(int(a.item(int32(piece)))) {
			a.move(int32(piece), nowhere)
			e = append(e, a.byCostRank(int32(piece)))
		}
	}
	order := newLazyOrder(e, p.s.Keys, a.items)
	r := &llfd{assignment: a, byLoad: a.instancesByLoad(), parts: newParts(len(a.load))}
	for {
		e, ok := order.peek()
		if !ok {
			return a
		}
		order.skip()
		r.forget()
		put := func(d int32, units int64) { r.put(e.piece, d, units) }
		if r.pourInto(r.tried.e, e.piece, unlimited, 0, put) {
			r.tried.heapify()
		}
		for done := false; !done; {
			if !p.meter.spend(1) {
				return nil
			}
			done = r.put(e.piece, r.tried.e[0], r.unitsUntilNext(r.unitCost(e.piece), r.count(e.piece)))
			r.tried.sink(0)
		}
	}
}

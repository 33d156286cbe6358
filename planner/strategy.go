package planner

import (
	"slices"
	"strings"
)

// Strategy computes a plan from a snapshot. The error is an [InputError] or
// [ErrStopped].
type Strategy func(*Snapshot, Options) (*Plan, error)

// The strategies.
const (
	Mixed           = "mixed"
	Optimal         = "optimal"
	MixedBruteForce = "mixed_bf"
	MinMig          = "minmig"
	MinTable        = "mintable"
	LLFD            = "llfd"
	Readj           = "readj"
	LPT             = "lpt"
)

// Info describes a registered strategy: what it is called, and what may be
// expected of it.
type Info struct {
	Name    string
	Title   string // for people
	Summary string // one line, for people
	Source  string // where it comes from
	// Reads names the options, in the words of [InputError], that its moves depend on
	// besides theta_max and key_overhead, which are part of every goal. Others count in
	// the figures and the certificate alone: a strategy that does not read table_limit
	// is blind to the table.
	Reads []string
	// Anytime: cut short by Options.Stop or a work budget, it returns the best of the
	// plans that it completed until then. Of others, and before the first is complete,
	// there is none.
	Anytime bool
	Cost    CostClass

	algorithm func(*problem) *assignment
	proves    bool // it works out itself what the certificate rests on
}

// CostClass says how the time of a strategy grows.
type CostClass string

// The classes.
const (
	// CostLinear: a few passes over the keys, and ordering some of them.
	CostLinear CostClass = "linear"
	// CostSearch: some of the former, and a search whose effort is bounded.
	CostSearch CostClass = "search"
	// CostQuadratic: a pass for each table entry, or a look at pairs of keys. For up to
	// some 100 000 keys.
	CostQuadratic CostClass = "quadratic"
)

// The registry, in the order in which strategies are listed.
var registry = []Info{
	{
		Name: Mixed, Title: "Mixed", Summary: "moves back as few entries as the table limit demands, then as minmig",
		Source: "mixed-routing §III-C, Algorithm 4", Reads: []string{"table_limit", "beta"},
		Anytime: true, Cost: CostLinear, algorithm: mixed,
	}, {
		Name: Optimal, Title: "Optimal",
		Summary: "Lagrangian relaxation with primal repair: never worse than mixed, minmig and mintable",
		Source:  "this project", Reads: []string{"table_limit", "beta", "objective", "migration_limit"},
		Anytime: true, Cost: CostSearch, algorithm: optimal, proves: true,
	}, {
		Name: MixedBruteForce, Title: "Mixed, exhaustive",
		Summary: "mixed for every number of entries to move back; the best plan",
		Source:  "mixed-routing §III-C, MixedBF", Reads: []string{"table_limit", "beta"},
		Anytime: true, Cost: CostQuadratic, algorithm: mixedBruteForce,
	}, {
		Name: MinMig, Title: "MinMig", Summary: "least-load fit, keys of most cost per state first; blind to the table",
		Source: "mixed-routing §III-B, Algorithm 3", Reads: []string{"beta"},
		Cost: CostLinear, algorithm: minMig,
	}, {
		Name: MinTable, Title: "MinTable", Summary: "moves all entries back, then least-load fit, costliest keys first",
		Source: "mixed-routing §III-B, Algorithm 2",
		Cost:   CostLinear, algorithm: minTable,
	}, {
		Name: LLFD, Title: "LLFD", Summary: "least-load fit, costliest keys first, from where the keys are",
		Source: "mixed-routing §III-A, Algorithm 1",
		Cost:   CostLinear, algorithm: leastLoadFit,
	}, {
		Name: Readj, Title: "Readj", Summary: "moves and swaps of single heavy keys",
		Source: "mixed-routing §V, after Gedik 2014", Reads: []string{"table_limit", "sigma"},
		Anytime: true, Cost: CostQuadratic, algorithm: readj,
	}, {
		Name: LPT, Title: "LPT", Summary: "all keys anew, the costliest first, each to the least loaded instance",
		Source: "mixed-routing Appendix A, Lemma 3 (Simple)",
		Cost:   CostLinear, algorithm: longestProcessingTime,
	},
}

// Strategies lists what [Run] knows.
func Strategies() []Info { return append([]Info(nil), registry...) }

// Lookup finds a strategy by its name.
func Lookup(name string) (Info, bool) {
	i := slices.IndexFunc(registry, func(info Info) bool { return info.Name == name })
	if i < 0 {
		return Info{}, false
	}
	return registry[i], true
}

// Run plans with the strategy of that name. An unknown name is an [InputError]
// of field "strategy".
func Run(name string, s *Snapshot, o Options) (*Plan, error) {
	info, ok := Lookup(name)
	if !ok {
		return nil, Invalid("strategy", "is not a known strategy")
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
	return p.judge("", p.unmoved(), nil), nil
}

// Plan computes a plan from a snapshot. It is a [Strategy]: it leaves a snapshot
// alone in which nothing is to be done.
func (info Info) Plan(s *Snapshot, o Options) (*Plan, error) {
	p, err := newProblem(s, o)
	if err != nil {
		return nil, err
	}
	if !info.Knows(o.Objective) {
		return nil, Invalid("objective", OnlyKnowing(o.Objective))
	}
	if p.settled() {
		return p.finish(info.Name, p.unmoved()), nil
	}
	a := p.run(info)
	if a == nil {
		return nil, ErrStopped
	}
	return p.finish(info.Name, a), nil
}

// DependsOn reports whether the strategy reads an option, see [Info.Reads].
func (info Info) DependsOn(option string) bool { return slices.Contains(info.Reads, option) }

// Knows reports whether the strategy can plan for an objective. Empty is the
// default, which all know.
func (info Info) Knows(objective Objective) bool {
	return objective == "" || objective == MinMigration || info.DependsOn("objective")
}

// Knowing lists the strategies that can plan for an objective.
func Knowing(objective Objective) []string {
	var names []string
	for _, info := range Strategies() {
		if info.Knows(objective) {
			names = append(names, info.Name)
		}
	}
	return names
}

// OnlyKnowing says in words which strategies can plan for an objective.
func OnlyKnowing(objective Objective) string {
	return string(objective) + " is known to strategy " + strings.Join(Knowing(objective), ", ") + " only"
}

// run runs an algorithm, and meanwhile proves what the certificate rests on, if
// the algorithm does not do that itself. It returns nil when the meter ran out
// before the algorithm had a complete assignment.
func (p *problem) run(info Info) *assignment {
	if info.proves || p.o.Certificate == CertificateOff || !p.concurrent() {
		return info.algorithm(p)
	}
	wait := p.aside(func(q *problem) { q.proof = q.prove(q.o.Certificate) })
	a := info.algorithm(p)
	p.proof = wait().proof
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
	for _, e := range order.E {
		total += p.s.count(int(e.piece))
	}
	var b incumbent
	for n := int64(0); ; {
		if !p.meter.spend(int64(p.s.Len()/itemsPerUnit) + 1) {
			return b.best
		}
		a := newAssignment(p)
		a.moveBack(&order, n)
		if a = a.complete(largestGamma, false); a == nil {
			return b.best
		}
		sc := a.score()
		if firstFit && sc.tableExcess == 0 {
			return a
		}
		b.keep(a, sc)
		if n == total {
			return b.best
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
		piece := order.E[i].piece
		units := min(n, a.count(piece))
		n -= units
		a.moveUnits(piece, units, a.hash(piece))
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
	slices.SortFunc(e, (&pieceOrder{p.s.Keys, a.items}).compare)
	r := &llfd{assignment: a, byLoad: a.instancesByLoad(), parts: newParts(len(a.load))}
	for _, e := range e {
		r.forget()
		put := func(d int32, units int64) { r.put(e.piece, d, units) }
		if r.pourInto(r.tried.E, e.piece, unlimited, 0, put) {
			r.tried.Heapify()
		}
		for done := false; !done; {
			if !p.meter.spend(1) {
				return nil
			}
			done = r.put(e.piece, r.tried.E[0], r.unitsUntilNext(r.unitCost(e.piece), r.count(e.piece)))
			r.tried.Sink(0)
		}
	}
	return a
}

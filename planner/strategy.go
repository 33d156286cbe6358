package planner

import (
	"slices"
	"strings"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/division"
	"plannerd/planner/internal/optimal"
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
	// Reads names the options, by the tags of [Options], that its moves depend on
	// besides theta_max, theta_min and key_overhead, which are part of every goal. Others count in
	// the figures and the certificate alone: a strategy that does not read table_limit
	// is blind to the table.
	Reads []string
	// Anytime: cut short by Options.Stop or a work budget, it returns the best of the
	// plans that it completed until then. Of others, and before the first is complete,
	// there is none.
	Anytime bool
	Cost    CostClass

	algorithm algorithm
	proves    bool // it works out itself what the certificate rests on
}

// algorithm is a strategy on a problem that is not settled. It returns nil when the
// meter ran out before it had a complete assignment.
type algorithm func(*assign.Problem, Options) (*assign.Assignment, bound.Evidence)

// placing is an algorithm that proves nothing.
func placing(place func(*assign.Problem, Options) *assign.Assignment) algorithm {
	return func(p *assign.Problem, o Options) (*assign.Assignment, bound.Evidence) {
		return place(p, o), bound.Evidence{}
	}
}

func optimally(p *assign.Problem, o Options) (*assign.Assignment, bound.Evidence) {
	return optimal.Optimal(p, rivals(o))
}

// rivals are the strategies that optimal compares with.
func rivals(o Options) optimal.Rivals {
	return optimal.Rivals{
		Mixed: func(p *assign.Problem) *assign.Assignment {
			if p.Items.Len() <= fewForBruteForce && p.Entries <= fewForBruteForce {
				return mixedBruteForce(p, o)
			}
			return mixed(p, o)
		},
		MinTable: func(p *assign.Problem) *assign.Assignment { return minTable(p, o) },
		MinMig:   func(p *assign.Problem) *assign.Assignment { return minMig(p, o) },
		Fit:      func(a *assign.Assignment) *assign.Assignment { return leastLoadFit(a, largestGamma(o)) },
		Others: []func(*assign.Problem) *assign.Assignment{
			func(p *assign.Problem) *assign.Assignment { return llfdAlone(p, o) },
			func(p *assign.Problem) *assign.Assignment { return longestProcessingTime(p, o) },
			func(p *assign.Problem) *assign.Assignment {
				if p.Items.Len() > fewForReadj {
					return nil
				}
				return readj(p, o)
			},
		},
	}
}

// fewForReadj is up to how many items plans are compared with those of readj, where no other meets all constraints.
const fewForReadj = 5_000

// fewForBruteForce is up to how many items and entries every number of entries is tried.
const fewForBruteForce = 200

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
		Anytime: true, Cost: CostLinear, algorithm: placing(mixed),
	}, {
		Name: Optimal, Title: "Optimal",
		Summary: "Lagrangian; for min_migration, uncut, ≤ 0.01 % worse than mixed, minmig, mintable",
		Source:  "this project", Reads: []string{"table_limit", "beta", "effort", "objective", "migration_limit"},
		Anytime: true, Cost: CostSearch, algorithm: optimally, proves: true,
	}, {
		Name: MixedBruteForce, Title: "Mixed, exhaustive",
		Summary: "mixed for every number of entries to move back; the best of these plans",
		Source:  "mixed-routing §III-C, MixedBF", Reads: []string{"table_limit", "beta"},
		Anytime: true, Cost: CostQuadratic, algorithm: placing(mixedBruteForce),
	}, {
		Name: MinMig, Title: "MinMig", Summary: "least-load fit, keys of most cost per state first; blind to the table",
		Source: "mixed-routing §III-B, Algorithm 3", Reads: []string{"beta"},
		Cost: CostLinear, algorithm: placing(minMig),
	}, {
		Name: MinTable, Title: "MinTable", Summary: "moves all entries back, then least-load fit, costliest keys first",
		Source: "mixed-routing §III-B, Algorithm 2",
		Cost:   CostLinear, algorithm: placing(minTable),
	}, {
		Name: LLFD, Title: "LLFD", Summary: "least-load fit, costliest keys first, from where the keys are",
		Source: "mixed-routing §III-A, Algorithm 1",
		Cost:   CostLinear, algorithm: placing(llfdAlone),
	}, {
		Name: Readj, Title: "Readj", Summary: "moves and swaps of single heavy keys",
		Source: "mixed-routing §V, after Gedik 2014", Reads: []string{"table_limit", "sigma"},
		Anytime: true, Cost: CostQuadratic, algorithm: placing(readj),
	}, {
		Name: LPT, Title: "LPT", Summary: "all keys anew, the costliest first, each to the least loaded instance",
		Source: "mixed-routing Appendix A, Lemma 3 (Simple)",
		Cost:   CostLinear, algorithm: placing(longestProcessingTime),
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
		return nil, Invalid("Strategy", "is not a known strategy")
	}
	return info.Plan(s, o)
}

// Inspect returns the plan that moves nothing: the figures of the snapshot as it
// is, and the table without the entries that are no longer needed. Its causes
// contain [CauseBalanced] exactly if every strategy would answer the same.
func Inspect(s *Snapshot, o Options) (*Plan, error) {
	x, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	return x.judge("", x.p.Unmoved(), nil, bound.Evidence{}), nil
}

// Plan computes a plan from a snapshot. It is a [Strategy]: it leaves a snapshot
// alone in which nothing is to be done.
func (info Info) Plan(s *Snapshot, o Options) (*Plan, error) {
	effort := assign.Effort(0)
	if info.DependsOn("effort") {
		effort = efforts[o.Effort]
	}
	x, err := prepareWith(s, o, effort)
	if err != nil {
		return nil, err
	}
	if !info.Knows(o.Objective) {
		return nil, Invalid("Objective", OnlyKnowing(o.Objective))
	}
	start, known := x.space.Start(), bound.Evidence{}
	planned := division.Planned{Division: start.Division, Assignment: start.Problem.Unmoved()}
	if !start.Settled {
		planned, known = start.Solve(x.strategy(info))
	}
	if planned.Assignment == nil {
		return nil, ErrStopped
	}
	if info.proves && !start.Settled && x.space.Priced() {
		planned, known = x.space.Cheaper(x.strategy(info), planned), bound.Evidence{}
	}
	planned, known = planned.OrStanding(known)
	x.divide(planned.Division)
	return x.finish(info.Name, x.filled(info, planned.Assignment), known), nil
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

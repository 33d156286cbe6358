// Package parameters lists once what a plan can be asked for: the name of each
// parameter, its type and bounds, its default, the schemes that know it and the
// strategies that read it. The command line's flags, the grid of a what-if, the
// contract's schemas, refusals and the dashboard's forms are made from this list.
package parameters

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// Type is what the values of a parameter are.
type Type string

// The types.
const (
	Number   Type = "number"          // a float64
	Integer  Type = "integer"         // an int64
	Choice   Type = "choice"          // one of several words
	Limit    Type = "migration_limit" // a [MigrationLimit]
	Interval Type = "duration"        // a [Duration]
)

// Unit is what the number of a parameter counts.
type Unit string

// The units.
const (
	Share   Unit = "share" // of something: 0.05 is 5 %
	Entries Unit = "entries"
	State   Unit = "state" // the unit of state, which clients choose
	Steps   Unit = "work_units"
)

// Schemes of operators, in the words of the contract.
const (
	SchemeTable  = "table"
	SchemeRing   = "ring"
	SchemeRanges = "ranges"
	SchemePkg    = "pkg"
)

// Greatest values that JSON carries exactly, and that the planner can add up.
const (
	maxInteger = planner.MaxCount
	maxNumber  = 1e300
)

// MostParts is the greatest number of parts of a key that there is a word for: as many as
// there may be.
const MostParts = planner.PartUnits

// Parameter describes one parameter of plans.
type Parameter struct {
	// Name is that of its member in JSON; "/" leads into an object. Its flag has hyphens
	// in place of underscores.
	Name  string
	Label string // for people
	Help  string // one line, for people
	Doc   string // for the contract; empty: Help
	Type  Type
	Unit  Unit // empty: a plain number
	// Minimum and Maximum bound numbers and integers.
	Minimum, Maximum float64
	// PowersOfTwo: of the integers only these, and 0.
	PowersOfTwo bool
	Choices     []Word
	Default     any // of the type that JSON has for it; nil is null
	// None is what people call null; empty: null is no value.
	None string
	// Schemes that know the parameter; empty: table alone.
	Schemes []string
	// Grid is its name in the grid of a what-if; empty: it takes one value only.
	Grid string
	// GridDoc says more about its values in a grid, GridQueryDoc about those in a query.
	GridDoc, GridQueryDoc string
	// First: forms ask for it before the others.
	First bool
	// Schema is the name of its schema in the contract, where that is not made of Name.
	Schema string
}

// Word is one of the words of a [Choice].
type Word struct {
	Value string
	Label string // for people
	Help  string // what it means
}

var everyScheme = []string{SchemeTable, SchemeRing, SchemeRanges, SchemePkg}

// Schemes lists the schemes.
func Schemes() []string { return slices.Clone(everyScheme) }

// list has the parameters in the order of JSON, of forms and of a grid, whose last
// one varies fastest.
var list = []Parameter{
	{
		Name: "theta_max", Label: "θ_max", Type: Number, Unit: Share, Maximum: maxNumber, Default: planner.DefaultThetaMax,
		Help:    "The tolerance θ_max, a share such as 5%: an instance may carry (1+θ_max) times its fair load.",
		Schemes: everyScheme, Grid: "theta_max", First: true,
	}, {
		Name: "theta_min", Label: "θ_min", Type: Number, Unit: Share, Maximum: 1, None: "none",
		Help: "How far below its share the load of an instance may stay, such as 20%; keys are pulled to emptier ones.",
		Doc: "How far the load of an instance may stay below what it can have: at least `least_load`, which is (1−theta_min) " +
			"times its fair load, or less where hot keys and keys that the statistics do not name leave less for the others. " +
			"When loads and table are within their limits, " +
			"keys are pulled to instances below that, as far as `theta_max`, the table limit and the migration limit allow; " +
			"no plan is withheld because that is not far enough, see `unfilled`. `balanced` and `trigger` are about overload " +
			"alone. null: no instance is filled, but for those that were added, see `filling`.",
		Grid: "theta_min",
	}, {
		Name: "table_limit", Label: "Table limit", Type: Integer, Unit: Entries, Maximum: maxInteger, None: "none",
		Help: "The greatest size of the routing table, in entries.", Grid: "table_limit", First: true,
	}, {
		Name: "beta", Label: "β", Type: Number, Maximum: maxNumber, Default: planner.DefaultBeta,
		Help: "β in γ(k) = cost^β / state, by which keys to move are chosen.", Grid: "beta", First: true,
	}, {
		Name: "key_overhead", Label: "Overhead per key", Type: Number, Unit: State, Maximum: planner.MaxAmount, Default: 0.0,
		Help: "Added to the state of every migrated key in the objective: each key that moves costs a pause.",
		Grid: "key_overhead",
	}, {
		Name: "certificate", Label: "Certificate", Type: Choice, Schema: "CertificateLevel",
		Default: string(planner.CertificateFast),
		Choices: []Word{
			{string(planner.CertificateOff), "Off", "There is none."},
			{string(planner.CertificateFast), "Fast", "On large inputs it takes no longer than the strategy itself."},
			{string(planner.CertificateTight), "Tight", "It takes longer, and proves smaller gaps."},
		},
		Help: "Effort that goes into proving how good any plan can be at best.", Grid: "certificate",
		Doc: "How much effort goes into the `certificate` of a plan. `off`: there is none; `fast`: on large inputs it " +
			"takes no " +
			"longer than the strategy itself; `tight`: with more branching, and a look at whole keys on larger inputs too, " +
			"which " +
			"takes longer and gives smaller gaps.",
	}, {
		Name: "effort", Label: "Effort", Type: Choice, Default: string(planner.DefaultEffort),
		Choices: []Word{
			{string(planner.EffortFast), "Fast", "On large inputs it takes about as long as sorting the keys."},
			{string(planner.EffortNormal), "Normal", "Up to about ten times as long."},
			{string(planner.EffortThorough), "Thorough", "Up to seconds."},
		},
		Help: "How much work optimal may do while its plan is not proven to be nearly the best.", Grid: "effort",
		Doc: "How much work strategy `optimal` may do while its plan is not proven to be nearly the best. `fast`: on large " +
			"inputs about as much as sorting the keys takes; `normal`: up to about ten times that; `thorough`: up to " +
			"seconds. Work is counted, so the same effort gives the same plan on every machine. It ends where the gap of the " +
			"certificate is closed.",
	}, {
		Name: "objective", Label: "Objective", Type: Choice, Default: string(planner.MinMigration),
		Choices: []Word{
			{string(planner.MinMigration), "Least migration", "The state that migrates, with every instance within its bound."},
			{string(planner.MinImbalance), "Least imbalance", "θ, within the migration limit."},
		},
		Help: "What to minimise.", Grid: "objective",
		GridDoc: "Of several, strategies that do not read this parameter take `min_migration` only.",
		Doc: "What a plan minimises. `min_migration`: the state that migrates, `migration.objective`, with every instance " +
			"within " +
			"(1+theta_max) times its fair load and the table within its limit. `min_imbalance`: θ, within `migration_limit` " +
			"and the " +
			"table limit, by those strategies that read this parameter. `theta_max` then says no more than what counts as " +
			"balanced, " +
			"and `trigger` when an operator plans.",
	}, {
		Name: "migration_limit", Label: "Migration limit", Type: Limit, None: "none",
		Help: "The most that a plan may move under min_imbalance, which needs it: 5% of all state, 1200keys, or 3e6 in the " +
			"unit of state.",
		Grid: "migration_limit", GridDoc: "A list is a trade-off curve. Combined with objective `min_imbalance` only.",
	}, {
		Name: "work_budget", Label: "Work budget", Type: Integer, Unit: Steps, Maximum: maxInteger, Default: int64(0),
		Help: "Bound on the work of a plan, 0 for none. Unlike a deadline it gives the same plan on every machine.",
		Grid: "work_budget",
		Doc: "Bounds the work of a plan, in the units of `work_units`; 0 is no bound. A strategy that has a complete plan " +
			"by then " +
			"gives the best one, with the end reason `work_budget`; others leave everything where it is, with the cause " +
			"`unfinished`. " +
			"The same budget gives the same plan on every machine: the `work_units` of a plan that a deadline cut are the " +
			"budget that " +
			"repeats it.",
	}, {
		Name: "sigma", Label: "σ", Type: Number, Maximum: maxNumber, None: "auto",
		Help: "Only keys whose cost is at least σ times the mean load move; auto tries a ladder of values.", Grid: "sigma",
	}, {
		Name: "deadline", Label: "Deadline", Type: Interval, None: "none",
		Help:    "Bound on the time of a plan, such as 500ms or 1m30s.",
		Schemes: everyScheme, Grid: "deadline",
		Doc: "Bounds the time of a plan, for instance `500ms` or `1m30s`, from 1ms to what the server allows (10 minutes " +
			"unless it " +
			"was told otherwise, which also bounds plans without a deadline); null for the server's own bound. As a work " +
			"budget, with " +
			"the end reason `stopped`; how far a strategy gets depends on the machine.",
	}, {
		Name: "compact/degree", Label: "R", Type: Integer, Maximum: 1 << 30, Default: int64(0), Schema: "CompactDegree",
		Help: "The degree of the compact form: 1 is the finest, 0 plans on keys.",
		Doc: "The degree R of discretisation: a power of two up to 2^30. In units of a scale, values up to R become powers " +
			"of two " +
			"and greater ones multiples of R, rounded so that the sum over the keys of an instance comes out right to R/2. 1 " +
			"is the " +
			"finest; 0 is no compaction.",
		Grid: "compact_degree", First: true, PowersOfTwo: true,
		GridDoc: "In place of the `degree` of `compact` of the request or the operator, whose scales hold for all. 0 is a " +
			"plan on " +
			"keys. Not with compact records.",
		GridQueryDoc: "with compact records one value, `compact.degree`",
	}, {
		Name: "compact/cost_scale", Label: "Cost scale", Type: Number, Minimum: 1 / planner.MaxAmount,
		Maximum: planner.MaxAmount, None: "auto",
		Help: "The real cost of a discretised 1; auto takes the smallest positive cost.",
	}, {
		Name: "compact/state_scale", Label: "State scale", Type: Number, Minimum: 1 / planner.MaxAmount,
		Maximum: planner.MaxAmount, None: "auto",
		Help: "The real state of a discretised 1; auto takes the smallest positive state.",
	}, {
		Name: "splitting/max_parts", Label: "Parts of a key", Type: Integer, Minimum: 1, Maximum: MostParts,
		Default: int64(1), Schema: "MaxParts",
		Help: "The most instances that a key may be split over if none can carry it whole; 1: no key is split.",
		Doc: "The most instances that a key may be split over if none can carry it whole. Each then holds a part of its " +
			"state, and something behind the operator merges their results: its aggregate has to be commutative and " +
			"associative. 1: no key is split, and keys that are become whole.",
		Grid: "max_parts", GridDoc: "In place of `splitting.max_parts` of the operator.",
	}, {
		Name: "splitting/merge_cost", Label: "Merge cost", Type: Number, Maximum: planner.MaxAmount, Default: 0.0,
		Help: "What each part of a split key adds to the load of its instance.",
	}, {
		Name: "splitting/price", Label: "Price of a part", Type: Number, Unit: State, Minimum: 1 / planner.MaxAmount,
		Maximum: planner.MaxAmount, None: "infinite", Schema: "SplitPrice",
		Help: "Optimal splits any key, and further, where a part more saves moving more state than this; infinite: only " +
			"keys that no instance can carry whole are split.",
		Doc: "What a part of a key beyond its first adds to what a plan minimises, `migration.objective`, in the unit of " +
			"state. Strategy `optimal` then also splits keys that some instance could carry whole, with the cause " +
			"`cheaper_split`, and gives others further parts, where that saves moving more; other strategies split keys as " +
			"without a price. Not with `max_parts` 1, and of no effect under objective `min_imbalance`. null: infinite, so " +
			"only keys are split that no instance can carry whole.",
		Grid: "split_price", GridDoc: "In place of `splitting.price` of the operator, where keys may be split.",
	}, {
		Name: "ring/method", Label: "Method", Type: Choice, Default: string(ring.Halving),
		Choices: []Word{
			{string(ring.Halving), "Token halving", "An overloaded instance gives up half of its tokens."},
			{string(ring.Doubling), "Token doubling", "All instances but the overloaded one double their tokens."},
			{string(ring.Fitted), "Fitted tokens", "Whatever token counts come closest to θ_max with least state moved."},
		},
		Help: "How a plan changes the tokens of the ring.", Schemes: []string{SchemeRing},
	}, {
		Name: "ring/tau", Label: "τ", Type: Number, Maximum: planner.MaxAmount, Default: ring.DefaultTau,
		Help:    "An instance is overloaded when its load exceeds (1+τ) times the second greatest.",
		Schemes: []string{SchemeRing},
	}, {
		Name: "ring/max_rounds", Label: "Rounds", Type: Integer, Minimum: 1, Maximum: 65536,
		Default: int64(ring.DefaultMaxRounds),
		Help:    "How often a plan may relieve each instance.", Schemes: []string{SchemeRing},
	}, {
		Name: "ranges/method", Label: "Method", Type: Choice, Default: string(ranges.MinMovement),
		Choices: []Word{
			{string(ranges.Quantile), "Quantiles", "One range for each instance, cut at the quantiles."},
			{string(ranges.MinMovement), "Least movement", "Several ranges for each, so that little cost changes its owner."},
		},
		Help: "How a plan divides the key space.", Schemes: []string{SchemeRanges},
	}, {
		Name: "ranges/max_intervals", Label: "Ranges of an instance", Type: Integer, Minimum: 1, Maximum: 65536,
		Default: int64(ranges.DefaultMaxIntervals), Help: "The most ranges that an instance may own.",
		Schemes: []string{SchemeRanges},
	}, {
		Name: "ranges/phase", Label: "Phase", Type: Choice, Default: "get",
		Choices: []Word{
			{"put", "Put", "Records come to any instance; nobody answers for keys yet."},
			{"get", "Get", "Every key has one instance that answers for it. It never becomes put again."},
		},
		Help: "Whether the owners of ranges answer for their keys.", Schemes: []string{SchemeRanges},
	}, {
		Name: "pkg/method", Label: "Method", Type: Choice, Default: string(grouping.DChoices),
		Choices: []Word{
			{string(grouping.PKG), "Partial key grouping", "All keys have as many candidates."},
			{string(grouping.DChoices), "D-Choices", "Heavy keys get as many more candidates as it takes."},
			{string(grouping.WChoices), "W-Choices", "Heavy keys that need more candidates may go anywhere."},
		},
		Help: "Which keys get more candidates than others.", Schemes: []string{SchemePkg},
	}, {
		Name: "pkg/choices", Label: "Choices", Type: Integer, Minimum: 1, Maximum: grouping.MaxChoices,
		Default: int64(grouping.DefaultChoices), Help: "The number of candidates of a key that is not heavy.",
		Schemes: []string{SchemePkg},
	},
}

// All lists the parameters.
func All() []Parameter { return slices.Clone(list) }

// Flag is the name of the parameter's flag on the command line.
func (p *Parameter) Flag() string { return strings.ReplaceAll(p.Name, "_", "-") }

// IsOption reports whether the planner takes the parameter as one of its options.
func (p *Parameter) IsOption() bool {
	return p.Name == "migration_limit" || len(fields[p.Name]) == 2 && !strings.Contains(p.Name, "/")
}

// KnownTo reports whether plans under a scheme have the parameter.
func (p *Parameter) KnownTo(scheme string) bool {
	if p.Schemes == nil {
		return scheme == SchemeTable
	}
	return slices.Contains(p.Schemes, scheme)
}

// Readers lists the strategies whose moves depend on the parameter; nil: all do, or
// none does, as it is not about what moves.
func (p *Parameter) Readers() []string {
	var names []string
	for _, info := range planner.Strategies() {
		if info.DependsOn(p.Name) {
			names = append(names, info.Name)
		}
	}
	return names
}

// Range says in words which values there are, to follow "must be".
func (p *Parameter) Range() string {
	var out string
	switch p.Type {
	case Choice:
		return "one of " + strings.Join(p.Words(), ", ")
	case Limit:
		return "a share of all state such as 5%, a number of keys such as 1200keys, or an amount of state"
	case Interval:
		return "a time such as 500ms or 1m30s"
	case Integer:
		out = "a whole number"
	case Number:
		out = "a number"
	}
	switch {
	case p.PowersOfTwo:
		out = fmt.Sprintf("0 or a power of two up to 2^%d", bits.Len64(uint64(p.Maximum))-1)
	case p.Minimum == 0 && p.Maximum >= maxInteger:
		out += " of 0 or more"
	default:
		out += " from " + number(p.Minimum) + " to " + number(p.Maximum)
	}
	if p.Unit == Share {
		out += ", or a share such as 5%"
	}
	if p.None != "" {
		out += ", or " + p.None
	}
	return out
}

// outside says what is wrong with a value of the right type; "" when nothing is.
func (p *Parameter) outside(value any) string {
	x, ok := 0.0, false
	switch v := value.(type) {
	case float64:
		x, ok = v, true
	case int64:
		x, ok = float64(v), true
		if p.PowersOfTwo && v&(v-1) != 0 {
			return "must be " + p.Range()
		}
	case string:
		if !slices.Contains(p.Words(), v) {
			return "must be " + p.Range()
		}
	}
	switch {
	case !ok:
	case x > p.Maximum:
		return "must be at most " + number(p.Maximum)
	case !(x >= p.Minimum):
		return "must be " + p.Range()
	}
	return ""
}

// Words are the values of a [Choice].
func (p *Parameter) Words() []string {
	out := make([]string, len(p.Choices))
	for i, c := range p.Choices {
		out[i] = c.Value
	}
	return out
}

// DurationPattern is what a time looks like.
const DurationPattern = `^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`

// ShortestDeadline is the least that a client may ask for.
const ShortestDeadline = time.Millisecond

package planner

import (
	"cmp"
	"math"
)

// Defaults of [Options].
const (
	DefaultBeta = 1.5
	// DefaultThetaMax is what services and tools use when nobody says otherwise;
	// the zero value of Options.ThetaMax is 0.
	DefaultThetaMax = 0.08
	// DefaultStrategy is what they plan with.
	DefaultStrategy = Optimal
	// DefaultEffort is with what effort: the zero value of Options.Effort can take many
	// seconds where no plan of a million keys keeps within the table limit.
	DefaultEffort = EffortFast
)

// Options are the parameters of all strategies. The tags are the names by which
// the formats around the planner know them.
type Options struct {
	// ThetaMax is the tolerance θ_max ≥ 0: instance d may carry (1+θ_max) times
	// its fair load. Defaults to 0, perfect balance.
	ThetaMax float64 `json:"theta_max"`
	// ThetaMin is θ_min, from 0 to 1: a live instance d should carry at least a_d, which is
	// (1−θ_min)·min(L̄_d, κ_d·λ), where Σ_d max(background_d, κ_d·λ) is all cost. Keys are
	// pulled to instances below that as far as θ_max, the table limit and the migration limit
	// allow; no plan is withheld because that is not far enough. Nil: there is no such bound.
	ThetaMin *float64 `json:"theta_min,omitzero"`
	// TableLimit is A_max ≥ 0, the greatest size of the routing table. Nil: no
	// limit.
	TableLimit *int64 `json:"table_limit"`
	// Beta is β ≥ 0 in γ(k) = c(k)^β / S(k). Nil: DefaultBeta.
	Beta *float64 `json:"beta"`
	// KeyOverhead is o, from 0 to MaxAmount, added to the state of every migrated key in the
	// objective. Defaults to 0.
	KeyOverhead float64 `json:"key_overhead"`
	// Certificate says how much effort goes into the proof. Empty:
	// CertificateFast.
	Certificate CertificateLevel `json:"certificate"`
	// Effort is how much work strategy optimal may do while its plan is not proven to
	// be nearly the best. Empty: EffortNormal.
	Effort Effort `json:"effort,omitzero"`
	// Objective says what to minimise. Empty: MinMigration. Others are known to those
	// strategies that [Info.Knows] names.
	Objective Objective `json:"objective"`
	// MigrationLimit bounds what may be moved under MinImbalance, which needs one.
	MigrationLimit *MigrationLimit `json:"-"`
	// WorkBudget bounds the work, in work units: one placement of a key or try to
	// place it, one pair of instances or key of a pair that readj looks at, 256
	// items of a trial of mixed. A strategy that has a complete plan when it
	// runs out returns it with EndReason EndWorkBudget, others ErrStopped. Proofs are
	// not counted; they bound themselves. 0: no bound.
	WorkBudget int64 `json:"work_budget"`
	// Splitting says that keys may be split, and how. Nil: no key is, and keys that are
	// split become whole.
	Splitting *Splitting `json:"-"`
	// Sigma is σ ≥ 0 of readj: only keys with cost ≥ σ·L̄ are moved. Nil: "auto",
	// a geometric ladder of values, the best plan of which is taken.
	Sigma *float64 `json:"sigma,omitzero"`
	// Stop is asked now and then, from several goroutines but never at the same
	// time; true ends planning, and should stay true. A strategy that has a
	// complete plan returns it with EndReason EndStopped, others ErrStopped.
	// Nil: never.
	Stop func() bool `json:"-"`
}

// CertificateLevel is how much effort goes into the certificate of a plan.
type CertificateLevel string

// The levels.
const (
	CertificateOff  CertificateLevel = "off"  // none
	CertificateFast CertificateLevel = "fast" // takes no longer than the strategy itself on large inputs
	// CertificateTight branches more, and looks at whole keys on larger inputs too.
	CertificateTight CertificateLevel = "tight"
)

// Effort is how much work goes into a plan of strategy optimal. It is counted, so the
// same effort gives the same plan on every machine, and it ends where the plan is proven
// to be nearly the best. More effort goes on from what less came to.
type Effort string

// The efforts.
const (
	EffortFast     Effort = "fast"     // about as much as sorting the keys on large inputs
	EffortNormal   Effort = "normal"   // up to about ten times that
	EffortThorough Effort = "thorough" // up to seconds
)

// Objective is what a plan minimises.
type Objective string

// The objectives.
const (
	// MinMigration moves as little as possible: least Σ (S(k)+o) with every load
	// within its bound and the table within its limit.
	MinMigration Objective = "min_migration"
	// MinImbalance balances as well as possible: least θ within a migration limit
	// and the table limit. Options.ThetaMax then decides no more than what counts
	// as balanced.
	MinImbalance Objective = "min_imbalance"
)

// MigrationLimit bounds what a plan may move. Drained keys, which have to move,
// count.
type MigrationLimit struct {
	Unit MigrationUnit
	// Amount ≥ 0 in that unit.
	Amount float64
}

// MigrationUnit is what a [MigrationLimit] counts.
type MigrationUnit string

// The units.
const (
	MigrationState    MigrationUnit = "state"    // Σ S(k) of the moved keys
	MigrationFraction MigrationUnit = "fraction" // of all state, residual included
	MigrationKeys     MigrationUnit = "keys"     // their number
)

// Validate reports the first field that is out of range as an [InputError].
func (o Options) Validate() error {
	return cmp.Or(
		Require(nonNegative(o.ThetaMax), "ThetaMax", mustBeFinite),
		Require(o.ThetaMin == nil || *o.ThetaMin >= 0 && *o.ThetaMin <= 1, "ThetaMin", "must be from 0 to 1"),
		Require(o.TableLimit == nil || *o.TableLimit >= 0, "TableLimit", "must be ≥ 0"),
		Require(o.Beta == nil || nonNegative(*o.Beta), "Beta", mustBeFinite),
		RequireAmount("KeyOverhead", o.KeyOverhead),
		Require(o.Sigma == nil || nonNegative(*o.Sigma), "Sigma", mustBeFinite),
		RequireAtLeast("WorkBudget", o.WorkBudget, 0),
		RequireOneOf("Certificate", cmp.Or(o.Certificate, CertificateFast),
			CertificateOff, CertificateFast, CertificateTight),
		RequireOneOf("Effort", cmp.Or(o.Effort, EffortNormal), EffortFast, EffortNormal, EffortThorough),
		RequireOneOf("Objective", cmp.Or(o.Objective, MinMigration), MinMigration, MinImbalance),
		validateSplitting(o.Splitting),
		o.validateMigrationLimit(),
	)
}

func (o Options) validateMigrationLimit() error {
	bad := func(detail string) error { return Invalid("MigrationLimit", detail) }
	switch m := o.MigrationLimit; {
	case o.Objective == MinImbalance && m == nil:
		return bad("is needed with objective min_imbalance")
	case o.Objective != MinImbalance && m != nil:
		return bad("belongs to objective min_imbalance")
	case m == nil:
	case m.Unit != MigrationState && m.Unit != MigrationFraction && m.Unit != MigrationKeys:
		return bad("must be an amount of state, a fraction of it, or a number of keys")
	case !nonNegative(m.Amount):
		return bad(mustBeFinite)
	}
	return nil
}

func (o Options) beta() float64 {
	if o.Beta == nil {
		return DefaultBeta
	}
	return *o.Beta
}

const mustBeFinite = "must be ≥ 0 and finite"

func nonNegative(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }

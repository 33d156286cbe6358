package planner

import (
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// EndReason says why planning ended.
type EndReason string

// The end reasons.
const (
	EndCompleted  EndReason = "completed"   // the strategy ran to its end
	EndWorkBudget EndReason = "work_budget" // Options.WorkBudget ran out: the best plan so far
	EndStopped    EndReason = "stopped"     // Options.Stop said so: the best plan so far
)

// Cause is a coded reason why a plan does not do or reach something.
type Cause string

// The causes.
const (
	CauseBalanced       Cause = "balanced"        // nothing to do: within all limits already
	CauseHotKey         Cause = "hot_key"         // a single key exceeds every instance's L_max
	CauseTableLimit     Cause = "table_limit"     // no plan was found within the table limit
	CauseKept           Cause = "kept"            // of a split: nothing asks for another
	CauseCheaperSplit   Cause = "cheaper_split"   // of a split: without it more would move than its price
	CauseUnnamed        Cause = "unnamed_keys"    // a class of keys is hot, and what has no name cannot be split
	CausePartsLimit     Cause = "parts_limit"     // a key would have to be split into more parts than it may
	CauseNothingMovable Cause = "nothing_movable" // some instance stays above its bound: nothing that fits can be moved
	// of some instances nothing is known: what is there stays there, drained or not
	CauseFrozen Cause = "frozen"
)

// Reason says why an item migrates.
type Reason uint8

// The reasons, in the order in which they are tried: the first that applies.
const (
	ReasonDrain     Reason = iota // its instance was removed
	ReasonRehash                  // it had no entry and follows the changed hash
	ReasonFill                    // it goes to an instance that was added
	ReasonMoveBack                // its entry is removed: it returns to its hash instance
	ReasonOverload                // its instance exceeded its bound
	ReasonExchange                // it makes room for another key
	ReasonGather                  // a share of the state of an item goes where the rest is
	ReasonTakeover                // its instance is lost, and another has a copy; no plan of this package has it
	ReasonPlacement               // it was where a rule forbids it to be; tried after ReasonDrain
)

var reasonNames = [...]string{
	"drain", "rehash", "fill", "move_back", "overload", "exchange", "gather", "takeover", "placement",
}

// String returns the reason as the HTTP API spells it.
func (r Reason) String() string { return reasonNames[r] }

// ParseReason is the inverse of [Reason.String].
func ParseReason(s string) (Reason, bool) {
	i := slices.Index(reasonNames[:], s)
	return Reason(max(i, 0)), i >= 0
}

// Move is one migration: Count units of an item change their instance, or, with
// [ReasonGather], one of Snapshot.Shares does.
type Move struct {
	Item     int32 // index into the snapshot
	From, To int32 // indices into Snapshot.Instances
	Count    int64
	Reason   Reason
}

// Setting is a table entry that the plan adds or changes.
type Setting struct {
	Item int32 // index into the snapshot
	To   int32 // index into Snapshot.Instances
}

// Removal is a table entry that the plan drops.
type Removal struct {
	Item  int32 // index into the snapshot, or −1 when the key is absent from it
	Entry int32 // index into Snapshot.Table, or −1 when that is nil
}

// Comparison is a figure before and after the plan.
type Comparison struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// Migration sums up what a plan moves.
type Migration struct {
	Keys      int64   `json:"keys"`      // |Δ(F,F')|, number of keys, and of shares that are gathered
	State     float64 `json:"state"`     // M = Σ S(k) over them, in units of state
	Fraction  float64 `json:"fraction"`  // State over all state, residual included; 0 when there is none
	Objective float64 `json:"objective"` // Σ (S(k)+o) over Δ(F,F'): shares move whatever the plan; see Splitting.Price
}

// Certificate is a proof of how good any plan of a snapshot under its options
// can be at best. Hot keys stand where they were placed.
type Certificate struct {
	// LowerBound is at most the least value of what Options.Objective minimises
	// among all plans that meet every constraint: Σ (S(k)+o), in units of state,
	// or θ. 0 when Infeasible.
	LowerBound float64
	// Gap is (objective − LowerBound) / LowerBound of this plan; 0 when both are
	// 0. Nil when only the bound is 0, or the plan violates a constraint.
	Gap *float64
	// Infeasible: it is proven that no plan meets every constraint.
	Infeasible bool
	// Unmet are the constraints that could give way: each that, if its limit were
	// another and the others stayed, some plan would meet with all others. Where that is
	// true of none, it has all of which it is proven that they must give way, together.
	// Empty when some plan may meet them all and no key is hot.
	Unmet []Unmet
}

// Unmet is a constraint that no plan meets which meets all others.
type Unmet struct {
	Constraint Constraint `json:"constraint"`
	Limit      float64    `json:"limit"` // what was asked for
	// AtLeast is proven: no plan that meets the others comes with less. It is above
	// Limit. A θ, a number of table entries, or an amount in the unit of the migration
	// limit.
	AtLeast float64 `json:"at_least"`
	// Rule is, of ConstraintPlacement, the rule without which a plan keeps to all bounds. Limit and AtLeast are then of
	// a bound that none keeps to with the rule: θ_max, or that of Resource; Without is what that plan comes to there.
	Rule    string  `json:"rule,omitzero"`
	Without float64 `json:"without,omitzero"`
	// Resource is whose θ_max or capacity it is; empty: that of cost.
	Resource string `json:"resource,omitzero"`
}

// Constraint names what a plan has to keep to.
type Constraint string

// The constraints.
const (
	ConstraintTheta     Constraint = "theta_max"       // no live instance above L_max,d
	ConstraintTable     Constraint = "table_limit"     // N_A' ≤ A_max
	ConstraintMigration Constraint = "migration_limit" // of objective MinImbalance
	ConstraintPlacement Constraint = "placement"       // a rule on where keys may be
	// ConstraintCapacity: no live instance takes more of a limited resource than it has. Limit is 1, and
	// AtLeast the greatest part of a capacity that is taken at least.
	ConstraintCapacity Constraint = "capacity"
)

// Load is what a plan does to one instance. Loads are in units of cost.
type Load struct {
	Fair                  float64 // L̄_d; 0 on an instance that is not live
	Max                   float64 // L_max,d = (1+θ_max)·L̄_d
	Least                 float64 // a_d, see Options.ThetaMin; 0 where nothing is asked for
	Bound                 float64 // b_d = max(L_max,d, background_d)
	Before, After         float64
	KeysBefore, KeysAfter int64
	StateIn, StateOut     float64
}

// HotKey is a key so costly that no instance can carry it within L_max.
type HotKey struct {
	Item     int32
	Instance int32   // index into Snapshot.Instances: where its (first) unit was placed
	Cost     float64 // c(k)
	// Pieces is the least number of instances whose room together would carry
	// it, if it could be split; 0 when even all of them could not, and where there are several resources.
	Pieces int
	// ForcedTheta is the least θ that any plan has because of this key.
	ForcedTheta float64
	// Resource is that in which the key is too large, of which Cost and ForcedTheta are then, or the part of a
	// capacity that is taken at least; empty: cost.
	Resource string
}

// ResourceFigures is what a plan does to the instances in one of Snapshot.Resources.
type ResourceFigures struct {
	// Level is the largest overload max_d L(d)/L̄_d − 1, ≥ 0, over live instances as Plan.Theta is; of a
	// limited resource the greatest L(d) / capacity, +∞ where that is 0 and L(d) is not.
	Level Comparison
	// Balanced: no live instance is above its bound.
	Balanced bool
	// Worst is the instance of Level after the plan, an index into Snapshot.Instances.
	Worst     int32
	Instances []ResourceLoad // parallel to Plan.Instances
}

func (x ResourceFigures) exceeded() bool { return !x.Balanced }

// ResourceLoad is what keys take of a resource on an instance, in its unit.
type ResourceLoad struct {
	Fair          float64 // 0 of a limited resource, and of an instance that is not live
	Max           float64 // (1+θ_max)·Fair, or the capacity
	Bound         float64 // what counts: Max, or what stays there whatever the plan, if that is more
	Before, After float64
}

// Plan is the answer of a strategy: the new assignment F' as differences to F
// and to the committed table, and its figures. All indices refer to Snapshot.
type Plan struct {
	Snapshot  *Snapshot
	Strategy  string
	Options   Options
	EndReason EndReason
	WorkUnits int64
	Causes    []Cause

	// Balanced: no live instance is above L_max,d, and none above its bound in another resource.
	Balanced bool
	// Resources are the figures of each of Snapshot.Resources.
	Resources []ResourceFigures
	// Unfilled are the live instances that the plan leaves below a_d, see Options.ThetaMin,
	// in ascending order.
	Unfilled []Unfilled
	// TableWithinLimit: TableAfter ≤ Options.TableLimit.
	TableWithinLimit bool
	// Theta is the largest overload max_d L(d)/L̄_d − 1, ≥ 0, over live instances.
	Theta Comparison
	// Underload is the largest 1 − L(d)/L̄_d, ≥ 0, over live instances.
	Underload Comparison
	// Skewness is max L over mean L of the live instances; 1 without any cost.
	Skewness Comparison
	// TableBefore and TableAfter are the sizes of the table, in entries (keys).
	TableBefore, TableAfter int64
	Migration               Migration
	// Instances is parallel to Snapshot.Instances, but for what Homeless adds; those of frozen ones are all 0.
	Instances []Load
	// HotKeys in descending cost.
	HotKeys []HotKey
	// Certificate bounds what any plan can reach. Nil when Options turned it off, or an
	// instance stays unfilled.
	Certificate *Certificate

	// Moves is Δ(F,F') in canonical key order, then by destination; behind the move of
	// an item those that gather its shares.
	Moves []Move
	// Set and Unset turn the committed table into the planned one, in canonical
	// key order. Nil for items with counts, which have no entries of their own.
	Set   []Setting
	Unset []Removal
	// Splits are the keys that the plan has split, in canonical key order: those of
	// Snapshot.Splits that it leaves as they are, too. Set has none of them.
	Splits []PlannedSplit

	made  bool // by a function of this package: then score is set
	score assign.Score
	// proven is the certificate's bound as the proof has it; LowerBound is at most what
	// the plan reaches, which sums up in another order.
	proven float64
}

// UnsetKey returns the key of Unset[i]. The slice is shared.
func (p *Plan) UnsetKey(i int) []byte {
	keys, at := p.Unset[i].list(p.Snapshot)
	return keys.At(at)
}

// list returns the list that holds the key, and where in it.
func (u Removal) list(s *Snapshot) (keys *Keys, at int) {
	if u.Item >= 0 {
		return s.Keys, int(u.Item)
	}
	return s.Table.keys, int(u.Entry)
}

// Empty reports whether the plan changes nothing at all.
func (p *Plan) Empty() bool {
	return len(p.Moves) == 0 && len(p.Set) == 0 && len(p.Unset) == 0 && !p.Resplits()
}

// Resplits reports whether the plan divides any key otherwise than it is.
func (p *Plan) Resplits() bool {
	return slices.ContainsFunc(p.Splits, func(x PlannedSplit) bool { return x.Changed })
}

// Acts reports whether the plan is worth a new version of the table: it moves keys, divides
// them otherwise, follows a change of the hash, or brings a table that is over its limit nearer to it.
func (p *Plan) Acts() bool {
	limit := p.Options.TableLimit
	return p.Snapshot.HashChanged || len(p.Moves) > 0 || p.Resplits() ||
		limit != nil && p.TableBefore > *limit && len(p.Set)+len(p.Unset) > 0
}

// LeaveTable has a plan that moves nothing leave every entry of the table alone, those of
// drifted and absent keys included.
func (p *Plan) LeaveTable() {
	p.Set, p.Unset, p.TableAfter = nil, nil, p.TableBefore
	p.TableWithinLimit = p.Options.TableLimit == nil || p.TableAfter <= *p.Options.TableLimit
}

// HeldAgainst is the plan as one that was made for lower bounds than what it is to be held against: θ_max, and
// those of the resources of a snapshot that is as its own for the rest. Its certificate is about the lower ones still.
func (p *Plan) HeldAgainst(s *Snapshot, thetaMax float64) *Plan {
	if thetaMax == p.Options.ThetaMax {
		return p
	}
	out := *p
	out.Options.ThetaMax = thetaMax
	out.Instances = slices.Clone(p.Instances)
	for d := range out.Instances {
		x := &out.Instances[d]
		x.Max = (1 + thetaMax) * x.Fair
		x.Bound = max(x.Bound, x.Max)
	}
	within := func(theta float64) bool { return theta <= thetaMax+float64(exact.Tolerance*(1+thetaMax)) }
	out.HotKeys = slices.DeleteFunc(slices.Clone(p.HotKeys), func(k HotKey) bool {
		return k.Resource == "" && within(k.ForcedTheta)
	})
	if p.Snapshot != s {
		out.Resources = slices.Clone(p.Resources)
		for r := range s.Resources {
			out.holdResource(s, r)
		}
		out.Snapshot = s
	}
	out.Balanced = within(p.Theta.After) && !slices.ContainsFunc(out.Resources, ResourceFigures.exceeded)
	out.Causes = slices.DeleteFunc(slices.Clone(p.Causes), func(c Cause) bool {
		return (c == CauseHotKey || c == CauseUnnamed) && len(out.HotKeys) == 0 || c == CauseNothingMovable && out.Balanced
	})
	return &out
}

// holdResource has what is told of a resource be about its bounds in another snapshot.
func (p *Plan) holdResource(s *Snapshot, r int) {
	of, x, part := s.Resources[r], &p.Resources[r], 1.0 // of capacities that the plan was made for
	x.Instances, x.Balanced = slices.Clone(x.Instances), true
	for d := range x.Instances {
		y := &x.Instances[d]
		if !s.Instances[d].Live() {
			continue
		}
		y.Max = float64((1 + of.ThetaMax) * y.Fair)
		if of.Limited {
			y.Max = s.CapacityOf(d, r)
		}
		if of.Limited && y.Max > 0 {
			part = p.Snapshot.CapacityOf(d, r) / y.Max
		}
		y.Bound = max(y.Bound, y.Max)
		x.Balanced = x.Balanced && y.After <= y.Max*(1+exact.Tolerance)
	}
	most := of.ThetaMax
	if of.Limited {
		most = 1
		x.Level.Before, x.Level.After = x.Level.Before*part, x.Level.After*part
	}
	p.HotKeys = slices.DeleteFunc(p.HotKeys, func(k HotKey) bool {
		return k.Resource == of.Name && k.ForcedTheta*part <= most+float64(exact.Tolerance*(1+most))
	})
	for i := range p.HotKeys {
		if k := &p.HotKeys[i]; k.Resource == of.Name {
			k.ForcedTheta *= part
		}
	}
	if p.Certificate == nil {
		return
	}
	proven := *p.Certificate
	proven.Unmet = slices.Clone(proven.Unmet)
	for i := range proven.Unmet {
		if u := &proven.Unmet[i]; u.Resource == of.Name && of.Limited {
			u.Limit, u.AtLeast, u.Without = u.Limit*part, u.AtLeast*part, u.Without*part
		}
	}
	p.Certificate = &proven
}

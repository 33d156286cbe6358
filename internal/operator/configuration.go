package operator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/absence"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/store"
)

// SchemeName names a way to say where every key belongs.
type SchemeName string

// The schemes.
const (
	SchemeTable  SchemeName = "table"  // a hash function, and a routing table of exceptions
	SchemeRing   SchemeName = "ring"   // tokens on a consistent-hash ring
	SchemeRanges SchemeName = "ranges" // owners of ranges of the key space
	SchemePkg    SchemeName = "pkg"    // several candidates for each key
)

// Check finds that this program does not know the scheme, which a newer one may have
// stored.
func (s SchemeName) Check() error {
	if slices.Contains(parameters.Schemes(), string(s)) {
		return nil
	}
	return fmt.Errorf("the scheme %q is none that this version knows", s)
}

// TableOwner is who holds the routing table.
type TableOwner string

// The owners of a routing table.
const (
	OwnerPlanner TableOwner = "planner"
	OwnerEngine  TableOwner = "engine"
)

// OnPending is what becomes of a plan that waits for approval when another is made.
type OnPending string

// The choices of OnPending.
const (
	PendingKeep    OnPending = "keep"
	PendingReplace OnPending = "replace"
)

// MissingReports is what a plan made of reports does about missing ones.
type MissingReports string

// The choices of MissingReports.
const (
	MissingFail   MissingReports = "fail"   // there is no plan
	MissingFreeze MissingReports = "freeze" // their instances keep what they have
	MissingCarry  MissingReports = "carry"  // earlier reports stand in
)

// defaultTTL is how long plans wait for approval unless their operator says otherwise.
const defaultTTL = 10 * time.Minute

var defaultReports = ReportOptions{Missing: MissingFail, MaxAge: 3}

// Limits of how long a plan may wait for approval.
const (
	shortestTTL = time.Second
	longestTTL  = 365 * 24 * time.Hour
)

// Configuration is an operator's configuration with all defaults filled in. Its
// JSON is what the store keeps, and is compared byte for byte: equal configurations
// have equal JSON.
type Configuration struct {
	Scheme    SchemeName `json:"scheme"`
	Instances Instances  `json:"instances"` // ascending ids
	Strategy  string     `json:"strategy"`
	Parameters
	Hash Hash `json:"hash"`
	// Policy says when plans are made, and on which costs. It is set once the configuration
	// is complete; Trigger, in place of which it stands then, is not.
	Policy  *PolicyChoice `json:"policy,omitzero"`
	Trigger *Trigger      `json:"trigger,omitzero"`
	ApprovalRule
	TableOwner TableOwner    `json:"table_owner"`
	Reports    ReportOptions `json:"reports"`
	Retention  Retention     `json:"retention"`
	// EntryGrace is for how many intervals in a row a key must be absent before its entry
	// may be dropped.
	EntryGrace int `json:"entry_grace"`
	// BalanceWorth is what balance is worth beside moved state when a policy is chosen, see [policy.Price]. 0: its
	// default.
	BalanceWorth float64 `json:"balance_worth,omitzero"`
	// Window is the number of intervals whose added states are the state of a key. 0: one, so
	// rows tell all state.
	Window int `json:"window,omitzero"`
	// Placement says which instances may have which keys; nil: any may have all.
	Placement *Placement `json:"placement,omitzero"`
	// Resources are what keys take of an instance, cost first; nil: cost is all that counts.
	Resources Resources `json:"resources,omitzero"`
	// Batches bound the batches in which plans are handed over; nil: each goes at once.
	Batches *BatchBounds `json:"batches,omitzero"`
	// TransferRate is how much state an instance sends and receives in a second; 0: it is not
	// known.
	TransferRate float64 `json:"transfer_rate,omitzero"`
	// StoreInputs: the statistics of each interval are stored beside its plan.
	StoreInputs bool `json:"store_inputs"`
}

// Instances are those of an operator. In JSON a number n is short for n instances with
// the ids from 0 and no more said.
type Instances []Instance

// UnmarshalJSONFrom reads a number or an array.
func (i *Instances) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '0' {
		return json.UnmarshalDecode(dec, (*[]Instance)(i))
	}
	n := 0
	if err := json.UnmarshalDecode(dec, &n); err != nil {
		return err
	}
	*i = make(Instances, n)
	for id := range *i {
		(*i)[id].ID = int32(id)
	}
	return nil
}

// Instance is an instance of an operator. Of one that is still to be completed a
// capacity of 0 stands for 1.
type Instance struct {
	ID       int32   `json:"id"`
	Name     string  `json:"name,omitzero"` // "": it has none
	Capacity float64 `json:"capacity"`
	// Capacities are by the names of Configuration.Resources but the first.
	Capacities map[string]float64 `json:"capacities,omitzero"`
	Tokens     int                `json:"tokens,omitzero"` // on a ring; 0: as many as the hash function says
	// Labels are what rules of Placement know it by.
	Labels map[string]string `json:"labels,omitzero"`
	Takes  string            `json:"takes,omitzero"` // [TakesNone], or all
}

// Hash holds the fields that belong to Function, and only those.
type Hash struct {
	Function          string  `json:"function"`
	TokensPerInstance int     `json:"tokens_per_instance,omitzero"`
	MaxParallelism    int     `json:"max_parallelism,omitzero"`
	KeyType           string  `json:"key_type,omitzero"`
	Partitions        int     `json:"partitions,omitzero"`
	Assignment        []int32 `json:"assignment,omitzero"`
	// Affinity says which part of a key is its routed key.
	Affinity partitioner.Affinity `json:"affinity,omitzero"`
}

// ApprovalRule says which plans wait for a person's approval, and how long.
type ApprovalRule struct {
	// RequireApproval is short for [AutoNever]. It follows from Approval, where that says
	// which plans wait; nil: nobody has said it.
	RequireApproval *bool           `json:"require_approval"`
	Approval        ApprovalOptions `json:"approval"`
}

// Auto says which plans nobody has to approve.
type Auto string

// The choices of Auto.
const (
	AutoWithinLimits Auto = "within_limits"
	AutoAlways       Auto = "always"
	AutoNever        Auto = "never"
)

// ApprovalOptions say which plans wait for approval, and how.
type ApprovalOptions struct {
	Auto           Auto                       `json:"auto"`          // "": nobody has said it
	MaxMigration   *parameters.MigrationLimit `json:"max_migration"` // that needs no approval; nil: any
	MinStatistics  MinStatistics              `json:"min_statistics"`
	SmallIntervals int                        `json:"small_intervals"` // in a row that are not planned on
	OnPending      OnPending                  `json:"on_pending"`
	TTL            *parameters.Duration       `json:"ttl"` // 0: for ever
	// Approvers is how many different people have to approve a plan that waits; 0: one.
	Approvers int64 `json:"approvers,omitzero"`
	// StartWindows are when plans may be started; none: at any time.
	StartWindows []StartWindow `json:"start_windows,omitzero"`
}

// MinStatistics are the least statistics that are acted upon.
type MinStatistics struct {
	Keys      int64   `json:"keys"`
	CostShare float64 `json:"cost_share"` // of the cost of the interval before
}

// defaultApproval is what nobody has said otherwise.
var defaultApproval = ApprovalOptions{MinStatistics: MinStatistics{Keys: 1, CostShare: 0.2}, SmallIntervals: 3}

// ReportOptions say what a plan made of reports does about missing ones.
type ReportOptions struct {
	Missing MissingReports `json:"missing"`
	MaxAge  int64          `json:"max_age"`
	// Lease is for how long an instance counts as there after a report; nil: for ever.
	Lease *parameters.Duration `json:"lease,omitzero"`
}

// Retention says how much of an operator's history is kept; 0 keeps all.
type Retention struct {
	Inputs   int `json:"inputs"`
	Plans    int `json:"plans"`
	Versions int `json:"versions"`
}

// ParseConfiguration reads a configuration as an operator is given it, with the defaults
// of what it leaves out, hash as that of the hash function. It is to be completed by
// [NewConfiguration].
func ParseConfiguration(text []byte, hash string) (Configuration, error) {
	c := Configuration{
		Scheme: SchemeTable, Strategy: planner.DefaultStrategy, Parameters: Parameters{Values: parameters.Defaults()},
		Hash: Hash{Function: hash}, TableOwner: OwnerPlanner, Reports: defaultReports,
		ApprovalRule: ApprovalRule{Approval: defaultApproval},
		Retention:    Retention{Inputs: 20, Plans: 10_000, Versions: 1000}, StoreInputs: true,
		EntryGrace: absence.DefaultGrace,
	}
	err := json.Unmarshal(text, &c.Parameters)
	if err == nil {
		err = json.Unmarshal(text, &c)
		setThetaMax(&c, text)
	}
	return c, err
}

// checkTTL finds what is wrong with how long a plan may wait for approval.
func (a ApprovalRule) checkTTL() error {
	if a.Approval.TTL == nil {
		return nil
	}
	ttl := time.Duration(*a.Approval.TTL)
	if ttl == 0 || shortestTTL <= ttl && ttl <= longestTTL {
		return nil
	}
	return planner.Invalid("approval/ttl", fmt.Sprintf("must be 0s or from %v to %v", shortestTTL, longestTTL))
}

// check finds what contradicts itself, or is out of range.
func (a ApprovalRule) check() error {
	if said := a.RequireApproval; said != nil && a.Approval.Auto != "" && *said != (a.Approval.Auto == AutoNever) {
		return planner.Invalid("require_approval", fmt.Sprintf("contradicts approval/auto, which is %s: it is short for %s",
			a.Approval.Auto, AutoNever))
	}
	return cmp.Or(a.checkTTL(), a.checkWindows())
}

// withDefaults fills in what nobody has said: a stored configuration may be older
// than the choice.
func (a ApprovalRule) withDefaults() ApprovalRule {
	if a.Approval.Auto == "" {
		a.Approval.Auto = AutoWithinLimits
		if a.RequireApproval != nil && *a.RequireApproval {
			a.Approval.Auto = AutoNever
		}
	}
	never := a.Approval.Auto == AutoNever
	a.RequireApproval = &never
	a.Approval.OnPending = cmp.Or(a.Approval.OnPending, PendingKeep)
	if a.Approval.Approvers == 1 {
		a.Approval.Approvers = 0
	}
	if a.Approval.TTL == nil {
		ttl := parameters.Duration(defaultTTL)
		a.Approval.TTL = &ttl
	}
	return a
}

// FirstStatus is that of a plan that is to be carried out.
func FirstStatus(waits bool) store.Status {
	if waits {
		return store.StatusProposed
	}
	return store.StatusApproved
}

// Expiry is when a plan expires that waits since a time, for approval or, from then on, to be started;
// nil: never.
func (a ApprovalRule) Expiry(at time.Time) *time.Time {
	if *a.Approval.TTL == 0 {
		return nil
	}
	return new(at.Add(time.Duration(*a.Approval.TTL)))
}

// OnPending says what becomes of a plan that waits when another is stored.
func (a ApprovalRule) OnPending() store.PendingPolicy {
	if a.Approval.OnPending == PendingReplace {
		return store.PendingReplace
	}
	return store.PendingKeep
}

// withSchemeDefaults spells out the defaults of the hash function, and of the scheme's
// own parameters.
func (c Configuration) withSchemeDefaults() Configuration {
	if a := &c.Hash.Affinity; a.Until != "" {
		a.Count = cmp.Or(a.Count, 1)
	}
	switch c.Hash.Function {
	case partitioner.Ring:
		c.Hash.TokensPerInstance = cmp.Or(c.Hash.TokensPerInstance, partitioner.DefaultTokensPerInstance)
	case partitioner.Flink:
		c.Hash.MaxParallelism = cmp.Or(c.Hash.MaxParallelism, partitioner.DefaultMaxParallelism)
		c.Hash.KeyType = cmp.Or(c.Hash.KeyType, partitioner.String)
	}
	if p := c.Ring; p != nil && p.Method != ring.Fitted {
		tau := ring.DefaultTau
		p.Tau, p.MaxRounds = cmp.Or(p.Tau, &tau), cmp.Or(p.MaxRounds, ring.DefaultMaxRounds)
	}
	if p := c.Ranges; p != nil {
		p.Phase = cmp.Or(p.Phase, PhaseGet)
		if p.Method != ranges.Quantile {
			p.MaxIntervals = cmp.Or(p.MaxIntervals, ranges.DefaultMaxIntervals)
		}
	}
	return c
}

// Has reports whether id is one of the instances.
func (c Configuration) Has(id int32) bool {
	_, found := slices.BinarySearchFunc(c.Instances, id, func(d Instance, id int32) int { return cmp.Compare(d.ID, id) })
	return found
}

// partitioner returns the arguments of the hash function.
func (c Configuration) partitioner() (partitioner.Config, []partitioner.Instance) {
	instances := make([]partitioner.Instance, len(c.Instances))
	for i, d := range c.Instances {
		instances[i] = partitioner.Instance{ID: d.ID, Tokens: d.Tokens}
	}
	return partitioner.Config{
		Function: c.Hash.Function, TokensPerInstance: c.Hash.TokensPerInstance, MaxParallelism: c.Hash.MaxParallelism,
		KeyType: c.Hash.KeyType, Partitions: c.Hash.Partitions, Assignment: c.Hash.Assignment, Affinity: c.Hash.Affinity,
		Rules: c.Placement.Over(c.Instances),
	}, instances
}

// checkHash finds what is wrong with the hash and the instances.
func checkHash(c Configuration) error {
	err := partitioner.Validate(c.partitioner())
	input := parameters.InputError(err)
	switch {
	case input == nil || strings.HasPrefix(input.Field, "instances"):
		return err
	case strings.HasPrefix(input.Field, "rules"):
		return planner.Invalid("placement/"+input.Field, input.Detail)
	}
	return planner.Invalid("hash/"+input.Field, input.Detail)
}

// checkAffinity finds what does not go together with keys that stay together.
func checkAffinity(c Configuration) error {
	const field = "hash/affinity"
	switch {
	case c.Hash.Affinity.IsZero():
		return nil
	case c.Scheme != SchemeTable:
		return planner.Invalid(field, MeansNothing(c.Scheme))
	case c.Splitting.Allowed():
		return planner.Invalid(field, "is not for split keys: the keys of a routed key would part")
	}
	return nil
}

// Nodes are the instances as nodes of a ring, with the tokens they begin with.
func (c Configuration) Nodes() []ring.Node {
	out := make([]ring.Node, len(c.Instances))
	for i, d := range c.Instances {
		out[i] = ring.Node{ID: d.ID, Tokens: d.Tokens}
		if d.Tokens == 0 {
			out[i].Tokens = c.Hash.TokensPerInstance
		}
	}
	return out
}

// SamePlacement reports whether two configurations place every key alike.
func SamePlacement(a, b Configuration) bool {
	if sameRules(a, b) { // over other instances no two are the same
		a.Placement, b.Placement = nil, nil
	}
	ac, ai := a.partitioner()
	bc, bi := b.partitioner()
	return partitioner.Same(ac, ai, bc, bi)
}

// StoreRetention is how much the store is to keep. Where the last report of an instance tells
// whether it is lost, that is kept however old it is.
func (c Configuration) StoreRetention() store.Retention {
	out := store.Retention{
		Inputs: c.Retention.Inputs, Plans: c.Retention.Plans, Versions: c.Retention.Versions, ReportAge: c.Reports.MaxAge,
	}
	if c.Reports.Lease != nil {
		out.ReportAge = math.MaxInt64
	}
	return out
}

// checkLease finds what is wrong with the lease of reports.
func checkLease(c Configuration) error {
	const field = "reports/lease"
	switch lease := c.Reports.Lease; {
	case lease == nil:
		return nil
	case c.Scheme != SchemeRanges:
		return planner.Invalid(field, MeansNothing(c.Scheme))
	case time.Duration(*lease) < shortestTTL || time.Duration(*lease) > longestTTL:
		return planner.Invalid(field, fmt.Sprintf("must be from %v to %v", shortestTTL, longestTTL))
	}
	return nil
}

// KeptReports is how many reports of each instance are kept; 0: all.
func (c Configuration) KeptReports() int {
	if c.Retention.Inputs == 0 {
		return 0
	}
	return max(c.Retention.Inputs, int(min(c.Reports.MaxAge, math.MaxInt32-1))+1)
}

// DecodeConfiguration reads a stored configuration.
func DecodeConfiguration(text []byte) (Configuration, error) {
	c := Configuration{ // it is older than the choices
		StoreInputs: true, EntryGrace: absence.DefaultGrace, ApprovalRule: ApprovalRule{Approval: defaultApproval},
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, store.Unreadable("a stored configuration", err)
	}
	c.TableOwner = cmp.Or(c.TableOwner, OwnerPlanner) // likewise
	c.Scheme = cmp.Or(c.Scheme, SchemeTable)
	if err := c.Scheme.Check(); err != nil { // it may be of a newer program
		return c, fmt.Errorf("reading a stored configuration: %w", err)
	}
	if c.Policy == nil && c.Trigger == nil {
		c.Trigger = &Trigger{}
	}
	if err := c.settlePolicy(); err != nil {
		return c, store.Unreadable("a stored configuration", err)
	}
	if c.Scheme == SchemeTable {
		c.Effort = cmp.Or(c.Effort, planner.DefaultEffort)
		c.Splitting.MaxParts = cmp.Or(c.Splitting.MaxParts, 1)
	}
	if c.Ranges != nil {
		c.Ranges.Phase = cmp.Or(c.Ranges.Phase, PhaseGet)
	}
	c.ApprovalRule = c.ApprovalRule.withDefaults()
	c.Reports = ReportOptions{
		cmp.Or(c.Reports.Missing, defaultReports.Missing), cmp.Or(c.Reports.MaxAge, defaultReports.MaxAge),
		c.Reports.Lease,
	}
	return c, nil
}

// PatchedFrom returns the JSON of a configuration that a merge patch changes. Of the two
// members that say whether plans wait for a person, the one that follows from what the
// patch names is left out; so is the policy that a trigger takes the place of, and what the first
// resource says of theta_max.
func PatchedFrom(was, patch []byte) (_ []byte, err error) {
	base, said := membersOf(was), membersOf(patch)
	rule := membersOf(base["approval"])
	_, named := membersOf(said["approval"])["auto"]
	never := string(rule["auto"]) == strconv.Quote(string(AutoNever))
	if say := string(said["require_approval"]); !named && (say == "true" || say == "false" && never) {
		delete(rule, "auto")
	}
	delete(base, "require_approval")
	withoutThetaMax(base, said)
	if t, named := said["trigger"]; named && t.Kind() != 'n' {
		delete(base, "policy")
	}
	if base["approval"], err = json.Marshal(rule, json.Deterministic(true)); err != nil {
		return nil, err
	}
	return json.Marshal(base, json.Deterministic(true))
}

// membersOf are those of an object; what is none has none.
func membersOf(text jsontext.Value) map[string]jsontext.Value {
	members := map[string]jsontext.Value{}
	if text.Kind() != '{' || json.Unmarshal(text, &members) != nil {
		return map[string]jsontext.Value{}
	}
	return members
}

// FixedChoices are decided about an operator when it is created, but for the phase of its
// ranges, which only goes on.
type FixedChoices struct {
	Scheme     SchemeName        `json:"scheme"`
	TableOwner TableOwner        `json:"table_owner"`
	Ranges     *RangesParameters `json:"ranges"`
}

// FixedChoicesOf reads those of a stored operator.
func FixedChoicesOf(op store.Operator) (FixedChoices, error) {
	var f FixedChoices
	if err := json.Unmarshal(op.Config, &f); err != nil {
		return f, store.Unreadable("a stored configuration", err)
	}
	f.Scheme, f.TableOwner = cmp.Or(f.Scheme, SchemeTable), cmp.Or(f.TableOwner, OwnerPlanner)
	return f, f.Scheme.Check()
}

// Guard refuses to change what was decided when an operator was created.
func (f FixedChoices) Guard(op *store.Operator) error {
	if op == nil {
		return nil
	}
	was, err := FixedChoicesOf(*op)
	switch {
	case err != nil:
		return err
	case was.Scheme != f.Scheme:
		return refusal.New(refusal.SchemeFixed,
			"The scheme was decided when the operator was created: it is "+string(was.Scheme)+".")
	case was.TableOwner != f.TableOwner:
		return refusal.New(refusal.TableOwnerFixed, "table_owner is fixed when the operator is created.")
	case f.Ranges != nil && f.Ranges.Phase == PhasePut && was.Ranges.Phase != PhasePut:
		return planner.Invalid("ranges/phase", "must not become put again: the input has ended")
	}
	return nil
}

// RefuseNotHeld refuses to read the table of an operator whose engine holds it.
func RefuseNotHeld(op store.Operator) error {
	if f, err := FixedChoicesOf(op); f.TableOwner != OwnerEngine || err != nil {
		return err
	}
	return refusal.New(refusal.TableNotHeld, "The engine of the operator holds the routing table.")
}

// Planned are the parameters that plans are made under. One that may move as much as a
// migration limit says moves no more than needs no approval, if that is counted alike.
func (c Configuration) Planned() Parameters {
	p, most := c.Parameters, c.Approval.MaxMigration
	if p.MigrationLimit == nil || most == nil || c.Approval.Auto == AutoAlways {
		return p
	}
	limit := *p.MigrationLimit
	switch {
	case limit.State != nil && most.State != nil:
		limit.State = new(min(*limit.State, *most.State))
	case limit.Fraction != nil && most.Fraction != nil:
		limit.Fraction = new(min(*limit.Fraction, *most.Fraction))
	case limit.Keys != nil && most.Keys != nil:
		limit.Keys = new(min(*limit.Keys, *most.Keys))
	}
	p.MigrationLimit = &limit
	return p
}

// ScaledTo is the configuration with so many instances: those of the lowest ids, and, if
// they are too few, others of the lowest free ids, which have of resources but the first as much as the
// last one. The error is a [planner.InputError].
func (c Configuration) ScaledTo(n int) (Configuration, error) {
	if c.Hash.Function == partitioner.Reported {
		return c, planner.Invalid("hash/function", "must be one that can place keys, not "+partitioner.Reported)
	}
	instances := slices.Clone(c.Instances[:min(n, len(c.Instances))])
	for id := int32(0); len(instances) < n; id++ {
		if !c.Has(id) {
			instances = append(instances, Instance{ID: id, Capacity: 1, Capacities: c.Instances[len(c.Instances)-1].Capacities})
		}
	}
	slices.SortFunc(instances, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	c.Instances = instances
	return c, checkHash(c)
}

// Form is what programs must know that do right by the configuration; 0: nothing new.
func (c Configuration) Form() store.Form {
	switch {
	case c.Resources != nil:
		return store.FormResources
	case !c.Hash.Affinity.IsZero() || c.Placement != nil ||
		slices.ContainsFunc(c.Instances, func(d Instance) bool { return d.Takes == TakesNone }):
		return store.FormRouting
	case c.Approval.Approvers > 1 || len(c.Approval.StartWindows) > 0:
		return store.FormReviews
	case c.Window > 1 || c.Phase() == PhasePut:
		return store.FormReports
	}
	return 0
}

// Phase is that of the ranges; "": there are none.
func (c Configuration) Phase() RangesPhase {
	if c.Ranges == nil {
		return ""
	}
	return c.Ranges.Phase
}

// Choices is the number of candidates of a key outside of the head; 0: there is no head.
func (c Configuration) Choices() int {
	if c.Pkg == nil {
		return 0
	}
	return c.Pkg.Choices
}

// TakesQueues refuses queue lengths where nobody relieves an instance because of them. field
// is where the request has them.
func (c Configuration) TakesQueues(field string) error {
	switch {
	case c.Scheme != SchemeRing:
		return planner.Invalid(field, MeansNothing(c.Scheme))
	case c.Ring.Method == ring.Fitted:
		return planner.Invalid(field, "means nothing with the method fitted, which weighs keys")
	}
	return nil
}

// checkWindow finds what does not go together with states that are added up.
func checkWindow(c Configuration) error {
	const field = "window"
	switch {
	case c.Window <= 1:
		return nil
	case !c.StoreInputs:
		return planner.Invalid(field,
			"above 1 needs store_inputs: what the intervals before have added is in their statistics")
	case c.Retention.Inputs > 0 && c.Retention.Inputs < c.Window:
		return planner.Invalid(field,
			"must be at most retention.inputs: the statistics of as many intervals are added up")
	case c.TableOwner == OwnerEngine:
		return planner.Invalid(field, "above 1 is for a routing table that the service holds: it says where the state of "+
			"keys is that an interval does not name")
	case c.Hash.Function == partitioner.Reported:
		return planner.Invalid(field, "above 1 is not for a hash function that is reported: nothing says where it puts keys "+
			"that an interval does not name")
	case c.Splitting.Allowed():
		return planner.Invalid(field, "above 1 is not for split keys, whose parts have states of their own")
	case c.Reports.Missing != MissingFail:
		return planner.Invalid(field, "above 1 needs reports.missing fail: a report that is missing hides what was added")
	}
	return nil
}

// MeansNothing is why an input is refused under a scheme.
func MeansNothing(s SchemeName) string { return fmt.Sprintf("means nothing under the scheme %s", s) }

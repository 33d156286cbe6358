package api

import (
	"strconv"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// ringParameters are those of scheme ring, with defaults filled in.
type ringParameters struct {
	Method    ring.Method `json:"method"`
	Tau       *float64    `json:"tau,omitzero"`        // nil under fitted
	MaxRounds int         `json:"max_rounds,omitzero"` // 0 under fitted
}

// rangesParameters are those of scheme ranges, with defaults filled in.
type rangesParameters struct {
	Method       ranges.Method `json:"method"`
	MaxIntervals int           `json:"max_intervals,omitzero"` // 0 under quantile
}

func ringParametersOf(in wire.RingOptions) *ringParameters {
	p := &ringParameters{Method: ring.Method(or(in.Method, wire.RingMethod(ring.Halving)))}
	if p.Method != ring.Fitted {
		tau := or(in.Tau, ring.DefaultTau)
		p.Tau, p.MaxRounds = &tau, int(or(in.MaxRounds, ring.DefaultMaxRounds))
	}
	return p
}

func rangesParametersOf(in wire.RangesOptions) *rangesParameters {
	p := &rangesParameters{Method: ranges.Method(or(in.Method, wire.RangesMethod(ranges.MinMovement)))}
	if p.Method != ranges.Quantile {
		p.MaxIntervals = int(or(in.MaxIntervals, ranges.DefaultMaxIntervals))
	}
	return p
}

// options are those of a plan of the ring for so many instances, without Stop.
func (p *ringParameters) options(thetaMax float64, instances int) ring.PlanOptions {
	o := ring.PlanOptions{
		ThetaMax: min(thetaMax, planner.MaxAmount), Method: p.Method, Policy: ring.Policy{Tau: p.Tau}, MaxRounds: p.MaxRounds,
	}
	if p.Method == ring.Fitted {
		o.TokenLimit = max(1, min(ring.DefaultReachTokens, partitioner.MaxRingTokens/instances))
	}
	return o
}

// options are those of a plan of the ranges for so many instances, without Stop:
// there are never more ranges than can be planned on.
func (p *rangesParameters) options(thetaMax float64, instances int) ranges.Options {
	return ranges.Options{
		Method: p.Method, ThetaMax: min(thetaMax, planner.MaxAmount), MaxIntervals: min(p.MaxIntervals, ranges.MaxOwners/instances),
	}
}

// maxRangesInstances is the greatest number of instances under the scheme ranges: a
// plan is about those that are there and those that are to be.
const maxRangesInstances = ranges.MaxFollowers / 2

// checkScheme refuses what means nothing under the scheme of a configuration.
func checkScheme(in wire.OperatorConfiguration, prefix string) error {
	scheme, bad := or(in.Scheme, wire.SchemeTable), invalid()
	refuse := func(given bool, field, detail string) {
		if given {
			bad.at(prefix+"/"+field, detail)
		}
	}
	under := "means nothing under the scheme " + string(scheme)
	refuse(in.Ring != nil && scheme != wire.SchemeRing, "ring", under)
	refuse(in.Ranges != nil && scheme != wire.SchemeRanges, "ranges", under)
	if scheme != wire.SchemeTable {
		refuse(in.Strategy != nil, "strategy", under)
		refuse(in.TableLimit != nil, "table_limit", under)
		refuse(in.Beta != nil, "beta", under)
		refuse(in.KeyOverhead != nil, "key_overhead", under)
		refuse(in.Certificate != nil, "certificate", under)
		refuse(in.Objective != nil, "objective", under)
		refuse(in.MigrationLimit != nil, "migration_limit", under)
		refuse(in.WorkBudget != nil, "work_budget", under)
		refuse(in.Compact != nil, "compact", under)
		refuse(in.TableOwner != nil, "table_owner", under)
	}
	h, r, q := or(in.Hash, wire.Hash{}), or(in.Ring, wire.RingOptions{}), or(in.Ranges, wire.RangesOptions{})
	refuse(scheme == wire.SchemeRing && or(h.Function, wire.HashFunctionRing) != wire.HashFunctionRing, "hash/function", "must be ring under the scheme ring")
	refuse(scheme == wire.SchemeRanges && in.Hash != nil, "hash", under)
	refuse(scheme == wire.SchemeRanges && len(in.Instances) > maxRangesInstances, "instances",
		"must be at most "+strconv.Itoa(maxRangesInstances)+" under the scheme ranges")
	if ringParametersOf(r).Method == ring.Fitted {
		refuse(r.Tau != nil, "ring/tau", "means nothing with the method fitted")
		refuse(r.MaxRounds != nil, "ring/max_rounds", "means nothing with the method fitted")
	}
	if rangesParametersOf(q).Method == ranges.Quantile {
		refuse(q.MaxIntervals != nil, "ranges/max_intervals", "means nothing with the method quantile")
	}
	return bad.orNil()
}

// ofScheme returns the configuration with what its scheme knows, and nothing else.
func (c configuration) ofScheme(in wire.OperatorConfiguration) configuration {
	if c.Scheme == wire.SchemeTable {
		return c
	}
	c.Strategy = ""
	c.parameters = parameters{ThetaMax: c.ThetaMax, Deadline: c.Deadline}
	if c.Scheme == wire.SchemeRing {
		c.Ring = ringParametersOf(or(in.Ring, wire.RingOptions{}))
		return c
	}
	c.Hash, c.Ranges = hash{Function: partitioner.Reported}, rangesParametersOf(or(in.Ranges, wire.RangesOptions{}))
	return c
}

// checkTokens finds what is wrong with the tokens of a ring, and that ranges have
// none.
func (c configuration) checkTokens() error {
	if err := partitioner.Validate(c.partitioner()); err != nil {
		return err
	}
	if c.Scheme != wire.SchemeRing || c.Ring.Method != ring.Fitted {
		return nil
	}
	most := 0
	for _, n := range c.withHashDefaults().nodes() {
		most = max(most, n.Tokens)
	}
	if most > ring.MaxTokens/len(c.Instances) {
		return &planner.InputError{Row: -1, Field: "ring/method", Detail: "fitted cannot search as many tokens for as many instances"}
	}
	return nil
}

// nodes are the instances as nodes of a ring, with the tokens they begin with.
func (c configuration) nodes() []ring.Node {
	out := make([]ring.Node, len(c.Instances))
	for i, d := range c.Instances {
		out[i] = ring.Node{ID: d.ID, Tokens: d.Tokens}
		if d.Tokens == 0 {
			out[i].Tokens = c.Hash.TokensPerInstance
		}
	}
	return out
}

// schemeParameters are the parameters of scheme ring or ranges, and only those.
type schemeParameters struct {
	ThetaMax float64           `json:"theta_max"`
	Deadline *duration         `json:"deadline"`
	Ring     *ringParameters   `json:"ring,omitzero"`
	Ranges   *rangesParameters `json:"ranges,omitzero"`
}

func (p parameters) ofScheme() schemeParameters {
	return schemeParameters{ThetaMax: p.ThetaMax, Deadline: p.Deadline, Ring: p.Ring, Ranges: p.Ranges}
}

// encode returns the parameters as JSON: those that their scheme knows.
func (p parameters) encode() ([]byte, error) {
	if p.Ring != nil || p.Ranges != nil {
		return json.Marshal(p.ofScheme())
	}
	return json.Marshal(p)
}

// schemeConfiguration is a configuration of scheme ring or ranges as JSON, in the
// order of the contract.
type schemeConfiguration struct {
	Scheme    wire.Scheme `json:"scheme"`
	Instances []instance  `json:"instances"`
	schemeParameters
	Hash    *hash   `json:"hash,omitzero"`
	Trigger trigger `json:"trigger"`
	approval
	Reports     reportOptions `json:"reports"`
	Retention   retention     `json:"retention"`
	StoreInputs bool          `json:"store_inputs"`
}

func (c configuration) view() schemeConfiguration {
	out := schemeConfiguration{
		Scheme: c.Scheme, Instances: c.Instances, schemeParameters: c.parameters.ofScheme(), Trigger: c.Trigger, approval: c.approval, Reports: c.Reports,
		Retention: c.Retention, StoreInputs: c.StoreInputs,
	}
	if c.Scheme == wire.SchemeRing {
		out.Hash = &c.Hash
	}
	return out
}

// methodOf is the method of a scheme, which a plan names as its strategy.
func (p parameters) method() string {
	if p.Ring != nil {
		return string(p.Ring.Method)
	}
	return string(p.Ranges.Method)
}

// schemeOf is the scheme of a plan, told by the strategy that it names.
func schemeOf(strategy string) wire.Scheme {
	switch strategy {
	case string(ring.Halving), string(ring.Doubling), string(ring.Fitted):
		return wire.SchemeRing
	case string(ranges.Quantile), string(ranges.MinMovement):
		return wire.SchemeRanges
	}
	return wire.SchemeTable
}

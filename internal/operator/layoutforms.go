package operator

import (
	"cmp"
	"fmt"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// layoutForm is what the forms of the schemes without a routing table have in common.
type layoutForm struct{}

// layoutParameters are the parameters of a scheme without a routing table, and only those.
type layoutParameters struct {
	ThetaMax float64              `json:"theta_max"`
	Deadline *parameters.Duration `json:"deadline"`
	Ring     *RingParameters      `json:"ring,omitzero"`
	Ranges   *RangesParameters    `json:"ranges,omitzero"`
	Pkg      *PkgParameters       `json:"pkg,omitzero"`
}

// layoutConfiguration is a configuration of such a scheme as JSON, in the order of the
// contract.
type layoutConfiguration struct {
	Scheme    SchemeName `json:"scheme"`
	Instances []Instance `json:"instances"`
	layoutParameters
	Hash   *Hash         `json:"hash,omitzero"`
	Policy *PolicyChoice `json:"policy"`
	ApprovalRule
	Reports     ReportOptions `json:"reports"`
	Retention   Retention     `json:"retention"`
	StoreInputs bool          `json:"store_inputs"`
}

func layoutParametersOf(p Parameters) layoutParameters {
	return layoutParameters{ThetaMax: p.ThetaMax, Deadline: p.Deadline, Ring: p.Ring, Ranges: p.Ranges, Pkg: p.Pkg}
}

// withLayoutParameters leaves of the parameters what the schemes without a routing
// table know.
func withLayoutParameters(c Configuration) Configuration {
	c.Strategy = ""
	c.Parameters = Parameters{
		Values: parameters.Values{Options: planner.Options{ThetaMax: c.ThetaMax}, Deadline: c.Deadline}, Ring: c.Ring,
		Ranges: c.Ranges, Pkg: c.Pkg,
	}
	return c
}

func (layoutForm) configuration(c Configuration) any {
	var hash *Hash // the others have none that anybody chooses
	if c.Scheme == SchemeRing {
		hash = &c.Hash
	}
	return layoutConfiguration{
		Scheme: c.Scheme, Instances: c.Instances, layoutParameters: layoutParametersOf(c.Parameters), Hash: hash,
		Policy: c.Policy, ApprovalRule: c.ApprovalRule, Reports: c.Reports, Retention: c.Retention,
		StoreInputs: c.StoreInputs,
	}
}

func (layoutForm) parameters(p Parameters) any { return layoutParametersOf(p) }

// ringForm is that of token rings.
type ringForm struct{ layoutForm }

func (ringForm) restrict(c Configuration) Configuration {
	p := RingParameters{Method: ring.Halving}
	if c.Ring != nil {
		p = RingParameters{cmp.Or(c.Ring.Method, p.Method), c.Ring.Tau, c.Ring.MaxRounds}
	}
	c.Ring = &p
	return withLayoutParameters(c)
}

// check finds what is wrong with the hash, the tokens and the parameters of a ring.
func (ringForm) check(c Configuration) error {
	if c.Hash.Function != partitioner.Ring {
		return planner.Invalid("hash/function", "must be ring under the scheme ring")
	}
	if err := cmp.Or(checkHash(c), checkAffinity(c), checkLayoutPolicy(c)); err != nil {
		return err
	}
	const needless = "means nothing with the method fitted"
	switch {
	case c.Ring.Method != ring.Fitted:
		return nil
	case c.Ring.Tau != nil:
		return planner.Invalid("ring/tau", needless)
	case c.Ring.MaxRounds != 0:
		return planner.Invalid("ring/max_rounds", needless)
	}
	most := 0
	for _, n := range c.withSchemeDefaults().Nodes() {
		most = max(most, n.Tokens)
	}
	if most > ring.MaxTokens/len(c.Instances) {
		return planner.Invalid("ring/method", "fitted cannot search as many tokens for as many instances")
	}
	return nil
}

func (ringForm) hashFunction(c Configuration) (planner.HashFunction, error) {
	return ring.New(c.Nodes()), nil
}

// rangesForm is that of key ranges.
type rangesForm struct{ layoutForm }

// maxRangesInstances is the greatest number of instances under the scheme ranges: a
// plan is about those that are there and those that are to be.
const maxRangesInstances = ranges.MaxFollowers / 2

func (rangesForm) restrict(c Configuration) Configuration {
	p := RangesParameters{Method: ranges.MinMovement}
	if c.Ranges != nil {
		p = RangesParameters{cmp.Or(c.Ranges.Method, p.Method), c.Ranges.MaxIntervals, c.Ranges.Phase}
	}
	c.Ranges, c.Hash = &p, Hash{Function: partitioner.Reported}
	return withLayoutParameters(c)
}

// check sees that instances are not too many, and have no tokens.
func (rangesForm) check(c Configuration) error {
	switch {
	case len(c.Instances) > maxRangesInstances:
		return planner.Invalid("instances", fmt.Sprintf("must be at most %d under the scheme ranges", maxRangesInstances))
	case c.Ranges.Method == ranges.Quantile && c.Ranges.MaxIntervals != 0:
		return planner.Invalid("ranges/max_intervals", "means nothing with the method quantile")
	}
	return cmp.Or(checkHash(c), checkLayoutPolicy(c))
}

func (rangesForm) hashFunction(Configuration) (planner.HashFunction, error) { return nil, nil }

// pkgForm is that of partial key grouping.
type pkgForm struct{ layoutForm }

func (pkgForm) restrict(c Configuration) Configuration {
	p := PkgParameters{Method: grouping.DChoices, Choices: grouping.DefaultChoices}
	if c.Pkg != nil {
		p = PkgParameters{cmp.Or(c.Pkg.Method, p.Method), cmp.Or(c.Pkg.Choices, p.Choices)}
	}
	c.Pkg, c.Hash = &p, Hash{Function: partitioner.Reported}
	return withLayoutParameters(c)
}

func (pkgForm) check(c Configuration) error { return cmp.Or(checkHash(c), checkLayoutPolicy(c)) }

func (pkgForm) hashFunction(Configuration) (planner.HashFunction, error) { return nil, nil }

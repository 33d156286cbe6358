package job

import (
	"fmt"
	"slices"

	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/wire"
)

// policy is a way to place keys: a configuration of the job and of plannerd.
type policy struct {
	name     string
	plans    bool // plannerd moves keys
	strategy wire.Strategy
	choice   wire.PolicyChoice // nil: plannerd's default, auto
}

// last plans on the last interval, as the paper of mixed routing does.
var last = wire.PolicyChoice(map[string]any{"forecast": map[string]any{"method": "last"}})

var policies = []policy{
	{name: "hash"},
	{name: "mixed", plans: true, strategy: wire.StrategyMixed, choice: last},
	{name: "optimal", plans: true, strategy: wire.StrategyOptimal},
}

// setPolicy takes a policy by its name.
func (c *config) setPolicy(name string) error {
	i := slices.IndexFunc(policies, func(p policy) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("there is no policy %q", name)
	}
	c.policy = policies[i]
	return nil
}

// operator is what plannerd is told of the job on so many instances.
func (c config) operator(instances int) wire.OperatorConfiguration {
	out := wire.OperatorConfiguration{ThetaMax: &c.theta, Hash: &wire.Hash{Function: new(wire.HashFunctionModulo)},
		// Nobody is here to approve of plans. After a crash an interval may have many times the
		// messages of others, beside which these would be too small to be acted upon.
		Approval: &wire.ApprovalOptions{Auto: new(wire.ApprovalAutoAlways), OnPending: new(wire.OnPendingReplace),
			MinStatistics: &wire.MinStatistics{CostShare: new(0.0)}}}
	for i := range int32(instances) {
		out.Instances = append(out.Instances, wire.Instance{Id: i})
	}
	if c.policy.strategy != "" {
		out.Strategy = &c.policy.strategy
	}
	if c.policy.choice != nil {
		out.Policy = &c.policy.choice
	}
	if c.batch > 0 {
		out.Batches = &wire.BatchBounds{Keys: &c.batch}
	}
	return out
}

// mode is what becomes of the messages of keys that move.
func (c config) mode() handoff.Mode { return handoff.Mode(c.follows) }

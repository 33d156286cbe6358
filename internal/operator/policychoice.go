package operator

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

// autoPolicy is how JSON says that the policy is to be chosen.
const autoPolicy = "auto"

// PolicyChoice is the policy of an operator, or says that it is to be chosen by how
// policies would have done. In JSON it is an object, or "auto".
type PolicyChoice struct {
	Auto bool
	policy.Policy
}

// OnLast is the policy that plans on the last interval whenever something is to be done.
var OnLast = policy.Policy{Forecast: forecast.Config{Method: forecast.Last}}

// MarshalJSONTo writes the policy or "auto".
func (p PolicyChoice) MarshalJSONTo(enc *jsontext.Encoder) error {
	if p.Auto {
		return enc.WriteToken(jsontext.String(autoPolicy))
	}
	return json.MarshalEncode(enc, p.Policy)
}

// UnmarshalJSONFrom reads what MarshalJSONTo writes.
func (p *PolicyChoice) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*p = PolicyChoice{}
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, &p.Policy)
	}
	said, err := dec.ReadToken()
	if err == nil && said.String() != autoPolicy {
		err = fmt.Errorf("the policy %q is none", said.String())
	}
	p.Auto = true
	return err
}

// Trigger is short for the policy that plans on the last interval and has these.
type Trigger struct {
	Theta             *float64 `json:"theta"`
	CooldownIntervals int      `json:"cooldown_intervals"`
}

func (t Trigger) policy() policy.Policy {
	p := OnLast
	p.Trigger.Theta, p.CooldownIntervals = t.Theta, t.CooldownIntervals
	return p
}

// settlePolicy puts the policy in the place of the trigger, or of what nobody has said.
func (c *Configuration) settlePolicy() error {
	switch {
	case c.Policy != nil && c.Trigger != nil:
		return planner.Invalid("trigger", "contradicts policy: it is short for one")
	case c.Trigger != nil:
		if t := c.Trigger; t.Theta != nil && *t.Theta <= c.ThetaMax { // nothing is done within θ_max anyway
			c.Trigger = &Trigger{CooldownIntervals: t.CooldownIntervals}
		}
		c.Policy = &PolicyChoice{Policy: c.Trigger.policy()}
	case c.Policy == nil && c.Scheme == SchemeTable:
		c.Policy = &PolicyChoice{Auto: true}
	case c.Policy == nil:
		c.Policy = &PolicyChoice{Policy: OnLast}
	}
	c.Trigger = nil
	return nil
}

// checkPolicy finds what is wrong with the policy of a routing table.
func checkPolicy(c Configuration) error {
	if c.Policy.Auto {
		return nil
	}
	if c.Policy.Budget != nil && c.Objective == planner.MinImbalance {
		return planner.Invalid("policy/budget", "belongs to the objective min_migration: min_imbalance has its own limit")
	}
	return inPolicy(c.Policy.Validate())
}

// checkLayoutPolicy finds what is wrong with the policy of a scheme without keys to
// forecast.
func checkLayoutPolicy(c Configuration) error {
	p := c.Policy
	known := Trigger{p.Trigger.Theta, p.CooldownIntervals}.policy()
	if p.Auto || p.Policy != known {
		return planner.Invalid("policy", "may have the forecast last, trigger/theta and cooldown_intervals alone under the "+
			"scheme "+string(c.Scheme))
	}
	return inPolicy(p.Validate())
}

// inPolicy points an input error at a member of the policy.
func inPolicy(err error) error {
	if input := parameters.InputError(err); input != nil {
		return planner.Invalid("policy/"+input.Field, input.Detail)
	}
	return err
}

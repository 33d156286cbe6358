package job

import (
	"fmt"
	"slices"

	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/route"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// policy is a way to place keys: a configuration of the job and of plannerd.
type policy struct {
	name, label string
	plans       bool // plannerd moves keys
	strategy    wire.Strategy
	choice      wire.PolicyChoice // nil: plannerd's default, auto
	maxParts    wire.MaxParts     // of a hot key; 0: it stays whole
	partitions  int               // for each instance: they move whole; 0: keys move
	// Choices is how many instances a router chooses from for each message, by what it sent;
	// −1: all take turns; 0: the table says where it goes.
	choices int
	// Partial: a key may have a part of its state on each of several instances. Merged: the
	// parts are merged from time to time, at one instance for each key.
	partial, merged bool
}

// last plans on the last interval, as the paper of mixed routing does.
var last = wire.PolicyChoice(map[string]any{"forecast": map[string]any{"method": "last"}})

// policies are what -compare compares.
var policies = []policy{
	{name: "hash", label: "hash alone"},
	{name: "sticky", label: "sticky partitions", plans: true, strategy: wire.StrategyOptimal, choice: last, partitions: 8},
	{name: "pkg", label: "PKG with merge", choices: 2, partial: true, merged: true},
	{name: "mixed", label: "mixed", plans: true, strategy: wire.StrategyMixed, choice: last},
	{name: "optimal", label: "optimal, auto", plans: true, strategy: wire.StrategyOptimal},
	{name: "split", label: "split", plans: true, strategy: wire.StrategyOptimal, maxParts: 8, partial: true, merged: true},
	{name: "shuffle", label: "shuffle (no state by key)", choices: -1, partial: true},
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
	if c.policy.maxParts > 0 {
		out.Splitting = &wire.Splitting{MaxParts: c.policy.maxParts}
	}
	if c.transferRate > 0 {
		out.TransferRate = &c.transferRate
	}
	if c.batch > 0 || c.batchPause > 0 {
		out.Batches = &wire.BatchBounds{}
	}
	if c.batch > 0 {
		out.Batches.Keys = &c.batch
	}
	if c.batchPause > 0 {
		out.Batches.Pause = new(c.batchPause.String())
	}
	return out
}

// mode is what becomes of the messages of keys that move.
func (c config) mode() handoff.Mode { return handoff.Mode(c.follows) }

// placement is where the messages of this process go: by plannerd's table, or by what it
// makes of that.
type placement struct {
	policy
	units []string // names of partitions, as keys of the table
	sent  []uint64 // by the instance
	turn  int
}

func newPlacement(c config) *placement {
	p := &placement{policy: c.policy, sent: make([]uint64, c.instances)}
	for i := range c.policy.partitions * c.instances {
		// Each instance has as many partitions as any other at first: a name is looked for that
		// the hash places there.
		for try := 0; len(p.units) == i; try++ {
			name := fmt.Sprintf("partition-%d-%d", i, try)
			if int(route.KeyHash([]byte(name))%uint64(c.instances)) == i%c.instances {
				p.units = append(p.units, name)
			}
		}
	}
	return p
}

// unit is what moves when a key moves: the key, or its partition.
func (p *placement) unit(key []byte) []byte {
	if p.units == nil {
		return key
	}
	return []byte(p.units[scatter(key)%uint64(len(p.units))])
}

// scatter is a hash that has nothing to do with where the table's hash places a key.
func scatter(key []byte) uint64 { return route.KeyHash(key) >> 20 * 0x9e3779b97f4a7c15 >> 32 }

// candidates are the two instances that may have a message of a key under partial key
// grouping (Nasir et al. 2015).
func (p *placement) candidates(key []byte) (a, b int) {
	n := uint64(len(p.sent))
	a = int(route.KeyHash(key) % n)
	return a, (a + 1 + int(scatter(key)%max(n-1, 1))) % int(n)
}

// view is what machines are shown of a view.
func (p *placement) view(v *router.View) handoff.View {
	out := v.Handover()
	out.Table = placed{out.Table, p}
	return out
}

// owner is where the parts of a key are merged.
func (p *placement) owner(v *router.View, key []byte) (int32, error) {
	if p.choices != 0 {
		a, _ := p.candidates(key)
		return int32(a), nil
	}
	d, err := v.Table.Lookup(p.unit(key))
	return d.Instance, err
}

// placed is a table by which a placement goes.
type placed struct {
	handoff.Table
	*placement
}

// Route implements [handoff.Table].
func (t placed) Route(key []byte) (to int32, moves bool, err error) {
	switch t.choices {
	case 0:
		return t.Table.Route(t.unit(key))
	case 2:
		a, b := t.candidates(key)
		if t.sent[b] < t.sent[a] {
			a = b
		}
		t.sent[a]++
		return int32(a), false, nil
	}
	t.turn = (t.turn + 1) % len(t.sent)
	return int32(t.turn), false, nil
}

// Pending implements [handoff.Table].
func (t placed) Pending(key []byte) (int32, error) { return t.Table.Pending(t.unit(key)) }

// Goal implements [handoff.Table].
func (t placed) Goal(key []byte, at int32) (int32, error) { return t.Table.Goal(t.unit(key), at) }

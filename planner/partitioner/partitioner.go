// Package partitioner names, for the planner, the hash functions that place keys when
// the routing table does not. They are those of plannerd/sdk/go/route, by which routers
// send messages: so that the planner and a running engine agree on every key.
package partitioner

import (
	"errors"
	"slices"

	"plannerd/planner"
	"plannerd/sdk/go/route"
)

// Names, limits and types, as in package route.
const (
	Ring     = route.Ring
	Modulo   = route.Modulo
	Flink    = route.Flink
	Kafka    = route.Kafka
	Reported = route.Reported

	String = route.String
	Int    = route.Int

	DefaultTokensPerInstance = route.DefaultTokensPerInstance
	DefaultMaxParallelism    = route.DefaultMaxParallelism
	MaxRingTokens            = route.MaxRingTokens
)

type (
	// Config says how keys are placed.
	Config = route.Config
	// Instance is one live instance of the operator.
	Instance = route.Instance
	// Affinity says which part of a key is its routed key.
	Affinity = route.Affinity
	// Rule says which instances may have the keys that it matches.
	Rule = route.Rule
)

// New returns the hash function that c describes over the given instances,
// which are in strictly ascending order of ID; nil for [Reported]. The keys that the
// planner knows are routed keys already. The error is a [planner.InputError].
func New(c Config, instances []Instance) (planner.HashFunction, error) {
	c.Affinity = Affinity{}
	f, err := route.New(c, instances)
	if f == nil || err != nil {
		return nil, inputError(err)
	}
	return f, nil
}

// NewPlacement are the rules of a configuration, as [New] keeps to them where it can.
func NewPlacement(c Config, instances []Instance) (planner.Placement, error) {
	ids := make([]int32, len(instances))
	for i, d := range instances {
		ids[i] = d.ID
	}
	p, err := route.NewPlacement(c.Rules, ids)
	if err != nil {
		return nil, inputError(err)
	}
	return rules{p, c.Rules, ids}, nil
}

// rules are a placement that can be asked what it is without one of them.
type rules struct {
	*route.Placement
	list []Rule
	ids  []int32
}

func (r rules) Len() int             { return len(r.list) }
func (r rules) Name(rule int) string { return r.list[rule].Name }

func (r rules) Without(rule int) planner.Placement {
	list := slices.Delete(slices.Clone(r.list), rule, rule+1)
	p, err := route.NewPlacement(list, r.ids)
	if err != nil || len(list) == 0 {
		return nil
	}
	return rules{p, list, r.ids}
}

// Validate reports what [New] would refuse, without building anything.
func Validate(c Config, instances []Instance) error { return inputError(route.Validate(c, instances)) }

// Same is [route.Same].
func Same(a Config, ai []Instance, b Config, bi []Instance) bool { return route.Same(a, ai, b, bi) }

func inputError(err error) error {
	if refused, ok := errors.AsType[*route.ConfigError](err); ok {
		return planner.Invalid(refused.Field, refused.Detail)
	}
	return err
}

package schemes

import (
	"cmp"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// Scheme is a way of spreading keys over instances.
type Scheme string

// The schemes.
const (
	// HashModulo is planner.KeyHash modulo the number of instances.
	HashModulo Scheme = "hash_modulo"
	// HashRing is a token ring with as many tokens for each instance.
	HashRing Scheme = "hash_ring"
	// Ring is that ring after redistribution: the best of halving, doubling and fitted
	// token counts.
	Ring Scheme = "ring"
	// PKG is partial key grouping with the fewest choices that keep θ within θ_max, else
	// with those of the least θ. Candidates of a key are distinct.
	PKG Scheme = "pkg"
	// Mixed is a routing table over the plain hash by strategy mixed.
	Mixed Scheme = planner.Mixed
	// Optimal is one by strategy optimal.
	Optimal Scheme = planner.Optimal
	// Split is one by strategy optimal in which keys that no instance can carry are split.
	Split Scheme = "split"
	// SplitPriced is as Split, but a merge counts as much as a thousandth of all state
	// ([planner.Splitting.Price]): more keys are split, and less has to move.
	SplitPriced Scheme = "split_priced"
	// Ranges is intervals of the ordered keys, several for each instance, by
	// min_movement.
	Ranges Scheme = "ranges"
)

// Defaults and bounds of Options.
const (
	DefaultMaxRounds = 8
	DefaultSeeds     = 5
	MaxSeeds         = 1000
	// MostChoices bounds the default of Options.MaxChoices.
	MostChoices = 256
	// mergesForAll is how many merges count as much as all state does under SplitPriced.
	mergesForAll = 1000
	// maxStates is how many token counts Ring evaluates under fitted.
	maxStates = 1 << 14
)

// Options are the parameters of [Compare].
type Options struct {
	// Instances in strictly ascending order of ID. Only ID and Capacity count.
	Instances []planner.Instance
	// ThetaMax is the tolerance θ_max ≥ 0. Defaults to 0.
	ThetaMax float64
	// Hash is HashRing or HashModulo: where keys are before, which is what moved state
	// and routing tables are relative to. Empty: HashRing.
	Hash Scheme
	// TokensPerInstance of the ring. 0: partitioner.DefaultTokensPerInstance.
	TokensPerInstance int
	// TableLimit is A_max of the routing table. Nil: no limit.
	TableLimit *int64
	// Whole: a key must be on one instance, since partial results of it cannot be
	// merged. [Recommend] then never says PKG, Split or SplitPriced.
	Whole bool
	// MaxChoices is the most choices of PKG to try, from 1 to the number of instances.
	// 0: that number, at most MostChoices.
	MaxChoices int
	// Sources is S of PKG, LoadInformation what they know (Global or Local), and
	// AggregationPeriod its messages between two aggregations: see grouping.Options.
	Sources           int
	LoadInformation   grouping.LoadInformation
	AggregationPeriod int64
	// Seeds is by how many seeds PKG is judged: the hash seeds are 2¹⁶ apart, and of a
	// stream that is generated each has the next order. 0: DefaultSeeds.
	Seeds int
	// Seed is the one that the stream was generated with, if it was.
	Seed uint64
	// MaxRounds is how often each instance may be relieved under Ring, ≥ 1. 0:
	// DefaultMaxRounds.
	MaxRounds int
	// MaxIntervals of each instance under Ranges, ≥ 1. 0: ranges.DefaultMaxIntervals.
	MaxIntervals int
	// Stop is asked now and then; true ends with planner.ErrStopped. Nil: never.
	Stop func() bool
	// Progress is told which scheme is being looked at, and how much of how much of it
	// is done; of what cannot be told, 0 of 1. Nil: nobody.
	Progress func(scheme Scheme, done, total int64)
}

// mostDoubled bounds how many times as many tokens a ring may have after doubling.
const mostDoubled = 64

// MostTokens is the greatest number of tokens of all instances that any ring has of those
// that are compared, with the default of TokensPerInstance in place of 0.
func (o Options) MostTokens() int {
	n := len(o.Instances) * cmp.Or(o.TokensPerInstance, partitioner.DefaultTokensPerInstance)
	return max(n, min(mostDoubled*n, ring.DefaultTokenLimit))
}

// Validate reports the first field that is out of range as a [planner.InputError].
func (o Options) Validate() error {
	if err := cmp.Or(
		planner.Require(0 < len(o.Instances) && len(o.Instances) <= grouping.MaxWorkers, "Instances",
			"must be from 1 to "+strconv.Itoa(grouping.MaxWorkers)),
		planner.RequireAmount("ThetaMax", o.ThetaMax),
		planner.Require(slices.Contains([]Scheme{"", HashRing, HashModulo}, o.Hash), "Hash", "must be ring or modulo"),
		planner.Require(o.TableLimit == nil || *o.TableLimit >= 0, "TableLimit", "must be ≥ 0"),
		planner.Require(0 <= o.MaxChoices && o.MaxChoices <= len(o.Instances), "MaxChoices",
			"must be from 1 to the number of instances"),
		planner.RequireOneOf("LoadInformation", cmp.Or(o.LoadInformation, grouping.Global), grouping.Global, grouping.Local),
		planner.RequireWithin("Sources", cmp.Or(o.Sources, 1), 1, grouping.MaxSources),
		planner.RequireAtLeast("AggregationPeriod", o.AggregationPeriod, 0),
		planner.RequireWithin("Seeds", cmp.Or(o.Seeds, 1), 1, MaxSeeds),
		planner.RequireAtLeast("MaxRounds", cmp.Or(o.MaxRounds, 1), 1),
		planner.RequireAtLeast("MaxIntervals", cmp.Or(o.MaxIntervals, 1), 1),
	); err != nil {
		return err
	}
	for i, x := range o.Instances {
		if !(x.Capacity >= planner.MinCapacity && x.Capacity <= planner.MaxCapacity) {
			return planner.Invalid(planner.Element("Instances", i)+".Capacity", "must be from 1e-6 to 1e6")
		}
	}
	return partitioner.Validate(o.ringConfig(), o.hashed())
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	o.Hash = cmp.Or(o.Hash, HashRing)
	o.TokensPerInstance = cmp.Or(o.TokensPerInstance, partitioner.DefaultTokensPerInstance)
	o.MaxChoices = cmp.Or(o.MaxChoices, min(len(o.Instances), MostChoices))
	o.Sources, o.Seeds = cmp.Or(o.Sources, 1), cmp.Or(o.Seeds, DefaultSeeds)
	o.MaxRounds, o.MaxIntervals = cmp.Or(o.MaxRounds, DefaultMaxRounds), cmp.Or(o.MaxIntervals, ranges.DefaultMaxIntervals)
	return o
}

func (o Options) ringConfig() partitioner.Config {
	return partitioner.Config{Function: partitioner.Ring, TokensPerInstance: o.TokensPerInstance}
}

// hashed are the instances for a hash function.
func (o Options) hashed() []partitioner.Instance {
	out := make([]partitioner.Instance, len(o.Instances))
	for i, x := range o.Instances {
		out[i].ID = x.ID
	}
	return out
}

// members are the instances as nodes of a ring.
func (o Options) members() []ring.Member {
	out := make([]ring.Member, len(o.Instances))
	for i, x := range o.Instances {
		out[i] = ring.Member{ID: x.ID, Tokens: o.TokensPerInstance, Capacity: x.Capacity}
	}
	return out
}

func (o Options) stopped() bool { return o.Stop != nil && o.Stop() }

// tell reports progress with a scheme.
func (o Options) tell(s Scheme) func(done, total int64) {
	return func(done, total int64) {
		if o.Progress != nil {
			o.Progress(s, done, total)
		}
	}
}

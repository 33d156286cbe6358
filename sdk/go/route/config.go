package route

import (
	"cmp"
	"slices"
)

// The names of the functions.
const (
	// Ring is consistent hashing, see [TokenRing]: a node per instance, by id.
	Ring = "ring"
	// Modulo is [KeyHash], unsigned, modulo the number of instances, which
	// are taken in the order of their ids.
	Modulo = "modulo"
	// Flink is keyBy of Apache Flink: Java's hash code of the key, Flink's murmur
	// of that, modulo the max parallelism, is the key group; the instances, in
	// the order of their ids, own contiguous ranges of key groups.
	Flink = "flink"
	// Kafka is the default partitioner of Apache Kafka's producer: murmur2 of the
	// key's bytes, made positive, modulo the number of partitions.
	Kafka = "kafka"
	// Reported is no function: the engine reports each key's hash instance.
	Reported = "reported"
)

// Key types of [Flink].
const (
	String = "string" // java.lang.String; keys must be valid UTF-8
	Int    = "int"    // java.lang.Integer; keys must be its canonical decimal form
	Long   = "long"   // java.lang.Long; likewise
)

// Defaults and limits.
const (
	DefaultTokensPerInstance = 128
	DefaultMaxParallelism    = 128
	// MaxMaxParallelism is Flink's own upper bound.
	MaxMaxParallelism = 1 << 15
	// MaxRingTokens bounds the tokens of all instances together, which take 12
	// bytes each.
	MaxRingTokens = 1 << 22
	// MaxPartitions bounds Config.Partitions.
	MaxPartitions = 1 << 20
)

// derivedMaxParallelism is the greatest parallelism for which Flink itself
// derives a max parallelism of [DefaultMaxParallelism]: for more instances it
// takes a higher one, which depends on the parallelism that the job first had.
const derivedMaxParallelism = 85

// Config says how keys are placed. Fields that do not belong to Function must
// be zero.
type Config struct {
	// Function is one of the names above. Defaults to [Ring].
	Function string
	// TokensPerInstance is how many ring tokens an instance holds that does not
	// name its own number. Defaults to [DefaultTokensPerInstance].
	TokensPerInstance int
	// MaxParallelism is Flink's number of key groups, from the number of
	// instances to [MaxMaxParallelism]. Defaults to [DefaultMaxParallelism] for up
	// to 85 instances, as in Flink; for more there is no default.
	MaxParallelism int
	// KeyType is what Flink's keys are: [String], [Int] or [Long]. Defaults to
	// [String].
	KeyType string
	// Partitions is the number of Kafka partitions, from 1 to [MaxPartitions].
	// Required for Kafka.
	Partitions int
	// Assignment is the id of the instance that consumes each partition, as long
	// as Partitions. Nil: partition p belongs to instance p modulo the number of
	// instances, in the order of their ids.
	Assignment []int32
	// Affinity says which part of a key is hashed, and looked up in the routing table. Defaults to the
	// whole key.
	Affinity Affinity
	// Rules say which instances may have which keys. Under [Ring] and [Modulo] a key is placed by the
	// hash over those that may have it; the other functions place keys as they do without.
	Rules []Rule
}

// Instance is one live instance of the operator.
type Instance struct {
	ID     int32 // ≥ 0
	Tokens int   // ring tokens, ≥ 0; 0: Config.TokensPerInstance
}

// New returns the hash function that c describes over the given instances,
// which are in strictly ascending order of ID; nil for [Reported] without an
// affinity. The error is a [ConfigError].
func New(c Config, instances []Instance) (Function, error) {
	if err := Validate(c, instances); err != nil {
		return nil, err
	}
	f, err := c.withDefaults().function(instances)
	if err == nil && !c.Affinity.IsZero() {
		f = affine{c.Affinity, f}
	}
	return f, err
}

// function places the keys of a valid configuration by all of their bytes.
func (c Config) function(instances []Instance) (f Function, err error) {
	switch c.Function {
	case Modulo:
		f = modulo(ids(instances))
	case Flink:
		return newFlink(c, instances), nil
	case Kafka:
		return kafka(c.owners(instances)), nil
	case Reported:
		return nil, nil
	default:
		f = NewTokenRing(c.nodes(instances))
	}
	if len(c.Rules) > 0 {
		return c.place(f, instances)
	}
	return f, nil
}

// Same reports whether two configurations place every key alike, each over its
// own instances. Both must be valid. Defaults are filled in before comparing,
// and fields are compared by their effect: a default spelled out, or an
// assignment of partitions that is the default, makes no difference. It may
// say false of different functions that happen to agree, as all do over a
// single instance. Two [Reported] are the same if their instances are.
func Same(a Config, ai []Instance, b Config, bi []Instance) bool {
	a, b = a.withDefaults(), b.withDefaults()
	if a.Function != b.Function || a.Affinity.normal() != b.Affinity.normal() {
		return false
	}
	switch a.Function {
	case Ring:
		return slices.Equal(a.nodes(ai), b.nodes(bi)) && sameRules(a.Rules, b.Rules, ids(ai))
	case Modulo:
		return slices.Equal(ids(ai), ids(bi)) && sameRules(a.Rules, b.Rules, ids(ai))
	case Kafka:
		return slices.Equal(a.owners(ai), b.owners(bi))
	case Flink:
		return a.MaxParallelism == b.MaxParallelism && a.KeyType == b.KeyType && slices.Equal(ids(ai), ids(bi))
	default:
		return slices.Equal(ids(ai), ids(bi))
	}
}

// withDefaults fills in the defaults of the fields that belong to c.Function.
func (c Config) withDefaults() Config {
	switch c.Function = cmp.Or(c.Function, Ring); c.Function {
	case Ring:
		c.TokensPerInstance = cmp.Or(c.TokensPerInstance, DefaultTokensPerInstance)
	case Flink:
		c.MaxParallelism, c.KeyType = cmp.Or(c.MaxParallelism, DefaultMaxParallelism), cmp.Or(c.KeyType, String)
	}
	return c
}

func ids(instances []Instance) []int32 {
	out := make([]int32, len(instances))
	for i, d := range instances {
		out[i] = d.ID
	}
	return out
}

// nodes returns the instances as ring nodes.
func (c Config) nodes(instances []Instance) []Node {
	out := make([]Node, len(instances))
	for i, d := range instances {
		out[i] = Node{ID: d.ID, Tokens: cmp.Or(d.Tokens, c.TokensPerInstance)}
	}
	return out
}

// owners returns the instance of each Kafka partition.
func (c Config) owners(instances []Instance) []int32 {
	if c.Assignment != nil {
		return slices.Clone(c.Assignment)
	}
	out := make([]int32, c.Partitions)
	for p := range out {
		out[p] = instances[p%len(instances)].ID
	}
	return out
}

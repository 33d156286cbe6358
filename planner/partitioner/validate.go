package partitioner

import (
	"cmp"
	"slices"
	"strconv"

	"plannerd/planner"
)

// Validate reports what [New] would refuse, without building anything.
func Validate(c Config, instances []Instance) error { return c.validate(instances) }

// validate reports the first fault of c over the given instances.
func (c Config) validate(instances []Instance) error {
	if err := c.validateFields(); err != nil {
		return err
	}
	if err := validateInstances(instances); err != nil {
		return err
	}
	if c.Function == "" || c.Function == Ring {
		return c.validateRing(instances)
	}
	if err := refuseTokens(c.Function, instances); err != nil {
		return err
	}
	switch c.Function {
	case Flink:
		return c.validateFlink(len(instances))
	case Kafka:
		return c.validateKafka(instances)
	}
	return nil
}

// validateFields checks the function's name and that no field of another
// function is set.
func (c Config) validateFields() error {
	function := c.withDefaults().Function
	of := func(owner, field string, set bool) error {
		return planner.Require(!set || owner == function, field, "belongs to the "+owner+" function, not to "+function)
	}
	return cmp.Or(
		planner.RequireOneOf("Function", function, Ring, Modulo, Reported, Flink, Kafka),
		of(Ring, "TokensPerInstance", c.TokensPerInstance != 0),
		of(Flink, "MaxParallelism", c.MaxParallelism != 0),
		of(Flink, "KeyType", c.KeyType != ""),
		of(Kafka, "Partitions", c.Partitions != 0),
		of(Kafka, "Assignment", c.Assignment != nil),
	)
}

func validateInstances(instances []Instance) error {
	if len(instances) == 0 {
		return planner.Invalid("Instances", "must name at least one instance")
	}
	for i, d := range instances {
		at := planner.Element("Instances", i)
		if err := cmp.Or(
			planner.RequireAtLeast(at+".ID", d.ID, 0),
			planner.Require(i == 0 || d.ID > instances[i-1].ID, at+".ID", "must be greater than the id before it"),
			planner.RequireAtLeast(at+".Tokens", d.Tokens, 0),
		); err != nil {
			return err
		}
	}
	return nil
}

func refuseTokens(function string, instances []Instance) error {
	for i, d := range instances {
		if d.Tokens != 0 {
			return planner.Invalid(planner.Element("Instances", i)+".Tokens", "belongs to the ring function, not to "+function)
		}
	}
	return nil
}

func (c Config) validateRing(instances []Instance) error {
	c = c.withDefaults()
	if err := planner.RequireWithin("TokensPerInstance", c.TokensPerInstance, 1, MaxRingTokens); err != nil {
		return err
	}
	room := MaxRingTokens
	for i, n := range c.nodes(instances) {
		if room -= min(n.Tokens, room+1); room >= 0 {
			continue
		}
		field := "TokensPerInstance"
		if instances[i].Tokens != 0 {
			field = planner.Element("Instances", i) + ".Tokens"
		}
		return planner.Invalid(field, "the instances together must not have more than "+strconv.Itoa(MaxRingTokens)+" tokens")
	}
	return nil
}

func (c Config) validateFlink(instances int) error {
	const field = "MaxParallelism"
	known := c.MaxParallelism != 0
	return cmp.Or(
		planner.RequireOneOf("KeyType", cmp.Or(c.KeyType, String), String, Int, Long),
		planner.RequireWithin(field, cmp.Or(c.MaxParallelism, 1), 1, MaxMaxParallelism),
		planner.Require(known || instances <= derivedMaxParallelism, field,
			"is required for more than "+strconv.Itoa(derivedMaxParallelism)+" instances"),
		planner.Require(!known || c.MaxParallelism >= instances, field, "must not be less than the number of instances"),
	)
}

func (c Config) validateKafka(instances []Instance) error {
	if err := cmp.Or(
		planner.RequireWithin("Partitions", c.Partitions, 1, MaxPartitions),
		planner.Require(c.Assignment == nil || len(c.Assignment) == c.Partitions, "Assignment",
			"must name one instance for each of the "+strconv.Itoa(c.Partitions)+" partitions"),
	); err != nil {
		return err
	}
	known := ids(instances)
	for p, id := range c.Assignment {
		if _, found := slices.BinarySearch(known, id); !found {
			return planner.Invalid(planner.Element("Assignment", p), "must be the id of an instance")
		}
	}
	return nil
}

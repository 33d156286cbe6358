package partitioner

import (
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
	if !slices.Contains([]string{Ring, Modulo, Flink, Kafka, Reported}, function) {
		return planner.Invalid("hash/function", "must be ring, modulo, reported, flink or kafka")
	}
	for _, f := range []struct {
		name, function string
		set            bool
	}{
		{"tokens_per_instance", Ring, c.TokensPerInstance != 0},
		{"max_parallelism", Flink, c.MaxParallelism != 0},
		{"key_type", Flink, c.KeyType != ""},
		{"partitions", Kafka, c.Partitions != 0},
		{"assignment", Kafka, c.Assignment != nil},
	} {
		if f.set && f.function != function {
			return planner.Invalid("hash/"+f.name, "belongs to the "+f.function+" function, not to "+function)
		}
	}
	return nil
}

func validateInstances(instances []Instance) error {
	if len(instances) == 0 {
		return planner.Invalid("instances", "must name at least one instance")
	}
	for i, d := range instances {
		switch {
		case d.ID < 0:
			return planner.Invalid("instances/"+strconv.Itoa(i)+"/id", "must be ≥ 0")
		case i > 0 && d.ID <= instances[i-1].ID:
			return planner.Invalid("instances/"+strconv.Itoa(i)+"/id", "must be greater than the id before it")
		case d.Tokens < 0:
			return planner.Invalid("instances/"+strconv.Itoa(i)+"/tokens", "must be ≥ 0")
		}
	}
	return nil
}

func refuseTokens(function string, instances []Instance) error {
	for i, d := range instances {
		if d.Tokens != 0 {
			return planner.Invalid("instances/"+strconv.Itoa(i)+"/tokens", "belongs to the ring function, not to "+function)
		}
	}
	return nil
}

func (c Config) validateRing(instances []Instance) error {
	if c.TokensPerInstance < 0 || c.TokensPerInstance > MaxRingTokens {
		return planner.Invalid("hash/tokens_per_instance", "must be from 1 to "+strconv.Itoa(MaxRingTokens))
	}
	room := MaxRingTokens
	for i, n := range c.withDefaults().nodes(instances) {
		if n.Tokens <= room {
			room -= n.Tokens
			continue
		}
		field := "hash/tokens_per_instance"
		if instances[i].Tokens != 0 {
			field = "instances/" + strconv.Itoa(i) + "/tokens"
		}
		return planner.Invalid(field, "the instances together must not have more than "+strconv.Itoa(MaxRingTokens)+" tokens")
	}
	return nil
}

func (c Config) validateFlink(instances int) error {
	const field = "hash/max_parallelism"
	switch {
	case !slices.Contains([]string{"", String, Int, Long}, c.KeyType):
		return planner.Invalid("hash/key_type", "must be string, int or long")
	case c.MaxParallelism < 0 || c.MaxParallelism > MaxMaxParallelism:
		return planner.Invalid(field, "must be from 1 to "+strconv.Itoa(MaxMaxParallelism))
	case c.MaxParallelism == 0 && instances > derivedMaxParallelism:
		return planner.Invalid(field, "is required for more than "+strconv.Itoa(derivedMaxParallelism)+" instances")
	case c.MaxParallelism != 0 && c.MaxParallelism < instances:
		return planner.Invalid(field, "must not be less than the number of instances")
	}
	return nil
}

func (c Config) validateKafka(instances []Instance) error {
	if c.Partitions < 1 || c.Partitions > MaxPartitions {
		return planner.Invalid("hash/partitions", "must be from 1 to "+strconv.Itoa(MaxPartitions))
	}
	if c.Assignment == nil {
		return nil
	}
	if len(c.Assignment) != c.Partitions {
		return planner.Invalid("hash/assignment", "must name one instance for each of the "+
			strconv.Itoa(c.Partitions)+" partitions")
	}
	known := ids(instances)
	for p, id := range c.Assignment {
		if _, found := slices.BinarySearch(known, id); !found {
			return planner.Invalid("hash/assignment/"+strconv.Itoa(p), "must be the id of an instance")
		}
	}
	return nil
}

package route

import (
	"cmp"
	"slices"
	"strconv"
)

// ConfigError says which field of a configuration, or of which instance, is wrong, and
// why.
type ConfigError struct {
	Field  string // such as "MaxParallelism" or "Instances[2].ID"
	Detail string // what is wrong, such as "must be ≥ 0"
}

func (e *ConfigError) Error() string { return e.Field + ": " + e.Detail }

// require returns nil if a field is as the detail says, else the error.
func require(ok bool, field, detail string) error {
	if ok {
		return nil
	}
	return &ConfigError{field, detail}
}

func requireWithin(field string, x, least, most int) error {
	return require(least <= x && x <= most, field, "must be from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
}

func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// Validate reports what [New] would refuse, without building anything.
func Validate(c Config, instances []Instance) error {
	if err := c.validateFields(); err != nil {
		return err
	}
	if err := validateInstances(instances); err != nil {
		return err
	}
	if len(c.Rules) > 0 {
		if _, err := allow(c.Rules, ids(instances)); err != nil {
			return err
		}
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
		return require(!set || owner == function, field, "belongs to the "+owner+" function, not to "+function)
	}
	return cmp.Or(
		require(slices.Contains([]string{Ring, Modulo, Reported, Flink, Kafka}, function), "Function",
			"must be ring, modulo, reported, flink or kafka"),
		of(Ring, "TokensPerInstance", c.TokensPerInstance != 0),
		of(Flink, "MaxParallelism", c.MaxParallelism != 0),
		of(Flink, "KeyType", c.KeyType != ""),
		of(Kafka, "Partitions", c.Partitions != 0),
		of(Kafka, "Assignment", c.Assignment != nil),
		c.Affinity.validate(),
	)
}

func validateInstances(instances []Instance) error {
	if len(instances) == 0 {
		return &ConfigError{"Instances", "must name at least one instance"}
	}
	for i, d := range instances {
		at := element("Instances", i)
		if err := cmp.Or(
			require(d.ID >= 0, at+".ID", "must be ≥ 0"),
			require(i == 0 || d.ID > instances[i-1].ID, at+".ID", "must be greater than the id before it"),
			require(d.Tokens >= 0, at+".Tokens", "must be ≥ 0"),
		); err != nil {
			return err
		}
	}
	return nil
}

func refuseTokens(function string, instances []Instance) error {
	for i, d := range instances {
		if d.Tokens != 0 {
			return &ConfigError{element("Instances", i) + ".Tokens", "belongs to the ring function, not to " + function}
		}
	}
	return nil
}

func (c Config) validateRing(instances []Instance) error {
	c = c.withDefaults()
	if err := requireWithin("TokensPerInstance", c.TokensPerInstance, 1, MaxRingTokens); err != nil {
		return err
	}
	room := MaxRingTokens
	for i, n := range c.nodes(instances) {
		if room -= min(n.Tokens, room+1); room >= 0 {
			continue
		}
		field := "TokensPerInstance"
		if instances[i].Tokens != 0 {
			field = element("Instances", i) + ".Tokens"
		}
		return &ConfigError{field,
			"the instances together must not have more than " + strconv.Itoa(MaxRingTokens) + " tokens"}
	}
	return nil
}

func (c Config) validateFlink(instances int) error {
	const field = "MaxParallelism"
	known := c.MaxParallelism != 0
	return cmp.Or(
		require(slices.Contains([]string{"", String, Int, Long}, c.KeyType), "KeyType", "must be string, int or long"),
		requireWithin(field, cmp.Or(c.MaxParallelism, 1), 1, MaxMaxParallelism),
		require(known || instances <= derivedMaxParallelism, field,
			"is required for more than "+strconv.Itoa(derivedMaxParallelism)+" instances"),
		require(!known || c.MaxParallelism >= instances, field, "must not be less than the number of instances"),
	)
}

func (c Config) validateKafka(instances []Instance) error {
	if err := cmp.Or(
		requireWithin("Partitions", c.Partitions, 1, MaxPartitions),
		require(c.Assignment == nil || len(c.Assignment) == c.Partitions, "Assignment",
			"must name one instance for each of the "+strconv.Itoa(c.Partitions)+" partitions"),
	); err != nil {
		return err
	}
	known := ids(instances)
	for p, id := range c.Assignment {
		if _, found := slices.BinarySearch(known, id); !found {
			return &ConfigError{element("Assignment", p), "must be the id of an instance"}
		}
	}
	return nil
}

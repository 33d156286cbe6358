package route

import (
	"errors"
	"slices"
	"testing"
)

func TestNewNamesTheFaultyField(t *testing.T) {
	two := []Instance{{ID: 0}, {ID: 1}}
	for _, c := range []struct {
		config    Config
		instances []Instance
		field     string
	}{
		{Config{Function: "md5"}, two, "Function"},
		{Config{Function: "Ring"}, two, "Function"},
		{Config{}, nil, "Instances"},
		{Config{Function: Reported}, nil, "Instances"},
		{Config{}, []Instance{{ID: -1}}, "Instances[0].ID"},
		{Config{}, []Instance{{ID: 1}, {ID: 1}}, "Instances[1].ID"},
		{Config{Function: Modulo}, []Instance{{ID: 0}, {ID: 2}, {ID: 1}}, "Instances[2].ID"},
		{Config{}, []Instance{{ID: 0}, {ID: 2, Tokens: -1}}, "Instances[1].Tokens"},
		{Config{TokensPerInstance: -1}, two, "TokensPerInstance"},
		{Config{TokensPerInstance: MaxRingTokens + 1}, two, "TokensPerInstance"},
		{Config{TokensPerInstance: MaxRingTokens/2 + 1}, two, "TokensPerInstance"},
		{Config{}, []Instance{{ID: 0}, {ID: 1, Tokens: MaxRingTokens}}, "Instances[1].Tokens"},
		{Config{Function: Modulo}, []Instance{{ID: 0}, {ID: 1, Tokens: 3}}, "Instances[1].Tokens"},
		{Config{Function: Flink, MaxParallelism: -1}, two, "MaxParallelism"},
		{Config{Function: Flink, MaxParallelism: 1}, two, "MaxParallelism"},
		{Config{Function: Flink, MaxParallelism: MaxMaxParallelism + 1}, two, "MaxParallelism"},
		{Config{Function: Flink}, upTo(86), "MaxParallelism"},
		{Config{Function: Flink, KeyType: "uuid"}, two, "KeyType"},
		{Config{Function: Kafka}, two, "Partitions"},
		{Config{Function: Kafka, Partitions: -1}, two, "Partitions"},
		{Config{Function: Kafka, Partitions: MaxPartitions + 1}, two, "Partitions"},
		{Config{Function: Kafka, Partitions: 2, Assignment: []int32{}}, two, "Assignment"},
		{Config{Function: Kafka, Partitions: 2, Assignment: []int32{0, 1, 0}}, two, "Assignment"},
		{Config{Function: Kafka, Partitions: 4, Assignment: []int32{0, 1, 0, 2}}, two, "Assignment[3]"},
	} {
		f, err := New(c.config, c.instances)
		var input *ConfigError
		if !errors.As(err, &input) || input.Field != c.field || f != nil {
			t.Errorf("%+v over %v: %v, %v, want an error of %s", c.config, c.instances, f, err, c.field)
		}
	}
}

func TestNewRefusesFieldsOfOtherFunctions(t *testing.T) {
	fields := map[string]struct {
		owner string
		set   func(*Config)
	}{
		"TokensPerInstance": {Ring, func(c *Config) { c.TokensPerInstance = 128 }},
		"MaxParallelism":    {Flink, func(c *Config) { c.MaxParallelism = 128 }},
		"KeyType":           {Flink, func(c *Config) { c.KeyType = String }},
		"Partitions":        {Kafka, func(c *Config) { c.Partitions = 2 }},
		"Assignment":        {Kafka, func(c *Config) { c.Assignment = []int32{0, 0} }},
	}
	for _, base := range []Config{{}, {Function: Ring}, {Function: Modulo}, {Function: Flink},
		{Function: Kafka, Partitions: 2}, {Function: Reported}} {
		function := base.withDefaults().Function
		for name, field := range fields {
			c := base
			field.set(&c)
			_, err := New(c, []Instance{{ID: 0}})
			var input *ConfigError
			if field.owner == function && err != nil {
				t.Errorf("%s refuses its own %s: %v", function, name, err)
			} else if field.owner != function && (!errors.As(err, &input) || input.Field != name) {
				t.Errorf("%s with %s: %v", function, name, err)
			}
		}
	}
}

func TestReportedIsNoFunction(t *testing.T) {
	if f, err := New(Config{Function: Reported}, []Instance{{ID: 7}}); f != nil || err != nil {
		t.Errorf("%v, %v, want neither", f, err)
	}
}

func TestFlinkNeedsNoMaxParallelismAsLongAsItsDefaultHolds(t *testing.T) {
	mustNew(t, Config{Function: Flink}, upTo(85))
	mustNew(t, Config{Function: Flink, MaxParallelism: 86}, upTo(86))
}

func TestNewKeepsNoReferenceToItsInput(t *testing.T) {
	c := Config{Function: Kafka, Partitions: 1, Assignment: []int32{4}}
	f := mustNew(t, c, []Instance{{ID: 4}})
	c.Assignment[0] = 99
	if d := instanceOf(t, f, []byte("k")); d != 4 {
		t.Errorf("instance %d, want 4", d)
	}
}

func TestSame(t *testing.T) {
	two, three := []Instance{{ID: 0}, {ID: 1}}, []Instance{{ID: 0}, {ID: 1}, {ID: 2}}
	weighted := []Instance{{ID: 0}, {ID: 1, Tokens: 256}}
	kafka := func(assignment ...int32) Config {
		return Config{Function: Kafka, Partitions: 4, Assignment: assignment}
	}
	for _, c := range []struct {
		name string
		a    Config
		ai   []Instance
		b    Config
		bi   []Instance
		want bool
	}{
		{"ring by default", Config{}, two, Config{Function: Ring, TokensPerInstance: 128}, two, true},
		{"tokens spelled out", Config{TokensPerInstance: 64}, []Instance{{ID: 0, Tokens: 128}, {ID: 1, Tokens: 128}},
			Config{}, two, true},
		{"other tokens", Config{}, two, Config{TokensPerInstance: 64}, two, false},
		{"tokens of one instance", Config{}, two, Config{}, weighted, false},
		{"ring over other instances", Config{}, two, Config{}, three, false},
		{"other function", Config{}, two, Config{Function: Modulo}, two, false},
		{"modulo", Config{Function: Modulo}, two, Config{Function: Modulo}, two, true},
		{"modulo over other instances", Config{Function: Modulo}, two, Config{Function: Modulo}, three, false},
		{"flink by default", Config{Function: Flink}, two, Config{Function: Flink, MaxParallelism: 128, KeyType: String}, two,
			true},
		{"flink over other instances", Config{Function: Flink}, two, Config{Function: Flink}, three, false},
		{"other max parallelism", Config{Function: Flink}, two, Config{Function: Flink, MaxParallelism: 256}, two, false},
		{"other key type", Config{Function: Flink}, two, Config{Function: Flink, KeyType: Long}, two, false},
		{"kafka by default", kafka(), two, kafka(0, 1, 0, 1), two, true},
		{"other assignment", kafka(0, 1, 0, 1), two, kafka(0, 1, 1, 0), two, false},
		{"an idle consumer more", kafka(0, 1, 0, 1), two, kafka(0, 1, 0, 1), three, true},
		{"kafka over other instances", kafka(), two, kafka(), three, false},
		{"other partitions", kafka(), two, Config{Function: Kafka, Partitions: 8}, two, false},
		{"reported", Config{Function: Reported}, two, Config{Function: Reported}, two, true},
		{"reported over other instances", Config{Function: Reported}, two, Config{Function: Reported}, three, false},
	} {
		if got := Same(c.a, c.ai, c.b, c.bi); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
		if got := Same(c.b, c.bi, c.a, c.ai); got != c.want {
			t.Errorf("%s, the other way round: %t, want %t", c.name, got, c.want)
		}
	}
}

// Whatever Same says is the same must place keys alike.
func TestSamePlacesAlike(t *testing.T) {
	a := mustNew(t, Config{}, []Instance{{ID: 0}, {ID: 1}})
	b := mustNew(t, Config{TokensPerInstance: 64}, []Instance{{ID: 0, Tokens: 128}, {ID: 1, Tokens: 128}})
	place := func(f Function) (out []int32) {
		for i := range 256 {
			out = append(out, instanceOf(t, f, []byte{byte(i)}))
		}
		return out
	}
	if !slices.Equal(place(a), place(b)) {
		t.Error("two spellings of one ring place keys differently")
	}
}

package operator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// placed completes a configuration as it is given.
func placed(text string) (operator.Configuration, error) {
	known := operator.InstanceNames{IDs: map[string]int32{"worker-9": 9}, Next: 10}
	identified, err := operator.Identify([]byte(text), known)
	if err != nil {
		return operator.Configuration{}, err
	}
	c, err := operator.ParseConfiguration(identified, partitioner.Ring)
	if err != nil {
		return c, err
	}
	return operator.NewConfiguration(c)
}

const zones = `"instances":[{"name":"w0","labels":{"zone":"a"}},{"name":"w1","labels":{"zone":"b","pool":"x"}},
	{"name":"w2","labels":{"zone":"a"},"takes":"none"},{"name":"worker-9","takes":"all"}]`

func withRules(rules string) string { return `{` + zones + `,"placement":{"rules":[` + rules + `]}}` }

// TestPlacement reads rules, labels and cordons as operators are given them, and keeps them in one
// form.
func TestPlacement(t *testing.T) {
	c, err := placed(withRules(`
		{"name":"pinned","keys":{"equals":["b","a","b"]},"on":{"instances":["w1","worker-9",10]}},
		{"name":"eu","keys":{"prefix":"eu:"},"on":{"labels":{"zone":["b","a"]}}},
		{"name":"own","keys":{"prefix":"t/"},"on":{"labels":{"zone":"b","pool":"x"}},"exclusive":true},
		{"name":"asleep","keys":{},"stay":true}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"placement":{"rules":[{"name":"pinned","keys":{"equals":["a","b"]},"on":{"instances":[9,10,11]}},` +
		`{"name":"eu","keys":{"prefix":"eu:"},"on":{"labels":{"zone":["a","b"]}}},` +
		`{"name":"own","keys":{"prefix":"t/"},"on":{"labels":{"pool":["x"],"zone":["b"]}},"exclusive":true},` +
		`{"name":"asleep","keys":{},"stay":true}]}`
	for range 2 {
		text, err := c.Encode()
		if err != nil || !strings.Contains(string(text), want) ||
			!strings.Contains(string(text), `"labels":{"pool":"x","zone":"b"}`) || strings.Count(string(text), `"takes"`) != 1 {
			t.Fatalf("%s, %v", text, err)
		}
		if c, err = operator.DecodeConfiguration(text); err != nil {
			t.Fatal(err)
		}
	}
	rules := c.Placement.Over(c.Instances)
	if got := fmt.Sprint(rules[1].On, rules[2].On, rules[3].On); got != "[10 11 12] [11] []" {
		t.Errorf("the rules allow %s", got)
	}
	if got := c.Placement.Resolved(c.Instances).Rules[2].On.Instances; len(got) != 1 || got[0] != 11 {
		t.Errorf("routers are told %v", got)
	}
	plain, err := placed(`{` + zones + `,"placement":{"rules":[]}}`)
	if err != nil || plain.Placement != nil {
		t.Errorf("%+v, %v: no rules are none", plain.Placement, err)
	}
	if operator.SamePlacement(c, plain) || !operator.SamePlacement(c, c) {
		t.Error("rules are a part of the hash")
	}
	moved := c
	moved.Instances = append([]operator.Instance{}, c.Instances...)
	moved.Instances[0].Labels = map[string]string{"zone": "b"}
	if operator.SamePlacement(c, moved) {
		t.Error("another label changes which keys an instance may have")
	}
}

func TestPlacementRefused(t *testing.T) {
	for rules, want := range map[string]string{
		`{"name":"a","keys":{},"stay":true},{"name":"a","keys":{},"stay":true}`:                     "placement/rules/1/name: a is the name of an earlier rule",
		`{"name":"","keys":{},"stay":true}`:                                                         "placement/rules/0/name: must be 1 to 255 bytes",
		`{"name":"a","keys":{}}`:                                                                    "placement/rules/0: the rule a must have one of on and stay",
		`{"name":"a","keys":{},"stay":true,"on":{"instances":["w1"]}}`:                              "must have one of on and stay",
		`{"name":"a","keys":{},"stay":true,"exclusive":true}`:                                       "placement/rules/0/exclusive: is for rules with on",
		`{"name":"a","keys":{},"on":{}}`:                                                            "placement/rules/0/on: must have one of labels and instances",
		`{"name":"a","keys":{"prefix":"x","equals":["y"]},"stay":true}`:                             "placement/rules/0/keys: must be said by one of",
		`{"name":"a","keys":{"equals":[]},"stay":true}`:                                             "placement/rules/0/keys/equals: must name a key",
		`{"name":"a","keys":{},"on":{"instances":["w1","w7"]}}`:                                     "placement/rules/0/on/instances/1: is no instance",
		`{"name":"a","keys":{},"on":{"instances":[77]}}`:                                            "77, which the rule a names, is no instance",
		`{"name":"a","keys":{},"on":{"labels":{"zone":"c","pool":["x","y"]}}}`:                      "the rule a leaves its keys no instance: none has pool x or y and zone c",
		`{"name":"o","keys":{"prefix":"x"},"on":{"instances":["w0","w1","w2",9]},"exclusive":true}`: "placement/rules: must leave keys that match none of them an instance",
		`{"name":"o","keys":{"prefix":"x"},"on":{"instances":["w0"]},"exclusive":true},{"name":"late","keys":{},"on":{"instances":["w0"]}}`: "placement/rules/1: the rule late leaves its keys no instance",
	} {
		_, err := placed(strings.ReplaceAll(withRules(rules), `,9]`, `,"worker-9"]`))
		input := parameters.InputError(err)
		if input == nil || !strings.Contains(input.Field+": "+input.Detail, want) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
	for text, field := range map[string]string{
		`{"scheme":"ranges","instances":2,"placement":{"rules":[{"name":"a","keys":{},"stay":true}]}}`:      "placement",
		`{"scheme":"pkg","instances":[{"id":0,"takes":"none"}]}`:                                            "instances/0/takes",
		`{"scheme":"ring","instances":[{"id":4},{"id":0,"labels":{"a":"b"}}]}`:                              "instances/1/labels",
		`{"instances":2,"compact":{"degree":4},"placement":{"rules":[{"name":"a","keys":{},"stay":true}]}}`: "compact",
	} {
		_, err := placed(text)
		var input *planner.InputError
		if !errors.As(err, &input) || input.Field != field {
			t.Errorf("%s: %v, want an error of %s", text, err, field)
		}
	}
}

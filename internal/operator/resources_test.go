package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

const memories = `"instances":[{"name":"w1","capacities":{"memory":3,"network":2}},
	{"name":"w0","capacity":2,"capacities":{"memory":0}}]`

const fourResources = `{"name":"cpu","theta_max":0.05},{"name":"memory","from":"state","limit":true},
	{"name":"network","theta_max":0.1},{"name":"keys","from":"count","theta_max":1}`

func withResources(resources string) string {
	return `{` + memories + `,"resources":[` + resources + `]}`
}

// TestResources reads resources as operators are given them, keeps them in one form, and has them
// planned on.
func TestResources(t *testing.T) {
	c, err := placed(withResources(fourResources))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`"resources":[{"name":"cpu"},{"name":"memory","from":"state","limit":true},{"name":"network","theta_max":0.1},` +
				`{"name":"keys","from":"count","theta_max":1}]`, `"theta_max":0.05,`, `"capacities":{"memory":3,"network":2}`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s", text, want)
			}
		}
		if c, err = operator.DecodeConfiguration(text); err != nil {
			t.Fatal(err)
		}
	}
	beside := c.Resources.Beside()
	if len(beside) != 3 || beside[0] != (planner.Resource{Name: "memory", From: planner.FromState, Limited: true}) ||
		beside[2] != (planner.Resource{Name: "keys", From: planner.FromCount, ThetaMax: 1}) {
		t.Errorf("%+v", beside)
	}
	if has := c.Instances[1].In(beside); len(has) != 3 || has[0] != 0 || has[1] != 2 || has[2] != 2 {
		t.Errorf("%+v has %v", c.Instances[1], has)
	}
	larger, err := c.ScaledTo(3)
	if err != nil || larger.Instances[0].Capacities["memory"] != 0 || c.Form() == 0 {
		t.Errorf("%+v, %v", larger.Instances, err)
	}
	if plain, err := placed(`{"instances":2}`); err != nil || !operator.SamePlacement(plain, plain) || plain.Form() != 0 {
		t.Errorf("%+v, %v", plain, err)
	}
	other := c
	other.Resources = c.Resources[:2]
	if !operator.SamePlacement(c, other) {
		t.Error("other resources are no change of the hash")
	}
	for _, text := range []string{
		`{"instances":2,"resources":[{"name":"cpu"}],"theta_max":0.3}`,
		`{"instances":2,"resources":[{"name":"cpu","theta_max":0.3}],"theta_max":0.3}`,
		`{"instances":2,"resources":[{"name":"cpu","theta_max":0.3}]}`,
	} {
		c, err := placed(text)
		if err != nil || c.ThetaMax != 0.3 || c.Resources[0].ThetaMax != nil || c.Resources.Beside() != nil ||
			c.Resources.Cost() != "cpu" {
			t.Errorf("%s: %+v, %v", text, c.Resources, err)
		}
	}
}

// TestResourceBounds: what changes the bounds of plans changes the digest, and nothing else does.
func TestResourceBounds(t *testing.T) {
	const resources = `{"name":"cpu"},{"name":"memory","from":"state","limit":true},{"name":"network","theta_max":0.1}`
	digest := func(resources, instances string) string {
		t.Helper()
		var list []string
		for i, has := range strings.Split(instances, ";") {
			list = append(list, fmt.Sprintf(`{"id":%d,%s}`, i, has))
		}
		c, err := placed(`{"theta_max":0.05,"instances":[` + strings.Join(list, ",") + `],"resources":[` + resources + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		return operator.ResourceBounds(c)
	}
	const two = `"capacities":{"memory":3};"capacities":{"memory":4}`
	own := digest(resources, two)
	renamed := strings.ReplaceAll(resources, "memory", "disk")
	for _, c := range []struct {
		what, resources, instances string
		same                       bool
	}{
		{"the order of instances", resources, `"capacities":{"memory":4};"capacities":{"memory":3}`, true},
		{"what is fair", resources, `"capacity":2,"capacities":{"memory":3,"network":7};"capacities":{"memory":4}`, true},
		{"a name", renamed, strings.ReplaceAll(two, "memory", "disk"), true},
		{"the name of cost", strings.ReplaceAll(resources, "cpu", "work"), two, true},
		{"the order", `{"name":"cpu"},{"name":"network","theta_max":0.1},{"name":"memory","from":"state","limit":true}`, two, true},
		{"a name that rows use", strings.ReplaceAll(resources, "network", "net"), two, false},
		{"a tolerance", strings.ReplaceAll(resources, "0.1", "0.2"), two, false},
		{"a capacity", resources, `"capacities":{"memory":3};"capacities":{"memory":5}`, false},
		{"an instance", resources, two + `;"capacities":{"memory":4}`, false},
		{"another resource", resources + `,{"name":"keys","from":"count","theta_max":1}`, two, false},
		{"another kind of bound", strings.ReplaceAll(resources, `"limit":true`, `"theta_max":1`), two, false},
	} {
		if got := digest(c.resources, c.instances); (got == own) != c.same {
			t.Errorf("%s: %s, and %s before", c.what, got, own)
		}
	}
	alone := digest(`{"name":"cpu"}`, `"capacity":2;"capacity":3`)
	if len(own) != 16 || alone != "" {
		t.Errorf("%q; of cost alone: %q", own, alone)
	}
}

func TestResourcesRefused(t *testing.T) {
	for resources, want := range map[string]string{
		`{"name":"cpu"},{"name":"cpu","theta_max":1}`:                                       "resources/1/name: cpu stands twice",
		`{"name":"cpu"},{"name":"4g","theta_max":1}`:                                        "resources/1/name: must be a letter, then",
		`{"name":"cpu"},{"name":"cost","limit":true}`:                                       "resources/1/name: cost is the first resource",
		`{"name":"cpu","from":"state"}`:                                                     "resources/0/from: is for resources after the first",
		`{"name":"cpu","limit":true}`:                                                       "resources/0/limit: is for resources after the first",
		`{"name":"cpu"},{"name":"memory"}`:                                                  "resources/1: memory must have one of theta_max and limit",
		`{"name":"cpu"},{"name":"memory","limit":true,"theta_max":0}`:                       "resources/1: memory must have one of",
		`{"name":"cpu"},{"name":"memory","theta_max":-1}`:                                   "resources/1/theta_max: must be at least 0",
		`{"name":"cpu"},{"name":"memory","from":"disk","limit":true}`:                       "resources/1/from: must be state or count",
		`{"name":"cpu"},{"name":"memory","limit":true}`:                                     "instances/0/capacities: network is no resource after the first",
		`{"name":"cpu"},{"name":"memory","theta_max":0},{"name":"network","theta_max":0}`:   "instances/1/capacities: memory must be from 1e-06",
		`{"name":"cpu"},{"name":"memories","theta_max":0},{"name":"network","theta_max":0}`: "memory is no resource after the first; memories is",
		`{"name":"memory"},{"name":"network","theta_max":0}`:                                "memory is the first resource: say capacity",
		`{"name":"cpu"},{"name":"memory","limit":true},{"name":"network","limit":true}`:     "instances/1/capacities: must say how much w0 has of network",
		`{"name":"a"},` + strings.Repeat(`{"name":"b","limit":true},`, 7) + `{"name":"c"}`:  "resources: must be at most 8",
	} {
		_, err := placed(withResources(resources))
		input := parameters.InputError(err)
		if want != "" && (input == nil || !strings.Contains(input.Field+": "+input.Detail, want)) {
			t.Errorf("%s: %v, want %s", resources, err, want)
		}
	}
	const two = `"resources":[{"name":"cpu","theta_max":0.1},{"name":"keys","from":"count","theta_max":1}]`
	for text, field := range map[string]string{
		`{"scheme":"ranges","instances":2,` + two + `}`:                                          "resources",
		`{"scheme":"pkg","instances":[{"id":0,"capacities":{"memory":1}}]}`:                      "instances/0/capacities",
		`{"instances":[{"id":0,"capacities":{"memory":1}}]}`:                                     "instances/0/capacities",
		`{"instances":2,"theta_max":0.2,` + two + `}`:                                            "resources/0/theta_max",
		`{"instances":2,"compact":{"degree":4},` + two + `}`:                                     "compact",
		`{"instances":2,"splitting":{"max_parts":4,"parts":"expire"},` + two + `}`:               "splitting/parts",
		`{"instances":2,"splitting":{"max_parts":4,"routing":"least_loaded"},` + two + `}`:       "splitting/routing",
		`{"instances":[{"id":1,"capacities":{"keys":1e9}},{"id":0}],` + two + `}`:                "instances/0/capacities",
		`{"instances":[{"id":1},{"id":0}],"resources":[{"name":"a"},{"name":"b","limit":true}]}`: "instances/1/capacities",
	} {
		_, err := placed(text)
		if input := parameters.InputError(err); input == nil || input.Field != field {
			t.Errorf("%s: %v, want an error of %s", text, err, field)
		}
	}
}

// TestPatchedThetaMax: a patch says the tolerance of the first resource, or that of the operator.
func TestPatchedThetaMax(t *testing.T) {
	const was = `{"instances":2,"theta_max":0.2,"resources":[{"name":"cpu"}]}`
	for patch, gone := range map[string]bool{
		`{"resources":[{"name":"cpu","theta_max":0.1}]}`:                 true,
		`{"resources":[{"name":"cpu"}]}`:                                 false,
		`{"resources":[{"name":"cpu","theta_max":0.1}],"theta_max":0.3}`: false,
		`{"resources":null}`:                                             false,
	} {
		base, err := operator.PatchedFrom([]byte(was), []byte(patch))
		if err != nil || strings.Contains(string(base), "theta_max") == gone {
			t.Errorf("%s: %s, %v", patch, base, err)
		}
	}
}

package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

func TestConfiguration(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	look(t, p, "/#/operators/clicks/configuration", "configuration", ".operator-settings")
	look(t, p, "/#/operators/clicks/key?key=asia%2Farticle-0000", "key", ".operator-story")
	glance(t, 1, p, "/#/operators/functions/configuration", "configuration-capacities", ".operator-settings")
}

// TestConfigurationRequest: the command is accepted, and gives the same configuration. It is not run beside other
// tests, as these configure operators of the server meanwhile.
func TestConfigurationRequest(t *testing.T) {
	site := browsertest.Filled(t)
	for name, configuration := range map[string]object{
		"said": {
			"instances": []any{object{"id": 0}, object{"id": 1, "capacity": 2, "tokens": 256}}, "theta_max": 0.08,
			"table_limit": 3000, "deadline": "30s",
			"compact": object{"degree": 8, "cost_scale": 0.5}, "trigger": object{"theta": 0.1, "cooldown_intervals": 2},
			"approval": object{"ttl": "0s"},
		},
		"said-budget": {"instances": 4, "strategy": "optimal", "objective": "min_imbalance",
			"migration_limit": object{"fraction": 0.05}},
		"said-kafka": {"instances": 2, "hash": object{"function": "kafka", "partitions": 4,
			"assignment": []int{0, 0, 1, 1}}},
		"said-rules": {"instances": []any{object{"id": 0, "labels": object{"pool": "a"}}, object{"id": 1, "takes": "none"},
			object{"id": 2}}, "placement": object{"rules": []any{
			object{"name": "tenant", "keys": object{"prefix": "a/"}, "on": object{"labels": object{"pool": "a"}},
				"exclusive": true}, object{"name": "asleep", "keys": object{"equals": []string{"x"}}, "stay": true}}}},
		"said-tag":     {"instances": 3, "hash": object{"affinity": object{"until": "/", "count": 2}}},
		"said-halving": {"instances": 3, "scheme": "ring", "ring": object{"method": "halving", "tau": 0.25, "max_rounds": 3}},
		"said-cut":     {"instances": 3, "scheme": "ranges", "ranges": object{"method": "quantile"}},
		"said-choices": {"instances": 3, "scheme": "pkg", "pkg": object{"method": "w_choices", "choices": 1}},
	} {
		tell(t, http.MethodPut, site.URL+"/v1/operators/"+name, "", configuration, nil)
	}
	type operator struct {
		Name    string `json:"name"`
		Version int64  `json:"config_version"`
	}
	var list struct {
		Operators []operator `json:"operators"`
	}
	ask(t, site.URL+"/v1/operators", "", &list)
	p := browsertest.Start(t).Page(t, site.URL)
	for _, o := range list.Operators {
		p.Goto("/#/operators/" + o.Name + "/configuration")
		p.WaitText("main h1", o.Name)
		command := p.Text(".operator-request code")
		if !strings.Contains(command, "/v1/operators/"+o.Name+" ") {
			t.Fatalf("the command of %s is %s", o.Name, command)
		}
		bash(t, command)
		var now operator
		ask(t, site.URL+"/v1/operators/"+o.Name, "", &now)
		if now.Version != o.Version {
			t.Errorf("the command of %s made another configuration", o.Name)
		}
	}
}

// TestConfigurationRules: rules are told in words.
func TestConfigurationRules(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	tell(t, http.MethodPut, site.URL+"/v1/operators/ruled", "", object{
		"instances": []any{object{"name": "h1", "labels": object{"pool": "a"}}, object{"name": "h2", "takes": "none"},
			object{"name": "h3"}}, "placement": object{"rules": []any{
			object{"name": "tenant", "keys": object{"prefix": "a/"}, "on": object{"labels": object{"pool": "a"}},
				"exclusive": true}, object{"name": "asleep", "keys": object{"equals": []string{"x", "y"}}, "stay": true}}},
	}, nil)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/ruled/configuration")
	for _, words := range []string{
		"that begin with a/", "on h1 (pool a), which no other keys may have", "stay where they are, unless their instance goes",
		"Take nothing new, and keep what they have: h2.",
	} {
		p.WaitText(".operator-rules", words)
	}
	tell(t, http.MethodPatch, site.URL+"/v1/operators/ruled", "", patch{
		"instances": []any{object{"name": "h1", "labels": object{"pool": "b"}}, object{"name": "h2"}, object{"name": "h3"}},
		"hash":      object{"affinity": object{"until": "/"}}, "placement": object{"rules": []any{
			object{"name": "tenant", "keys": object{"prefix": "a/"}, "on": object{"instances": []string{"h3"}}},
			object{"name": "other", "keys": object{"prefix": "b/"}, "on": object{"labels": object{"pool": "b"}}}}},
	}, nil)
	p.Reload()
	for _, words := range []string{
		"labels of h1: pool a → pool b; h2 takes keys again", "rule asleep removed",
		"rule other added: keys that begin with b/ on pool b",
		"rule tenant: keys that begin with a/ on pool a, which no other keys may have → keys that begin with a/ on instance 2",
		"keys that stay together: none → whose part before the first / is the same",
	} {
		p.WaitText(".operator-versions", words)
	}
	p.Picture("configuration-versions")
}

// TestConfigurationDefaults: what is left out is shown as what it defaults to.
func TestConfigurationDefaults(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	const unmarked = `[...document.querySelectorAll('.operator-settings dd')].filter((d) => !d.querySelector('.operator-default')).map((d) => d.previousElementSibling.textContent)`
	own := []string{"Configuration", "Committed table", "The table pins"} // are versions, not settings
	for scheme, also := range map[string][]string{"table": nil, "ring": {"Scheme"}, "ranges": {"Scheme"}, "pkg": {"Scheme"}} {
		name := "plain-" + scheme
		tell(t, http.MethodPut, site.URL+"/v1/operators/"+name, "", object{"instances": 3, "scheme": scheme}, nil)
		p.Goto("/#/operators/" + name + "/configuration")
		p.WaitText("main h1", name)
		p.WaitFor(".operator-settings")
		if got, want := browsertest.Eval[[]string](p, unmarked), append(also, own...); !slices.Equal(got, want) {
			t.Errorf("of %s not defaults are %q, want %q", name, got, want)
		}
	}
	tell(t, http.MethodPut, site.URL+"/v1/operators/plain-table", "",
		object{"instances": 3, "theta_max": 0.1, "require_approval": true}, nil)
	p.Goto("/#/operators/plain-table/configuration")
	p.WaitText(".operator-pinned", "pins configuration version 1")
	if got, want := browsertest.Eval[[]string](p, unmarked),
		append([]string{"θ_max", "Plans"}, own...); !slices.Equal(got, want) {
		t.Errorf("not defaults are %q, want %q", got, want)
	}
}

// TestConfigurationRoute: where keys go is said as the API says it, and the key is in
// the address.
func TestConfigurationRoute(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	var table struct {
		Entries []struct {
			Key      string `json:"key"`
			Instance int    `json:"instance"`
		} `json:"entries"`
	}
	ask(t, site.URL+"/v1/operators/clicks/routing-table", "", &table)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/clicks/key")
	p.Fill("#operator-key", table.Entries[0].Key)
	p.Press("Enter")
	p.WaitText("[aria-live]", "an entry of the routing table")
	p.WaitText(".operator-story", "By the plan of interval")
	p.WaitText(".operator-story .status-committed", "committed")
	moved := migrationsOf(t, site, site.Plans.Proposed, "page_size=1").Migrations[0]
	p.Goto("/#/operators/clicks/key?key=" + url.QueryEscape(moved.Key))
	p.WaitText(".operator-story", fmt.Sprintf("would move it from instance %d to instance %d", moved.From, moved.To))
	p.WaitText(".operator-story .status-proposed", "waits for approval")
	for _, c := range []struct{ operator, key, words string }{
		{"clicks", " a key & more? 🙂+/#", "its hash function decides"},
		{"products", strings.Repeat("k", 1024), "on the ring"},
		{"files", "src/main.go", "owns the range"},
	} {
		var route struct {
			Instance int `json:"instance"`
		}
		ask(t, site.URL+"/v1/operators/"+c.operator+"/route?key="+url.QueryEscape(c.key), "", &route)
		p.Goto("/#/operators/" + c.operator + "/key")
		p.WaitText("main h1", c.operator)
		p.Fill("#operator-key", c.key)
		p.Click(".operator-route button")
		p.WaitText("[aria-live]", c.words)
		p.Reload()
		p.WaitText("[aria-live]", c.words)
		if key := browsertest.Eval[string](p, "document.querySelector('.operator-key').textContent"); key != c.key {
			t.Errorf("the key came back as %q", key)
		}
	}
	p.Fill("#operator-key", strings.Repeat("🙂", 257))
	p.Press("Enter")
	p.WaitText("#operator-key-said", "1,028")

	p.Expect(`status of 409`)
	tell(t, http.MethodPut, site.URL+"/v1/operators/held", "", object{"instances": 2, "table_owner": "engine"}, nil)
	p.Goto("/#/operators/held/key?key=a")
	p.WaitText("[aria-live]", "only the engine knows")
}

// TestConfigurationReports: who has reported, and who is missing.
func TestConfigurationReports(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	operator := site.URL + "/v1/operators/reporting"
	tell(t, http.MethodPut, operator, "", object{"instances": 3}, nil)
	report := func(interval, instance string) {
		tell(t, http.MethodPut, operator+"/intervals/"+interval+"/reports/"+instance, "",
			object{"keys": []any{object{"key": "k" + instance, "cost": 1, "state": 1}}}, nil)
	}
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/reporting/configuration")
	p.WaitFor(".operator-settings")
	for _, instance := range []string{"0", "1", "2"} {
		report("41", instance)
	}
	renew(p)
	p.WaitText("main", "All 3 instances have reported.")
	report("42", "1")
	renew(p)
	p.WaitText("main", "1 of 3 instances have reported. Missing: 0, 2.")
	p.WaitText("main h2", "Reports of interval 42")
	glance(t, 1, p, "/#/operators/reporting/configuration", "configuration-reports", ".waiting")
}

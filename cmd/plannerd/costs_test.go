package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

const resourceRows = `key,cost,state,instance,cost.network
a,5,60,w0,1
b,4,50,w0,9
c,3,40,w1,1
d,2,30,w1,1
e,1,10,w1,
`

// TestResources plans a file under resources that flags name.
func TestResources(t *testing.T) {
	type resource struct {
		Name      string
		Limit     bool
		Instances []struct {
			ID      int32
			MaxLoad float64 `json:"max_load"`
		}
	}
	plan := func(args ...string) (of []resource) {
		t.Helper()
		var out struct{ Resources []resource }
		args = append([]string{"plan", "-", "--output", "json", "--instances", "w0,w1:2"}, args...)
		text := succeed(t, resourceRows, args...)
		if err := json.Unmarshal([]byte(text), &out, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		return out.Resources
	}
	memory, network := "memory:from=state,limit", "network:theta_max=50%"
	got := plan("--resource", memory, "--resource", network, "--capacity", "memory=w1:90,w0:120")
	if len(got) != 3 || got[1].Name != "memory" || !got[1].Limit || got[1].Instances[0].MaxLoad != 120 ||
		got[1].Instances[1].MaxLoad != 90 || got[2].Name != "network" || got[2].Instances[0].MaxLoad != 6 {
		t.Errorf("%+v", got)
	}
	got = plan("--resource", memory, "--capacity", "memory=120,w1:200", "--resource",
		"keys:from=count,theta_max=20%", "--capacity", "keys=w1:1")
	if got[1].Instances[0].MaxLoad != 120 || got[1].Instances[1].MaxLoad != 200 || got[2].Instances[1].MaxLoad != 3 {
		t.Errorf("%+v", got)
	}
	if got := plan(); got != nil {
		t.Errorf("%+v", got)
	}
	succeed(t, resourceRows, "compare", "-", "--instances", "w0,w1", "--resource", memory, "--capacity", "memory=120")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"memory must have one of theta_max and limit", []string{"--resource", "memory:from=state", "--instances", "w0,w1"}},
		{"must say how much w0 has of memory", []string{"--resource", memory, "--instances", "w0,w1"}},
		{"must say how much w0 has of memory", []string{"--resource", memory}}, // the rows name w0
		{"cost stands twice", []string{"--resource", "cost:theta_max=5%", "--instances", "w0,w1"}},
		{"memo is no resource after the first", []string{"--resource", network, "--capacity", "memo=7",
			"--instances", "w0,w1"}},
		{"write a name and its bound", []string{"--resource", "memory"}},
		{"write a resource and what instances have of it", []string{"--capacity", "memory=much"}},
		{"w7 is no instance", []string{"--resource", memory, "--capacity", "memory=w7:1", "--instances", "w0,w1"}},
		{"is not known beside resources from state", []string{"--resource", memory, "--capacity", "memory=1000", "--split",
			"--split-parts", "expire", "--instances", "w0,w1"}},
		{"not with --resource", []string{"--resource", network, "--compact", "8", "--instances", "w0,w1"}},
		{"no row says how much it takes of resource gpu", []string{"--resource", "gpu:theta_max=5%"}},
	} {
		r := exec(t, strings.NewReader(resourceRows), nil, append([]string{"plan", "-"}, c.args...)...)
		if r.code == exitOK || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}

// TestConvertCosts writes what keys take of resources as columns, whatever it is read of.
func TestConvertCosts(t *testing.T) {
	const want = "key,cost,cost.network\na,1,2048\nb,2,0\n"
	for text, args := range map[string][]string{
		`{"key":"a","cost":1,"costs":{"network":2048}}` + "\n" + `{"key":"b","cost":2}`: nil,
		"User;CPU;Bytes out;x\na;1;2 KiB;7\nb;2;;8\n": {"--columns",
			"key=User,cost=CPU,cost.network=Bytes out"},
		`[{"u":"a","c":1,"io":{"out":2048}},{"u":"b","c":2}]`: {"--columns",
			"key=u,cost=c,cost.network=io.out"},
	} {
		if got := succeed(t, text, append([]string{"convert", "-"}, args...)...); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	type row struct {
		Key     string   `parquet:"key"`
		Cost    int64    `parquet:"cost"`
		Network *float64 `parquet:"cost.network,optional"`
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	if _, err := w.Write([]row{{"a", 1, new(2048.0)}, {"b", 2, nil}}); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if got := succeed(t, file.String(), "convert", "-"); got != want {
		t.Errorf("Parquet: %s", got)
	}
}

// TestBacktestResources tries policies under resources: no plan puts more on an instance than it has.
func TestBacktestResources(t *testing.T) {
	rows := "interval,key,cost,state\n"
	for i := range 5 {
		for k := range 6 {
			rows += fmt.Sprintf("%d,k%d,%d,10\n", i, k, 1+(i+k)%6)
		}
	}
	args := []string{"backtest", "-", "--instances", "2", "--resource", "memory:from=state,limit", "--output", "csv"}
	tight := succeed(t, rows, append(args, "--capacity", "memory=30")...)
	loose := succeed(t, rows, append(args, "--capacity", "memory=1000")...)
	if tight == loose {
		t.Error(tight)
	}
	if r := exec(t, strings.NewReader(rows), nil, args...); r.code != exitUsage ||
		!strings.Contains(r.stderr, "must say how much instance 0 has of memory") {
		t.Errorf("%+v", r)
	}
}

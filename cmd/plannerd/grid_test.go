package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/planner"
)

// A grid is compared as if each of its combinations had been asked for alone.
func TestCompareGrid(t *testing.T) {
	args := []string{"compare", streamFile, "--instances", "4", "--strategies", "mixed,optimal"}
	grid := append(args, "--theta-max", "2%,0.05", "--table-limit", "5, none")
	golden(t, "compare_grid.txt", succeed(t, "", grid...))
	golden(t, "compare_grid.csv", succeed(t, "", append(grid, "--output", "csv")...))
	read := func(args []string) (c offline.Comparison) {
		decoder := json.NewDecoder(strings.NewReader(succeed(t, "", append(args, "--output", "json")...)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := read(grid)
	if len(all.Results) != 8 || all.Parameters != nil {
		t.Fatalf("%d results, parameters %+v", len(all.Results), all.Parameters)
	}
	pareto := 0
	for _, r := range all.Results {
		limit := "none"
		if r.Parameters.TableLimit != nil {
			limit = "5"
		}
		one := read(append(args, "--theta-max", cli.Exact(r.Parameters.ThetaMax), "--table-limit", limit))
		for _, alone := range one.Results {
			if alone.Strategy == r.Strategy && (alone.State != r.State || alone.Table != r.Table ||
				alone.ThetaAfter != r.ThetaAfter) {
				t.Errorf("%s with %+v: %+v in the grid, %+v alone", r.Strategy, r.Parameters, r.Report, alone.Report)
			}
		}
		if one.Parameters == nil || one.Parameters.ThetaMax != r.Parameters.ThetaMax {
			t.Errorf("parameters alone: %+v", one.Parameters)
		}
		if r.Pareto {
			pareto++
		}
	}
	if pareto == 0 || pareto == len(all.Results) {
		t.Errorf("%d on the Pareto front", pareto)
	}
}

// For each number of instances a strategy does what it does after that rescale alone, and
// the fronts are those of one number each.
func TestCompareScaleTo(t *testing.T) {
	args := []string{"compare", streamFile, "--instances", "0:1,2:1,4:1", "--scale-to", "2,3,5", "--strategies",
		"mixed,lpt", "--theta-max", "10%"}
	golden(t, "compare_scale_to.txt", succeed(t, "", args...))
	var all offline.Comparison
	if err := json.Unmarshal([]byte(succeed(t, "", append(args, "--output", "json")...)), &all); err != nil {
		t.Fatal(err)
	}
	pareto := map[int]int{}
	for i, instances := range []string{"0,2", "0,2", "0,2,4", "0,2,4", "0,1,2,3,4", "0,1,2,3,4"} {
		r := all.Results[i]
		var alone offline.StreamDocument
		out := succeed(t, "", "plan", streamFile, "--instances", strings.ReplaceAll(instances, ",", ":1,")+":1",
			"--base-instances", "0:1,2:1,4:1", "--strategy", r.Strategy, "--theta-max", "10%", "--output", "json")
		if err := json.Unmarshal([]byte(out), &alone); err != nil {
			t.Fatal(err)
		}
		alone.Summary.PlanMS = r.PlanMS
		if diff := cmp.Diff(alone.Summary, r.Report); diff != "" || r.Instances != 1+strings.Count(instances, ",") {
			t.Errorf("%s on %d instances: alone (-), compared (+):\n%s", r.Strategy, r.Instances, diff)
		}
		if r.Pareto {
			pareto[r.Instances]++
		}
	}
	if len(all.Results) != 6 || len(pareto) != 3 {
		t.Errorf("%d results, fronts %v", len(all.Results), pareto)
	}
}

func TestGridErrors(t *testing.T) {
	for args, want := range map[string]string{
		"plan " + streamFile + " --theta-max 1%,2%": "--theta-max: plan takes one value",
		"compare " + streamFile +
			" --scale-to 0": "--scale-to: the number of instances must be 1",
		"compare " + streamFile +
			" --hash reported --scale-to 4": "--scale-to: needs a --hash that can place keys",
		"compare " + streamFile +
			" --table-limit 5,many": `--table-limit: "many": must be a whole number of 0 or more, or none`,
		"compare " + streamFile +
			" --beta 1,x": `--beta: "x": must be a number of 0 or more`,
		"compare " + streamFile +
			" --theta-max 1%,-2%": `--theta-max: "-2%": must be a number of 0 or more`,
		"compare " + streamFile + " --beta 1" + strings.Repeat(",2", 99) +
			"": fmt.Sprintf("%d combinations; at most 256 are planned", 100*len(planner.Strategies())),
		"compare " + streamFile + " --beta 1" + strings.Repeat(",2", 256): fmt.Sprintf(
			"%d combinations; at most 256 are planned", 257*len(planner.Strategies())),
		"compare " + streamFile +
			" --migration-limit 1%,2% --strategies optimal": "--migration-limit: belongs to objective min_imbalance",
		"compare " + streamFile + " --objective min_imbalance --theta-max 1% --beta 1": "--migration-limit: is needed",
	} {
		if r := exec(t, nil, nil, strings.Fields(args)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d, %q; want %q", args, r.code, r.stderr, want)
		}
	}
}

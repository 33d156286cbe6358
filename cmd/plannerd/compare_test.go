package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/drive"
)

func TestCompareTables(t *testing.T) {
	for name, args := range map[string][]string{
		"compare_interval.txt": {intervalFile, "--instances", "4"},
		"compare_limit.txt": {intervalFile, "--instances", "4", "--table-limit", "3", "--strategies",
			"mixed,minmig,mintable"},
		"compare_stream.txt": {streamFile, "--instances", "4", "--table-limit", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, succeed(t, "", append([]string{"compare"}, args...)...))
		})
	}
}

// Where no key has to be split, a stream comes to the same whether keys may be or not.
func TestNothingToSplit(t *testing.T) {
	moved := func(more ...string) string {
		args := append([]string{"plan", streamFile, "--instances", "4", "--theta-max", "30%", "--output", "json"}, more...)
		var d struct {
			Summary struct{ Realised json.RawMessage }
		}
		if err := json.Unmarshal([]byte(succeed(t, "", args...)), &d); err != nil {
			t.Fatal(err)
		}
		return string(d.Summary.Realised)
	}
	if whole, split := moved(), moved("--split"); whole != split || !strings.Contains(whole, `"moved": 0.`) {
		t.Errorf("%s, and where keys may be split %s", whole, split)
	}
}

func TestCompareForPrograms(t *testing.T) {
	args := []string{"compare", streamFile, "--instances", "4", "--strategies", "mixed,lpt"}
	var d offline.Comparison
	decoder := json.NewDecoder(strings.NewReader(succeed(t, "", append(args, "--output", "json")...)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if len(d.Results) != 2 || d.Results[0].Strategy != "mixed" || d.Results[1].Strategy != "lpt" || !d.Results[0].Pareto {
		t.Fatalf("results: %+v", d.Results)
	}
	mixed, lpt := d.Results[0], d.Results[1]
	if mixed.Intervals != 4 || mixed.Planned != 4 || lpt.State.Total <= mixed.State.Total ||
		lpt.ThetaAfter.Median >= mixed.ThetaAfter.Median {
		t.Errorf("mixed %+v, lpt %+v", mixed, lpt)
	}
	// What compare says of a strategy is what plan says of it.
	var alone offline.StreamDocument
	out := succeed(t, "", "plan", streamFile, "--instances", "4", "--strategy", "mixed", "--output", "json")
	if err := json.Unmarshal([]byte(out), &alone); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(alone.Summary, mixed.Report); diff != "" {
		t.Errorf("alone (-), compared (+):\n%s", diff)
	}
	// Realised is what the intervals tell that came after a plan.
	var thetas []float64
	for _, f := range alone.Intervals[1:] {
		thetas = append(thetas, f.Theta.Before)
	}
	if r := alone.Summary.Realised; r.Intervals != 3 || r.Median != drive.SpreadOf(thetas).Median || r.Moved == 0 {
		t.Errorf("realised %+v, the intervals had θ %v", r, thetas)
	}
	lines := strings.Split(strings.TrimSpace(succeed(t, "", append(args, "--output", "csv")...)), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "mixed,4,true,false,4,4,4,4,") {
		t.Errorf("csv: %q", lines)
	}
}

// Each look at this clock takes a minute: the first plan uses all time up.
func TestCompareTimeout(t *testing.T) {
	now := time.Time{}
	var stdout, stderr bytes.Buffer
	env := &cli.Environment{
		Ctx: t.Context(), Stdout: &stdout, Stderr: &stderr,
		Now: func() time.Time { now = now.Add(time.Minute); return now },
	}
	if code := execute(env, []string{"compare", streamFile, "--strategies", "llfd,lpt", "--timeout",
		"90s"}); code != exitOK {
		t.Fatalf("exit %d, %s", code, stderr.String())
	}
	if got := strings.Count(stdout.String(), "1m30s were up after "); got != 2 ||
		strings.Contains(stdout.String(), "*  l") {
		t.Errorf("want both strategies out of time, none on the front:\n%s", stdout.String())
	}
}

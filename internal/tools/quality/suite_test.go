package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/milp"
	"plannerd/internal/tools/quality/cases"
	"plannerd/planner"
)

// play runs the program and returns the report and the CSV rows, by column.
func play(t *testing.T, args ...string) (report string, rows []map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cases.csv")
	var out, errs bytes.Buffer
	if code := run(append(args, "-csv", file, "-sorts", "1"), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return out.String(), rows
}

// two is a suite of two cases, an interval each of two settings.
var two = []string{
	"-no-streams", "-keys", "2e2", "-instances", "3", "-theta", "0.05", "-table", "40,400", "-window", "1",
	"-fluctuation", "1", "-intervals", "1", "-seed", "7", "-max-keys", "lpt=199",
}

func TestSuite(t *testing.T) {
	report, rows := play(t, two...)
	per := len(planner.Strategies()) + 1 // and the reference
	if len(rows) != 2*per {
		t.Fatalf("%d rows, want %d", len(rows), 2*per)
	}
	for i := range 2 {
		checkCase(t, rows[i*per:(i+1)*per])
	}
	if want := "zipf/keys=200/instances=3/theta=0.05/table=400/window=1/fluctuation=1/seed=7#1"; rows[per]["case"] != want {
		t.Errorf("the second case is %s, want %s", rows[per]["case"], want)
	}
	for _, want := range []string{"2 cases of 2 settings", "### overall\n\n2 cases: ", "### A_max = 40\n\n1 cases: ", "\n| optimal | 2 |", "`lpt` above 199 keys"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	for _, lack := range []string{"### K = ", "\n| lpt |", "Refuted"} {
		if strings.Contains(report, lack) {
			t.Errorf("the report has %q:\n%s", lack, report)
		}
	}

	_, again := play(t, two...)
	for i := range rows {
		for name := range rows[i] {
			if name != "seconds" && rows[i][name] != again[i][name] {
				t.Errorf("%s of %s in %s: %s, then %s", name, rows[i]["strategy"], rows[i]["case"], rows[i][name], again[i][name])
			}
		}
	}
}

// checkCase checks the rows of one case against each other, and against the case
// that its name makes again.
func checkCase(t *testing.T, rows []map[string]string) {
	t.Helper()
	c, err := cases.Load(rows[0]["case"], "", "optimal")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row["case"] != rows[0]["case"] || row["lower_bound"] != rows[0]["lower_bound"] {
			t.Errorf("rows of one case differ: %v, %v", row, rows[0])
		}
		if row["strategy"] == "lpt" {
			if row["status"] != "skipped" || row["objective"] != "" || row["ratio"] != "" || row["seconds"] != "" {
				t.Errorf("lpt was to be skipped: %v", row)
			}
			continue
		}
		options, strategy := c.Options, row["strategy"]
		if strategy == reference {
			strategy, options.Certificate = "optimal", planner.CertificateTight
		}
		plan, err := planner.Run(strategy, c.Snapshot, options)
		if err != nil {
			t.Fatal(err)
		}
		bound, objective := parsed(t, row["lower_bound"]), plan.Migration.Objective
		if got := parsed(t, row["objective"]); got != objective || parsed(t, row["own_bound"]) != plan.Certificate.LowerBound ||
			row["table_before"] != whole(plan.TableBefore) || row["table"] != whole(plan.TableAfter) {
			t.Errorf("%s: the case made again has objective %v, table %d, not %v", strategy, objective, plan.TableAfter, row)
		}
		if row["meets"] == "true" && bound > 0 && parsed(t, row["ratio"]) != objective/bound {
			t.Errorf("%s: ratio %s, want %v/%v", strategy, row["ratio"], objective, bound)
		}
	}
}

func parsed(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSolver lets the MILP solver answer as well: no plan is better than its
// optimum, no certificate above it.
func TestSolver(t *testing.T) {
	milp.Require(t)
	_, rows := play(t, "-no-streams", "-keys", "60", "-instances", "3", "-theta", "0.1", "-table", "20", "-window", "1",
		"-fluctuation", "0.5", "-intervals", "2", "-strategies", "mixed", "-commit", "mixed", "-milp", "1m")
	if len(rows) != 6 || rows[2]["strategy"] != solver {
		t.Fatalf("%d rows, want those of mixed, the reference and the solver twice", len(rows))
	}
	for i := 0; i < len(rows); i += 3 {
		if x := rows[i+2]; x["status"] != "completed" || x["meets"] != "true" {
			t.Errorf("the solver did not come to an end: %v", x)
		}
		for _, row := range rows[i : i+2] {
			if row["meets"] == "true" && parsed(t, row["objective"]) < parsed(t, rows[i+2]["objective"]) {
				t.Errorf("%s is better than the optimum %s: %v", row["strategy"], rows[i+2]["objective"], row)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	var errs bytes.Buffer
	c, err := parseFlags([]string{"-no-streams", "-max-keys", "readj=7,lpt=8"}, &errs)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.settings) != 4*3*3*2*2*2 || c.intervals != 8 || len(c.strategies) != len(planner.Strategies()) {
		t.Errorf("by default %d settings of %d intervals, %d strategies", len(c.settings), c.intervals, len(c.strategies))
	}
	if c.maxKeys["readj"] != 7 || c.maxKeys["lpt"] != 8 || c.maxKeys["mixed_bf"] != 5e4 {
		t.Errorf("most keys: %v", c.maxKeys)
	}
	c, err = parseFlags([]string{"-quick", "-keys", "5e3,20000", "-strategies", "mixed"}, &errs)
	if err != nil {
		t.Fatal(err)
	}
	if last := c.settings[len(c.settings)-1]; c.intervals != quickIntervals || last.Keys != 20000 || !slices.Equal(c.strategies, []string{"mixed"}) {
		t.Errorf("quick: %d intervals, last setting %v, strategies %v", c.intervals, last, c.strategies)
	}
	for _, args := range [][]string{
		{"-strategies", "best"}, {"-commit", ""}, {"-keys", "5e-1"}, {"-keys", ""}, {"-max-keys", "lpt"}, {"-no-grid", "-no-streams"},
		{"-streams", t.TempDir()}, {"-no-streams", "more"}, {"-no-streams", "-intervals", "0"},
	} {
		if _, err := parseFlags(args, &errs); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/milp"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
)

// play measures what the flags say and returns the report and what it is made of.
func play(t *testing.T, args ...string) (report string, of *suite) {
	t.Helper()
	var out, errs bytes.Buffer
	c, err := parseFlags(append(args, "-sorts", "1"), &errs)
	if err != nil {
		t.Fatal(err)
	}
	if of, err = assess(t.Context(), c, &out, &errs); err != nil {
		t.Fatal(err)
	}
	return out.String(), of
}

// two is a suite of two cases, an interval each of two settings.
var two = []string{
	"-no-streams", "-keys", "2e2", "-instances", "3", "-theta", "0.05", "-table", "40,400", "-window", "1",
	"-fluctuation", "1", "-intervals", "1", "-seed", "7", "-max-keys", "lpt=199",
}

func TestSuite(t *testing.T) {
	report, first := play(t, two...)
	if len(first.records) != 2 {
		t.Fatalf("%d cases, want 2", len(first.records))
	}
	for i := range first.records {
		checkCase(t, &first.records[i])
	}
	const want = "zipf/keys=200/instances=3/theta=0.05/table=400/window=1/fluctuation=1/seed=7#1"
	if first.records[1].name != want {
		t.Errorf("the second case is %s, want %s", first.records[1].name, want)
	}
	for _, want := range []string{"2 cases of 2 settings", "### overall\n\n2 cases: ", "### A_max = 40\n\n1 cases: ",
		"\n| optimal | 2 |", "`lpt` above 199 keys"} {
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
	for _, of := range []*suite{first, again} {
		for i := range of.records {
			for j := range of.records[i].results {
				of.records[i].results[j].elapsed = 0
			}
		}
	}
	if !reflect.DeepEqual(first.records, again.records) {
		t.Errorf("%+v, then %+v", first.records, again.records)
	}
}

// checkCase checks the results of one case against the same case planned again.
func checkCase(t *testing.T, r *record) {
	t.Helper()
	if len(r.results) != len(planner.Strategies())+1 { // and the reference
		t.Fatalf("%d results", len(r.results))
	}
	for c, err := range cases.Drive(r.setting, "", "optimal", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Name() != r.name {
			t.Errorf("%s made again is %s", r.name, c.Name())
		}
		for i := range r.results {
			checkResult(t, r, &r.results[i], c)
		}
	}
}

func checkResult(t *testing.T, r *record, x *result, c *cases.Case) {
	t.Helper()
	if x.strategy == "lpt" {
		if x.status != statusSkipped || *x != (result{strategy: "lpt", status: statusSkipped}) {
			t.Errorf("lpt was to be skipped: %+v", x)
		}
		return
	}
	options, strategy := c.Options, x.strategy
	if strategy == reference {
		strategy, options.Certificate = "optimal", planner.CertificateTight
	}
	plan, err := planner.Run(strategy, c.Snapshot, options)
	if err != nil {
		t.Fatal(err)
	}
	objective := plan.Migration.Objective
	if x.objective != objective || x.bound != plan.Certificate.LowerBound || x.table != plan.TableAfter {
		t.Errorf("%s: planned again the objective is %v, the table %d, not %+v", strategy, objective, plan.TableAfter, x)
	}
	if ratio, _ := r.ratio(x); x.meets && r.bound > 0 && ratio != objective/r.bound {
		t.Errorf("%s: ratio %v, want %v/%v", strategy, ratio, objective, r.bound)
	}
}

// TestSolver lets the MILP solver answer as well: no plan is better than its
// optimum, no certificate above it.
func TestSolver(t *testing.T) {
	milp.Require(t)
	_, s := play(t, "-no-streams", "-keys", "60", "-instances", "3", "-theta", "0.1", "-table", "20", "-window", "1",
		"-fluctuation", "0.5", "-intervals", "2", "-strategies", "mixed", "-commit", "mixed", "-milp", "1m")
	if len(s.records) != 2 {
		t.Fatalf("%d cases, want 2", len(s.records))
	}
	for _, r := range s.records {
		if len(r.results) != 3 || r.results[2].strategy != solver {
			t.Fatalf("results %+v, want those of mixed, the reference and the solver", r.results)
		}
		x := r.results[2]
		if x.status != statusCompleted || !x.meets {
			t.Errorf("the solver did not come to an end: %+v", x)
		}
		for _, y := range r.results[:2] {
			if y.meets && y.objective < x.objective {
				t.Errorf("%s is better than the optimum %v: %+v", y.strategy, x.objective, y)
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
	if last := c.settings[len(c.settings)-1]; c.intervals != quickIntervals || last.Keys != 20000 ||
		!slices.Equal(c.strategies, []string{"mixed"}) {
		t.Errorf("quick: %d intervals, last setting %v, strategies %v", c.intervals, last, c.strategies)
	}
	for _, args := range [][]string{
		{"-strategies", "best"}, {"-commit", ""}, {"-keys", "5e-1"}, {"-keys", ""}, {"-max-keys", "lpt"},
		{"-no-grid", "-no-streams"}, {"-quick", "-effort", "slow"}, {"-quick", "-figure", "x.svg"},
		{"-quick", "-above", "1.1"}, {"-quick", "-above", "0.9", "-milp", "1s"},
		{"-streams", t.TempDir()}, {"-no-streams", "more"}, {"-no-streams", "-intervals", "0"},
	} {
		if _, err := parseFlags(args, &errs); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// Cases of a family are measured like others, without each component, and disturbed: idle keys
// change nothing.
func TestFamilies(t *testing.T) {
	report, of := play(t, "-no-grid", "-no-streams", "-families", "1", "-family-keys", "120", "-seed", "5", "-ablate",
		"-disturb", "-strategies", "optimal")
	if len(of.records) != len(cases.Families) {
		t.Fatalf("%d cases of %d families", len(of.records), len(cases.Families))
	}
	for i := range of.records {
		if x := &of.records[i]; x.keys < 50 || x.keys > 120 || of.contradictions() > 0 {
			t.Errorf("%s has %d keys; %d contradictions", x.name, x.keys, of.contradictions())
		}
		plan, more := of.records[i].of(planner.Optimal), of.records[i].of(withIdle)
		if more.objective != plan.objective || more.table != plan.table || of.records[i].of(renamed) == nil {
			t.Errorf("%s: %+v, with idle keys %+v", of.records[i].name, plan, more)
		}
	}
	for _, want := range []string{"## Families", "### family = two_scales", "\n| without pairs of shifts | ",
		"\n| idle keys added | "} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

// Several efforts and budgets stand beside each other, with the gap against the work, as a
// table and as a figure; the last effort is judged.
func TestEfforts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gap.svg")
	report, of := play(t, "-no-grid", "-no-streams", "-families", fmt.Sprint(deep.Count(1, 2)), "-family-keys", "300",
		"-effort", "fast,thorough",
		"-budgets", "1", "-strategies", "mixed,optimal", "-figure", file)
	for _, want := range []string{"Effort of `optimal`: 1 units, fast, thorough;", "| optimal/1 units |", "| optimal/fast |",
		"## Gap against work", "\n| thorough |", "The worst cases of `optimal/thorough`"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	gaps := of.gaps()
	if len(gaps) != 3 || gaps[0].label != "1 units" || gaps[0].work > 1 || gaps[2].label != "thorough" ||
		gaps[1].work == gaps[2].work {
		t.Errorf("%+v", gaps)
	}
	for _, g := range gaps {
		sorted := slices.IsSorted([]float64{1, g.median, g.p90, g.p95, g.worst})
		if g.cases == 0 || !sorted || (g.wide > 0) != (g.worst > wide) {
			t.Errorf("%+v", g)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		Lines []struct {
			Points string `xml:"points,attr"`
		} `xml:"polyline"`
	}
	if err := xml.Unmarshal(text, &svg); err != nil || len(svg.Lines) != len(curves) ||
		strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%v: %s", err, text)
	}
	for _, line := range svg.Lines {
		if len(strings.Fields(line.Points)) != 3 {
			t.Errorf("the points %s", line.Points)
		}
	}
	if report, _ = play(t, two...); strings.Contains(report, "Gap against work") {
		t.Error("the gap of one effort is shown against its work")
	}
}

// Only cases above the ratio are put to the solver; where it finds a better plan, the
// report and the exit status say so.
func TestAbove(t *testing.T) {
	milp.Require(t)
	args := []string{"-no-grid", "-no-streams", "-families", "1", "-seed", "2", "-family-keys", "100", "-strategies",
		"optimal", "-milp", "1m", "-above"}
	report, none := play(t, append(args, "1e9")...)
	for _, x := range none.records {
		if x.of(solver) != nil && x.of("optimal").meets {
			t.Errorf("%s was put to the solver: %+v", x.name, x)
		}
	}
	if !strings.Contains(report, "## Above 1e+09") {
		t.Error(report)
	}
	_, all := play(t, append(args, "1", "-budgets", "1", "-effort", "fast")...)
	asked := 0
	for i := range all.records {
		x := &all.records[i]
		ratio, ok := x.ratio(x.of("optimal/fast"))
		if x.of(solver) == nil {
			if x.class == classFeasible && !x.settled && (!ok || ratio > 1) {
				t.Errorf("%s has ratio %v, and the solver was not asked", x.name, ratio)
			}
			continue
		}
		if asked++; x.exceeding <= 1 {
			t.Errorf("%s was put to the solver with ratio %v", x.name, x.exceeding)
		}
	}
	if asked == 0 {
		t.Error("the solver was never asked")
	}
}

// A better plan of the solver outdoes the one that is judged, one as good does not.
func TestOutdone(t *testing.T) {
	for _, c := range []struct {
		judged, solved result
		want           int
	}{
		{plan("optimal", true, 10), plan(solver, true, 9), 1},
		{plan("optimal", true, 10), plan(solver, true, 10-1e-6), 0},
		{plan("optimal", true, 10), plan(solver, false, 9), 0},
		{plan("optimal", false, 10), plan(solver, true, 11), 1},
		{plan("optimal", true, 10), result{strategy: solver, status: statusNoPlan}, 0},
		{plan("optimal", true, 10), result{strategy: solver, status: statusSkipped}, 0},
	} {
		s := suite{config: &config{strategies: []string{planner.Optimal}, variants: []variant{{}}}}
		s.records = []record{{exceeding: 2, results: []result{c.judged, c.solved}}}
		if got := s.outdones(); got != c.want {
			t.Errorf("%+v beside %+v: %d, want %d", c.judged, c.solved, got, c.want)
		}
		if s.records[0].exceeding = 0; s.outdones() > 0 {
			t.Error("a case that is not above the ratio counts")
		}
	}
}

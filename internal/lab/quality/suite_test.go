package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
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

// Streams are planned from an empty table, and each plan of optimal is where the next case
// starts from.
func TestStreams(t *testing.T) {
	args := []string{"-streams", t.TempDir(), "-stream", "own/phases", "-intervals", "2", "-strategies", "mixed,optimal"}
	report, first := play(t, args...)
	if len(first.records) != 2*len(driveInstances)*len(driveTables) {
		t.Fatalf("%d cases", len(first.records))
	}
	for i := range first.records {
		x := &first.records[i]
		if len(x.results) != 3 || x.contradicted || x.results[2].strategy != reference {
			t.Errorf("%+v", x)
		}
		plan := x.of(planner.Optimal)
		if next := i + 1; i%2 == 0 && (plan.table == 0 || first.records[next].thetaBefore == x.thetaBefore) {
			t.Errorf("%s is not carried on: %+v, then %+v", x.name, x, first.records[next])
		}
	}
	const want = "stream=own/phases/instances=5/theta=0.08/table=300#1"
	if first.records[1].name != want {
		t.Errorf("the second case is %s, want %s", first.records[1].name, want)
	}
	for _, want := range []string{"12 cases in ", "### overall\n\n12 cases: ", "### A_max = 300\n\n6 cases: ",
		"### stream = own/phases", "\n| optimal | "} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	for _, lack := range []string{"\n| lpt |", "Refuted", "Gap against work"} {
		if strings.Contains(report, lack) {
			t.Errorf("the report has %q:\n%s", lack, report)
		}
	}

	_, again := play(t, args...)
	for _, of := range []*suite{first, again} {
		for i := range of.records {
			of.records[i].drive.stream.Intervals = nil
			for j := range of.records[i].results {
				of.records[i].results[j].elapsed = 0
			}
		}
	}
	if !reflect.DeepEqual(first.records, again.records) {
		t.Errorf("%+v, then %+v", first.records, again.records)
	}
}

func TestFlags(t *testing.T) {
	var errs bytes.Buffer
	for _, args := range [][]string{
		{"-strategies", "best"}, {"-no-streams"}, {"-effort", "slow"}, {"-effort", ""}, {"-stream", "none"},
		{"-no-streams", "-families", "1", "more"}, {"-intervals", "0"},
	} {
		if _, err := parseFlags(args, &errs); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// Cases of families are measured like others, and by each effort; the last effort is judged.
func TestFamilies(t *testing.T) {
	report, of := play(t, "-no-streams", "-families", fmt.Sprint(deep.Count(1, 2)), "-family-keys", "300", "-seed", "5",
		"-effort", "fast,thorough", "-strategies", "mixed,optimal")
	if len(of.records) != deep.Count(1, 2)*len(cases.Families) {
		t.Fatalf("%d cases of %d families", len(of.records), len(cases.Families))
	}
	for i := range of.records {
		x := &of.records[i]
		if x.keys < 50 || x.keys > 300 || x.contradicted {
			t.Errorf("%+v", x)
		}
		// What a result says is what the planner says.
		c, err := cases.Draw(x.family, uint64(5+i/len(cases.Families)), 300)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Run(planner.Mixed, c.Snapshot, c.Options)
		if err != nil {
			t.Fatal(err)
		}
		y := x.of(planner.Mixed)
		if y.objective != plan.Migration.Objective || y.bound != plan.Certificate.LowerBound || y.table != plan.TableAfter {
			t.Errorf("%s: planned again the objective is %v, the table %d, not %+v", x.name, plan.Migration.Objective,
				plan.TableAfter, y)
		}
		if fast, thorough := x.of("optimal/fast"), x.of("optimal/thorough"); fast.work > thorough.work {
			t.Errorf("%s: %+v, %+v", x.name, fast, thorough)
		}
	}
	for _, want := range []string{"## Families", "### family = two_scales", "Its effort is thorough", "| optimal/fast |",
		"## Gap against work", "\n| thorough |", "The worst cases of `optimal/thorough`"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

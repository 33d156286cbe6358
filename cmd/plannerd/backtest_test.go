package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/backtest"
	"plannerd/internal/cli"
)

// recorded is a stream of so many intervals.
func recorded(t *testing.T, intervals int) string {
	t.Helper()
	return succeed(t, "", "generate", "--keys", "200", "--instances", "4", "--fluctuation", "0.2", "--seed", "3",
		"--intervals", fmt.Sprint(intervals))
}

func TestBacktest(t *testing.T) {
	args := []string{"backtest", "-", "--instances", "4", "--theta-max", "5%",
		"--forecasts", "last,ewma:0.5,seasonal:0.4:6"}
	stream := recorded(t, 16)
	golden(t, "backtest.txt", succeed(t, stream, args...))
	golden(t, "backtest_short.txt", succeed(t, recorded(t, 6), args...))
	golden(t, "backtest.csv", succeed(t, stream, append(args, "--output", "csv")...))

	var d backtest.Report
	decoder := json.NewDecoder(strings.NewReader(succeed(t, stream, append(args, "--output", "json")...)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Intervals != 16 || d.ThetaMax != 0.05 || len(d.Results) != 6 || d.Recommended == nil || d.Floor == nil ||
		d.Auto == nil || d.Auto.Judged.Intervals != 8 || d.BalanceWorth != 0.0025 ||
		d.Baseline.Strategy != "mixed" || d.Baseline.Judged.Intervals != 8 || d.Baseline.Tuning.Intervals != 5 {
		t.Errorf("%+v", d)
	}
	rows, err := csv.NewReader(strings.NewReader(succeed(t, stream, append(args, "--output", "csv")...))).ReadAll()
	if err != nil || len(rows) != 8 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for i, r := range d.Results {
		if got := rows[2+i][6]; got != fmt.Sprint(i == *d.Recommended) {
			t.Errorf("result %d is recommended: %s", i, got)
		}
		if got := rows[2+i][18]; got != cli.Exact(r.Judged.Above) {
			t.Errorf("result %d is above θ_max in %s of the intervals, by JSON in %v", i, got, r.Judged.Above)
		}
		if got := rows[2+i][26]; got != cli.Exact(r.Cost) || r.Cost <= 0 {
			t.Errorf("result %d costs %s, by JSON %v", i, got, r.Cost)
		}
		if h := r.Hindsight; h == nil || h.Bound > r.Judged.Moved || rows[2+i][27] != cli.Exact(h.Bound) ||
			rows[2+i][28] != cli.Exact(*h.Found) {
			t.Errorf("result %d: %+v in hindsight, moved %v, in CSV %s", i, h, r.Judged.Moved, rows[2+i])
		}
	}
}

// Of several θ_max each is reported as it is alone, and the least one that is kept is told.
func TestBacktestsBeside(t *testing.T) {
	stream := recorded(t, 16)
	args := []string{"backtest", "-", "--instances", "4", "--forecasts", "last,ewma:0.5", "--theta-max"}
	golden(t, "backtest_beside.txt", succeed(t, stream, append(args, "5%,50%,100%")...))
	golden(t, "backtest_none.txt", succeed(t, stream, append(args, "1%,2%")...))
	if short := succeed(t, recorded(t, 6), append(args, "1%,2%")...); !strings.Contains(short, "No policy is") {
		t.Error(short)
	}
	var several struct{ Reports []*backtest.Report }
	out := succeed(t, stream, append(args, "5%,100%", "--output", "json")...)
	if err := json.Unmarshal([]byte(out), &several); err != nil {
		t.Fatal(err)
	}
	csvLines := strings.Split(succeed(t, stream, append(args, "5%,100%", "--output", "csv")...), "\n")
	for i, thetaMax := range []string{"0.05", "1"} {
		var one backtest.Report
		alone := succeed(t, stream, append(args, []string{"5%", "100%"}[i], "--output", "json")...)
		if err := json.Unmarshal([]byte(alone), &one); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&one, several.Reports[i]); diff != "" {
			t.Errorf("θ_max %s alone (-), beside others (+):\n%s", thetaMax, diff)
		}
		for _, line := range csvLines[1+5*i : 1+5*(i+1)] {
			if !strings.HasSuffix(line, ","+thetaMax) {
				t.Errorf("a line of θ_max %s: %s", thetaMax, line)
			}
		}
	}
	if r := exec(t, strings.NewReader(stream), nil, append(args, "5%,-1%")...); r.code != exitUsage {
		t.Errorf("a negative θ_max: %+v", r)
	}
}

// What the options and the operator's table say is heard.
func TestBacktestOptions(t *testing.T) {
	stream := recorded(t, 14)
	judged := func(args ...string) (moved float64, table int64) {
		var d backtest.Report
		out := succeed(t, stream, append([]string{"backtest", "-", "--instances", "4", "--theta-max", "2%",
			"--output", "json", "--forecasts", "ewma:0.5"}, args...)...)
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Results {
			moved += r.Judged.Moved
			table = max(table, r.Judged.Table)
		}
		return moved, table
	}
	moved, table := judged()
	if less, _ := judged("--targets", "100%"); less >= moved {
		t.Errorf("planned to θ_max %v moves, planned lower %v", less, moved)
	}
	if _, limited := judged("--table-limit", "3"); limited > table/4 {
		t.Errorf("%d entries under a limit of 3, %d without", limited, table)
	}
	var stateless strings.Builder
	for line := range strings.Lines(stream) {
		fields := strings.Split(line, ",")
		stateless.WriteString(strings.Join(fields[:3], ",") + "\n")
	}
	stream = stateless.String()
	moved, _ = judged()
	if other, _ := judged("--window", "1"); other == moved {
		t.Error("the window changes nothing")
	}
}

func TestBacktestRefuses(t *testing.T) {
	records := succeed(t, "", "compact", intervalFile, "--instances", "4", "--output", "csv", "--quiet")
	for input, want := range map[string]string{
		records:              "it holds compact records already; keys are needed",
		"key,cost\na,1\na,2": "key a: is in line 2 already",
		"":                   "the input is empty",
	} {
		r := exec(t, strings.NewReader(input), nil, "backtest", "-", "--instances", "4")
		if r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%.20q: %+v, want %q", input, r, want)
		}
	}
}

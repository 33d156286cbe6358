package main

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
)

// Every point of the curve is what plan says of its limit, and the strategies
// beside it are what compare says of them; JSON and CSV tell the same.
func TestCurveForPrograms(t *testing.T) {
	args := []string{streamFile, "--instances", "4", "--strategies", "mixed,lpt", "--output"}
	var d offline.Comparison
	decoder := json.NewDecoder(strings.NewReader(
		succeed(t, "", append([]string{"compare", "--curve", "2%,30%,10%"}, append(args, "json")...)...)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	var plain offline.Comparison
	if err := json.Unmarshal([]byte(succeed(t, "", append([]string{"compare"}, append(args, "json")...)...)),
		&plain); err != nil {
		t.Fatal(err)
	}
	if len(d.Curve) != 3 || len(d.Results) != 2 {
		t.Fatalf("%d points, %d strategies", len(d.Curve), len(d.Results))
	}
	for i, r := range d.Results {
		own := cmpopts.IgnoreFields(offline.Outcome{}, "form", "CurveTheta", "CurveFraction")
		if diff := cmp.Diff(plain.Results[i], r, own); diff != "" {
			t.Errorf("compare (-), beside the curve (+):\n%s", diff)
		}
		for _, p := range d.Curve {
			if p.Fraction.Median <= r.Fraction.Median && (r.CurveTheta == nil || *r.CurveTheta > p.ThetaAfter.Median) ||
				p.ThetaAfter.Median <= r.ThetaAfter.Median && (r.CurveFraction == nil || *r.CurveFraction > p.Fraction.Median) {
				t.Errorf("%s is off the curve by %v and %v, but there is %+v", r.Strategy, r.CurveTheta, r.CurveFraction, p)
			}
		}
	}
	for i, limit := range []string{"2%", "10%", "30%"} {
		var alone offline.StreamDocument
		out := succeed(t, "", "plan", streamFile, "--instances", "4", "--strategy", "optimal", "--objective", "min_imbalance",
			"--migration-limit", limit, "--theta-max", "0", "--output", "json")
		if err := json.Unmarshal([]byte(out), &alone); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(alone.Summary, d.Curve[i].Report); diff != "" {
			t.Errorf("limit %s, plan (-), curve (+):\n%s", limit, diff)
		}
	}
	checkCurveCSV(t, d, succeed(t, "", append([]string{"compare", "--curve=2%,30%,10%"}, append(args, "csv")...)...))
}

func checkCurveCSV(t *testing.T, d offline.Comparison, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 1+len(d.Curve)+len(d.Results) {
		t.Fatalf("%d rows, error %v:\n%s", len(rows), err, text)
	}
	for i, p := range d.Curve {
		if got := rows[1+i]; got[0] != "curve" || got[5] != cli.Exact(p.ThetaAfter.Median) ||
			got[9] != cli.Exact(p.Fraction.Median) {
			t.Errorf("row %v, want %+v", got, p)
		}
	}
	for i, r := range d.Results {
		if got := rows[1+len(d.Curve)+i]; got[0] != r.Strategy || got[1] != "" || got[14] != optional(r.CurveTheta) ||
			got[15] != optional(r.CurveFraction) {
			t.Errorf("row %v, want %+v", got, r)
		}
	}
}

func TestCurveFromEnvironment(t *testing.T) {
	for value, points := range map[string]int{"true": offline.Steps + 1, "auto": offline.Steps + 1, "1%,2%": 2,
		"false": 0} {
		r := exec(t, nil, map[string]string{"PLANNERD_CURVE": value}, "compare", intervalFile, "--strategies", "mixed",
			"--output", "csv")
		if got := strings.Count(r.stdout, "\ncurve,"); r.code != exitOK || got != points {
			t.Errorf("PLANNERD_CURVE=%s: exit %d, %d points, want %d, %s", value, r.code, got, points, r.stderr)
		}
	}
}

// optional writes a figure that may not exist.
func optional(x *float64) string {
	if x == nil {
		return ""
	}
	return cli.Exact(*x)
}

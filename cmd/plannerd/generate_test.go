package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var small = []string{"generate", "--keys", "200", "--intervals", "3", "--instances", "4", "--fluctuation", "0.3"}

// A negative number may stand apart from its flag, where it means something too.
func TestGenerateNegativeMu(t *testing.T) {
	args := []string{"generate", "--keys", "50", "--intervals", "1", "--distribution", "lognormal", "--sigma", "2"}
	apart, joined := succeed(t, "", append(args, "--mu", "-0.5")...), succeed(t, "", append(args, "--mu=-0.5")...)
	if apart != joined || apart == succeed(t, "", append(args, "--mu", "0.5")...) {
		t.Errorf("--mu -0.5 gives\n%s\n--mu=-0.5 gives\n%s", apart, joined)
	}
}

func TestGenerate(t *testing.T) {
	out := succeed(t, "", small...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if lines[0] != "interval,key,cost,state" || !strings.HasPrefix(lines[1], "0,k") ||
		!strings.HasPrefix(lines[len(lines)-1], "2,k") {
		t.Fatalf("from %q, %q to %q", lines[0], lines[1], lines[len(lines)-1])
	}
	if again := succeed(t, "", small...); again != out {
		t.Error("the same seed gives another stream")
	}
	if other := succeed(t, "", append(small, "--seed", "2")...); other == out {
		t.Error("another seed gives the same stream")
	}
	var row struct {
		Interval    int
		Key         string
		Cost, State float64
	}
	first, _, _ := strings.Cut(succeed(t, "", append(small, "--output", "ndjson")...), "\n")
	if err := json.Unmarshal([]byte(first), &row); err != nil || row.Key != strings.Split(lines[1], ",")[1] ||
		row.Cost <= 0 {
		t.Errorf("ndjson: %q, %v", first, err)
	}
}

// What generate writes, in any form, plan reads back.
func TestGenerateAndPlan(t *testing.T) {
	csv := succeed(t, "", small...)
	want := succeed(t, csv, "plan", "-", "--instances", "4", "--output", "csv")
	if strings.Count(want, "\n") != 4 {
		t.Fatalf("three intervals: %q", want)
	}
	for _, form := range [][]string{{"--output", "ndjson"}, {"--output", "arrow"}} {
		out := succeed(t, "", append(small[:len(small):len(small)], form...)...)
		if got := succeed(t, out, "plan", "-", "--instances", "4", "--output", "csv"); got != want {
			t.Errorf("%v:\n%s\nwant\n%s", form, got, want)
		}
	}
	for _, form := range []string{"csv", "ndjson", "arrow"} {
		base64 := []string{"--key-encoding", "base64"}
		out := succeed(t, "", slices.Concat(small, base64, []string{"--output", form})...)
		args := slices.Concat([]string{"plan", "-", "--instances", "4", "--output", "csv"}, base64)
		if got := succeed(t, out, args...); got != want || form != "arrow" && strings.Contains(out, "k1") {
			t.Errorf("%s in base64:\n%s\nwant\n%s", form, got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "stream.csv")
	if out := succeed(t, "", append(small[:len(small):len(small)], "--file", path)...); out != "" {
		t.Errorf("with --file, standard output has %q", out)
	}
	if written, err := os.ReadFile(path); err != nil || string(written) != csv {
		t.Errorf("--file differs from standard output: %v", err)
	}
}

func TestGenerateErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--keys", "0"}, exitUsage, "--keys"},
		{[]string{"--intervals", "0"}, exitUsage, "--intervals"},
		{[]string{"--instances", "0"}, exitUsage, "--instances"},
		{[]string{"--window", "0"}, exitUsage, "--window"},
		{[]string{"--fluctuation=-1"}, exitUsage, "--fluctuation"},
		{[]string{"--distribution", "lognormal", "--z", "1"}, exitUsage, "--z"},
		{[]string{"--hash", "modulo", "--tokens-per-instance", "3"}, exitUsage, "--tokens-per-instance"},
		{[]string{"--keys", "4", "--z", "0", "--instances", "2"}, exitFailed, "lower --fluctuation"},
		{[]string{"--file", "testdata"}, exitFailed, "--file"},
	} {
		r := exec(t, nil, nil, append([]string{"generate"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("generate %v: exit %d, %q; want %d, %q", c.args, r.code, r.stderr, c.code, c.want)
		}
	}
	out := succeed(t, "", "generate", "--distribution", "lognormal", "--keys", "500", "--intervals", "1",
		"--instances", "2")
	if strings.Count(out, "\n") < 50 {
		t.Errorf("log-normal: %q", out)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// named are rows of instances by their names; numbered are the same by their ids.
const (
	named    = "interval,key,cost,instance\n0,a,6,web-b\n0,b,5,web-b\n0,c,1,web-a\n1,a,6,web-b\n1,b,5,web-b\n1,c,1,web-a\n"
	numbered = "interval,key,cost,instance\n0,a,6,1\n0,b,5,1\n0,c,1,0\n1,a,6,1\n1,b,5,1\n1,c,1,0\n"
)

// Rows, and flags, name instances; what is printed does so, too.
func TestNames(t *testing.T) {
	want := succeed(t, numbered, "plan", "-", "--interval", "0", "--hash", "modulo", "--instances", "2", "--output", "csv")
	if want = strings.ReplaceAll(want, ",1,0,", ",web-b,web-a,"); !strings.Contains(want, "web-b,web-a") {
		t.Fatalf("nothing to see: %s", want)
	}
	plan := func(args ...string) string {
		t.Helper()
		first := []string{"plan", "-", "--interval", "0", "--hash", "modulo"}
		r := exec(t, strings.NewReader(named), nil, append(first, args...)...)
		if r.code != exitOK {
			t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
		}
		return r.stdout
	}
	for _, flags := range [][]string{{"--instances", "web-a,web-b"}, {"--instances", "web-a:1,web-b:1"}, nil} {
		if got := plan(append(flags, "--output", "csv")...); got != want {
			t.Errorf("%q: %s, want %s", flags, got, want)
		}
	}
	if got := plan("--instances", "web-a:3,web-b"); !strings.Contains(got, "instance  capacity") ||
		!strings.Contains(got, "web-b  web-a") {
		t.Errorf("%s", got)
	}
	if got := plan("--output", "json"); !strings.Contains(got, `"name": "web-b"`) && !strings.Contains(got, `"name":"web-b"`) {
		t.Errorf("%s", got)
	}
	r := exec(t, strings.NewReader(named), nil, "compare", "-", "--hash", "modulo")
	if r.code != exitOK || !strings.Contains(r.stderr, "these are the 2 that its rows name: web-a, web-b") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	for args, want := range map[string]string{
		"plan - --instances web-b,web-c":     "web-a is no instance; web-b is",
		"plan - --instances 2":               "web-b is none of --instances",
		"plan - --instances a,a":             "a stands twice",
		"backtest - --instances web-a,web-c": "web-b is no instance",
		"compact - --instances web-a,other":  "web-b is no instance",
		"plan - --instances web-a,web-b --hash kafka --partitions 1 --assignment web-q": "web-q is no instance",
	} {
		r := exec(t, strings.NewReader(named), nil, strings.Fields(args)...)
		if r.code == exitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d, %s; want %s", args, r.code, r.stderr, want)
		}
	}
	for _, command := range []string{"backtest", "compact"} {
		if r := exec(t, strings.NewReader(named), nil, command, "-", "--hash", "modulo"); r.code != exitOK {
			t.Errorf("%s: exit %d, %s", command, r.code, r.stderr)
		}
	}
	succeed(t, named, "plan", "-", "--instances", "web-a,web-b", "--hash", "kafka", "--partitions", "3",
		"--assignment", "web-b,0,web-a")
}

// A routing table has names, too; after a rescale a name stands for the same instance as before.
func TestNamesOfATable(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.csv")
	args := []string{"plan", "-", "--stream", "--hash", "modulo", "--theta-max", "300%", "--save-table", table}
	succeed(t, named, append(args, "--instances", "web-a,web-b")...)
	text, err := os.ReadFile(table)
	if err != nil || !strings.Contains(string(text), ",web-") {
		t.Fatalf("%s: %v", text, err)
	}
	rows := "key,cost\na,6\nb,5\nc,1\n"
	if err := os.WriteFile(table, []byte("key,instance\na,web-b\nb,web-b\nc,web-b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := succeed(t, rows, "plan", "-", "--hash", "modulo", "--routing-table", table, "--output", "csv",
		"--base-instances", "web-a,web-b", "--instances", "web-c,web-b")
	for _, line := range strings.Split(strings.TrimSpace(got), "\n")[1:] {
		if cells := strings.Split(line, ","); cells[1] != "web-b" || cells[2] != "web-c" {
			t.Errorf("%s", got)
		}
	}
	// Rows tell the instances that the table names.
	r := exec(t, strings.NewReader(named), nil, "plan", "-", "--interval", "0", "--hash", "modulo",
		"--routing-table", table)
	if r.code != exitOK {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	r = exec(t, strings.NewReader(rows), nil, "plan", "-", "--routing-table", table)
	if r.code == exitOK || !strings.Contains(r.stderr, `"web-b" is none of --instances`) {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
}

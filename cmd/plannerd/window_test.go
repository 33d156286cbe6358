package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWindowOfAStream: plans on what intervals add are those on the sums, which have rows
// of keys without cost for those that only earlier intervals name.
func TestWindowOfAStream(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = "interval,key,cost,state\n"
	added := write("added.csv", head+
		"1,a,8,10\n1,b,4,5\n1,c,3,2\n1,d,1,1\n2,a,2,7\n2,b,9,3\n2,c,3,4\n3,b,1,2\n3,c,9,1\n3,d,9,1\n")
	sums := write("sums.csv", head+
		"1,a,8,10\n1,b,4,5\n1,c,3,2\n1,d,1,1\n2,a,2,17\n2,b,9,8\n2,c,3,6\n2,d,0,1\n3,b,1,5\n3,c,9,5\n3,d,9,1\n3,a,0,7\n")
	for _, command := range [][]string{
		{"plan", "--output", "csv", "--strategy", "mixed"}, {"compare", "--output", "csv", "--strategies", "mixed,readj"},
	} {
		args := append(command, "--instances", "2", "--theta-max", "0")
		got := succeed(t, "", append(args, "--window", "2", added)...)
		plain := succeed(t, "", append(args, added)...)
		if want := succeed(t, "", append(args, sums)...); got != want || got == plain {
			t.Errorf("%v: of what is added:\n%s\nof sums:\n%s", command, got, want)
		}
	}
	r := exec(t, strings.NewReader(""), nil, "plan", "--instances", "2", "--window", "2", "--interval", "2", added)
	if r.code != exitUsage || !strings.Contains(r.stderr, "--interval picks one") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	history := []string{"backtest", "--instances", "2", "--output", "csv", "--window", "2"}
	if r := exec(t, strings.NewReader(""), nil, append(history, "--added-state", added)...); r.code != exitOK {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
)

// commands are all commands that can be run, as they are written.
func commands(t *testing.T) (paths []string) {
	t.Helper()
	var app commandLine
	parser, err := newParser(&app, &cli.Environment{}, variables{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		paths = append(paths, strings.TrimPrefix(leaf.FullPath(), "plannerd "))
	}
	return paths
}

// The help of each command, for people to review.
func TestHelpTexts(t *testing.T) {
	for _, path := range append([]string{"", "analyze", "collect", "migrate", "token"}, commands(t)...) {
		words := strings.Fields(path)
		help := succeed(t, "", append([]string{"help"}, words...)...)
		name, arguments, _ := strings.Cut(path, " <")
		if arguments == "" {
			golden(t, strings.TrimRight("help_"+strings.ReplaceAll(name, " ", "_"), "_")+".txt", help)
		}
	}
}

// Help and version can be asked for in the usual ways.
func TestHelpCommand(t *testing.T) {
	for _, c := range []struct{ asked, same string }{
		{"help", "--help"},
		{"help plan", "plan --help"},
		{"help analyze ring", "analyze ring --help"},
		{"help help", "help --help"},
		{"--version", "version"},
	} {
		if asked, same := succeed(t, "", strings.Fields(c.asked)...),
			succeed(t, "", strings.Fields(c.same)...); asked != same || asked == "" {
			t.Errorf("plannerd %s:\n%s\nplannerd %s:\n%s", c.asked, asked, c.same, same)
		}
	}
	r := exec(t, nil, nil, "help", "dance")
	if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, "dance") {
		t.Errorf("help of an unknown command: %+v", r)
	}
}

// Variables that nothing reads are told, with the name that may be meant; the others
// have the one meaning that their flags share.
func TestVariables(t *testing.T) {
	vars := map[string]string{"PLANNERD_THETA_MX": "0.1", "PLANNERD_UNHEARD_OF": "1", "PLANNERD_TOKEN": "x", "OTHER": "1"}
	r := exec(t, nil, vars, "plan", intervalFile)
	want := "plannerd: the environment variable PLANNERD_THETA_MX is not known; did you mean PLANNERD_THETA_MAX?\n" +
		"plannerd: the environment variable PLANNERD_UNHEARD_OF is not known\n"
	if r.code != exitOK || r.stderr != want {
		t.Errorf("exit %d, %q; want %q", r.code, r.stderr, want)
	}
	s := serveWith(t, map[string]string{"PLANNERD_LISTN": "x"}, "--database-url", "sqlite:"+
		filepath.Join(t.TempDir(), "data.db"))
	s.stop(t)
	if !strings.Contains(s.stderr.String(),
		`"level":"WARN","msg":"the environment variable PLANNERD_LISTN is not known; did you mean PLANNERD_LISTEN?"`) {
		t.Errorf("the log: %s", s.stderr)
	}
	r = exec(t, nil, map[string]string{"PLANNERD_OUTPUT": "json", "PLANNERD_RESOLVE_OUTPUT": "ndjson"}, "resolve",
		intervalFile, "--moves", "nowhere")
	if r.code != exitFailed || !strings.Contains(r.stderr, "nowhere") {
		t.Errorf("resolve with the output of plan in the environment: %+v", r)
	}
}

// Flags share a variable only where they mean the same and take the same values.
func TestVariablesShared(t *testing.T) {
	var app commandLine
	names := variables{}
	parser, err := newParser(&app, &cli.Environment{}, names, func() {})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]*kong.Flag{}
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok && len(names[flag]) > 0 {
			other := of[names[flag][0]]
			if other != nil && (flag.Enum != other.Enum || flag.Target.Type() != other.Target.Type()) {
				t.Errorf("%s is of --%s (%s, %v) and of --%s (%s, %v)", names[flag][0],
					flag.Name, flag.Enum, flag.Target.Type(), other.Name, other.Enum, other.Target.Type())
			}
			of[names[flag][0]] = flag
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(of) < 50 {
		t.Errorf("only %d variables", len(of))
	}
}

// Shares are written with and without the sign; above 1 they need it.
func TestShares(t *testing.T) {
	plan := func(theta string) result {
		return exec(t, nil, nil, "plan", intervalFile, "--output", "csv", "--theta-max", theta)
	}
	want := plan("0.05")
	for _, same := range []string{"5%", "5 %", "5.0%", "500e-4"} {
		if got := plan(same); got != want || got.code != exitOK {
			t.Errorf("--theta-max %s: %+v, want %+v", same, got, want)
		}
	}
	for theta, message := range map[string]string{
		"1":   "--theta-max: 1 without a percent sign is 100%: write 100% if you mean that, or 1%",
		"5":   "--theta-max: 5 without a percent sign is 500%: write 500% if you mean that, or 5%",
		"1.5": "--theta-max: 1.5 without a percent sign is 150%: write 150% if you mean that, or 1.5%",
		"lot": `--theta-max: "lot" is not a share: write 5% or 0.05`,
		"Inf": `--theta-max: "Inf" is not a share`,
		"-5%": "must be a number of 0 or more, or a share such as 5%",
	} {
		if r := plan(theta); r.code != exitUsage || !strings.Contains(r.stderr, message) {
			t.Errorf("--theta-max %s: exit %d, %q; want %q", theta, r.code, r.stderr, message)
		}
	}
	for _, theta := range []string{"100%", "500%"} {
		if r := plan(theta); r.code != exitOK || r.stderr != "" {
			t.Errorf("--theta-max %s: %+v", theta, r)
		}
	}
	for _, args := range []string{
		"analyze ring " + intervalFile + " --tau 20% --plan --theta-max 8%",
		"analyze ranges " + intervalFile + " --theta-max 8%",
		"analyze schemes " + intervalFile + " --theta-max 8%",
	} {
		succeed(t, "", strings.Fields(args)...)
	}
}

// What is wrong with a file is told as people see the file: all of it, with the line,
// the column, the key and what to do.
func TestFileErrors(t *testing.T) {
	many := "key,cost\n" + strings.Repeat("a,x\n", 25)
	for name, c := range map[string]struct {
		args string
		text string
		want []string
	}{
		"all problems": {"plan", "cost,key,state\n1,a,1\nx,b,1\n-1,c,1e291\n", []string{
			`stats.csv:3: cost of key b: "x" is not a number; it must be ≥ 0 and finite`,
			"stats.csv:4: cost of key c: must be ≥ 0 and finite, not -1",
			"stats.csv:4: state of key c: must be at most 1e290, not 1e291",
		}},
		"many problems": {"plan", many, []string{"stats.csv: and 5 problems more"}},
		"lines in quotes": {"plan", "key,cost\n\"a\na\",1\nb,x\n",
			[]string{`stats.csv:4: cost of key b: "x" is not a number; it must be ≥ 0 and finite`}},
		"twin after quotes": {"plan", "key,cost\n\"a\na\",1\nb,1\nb,1\n",
			[]string{"stats.csv: row 3, key b: is in row 2 already; each key has one row; --duplicates sum adds them up"}},
		"twin of an interval": {"plan", "interval,key,cost\n0,a,1\n1,b,1\n1,b,1\n",
			[]string{"stats.csv:4: key b: is in line 3 already; each key has one row; --duplicates sum adds them up"}},
		"keys that stay together": {"plan --affinity until=/", "key,cost,instance\na/1,1,0\nb,1,0\na/2,1,1\n", []string{
			`stats.csv:4: instance of key a/2: is 1, but 0 for "a/1", which has the same routed key`}},
		"long and odd keys": {"plan", "key,cost\n\"a\tb\",x\n",
			[]string{`stats.csv:2: cost of key "a\tb": "x" is not a number; it must be ≥ 0 and finite`}},
		"cells": {"plan", "key,cost\na,1\nb\n", []string{
			"stats.csv:3: fewer than 2 cells at byte 14; --bad-rows skip leaves such lines out"}},
		"slashes": {"plan", "images/launch-logo.gif\nshuttle/countdown\n", []string{
			"stats.csv:1: unknown column images/launch-logo.gif; columns key, cost (or frequency) missing; the columns are " +
				"key, cost and optionally " +
				"state (or state_bytes), instance, hash_instance and interval; no header? use --header none",
		}},
		"keys alone": {"analyze schemes", "a\nb\n", []string{
			"stats.csv:1: unknown column a; columns key, cost (or frequency) missing; the columns are key, " +
				"cost and optionally state (or state_bytes), instance, hash_instance and interval; no header? use --header none; " +
				"one key a line? use " +
				"--stream",
		}},
		"known but one": {"plan", "key,cost,weight\na,1,1\n", []string{
			"stats.csv:1: unknown column weight; the columns are key, cost and optionally state (or state_bytes), instance, " +
				"hash_instance and interval",
		}},
		"mistyped": {"plan", "key,csot\na,1\n", []string{
			"stats.csv:1: unknown column csot (cost?); column cost (or frequency) missing; the columns are key, cost and " +
				"optionally state (or state_bytes), instance, hash_instance and interval; no header? use --header none",
		}},
		"mistyped member": {"plan", "{\"key\":\"a\",\"cots\":1}\n", []string{
			"stats.csv:1: cots of key a: unknown field; cost is known",
			"stats.csv:1: cost of key a: is required, or frequency in its place",
		}},
		"NDJSON": {"plan", "{\"key\":\"a\",\"cost\":1}\n\n{\"key\":\"b\",\"cost\":\"x\"}\n",
			[]string{`stats.csv:3: cost of key b: "x" is not a number; it must be ≥ 0 and finite`}},
		"JSON": {"plan", "{\"keys\": [\n {\"key\":\"a\",\"cost\":1},\n {\"key\":\"b\",\"cost\":-1}]}\n",
			[]string{"stats.csv:3: cost of key b: must be ≥ 0 and finite, not -1"}},
		"JSON twins": {"plan", "{\"keys\": [{\"key\":\"a/b\",\"cost\":1},\n {\"key\":\"a/b\",\"cost\":1}]}\n",
			[]string{"stats.csv: row 2, key a/b: is in row 1 already; each key has one row; --duplicates sum adds them up"}},
		"JSON members": {"plan", "{\"keys\": 5}\n", []string{"stats.csv: keys: must be a list of rows"}},
		"several intervals": {"analyze schemes", "interval,key,cost\n0,a,1\n1,a,1\n", []string{
			"stats.csv: it has several intervals: name one with --interval"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("stats.csv", []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := exec(t, nil, nil, append(strings.Fields(c.args), "stats.csv")...)
			got := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
			for i, line := range got {
				got[i] = strings.TrimPrefix(line, "plannerd: ")
			}
			if name == "many problems" {
				if len(got) != reading.MostProblems+1 {
					t.Errorf("%d lines", len(got))
				}
				got = got[reading.MostProblems:]
			}
			if r.code != exitFailed || r.stdout != "" || !slices.Equal(got, c.want) {
				t.Errorf("exit %d, %q, want %q", r.code, got, c.want)
			}
		})
	}
}

// A file without a header, or with keys in base64, is read as its flags say.
func TestTextFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"with.csv":    "key,cost,state\nuser:1,5,1\nuser:2,1,2\nuser:3,1,3\n",
		"without.csv": "user:1,5,1\nuser:2,1,2\nuser:3,1,3\n",
		"other.csv":   "1,user:1,5\n2,user:2,1\n3,user:3,1\n",
		"base64.csv":  "key,cost,state\ndXNlcjox,5,1\ndXNlcjoy,1,2\ndXNlcjoz,1,3\n",
		"one.csv":     "user:1\nuser:2\n", "keys64.txt": "dXNlcjox\ndXNlcjoy\ndXNlcjox\n",
		"keys.txt": "user:1\nuser:2\nuser:1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(args ...string) string {
		return succeed(t, "", append([]string{"plan", "--instances", "2", "--output", "csv"}, args...)...)
	}
	want := plan("with.csv")
	if strings.Count(want, "\n") < 2 {
		t.Fatalf("nothing moves: %q", want)
	}
	for _, args := range [][]string{
		{"without.csv", "--header", "none"},
		{"other.csv", "--header", "state,key,cost"},
		{"with.csv", "--header", "auto"},
	} {
		if got := plan(args...); got != want {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
	if encoded := plan("base64.csv", "--key-encoding", "base64"); !strings.Contains(encoded, "dXNlcj") ||
		strings.Count(encoded, "\n") != strings.Count(want, "\n") {
		t.Errorf("base64: %q", encoded)
	}
	r := exec(t, nil, nil, "plan", "one.csv", "--header", "none")
	if r.code != exitFailed || r.stderr != "plannerd: one.csv:1: 1 cells without a header to name them at byte 0\n" {
		t.Errorf("one column: %+v", r)
	}
	stream := succeed(t, "", "analyze", "pkg", "keys.txt", "--stream", "--output", "csv")
	if got := succeed(t, "", "analyze", "pkg", "keys64.txt", "--stream", "--key-encoding", "base64", "--output",
		"csv"); got != stream {
		t.Errorf("a stream in base64: %q, want %q", got, stream)
	}
	r = exec(t, nil, nil, "analyze", "pkg", "keys.txt", "--stream", "--key-encoding", "base64")
	if r.code != exitFailed || r.stderr != "plannerd: keys.txt:1: key: must be base64 (standard alphabet, padded)\n" {
		t.Errorf("a stream that is not base64: %+v", r)
	}
}

// Routing tables are read and written with keys in base64, too.
func TestBase64RoutingTable(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "plain.csv", "key,cost\nuser:1,5\nuser:2,1\nuser:3,1\n")
	write(t, "encoded.csv", "key,cost\ndXNlcjox,5\ndXNlcjoy,1\ndXNlcjoz,1\n")
	write(t, "plain-table.csv", "key,instance\nuser:2,1\nuser:3,0\n")
	write(t, "encoded-table.csv", "key,instance\ndXNlcjoy,1\ndXNlcjoz,0\n")
	plan := func(stats, table string, flags ...string) (out, saved string) {
		args := []string{"plan", stats, "--routing-table", table, "--instances", "2", "--save-table", "saved.csv"}
		out = succeed(t, "", slices.Concat(args, []string{"--output", "json"}, flags)...)
		text, err := os.ReadFile("saved.csv")
		if err != nil {
			t.Fatal(err)
		}
		decoded := strings.NewReplacer("dXNlcjox", "user:1", "dXNlcjoy", "user:2", "dXNlcjoz", "user:3")
		return tablePart.FindString(decoded.Replace(out)), decoded.Replace(string(text))
	}
	want, wantSaved := plan("plain.csv", "plain-table.csv")
	out, saved := plan("encoded.csv", "encoded-table.csv", "--key-encoding", "base64")
	if out != want || !strings.Contains(want, `"size_before": 2`) || saved != wantSaved || !strings.Contains(saved,
		"user:") {
		t.Errorf("in base64:\n%s\n%s\nwant:\n%s\n%s", out, saved, want, wantSaved)
	}
	r := exec(t, nil, nil, "plan", "encoded.csv", "--routing-table", "plain-table.csv", "--key-encoding", "base64")
	refused := `plain-table.csv:2: key: "user:2" is not base64 (standard alphabet, padded)`
	if r.code != exitFailed || !strings.Contains(r.stderr, refused) {
		t.Errorf("a table that is not base64: %+v", r)
	}
}

// tablePart is what a plan in JSON does to the routing table.
var tablePart = regexp.MustCompile(`(?s)"routing_table".*?\}`)

// Flags that have a new name, and their variables, keep the old ones.
func TestOldFlagNames(t *testing.T) {
	rows := []struct{ command, old, now, value string }{
		{"pkg", "workers", "instances", "5"},
		{"ring", "nodes", "instances", "0:8,1:16"},
		{"ring --plan --method fitted", "node-token-limit", "instance-token-limit", "3"},
		{"ranges", "followers", "instances", "0:1,1:3"},
		{"ranges --event leave", "event-followers", "event-instances", "1"},
	}
	tested := map[string]bool{}
	for _, c := range rows {
		words := strings.Fields(c.command)
		tested["analyze "+words[0]+" --"+c.old] = true
		args := slices.Concat([]string{"analyze"}, words, []string{intervalFile, "--output", "csv"})
		want := succeed(t, "", append(args, "--"+c.now, c.value)...)
		if got := succeed(t, "", append(args, "--"+c.old, c.value)...); got != want || want == succeed(t, "", args...) {
			t.Errorf("analyze %s --%s %s:\n%s\nwant what --%s gives:\n%s", c.command, c.old, c.value, got, c.now, want)
		}
		variable := variablePrefix + "ANALYZE_" + variableName(c.old)
		if r := exec(t, nil, map[string]string{variable: c.value}, args...); r.stdout != want || r.stderr != "" {
			t.Errorf("%s=%s: %+v, want\n%s", variable, c.value, r, want)
		}
	}
	var app commandLine
	parser, err := newParser(&app, &cli.Environment{}, variables{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		for _, flag := range leaf.Flags {
			for _, old := range flag.Aliases {
				if name := strings.TrimPrefix(leaf.FullPath(), "plannerd ") + " --" + old; !tested[name] {
					t.Errorf("no test of %s", name)
				}
			}
		}
	}
}

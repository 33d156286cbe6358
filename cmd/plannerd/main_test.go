package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/lab/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main() // a test wants a process of its own
	}
	os.Exit(pgtest.Main(m))
}

var update = flag.Bool("update", false, "write the golden files anew")

// result is what one run of the program left.
type result struct {
	code           int
	stdout, stderr string
}

// exec runs the program with a clock that stands still and the given environment.
func exec(t *testing.T, stdin io.Reader, vars map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := &cli.Environment{
		Ctx: t.Context(), Environ: environOf(vars),
		Stdin: stdin, Stdout: &stdout, Stderr: &stderr, Now: func() time.Time { return time.Time{} },
	}
	code := execute(env, args)
	return result{code, stdout.String(), stderr.String()}
}

// environOf writes variables as the system lists them.
func environOf(vars map[string]string) (environ []string) {
	for name, value := range vars {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// succeed runs the program and expects success and nothing on standard error.
func succeed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := exec(t, strings.NewReader(stdin), nil, args...)
	if r.code != exitOK || r.stderr != "" {
		t.Fatalf("plannerd %s: exit %d, %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// golden compares got with a file of testdata/golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestUsageErrors(t *testing.T) {
	const file = "testdata/interval.csv"
	for _, c := range []struct {
		args []string
		want string // in the one line on standard error
	}{
		{[]string{"dance"}, "dance"},
		{[]string{"plan"}, "<file>"},
		{[]string{"plan", file, "--theta-mx", "1"}, "--theta-mx"},
		{[]string{"plan", file, "--theta-max=-1"}, "must be a number of 0 or more, or a share such as 5%"},
		{[]string{"plan", file, "--theta-max", "-1"}, "must be a number of 0 or more, or a share such as 5%"},
		{[]string{"plan", file, "--theta-max", "-.5"}, "must be a number of 0 or more, or a share such as 5%"},
		{[]string{"plan", file, "--theta-max", "-Inf"}, "must be a number of 0 or more, or a share such as 5%"},
		{[]string{"plan", file, "--theta-max", "NaN"}, "must be a number of 0 or more, or a share such as 5%"},
		{[]string{"plan", file, "--theta-max", "much"}, "--theta-max"},
		{[]string{"plan", file, "--table-limit=-1"}, "must be a whole number of 0 or more, or none"},
		{[]string{"plan", file, "--beta=-1"}, "must be a number of 0 or more"},
		{[]string{"plan", file, "--sigma", "little"}, "must be a number of 0 or more, or auto"},
		{[]string{"plan", file, "--key-overhead=-3"}, "must be a number of 0 or more"},
		{[]string{"plan", file, "--work-budget=-3"}, "must be a whole number of 0 or more"},
		{[]string{"plan", file, "--certificate", "loose"}, "--certificate"},
		{[]string{"plan", file, "--objective", "min_cost"}, "--objective"},
		{[]string{"plan", file, "--strategy", "mixed", "--objective", "min_imbalance"},
			"--objective: min_imbalance is known to strategy optimal only, not to mixed"},
		{[]string{"plan", file, "--objective", "min_imbalance"},
			"--migration-limit: is needed with objective min_imbalance"},
		{[]string{"plan", file, "--migration-limit", "5%"}, "--migration-limit: belongs to objective min_imbalance"},
		{[]string{"plan", file, "--strategy", "readj", "--objective", "min_imbalance", "--migration-limit", "5%"},
			"known to strategy optimal only, not to readj"},
		{[]string{"plan", file, "--migration-limit", "-5%"}, `"-5%": must be a share of all state such as 5%`},
		{[]string{"plan", file, "--migration-limit", "101%"},
			"must be a share of all state such as 5%, a number of keys such as 1200keys"},
		{[]string{"plan", file, "--migration-limit", "1.5keys"},
			"must be a share of all state such as 5%, a number of keys such as 1200keys"},
		{[]string{"plan", file, "--migration-limit", "some"},
			"must be a share of all state such as 5%, a number of keys such as 1200keys"},
		{[]string{"compare", file, "--strategies", "mixed,optimal", "--objective", "min_imbalance", "--migration-limit",
			"5%"}, "optimal only, not to mixed"},
		{[]string{"serve", "--max-plan-time", "0s"}, "--max-plan-time: must be > 0s"},
		{[]string{"plan", file, "--instances", "0"}, "must be 1 to 65536"},
		{[]string{"plan", file, "--instances", "0:1,0:2"}, "instance 0 stands twice"},
		{[]string{"plan", file, "--instances", "0:1,,2"}, `"" is no instance`},
		{[]string{"plan", file, "--instances", "0:-1"}, "must be a number > 0"},
		{[]string{"plan", file, "--strategy", "magic"}, "there are mixed"},
		{[]string{"plan", file, "--hash", "crystal"}, "--hash"},
		{[]string{"plan", file, "--hash", "kafka"}, "--partitions"},
		{[]string{"plan", file, "--hash", "flink", "--key-type", "float"}, "--key-type"},
		{[]string{"plan", file, "--output", "xml"}, "--output"},
		{[]string{"plan", file, "--header", "key,,cost"}, "write auto, none or the names of the columns"},
		{[]string{"plan", file, "--key-encoding", "hex"}, "--key-encoding"},
		{[]string{"completion", "csh"}, "bash"},
		{[]string{"plan", file, "--top", "-1"}, "--top: must be ≥ 0"},
		{[]string{"plan", file, "--timeout", "-1s"}, "--timeout: must be ≥ 0s"},
		{[]string{"plan", file, "--save-table", "--check"}, "--save-table: expected file value"},
		{[]string{"plan", file, "--", "-1"}, "unexpected argument -1"},
		{[]string{"plan", file, "-1"}, "unknown flag -1"},
		{[]string{"compare", file, "--timeout", "-1s"}, "--timeout: must be ≥ 0s"},
		{[]string{"migrate", "up", "--store-wait", "-1s"}, "--store-wait: must be ≥ 0s"},
		{[]string{"plan", file, "--compact", "3"}, "--compact: must be a power of two"},
		{[]string{"plan", file, "--compact", "-8"}, "--compact: must be a power of two"},
		{[]string{"plan", file, "--compact", "8", "--cost-scale", "0"}, "--cost-scale: must be from 1e-290 to 1e290"},
		{[]string{"plan", file, "--state-scale", "2"}, "belong to --compact, or to compact records"},
		{[]string{"compare", file, "--compact", "12"}, "--compact: must be a power of two"},
		{[]string{"backtest", file, "--forecasts", "ewma:2"}, `"ewma:2" is not a forecast`},
		{[]string{"backtest", file, "--forecasts", "last:0.5"}, `"last:0.5" is not a forecast`},
		{[]string{"backtest", file, "--forecasts", "seasonal:0.5:99"}, "a period from 2 to 48"},
		{[]string{"backtest", file, "--targets", "120%"}, "--targets: must be from 0% to 100% of θ_max"},
		{[]string{"backtest", file, "--theta-max", "-1%"}, "--theta-max: must be"},
		{[]string{"backtest", file, "--table-limit", "-1"}, "--table-limit: must be ≥ 0"},
		{[]string{"backtest", file, "--window", "0"}, "--window: must be ≥ 1"},
		{[]string{"compact", file, "--degree", "0"}, "--degree: must be a power of two"},
		{[]string{"compact", file, "--state-scale", "NaN"}, "--state-scale: must be from 1e-290 to 1e290"},
		{[]string{"compact", file, "--cost-scale", "1e-289"}, "--cost-scale: must not be below"},
		{[]string{"resolve", file}, "--moves"},
		{[]string{"resolve", "-", "--moves", "-"}, "cannot both be on standard input"},
		{[]string{"compare", file, "--strategies", "mixed,magic"}, "there is no strategy \"magic\""},
		{[]string{"generate", "--z=-1"}, "--z"},
		{[]string{"generate", "--distribution", "cauchy"}, "--distribution"},
		{[]string{"serve", "--listen", "0.0.0.0:8080"}, "without tokens"},
		{[]string{"serve", "--listen", ":8080"}, "without tokens"},
		{[]string{"serve", "--listen", "[::]:8080"}, "without tokens"},
		{[]string{"serve", "--listen", "192.0.2.1:8080"}, "without tokens"},
		{[]string{"serve", "--listen", "8080"}, "host:port"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--database-url", "mysql://x"},
			"postgres://user@host/database or sqlite:"},
		{[]string{"serve", "--log-level", "loud"}, "--log-level"},
		{[]string{"migrate", "status", "--database-url", "plannerd.db"}, "sqlite:"},
		{[]string{"migrate", "sideways"}, "sideways"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := exec(t, strings.NewReader(""), nil, c.args...)
			if r.code != exitUsage {
				t.Errorf("exit %d, want %d", r.code, exitUsage)
			}
			if r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "plannerd: ") ||
				!strings.Contains(r.stderr, c.want) {
				t.Errorf("stdout %q, stderr %q; want one line with %q", r.stdout, r.stderr, c.want)
			}
		})
	}
}

// Every command has help that names the environment variable and the default of
// each of its flags, and has examples.
func TestHelp(t *testing.T) {
	top := succeed(t, "", "--help")
	for _, want := range []string{"serve", "plan", "compare", "backtest", "compact", "resolve", "generate", "migrate",
		"version", "Exit codes"} {
		if !strings.Contains(top, want) {
			t.Errorf("plannerd --help lacks %q", want)
		}
	}
	if bare := succeed(t, ""); bare != top {
		t.Error("without arguments the help should appear")
	}
	for command, wants := range map[string][]string{
		"serve": {"limited in time, in bytes, in rows and in the memory", "--max-rows=20000000",
			"--listen", "127.0.0.1:8080", "$PLANNERD_LISTEN", "--database-url", "sqlite:plannerd.db", "$PLANNERD_DATABASE_URL",
			"--no-migrate", "--shutdown-timeout", "Examples"},
		"plan": {"--theta-max=0.08", "$PLANNERD_THETA_MAX", "--beta=1.5", "--instances", "mintable", "readj",
			"--compact=0", "Examples", "exit with 3"},
		"compare":      {"--strategies", "--timeout=30s", "Pareto", "--compact=0", "Examples"},
		"backtest":     {"--forecasts", "combined, last,", "--targets=PART,...", "(default 0.25%)", "realised", "Examples"},
		"compact":      {"--degree=8", "--cost-scale", "--output=\"table\"", "--quiet", "Examples"},
		"resolve":      {"--moves=FILE", "--degree=8", "--state-scale", "resolution", "Examples"},
		"generate":     {"--keys=10000", "--z=0.85", "--fluctuation=1", "--seed=1", "$PLANNERD_GENERATE_SEED", "Examples"},
		"migrate up":   {"--database-url", "--store-wait=30s"},
		"migrate down": {"--yes", "what would be lost", "Examples"},
	} {
		help := strings.ToLower(succeed(t, "", append(strings.Fields(command), "--help")...))
		for _, want := range wants {
			if !strings.Contains(help, strings.ToLower(want)) {
				t.Errorf("plannerd %s --help lacks %q:\n%s", command, want, help)
			}
		}
	}
}

// flagHelp is one flag of a help text: its name, what it is shown to equal, and
// its text, up to the next flag or an empty line.
var flagHelp = regexp.MustCompile(`(?m)^ +(?:-h, )?--([a-z-]+)(=\S*)?\s((?:.*\n)(?: {16,}.*\n)*)`)

// Help fits a terminal, and tells the default of each flag that takes a value.
func TestHelpOfFlags(t *testing.T) {
	for command, flags := range map[string]int{
		"": 1, "serve": 38, "token": 1, "healthcheck": 6, "plan": 47 + len(offline.Planned()), "compare": 39 +
			len(offline.Planned()),
		"backtest": 34,
		"compact":  29, "resolve": 30, "generate": 18, "migrate": 1, "migrate up": 4, "migrate down": 5,
		"migrate status": 4, "backup": 2, "restore": 2, "version": 1,
	} {
		help := succeed(t, "", append(strings.Fields(command), "--help")...)
		for line := range strings.Lines(help) {
			if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 100 {
				t.Errorf("plannerd %s --help: %d columns: %s", command, width, line)
			}
		}
		_, help, _ = strings.Cut(help, "\nFlags:\n")
		found := flagHelp.FindAllStringSubmatch(help, -1)
		if len(found) != flags {
			t.Errorf("plannerd %s --help: %d flags, want %d", command, len(found), flags)
		}
		for _, flag := range found {
			name, value, text := flag[1], flag[2], strings.Join(strings.Fields(flag[3]), " ")
			placeholder := value != strings.ToLower(value)
			if placeholder && !strings.Contains(text, "(default") {
				t.Errorf("plannerd %s --help: --%s%s lacks its default: %s", command, name, value, text)
			}
			if name != "help" && !strings.Contains(text, "($PLANNERD_") {
				t.Errorf("plannerd %s --help: --%s lacks its variable: %s", command, name, text)
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	vars := map[string]string{"PLANNERD_OUTPUT": "csv", "PLANNERD_THETA_MAX": "100000%"}
	r := exec(t, nil, vars, "plan", "testdata/interval.csv")
	if want := "key,from,to,cost,state,reason\n"; r.code != exitOK || r.stdout != want {
		t.Errorf("θ_max from the environment: exit %d, %q %q, want no migrations", r.code, r.stdout, r.stderr)
	}
	r = exec(t, nil, vars, "plan", "testdata/interval.csv", "--theta-max", "0")
	if strings.Count(r.stdout, "\n") < 2 {
		t.Errorf("the flag must win over the environment: %q", r.stdout)
	}
	vars["PLANNERD_THETA_MAX"] = "lots"
	r = exec(t, nil, vars, "plan", "testdata/interval.csv")
	if r.code != exitUsage || !strings.Contains(r.stderr, "--theta-max") {
		t.Errorf("a bad variable: exit %d, %q", r.code, r.stderr)
	}
}

func TestVersion(t *testing.T) {
	out := succeed(t, "", "version")
	for _, want := range []string{"plannerd ", "planner  revision ", "go       go1."} {
		if !strings.Contains(out, want) {
			t.Errorf("version lacks %q: %q", want, out)
		}
	}
}

// run wires the real world: its exit code and streams are those of the program.
func TestRun(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), []string{"plan", "testdata/interval.csv", "--output", "json"}, nil, nil,
		&stdout, &stderr)
	if code != exitOK || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "{") {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stderr.Reset()
	code = run(ctx, []string{"plan", "-"}, nil, strings.NewReader("key,cost\na,1\n"), io.Discard, &stderr)
	if code != exitFailed || stderr.String() != "plannerd: interrupted\n" {
		t.Errorf("interrupted: exit %d, %q", code, stderr.String())
	}
}

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"plannerd/internal/cli"
)

// The analyses in full, for people, and as CSV.
func TestAnalyzeGolden(t *testing.T) {
	const interval, stream = "testdata/interval.csv", "testdata/stream.csv"
	for name, args := range map[string]string{
		"analyze_schemes.txt":          "schemes " + interval + " --instances 4",
		"analyze_schemes.csv":          "schemes " + interval + " --instances 4 --output csv",
		"analyze_schemes_whole.txt":    "schemes " + interval + " --instances 12 --whole --hash modulo --table-limit 2",
		"analyze_schemes_capacity.txt": "schemes " + interval + " --instances 0:1,1:1,5:2 --theta-max 0.2 --seeds 1",
		"analyze_pkg.txt":              "pkg " + interval + " --instances 4 --sources 1,3 --seeds 3",
		"analyze_pkg_local.txt": "pkg " + interval +
			" --instances 4 --schemes pkg --sources 3 --load-information global,local,local_probing --probe-period 10",
		"analyze_pkg.csv": "pkg " + interval + " --instances 4 --output csv",
		"analyze_ring.txt": "ring " + interval +
			" --instances 4 --plan",
		"analyze_ring_rescale.txt":  "ring " + interval + " --instances 0,1:32,2:16:2 --join 8:16 --leave 1",
		"analyze_ring_doubling.txt": "ring " + interval + " --instances 5 --method doubling --plan --max-rounds 3",
		"analyze_ring_queues.txt":   "ring --queues 900,310,305,298",
		"analyze_ring.csv":          "ring " + interval + " --output csv",
		"analyze_ring_plan.csv":     "ring " + interval + " --method fitted --plan --output csv",
		"analyze_ranges.txt":        "ranges " + interval + " --instances 4",
		"analyze_ranges_join.txt":   "ranges " + interval + " --instances 4 --event join --position 1 --top 3",
		"analyze_ranges_crash.txt": "ranges " + interval +
			" --instances 4 --event crash --event-followers 1,2 --methods min_movement",
		"analyze_ranges_drift.txt": "ranges " + stream + " --instances 4 --base-interval 0 --interval 2 --top 3",
	} {
		if testing.Short() && strings.HasSuffix(name, ".txt") {
			continue // each kind is there as CSV too
		}
		t.Run(name, func(t *testing.T) {
			golden(t, name, succeed(t, "", append([]string{"analyze"}, strings.Fields(args)...)...))
		})
	}
}

// What is printed as JSON is a document whose lists are never null, and as CSV is
// rectangular.
func TestAnalyzeForPrograms(t *testing.T) {
	for _, args := range []string{
		"schemes testdata/interval.csv", "pkg testdata/interval.csv --points 5",
		"ring testdata/interval.csv --plan", "ranges testdata/interval.csv --event join",
	} {
		fields := append([]string{"analyze"}, strings.Fields(args)...)
		out := succeed(t, "", append(fields, "--output", "json")...)
		var document map[string]any
		if err := json.Unmarshal([]byte(out), &document); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		for _, list := range []string{"nodes", "runs", "plans", "schemes", "heavy_keys", "owners", "transfers"} {
			if x, ok := document[list]; ok && x == nil {
				t.Errorf("%s: %s is null", args, list)
			}
		}
		out = succeed(t, "", append(fields, "--output", "csv")...)
		if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) < 2 {
			t.Errorf("%s: %d rows, %v", args, len(rows), err)
		}
	}
}

// A stream is one key a line, from a file or standard input, compressed or not.
func TestAnalyzeStream(t *testing.T) {
	const keys = "a\nb\na\nc\na\r\n"
	want := succeed(t, keys, "analyze", "pkg", "-", "--stream", "--output", "json")
	if !strings.Contains(want, `"messages": 5`) || !strings.Contains(want, `"p1": 0.6`) {
		t.Errorf("five messages, three of them of one key: %.300s", want)
	}
	path := filepath.Join(t.TempDir(), "keys.txt.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(file)
	if _, err := io.WriteString(z, keys); err != nil {
		t.Fatal(err)
	}
	if z.Close() != nil || file.Close() != nil {
		t.Fatal("not written")
	}
	if got := succeed(t, "", "analyze", "pkg", path, "--stream", "--output", "json"); got != want {
		t.Error("the compressed file gives something else")
	}
}

// Owners that were written are read again, and nothing has drifted.
func TestAnalyzeOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "owners.csv")
	owners := succeed(t, "", "analyze", "ranges", "testdata/interval.csv", "--instances", "4", "--methods", "quantile",
		"--output", "csv")
	if err := os.WriteFile(path, []byte(owners), 0o600); err != nil {
		t.Fatal(err)
	}
	again := succeed(t, "", "analyze", "ranges", "testdata/interval.csv", "--instances", "4", "--owners", path,
		"--methods", "min_movement", "--theta-max", "1000%", "--output", "csv")
	if owners != again {
		t.Errorf("%s became\n%s", owners, again)
	}
	for content, want := range map[string]string{
		"key,instance\n":      "owners.csv:1: it must be the header low,instance",
		"":                    "owners.csv:1: it must be the header low,instance",
		"low,follower\n,x\n":  `owners.csv:2: instance of low "": "x" is not an id ≥ 0`,
		"low,instance\n,-1\n": `owners.csv:2: instance of low "": "-1" is not an id ≥ 0`,
		"low,follower\na,0\n": "--owners, number 1, low",
		"low,follower\n,77\n": "--owners, number 1, follower",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := exec(t, nil, nil, "analyze", "ranges", "testdata/interval.csv", "--owners", path)
		if r.code == exitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: exit %d, %s", content, r.code, r.stderr)
		}
	}
}

// Owners whose keys are not text are written and read in base64.
func TestBase64Owners(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "stats.csv", "key,cost\n/wA=,5\n/wE=,1\n/wI=,1\n/wM=,4\n")
	args := []string{"analyze", "ranges", "stats.csv", "--key-encoding", "base64", "--instances", "2", "--output", "csv"}
	owners := succeed(t, "", append(args, "--methods", "quantile")...)
	if !strings.HasPrefix(owners, "low,follower\n,0\n/w") {
		t.Fatalf("the owners are %q", owners)
	}
	write(t, "owners.csv", owners)
	if again := succeed(t, "", append(args, "--owners", "owners.csv", "--theta-max", "1000%")...); again != owners {
		t.Errorf("%s became\n%s", owners, again)
	}
	write(t, "owners.csv", "low,instance\n,0\n!,1\n")
	r := exec(t, nil, nil, append(args, "--owners", "owners.csv")...)
	want := `owners.csv:3: low: "!" is not base64 (standard alphabet, padded)`
	if r.code != exitFailed || !strings.Contains(r.stderr, want) {
		t.Errorf("owners that are not base64: %+v, want %q", r, want)
	}
}

func TestAnalyzeUsage(t *testing.T) {
	const file = " testdata/interval.csv"
	for args, want := range map[string]string{
		"":                                 "expected one of",
		"magic":                            "unexpected argument magic",
		"schemes":                          "an input is needed",
		"pkg":                              "an input is needed",
		"ranges":                           "an input is needed",
		"ranges --base-interval 1":         "needs an --interval that comes after it",
		"ring":                             "the input: are needed",
		"ring --plan":                      "an input is needed",
		"ring --stream":                    "need an input",
		"ring" + file + " --instances 0":   "must be 1 to 65536",
		"ring" + file + " --instances a:b": "is no instance",
		"ring" + file + " --instances 1,1": "--instances, number 2, id",
		"ring" + file + " --join 2":        "--instances, number 5, id",
		"ring" + file + " --leave 9":       "there is no instance 9",
		"ring" + file + " --tau -1":        "--tau: must be",
		"ring" + file + " --queues 1,2":    "--queues: must be one for each node",
		"ring" + file + " --top -1":        "--top: must be",
		"pkg" + file + " --instances 0 --choices 0":         "--choices, number 1",
		"pkg" + file + " --schemes magic":                   "--schemes, number 1",
		"pkg" + file + " --load-information local_probing":  "--probe-period: is needed",
		"pkg" + file + " --order sorted":                    "--order",
		"pkg" + file + " --stream --interval 3":             "a stream has no intervals",
		"pkg" + file + " --stream --format csv":             "one key a line",
		"ranges" + file + " --event flood":                  "--event",
		"ranges" + file + " --event drift":                  "--owners: are needed by drift",
		"ranges" + file + " --position 1":                   "--position: belongs to event join",
		"ranges" + file + " --methods third":                "--methods, number 1",
		"ranges" + file + " --base-interval 3":              "needs an --interval that comes after it",
		"ranges" + file + " --interval 3 --base-interval 3": "needs an --interval that comes after it",
		"ranges" + file + " --owners a --base-interval 3":   "both say",
		"schemes" + file + " --max-choices 9 --instances 4": "--max-choices",
		"schemes" + file + " --theta-max NaN":               "--theta-max",
		"schemes" + file + " --tokens-per-instance -1":      "--tokens-per-instance",
	} {
		r := exec(t, strings.NewReader(""), nil, append([]string{"analyze"}, strings.Fields(args)...)...)
		if r.code != exitUsage || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("analyze %s: exit %d, %q; want %q", args, r.code, r.stderr, want)
		}
	}
}

// Bad files are failures, with the row as people count them.
func TestAnalyzeBadInput(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, c := range []struct{ args, stdin, want string }{
		{"schemes -", "", "standard input: the input is empty"},
		{"pkg - --stream", "\n\n", "the input is empty; expected one key a line"},
		{"pkg - --stream", "a\n\nb\n", "standard input:2: key: must have 1 to 1024 bytes"},
		{"pkg - --stream", "a\n" + long, "standard input:2: key: must have 1 to 1024 bytes"},
		{"pkg -", "key,cost\na,-1\n", "standard input:2: cost of key a: must be ≥ 0 and finite, not -1"},
		{"pkg -", "key,cost\na,0\n", "--cost: must not all be 0"},
		{"pkg -", "interval,key,cost\n1,a,1\n2,a,1\n", "several intervals: name one with --interval"},
		{"pkg - --interval 7", "interval,key,cost\n1,a,1\n2,a,1\n", "there is no interval 7"},
		{"ranges - --base-interval 1 --interval 9", "interval,key,cost\n1,a,1\n2,a,1\n", "there is no interval 9"},
		{"schemes -", "instance,hash_instance,cost,state,count\n0,0,1,1,5\n", "keys are needed"},
		{"schemes no-such-file", "", "no such file"},
	} {
		r := exec(t, strings.NewReader(c.stdin), nil, append([]string{"analyze"}, strings.Fields(c.args)...)...)
		if r.code == exitOK || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("analyze %s with %.20q: exit %d, %q; want %q", c.args, c.stdin, r.code, r.stderr, c.want)
		}
	}
}

// What the flags of an analysis mean is its own: their variables are, too.
func TestAnalyzeEnvironment(t *testing.T) {
	vars := map[string]string{"PLANNERD_ANALYZE_OUTPUT": "csv", "PLANNERD_OUTPUT": "json", "PLANNERD_ANALYZE_NODES": "3"}
	r := exec(t, nil, vars, "analyze", "ring", "testdata/interval.csv")
	if r.code != exitOK || strings.Count(r.stdout, "\n") != 4 || !strings.HasPrefix(r.stdout, "node,tokens") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// An interrupted analysis says so and prints nothing.
func TestAnalyzeInterrupted(t *testing.T) {
	for _, args := range []string{"schemes -", "pkg - --stream", "ring -", "ranges -"} {
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		env := &cli.Environment{
			Ctx: ctx, Stdout: &stdout, Stderr: &stderr, Now: time.Now,
			Stdin: &interrupting{strings.NewReader("key,cost\na,1\nb,2\n"), cancel},
		}
		if code := execute(env, append([]string{"analyze"},
			strings.Fields(args)...)); code != exitFailed || stdout.Len() > 0 ||
			stderr.String() != "plannerd: interrupted\n" {
			t.Errorf("analyze %s: exit %d, %q %q", args, code, stdout.String(), stderr.String())
		}
		cancel()
	}
}

// interrupting ends the context once all has been read.
type interrupting struct {
	io.Reader
	cancel func()
}

func (r *interrupting) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err == io.EOF {
		r.cancel()
	}
	return n, err
}

// Every flag of the analyses tells its default and its variable; see TestHelpOfFlags.
func TestAnalyzeHelp(t *testing.T) {
	for command, flags := range map[string]int{"analyze": 1, "analyze ring": 30, "analyze pkg": 31, "analyze ranges": 25,
		"analyze schemes": 31} {
		help := succeed(t, "", append(strings.Fields(command), "--help")...)
		if !strings.Contains(help, "Examples:") {
			t.Errorf("plannerd %s --help has no examples", command)
		}
		for line := range strings.Lines(help) {
			if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 100 {
				t.Errorf("plannerd %s --help: %d columns: %s", command, width, line)
			}
		}
		_, help, _ = strings.Cut(help, "\nFlags:\n")
		found := flagHelp.FindAllStringSubmatch(help, -1)
		if len(found) != flags {
			t.Errorf("plannerd %s --help: %s flags, want %d", command, strconv.Itoa(len(found)), flags)
		}
		for _, flag := range found {
			name, value, text := flag[1], flag[2], strings.Join(strings.Fields(flag[3]), " ")
			if value != strings.ToLower(value) && !strings.Contains(text, "(default") {
				t.Errorf("plannerd %s --help: --%s%s lacks its default: %s", command, name, value, text)
			}
			if name != "help" && !strings.Contains(text, "($PLANNERD_ANALYZE_") {
				t.Errorf("plannerd %s --help: --%s lacks its variable: %s", command, name, text)
			}
		}
	}
}

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
	} {
		fields := append([]string{"analyze"}, strings.Fields(args)...)
		out := succeed(t, "", append(fields, "--output", "json")...)
		var document map[string]any
		if err := json.Unmarshal([]byte(out), &document); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		for _, list := range []string{"runs", "schemes", "heavy_keys"} {
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

func TestAnalyzeUsage(t *testing.T) {
	const file = " testdata/interval.csv"
	for args, want := range map[string]string{
		"":        "expected one of",
		"magic":   "unexpected argument magic",
		"schemes": "an input is needed",
		"pkg":     "an input is needed",
		"pkg" + file + " --instances 0 --choices 0":         "--choices, number 1",
		"pkg" + file + " --schemes magic":                   "--schemes, number 1",
		"pkg" + file + " --load-information local_probing":  "--probe-period: is needed",
		"pkg" + file + " --order sorted":                    "--order",
		"pkg" + file + " --stream --interval 3":             "a stream has no intervals",
		"pkg" + file + " --stream --format csv":             "one key a line",
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
	vars := map[string]string{"PLANNERD_ANALYZE_OUTPUT": "csv", "PLANNERD_OUTPUT": "json", "PLANNERD_ANALYZE_WORKERS": "3"}
	r := exec(t, nil, vars, "analyze", "pkg", "testdata/interval.csv", "--schemes", "hash,pkg")
	if r.code != exitOK || strings.Count(r.stdout, "\n") != 3 || !strings.HasPrefix(r.stdout, "scheme,") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// An interrupted analysis says so and prints nothing.
func TestAnalyzeInterrupted(t *testing.T) {
	for _, args := range []string{"schemes -", "pkg - --stream"} {
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
	for command, flags := range map[string]int{"analyze": 1, "analyze pkg": 31, "analyze schemes": 31} {
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

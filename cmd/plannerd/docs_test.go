package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plannerd/internal/lab/streams"
	"plannerd/internal/web/guides"
)

// The pages speak to a server at this address and to a program that lies in the
// current folder, or that go run starts.
const (
	shownAddress = "127.0.0.1:8080"
	shownProgram = "plannerd"
)

// TestDocs runs the commands of each page, in order and in one shell, against a
// server of the page's own, and holds what the page shows against what they print.
// A block of code says after its fence what it is:
//
//	sh             commands
//	sh server      the one command that starts the server; it stops one that runs
//	sh skip: why   commands that no test can run
//	json answer    the last JSON value that the commands before it printed
//	text output    lines of what they printed
//
// An answer shows some members of an object. Numbers are rounded as they are shown,
// and "…" stands for any value, at the end of a list for any number of more. In
// output … stands for anything within a line, and alone on a line for any lines;
// durations may differ.
func TestDocs(t *testing.T) {
	var skipped strings.Builder
	for _, name := range docPages(t) {
		source, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		page := &docPage{name: name, blocks: guides.Parse(source).Blocks}
		if name == "README.md" {
			page.commits = recordedCommits(t)
		}
		for _, b := range page.blocks {
			if why, ok := strings.CutPrefix(b.Note, "skip: "); ok {
				command, _, _ := strings.Cut(b.Text, "\n")
				fmt.Fprintf(&skipped, "%s: %s\n    %s\n", name, command, why)
			}
		}
		if testing.Short() && name == "docs/comparing.md" {
			continue // it plans with every strategy, for minutes under the race detector
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page.T = t
			page.run()
		})
	}
	golden(t, "docs-not-run.txt", skipped.String())
}

// docPages are the pages of the project, by their paths from its root.
func docPages(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(f), "../../"))
		}
	}
	// Its commands measure for minutes and hours; it says on what and how.
	names = slices.DeleteFunc(names, func(name string) bool { return name == "BENCHMARKS.md" })
	if len(names) < 10 {
		t.Fatalf("only %q", names)
	}
	return names
}

// docPage is a page while it is tested.
type docPage struct {
	*testing.T
	name   string
	blocks []guides.Block
	// commits are the paths that each commit of the repository changed in whose folder
	// the commands run; nil where that is no repository.
	commits [][]string
	folder  string
}

// run runs the commands of the page and compares what it shows.
func (p *docPage) run() {
	p.folder = p.TempDir()
	script := p.script()
	if script == "" {
		return
	}
	program, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(p.folder, shownProgram)); err != nil {
		p.Fatal(err)
	}
	if p.commits != nil {
		gitHistory(p.T, p.folder, p.commits)
	}
	address := freeAddress(p.T)
	shell := osexec.CommandContext(p.Context(), "bash", "-c",
		strings.NewReplacer(shownAddress, address, "go run ./cmd/plannerd", "./"+shownProgram).Replace(script))
	shell.Dir = p.folder
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.folder, "LC_ALL=C.UTF-8", asProgram + "=1",
		"PLANNERD_LISTEN=" + address}
	shell.WaitDelay = time.Minute
	if said, err := shell.CombinedOutput(); err != nil {
		p.Fatalf("%s:%s\n%v\n%s%s%s%s", p.name, p.read("at"), err, said, p.read("stdout"), p.read("stderr"), p.read("server"))
	}
	output := ""
	for i, b := range p.blocks {
		at := fmt.Sprintf("%s:%d", p.name, b.Line)
		switch b.Language + " " + b.Note {
		case "sh ":
			output = p.read(fmt.Sprintf("stdout.%d", i))
		case "json answer":
			answer, err := lastJSON(output)
			if err != nil {
				p.Errorf("%s: %v in\n%s", at, err, output)
				continue
			}
			for _, d := range differences("", decodeJSON(p.T, at, b.Text), answer) {
				p.Errorf("%s: %s", at, d)
			}
		case "text output":
			if d := missingLines(b.Text, output); d != "" {
				p.Errorf("%s: %s; the commands printed\n%s", at, d, output)
			}
		}
	}
}

// script is what the shell runs: the commands of the page, each block with files of
// its own for what it prints. It is empty when there are none.
func (p *docPage) script() string {
	var script strings.Builder
	commands, started := false, false
	for i, b := range p.blocks {
		switch kind := b.Language + " " + b.Note; {
		case kind == "sh server":
			fmt.Fprintf(&script, "at %d\nstop_server\n%s --listen %s > server 2>&1 &\nserver=$!\nready\n",
				b.Line, strings.TrimSpace(b.Text), shownAddress)
			commands, started = true, true
		case kind == "sh ":
			if strings.Contains(b.Text, "http://"+shownAddress) && !started {
				fmt.Fprintf(&script, "./%s serve > server 2>&1 &\nserver=$!\nready\n", shownProgram)
				started = true
			}
			fmt.Fprintf(&script, "at %d\n{\n%s} > stdout.%d 2> stderr\ncp stdout.%d stdout\n", b.Line, b.Text, i, i)
			commands = true
		case b.Language == "sh" && strings.HasPrefix(b.Note, "skip: "):
		case b.Language == "sh", b.Language == "", b.Language == "bash", b.Language == "console", b.Language == "shell":
			p.Fatalf("%s:%d: a block must say whether it is run: %q", p.name, b.Line, kind)
		}
	}
	if !commands {
		return ""
	}
	return shellPrelude + script.String() + "stop_server\n"
}

// shellPrelude makes the shell stop at the first command that fails, a request that
// is refused included. The program is built already: it is the one under test.
const shellPrelude = `set -euo pipefail
at() { echo "$1" > at; }
server=
stop_server() { if [[ -n $server ]]; then kill "$server"; wait "$server" || return; server=; fi; }
trap 'stop_server 2> /dev/null || true' EXIT
ready() {
  for ((i = 0; i < 600; i++)); do
    if ./plannerd healthcheck --ready > /dev/null 2>&1; then return; fi
    sleep 0.05
  done
  echo "the server does not become ready" >&2
  return 1
}
go() {
  [[ $* == "build ./cmd/plannerd" ]] || command go "$@"
}
curl() { command curl --fail-with-body "$@"; }
`

func (p *docPage) read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.Fatal(err)
	}
	return string(text)
}

func decodeJSON(t *testing.T, at, text string) any {
	t.Helper()
	v, err := lastJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	return v
}

// lastJSON is the last of the JSON values that the text consists of.
func lastJSON(text string) (last any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF) && last != nil:
			return last, nil
		case err != nil:
			return nil, err
		}
		last = v
	}
}

// differences tells where an answer is other than shown.
func differences(at string, shown, got any) (all []string) {
	switch s := shown.(type) {
	case string:
		if s == "…" {
			return nil
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(s)) {
			if _, ok := g[name]; !ok {
				all = append(all, at+"/"+name+" is shown, but not in the answer")
				continue
			}
			all = append(all, differences(at+"/"+name, s[name], g[name])...)
		}
		return all
	case []any:
		g, ok := got.([]any)
		if !ok {
			break
		}
		if n := len(s); n > 0 && s[n-1] == "…" && len(g) >= n-1 {
			s, g = s[:n-1], g[:n-1]
		}
		if len(s) != len(g) {
			return []string{fmt.Sprintf("%s: %d elements are shown, there are %d", at, len(s), len(g))}
		}
		for i := range s {
			all = append(all, differences(at+"/"+strconv.Itoa(i), s[i], g[i])...)
		}
		return all
	case json.Number:
		if g, ok := got.(json.Number); ok && sameNumber(s.String(), g) {
			return nil
		}
	}
	if shown == got {
		return nil
	}
	return []string{fmt.Sprintf("%s: shown %v, got %v", at, shown, got)}
}

// sameNumber tells whether a number, rounded to as many decimals as are shown, is
// the shown one.
func sameNumber(shown string, got json.Number) bool {
	_, decimals, _ := strings.Cut(shown, ".")
	s, err1 := strconv.ParseFloat(shown, 64)
	g, err2 := got.Float64()
	return errors.Join(err1, err2) == nil && math.Abs(s-g) <= 0.5000001*math.Pow10(-len(decimals))
}

var (
	durations = regexp.MustCompile(`\d+(\.\d+)? (µs|ms|s|min)\b`)
	blanks    = regexp.MustCompile(`[ ─]+`)
)

// missingLines names the first of the shown lines that is not in the output where
// it should be.
func missingLines(shown, output string) string {
	plain := func(line string) string {
		return strings.TrimSpace(blanks.ReplaceAllString(durations.ReplaceAllString(line, "TIME"), " "))
	}
	lines := strings.Split(output, "\n")
	anywhere := true // whether lines may be left out before the next one
	for line := range strings.Lines(shown) {
		line = plain(line)
		if line == "…" {
			anywhere = true
			continue
		}
		want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$")
		i := slices.IndexFunc(lines, func(l string) bool { return want.MatchString(plain(l)) })
		if i < 0 || i > 0 && !anywhere {
			return fmt.Sprintf("%q is not there", line)
		}
		lines, anywhere = lines[i+1:], false
	}
	return ""
}

// TestReadmeQuestion: the question of the readme is right about paths of all kinds.
func TestReadmeQuestion(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := guides.Parse(source).Blocks
	i := slices.IndexFunc(blocks, func(b guides.Block) bool { return strings.HasPrefix(b.Text, "git log") })
	page := &docPage{T: t, name: "README.md", blocks: blocks[i : i+1]}
	page.commits = [][]string{
		{"plain", "with, comma", `with "quotes"`, "with space", "ünïcode", `back\slash`, "0"}, {"plain"},
		{"with, comma"}, {"plain"},
	}
	page.run()
	if got := page.read("stdout"); !strings.HasPrefix(got, "optimal on 7 keys,") {
		t.Errorf("%s", got)
	}
}

// recordedCommits are the paths that each commit of this project changed, as far as
// its history is recorded.
func recordedCommits(t *testing.T) (commits [][]string) {
	t.Helper()
	for commit, err := range streams.History(1).Intervals {
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for i := range commit.Len() {
			paths = append(paths, string(commit.Keys.At(i)))
		}
		commits = append(commits, paths)
	}
	return commits
}

// gitHistory makes the folder a repository whose commits change these paths.
func gitHistory(t *testing.T, folder string, commits [][]string) {
	t.Helper()
	var history bytes.Buffer
	for i, paths := range commits {
		fmt.Fprintf(&history, "commit refs/heads/main\ncommitter A <a@example.com> %d +0000\ndata 0\n", i)
		for _, path := range paths {
			content := strconv.Itoa(i)
			fmt.Fprintf(&history, "M 100644 inline %q\ndata %d\n%s\n", path, len(content), content)
		}
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"fast-import", "--quiet"}} {
		command := osexec.CommandContext(t.Context(), "git", args...)
		command.Dir, command.Stdin = folder, &history
		if args[0] == "init" {
			command.Stdin = nil
		}
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, said)
		}
	}
}

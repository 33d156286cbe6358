package plannerdtest_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// TestStopAndMove builds the programs of docs/stop-and-move.md and runs them: messages come, a person
// approves, and the counts of keys are where the table says, none of them lost.
func TestStopAndMove(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "stop-and-move.md"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, needs, build, run string }{
		"Go": {"main.go", "go.mod", `go mod init counter
			go mod edit -require plannerd/sdk/go@v0.0.0 -replace plannerd/sdk/go=$root/sdk/go
			GOFLAGS=-mod=mod go mod tidy
			go build`, "exec ./counter"},
		"Python": {"counter.py", "sdk/python/.venv/installed.txt", "true",
			"PYTHONPATH=$root/sdk/python/src exec $root/sdk/python/.venv/bin/python counter.py"},
		"Java": {"Counter.java", "examples/storm/target/classpath", "javac -cp $CLASSPATH Counter.java",
			"exec java -cp .:$CLASSPATH Counter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(filepath.Join(root, c.needs)); err != nil {
				t.Skipf(".ci/%s makes what this needs: %v", strings.ToLower(name), err)
			}
			program := regexp.MustCompile("(?s)```" + strings.ToLower(name) + " program\n(.*?)```").FindSubmatch(page)
			if program == nil || bytes.Count(program[1], []byte("\n")) > 60 {
				t.Fatalf("no program of at most 60 lines: %d", bytes.Count(program[1], []byte("\n")))
			}
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, c.file), program[1], 0o600); err != nil {
				t.Fatal(err)
			}
			classes, _ := os.ReadFile(filepath.Join(root, "examples/storm/target/classpath")) // only for Java
			shell := func(script string, args ...string) *exec.Cmd {
				s := exec.CommandContext(t.Context(), "sh", append([]string{"-ec", script, "sh"}, args...)...)
				s.Dir = folder
				s.Env = append(os.Environ(), "GOWORK=off", "root="+root,
					"CLASSPATH="+filepath.Join(root, "sdk/java/target/classes")+":"+string(classes))
				return s
			}
			if said, err := shell(c.build).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			server := plannerdtest.NewServer(t)
			stopAndMove(t, server, shell(c.run+` "$@"`, server.URL))
		})
	}
}

// stopAndMove sends messages to a program until two plans that a person approves are committed.
func stopAndMove(t *testing.T, server *plannerdtest.Server, program *exec.Cmd) {
	t.Helper()
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	input, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said, messages bytes.Buffer
	program.Stdout, program.Stderr = &said, &messages
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Process.Kill() }()
	sent := map[string]int{}
	committed := map[string]bool{}
	for n, end := 0, time.Now().Add(time.Minute); len(committed) < 2; n++ {
		if time.Now().After(end) {
			t.Fatalf("%d plans were committed\n%s", len(committed), messages.String())
		}
		key := fmt.Sprintf("key-%d", n%9)
		if n%2 == 0 { // a hot key, and another one after the first plan
			key = fmt.Sprintf("hot-%d", n/2%2+2*len(committed))
		}
		if _, err := io.WriteString(input, key+"\n"); err != nil {
			t.Fatalf("%v\n%s", err, messages.String())
		}
		sent[key]++
		time.Sleep(2 * time.Millisecond)
		if n%100 != 0 {
			continue
		}
		list, err := api.ListPlans(t.Context(), "counts", client.ListPlansOptions{})
		if err != nil {
			continue // there is no operator yet
		}
		for _, p := range list.Plans {
			switch p.Status {
			case wire.PlanStatusProposed:
				_, _ = api.ApprovePlan(t.Context(), p.Id, wire.Transition{}) // a newer one may have replaced it
			case wire.PlanStatusCommitted:
				committed[p.Id] = true
			}
		}
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, messages.String())
	}
	counted, at := map[string]int{}, map[string]int{}
	instances := regexp.MustCompile(`(?s)(map\[|{)(.*?)[\]}]`).FindAllStringSubmatch(said.String(), -1)
	for i, of := range instances {
		for _, pair := range regexp.MustCompile(`'?([\w-]+)'?[:=] ?(\d+)`).FindAllStringSubmatch(of[2], -1) {
			if _, twice := at[pair[1]]; twice {
				t.Errorf("%s is on both instances", pair[1])
			}
			n, _ := strconv.Atoi(pair[2])
			counted[pair[1]], at[pair[1]] = counted[pair[1]]+n, i
		}
	}
	if fmt.Sprint(counted) != fmt.Sprint(sent) {
		t.Errorf("sent %v\ncounted %v\n%s", sent, counted, said.String())
	}
	table, err := api.GetRoutingTable(t.Context(), "counts", client.GetRoutingTableOptions{})
	if err != nil || len(table.Entries) == 0 {
		t.Fatalf("%+v %v", table, err)
	}
	for _, entry := range table.Entries {
		if at[entry.Key] != int(entry.Instance) {
			t.Errorf("%s is at %d, not %d", entry.Key, at[entry.Key], entry.Instance)
		}
	}
}

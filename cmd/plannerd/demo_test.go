package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// demonstration starts plannerd demo as a process of its own. Its temporary files are in
// the folder.
func demonstration(t *testing.T, folder, address string) (*osexec.Cmd, io.Reader) {
	t.Helper()
	program := osexec.CommandContext(t.Context(), os.Args[0], "demo", "--listen", address)
	program.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+folder, "PLANNERD_LOG_LEVEL=debug")
	program.Stderr = t.Output()
	output, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	return program, output
}

// readUntil reads text up to a word.
func readUntil(t *testing.T, r io.Reader, word string) string {
	t.Helper()
	var text strings.Builder
	for part := make([]byte, 1024); !strings.Contains(text.String(), word); {
		n, err := r.Read(part)
		text.Write(part[:n])
		if err != nil {
			t.Fatalf("no %q in %q: %v", word, text.String(), err)
		}
	}
	return text.String()
}

// interrupt ends the program as Ctrl-C does, and looks what it has left in its folder.
func interrupt(t *testing.T, program *osexec.Cmd, folder string) {
	t.Helper()
	if err := program.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
	empty(t, folder)
}

func empty(t *testing.T, folder string) {
	t.Helper()
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestDemo: all that the demonstration names is there, what it proposes to ask is
// answered, and in the end nothing is left.
func TestDemo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, output := demonstration(t, folder, "127.0.0.1:0")
	said := readUntil(t, output, "Ctrl-C")

	ask := func(method, url, body string, out any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if err := json.NewDecoder(a.Body).Decode(out); err != nil || a.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s, %v", method, url, a.Status, err)
		}
	}
	sights := regexp.MustCompile(`(?m)^(\w+) +.*(http://\S+)/#(\S+)$`).FindAllStringSubmatch(said, -1)
	if len(sights) < 10 {
		t.Fatalf("only %d sights in %s", len(sights), said)
	}
	for _, sight := range sights {
		var got struct{ Operator, Name string }
		ask(http.MethodGet, sight[2]+"/v1"+sight[3], "", &got)
		if got.Operator+got.Name != sight[1] {
			t.Errorf("%s is of %+v, not of %s", sight[3], got, sight[1])
		}
	}

	var outcomes struct {
		Results []struct{ Strategy string }
	}
	asked := regexp.MustCompile(`(?s)curl -sS -X POST '(\S+)'.*? -d '(.*?)'\n`).FindStringSubmatch(said)
	ask(http.MethodPost, asked[1], asked[2], &outcomes)
	if len(outcomes.Results) != 6 || outcomes.Results[0].Strategy == "" {
		t.Errorf("the plan that waits has the alternatives %+v", outcomes)
	}
	var route struct{ Instance *int }
	asked = regexp.MustCompile(`curl -sS '(\S+)'`).FindStringSubmatch(said)
	if ask(http.MethodGet, asked[1], "", &route); route.Instance == nil {
		t.Errorf("%s is answered without an instance", asked[1])
	}
	interrupt(t, program, folder)
}

// TestDemoInterrupted: who does not wait leaves nothing either.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, output := demonstration(t, folder, "127.0.0.1:0")
	readUntil(t, output, "Filling")
	interrupt(t, program, folder)
}

// TestDemoRefused: an address that cannot be had is an error that says so.
func TestDemoRefused(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	for address, want := range map[string]string{
		taken.Addr().String(): "choose another --listen", "0.0.0.0:0": "this machine alone",
	} {
		r := exec(t, strings.NewReader(""), nil, "demo", "--listen", address)
		if r.code == exitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d, %s", address, r.code, r.stderr)
		}
	}
	empty(t, folder)
}

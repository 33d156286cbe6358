package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plannerd/internal/statsio"
)

// TestReadme runs what the readme has an engine do, one section after the other.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	reader := &reader{T: t, server: serve(t, "--database-url", "sqlite:data.db")}
	defer reader.server.stop(t)
	defer http.DefaultClient.CloseIdleConnections()

	reader.follow(section(t, string(text), "How an engine uses it"))
	var route struct{ Instance int }
	reader.answer(&route)
	if route.Instance != 0 {
		t.Errorf("user:3 is routed to instance %d", route.Instance)
	}

	reader.follow(section(t, string(text), "The life of a plan"))
	var life struct {
		Operator     string
		CurrentPlan  *string `json:"current_plan"`
		TableVersion int64   `json:"table_version"`
		Results      []struct{ Strategy string }
	}
	if reader.answer(&life); len(life.Results) != 6 {
		t.Errorf("%.500s", reader.output)
	}
	reader.output = reader.send(http.MethodGet, reader.server.url+"/v1/operators/carts", nil, nil)
	if reader.answer(&life); life.CurrentPlan != nil || life.TableVersion != 1 {
		t.Errorf("%s", reader.output)
	}

	reader.follow(section(t, string(text), "Retries and routers"))
	var followed struct {
		Version int64
		Full    bool
		Set     []struct{ Key string }
		Pending any
	}
	if reader.answer(&followed); followed.Version != 1 || followed.Full || len(followed.Set) == 0 || followed.Pending != nil {
		t.Errorf("%s", reader.output)
	}

	reader.follow(section(t, string(text), "Every instance reports for itself"))
	var merged struct {
		Causes  []string
		Reports struct {
			Received []int32
			Carried  []struct{ Instance, Interval int64 }
		}
		DriftedKeys int `json:"drifted_keys"`
	}
	reader.answer(&merged)
	if r := merged.Reports; len(r.Received) != 1 || len(r.Carried) != 1 || r.Carried[0].Interval != 1 || merged.DriftedKeys != 0 {
		t.Errorf("%+v", merged)
	}

	reader.follow(section(t, string(text), "Rings and ranges"))
	reader.answer(&route)
	if route.Instance != 1 {
		t.Errorf("user:3 is in a range of instance %d", route.Instance)
	}

	reader.follow(section(t, string(text), "Arrow"))
	var views struct{ Operator string }
	reader.answer(&views)
	if views.Operator != "views" {
		t.Errorf("the plan of Arrow: %.200s", reader.output)
	}

	reader.follow(section(t, string(text), "Millions of keys in a few kilobytes"))
	var plan struct {
		Operator     string
		Status       string
		Balanced     bool
		ResolvedKeys int `json:"resolved_keys"`
		Migration    struct{ Keys int }
	}
	reader.answer(&plan)
	if plan.Operator != "sessions" || plan.Status != "committed" || !plan.Balanced || plan.ResolvedKeys != plan.Migration.Keys || plan.ResolvedKeys == 0 {
		t.Errorf("at the end: %s", reader.output)
	}
	keys, err := os.ReadFile("keys.csv")
	if err != nil {
		t.Fatal(err)
	}
	d, err := statsio.DecodeResolutionCSV(bytes.NewReader(keys), statsio.Options{})
	if err != nil || d.Len() != plan.Migration.Keys {
		t.Errorf("%d keys move, %v; resolved to %.200s", plan.Migration.Keys, err, keys)
	}
}

// The commands of the readme that make tokens make a file of them.
func TestReadmeTokens(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	(&reader{T: t}).follow(section(t, string(text), "Who may do what"))
	tokens, err := (&accessFlags{TokensFile: "tokens"}).readTokens(func(string) string { return "" })
	if err != nil || tokens.Len() != 2 {
		t.Errorf("%+v, %v", tokens, err)
	}
}

// section is the text under a heading.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(text, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if !found {
		t.Fatalf("the readme has no section %q", heading)
	}
	return text
}

// reader does what a text tells.
type reader struct {
	*testing.T
	server *server
	output string // of the last command
	id     string // of the last plan
}

// fenced is a block of code.
var fenced = regexp.MustCompile("(?s)```\n(.*?)```")

// follow runs the commands of the blocks. A block that is not of commands shows
// what the one before printed; only times may differ.
func (r *reader) follow(text string) {
	r.Helper()
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		if program, _, _ := strings.Cut(block[1], " "); program != "curl" && program != "go" {
			r.compare(block[1])
			continue
		}
		for _, words := range r.commands(block[1]) {
			r.run(words)
		}
	}
}

// compare holds what is shown against what was printed.
func (r *reader) compare(shown string) {
	r.Helper()
	for line := range strings.Lines(shown) {
		if !strings.Contains(line, " ms.") && !strings.Contains(r.output, line) {
			r.Errorf("%q is not in what was printed:\n%s", line, r.output)
		}
	}
}

// run runs one command.
func (r *reader) run(words []string) {
	r.Helper()
	file := ""
	mode := os.O_TRUNC
	if n := len(words); n > 2 && (words[n-2] == ">" || words[n-2] == ">>") {
		if words[n-2] == ">>" {
			mode = os.O_APPEND
		}
		file, words = words[n-1], words[:n-2]
	}
	if words[0] == "curl" {
		r.output = r.curl(words[1:])
	} else {
		if strings.Join(words[:3], " ") != "go run ./cmd/plannerd" {
			r.Fatalf("not understood: %q", words)
		}
		done := exec(r.T, nil, nil, words[3:]...)
		if r.output = done.stdout; done.code != exitOK {
			r.Fatalf("%q: exit %d, %s", words, done.code, done.stderr)
		}
	}
	if file == "" {
		return
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|mode, 0o600)
	if err != nil {
		r.Fatal(err)
	}
	_, err = out.WriteString(r.output)
	if err := errors.Join(err, out.Close()); err != nil {
		r.Fatal(err)
	}
}

// curl sends a request as curl does and returns the answer.
func (r *reader) curl(args []string) string {
	r.Helper()
	method, url, body, header := "", "", []byte(nil), http.Header{}
	for len(args) > 0 {
		value := func() string { v := args[1]; args = args[1:]; return v }
		switch args[0] {
		case "-X":
			method = value()
		case "-H":
			name, v, _ := strings.Cut(value(), ": ")
			header.Set(name, v)
		case "-d":
			body = []byte(value())
		case "--data-binary":
			var err error
			if body, err = os.ReadFile(strings.TrimPrefix(value(), "@")); err != nil {
				r.Fatal(err)
			}
		default:
			url = strings.Replace(args[0], "http://127.0.0.1:8080", r.server.url, 1)
		}
		args = args[1:]
	}
	if method == "" && body != nil {
		method = http.MethodPost
	}
	return r.send(method, strings.Replace(url, "PUT-THE-ID-HERE", r.id, 1), header, body)
}

// send expects success, and remembers the id of a plan.
func (r *reader) send(method, url string, header http.Header, body []byte) string {
	r.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		r.Fatalf("%s %s: %s, %v: %.500s", method, url, response.Status, err, text)
	}
	var plan struct{ ID string }
	if err := json.Unmarshal(text, &plan); err != nil {
		r.Fatal(err)
	}
	if plan.ID != "" {
		r.id = plan.ID
	}
	return string(text)
}

// answer decodes the last answer.
func (r *reader) answer(into any) {
	r.Helper()
	if err := json.Unmarshal([]byte(r.output), into); err != nil {
		r.Fatal(err)
	}
}

// commands splits commands, one a line, into words as a shell does: with single
// quotes, and with a backslash at the end of a line that goes on.
func (r *reader) commands(text string) (commands [][]string) {
	r.Helper()
	text = strings.ReplaceAll(text, "\\\n", " ")
	var words []string
	word, given := "", false
	end := func() {
		if given {
			words = append(words, word)
		}
		word, given = "", false
	}
	for text != "" {
		c := text[0]
		text = text[1:]
		switch c {
		case '\'':
			quoted, rest, found := strings.Cut(text, "'")
			if !found {
				r.Fatalf("the quote does not end: %s", text)
			}
			word, given, text = word+quoted, true, rest
		case ' ':
			end()
		case '\n':
			end()
			if len(words) > 0 {
				commands = append(commands, words)
			}
			words = nil
		case '"', '$', '|', '&', ';', '<', '*':
			r.Fatalf("%q is for a real shell: %s", c, text)
		default:
			word, given = word+string(c), true
		}
	}
	return commands
}

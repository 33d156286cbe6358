package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/cli"
)

// Four keys each on instances 0 and 1, in three classes; a rescale to come.
const resolveStats = `key,cost,state,instance,hash_instance
a,2,1,0,0
b,2,1,0,0
c,2,1,0,1
d,4,1,0,0
e,2,3,1,1
f,2,3,1,1
g,1,1,1,0
h,1,1,1,0
`

// resolve runs the command on resolveStats and moves in a file.
func resolve(t *testing.T, moves string, args ...string) result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "moves")
	if err := os.WriteFile(path, []byte(moves), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"resolve", "-", "--hash", "reported", "--instances", "3", "--degree", "1", "--moves", path},
		args...)
	return exec(t, strings.NewReader(resolveStats), nil, args...)
}

// Moves may come in every form in which a plan lists them.
func TestResolveForms(t *testing.T) {
	const want = "key,from,to,hash_instance\nd,0,2,0\ng,1,2,0\nh,1,2,0\n"
	for name, moves := range map[string]string{
		"list":         "[[2,0,0,4,1,1], [2,1,0,1,1,2]]",
		"split":        "[[2,1,0,1,1,1],[2,0,0,4,1,1],[2,1,0,1,1,1]]",
		"indented":     "[\n  [\n    2,\n 0, 0, 4, 1, 1],\n [2,1,0,1,1,2]]\n",
		"NDJSON":       "[2,0,0,4,1,1]\n[2,1,0,1,1,2]\n",
		"a plan":       `{"migrates":"classes","id":"x","compaction":{"degree":1,"cost_scale":1,"state_scale":1,"records":5,"keys":8,"error":null},"migrations":[[2,0,0,4,1,1],[2,1,0,1,1,2]]}`,
		"no scales":    `{"compaction":{"degree":null,"cost_scale":5,"state_scale":5},"migrations":[[2,0,0,4,1,1],[2,1,0,1,1,2]]}`,
		"last page":    `{"migrations":[[2,0,0,4,1,1],[2,1,0,1,1,2]],"next_page_token":""}`,
		"CSV":          "planned,instance,hash_instance,cost,state,count\n2,0,0,4,1,1\n2,1,0,1,1,2\n",
		"other order":  "count,cost,state,planned,instance,hash_instance\r\n1,4.0,1,2,0,0\r\n2,1,1e0,2,1,0\r\n",
		"gzip":         gzipped(t, "[[2,0,0,4,1,1],[2,1,0,1,1,2]]"),
		"no move kept": "[[2,0,0,4,1,1],[2,1,0,1,1,2],[1,1,1,2,3,1]]",
	} {
		r := resolve(t, moves)
		if r.code != exitOK || r.stderr != "" || r.stdout != want {
			t.Errorf("%s: exit %d, %q, %q", name, r.code, r.stdout, r.stderr)
		}
	}
	r := resolve(t, "[[2,0,0,4,1,1]]", "--output", "ndjson")
	if r.stdout != `{"key":"d","from":0,"to":2,"hash_instance":0}`+"\n" {
		t.Errorf("NDJSON: %+v", r)
	}
	if r := resolve(t, "[]"); r.code != exitOK || r.stdout != "key,from,to,hash_instance\n" {
		t.Errorf("no moves: %+v", r)
	}
	// Some of a class: two of the keys a and b on instance 0, one to each of two.
	r = resolve(t, "[[1,0,0,2,1,1],[2,0,0,2,1,1]]")
	lines := strings.Fields(r.stdout)
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "a,0,") && !strings.HasPrefix(lines[1], "b,0,") ||
		lines[1][:1] == lines[2][:1] {
		t.Errorf("split class: %+v", r)
	}
}

func TestResolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		moves string
		code  int
		want  string
	}{
		"empty": {" \n", exitFailed, "it is empty"},
		"no class": {"[[2,0,0,4,1,1],[2,0,0,8,1,1]]", exitFailed,
			"--moves: move 2, [2,0,0,8,1,1]: is of a class without keys: were the statistics"},
		"too many":       {"[[2,0,0,2,1,2],[1,0,0,2,1,1]]", exitFailed, "move 2, [1,0,0,2,1,1]: count: must be ≥ 1"},
		"unknown target": {"[[7,0,0,2,1,1]]", exitFailed, "move 1, [7,0,0,2,1,1]: planned: is not a live instance"},
		"five numbers":   {"[[2,0,0,2,1]]", exitFailed, "move 1: [2,0,0,2,1] is not a list of 6 numbers"},
		"no target":      {"[[null,0,0,2,1,1]]", exitFailed, `move 1: planned: "" is not an id`},
		"half a key":     {"[2,0,0,2,1,1]\n[2,0,0,2,1,0.5]", exitFailed, `move 2: count: "0.5" is not a number of keys`},
		"negative":       {"[[2,0,0,-2,1,1]]", exitFailed, `move 1: cost: "-2" is not a number`},
		"an object":      {`[{"key":"a","from":0,"to":1}]`, exitFailed, "move 1: "},
		"of keys":        {`{"migrates":"keys","migrations":[]}`, exitFailed, "the plan moves keys"},
		"no list":        {`{"migrates":"classes"}`, exitFailed, "?include=migrations"},
		"a refusal":      {`{"type":"about:blank","title":"Conflict","status":409,"detail":"A newer interval was planned already.","code":"interval_outdated"}`, exitFailed, "it is not a plan but a refusal of the service: A newer interval was planned already."},
		"wrong body":     {`{"detail":"The request breaks the rules; see errors.","code":"invalid","errors":[{"pointer":"/compact/records/4/0","detail":"is not a live instance"},{"parameter":"x","detail":"is wrong"}]}`, exitFailed, "; see errors. /compact/records/4/0: is not a live instance"},
		"wrong request":  {`{"detail":"See errors.","code":"invalid","errors":[{"parameter":"interval","detail":"is wrong"}]}`, exitFailed, "See errors. interval: is wrong"},
		"a page":         {`{"migrations":[],"next_page_token":"x"}`, exitFailed, "one page of several"},
		"broken":         {"[[2,0,0,2,1,1]", exitFailed, "not valid JSON"},
		"more behind":    {"[[2,0,0,2,1,1]]]", exitFailed, "not valid JSON"},
		"text":           {`"moves"`, exitFailed, "its first line must be the header planned,instance"},
		"no header":      {"2,0,0,2,1,1\n", exitFailed, "its first line must be the header planned,instance"},
		"bad row": {"planned,instance,hash_instance,cost,state,count\n2,0,0,2,1,1\n2,0,0,2,x,1\n", exitFailed,
			`row 2: state: "x"`},
		"short row": {"planned,instance,hash_instance,cost,state,count\n2,0,0\n", exitFailed, "wrong number of fields"},
		"other degree": {`{"compaction":{"degree":8,"cost_scale":1,"state_scale":1},"migrations":[]}`, exitUsage,
			"records with degree 8, but the flags give 1"},
		"other scale": {`{"compaction":{"degree":1,"cost_scale":1,"state_scale":7},"migrations":[]}`, exitUsage,
			"records with state scale 7, but the flags give 1"},
	} {
		r := resolve(t, c.moves)
		if r.code != c.code || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit %d, %q, %q; want %q", name, r.code, r.stdout, r.stderr, c.want)
		}
	}
	r := exec(t, nil, nil, "resolve", intervalFile, "--moves", filepath.Join(t.TempDir(), "none"))
	if r.code != exitFailed || !strings.Contains(r.stderr, "plannerd: --moves: open ") {
		t.Errorf("a missing file: %+v", r)
	}
	r = exec(t, strings.NewReader("[]"), nil, "resolve", streamFile, "--moves", "-")
	if r.code != exitUsage || !strings.Contains(r.stderr, "has several intervals: --interval says") {
		t.Errorf("several intervals: %+v", r)
	}
	if r := exec(t, strings.NewReader("[]"), nil, "resolve", streamFile, "--moves", "-", "--interval",
		"2"); r.code != exitOK || r.stdout != "key,from,to\n" {
		t.Errorf("one of several intervals: %+v", r)
	}
}

// After a rescale the keys that stay off their new hash instances are named too.
func TestResolveRescale(t *testing.T) {
	r := resolve(t, "[[2,1,1,2,3,2]]", "--instances", "0:1,1:1,2:1", "--base-instances", "2")
	lines := strings.Fields(r.stdout)
	want := []string{"key,from,to,hash_instance", "c,0,0,1", "e,1,2,1", "f,1,2,1", "g,1,1,0", "h,1,1,0"}
	if r.code != exitOK || !slices.Equal(lines, want) {
		t.Errorf("reported: %+v", r)
	}
	// The ring's share of three instances; only a third of the keys hash anew.
	stats := succeed(t, "", "generate", "--keys", "300", "--intervals", "1", "--instances", "2")
	operator := []string{"-", "--base-instances", "2", "--instances", "3"}
	body := succeed(t, stats, append([]string{"compact", "--quiet", "--output", "csv"}, operator...)...)
	moves := succeed(t, body, append([]string{"plan", "--output", "csv"}, operator...)...)
	path := filepath.Join(t.TempDir(), "moves.csv")
	if err := os.WriteFile(path, []byte(moves), 0o600); err != nil {
		t.Fatal(err)
	}
	out := succeed(t, stats, append([]string{"resolve", "--moves", path}, operator...)...)
	plan := succeed(t, body, append([]string{"plan"}, operator...)...)
	moved, stay := 0, 0
	for _, line := range strings.Fields(out)[1:] {
		f := strings.Split(line, ",")
		if f[1] == f[2] {
			stay++
		} else {
			moved++
		}
	}
	if moved == 0 || stay == 0 || !strings.Contains(plan, "Migrations: "+cli.Plural(moved, "key")) {
		t.Errorf("%d move, %d stay off their hash:\n%s", moved, stay, plan)
	}
}

// Keys that are not text are written in base64, and standard error says so.
func TestResolveBase64(t *testing.T) {
	stats := `{"key_encoding":"base64","keys":[{"key":"/w==","cost":1,"instance":0},{"key":"YQ==","cost":3,"instance":0}]}`
	path := filepath.Join(t.TempDir(), "stats.json")
	if err := os.WriteFile(path, []byte(stats), 0o600); err != nil {
		t.Fatal(err)
	}
	body := succeed(t, "", "compact", path, "--instances", "2", "--degree", "1", "--output", "csv", "--quiet")
	line := strings.Fields(body)[1]
	r := exec(t, strings.NewReader("planned,instance,hash_instance,cost,state,count\n1,"+line+"\n"), nil,
		"resolve", path, "--instances", "2", "--degree", "1", "--moves", "-")
	if r.code != exitOK || !strings.Contains(r.stderr, "?key_encoding=base64") {
		t.Errorf("%+v, records %s", r, body)
	}
	if got := strings.Fields(r.stdout); len(got) != 2 || got[1] != "/w==,0,1" && got[1] != "YQ==,0,1" {
		t.Errorf("resolved %q", got)
	}
}

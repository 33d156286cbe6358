package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/internal/absence"
	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/cli/reading"
	"plannerd/planner"
)

const (
	intervalFile = "testdata/interval.csv"
	streamFile   = "testdata/stream.csv"
	tableFile    = "testdata/table.csv"
)

func TestPlanTables(t *testing.T) {
	for name, args := range map[string][]string{
		"plan_interval.txt":   {intervalFile, "--instances", "4"},
		"plan_all.txt":        {intervalFile, "--instances", "4", "--theta-max", "0", "--all", "--strategy", "mintable"},
		"plan_top.txt":        {intervalFile, "--instances", "4", "--theta-max", "0", "--top", "2"},
		"plan_table.txt":      {intervalFile, "--instances", "4", "--routing-table", tableFile, "--entry-grace", "1"},
		"plan_capacities.txt": {intervalFile, "--instances", "0:1,1:2,5:1", "--hash", "modulo"},
		"plan_rescale.txt": {intervalFile, "--instances", "3", "--base-instances", "0:1,1:1,2:1,3:1", "--routing-table",
			tableFile, "--all"},
		"plan_hot.txt":         {intervalFile, "--instances", "12"},
		"plan_balanced.txt":    {intervalFile, "--instances", "4", "--theta-max", "0.5"},
		"plan_table_limit.txt": {streamFile, "--interval", "1", "--instances", "4", "--table-limit", "0"},
		"plan_optimal.txt": {intervalFile, "--instances", "4", "--theta-max", "0.02", "--strategy", "optimal",
			"--certificate", "tight"},
		"plan_imbalance.txt": {intervalFile, "--instances", "4", "--strategy", "optimal", "--objective", "min_imbalance",
			"--migration-limit", "2%"},
		"plan_infeasible.txt": {intervalFile, "--instances", "3", "--base-instances", "4", "--table-limit", "0",
			"--theta-max", "0"},
		"plan_uncertified.txt": {intervalFile, "--instances", "4", "--certificate", "off"},
		"plan_stream.txt":      {streamFile, "--instances", "4", "--strategy", "mixed", "--table-limit", "3"},
		"plan_stream_one.txt":  {intervalFile, "--instances", "4", "--stream"},
		"plan_stream_kafka.txt": {streamFile, "--instances", "3", "--hash", "kafka", "--partitions", "12",
			"--strategy", "minmig"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, succeed(t, "", append([]string{"plan"}, args...)...))
		})
	}
}

// The command line gives entries the grace that the service gives them.
func TestEntryGraceOfTheService(t *testing.T) {
	help, want := succeed(t, "", "plan", "--help"), fmt.Sprintf("--entry-grace=%d ", absence.DefaultGrace)
	if !strings.Contains(help, want) {
		t.Errorf("no %q in\n%s", want, help)
	}
}

// The table, JSON and CSV of one plan tell the same.
func TestPlanForPrograms(t *testing.T) {
	args := []string{"plan", intervalFile, "--instances", "4", "--routing-table", tableFile, "--entry-grace", "0"}
	var d offline.Result
	decoder := json.NewDecoder(strings.NewReader(succeed(t, "", append(args, "--output", "json")...)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Strategy != "optimal" || d.Parameters.ThetaMax != planner.DefaultThetaMax ||
		d.Parameters.Beta != planner.DefaultBeta || len(d.InputHash) != 32 || !*d.Balanced || d.Keys != 30 {
		t.Errorf("head: %+v", d)
	}
	state, load := 0.0, 0.0
	for _, m := range d.Plan.Migrations {
		state += m.State
	}
	for _, in := range d.Instances {
		load += in.LoadAfter
	}
	if int(d.Migration.Keys) != len(d.Plan.Migrations) || d.Migration.State != state || len(d.Instances) != 4 ||
		load < 2786 || load > 2787 {
		t.Errorf("migration %+v of %d, state %v; %d instances, load %v", d.Migration, len(d.Plan.Migrations), state,
			len(d.Instances), load)
	}
	x := d.Plan.RoutingTable
	if got := x.SizeBefore + int64(len(x.Set)-len(x.Unset)); x.SizeBefore != 3 || got < x.SizeAfter || len(x.Unset) < 1 {
		t.Errorf("table: %+v", x)
	}
	lines := strings.Split(strings.TrimSpace(succeed(t, "", append(args, "--output", "csv")...)), "\n")
	if lines[0] != "key,from,to,cost,state,reason" || len(lines) != 1+len(d.Plan.Migrations) ||
		!strings.HasPrefix(lines[1], d.Plan.Migrations[0].Key+",") {
		t.Errorf("csv: %q", lines)
	}
}

func TestPlanStreamForPrograms(t *testing.T) {
	args := []string{"plan", streamFile, "--instances", "4"}
	var d offline.StreamDocument
	decoder := json.NewDecoder(strings.NewReader(succeed(t, "", append(args, "--output", "json")...)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if len(d.Intervals) != 4 || d.Summary.Intervals != 4 || d.Summary.Balanced != 4 || d.Intervals[3].Interval != 3 {
		t.Errorf("stream: %+v", d.Summary)
	}
	var keys float64
	for i, f := range d.Intervals {
		keys += float64(f.Migration.Keys)
		if i > 0 && f.RoutingTable.SizeBefore == 0 {
			t.Errorf("interval %d starts without a table", i)
		}
	}
	if d.Summary.Keys.Total != keys {
		t.Errorf("migrated keys %v, summed up %v", d.Summary.Keys.Total, keys)
	}
	golden(t, "plan_stream.csv", succeed(t, "", append(args, "--output", "csv")...))
}

// The same statistics in every container give the same plan.
func TestPlanInputs(t *testing.T) {
	text, err := os.ReadFile(intervalFile)
	if err != nil {
		t.Fatal(err)
	}
	want := succeed(t, "", "plan", intervalFile, "--output", "csv")
	var zipped, zstandard bytes.Buffer
	g := gzip.NewWriter(&zipped)
	z, err := zstd.NewWriter(&zstandard)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{g, z} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var ndjson strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, ",")
		ndjson.WriteString(`{"key":"` + f[0] + `","cost":` + f[1] + `,"state":` + f[2] + "}\n")
	}
	document := `{"keys":[` + strings.ReplaceAll(strings.TrimSpace(ndjson.String()), "\n", ",") + `]}`
	for name, body := range map[string]string{
		"csv": string(text), "gzip": zipped.String(), "zstd": zstandard.String(), "ndjson": ndjson.String(), "json": document,
	} {
		if got := succeed(t, body, "plan", "-", "--output", "csv"); got != want {
			t.Errorf("%s on standard input:\n%s\nwant\n%s", name, got, want)
		}
		path := filepath.Join(t.TempDir(), "stats")
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := succeed(t, "", "plan", path, "--output", "csv"); got != want {
			t.Errorf("%s in a file:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestPlanBadInput(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "standard input: the input is empty; expected CSV with a header row such as key,cost,state"},
		"blank":        {" \n\n", "the input is empty"},
		"empty gzip":   {gzipped(t, ""), "the input is empty"},
		"empty NDJSON": {"", "the input is empty"},
		"empty JSON":   {"", "the input is empty"},
		"long blank":   {strings.Repeat("\n", 4*reading.BlankBytes), "standard input:2049: "},
		"header only":  {"interval,key,cost\n", "no rows"},
		"no header": {"a,1\nb,2\n", "standard input:1: unknown columns a 1; columns key, cost (or frequency) " +
			"missing; the columns are key, cost and optionally state (or state_bytes), instance, hash_instance and interval; " +
			"no header? use --header none"},
		"negative cost": {"key,cost\na,1\nb,-2\n", "standard input:3: cost of key b: must be ≥ 0 and finite, not -2"},
		"not a number": {"key,cost\na,much\n",
			`standard input:2: cost of key a: "much" is not a number; it must be ≥ 0 and finite`},
		"duplicate key": {"key,cost\na,1\nb,1\na,2\n",
			"standard input:4: key a: is in line 2 already; each key has one row; --duplicates sum adds them up"},
		"unknown instance": {"key,cost,instance\na,1,0\nb,1,77\n",
			"standard input:3: instance of key b: 77 is not a known instance; --instances has 0 to 7; if there were others " +
				"before a rescale, name them with --base-instances"},
		"late bad row": {"interval,key,cost\n0,a,1\n0,b,1\n1,a,1\n1,b,-1\n",
			"standard input:5: cost of key b: must be ≥ 0 and finite, not -1"},
		"late instance": {"interval,key,cost,hash_instance\n0,a,1,0\n0,b,1,1\n1,a,1,0\n1,c,1,9\n",
			"standard input:5: hash_instance of key c: 9 is not an instance of the configuration; --instances has 0 to 7"},
		"partial":        {`{"coverage":"partial","keys":[{"key":"a","cost":1}]}`, "coverage: files cannot say this"},
		"broken gzip":    {"\x1f\x8b\x08\x00", "gzip"},
		"wrong interval": {"interval,key,cost\n3,a,1\n4,a,1\n", "there is no interval 9: it has 2 intervals, from 3 to 4"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"plan", "-"}
			switch name {
			case "wrong interval":
				args = append(args, "--interval", "9")
			case "empty NDJSON":
				args = append(args, "--format", "ndjson")
			case "empty JSON":
				args = append(args, "--format", "json")
			case "late instance":
				args = append(args, "--hash", "reported")
			}
			r := exec(t, strings.NewReader(c.text), nil, args...)
			if r.code != exitFailed || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 ||
				!strings.Contains(r.stderr, c.want) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %q", r.code, r.stdout, r.stderr, c.want)
			}
		})
	}
	r := exec(t, nil, nil, "plan", "testdata/nowhere.csv")
	if r.code != exitFailed || !strings.Contains(r.stderr,
		"plannerd: cannot read the statistics: open testdata/nowhere.csv") {
		t.Errorf("a missing file: exit %d, %q", r.code, r.stderr)
	}
	dir := t.TempDir()
	r = exec(t, nil, nil, "plan", dir)
	if want := "plannerd: " + dir + ": is a directory\n"; r.code != exitFailed || r.stderr != want {
		t.Errorf("a folder: exit %d, %q, want %q", r.code, r.stderr, want)
	}
	r = exec(t, nil, nil, "plan", intervalFile, "--routing-table", dir)
	if want := "plannerd: --routing-table " + dir + ": is a directory\n"; r.code != exitFailed || r.stderr != want {
		t.Errorf("a folder as the table: exit %d, %q, want %q", r.code, r.stderr, want)
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRoutingTableFiles(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"no header": {"a,1\n", "key,instance"},
		"empty":     {"", "key,instance"},
		"not an id": {"key,instance\na,1\nb,x\n", `table.csv:3: instance of key b: "x" is none of --instances`},
		"negative":  {"key,instance\na,-1\n", `table.csv:2: instance of key a: "-1" is not an id ≥ 0`},
		"empty key": {"key,instance\n\"\",1\n", "table.csv:2: key: must have 1 to 1024 bytes"},
		"twice": {"key,instance\na,1\nb,1\na,2\n",
			"table.csv:4: key a: is in line 2 already; each key has one entry"},
		"three fields": {"key,instance\na,1,2\n", "wrong number of fields"},
	} {
		path := filepath.Join(dir, "table.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := exec(t, nil, nil, "plan", intervalFile, "--routing-table", path)
		if r.code != exitFailed || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit %d, %q; want %q", name, r.code, r.stderr, c.want)
		}
	}
}

// A saved table, read back, leaves nothing to plan on the same statistics.
func TestSaveTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	args := []string{"plan", intervalFile, "--instances", "4", "--output", "csv"}
	first := succeed(t, "", append(args, "--save-table", path)...)
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(first, "\n") < 2 || !strings.HasPrefix(string(saved), "key,instance\nuser:") {
		t.Fatalf("first plan %q, table %q", first, saved)
	}
	again := succeed(t, "", append(args, "--routing-table", path, "--save-table", path)...)
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(saved) || strings.Count(again, "\n") != 1 {
		t.Errorf("again: %q, table %q, %v", again, after, err)
	}
	r := exec(t, nil, nil, append(args, "--save-table", filepath.Join(path, "x"))...)
	if r.code != exitFailed || !strings.Contains(r.stderr, "--save-table") {
		t.Errorf("an impossible file: exit %d, %q", r.code, r.stderr)
	}
}

// A key that no instance can carry is split where that is allowed; the table that says so can
// be read back, and then nothing is to do.
func TestPlanSplits(t *testing.T) {
	const stats = "key,cost,state\na,100,1000\nb,20,200\nc,20,200\nd,20,200\ne,20,200\nf,10,100\ng,10,100\n"
	path := filepath.Join(t.TempDir(), "table.csv")
	args := []string{"plan", "-", "--instances", "4", "--split"}
	text := succeed(t, stats, append(args, "--save-table", path)...)
	for _, says := range []string{"Split keys: 1 merge in each interval", "too costly for one instance", "Balanced."} {
		if !strings.Contains(text, says) {
			t.Errorf("the plan does not say %q:\n%s", says, text)
		}
	}
	saved, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(saved), "key,instance,weight\na,0,") ||
		strings.Count(string(saved), "\na,") != 2 {
		t.Fatalf("the table %q, %v", saved, err)
	}
	var d offline.Result
	again := succeed(t, stats, append(args, "--routing-table", path, "--output", "json")...)
	if err := json.Unmarshal([]byte(again), &d); err != nil {
		t.Fatal(err)
	}
	if d.Migration.Keys != 0 || d.Merges != 1 || len(d.Splits) != 1 || d.Splits[0].Changed ||
		d.Splits[0].Parts[0].Weight+d.Splits[0].Parts[1].Weight != planner.PartUnits {
		t.Errorf("again: %+v %+v", d.Migration, d.Splits)
	}
	line := succeed(t, stats, append(args, "--stream")...)
	compared := succeed(t, stats, "compare", "-", "--instances", "4", "--split", "--strategies", "mixed")
	if !strings.Contains(line, "Split keys: 1 merges in an interval (median), 1 at most") ||
		!strings.Contains(compared, "strategy  merges") {
		t.Errorf("as a stream:\n%s\ncompared:\n%s", line, compared)
	}
	whole := succeed(t, stats, "plan", "-", "--instances", "4", "--routing-table", path)
	if !strings.Contains(whole, "gather") || !strings.Contains(whole, "too costly for any instance") {
		t.Errorf("without --split:\n%s", whole)
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"belong to --split", []string{"--max-parts", "2"}},
		{"belong to --split", []string{"--merge-cost", "2"}},
		{"must be 0, or 2 or more", []string{"--split", "--max-parts", "1"}},
		{"belong to --split", []string{"--split-price", "2"}},
		{"must be from 0", []string{"--split", "--merge-cost=-1"}},
		{"must be from 0", []string{"--split", "--split-price=-1"}},
	} {
		r := exec(t, strings.NewReader(stats), nil, append([]string{"plan", "-", "--instances", "4"}, c.args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%v: exit %d, %q", c.args, r.code, r.stderr)
		}
	}
	for file, says := range map[string]string{
		"key,instance,weight\na,0,1\na,1,2\n":               "its parts must be two at least",
		"key,instance,weight\na,0,65536\n":                  "not from 1 to 65535",
		"key,instance,weight\na,0,30000\na,1,35536\na,2,\n": "is in line",
	} {
		write(t, path, file)
		r := exec(t, strings.NewReader(stats), nil, append(args, "--routing-table", path)...)
		if r.code == exitOK || !strings.Contains(r.stderr, says) {
			t.Errorf("%q: exit %d, %q", file, r.code, r.stderr)
		}
	}
}

func TestPlanCheck(t *testing.T) {
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitOK, []string{intervalFile, "--instances", "4"}},
		{exitMissed, []string{intervalFile, "--instances", "12"}},
		{exitMissed, []string{streamFile, "--instances", "4", "--table-limit", "0"}},
	} {
		args := append([]string{"plan", "--check"}, c.args...)
		r := exec(t, nil, nil, args...)
		if r.code != c.code || r.stderr != "" || r.stdout == "" {
			t.Errorf("%s: exit %d, want %d, %q", strings.Join(args, " "), r.code, c.code, r.stderr)
		}
	}
}

// A stream of one interval is planned as that interval is.
func TestPlanOneInterval(t *testing.T) {
	args := []string{"plan", "-", "--instances", "2"}
	with := succeed(t, "interval,key,cost\n7,a,1\n7,b,2\n7,c,3\n", args...)
	without := succeed(t, "key,cost\na,1\nb,2\nc,3\n", args...)
	if with != without || !strings.Contains(with, "Instances") {
		t.Errorf("with interval:\n%s\nwithout:\n%s", with, without)
	}
}

// With --stream an input of one interval is reported as one of several. Planned one
// by one, with the table saved in between, the intervals get the plans of the stream.
func TestPlanStreamOfOne(t *testing.T) {
	flags := []string{"--instances", "4", "--stream"}
	plan := func(args ...string) string { return succeed(t, "", slices.Concat([]string{"plan"}, args, flags)...) }
	want := plan(streamFile, "--output", "csv")
	table := filepath.Join(t.TempDir(), "table.csv")
	write(t, table, "key,instance\n")
	var got strings.Builder
	for i := range 4 {
		header, line, _ := strings.Cut(plan(streamFile, "--interval", strconv.Itoa(i), "--output", "csv",
			"--routing-table", table, "--save-table", table), "\n")
		if i == 0 {
			got.WriteString(header + "\n")
		}
		got.WriteString(line)
	}
	if got.String() != want {
		t.Errorf("one by one:\n%s\nwant\n%s", got.String(), want)
	}
	var d offline.StreamDocument
	if err := json.Unmarshal([]byte(plan(intervalFile, "--output", "json")), &d); err != nil || len(d.Intervals) != 1 ||
		d.Intervals[0].Theta.After >= d.Intervals[0].Theta.Before || d.Summary.Intervals != 1 {
		t.Errorf("one interval in JSON: %+v, %v", d, err)
	}
}

// Compact records are reported on a line, too: of the loads of keys nothing is known.
func TestPlanStreamOfRecords(t *testing.T) {
	records := succeed(t, "", "compact", intervalFile, "--instances", "4", "--output", "csv", "--quiet")
	args := []string{"plan", "-", "--instances", "4", "--stream"}
	table := succeed(t, records, args...)
	if !strings.Contains(table, "records  load error  after") || !strings.Contains(table, "1 of 1 intervals balanced") {
		t.Errorf("the table:\n%s", table)
	}
	line := strings.Split(succeed(t, records, append(args, "--output", "csv")...), "\n")
	if !strings.HasSuffix(line[0], ",records,load_error_before,load_error_after") || !strings.HasSuffix(line[1], ",,") {
		t.Errorf("the line: %q", line)
	}
}

// Keys that are not text reach JSON in base64, and so do all beside them.
func TestPlanKeyEncoding(t *testing.T) {
	args := []string{"plan", "-", "--instances", "2", "--output", "json", "--theta-max", "0.4"}
	const text = `{"keys":[{"key":"a","cost":1,"instance":0},{"key":"b","cost":1,"instance":0},{"key":"日本","cost":1,"instance":0}]}`
	if out := succeed(t, text, args...); strings.Contains(out, "key_encoding") || !strings.Contains(out, `"from": 0`) {
		t.Errorf("text keys: %s", out)
	}
	const binary = `{"key_encoding":"base64","keys":[{"key":"/w==","cost":1,"instance":0},{"key":"/g==","cost":1,"instance":0}]}`
	if out := succeed(t, binary, args...); !strings.Contains(out, `"key_encoding": "base64"`) ||
		!strings.Contains(out, `"key": "/`) {
		t.Errorf("binary keys: %s", out)
	}
	if got := cli.KeyText([]byte("a\nb\xff")); got != `"a\nb\xff"` {
		t.Errorf("an unprintable key is shown as %s", got)
	}
	if got := cli.KeyText([]byte(strings.Repeat("é", 60))); got != strings.Repeat("é", 47)+"…" {
		t.Errorf("a long key is shown as %s", got)
	}
}

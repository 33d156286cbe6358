package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
)

// records are 23 keys on three instances, most of the cost on the first.
const records = `{"interval":7,"compact":{"degree":4,"cost_scale":0.5,"state_scale":100,"records":[[0,0,8,4,6],[0,0,1,2,3],[0,1,2,2,5],[1,1,4,1,5],[2,2,1,1,4]]}}`

const recordsCSV = "count,instance,hash_instance,cost,state\n6,0,0,8,4\n3,0,0,1,2\n5,0,1,2,2\n5,1,1,4,1\n4,2,2,1,1\n"

func TestCompactTables(t *testing.T) {
	for name, args := range map[string][]string{
		"plan_compact.txt": {"plan", intervalFile, "--instances", "4", "--compact", "4"},
		"plan_compact_scales.txt": {"plan", intervalFile, "--instances", "4", "--compact", "16", "--cost-scale", "2",
			"--state-scale", "0.5", "--routing-table", tableFile},
		"plan_compact_stream.txt": {"plan", streamFile, "--instances", "4", "--compact", "2", "--table-limit", "6"},
		"plan_compact_stream.csv": {"plan", streamFile, "--instances", "4", "--compact", "2", "--output", "csv"},
		"plan_records.txt":        {"plan", "-", "--instances", "3"},
		"plan_records_rescale.txt": {"plan", "-", "--instances", "0:1,1:2,2:1,4:1", "--base-instances", "3", "--all",
			"--top", "1"},
		"plan_records_hot.txt": {"plan", "-", "--instances", "16", "--theta-max", "0"},
		"plan_records.csv":     {"plan", "-", "--instances", "3", "--output", "csv"},
		"compare_compact.txt":  {"compare", intervalFile, "--instances", "4", "--compact", "4"},
		"compare_compact_stream.txt": {"compare", streamFile, "--instances", "4", "--compact", "4", "--strategies",
			"mixed,optimal,readj"},
		"compare_compact_stream.csv": {"compare", streamFile, "--instances", "4", "--compact", "4", "--strategies",
			"mixed,lpt", "--output", "csv"},
		"compare_records.txt":   {"compare", "-", "--instances", "3", "--strategies", "mixed,llfd"},
		"compact_interval.txt":  {"compact", intervalFile, "--instances", "4"},
		"compact_stream.txt":    {"compact", streamFile, "--instances", "4", "--degree", "2"},
		"compact_interval.json": {"compact", intervalFile, "--instances", "4", "--output", "json", "--quiet"},
		"compact_stream.csv": {"compact", streamFile, "--instances", "4", "--output", "csv", "--cost-scale", "10",
			"--state-scale", "100", "--quiet"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, succeed(t, records, args...))
		})
	}
}

// decode reads a JSON document that must not say anything unknown.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func TestPlanCompactForPrograms(t *testing.T) {
	var d offline.Result
	decode(t, succeed(t, "", "plan", intervalFile, "--instances", "4", "--compact", "4", "--state-scale", "50",
		"--output", "json"), &d)
	c := d.Compaction
	if c == nil || *c.Degree != 4 || c.CostScale != 28.1 || c.StateScale != 50 || c.Keys != 30 || c.Records > 30 ||
		c.Records < 4 {
		t.Fatalf("compaction %+v", c)
	}
	var before, after float64
	for _, in := range d.Instances {
		before, after = max(before, in.LoadError.Before), max(after, in.LoadError.After)
	}
	if c.Error.Before != before || c.Error.After != after || before == 0 {
		t.Errorf("greatest errors %+v, of instances %v and %v", c.Error, before, after)
	}
	if d.Migrates != "keys" || d.Certificate.Scope != "keys" || !*d.Balanced || d.Keys != 30 ||
		len(d.Plan.RoutingTable.Set) != len(d.Plan.Migrations) {
		t.Errorf("plan %+v", d)
	}
	var off offline.Result
	decode(t, succeed(t, "", "plan", intervalFile, "--instances", "4", "--compact", "0", "--output", "json"), &off)
	if off.Compaction != nil || off.Instances[0].LoadError != nil || off.Theta.Before != d.Theta.Before {
		t.Errorf("degree 0 plans on keys: %+v", off)
	}
}

// On classes of keys that are truly equal a plan is as good as one on keys.
func TestPlanDegreeOne(t *testing.T) {
	stream := succeed(t, "", "generate", "--keys", "3000", "--instances", "6", "--intervals", "4", "--window", "1",
		"--tuples", "30000")
	for _, strategy := range reading.StrategyNames() {
		args := []string{"plan", "-", "--instances", "6", "--strategy", strategy, "--output", "json"}
		var keys, classes offline.StreamDocument
		decode(t, succeed(t, stream, args...), &keys)
		decode(t, succeed(t, stream, append(args, "--compact", "1", "--cost-scale", "1", "--state-scale", "1")...), &classes)
		for i, f := range classes.Intervals {
			if f.Compaction.Error.Before > 1e-12 || f.Compaction.Error.After > 1e-12 || f.Compaction.Records > 1000 {
				t.Errorf("%s, interval %d: %+v", strategy, i, f.Compaction)
			}
		}
		k, c := keys.Summary, classes.Summary
		if k.Balanced != 4 || c.Balanced != 4 || c.ThetaBefore.Max == 0 || k.Intervals != c.Intervals {
			t.Errorf("%s: %d and %d of 4 balanced", strategy, k.Balanced, c.Balanced)
		}
		// The first interval is one and the same problem.
		a, b := keys.Intervals[0], classes.Intervals[0]
		if a.Theta.Before != b.Theta.Before || math.Abs(a.Migration.State-b.Migration.State) > 0.02*a.Migration.State {
			t.Errorf("%s: %+v, of classes %+v", strategy, a, b)
		}
	}
}

// What compare says of a strategy is what plan says of it.
func TestCompareCompact(t *testing.T) {
	args := []string{streamFile, "--instances", "4", "--compact", "4", "--output", "json"}
	var d offline.Comparison
	decode(t, succeed(t, "", append([]string{"compare", "--strategies", "lpt,mixed"}, args...)...), &d)
	var alone offline.StreamDocument
	decode(t, succeed(t, "", append([]string{"plan", "--strategy", "mixed"}, args...)...), &alone)
	if alone.Summary.Compaction == nil || *alone.Summary.Compaction.Degree != 4 {
		t.Fatalf("summary %+v", alone.Summary)
	}
	if diff := cmp.Diff(alone.Summary, d.Results[1].Report); diff != "" {
		t.Errorf("alone (-), compared (+):\n%s", diff)
	}
}

// Each look at this clock takes a minute: the first plan uses all time up.
func TestCompareCompactTimeout(t *testing.T) {
	now := time.Time{}
	var stdout, stderr bytes.Buffer
	env := &cli.Environment{
		Ctx: t.Context(), Stdout: &stdout, Stderr: &stderr,
		Now: func() time.Time { now = now.Add(time.Minute); return now },
	}
	args := []string{"compare", streamFile, "--compact", "2", "--strategies", "llfd,lpt", "--timeout", "90s"}
	if code := execute(env, args); code != exitOK || strings.Count(stdout.String(), "1m30s were up after ") != 2 {
		t.Errorf("exit %d, %s:\n%s", code, stderr.String(), stdout.String())
	}
}

func TestPlanRecordsForPrograms(t *testing.T) {
	args := []string{"plan", "-", "--instances", "3"}
	var d offline.Result
	decode(t, succeed(t, records, append(args, "--output", "json")...), &d)
	c := d.Compaction
	if d.Migrates != "classes" || d.Certificate.Scope != "classes" || d.Interval != 7 || d.Keys != 23 ||
		*c.Degree != 4 || c.CostScale != 0.5 || c.StateScale != 100 || c.Records != 5 || c.Keys != 23 || c.Error != nil ||
		len(d.InputHash) != 32 {
		t.Errorf("head %+v, compaction %+v", d, c)
	}
	var keys, state float64
	for _, m := range d.Plan.Migrations {
		keys += m.Class[5]
		state += m.Class[4] * m.Class[5] * c.StateScale
	}
	if keys == 0 || int64(keys) != d.Migration.Keys || state != d.Migration.State || !*d.Balanced {
		t.Errorf("moved %v keys of state %v, %+v", keys, state, d.Migration)
	}
	lines, err := csv.NewReader(strings.NewReader(succeed(t, records, append(args, "--output", "csv")...))).ReadAll()
	if err != nil || strings.Join(lines[0], ",") != "planned,instance,hash_instance,cost,state,count" || len(lines) != 1+
		len(d.Plan.Migrations) {
		t.Fatalf("csv %q, %v", lines, err)
	}
	for i, m := range d.Plan.Migrations {
		for j, x := range m.Class {
			if y, err := strconv.ParseFloat(lines[1+i][j], 64); err != nil || y != x {
				t.Errorf("csv %q, json %v", lines[1+i], m)
			}
		}
	}
	var hot offline.Result
	decode(t, succeed(t, records, "plan", "-", "--instances", "16", "--output", "json"), &hot)
	if want := (wire.HotKeys{{Class: &[]float64{0, 0, 8, 4, 6}, Cost: 4, Pieces: new(int32(2)),
		ForcedTheta: hot.HotKeys[0].ForcedTheta}}); !cmp.Equal(hot.HotKeys, want) {
		t.Errorf("hot %+v, want %+v", hot.HotKeys, want)
	}
	// The same records in CSV, told the scales, and split and in another order.
	scales := []string{"--output", "csv", "--cost-scale", "0.5", "--state-scale", "100"}
	want := succeed(t, records, append(args, "--output", "csv")...)
	split := "interval,instance,hash_instance,cost,state,count\n7,2,2,1,1,4\n7,0,0,8,4,1\n7,0,0,1,2,3\n" +
		"7,0,0,8,4,5\n7,0,1,2,2,5\n7,1,1,4,1,5\n"
	for _, text := range []string{recordsCSV, split} {
		if got := succeed(t, text, append(args, scales...)...); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestRecordsRefused(t *testing.T) {
	several := "interval,instance,hash_instance,cost,state,count\n1,0,0,1,1,9\n2,1,1,1,1,9\n"
	table := filepath.Join(t.TempDir(), "t.csv")
	for _, c := range []struct {
		command, text string
		args          []string
		code          int
		want          string
	}{
		{"plan", records, []string{"--routing-table", tableFile}, exitUsage, "--routing-table: needs keys"},
		{"plan", records, []string{"--save-table", table}, exitUsage, "--save-table: needs keys"},
		{"plan", records, []string{"--compact", "8"}, exitUsage, "--compact: the input holds compact records already"},
		{"plan", records, []string{"--cost-scale", "2"}, exitUsage, "--cost-scale: is 2, but the input says 0.5"},
		{"compare", records, []string{"--routing-table", tableFile}, exitUsage, "--routing-table: needs keys"},
		{"plan", several, nil, exitFailed,
			"compact records of several intervals: without keys no routing table carries over"},
		{"compare", several, nil, exitFailed, "compact records of several intervals"},
		{"compact", "interval,key,cost\n1,a,1\n2,a,2\n", []string{"--output", "csv", "--quiet"}, exitUsage,
			"several intervals in CSV need the same scales"},
		{"compact", records, nil, exitFailed, "it holds compact records already"},
		{"compact", several, nil, exitFailed, "it holds compact records already"},
		{"plan", strings.Replace(records, "[2,2", "[9,2", 1), nil, exitFailed,
			"standard input: row 5, instance: is not a known instance"},
		{"plan", strings.Replace(recordsCSV, "4,2,2", "4,2,9", 1), nil, exitFailed,
			"standard input:6: hash_instance: is not an instance of the configuration; --instances has 0 to 2"},
		{"plan", strings.Replace(records, ",6]", ",0]", 1), nil, exitFailed,
			"standard input:1: count: must be an integer from 1 to 9007199254740991, not 0"},
		{"plan", strings.Replace(recordsCSV, "3,0,0,1", "3,0,0,-1", 1), nil, exitFailed,
			"standard input:3: cost: must be ≥ 0 and finite, not -1"},
		{"plan", strings.Replace(records, `"degree":4`, `"degree":5`, 1), nil, exitFailed,
			"compact, degree: must be a power of two"},
		{"plan", strings.Replace(records, "0.5", "0", 1), nil, exitFailed, "compact, cost_scale: must be from 1e-290"},
		{"plan", strings.Replace(records, `"degree"`, `"grade"`, 1), nil, exitFailed, `compact: unknown field "grade"`},
		{"plan", `{"compact":{"degree":8},"keys":[{"key":"a","cost":1}]}`, nil, exitFailed, "--compact does"},
		{"plan", strings.Replace(records, `{"interval"`, `{"coverage":"partial","residual":[],"interval"`, 1), nil,
			exitFailed, "files cannot say this"},
	} {
		r := exec(t, strings.NewReader(c.text), nil, append([]string{c.command, "-", "--instances", "3"}, c.args...)...)
		if r.code != c.code || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s %v: exit %d, %q %q, want %d, %q", c.command, c.args, r.code, r.stdout, r.stderr, c.code, c.want)
		}
	}
	if _, err := os.Stat(table); !os.IsNotExist(err) {
		t.Errorf("a table was saved: %v", err)
	}
	if out := succeed(t, several, "plan", "-", "--instances", "3", "--interval", "2", "--output", "csv"); strings.Count(
		out, "\n") < 2 {
		t.Errorf("one interval of several: %q", out)
	}
}

// The records go to standard output, what people want to know to standard error.
func TestCompactOutput(t *testing.T) {
	args := []string{"compact", streamFile, "--instances", "4", "--degree", "2", "--output", "json"}
	loud := exec(t, nil, nil, args...)
	quiet := succeed(t, "", append(args, "--quiet")...)
	table := succeed(t, "", "compact", streamFile, "--instances", "4", "--degree", "2")
	if loud.code != exitOK || loud.stdout != quiet || loud.stderr != table {
		t.Errorf("exit %d, %q, %q; quiet %q, table %q", loud.code, loud.stdout, loud.stderr, quiet, table)
	}
	bodies := strings.SplitAfter(strings.TrimSuffix(quiet, "\n"), "\n")
	if len(bodies) != 4 {
		t.Fatalf("%d bodies, want 4", len(bodies))
	}
	// Each interval stands for itself: alone it gives the same body.
	alone := succeed(t, "", append(args, "--quiet", "--interval", "2")...)
	if alone != bodies[2] || !strings.HasPrefix(alone, `{"interval":2,"compact":{"degree":2,"cost_scale":`) {
		t.Errorf("alone %q, among others %q", alone, bodies[2])
	}
	if out := succeed(t, alone, "plan", "-", "--instances", "4", "--check"); !strings.Contains(out,
		"Compact form of degree 2") {
		t.Errorf("planned: %s", out)
	}
	for _, args := range [][]string{{intervalFile}, {streamFile, "--interval", "2"}} {
		lines := strings.Split(succeed(t, "", append([]string{"compact", "--instances", "4", "--output", "csv", "--quiet"},
			args...)...), "\n")
		if lines[0] != "instance,hash_instance,cost,state,count" {
			t.Errorf("csv %q", lines)
		}
	}
}

// Of the bodies of several intervals the other commands take one, too.
func TestSeveralBodies(t *testing.T) {
	on := []string{"-", "--instances", "4"}
	bodies := succeed(t, "", "compact", streamFile, "--instances", "4", "--output", "json", "--quiet")
	alone := succeed(t, "", "compact", streamFile, "--instances", "4", "--output", "json", "--quiet", "--interval", "2")
	for _, command := range []string{"plan", "compare"} {
		args := append([]string{command, "--output", "csv"}, on...)
		want := succeed(t, alone, args...)
		if got := succeed(t, bodies, append(args, "--interval", "2")...); command == "plan" && got != want ||
			strings.Count(got, "\n") != strings.Count(want, "\n") {
			t.Errorf("%s: %s\nwant %s", command, got, want)
		}
		for text, refusal := range map[string]string{
			bodies: "standard input: compact records of several intervals",
			strings.Replace(bodies, `"records":[[`, `"records":[[-`,
				3): "standard input:1: instance: must be an integer from 0 to 2147483647, not -0",
			alone + `{"interval":3,"compact":{"records":[[0,0,1,1,1],[0,0,1,1,0]]}}` +
				"\n": "standard input:2: count: must be an integer from 1 to 9007199254740991, not 0",
			alone + `{"interval":2,"compact":{"records":[[0,0,1,1,1],[0,0,1,1,1]]}}` +
				"\n": "standard input, document 2: interval: must be greater",
		} {
			r := exec(t, strings.NewReader(text), nil, args...)
			if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, refusal) {
				t.Errorf("%s: exit %d, %q %q, want %q", command, r.code, r.stdout, r.stderr, refusal)
			}
		}
	}
	keys := `{"interval":1,"keys":[{"key":"a","cost":1,"hash_instance":0}]}` + "\n" +
		`{"interval":2,"keys":[{"key":"b","cost":1}]}`
	r := exec(t, strings.NewReader(keys), nil, append([]string{"plan", "--hash", "reported"}, on...)...)
	if r.code != exitFailed || !strings.Contains(r.stderr, "standard input, document 2: row 1, hash_instance of key b: ") {
		t.Errorf("keys: exit %d, %q", r.code, r.stderr)
	}
}

// The rows that records are compared with are the input's.
func TestWriteRows(t *testing.T) {
	for name, text := range map[string]string{
		"text":   `{"keys":[{"key":"a\"\\\u0001é","cost":1e-9,"state":0},{"key":"b","cost":1e22,"state":123456789012}]}`,
		"base64": `{"key_encoding":"base64","keys":[{"key":"/w==","cost":0.1,"instance":3,"hash_instance":4}]}`,
	} {
		d, err := input.Decode(strings.NewReader(text), input.JSON, input.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := writeRows(&out, d); err != nil {
			t.Fatal(err)
		}
		again, err := input.Decode(&out, input.JSON, input.Options{Base64Keys: d.Base64Keys})
		if err != nil || again.Stats.Fingerprint() != d.Stats.Fingerprint() {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
}

// An engine's whole way: compact, plan on the records, resolve, and count again.
func TestCompactPlanResolve(t *testing.T) {
	const degree, instances = "4", 5
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stats := file("stats.csv", succeed(t, "", "generate", "--keys", "4000", "--instances", "5", "--intervals", "1"))
	const on = "--instances=5"
	body := succeed(t, "", "compact", stats, on, "--degree", degree, "--output", "json", "--quiet")
	var plan offline.Result
	answer := succeed(t, body, "plan", "-", on, "--output", "json", "--check")
	decode(t, answer, &plan)
	resolved := succeed(t, "", "resolve", stats, on, "--degree", degree, "--moves", file("plan.json", answer))

	d, err := input.DecodeResolution(strings.NewReader(resolved), input.CSV, input.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type flow struct{ from, hash, to int32 }
	want, got := map[flow]int64{}, map[flow]int64{}
	for _, move := range plan.Plan.Migrations {
		m := move.Class
		want[flow{int32(m[1]), int32(m[2]), int32(m[0])}] += int64(m[5])
	}
	place, cost, loads, total := keysOf(t, stats, instances)
	for i := range d.Len() {
		key, from, to := string(d.Keys.At(i)), d.From[i], d.To[i]
		at, ok := place[key]
		if !ok || at != from {
			t.Fatalf("%s is on %d, known %v, resolved from %d", key, at, ok, from)
		}
		got[flow{from, at, to}]++
		loads[from] -= cost[key]
		loads[to] += cost[key]
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(flow{})); diff != "" || d.Len() == 0 {
		t.Errorf("keys per flow (-plan, +resolution):\n%s", diff)
	}
	for i, load := range loads {
		if load > (1+planner.DefaultThetaMax)*total/instances {
			t.Errorf("instance %d: load %v of %v on %d", i, load, total, instances)
		}
	}
}

// keysOf reads a generated file: where the ring puts each key, its cost, and what
// that comes to.
func keysOf(t *testing.T, path string, instances int32) (place map[string]int32, cost map[string]float64,
	loads []float64, total float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var on []partitioner.Instance
	for i := range instances {
		on = append(on, partitioner.Instance{ID: i})
	}
	hash, err := partitioner.New(partitioner.Config{Function: "ring"}, on)
	if err != nil {
		t.Fatal(err)
	}
	place, cost, loads = map[string]int32{}, map[string]float64{}, make([]float64, instances)
	for _, line := range lines[1:] {
		key := line[1]
		if place[key], err = hash.Instance([]byte(key), planner.KeyHash([]byte(key))); err != nil {
			t.Fatal(err)
		}
		if cost[key], err = strconv.ParseFloat(line[2], 64); err != nil {
			t.Fatal(err)
		}
		loads[place[key]] += cost[key]
		total += cost[key]
	}
	return place, cost, loads, total
}

// TestNamedKeysBesideRecords: compact leaves the keys out of records that a plan may split, the
// plan of classes splits them as that of keys does, and resolve names the keys of classes alone.
func TestNamedKeysBesideRecords(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := "key,cost,state\nairport,1000,900\nstation,30,5\n"
	for i := range 300 {
		rows += fmt.Sprintf("k%03d,%d,%d\n", i, 1+i%7, 1+i%3)
	}
	stats := file("stats.csv", rows)
	flags := []string{"--instances", "4", "--split"}
	body := succeed(t, "", append([]string{"compact", stats, "--degree", "1", "--output", "json", "--quiet"}, flags...)...)
	if !strings.HasPrefix(body, `{"keys":[{"key":"airport","cost":1000,"state":900,"instance":`) ||
		strings.Count(body, `"key":`) > 4 || !strings.Contains(body, `],"compact":{"degree":1,`) {
		t.Fatalf("%s", body)
	}
	var whole offline.Result
	decode(t, succeed(t, "", append([]string{"plan", stats, "--output", "json"}, flags...)...), &whole)
	var plan offline.Result
	text := succeed(t, body, append([]string{"plan", "-", "--output", "json"}, flags...)...)
	decode(t, text, &plan)
	if plan.Merges != whole.Merges || plan.Merges < 1 || plan.Splits[0].Key != "airport" || !*plan.Balanced ||
		plan.Keys != 302 || plan.Compaction.Keys != 302 || plan.Migration.Objective > whole.Migration.Objective*1.05+1 {
		t.Errorf("of classes %+v, of keys %+v", plan, whole)
	}
	classes := int64(0)
	for _, m := range plan.Plan.Migrations {
		classes += int64(m.Class[5])
	}
	csvText := succeed(t, body, append([]string{"plan", "-", "--output", "csv"}, flags...)...)
	for _, moves := range []string{text, csvText} {
		args := append([]string{"resolve", stats, "--degree", "1", "--moves", file("moves", moves)}, flags...)
		keys := succeed(t, "", args...)
		if int64(strings.Count(keys, "\n"))-1 != classes || strings.Contains(keys, "airport") {
			t.Errorf("%d keys of classes: %s", classes, keys)
		}
	}
	for _, says := range []string{"Split keys: ", "airport", "from d to d'"} {
		if people := succeed(t, body, append([]string{"plan", "-"}, flags...)...); !strings.Contains(people, says) {
			t.Errorf("the plan does not say %q:\n%s", says, people)
		}
	}
	table := file("table.csv", "key,instance,weight\nairport,0,30000\nairport,1,35536\n")
	kept := succeed(t, body, append([]string{"plan", "-", "--routing-table", table}, flags...)...)
	if !strings.Contains(kept, "Split keys: ") {
		t.Errorf("%s", kept)
	}
	other := file("other.csv", "key,instance,weight\nnobody,0,30000\nnobody,1,35536\n")
	for says, args := range map[string][]string{
		"does not name":     {"plan", "-", "--routing-table", other},
		"no place for keys": {"compact", stats, "--output", "csv"},
	} {
		if r := exec(t, strings.NewReader(body), nil, append(args, flags...)...); r.code == exitOK ||
			!strings.Contains(r.stderr, says) {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}

	// Keys that the command compacts itself: those that may have to be split stay as they are.
	var compacted offline.Result
	args := append([]string{"plan", stats, "--compact", "4", "--output", "json"}, flags...)
	decode(t, succeed(t, "", args...), &compacted)
	if compacted.Merges != whole.Merges || !*compacted.Balanced || compacted.Splits[0].Key != "airport" {
		t.Errorf("compacted: %+v", compacted)
	}
}

package main

import (
	"encoding/json"

	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/cli/offline"
	"plannerd/sdk/go/wire"
)

// TestBatches: the batches of a plan change the table into the planned one, also where the
// number of instances changes; each migration stands in one of them, and times are
// amounts by the rate.
func TestBatches(t *testing.T) {
	stats := succeed(t, "", "generate", "--keys", "400", "--intervals", "1")
	before := filepath.Join(t.TempDir(), "table.csv")
	succeed(t, stats, "plan", "-", "--instances", "6", "--save-table", before)
	for name, args := range map[string]string{
		"first": "--instances 5", "rescaled": "--instances 5 --base-instances 6 --routing-table " + before,
	} {
		t.Run(name, func(t *testing.T) {
			plan := func(form string) string {
				t.Helper()
				return succeed(t, stats, append([]string{"plan", "-", "--batch-keys", "3", "--batch-state", "900",
					"--transfer-rate", "100", "--output", form}, strings.Fields(args)...)...)
			}
			var d offline.Result
			if err := json.Unmarshal([]byte(plan("json")), &d); err != nil {
				t.Fatal(err)
			}
			if d.Schedule == nil || len(d.Schedule.Batches) < 2 {
				t.Fatalf("%+v", d.Schedule)
			}
			table := map[string]int32{}
			if name == "rescaled" {
				table = entriesIn(t, before)
			}
			want := maps.Clone(table)
			apply(t, want, d.Plan.RoutingTable.Set, d.Plan.RoutingTable.Unset)
			checkBatches(t, d.Schedule, table)
			if !maps.Equal(table, want) {
				t.Errorf("the batches come to %v, the plan to %v", table, want)
			}
			lines := strings.Split(strings.TrimSpace(plan("csv")), "\n")
			if !strings.HasSuffix(lines[0], ",batch") || len(lines) != len(d.Plan.Migrations)+1 {
				t.Errorf("%d lines under %s", len(lines), lines[0])
			}
			for i, m := range d.Plan.Migrations {
				batch, err := strconv.Atoi(lines[i+1][strings.LastIndexByte(lines[i+1], ',')+1:])
				if err != nil || batch < 1 || batch > len(d.Schedule.Batches) || !strings.HasPrefix(lines[i+1], m.Key+",") {
					t.Errorf("%+v, as CSV %s", m, lines[i+1])
				}
			}
		})
	}
	whole := succeed(t, stats, "plan", "-", "--instances", "5", "--output", "json")
	if strings.Contains(whole, `"schedule"`) || strings.Contains(whole, `"batch"`) {
		t.Error("there are batches without bounds")
	}
}

// entriesIn reads a routing table.
func entriesIn(t *testing.T, path string) map[string]int32 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int32{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		key, instance, _ := strings.Cut(line, ",")
		n, err := strconv.Atoi(instance)
		if err != nil {
			t.Fatal(err)
		}
		out[key] = int32(n)
	}
	return out
}

func apply(t *testing.T, table map[string]int32, set []wire.RoutingTableEntry, unset []string) {
	t.Helper()
	for _, e := range set {
		table[e.Key] = e.Instance
	}
	for _, key := range unset {
		if _, has := table[key]; !has {
			t.Errorf("the entry of %s is dropped, which has none", key)
		}
		delete(table, key)
	}
}

// checkBatches applies batches to a table and recounts what they say.
func checkBatches(t *testing.T, x *offline.Schedule, table map[string]int32) {
	t.Helper()
	most, sum := int64(0), 0.0
	for n, b := range x.Batches {
		apply(t, table, b.Set, b.Unset)
		if size := int64(len(table)); size != b.TableSize {
			t.Errorf("batch %d leaves %d entries, and says %d", n+1, size, b.TableSize)
		}
		most, sum = max(most, b.TableSize), sum+b.Busiest
		if *b.Seconds != b.Busiest/100 {
			t.Errorf("%v for %v", *b.Seconds, b.Busiest)
		}
	}
	if most != x.TablePeak || math.Abs(sum-x.Busiest) > 1e-9*sum || x.LowerBound > x.Busiest ||
		*x.Seconds != x.Busiest/100 || *x.LeastSeconds != x.LowerBound/100 {
		t.Errorf("%+v, with a peak of %d and %v in all", x, most, sum)
	}
}

func TestBatchFlags(t *testing.T) {
	stats := succeed(t, "", "generate", "--keys", "400", "--intervals", "2")
	for says, args := range map[string]string{
		"--batch-pause: needs":     "--batch-pause 1s",
		"belongs to --batch-keys":  "--transfer-rate 5",
		"--batch-state: must be":   "--batch-state=-1",
		"--transfer-rate: must be": "--batch-keys 1 --transfer-rate=-1",
		"is too long for":          "--batch-pause 10h --transfer-rate 1e290",
		"batches are of one plan":  "--batch-keys 1",
		"--batch-keys: must be":    "--batch-keys=-1",
	} {
		r := exec(t, strings.NewReader(stats), nil,
			append([]string{"plan", "-", "--instances", "4"}, strings.Fields(args)...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, says) {
			t.Errorf("%s: exit %d, %q, want %q", args, r.code, r.stderr, says)
		}
	}
	compacted := exec(t, strings.NewReader(stats), nil, "compact", "-", "--instances", "4", "--interval", "0", "--output",
		"json")
	r := exec(t, strings.NewReader(compacted.stdout), nil, "plan", "-", "--instances", "4", "--batch-keys", "1")
	if r.code != exitUsage || !strings.Contains(r.stderr, "need keys, not classes") {
		t.Errorf("records: exit %d, %q", r.code, r.stderr)
	}
	// Keys that move one by one would be more batches than there may be.
	many := succeed(t, "", "generate", "--keys", "6000", "--intervals", "1")
	text := succeed(t, many, "plan", "-", "--instances", "5", "--base-instances", "6", "--batch-keys", "1")
	if !strings.Contains(text, "There are 1,000 batches at most") {
		t.Errorf("%s", text)
	}
}

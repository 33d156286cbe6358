package cases

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

func TestNames(t *testing.T) {
	settings := append(DefaultGrid().Settings(),
		StreamSettings([]string{"git_history/intervals", "a/instances/x_intervals"}, []int{5, 40}, []float64{0, 0.08},
			[]int64{0, 300})...)
	seen := make(map[string]bool)
	for _, s := range settings {
		c := Case{Setting: s, Interval: 12}
		if seen[c.Name()] {
			t.Errorf("%s stands for two settings", c.Name())
		}
		seen[c.Name()] = true
	}
	if len(settings) != 288+16 {
		t.Errorf("%d settings", len(settings))
	}
}

var small = Setting{Keys: 400, Instances: 3, Window: 2, Fluctuation: 0.5, Seed: 9, ThetaMax: 0.05, TableLimit: 50}

// TestDrive checks that the committed plans are where the next case starts from,
// and that a case can be made again from its name.
func TestDrive(t *testing.T) {
	var names []string
	var before *planner.Plan
	for c, err := range Drive(small, "", "mixed", 4) {
		if err != nil {
			t.Fatal(err)
		}
		if err := plannertest.CheckSnapshot(c.Snapshot); err != nil {
			t.Fatal(err)
		}
		if before != nil {
			table, err := before.Table()
			if err != nil {
				t.Fatal(err)
			}
			if !sameTable(table, c.Snapshot.Table) {
				t.Errorf("%s does not start from the table that the plan before it left", c.Name())
			}
			now := slices.Clone(before.Snapshot.Current)
			for _, m := range before.Moves {
				now[m.Item] = m.To
			}
			if !slices.Equal(now, c.Snapshot.Current) {
				t.Errorf("%s does not start from where the plan before it left the keys", c.Name())
			}
		}
		if before, err = planner.Run("mixed", c.Snapshot, c.Options); err != nil {
			t.Fatal(err)
		}
		names = append(names, c.Name())
	}
	if len(names) != 4 || !strings.HasSuffix(names[0], "#2") || !strings.HasSuffix(names[3], "#5") {
		t.Errorf("cases %q, want the 4 intervals after the warm-up of 2", names)
	}
	if before.TableBefore == 0 {
		t.Error("no routing table was carried on")
	}
}

func sameTable(a, b *planner.RoutingTable) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if x, y := a.At(i), b.At(i); !bytes.Equal(x.Key, y.Key) || x.Instance != y.Instance {
			return false
		}
	}
	return true
}

func TestStreams(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "shop", "web_intervals.csv.gz"),
		"interval,key,cost,state_bytes\n3,a,9,100\n3,b,8,200\n3,c,1,300\n5,a,2,400\n5,d,1,500\n")
	write(t, filepath.Join(dir, "shop", "keys.txt.gz"), "a\n")
	names, err := Streams(dir)
	if err != nil || names[0] != "own/history" || names[len(names)-1] != "shop/web_intervals" {
		t.Fatalf("streams %q, %v", names, err)
	}
	setting := StreamSettings(names[len(names)-1:], []int{2}, []float64{0.1}, []int64{5})[0]
	var intervals []int64
	var state []float64
	for c, err := range Drive(setting, dir, "mixed", 10) {
		if err != nil {
			t.Fatal(err)
		}
		intervals = append(intervals, c.Interval)
		state = append(state, c.Snapshot.State...)
	}
	if !slices.Equal(intervals, []int64{3, 5}) || !slices.Equal(state, []float64{100, 200, 300, 400, 500}) {
		t.Errorf("intervals %v with states %v", intervals, state)
	}
	setting.Stream = "shop/none"
	for _, err := range Drive(setting, dir, "mixed", 1) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a stream that is not there: %v", err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Tiny cases of a family are as small as they have to be.
func TestDrawTiny(t *testing.T) {
	for _, family := range Families {
		for seed := range uint64(20) {
			c, err := DrawTiny(family, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := plannertest.CheckSnapshot(c.Snapshot); err != nil {
				t.Fatal(err)
			}
			keys, instances := c.Snapshot.Len(), len(c.Snapshot.Instances)
			if keys < 2 || keys > 7 || instances < 2 || instances > 4 || c.Keys != keys || c.Instances != instances {
				t.Errorf("%s has %d keys on %d instances", c.Name(), keys, instances)
			}
		}
	}
}

// A seed stands for one case, and its limits can mostly be met.
func TestDraw(t *testing.T) {
	met := 0
	for _, family := range Families {
		for seed := range uint64(4) {
			c, err := Draw(family, seed, 400)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Draw(family, seed, 400)
			if err != nil {
				t.Fatal(err)
			}
			if err := plannertest.CheckSnapshot(c.Snapshot); err != nil {
				t.Fatal(err)
			}
			if c.Name() != again.Name() || !slices.Equal(c.Snapshot.Cost, again.Snapshot.Cost) ||
				!slices.Equal(c.Snapshot.Current, again.Snapshot.Current) {
				t.Errorf("%s is not the same twice", c.Name())
			}
			plan, err := planner.Run(planner.Optimal, c.Snapshot, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			if plan.TableWithinLimit && plan.Certificate != nil && !plan.Certificate.Infeasible {
				met++
			}
		}
	}
	if met < 3*len(Families) {
		t.Errorf("the limits of %d of %d cases are met", met, 4*len(Families))
	}
}

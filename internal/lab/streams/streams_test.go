package streams

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOwn: each stream is valid, the same when it is read again, and in its sequence
// every key has as many messages as its cost says.
func TestOwn(t *testing.T) {
	sequences := OwnSequences()
	for i, s := range Own() {
		t.Run(s.Name, func(t *testing.T) {
			all, err := s.First(math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			again, err := s.First(3)
			if err != nil || len(again) != 3 || len(all) < 20 {
				t.Fatalf("%d of %d intervals, %v", len(again), len(all), err)
			}
			for i, in := range all {
				if in.Number != int64(i) || in.Keys.Len() != in.Len() || in.State != nil && len(in.State) != in.Len() ||
					in.Len() < 20 {
					t.Errorf("interval %d of number %d has %d keys", i, in.Number, in.Len())
				}
				if i < len(again) && (again[i].Fingerprint() != in.Fingerprint()) {
					t.Errorf("interval %d is another one when it is read again", i)
				}
			}
			if s.Name != commits.Name {
				all = all[:sequenceIntervals]
			}
			sum := new(gathered)
			for _, in := range all {
				sum.add(in.Statistics)
			}
			if sequences[i].Name != s.Name {
				t.Fatalf("the sequence is %s", sequences[i].Name)
			}
			keys, messages, err := sequences[i].Read()
			idle := 0
			for _, cost := range sum.Cost {
				if cost == 0 {
					idle++
				}
			}
			if err != nil || keys.Len() != sum.Len()-idle {
				t.Fatalf("the sequence has %d keys, the stream %d: %v", keys.Len(), sum.Len(), err)
			}
			if total := sumOf(sum.Cost); s.Name != commits.Name && float64(len(messages)) != total {
				t.Errorf("%d messages, but a cost of %v", len(messages), total)
			}
			if slices.Max(messages) != int32(keys.Len()-1) {
				t.Errorf("the keys are numbered up to %d, not %d", slices.Max(messages), keys.Len()-1)
			}
		})
	}
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// TestHistory: however it is cut, nothing is lost of it.
func TestHistory(t *testing.T) {
	want, err := commits.Sum()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 7, 12, 1000} {
		got, err := History(n).Sum()
		if err != nil || got.Fingerprint() != want.Fingerprint() {
			t.Errorf("%d commits an interval: %d keys, want %d: %v", n, got.Len(), want.Len(), err)
		}
	}
}

// TestShapes: the load does what the shape is named for.
func TestShapes(t *testing.T) {
	for shape, is := range map[Shape]func(share func(interval int, key string) float64) bool{
		Season: func(share func(int, string) float64) bool {
			return share(6, "asia/") > 1.5*share(6, "america/") && share(14, "america/") > 1.5*share(14, "asia/")
		},
		Phases: func(share func(int, string) float64) bool {
			return share(0, "function-0000") > 0.05 && share(8, "function-0000") < 0.01
		},
		Hot: func(share func(int, string) float64) bool { return share(0, "channel-00") > 0.25 },
	} {
		intervals, err := Generated(shape).First(math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if !is(func(interval int, prefix string) float64 {
			in, sum := intervals[interval], 0.0
			for i, cost := range in.Cost {
				if strings.HasPrefix(string(in.Keys.At(i)), prefix) {
					sum += cost
				}
			}
			return sum / sumOf(in.Cost)
		}) {
			t.Errorf("%s is not so", shape)
		}
	}
	bursts, err := Generated(Bursts).First(math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	most := map[string][2]float64{} // of each key, its least and its greatest cost
	for _, in := range bursts {
		for i, cost := range in.Cost {
			m, seen := most[string(in.Keys.At(i))]
			if !seen {
				m[0] = cost
			}
			most[string(in.Keys.At(i))] = [2]float64{min(m[0], cost), max(m[1], cost)}
		}
	}
	n := 0
	for _, m := range most {
		if m[1] > 20*m[0] {
			n++
		}
	}
	if n < 5 {
		t.Errorf("%d keys burst", n)
	}
}

// TestRecord: the command that recorded the history does so of any repository.
func TestRecord(t *testing.T) {
	script, err := filepath.Abs("record-history")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	run := func(command ...string) []byte {
		t.Helper()
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Dir = folder
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%q: %v", command, err)
		}
		return out
	}
	commit := func(files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run("git", "add", ".")
		run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=m")
	}
	run("git", "init", "--quiet")
	commit(map[string]string{"a": "1\n2\n", "ü": "1\n"})
	commit(map[string]string{"a": "1\n3\n4\n"})
	if err := os.Remove(filepath.Join(folder, "a")); err != nil {
		t.Fatal(err)
	}
	commit(map[string]string{"c": "0123456789"})
	if err := os.Mkdir(filepath.Join(folder, "recorded"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "recorded", "intervals.csv.gz"), run(script), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Recorded(folder)
	if err != nil || len(all) != 1 || all[0].Name != "recorded/intervals" {
		t.Fatalf("%+v, %v", all, err)
	}
	intervals, err := all[0].First(math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		key         string
		cost, state float64
	}
	var got [][]row
	for _, in := range intervals {
		var rows []row
		for i := range in.Len() {
			rows = append(rows, row{string(in.Keys.At(i)), in.Cost[i], in.State[i]})
		}
		got = append(got, rows)
	}
	want := [][]row{{{"a", 2, 4}, {"ü", 1, 2}}, {{"a", 3, 6}}, {{"c", 1, 10}}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNothingBeside: where there are no recordings the own streams are all.
func TestNothingBeside(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	streams, err := Recorded(folder)
	sequences, errs := RecordedSequences(folder)
	if err != nil || errs != nil || len(streams)+len(sequences) > 0 {
		t.Errorf("%v %v, %v %v", streams, sequences, err, errs)
	}
	all, err := All()
	if err != nil || len(all) < len(Own()) {
		t.Errorf("%d streams, %v", len(all), err)
	}
}

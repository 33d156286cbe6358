package counting

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Counts that fit are exact. Counts that do not fit keep what costs most, and say how much may be
// missing of a key.
func TestCounts(t *testing.T) {
	for _, most := range []int{1 << 30, 1 << 20} {
		random := rand.New(rand.NewPCG(1, uint64(most)))
		zipf := rand.NewZipf(random, 1.2, 1, 100_000)
		c, naive, total := NewCounts(most), map[string]float64{}, 0.0
		for range 300_000 {
			key, cost := fmt.Sprint("k", zipf.Uint64()), float64(1+random.IntN(3))
			c.Add([]byte(key), cost, 2*cost)
			naive[key] += cost
			total += cost
			if c.bytes > most {
				t.Fatalf("%d bytes of %d", c.bytes, most)
			}
		}
		rows := c.Rows(0)
		for i, row := range rows {
			if row.Cost > naive[row.Key] || row.Cost < naive[row.Key]-c.Missed {
				t.Errorf("%s: %v of %v, with at most %v missing", row.Key, row.Cost, naive[row.Key], c.Missed)
			}
			if i > 0 && row.Cost > rows[i-1].Cost {
				t.Errorf("%s costs more than %s", row.Key, rows[i-1].Key)
			}
			delete(naive, row.Key)
		}
		for key, cost := range naive {
			if cost > c.Missed {
				t.Errorf("%s of cost %v is lost, with at most %v missing", key, cost, c.Missed)
			}
		}
		if exact := most > 1<<20; c.Total != total || (c.Missed == 0) != exact || exact && len(naive) > 0 {
			t.Errorf("total %v of %v, missing %v, %d keys lost", c.Total, total, c.Missed, len(naive))
		}
		if top := c.Rows(3); len(top) != 3 || top[0] != rows[0] {
			t.Errorf("top: %v", top)
		}
	}
}

// Times are read in the units and layouts that systems write.
func TestTimes(t *testing.T) {
	want := time.Date(2025, 11, 26, 9, 40, 0, 0, time.UTC)
	for _, text := range []string{
		"1764150000", "1764150000000", "1764150000000000", "1764150000000000000", "1764150000.0",
		"2025-11-26T09:40:00Z", "2025-11-26T10:40:00+01:00", "2025-11-26 09:40:00", "26/Nov/2025:10:40:00 +0100",
	} {
		if got, err := parseTime([]byte(text)); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := parseTime([]byte("26.11.2025")); err == nil {
		t.Error("a date of another kind is read")
	}
	var clock logClock
	for _, text := range []string{
		"26/Nov/2025:09:40:00 +0000", "26/Nov/2025:09:40:59 +0000", "26/Nov/2025:10:40:59 +0100",
		"26/Nov/2025:09:41:07 +0000",
	} {
		fresh, err := time.Parse(logTime, text)
		if got, again := clock.read([]byte(text)); err != nil || again != nil || !got.Equal(fresh) {
			t.Errorf("%s: %v, want %v", text, got, fresh)
		}
	}
	for _, text := range []string{"26/Nov/2025:09:41:6x +0000", "26/Nov/2025:09:41:60 +0000", "", "x"} {
		if got, err := clock.read([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// Lines of access logs have their parts, whatever is escaped in them.
func TestLogLines(t *testing.T) {
	line := `2001:db8::1 - a b [26/Nov/2025:09:40:00 +0000] "GET /x\"y?z HTTP/1.1" 404 17 "-" "\"q\""`
	var p logLine
	if !p.read([]byte(line)) {
		t.Fatal("not read")
	}
	for name, want := range map[string]string{
		"host": "2001:db8::1", "user": "a b", "path": `/x\"y`, "method": "GET", "status": "404", "bytes": "17",
	} {
		if got := string(p.part(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, bad := range []string{"", "a", "a - - [x]", `a - - [x] "GET`, `a - - x "GET / HTTP" 1 2`} {
		if p.read([]byte(bad)) {
			t.Errorf("%q is read", bad)
		}
	}
}

func BenchmarkLines(b *testing.B) {
	var lines [][]byte
	for i := range 4096 {
		lines = append(lines, fmt.Appendf(nil, `10.0.%d.%d - - [26/Nov/2025:09:40:%02d +0000] `+
			`"GET /p/%d?x=1 HTTP/1.1" 200 %d "-" "curl/8"`, i%7, i%251, i%60, i%1000, i))
	}
	log := &combined{key: "path", state: "bytes", timed: true}
	c := NewCounts(1 << 30)
	var e event
	for i := 0; b.Loop(); i++ {
		if err := log.read(lines[i%len(lines)], &e); err != nil {
			b.Fatal(err)
		}
		c.Add(e.key, e.cost, e.state)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"plannerd/internal/input"
	"plannerd/internal/input/compression"
	"plannerd/internal/lab/process"
	"plannerd/sdk/go/wire"
)

// program is plannerd, built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "plannerd-load-test-")
	if err != nil {
		return "", err
	}
	return process.Build(context.Background(), folder)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// TestExperiments runs each of them, tiny, on SQLite.
func TestExperiments(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arguments string
		want      []string
		rows      int // lines that start with the store
	}{
		"million": {"--keys 200 --instances 4 --runs 1 --formats json_rows,csv --encodings identity,zstd --stores sqlite " +
			"--fluctuation 0.1",
			[]string{"| sqlite | default | csv | zstd | 200 |", "goccy/go-json"}, 5},
		"million of several": {"--keys 200,400 --instances 4 --runs 1 --formats csv --encodings identity --stores sqlite " +
			"--limit 8GiB --fluctuation 0.1",
			[]string{"| sqlite | default | csv | identity | 400 |", "8.00 GiB", "| csv of 400 keys, "}, 3},
		"clients": {"--clients 3 --keys 200 --instances 4 --duration 200ms --stores sqlite --fluctuation 0.1",
			[]string{"| yes |"}, 1},
		"overload": {"--fits 1 --times 3 --keys 200 --instances 4 --duration 200ms --fluctuation 0.1",
			[]string{"| fits | 1 |", "| 3 times | 3 |"}, 2},
		"persist": {"--changes 100 --instances 4 --runs 1 --stores sqlite",
			[]string{"| sets all | 100 |", "| removes all | 100 |"}, 2},
		"routers": {"--routers 20 --keys 200 --instances 4", []string{"| sqlite | 20 | 20 of 200 |"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			var stdout, stderr strings.Builder
			experiment, _, _ := strings.Cut(name, " ")
			arguments := append([]string{experiment, "--plannerd", path, "--temp", temp}, strings.Fields(c.arguments)...)
			if code := run(arguments, &stdout, &stderr); code != 0 {
				t.Fatalf("exit %d: %s%s", code, &stderr, &stdout)
			}
			for _, want := range append(c.want, "the yardstick") {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("no %q in\n%s", want, &stdout)
				}
			}
			if got := strings.Count(stdout.String(), "\n| sqlite |"); got != c.rows {
				t.Errorf("%d rows, want %d:\n%s", got, c.rows, &stdout)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestWrongArguments(t *testing.T) {
	for _, arguments := range []string{
		"", "unknown", "million --keys 0", "million --keys 1.5", "million --formats xml", "million --limit 8GB",
		"clients more", "overload --times 1",
		"million --keys 1e6,x", "million --store-inputs perhaps",
	} {
		var stderr strings.Builder
		if code := run(strings.Fields(arguments), io.Discard, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%q: exit %d, %s", arguments, code, &stderr)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var ten times
	for i := range 10 {
		ten = append(ten, time.Duration(10-i))
	}
	for _, c := range []struct {
		of   times
		p    float64
		want time.Duration
	}{{nil, 0.5, 0}, {times{7}, 0.99, 7}, {ten, 0, 1}, {ten, 0.1, 1}, {ten, 0.11, 2}, {ten, 0.5, 5}, {ten, 0.9, 9},
		{ten, 0.99, 10}, {ten, 1, 10}} {
		if got := c.of.quantile(c.p); got != c.want {
			t.Errorf("%v of %v is %d, want %d", c.p, c.of, got, c.want)
		}
	}
	for _, c := range []struct {
		of   times
		want time.Duration
	}{{nil, 0}, {times{9}, 9}, {times{9, 1, 4}, 4}, {times{2, 8, 4, 100}, 6}} {
		if got := c.of.median(); got != c.want {
			t.Errorf("median of %v is %d, want %d", c.of, got, c.want)
		}
	}
	if ten[0] != 10 {
		t.Error("the durations were sorted in place")
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "64KiB": 65536, "256MiB": 256 << 20, "8GiB": 8 << 30, "": 0, "0": 0,
		"-1MiB": 0, "8GB": 0, "1.5GiB": 0, "99999999999GiB": 0} {
		if got, err := parseSize(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestParseMemory(t *testing.T) {
	got := parseMemory("Name:\tplannerd\nVmPeak:\t 9000 kB\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nThreads:\t9\n")
	if got != (footprint{peak: 2 << 20, present: 1 << 20}) {
		t.Errorf("%+v", got)
	}
}

// TestBodies decodes what is sent with the decoders of the service.
func TestBodies(t *testing.T) {
	s, err := newStream(300, 5, 0.1, 1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.generator.Next(s.at)
	if err != nil {
		t.Fatal(err)
	}
	all.Cost[3], all.State[3] = 0, 0 // not worth a row
	r := s.report(all, true)
	want := map[string][3]float64{}
	for i := range all.Len() {
		if i != 3 {
			want[string(s.keys.At(i))] = [3]float64{all.Cost[i], all.State[i], float64(s.at[i])}
		}
	}
	formats := map[string]input.Format{
		jsonRows: input.JSON, jsonColumns: input.JSON, ndjson: input.NDJSON, csvFormat: input.CSV,
	}
	version := int64(7)
	for format, decoded := range formats {
		for _, encoding := range encodings {
			for _, file := range []string{"", filepath.Join(t.TempDir(), "body")} {
				b, err := newBody(r, format, encoding, file)
				if err != nil {
					t.Fatal(err)
				}
				content, length, query, err := b.open(42, &version)
				if err != nil {
					t.Fatal(err)
				}
				sent, err := io.ReadAll(content)
				if err := errors.Join(err, content.Close(), b.remove()); err != nil {
					t.Fatal(err)
				}
				if int64(len(sent)) != length || b.count != 299 {
					t.Errorf("%s, %s: %d bytes, said %d; %d rows", format, encoding, len(sent), length, b.count)
				}
				text, err := compression.NewDecompressor(bytes.NewReader(sent), encoding)
				if err != nil {
					t.Fatal(err)
				}
				doc, err := input.Decode(text, decoded, input.Options{})
				if err != nil {
					t.Fatalf("%s, %s: %v", format, encoding, err)
				}
				if isJSON := doc.Members["interval"] != nil; isJSON == (query == "?interval=42&table_version=7") ||
					isJSON && (string(doc.Members["interval"]) != "42" || string(doc.Members["table_version"]) != "7") {
					t.Errorf("%s: members %s, query %q", format, doc.Members, query)
				}
				got := map[string][3]float64{}
				for i := range doc.Stats.Len() {
					got[string(doc.Stats.Keys.At(i))] = [3]float64{doc.Stats.Cost[i], doc.Stats.State[i],
						float64(doc.Stats.Instance[i])}
				}
				if len(got) != len(want) {
					t.Errorf("%s: %d keys, want %d", format, len(got), len(want))
				}
				for key, row := range want {
					if got[key] != row {
						t.Fatalf("%s: %s is %v, want %v", format, key, got[key], row)
					}
				}
			}
		}
	}
}

// TestReferenceReadsTheBody: the decoder that times are compared with reads all.
func TestReferenceReadsTheBody(t *testing.T) {
	s, err := newStream(50, 5, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.next(true)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := encodeRows(&text, r, jsonRows, identity); err != nil {
		t.Fatal(err)
	}
	var read reference
	if err := json.Unmarshal(append([]byte(`{"interval":1,`), text.Bytes()...), &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Keys) != 50 || read.Keys[0].Key != string(r.Keys.At(0)) || read.Keys[49].State != r.State[49] {
		t.Errorf("%+v", read)
	}
}

func TestStreamFollowsPlans(t *testing.T) {
	s, err := newStream(100, 5, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []int{0, 42, 99} {
		name := string(s.keys.At(key))
		if n := len(name); n < 12 || n > 16 {
			t.Errorf("key %q has %d bytes", name, n)
		}
		home := s.hashed[key]
		p := &plan{}
		p.RoutingTable.Set = []wire.RoutingTableEntry{{Key: name, Instance: home + 1}}
		if err := s.apply(p); err != nil || s.at[key] != home+1 {
			t.Errorf("set: %v, at %d, want %d", err, s.at[key], home+1)
		}
		p.RoutingTable.Set, p.RoutingTable.Unset = nil, []string{name}
		if err := s.apply(p); err != nil || s.at[key] != home {
			t.Errorf("unset: %v, at %d, want %d", err, s.at[key], home)
		}
	}
	for _, key := range []string{"", "user:0000100", "user:xxxxxxx"} {
		p := &plan{}
		p.RoutingTable.Unset = []string{key}
		if s.apply(p) == nil {
			t.Errorf("%q was accepted", key)
		}
	}
}

// books are an engine's ledger and what a faultless service has.
func books() (ledger, []plan, *routingTable) {
	versions := []int64{1, 2}
	first := plan{Id: "p1", Interval: 1, Status: committed, Version: &versions[0]}
	first.RoutingTable.Set = []wire.RoutingTableEntry{{Key: "a", Instance: 1}, {Key: "b", Instance: 2}}
	first.RoutingTable.SizeAfter = 2
	first.Migrations = []wire.PlanMigration{{Migration: wire.Migration{Key: "a", From: 0, To: 1, State: 5,
		Reason: "drain"}}}
	first.Migration.Keys = 1
	idle := plan{Id: "p3", Interval: 3, Status: "no_action", BaseVersion: 1}
	last := plan{Id: "p4", Interval: 4, Status: committed, BaseVersion: 1, Version: &versions[1]}
	last.RoutingTable.Set, last.RoutingTable.Unset = []wire.RoutingTableEntry{{Key: "c", Instance: 3}}, []string{"a"}
	last.RoutingTable.SizeAfter = 2
	unanswered := plan{Id: "p5", Interval: 5, Status: approved, BaseVersion: 2}
	l := newLedger()
	l.accepted[1] = receipt{"p1", first.digest(), true}
	l.accepted[3] = receipt{"p3", idle.digest(), false}
	l.accepted[4] = receipt{"p4", last.digest(), true}
	l.refused[2], l.unknown[5], l.unknown[6] = 429, io.ErrUnexpectedEOF, io.ErrUnexpectedEOF
	return l, []plan{unanswered, last, idle, first},
		&routingTable{2, []wire.RoutingTableEntry{{Key: "c", Instance: 3}, {Key: "b", Instance: 2}}}
}

func TestAudit(t *testing.T) {
	if l, plans, table := books(); len(audit(l, plans, table)) > 0 {
		t.Fatalf("faults: %v", audit(l, plans, table))
	}
	for name, c := range map[string]struct {
		tamper func(l ledger, plans []plan, table *routingTable) []plan
		want   string
	}{
		"lost":     {func(_ ledger, p []plan, _ *routingTable) []plan { return slices.Delete(p, 2, 3) }, "plan p3 is lost"},
		"replaced": {func(_ ledger, p []plan, _ *routingTable) []plan { p[2].Id = "p9"; return p }, "plan p3 became p9"},
		"twice": {func(_ ledger, p []plan, _ *routingTable) []plan { return append(p, plan{Id: "p9", Interval: 3}) },
			"two plans"},
		"left": {func(_ ledger, p []plan, _ *routingTable) []plan { return append(p, plan{Id: "p9", Interval: 2}) },
			"refused with 429 and left plan p9"},
		"unasked": {func(_ ledger, p []plan, _ *routingTable) []plan { return append(p, plan{Id: "p9", Interval: 8}) },
			"never asked for"},
		"truncated": {func(_ ledger, p []plan, _ *routingTable) []plan { p[3].Migrations = nil; return p },
			"says 1 migrations and has 0"},
		"changed": {func(_ ledger, p []plan, _ *routingTable) []plan { p[3].Migrations[0].To = 2; return p },
			"p1 is not as it was answered"},
		"undone": {func(_ ledger, p []plan, _ *routingTable) []plan { p[1].Status = approved; return p },
			"p4 was committed and is approved"},
		"base": {func(_ ledger, p []plan, _ *routingTable) []plan { p[1].BaseVersion = 0; return p },
			"of version 0, but the one before it made 1"},
		"size": {func(_ ledger, p []plan, _ *routingTable) []plan { p[1].RoutingTable.SizeAfter = 3; return p },
			"has 2 entries, not 3"},
		"version": {func(_ ledger, p []plan, tb *routingTable) []plan { tb.Version = 1; return p },
			"of version 1, the last plan made 2"},
		"entry": {func(_ ledger, p []plan, tb *routingTable) []plan { tb.Entries[0].Instance = 4; return p },
			"not what the 2 committed plans make"},
		"missing": {func(_ ledger, p []plan, tb *routingTable) []plan { tb.Entries = tb.Entries[:1]; return p },
			"not what the 2 committed plans make"},
		"doubled": {func(_ ledger, p []plan, tb *routingTable) []plan {
			tb.Entries = append(tb.Entries, tb.Entries[0])
			return p
		}, "a key twice"},
	} {
		l, plans, table := books()
		plans = c.tamper(l, plans, table)
		if got := strings.Join(audit(l, plans, table), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in %q", name, c.want, got)
		}
	}
}

func TestTraffic(t *testing.T) {
	seen := newTraffic()
	for _, status := range []string{"201", "429", "500"} {
		seen.add(traffic{posts: times{1}, posted: map[string]int{status: 2, noAnswer: 1},
			commit: map[string]int{"200": 1, "409": 1}})
	}
	seen.seconds = 1.5
	if seen.attempts() != 9 || seen.others() != 2+3+3 || seen.perSecond() != 2 {
		t.Errorf("%d attempts, %d others, %v plans/s", seen.attempts(), seen.others(), seen.perSecond())
	}
}

// TestGzipOfParts: a head and rows that are compressed apart are one text.
func TestGzipOfParts(t *testing.T) {
	var all []byte
	for _, part := range []string{`{"interval":1,`, `"keys":[]}`} {
		z, err := compress([]byte(part), "gzip")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, z...)
	}
	r, err := gzip.NewReader(bytes.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || string(text) != `{"interval":1,"keys":[]}` {
		t.Errorf("%q, %v", text, err)
	}
}

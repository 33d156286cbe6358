package e2e

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"plannerd/api"
	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/pgtest"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
	"plannerd/store"
	"plannerd/store/postgres"
	"plannerd/store/sqlite"
)

// whole is set by the command that drives every interval of every stream.
var whole = os.Getenv("PLANNERD_DRIVE") == "whole"

// Bounds of a drive that is not whole: intervals of a stream, one for each format of statistics, and
// those of one of more than largeRows rows in its first interval.
const (
	someIntervals  = 4
	fewIntervals   = 3
	largeRows      = 10_000
	shortRows      = 2_000 // greatest of a drive in short
	driveThetaMax  = 0.08
	driveTable     = 3000
	driveInstances = 8
)

// TestDrive posts streams interval by interval, commits every plan, and
// recomputes every figure of every plan. At the end the server is started anew:
// table and history must be the same.
func TestDrive(t *testing.T) {
	drives(t, 0, func(d *drive, _ int) { d.step() })
}

// TestDriveRescale does the same while instances are added and later removed.
func TestDriveRescale(t *testing.T) {
	drives(t, 1, func(d *drive, i int) {
		switch third := max(1, len(d.intervals)/3); i {
		case third:
			d.configure(slices.Concat(ids(driveInstances), []int32{20, 31}))
		case 2 * third:
			d.configure(slices.Delete(slices.Concat(ids(driveInstances), []int32{20, 31}), 2, 4))
		}
		d.step()
	})
}

// drives runs a drive for each store, strategy and stream; a usual run gives each stream to one
// strategy on each of the stores, beginning with another one in each test, so that the tests together
// give it to all.
func drives(t *testing.T, first int, step func(d *drive, i int)) {
	for k, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			open := opener(t, kind)
			for n, stream := range allStreams(t) {
				for m, strategy := range []string{"mixed", "minmig", "mintable", "readj"} {
					if !deep.On() && !whole && (first+2*k+n+m)%4 != 0 {
						continue
					}
					t.Run(stream.name+"/"+strategy, func(t *testing.T) {
						intervals := stream.intervals
						d := &drive{
							t: t, operator: stream.name + "-" + strategy, strategy: strategy,
							intervals: intervals, table: map[string]int32{},
						}
						d.start(open)
						d.configure(ids(driveInstances))
						d.pinned = d.wanted
						for i := range intervals {
							d.at = &intervals[i]
							step(d, i)
						}
						d.restart(open)
					})
				}
			}
		})
	}
}

func ids(n int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// opener makes a database and returns how to open a store on it, as often as
// wanted.
func opener(t *testing.T, kind string) func(t *testing.T) store.Store {
	url := filepath.Join(t.TempDir(), "plannerd.db")
	if kind == "postgres" {
		url = pgtest.NewDatabase(t)
	}
	return func(t *testing.T) store.Store {
		ctx := context.Background()
		var s store.Store
		var m store.Migrator
		if kind == "postgres" {
			p, err := postgres.Open(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			s, m = p, p.Migrator()
		} else {
			p, err := sqlite.Open(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			s, m = p, p.Migrator()
		}
		if _, err := m.Up(ctx); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// layout is the part of a configuration that places keys.
type layout struct {
	instances []int32
	hash      planner.HashFunction
}

// drive is an engine with one operator, and what it believes.
type drive struct {
	t         *testing.T
	operator  string
	strategy  string
	intervals []interval
	at        *interval

	url   string
	close func()

	wanted, pinned layout           // the configuration, and that of the committed table
	table          map[string]int32 // the committed table
	absent         map[string]int   // intervals in a row without the key
	version        int64
	plans          []string // ids, oldest first
}

func (d *drive) start(open func(*testing.T) store.Store) {
	d.t.Helper()
	s := open(d.t)
	h, err := api.New(api.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		d.t.Fatal(err)
	}
	server := httptest.NewServer(h)
	d.url = server.URL
	d.close = func() {
		server.Close()
		if err := s.Close(); err != nil {
			d.t.Error(err)
		}
	}
	d.t.Cleanup(func() { d.close() })
}

// restart starts the server anew on the same database and compares what it
// knows.
func (d *drive) restart(open func(*testing.T) store.Store) {
	d.t.Helper()
	d.close()
	d.start(open)
	d.compareTable()
	var got []string
	path := "/v1/operators/" + d.operator + "/plans?page_size=7"
	for token := ""; ; {
		var page struct {
			Plans         []plan `json:"plans"`
			NextPageToken string `json:"next_page_token"`
		}
		d.call("GET", path+token, "", nil, 200, &page)
		for _, p := range page.Plans {
			got = append(got, p.Id)
		}
		if page.NextPageToken == "" {
			break
		}
		token = "&page_token=" + page.NextPageToken
	}
	slices.Reverse(got)
	if !slices.Equal(got, d.plans) {
		d.t.Fatalf("history after the restart: %v, before: %v", got, d.plans)
	}
}

func (d *drive) configure(instances []int32) {
	d.t.Helper()
	type instance struct {
		ID       int32   `json:"id"`
		Capacity float64 `json:"capacity"`
	}
	config := map[string]any{
		"theta_max": driveThetaMax, "table_limit": driveTable, "strategy": d.strategy,
		"approval": map[string]any{"auto": "always"}, // some strategies break limits, and drives commit every plan
	}
	var list []instance
	var nodes []partitioner.Instance
	for _, id := range instances {
		list = append(list, instance{id, 1})
		nodes = append(nodes, partitioner.Instance{ID: id})
	}
	config["instances"] = list
	body, err := json.Marshal(config)
	if err != nil {
		d.t.Fatal(err)
	}
	d.call("PUT", "/v1/operators/"+d.operator, "application/json", body, 0, nil)
	hash, err := partitioner.New(partitioner.Config{}, nodes)
	if err != nil {
		d.t.Fatal(err)
	}
	d.wanted = layout{instances, hash}
}

// step posts the interval, checks the plan, commits it and compares the table.
func (d *drive) step() {
	d.t.Helper()
	s := d.situation()
	contentType, body := d.encode()
	path := "/v1/operators/" + d.operator + "/plans"
	if contentType != "application/json" {
		path += "?interval=" + strconv.FormatInt(d.at.number, 10)
	}
	var p plan
	d.call("POST", path, contentType, body, 201, &p)
	d.plans = append(d.plans, p.Id)
	after, errs := check(s, &p)
	for _, err := range errs {
		d.t.Errorf("interval %d: %v", d.at.number, err)
	}
	switch p.Status {
	case "approved":
		var committed plan
		d.call("POST", "/v1/plans/"+p.Id+"/commit", "application/json", []byte(`{"stopped":true}`), 200, &committed)
		if committed.Status != "committed" || committed.Version == nil || *committed.Version != d.version+1 {
			d.t.Fatalf("interval %d: committed as %+v", d.at.number, committed)
		}
		d.committed(after)
	case "no_action":
		if len(p.Migrations) > 0 || !maps.Equal(after, d.table) {
			d.t.Errorf("interval %d: no action, with %d migrations", d.at.number, len(p.Migrations))
		}
	default:
		d.t.Fatalf("interval %d: status %q", d.at.number, p.Status)
	}
	d.compareTable()
	if d.t.Failed() {
		d.t.FailNow()
	}
}

func (d *drive) committed(table map[string]int32) {
	d.table, d.pinned = table, d.wanted
	d.version++
}

// countAbsences counts for how many intervals in a row keys with entries were absent.
// With less than two the entry stays, unless its instance is removed.
func (d *drive) countAbsences(s *situation) {
	absent := map[string]int{}
	s.kept = map[string]bool{}
	for name, id := range d.table {
		if _, named := s.keys[name]; !named {
			absent[name] = d.absent[name] + 1
			_, live := s.capacity[id]
			s.kept[name] = absent[name] < 2 && live
		}
	}
	d.absent = absent
}

// situation is what the engine knows when it posts the interval.
func (d *drive) situation() situation {
	s := situation{
		keys: make(map[string]key, len(d.at.rows)), table: d.table,
		capacity: map[int32]float64{}, thetaMax: driveThetaMax, tableLimit: driveTable,
	}
	for _, id := range d.wanted.instances {
		s.capacity[id] = 1
	}
	place := func(l layout, name string) int32 {
		id, err := l.hash.Instance([]byte(name), planner.KeyHash([]byte(name)))
		if err != nil {
			d.t.Fatal(err)
		}
		return id
	}
	for _, r := range d.at.rows {
		k := key{cost: r.cost, state: r.state, hash: place(d.wanted, r.key)}
		if at, ok := d.table[r.key]; ok {
			k.at = at
		} else {
			k.at = place(d.pinned, r.key)
		}
		s.keys[r.key] = k
	}
	d.countAbsences(&s)
	return s
}

// encode writes the interval in one of the formats, in turn.
func (d *drive) encode() (contentType string, body []byte) {
	var b bytes.Buffer
	switch d.at.number % 4 {
	case 0:
		w := csv.NewWriter(&b)
		_ = w.Write([]string{"key", "cost", "state"})
		for _, r := range d.at.rows {
			_ = w.Write([]string{r.key, number(r.cost), number(r.state)})
		}
		w.Flush()
		return "text/csv", b.Bytes()
	case 1:
		for _, r := range d.at.rows {
			fmt.Fprintf(&b, "{\"key\":%s,\"state\":%s,\"cost\":%s}\n", quote(r.key), number(r.state), number(r.cost))
		}
		return "application/x-ndjson", b.Bytes()
	case 2:
		fmt.Fprintf(&b, `{"interval":%d,"keys":[`, d.at.number)
		for i, r := range d.at.rows {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"key":%s,"cost":%s,"state":%s}`, quote(r.key), number(r.cost), number(r.state))
		}
		b.WriteString(`]}`)
	default:
		columns := map[string]any{}
		keys, cost, state := []string{}, []float64{}, []float64{}
		for _, r := range d.at.rows {
			keys, cost, state = append(keys, r.key), append(cost, r.cost), append(state, r.state)
		}
		columns["key"], columns["cost"], columns["state"] = keys, cost, state
		_ = json.NewEncoder(&b).Encode(map[string]any{"columns": columns, "interval": d.at.number})
	}
	return "application/json", b.Bytes()
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// compareTable reads the routing table back.
func (d *drive) compareTable() {
	d.t.Helper()
	var got struct {
		Version int64                    `json:"version"`
		Entries []wire.RoutingTableEntry `json:"entries"`
	}
	d.call("GET", "/v1/operators/"+d.operator+"/routing-table", "", nil, 200, &got)
	table := make(map[string]int32, len(got.Entries))
	for _, e := range got.Entries {
		table[e.Key] = e.Instance
	}
	if got.Version != d.version || len(table) != len(got.Entries) || !maps.Equal(table, d.table) {
		d.t.Fatalf("the routing table reads version %d with %d entries, want version %d with %d", got.Version,
			len(got.Entries), d.version, len(d.table))
	}
}

// call makes a request, wants the status (any 2xx if 0) and decodes the answer.
func (d *drive) call(method, path, contentType string, body []byte, status int, answer any) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if resp.StatusCode != status && (status != 0 || resp.StatusCode/100 != 2) {
		d.t.Fatalf("%s %s: %s\n%.2000s", method, path, resp.Status, got)
	}
	if answer != nil {
		if err := json.Unmarshal(got, answer); err != nil {
			d.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"plannerd/api"
	"plannerd/compact"
	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/web/access"
	"plannerd/planner"
	"plannerd/store"
)

// listed is a migration of any kind, by what it may be asked for. name is what is
// different about it in a JSON list.
type listed struct {
	name, key   string
	from, to    int32
	keys, times int64
	cost, state float64
	reason      string
}

// movesKind is a kind of migrations: how they are stored, which sorts they know, and
// where their name stands.
type movesKind struct {
	strategy string
	classes  bool
	sorts    []string
	encode   func(rows []listed) []byte
	name     func(t *testing.T, v jsontext.Value) string
}

func member(path ...string) func(t *testing.T, v jsontext.Value) string {
	return func(t *testing.T, v jsontext.Value) string {
		t.Helper()
		for _, name := range path {
			object := map[string]jsontext.Value{}
			if err := json.Unmarshal(v, &object); err != nil {
				t.Fatal(err)
			}
			v = object[name]
		}
		return strings.Trim(string(v), `"`)
	}
}

func reasonOf(r listed) planner.Reason {
	reason, _ := planner.ParseReason(r.reason)
	return reason
}

var movesKinds = map[string]movesKind{
	"keys": {"mixed", false, []string{"key", "cost", "state", "from", "to", "reason"}, encodeKeys, member("key")},
	"classes": {"mixed", true, []string{"cost", "state", "count", "from", "to"}, func(rows []listed) []byte {
		records := make([]compact.Record, len(rows))
		for i, r := range rows {
			hash, _ := strconv.Atoi(r.name)
			records[i] = compact.Record{Planned: r.to, Current: r.from, Hash: int32(hash), Cost: r.cost, State: r.state,
				Count: r.keys}
		}
		return stored.EncodeClassMoves(records)
	}, func(t *testing.T, v jsontext.Value) string {
		var record []jsontext.Value
		if err := json.Unmarshal(v, &record); err != nil {
			t.Fatal(err)
		}
		return string(record[2])
	}},
	"arcs": {"halving", false, []string{"cost", "state", "count", "from", "to", "reason"}, func(rows []listed) []byte {
		var p stored.RingPlan
		for _, r := range rows {
			start, _ := strconv.ParseUint(r.name, 10, 32)
			p.Arcs = append(p.Arcs, lists.ArcMove{Start: uint32(start), End: uint32(start + 1), From: r.from, To: r.to,
				Keys: r.keys, Cost: r.cost, State: r.state, Reason: reasonOf(r)})
		}
		return p.Encode()
	}, member("arc", "start")},
	"ranges": {"quantile", false, []string{"cost", "state", "count", "from", "to", "reason"}, func(rows []listed) []byte {
		var p stored.RangesPlan
		for _, r := range rows {
			p.Moves = append(p.Moves, lists.RangeMove{Range: lists.Range{From: []byte(r.name)}, From: r.from, To: r.to,
				Keys: r.keys, Cost: r.cost, State: r.state, Reason: reasonOf(r)})
		}
		return p.Encode()
	}, member("range", "from")},
}

// encodeKeys stores the rows as migrations of keys, in the order that they have.
func encodeKeys(rows []listed) []byte {
	s := &planner.Snapshot{Keys: planner.NewKeys(len(rows))}
	p := &planner.Plan{Snapshot: s}
	for i := range int32(10) {
		s.Instances = append(s.Instances, planner.Instance{ID: i, Capacity: 1})
	}
	for i, r := range rows {
		s.Keys.Append([]byte(r.key))
		s.Cost, s.State = append(s.Cost, r.cost), append(s.State, r.state)
		p.Moves = append(p.Moves, planner.Move{Item: int32(i), From: r.from, To: r.to, Count: 1, Reason: reasonOf(r)})
	}
	return stored.EncodeMigrations(p)
}

// storeMoves stores a plan with these migrations and changes, and returns its path.
func (e *env) storeMoves(kind movesKind, blob []byte, changes []store.Change) string {
	e.Helper()
	name := fmt.Sprintf("stored-%s-%t", kind.strategy, kind.classes)
	e.operator(name, `{"instances":10}`)
	scheme := map[string]string{"halving": "ring", "quantile": "ranges"}[kind.strategy]
	p, _, err := e.store.CreatePlan(e.Context(), store.NewPlan{
		Plan: store.Plan{
			ID: name, Operator: name, Interval: 1, Status: store.StatusApproved, Scheme: cmp.Or(scheme, "table"),
			Strategy: kind.strategy, Parameters: []byte("{}"), ConfigVersion: 1,
			Classes: kind.classes, CreatedAt: e.clock.Now(),
			Figures: store.Figures{MigrationKeys: 100, Instances: []byte("[]"), HotKeys: []byte("[]")},
		},
		Migrations: blob, Changes: changes,
	}, store.Transition{At: e.clock.Now()})
	if err != nil {
		e.Fatal(err)
	}
	return "/v1/plans/" + p.ID
}

// randomRows makes rows with many ties, in their default order.
func randomRows(r *rand.Rand, kind string, n int) []listed {
	reasons := []string{"drain", "rehash", "fill", "move_back", "overload", "exchange"}
	seen, rows := map[string]bool{}, []listed{}
	for i := range n {
		x := listed{name: strconv.Itoa(1000 + i), from: r.Int32N(5), keys: 1, times: 1, cost: float64(r.IntN(4)) / 2,
			state: float64(r.IntN(5)), reason: reasons[r.IntN(6)]}
		x.to = (x.from + 1 + r.Int32N(4)) % 5
		if kind != "keys" {
			x.keys = 1 + r.Int64N(4)
		}
		if kind == "classes" {
			x.times, x.reason = x.keys, ""
		}
		if kind == "keys" {
			key := make([]byte, 1+r.IntN(6))
			for j := range key {
				key[j] = "abcd\xff"[r.IntN(5)]
			}
			if x.key = string(key); seen[x.key] {
				continue
			}
			seen[x.key] = true
			x.name = base64.StdEncoding.EncodeToString(key)
		}
		rows = append(rows, x)
	}
	slices.SortFunc(rows, func(a, b listed) int { return strings.Compare(a.key, b.key) })
	return rows
}

// randomFilter returns some parameters and what they let through.
func randomFilter(r *rand.Rand, kind string) (url.Values, func(listed) bool) {
	query, tests := url.Values{}, []func(listed) bool{}
	add := func(name string, value any, test func(listed) bool) {
		if r.IntN(4) == 0 {
			query.Set(name, fmt.Sprint(value))
			tests = append(tests, test)
		}
	}
	id, other, cost, state := r.Int32N(6), r.Int32N(5), float64(r.IntN(4))/2, float64(r.IntN(4))
	add("instance", id, func(x listed) bool { return x.from == id || x.to == id })
	add("from", other, func(x listed) bool { return x.from == other })
	add("to", id, func(x listed) bool { return x.to == id })
	add("min_cost", cost, func(x listed) bool { return x.cost >= cost })
	add("min_state", state, func(x listed) bool { return x.state >= state })
	if kind != "classes" {
		add("reason", "overload", func(x listed) bool { return x.reason == "overload" })
	}
	if kind == "keys" {
		part := []byte{"abcd\xff"[r.IntN(5)]}
		coded := base64.StdEncoding.EncodeToString(part)
		add("key_prefix", coded, func(x listed) bool { return strings.HasPrefix(x.key, string(part)) })
		add("key_contains", coded, func(x listed) bool { return bytes.Contains([]byte(x.key), part) })
		query.Set("key_encoding", "base64")
	}
	return query, func(x listed) bool {
		for _, test := range tests {
			if !test(x) {
				return false
			}
		}
		return true
	}
}

// sortRows sorts rows that are in their default order.
func sortRows(rows []listed, by, order string) {
	compare := map[string]func(a, b listed) int{
		"cost":   func(a, b listed) int { return cmp.Compare(a.cost, b.cost) },
		"state":  func(a, b listed) int { return cmp.Compare(a.state, b.state) },
		"count":  func(a, b listed) int { return cmp.Compare(a.keys, b.keys) },
		"from":   func(a, b listed) int { return cmp.Compare(a.from, b.from) },
		"to":     func(a, b listed) int { return cmp.Compare(a.to, b.to) },
		"reason": func(a, b listed) int { return strings.Compare(a.reason, b.reason) },
	}[by]
	if compare == nil {
		if order == "desc" {
			slices.Reverse(rows)
		}
		return
	}
	descending := order == "desc" || order == "" && (by == "cost" || by == "state" || by == "count")
	slices.SortStableFunc(rows, func(a, b listed) int {
		if descending {
			a, b = b, a
		}
		return compare(a, b)
	})
}

// movesPage is a page of migrations.
type movesPage struct {
	Migrations    []jsontext.Value
	TotalSize     int
	NextPageToken *string
}

// TestMovesBesideDumb: every sort, order, filter, skip and page size of every kind of
// migrations answers what filtering, sorting and slicing come to.
func TestMovesBesideDumb(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	for name, kind := range movesKinds {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			rows := randomRows(r, name, 90)
			stored := slices.Clone(rows)
			if name == "keys" { // of which the plan has its own order
				r.Shuffle(len(stored), func(i, j int) { stored[i], stored[j] = stored[j], stored[i] })
			}
			path := e.storeMoves(kind, kind.encode(stored), nil) + "/migrations?"
			names := func(values []jsontext.Value) []string {
				out := []string{}
				for _, v := range values {
					out = append(out, kind.name(t, v))
				}
				return out
			}
			for _, by := range append([]string{""}, kind.sorts...) {
				for _, order := range []string{"", "asc", "desc"} {
					for range 6 {
						query, takes := randomFilter(r, name)
						for name, value := range map[string]string{"sort": by, "order": order} {
							if value != "" {
								query.Set(name, value)
							}
						}
						list := slices.DeleteFunc(slices.Clone(rows), func(x listed) bool { return !takes(x) })
						sortRows(list, by, order)
						want := []string{}
						for _, x := range list {
							want = append(want, x.name)
						}
						size, skip, again := 1+r.IntN(40), r.IntN(50), r.IntN(20)
						lines := strings.Fields(string(e.do("GET", path+query.Encode(), "", "Accept: application/x-ndjson").
							want(http.StatusOK).body))
						if len(lines) != len(want) {
							t.Errorf("%s: %d lines, want %d", query.Encode(), len(lines), len(want))
						}
						query.Set("page_size", strconv.Itoa(size))
						for next := ""; ; skip = again {
							query.Set("skip", strconv.Itoa(skip))
							query.Del("page_token")
							if next != "" {
								query.Set("page_token", next)
							}
							var page movesPage
							e.do("GET", path+query.Encode(), "").want(http.StatusOK).into(&page)
							left := want[min(skip, len(want)):]
							if diff := gocmp.Diff(left[:min(size, len(left))], names(page.Migrations)); diff != "" ||
								page.TotalSize != len(list) {
								t.Fatalf("%s: %d of %d: %s", query.Encode(), page.TotalSize, len(list), diff)
							}
							want = left[min(size, len(left)):]
							if (page.NextPageToken == nil) != (len(want) == 0) {
								t.Fatalf("%s: next page %v, %d are left", query.Encode(), page.NextPageToken, len(want))
							}
							if page.NextPageToken == nil {
								break
							}
							next = *page.NextPageToken
						}
					}
				}
			}
			for _, skip := range []int{len(rows), math.MaxInt64} {
				var page movesPage
				e.do("GET", path+"skip="+strconv.Itoa(skip), "").want(http.StatusOK).into(&page)
				if len(page.Migrations) > 0 || page.TotalSize != len(rows) || page.NextPageToken != nil {
					t.Errorf("behind all: %+v", page)
				}
			}
		})
	}
}

// flow is one of the list of flows.
type flow struct {
	From, To    int32
	Keys        int64
	Cost, State float64
}

// dumbFlows sums rows up exactly.
func dumbFlows(rows []listed) []flow {
	type sums struct {
		keys        int64
		cost, state big.Rat
	}
	add := func(to *big.Rat, x float64, times int64) {
		r := new(big.Rat).SetFloat64(x)
		to.Add(to, r.Mul(r, new(big.Rat).SetInt64(times)))
	}
	by := map[[2]int32]*sums{}
	for _, x := range rows {
		pair := [2]int32{x.from, x.to}
		if by[pair] == nil {
			by[pair] = &sums{}
		}
		by[pair].keys += x.keys
		add(&by[pair].cost, x.cost, x.times)
		add(&by[pair].state, x.state, x.times)
	}
	out := []flow{}
	for pair, s := range by {
		cost, _ := s.cost.Float64()
		state, _ := s.state.Float64()
		out = append(out, flow{pair[0], pair[1], s.keys, cost, state})
	}
	slices.SortFunc(out, func(a, b flow) int {
		return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// TestFlows: who sends to whom, of every kind of migrations.
func TestFlows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	for name, kind := range movesKinds {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			rows := randomRows(r, name, 90)
			path, want := e.storeMoves(kind, kind.encode(rows), nil)+"/flows", dumbFlows(rows)
			var page struct {
				Flows         []flow
				TotalSize     int
				NextPageToken *string
			}
			var got []flow
			for next := ""; ; next = "&page_token=" + *page.NextPageToken {
				page.Flows, page.NextPageToken = nil, nil
				e.do("GET", path+"?page_size=3"+next, "").want(http.StatusOK).into(&page)
				if got = append(got, page.Flows...); page.TotalSize != len(want) {
					t.Errorf("total_size %d, want %d", page.TotalSize, len(want))
				}
				if page.NextPageToken == nil {
					break
				}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			e.do("GET", path+"?skip=2&page_size=1", "").want(http.StatusOK).into(&page)
			if diff := gocmp.Diff(want[2:3], page.Flows[len(page.Flows)-1:]); diff != "" {
				t.Error(diff)
			}
			lines := strings.Split(string(e.do("GET", path, "", "Accept: text/csv").want(http.StatusOK).body), "\n")
			first := fmt.Sprintf("%d,%d,%d,%v,%v", want[0].From, want[0].To, want[0].Keys, want[0].Cost, want[0].State)
			if lines[0] != "from,to,keys,cost,state" || lines[1] != first || len(lines) != len(want)+2 {
				t.Errorf("%q, want %q", lines[:2], first)
			}
			if n := strings.Count(string(e.do("GET", path, "", "Accept: application/x-ndjson").want(http.StatusOK).body),
				"\n"); n != len(want) {
				t.Errorf("%d lines, want %d", n, len(want))
			}
		})
	}
}

// TestFlowsInAnyOrder: the sums of costs that are not exact do not tell in which order
// the plan has its migrations.
func TestFlowsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	rows := randomRows(r, "arcs", 400)
	for i := range rows {
		rows[i].cost, rows[i].state = math.Exp(20*r.Float64()), r.Float64()
	}
	kind, answers := movesKinds["arcs"], map[string]bool{}
	for range 5 {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		e := newEnv(t)
		answers[string(e.do("GET", e.storeMoves(kind, kind.encode(rows), nil)+"/flows", "").want(http.StatusOK).body)] = true
	}
	if len(answers) != 1 {
		t.Errorf("%d different answers", len(answers))
	}
}

// TestSkippedChanges: the lists of table changes have skip and total_size, too.
func TestSkippedChanges(t *testing.T) {
	e := newEnv(t)
	var changes []store.Change
	for i := range int32(20) {
		changes = append(changes, store.Change{Key: fmt.Appendf(nil, "k%02d", i), Old: store.NoInstance, New: i % 4})
	}
	path := e.storeMoves(movesKinds["keys"], encodeKeys(nil), changes) + "/routing-table"
	for query, want := range map[string]string{
		"?skip=18":                       "20 [k18 k19] false",
		"?skip=3&page_size=2":            "20 [k03 k04] true",
		"?instance=1&skip=1":             "5 [k05 k09 k13 k17] false",
		"?instance=1&skip=2&page_size=1": "5 [k09] true",
		"?key_prefix=k1&skip=10":         "10 [] false",
	} {
		var page struct {
			Changes       []struct{ Key string }
			TotalSize     int
			NextPageToken *string
		}
		e.do("GET", path+query, "").want(http.StatusOK).into(&page)
		keys := []string{}
		for _, x := range page.Changes {
			keys = append(keys, x.Key)
		}
		if got := fmt.Sprint(page.TotalSize, " ", keys, " ", page.NextPageToken != nil); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	e.do("GET", path+"?skip=1", "", "Accept: text/csv").fails(unprocessable, "invalid", "?skip")
}

// readsOf counts how often migrations are read from a store.
type readsOf struct {
	store.Store
	n int
}

func (s *readsOf) Migrations(ctx context.Context, plan string) ([]byte, error) {
	s.n++
	return s.Store.Migrations(ctx, plan)
}

// TestKeptMoves: a list that was read once is not read again, and one that is too long
// to be kept is.
func TestKeptMoves(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(2, 2)), "keys", 80)
	for memory, want := range map[int64]int{1 << 30: 1, 256 << 10: 3} {
		s := &readsOf{}
		e := newEnv(t, func(c *api.Config) {
			s.Store = c.Store
			c.Store, c.Limits.Memory = s, memory
		})
		path := e.storeMoves(movesKinds["keys"], encodeKeys(rows), nil)
		for _, target := range []string{"/migrations", "/migrations?sort=cost", "/flows"} {
			e.do("GET", path+target, "").want(http.StatusOK)
		}
		if s.n != want {
			t.Errorf("with %d bytes: read %d times, want %d", memory, s.n, want)
		}
	}
}

// TestCaller: callers are told who they are.
func TestCaller(t *testing.T) {
	known := newCallers(t)
	alice, root := known.add("alice", access.Approver, "clicks*", "share?"),
		known.add("root", access.Admin, access.Everywhere)
	e := newEnv(t, known.option)
	for header, want := range map[string]string{
		alice: `{"access":true,"name":"alice","role":"approver","operators":["clicks*","share?"]}`,
		root:  `{"access":true,"name":"root","role":"admin","operators":null}`,
	} {
		if got := string(e.do("GET", "/v1/caller", "", header).want(http.StatusOK).body); got != want+"\n" {
			t.Errorf("%s, want %s", got, want)
		}
	}
	const anybody = `{"access":false,"name":null,"role":"admin","operators":null}`
	if got := string(newEnv(t).do("GET", "/v1/caller", "").want(http.StatusOK).body); got != anybody+"\n" {
		t.Errorf("without tokens: %s", got)
	}
}

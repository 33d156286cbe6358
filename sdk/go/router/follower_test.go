package router_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/route"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// feed answers for one routing table as the contract says. It is used in a bubble of
// synctest, where a lock would not be seen to wait: it takes turns by a channel.
type feed struct {
	turn      chan struct{}
	version   int64
	instances int64                      // how many there are: a change of it is a change of the hash
	entries   map[string]int32           // now
	history   map[int64]map[string]int32 // of versions that are known, all under the same hash
	pending   *wire.PendingTable
	plans     int // how many were ever pending
	changed   chan struct{}

	away   bool // connections are refused
	broken int  // the status of all answers; 0: all is well
	cut    bool // answers break off
	asked  int
	full   int // how many answers had the whole table
}

func newFeed() *feed {
	f := &feed{turn: make(chan struct{}, 1), instances: 3, entries: map[string]int32{}, changed: make(chan struct{})}
	f.history = map[int64]map[string]int32{0: {}}
	return f
}

// do changes the feed, and wakes who waits.
func (f *feed) do(change func()) {
	f.turn <- struct{}{}
	change()
	close(f.changed)
	f.changed = make(chan struct{})
	<-f.turn
}

// requests is how many there were.
func (f *feed) requests() int {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	return f.asked
}

// commit makes a new version.
func (f *feed) commit(set map[string]int32, unset ...string) {
	f.version++
	f.entries = maps.Clone(f.entries)
	maps.Copy(f.entries, set)
	for _, key := range unset {
		delete(f.entries, key)
	}
	f.history[f.version] = f.entries
	f.pending = nil
}

// rehash makes a new version with another number of instances.
func (f *feed) rehash(instances int64) {
	f.instances = instances
	f.commit(nil)
	f.history = map[int64]map[string]int32{f.version: f.entries}
}

// pend lets a plan be carried out.
func (f *feed) pend(set map[string]int32, unset []string, instances int64) {
	f.plans++
	f.pending = &wire.PendingTable{
		Plan: fmt.Sprint("p", f.plans), Version: f.version + 1, Phase: wire.PendingTablePhaseHandingOver,
		Executor: "driver", Awaits: []int32{0, 1}, Hash: &wire.Hash{Function: new(wire.HashFunctionModulo)},
		Instances: upTo(instances), Set: new(encode(set)), Unset: new(encodeKeys(unset)),
	}
}

func upTo(n int64) (all []wire.Instance) {
	for i := range n {
		all = append(all, wire.Instance{Id: int32(i), Name: fmt.Sprint("worker-", i)})
	}
	return all
}

func encode(entries map[string]int32) []wire.RoutingTableEntry {
	out := []wire.RoutingTableEntry{}
	for key, instance := range entries {
		out = append(out, wire.RoutingTableEntry{Key: base64.StdEncoding.EncodeToString([]byte(key)), Instance: instance})
	}
	return out
}

func encodeKeys(keys []string) []string {
	out := []string{}
	for _, key := range keys {
		out = append(out, base64.StdEncoding.EncodeToString([]byte(key)))
	}
	return out
}

func (f *feed) etag() string {
	if f.pending == nil {
		return strconv.Quote(fmt.Sprint(f.version))
	}
	return strconv.Quote(fmt.Sprint(f.version, f.pending.Plan, f.pending.Phase, f.pending.ExecutorEpoch))
}

// RoundTrip implements http.RoundTripper.
func (f *feed) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if err := f.serve(w, r); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (f *feed) serve(w *httptest.ResponseRecorder, r *http.Request) error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	f.asked++
	q := r.URL.Query()
	since, err := strconv.ParseInt(q.Get("since"), 10, 64)
	follows := err == nil
	wait, _ := time.ParseDuration(q.Get("wait"))
	end := time.After(wait)
	known, asked := r.Header.Get("If-None-Match"), r.Context()
	for over := false; ; {
		switch {
		case asked.Err() != nil:
			return asked.Err()
		case f.away:
			return errors.New("connection refused")
		case f.broken != 0:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(f.broken)
			_, err := io.WriteString(w, `{"code":"internal"}`)
			return err
		case known != "" && known != f.etag(), known == "" && (!follows || f.version != since || f.pending != nil):
			return f.write(w, since, follows)
		case over || wait == 0:
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		changed := f.changed
		<-f.turn
		select {
		case <-changed:
		case <-end:
			over = true
		case <-asked.Done():
		}
		f.turn <- struct{}{}
	}
}

// write answers with all there is, or with what has changed.
func (f *feed) write(w *httptest.ResponseRecorder, since int64, follows bool) error {
	out := wire.RoutingTable{
		Operator: "clicks", Scheme: wire.SchemeTable, Version: f.version, Pending: f.pending,
		KeyEncoding: new(wire.AnswerKeyEncodingBase64),
	}
	before, known := f.history[since]
	if known = known && follows; known {
		for key, instance := range f.entries {
			if old, found := before[key]; !found || old != instance {
				out.Set = append(out.Set, encode(map[string]int32{key: instance})...)
			}
		}
		for key := range before {
			if _, found := f.entries[key]; !found {
				out.Unset = append(out.Unset, encodeKeys([]string{key})...)
			}
		}
	} else {
		f.full++
		out.Hash, out.Instances = &wire.Hash{Function: new(wire.HashFunctionModulo)}, new(upTo(f.instances))
		out.Entries = encode(f.entries)
	}
	if follows {
		out.FromVersion, out.Full = &since, new(!known)
	}
	text, err := json.Marshal(out)
	if f.cut {
		text = text[:len(text)/2]
	}
	w.Header().Set("ETag", f.etag())
	_, _ = w.Write(text)
	return err
}

// check holds what a router does with each key against the feed.
func (f *feed) check(t *testing.T, v *router.View, keys int) {
	t.Helper()
	if v.Table.Version() != f.version {
		t.Fatalf("version %d, want %d", v.Table.Version(), f.version)
	}
	if (v.Pending == nil) != (f.pending == nil) || v.Pending != nil &&
		(v.Pending.Plan != f.pending.Plan || v.Pending.Phase != f.pending.Phase) {
		t.Fatalf("pending %+v, want %+v", v.Pending, f.pending)
	}
	home := func(key []byte, instances int64) int32 {
		return int32(route.KeyHash(key) % uint64(instances))
	}
	for i := range keys {
		key := keyOf(i)
		want, found := f.entries[string(key)]
		if !found {
			want = home(key, f.instances)
		}
		paused := false
		if p := f.pending; p != nil {
			then := maps.Clone(f.entries)
			for _, e := range *p.Set {
				name, _ := base64.StdEncoding.DecodeString(e.Key)
				then[string(name)], paused = e.Instance, paused || string(name) == string(key)
			}
			for _, e := range *p.Unset {
				name, _ := base64.StdEncoding.DecodeString(e)
				delete(then, string(name))
				paused = paused || string(name) == string(key)
			}
			to, found := then[string(key)]
			if !found {
				to = home(key, int64(len(p.Instances)))
			}
			paused = paused || to != want
		}
		at, err := v.Table.Lookup(key)
		if err != nil || at.Instance != want || at.Paused != paused {
			t.Fatalf("%q goes to %d, paused %v, %v; want %d, %v", key, at.Instance, at.Paused, err, want, paused)
		}
	}
}

// keyOf names keys, of which some are not UTF-8.
func keyOf(i int) []byte {
	if i%7 == 0 {
		return []byte{0xff, byte(i)}
	}
	return []byte(fmt.Sprint("key-", i))
}

// open returns a follower of a feed.
func open(t *testing.T, f *feed, file string) *router.Follower {
	t.Helper()
	c, err := client.New("http://plannerd.example", client.Config{
		HTTP: &http.Client{Transport: f}, Retry: client.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	follower, err := router.Open(router.Config{Source: c, Operator: "clicks", Router: "r1", File: file})
	if err != nil {
		t.Fatal(err)
	}
	return follower
}

// run runs a follower until the function that it returns is called.
func run(t *testing.T, f *router.Follower) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returns %v", err)
		}
	}
}

// TestFollow: whatever happens to the server, the router and the table, the router comes
// to know the table, and while it does not it has the last one that it knew.
func TestFollow(t *testing.T) {
	const keys, steps = 60, 300
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "table")
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 22))
				f := newFeed()
				follower := open(t, f, file)
				stop := run(t, follower)
				drawn := func() (set map[string]int32, unset []string) {
					set = map[string]int32{}
					for range rng.IntN(9) {
						set[string(keyOf(rng.IntN(keys)))] = rng.Int32N(3)
					}
					for key := range f.entries {
						if _, found := set[key]; !found && rng.IntN(9) == 0 {
							unset = append(unset, key)
						}
					}
					return set, unset
				}
				did := map[string]int{}
				for range steps {
					what := []string{
						"commit", "commit", "pend", "pend", "phase", "abort", "rehash", "purge", "away", "500", "cut", "well",
						"restart", "wait",
					}[rng.IntN(14)]
					did[what]++
					f.do(func() {
						switch what {
						case "commit":
							set, unset := drawn()
							f.commit(set, unset...)
						case "pend":
							set, unset := drawn()
							f.pend(set, unset, f.instances+rng.Int64N(2))
						case "phase":
							if f.pending != nil {
								aborting := *f.pending
								aborting.Phase = wire.PendingTablePhaseAborting
								f.pending = &aborting
							}
						case "abort":
							f.pending = nil
						case "rehash":
							f.rehash(3 + rng.Int64N(3))
						case "purge":
							f.history = map[int64]map[string]int32{f.version: f.entries}
						case "away":
							f.away = true
						case "500":
							f.broken = 500
						case "cut":
							f.cut = true
						case "well":
							f.away, f.broken, f.cut = false, 0, false
						}
					})
					if what == "restart" {
						stop()
						before := follower.View()
						follower = open(t, f, file)
						sameView(t, before, follower, keys)
						stop = run(t, follower)
					}
					if rng.IntN(2) == 0 {
						time.Sleep(time.Duration(rng.IntN(40)) * time.Second)
						synctest.Wait()
					}
					if well := !f.away && f.broken == 0 && !f.cut; well && what == "wait" {
						time.Sleep(7 * time.Second) // the longest pause, and an answer
						synctest.Wait()
						f.check(t, follower.View(), keys)
						if s := follower.Status(); s.Err != nil || s.FileErr != nil || time.Since(s.Confirmed) > time.Minute {
							t.Fatalf("%+v", s)
						}
					}
				}
				stop()
				if len(did) != 12 {
					t.Errorf("not all things happened: %v", did)
				}
			})
		})
	}
}

// sameView: a router that was restarted does with all keys what it did before.
func sameView(t *testing.T, before *router.View, after *router.Follower, keys int) {
	t.Helper()
	if before == nil {
		return
	}
	now := after.View()
	if now == nil || !now.Kept || now.Table.Version() != before.Table.Version() ||
		now.ConfigVersion != before.ConfigVersion || (now.Pending == nil) != (before.Pending == nil) {
		t.Fatalf("%+v after a restart, before it %+v: %v", now, before, after.Status().FileErr)
	}
	if now.Name(0) != "worker-0" || after.Name(1) != "worker-1" || now.Name(99) != "" {
		t.Errorf("names %q, %q, %q", now.Name(0), after.Name(1), now.Name(99))
	}
	for i := range keys {
		a, errA := before.Table.Lookup(keyOf(i))
		b, errB := after.Lookup(keyOf(i))
		if errA != nil || errB != nil || a.Instance != b.Instance || a.Paused != b.Paused {
			t.Fatalf("%q: %+v %v before, %+v %v after a restart", keyOf(i), a, errA, b, errB)
		}
	}
}

// TestNoTable: without a file and a server there is no table, and nobody waits in vain.
func TestNoTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.away = true
		follower := open(t, f, "")
		defer run(t, follower)()
		if _, err := follower.Lookup([]byte("a")); !errors.Is(err, router.ErrNoTable) || follower.View() != nil {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := follower.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ready returns %v", err)
		}
		if s := follower.Status(); s.Err == nil || !s.Confirmed.IsZero() {
			t.Errorf("%+v", s)
		}
		// Pauses are 2.5 s in the mean once they have grown.
		if n := f.requests(); n < 15 || n > 60 {
			t.Errorf("%d requests in a minute", n)
		}
		f.do(func() { f.away = false })
		if err := follower.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPromptly: a change is known at once, and the whole table is asked for once, also by a
// router that is restarted.
func TestPromptly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table")
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		follower := open(t, f, file)
		stop := run(t, follower)
		v, err := follower.Next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		asked := f.requests()
		time.Sleep(10*time.Minute + time.Second)
		if n := f.requests() - asked; n != 20 {
			t.Errorf("%d requests in 10 minutes without news, want 20", n)
		}
		for i := range 10 {
			before := time.Now()
			f.do(func() {
				if i%2 == 0 {
					f.pend(map[string]int32{"a": 2}, nil, 3)
				} else {
					f.commit(map[string]int32{"a": 2})
				}
			})
			if v, err = follower.Next(t.Context(), v); err != nil || time.Since(before) != 0 {
				t.Fatalf("%v after %v", err, time.Since(before))
			}
			f.check(t, v, 5)
		}
		stop()
		follower = open(t, f, file)
		kept := follower.View()
		defer run(t, follower)()
		if v, err = follower.Next(t.Context(), kept); err != nil || v.Kept {
			t.Fatalf("%+v %v", v, err)
		}
		if f.full != 1 {
			t.Errorf("%d answers with the whole table, want 1", f.full)
		}
	})
}

// TestShutDown: a server that answers before its time that there is nothing new is not
// asked again and again.
func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c, err := client.New("http://plannerd.example", client.Config{HTTP: &http.Client{Transport: transport(
			func(r *http.Request) (*http.Response, error) {
				asked++
				w := httptest.NewRecorder()
				if r.Header.Get("If-None-Match") != "" {
					w.WriteHeader(http.StatusNotModified)
					return w.Result(), nil
				}
				err := newFeed().write(w, 0, false)
				return w.Result(), err
			})}})
		if err != nil {
			t.Fatal(err)
		}
		follower, err := router.Open(router.Config{Source: c, Operator: "clicks"})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, follower)
		time.Sleep(time.Minute)
		stop()
		if v := follower.View(); v == nil || v.Kept || asked < 20 || asked > 90 {
			t.Errorf("%d requests in a minute, %+v", asked, v)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestConfig(t *testing.T) {
	for _, c := range []router.Config{
		{}, {Operator: "clicks"}, {Source: new(client.Client)},
		{Source: new(client.Client), Operator: "clicks", Wait: time.Hour},
	} {
		if _, err := router.Open(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestFinal: what never mends ends following.
func TestFinal(t *testing.T) {
	for body, want := range map[string]error{
		`{"code":"table_not_held"}`:                                       wire.CodeTableNotHeld,
		`{"operator":"clicks","scheme":"ranges","version":1,"owners":[]}`: router.ErrScheme,
	} {
		c, err := client.New("http://plannerd.example", client.Config{HTTP: &http.Client{Transport: transport(
			func(*http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				if strings.Contains(body, "code") {
					w.Header().Set("Content-Type", "application/problem+json")
					w.WriteHeader(http.StatusConflict)
				}
				_, err := io.WriteString(w, body)
				return w.Result(), err
			})}})
		if err != nil {
			t.Fatal(err)
		}
		follower, err := router.Open(router.Config{Source: c, Operator: "clicks"})
		if err != nil {
			t.Fatal(err)
		}
		if err := follower.Run(t.Context()); !errors.Is(err, want) || !errors.Is(follower.Status().Err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestFile: what a file cannot give comes from the server, and is told.
func TestFile(t *testing.T) {
	other, err := os.ReadFile(keptBy(t, "views"))
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(keptBy(t, "clicks"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "cut": string(good[:len(good)/2]), "another operator's": string(other), "no table": `{"format":1}`,
		"a newer format": strings.Replace(string(good), `"format":1`, `"format":2`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "table")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				follower := open(t, newFeed(), file)
				if follower.View() != nil || follower.Status().FileErr == nil {
					t.Errorf("%+v %+v", follower.View(), follower.Status())
				}
				defer run(t, follower)()
				if err := follower.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if s := follower.Status(); s.FileErr != nil || s.Err != nil {
					t.Errorf("%+v", s)
				}
			})
		})
	}
	t.Run("cannot be written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			follower := open(t, newFeed(), filepath.Join(t.TempDir(), "none", "table"))
			defer run(t, follower)()
			if err := follower.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := follower.Status(); s.FileErr == nil || s.Err != nil {
				t.Errorf("%+v", s)
			}
		})
	})
}

// TestGrowth: changes are appended to the file, which is written anew before it is twice as
// long as the table, and a change that was not finished is left out.
func TestGrowth(t *testing.T) {
	const keys, commits = 2000, 400
	file := filepath.Join(t.TempDir(), "table")
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		follower := open(t, f, file)
		stop := run(t, follower)
		v, err := follower.Next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		longest, appended := int64(0), 0
		for i := range commits {
			set := map[string]int32{}
			for j := range 20 {
				set[string(keyOf((20*i+j)%keys))] = int32(i % 3)
			}
			before, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			f.do(func() { f.commit(set) })
			if v, err = follower.Next(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			after, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if longest = max(longest, after.Size()); os.SameFile(before, after) {
				appended++
			}
		}
		stop()
		if appended < commits*9/10 || appended == commits {
			t.Errorf("%d of %d changes were appended", appended, commits)
		}
		if longest > 250<<10 { // the table is 90 kB
			t.Errorf("the file was %d bytes long", longest)
		}
		log, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = log.WriteString(`{"format":1,"etag":"x","table":{"operator":"clicks","sch`)
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
		sameView(t, v, open(t, f, file), keys)
	})
}

// TestCutFile: wherever a machine failed while it wrote a change, the table is the one of
// before or the one of after it.
func TestCutFile(t *testing.T) {
	folder := t.TempDir()
	file, part := filepath.Join(folder, "table"), filepath.Join(folder, "part")
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.commit(map[string]int32{"a": 2, "b": 1})
		follower := open(t, f, file)
		stop := run(t, follower)
		v, err := follower.Next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		views := []*router.View{v}
		for i := range 6 {
			f.do(func() {
				if i%2 == 0 {
					f.pend(map[string]int32{string(keyOf(i)): 2}, []string{"b"}, 3)
				} else {
					f.commit(map[string]int32{string(keyOf(i)): 2}, "b")
				}
			})
			if v, err = follower.Next(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			views = append(views, v)
		}
		stop()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first := strings.IndexByte(string(text), '\n') + 1
		for n := first; n <= len(text); n++ {
			if err := os.WriteFile(part, text[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			sameView(t, views[strings.Count(string(text[:n]), "\n")-1], open(t, f, part), 10)
		}
		if len(text) < first+600 {
			t.Errorf("only %d bytes were appended", len(text)-first)
		}
	})
}

// BenchmarkKeep is the time from an answer until the router goes by it, with the table in a
// file: of a table of so many entries, 100 of which change.
func BenchmarkKeep(b *testing.B) {
	for _, entries := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint("entries=", entries), func(b *testing.B) {
			feed := newFeed()
			set := map[string]int32{}
			for i := range entries {
				set[fmt.Sprint("key-", i)] = 1
			}
			feed.commit(set)
			c, err := client.New("http://plannerd.example", client.Config{HTTP: &http.Client{Transport: feed}})
			if err != nil {
				b.Fatal(err)
			}
			follower, err := router.Open(router.Config{
				Source: c, Operator: "clicks", File: filepath.Join(b.TempDir(), "table")})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- follower.Run(ctx) }()
			v, err := follower.Next(ctx, nil)
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				change := map[string]int32{}
				for j := range 100 {
					change[fmt.Sprint("key-", (100*i+j)%entries)] = int32(2 + i%5)
				}
				feed.do(func() { feed.commit(change) })
				if v, err = follower.Next(ctx, v); err != nil {
					b.Fatal(err)
				}
			}
			cancel()
			<-ended
		})
	}
}

// keptBy returns a file with the table of an operator.
func keptBy(t *testing.T, operator string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "table")
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.commit(map[string]int32{"a": 2})
		w := httptest.NewRecorder()
		if err := f.write(w, 0, false); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(w.Body.String(), "clicks", operator, 1)
		c, err := client.New("http://plannerd.example", client.Config{HTTP: &http.Client{Transport: transport(
			func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Has("since") {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				w := httptest.NewRecorder()
				_, err := io.WriteString(w, text)
				return w.Result(), err
			})}})
		if err != nil {
			t.Fatal(err)
		}
		follower, err := router.Open(router.Config{Source: c, Operator: operator, File: file})
		if err != nil {
			t.Fatal(err)
		}
		defer run(t, follower)()
		if err := follower.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if left, _ := filepath.Glob(file + "*"); !slices.Equal(left, []string{file}) {
		t.Errorf("files that are left: %q", left)
	}
	return file
}

// TestSplitKeys: parts of keys, and which part of a key is routed, survive the file.
func TestSplitKeys(t *testing.T) {
	const table = `{"operator":"clicks","scheme":"table","version":4,"config_version":2,"hash":{"function":"reported","affinity":{"tag":true}},
		"routing":"least_loaded","instances":[{"id":0},{"id":1},{"id":2}],"pending":{"plan":"p","batch":1,"version":5,
		"config_version":3,"phase":"handing_over","executor":"e","executor_epoch":0,"routers":{},"awaits":[0],
		"hash":{"function":"reported"},"instances":[{"id":0},{"id":1},{"id":2}],"set":[],"unset":[]},
		"entries":[{"key":"a","instance":2,
		"parts":[{"instance":0,"weight":16384},{"instance":2,"weight":49152}]},{"key":"b","instance":1}]}`
	file := filepath.Join(t.TempDir(), "table")
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://plannerd.example", client.Config{HTTP: &http.Client{Transport: transport(
			func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Has("since") {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				w := httptest.NewRecorder()
				_, err := io.WriteString(w, table)
				return w.Result(), err
			})}})
		if err != nil {
			t.Fatal(err)
		}
		config := router.Config{Source: c, Operator: "clicks", File: file}
		first, err := router.Open(config)
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, first)
		if err := first.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop()
		second, err := router.Open(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*router.Follower{first, second} {
			at, err := f.Lookup([]byte("a"))
			if want := []route.Part{{Instance: 0, Weight: 16384}, {Instance: 2, Weight: 49152}}; err != nil ||
				at.Instance != 2 || at.Version != 4 || !slices.Equal(at.Parts(), want) {
				t.Errorf("%+v %v %v", at, at.Parts(), err)
			}
			now := f.View().Table
			if by, then := now.Routing(), now.Pending().Routing(); by != route.LeastLoaded || then != route.Weighted {
				t.Errorf("parts are chosen by %s, and then by %s", by, then)
			}
			if at, err := f.Lookup([]byte("other{b}")); err != nil || at.Instance != 1 || !at.Paused {
				t.Errorf("%+v, %v: a key whose routed key has an entry, and that will have none", at, err)
			}
			if _, err := f.Lookup([]byte("c")); !errors.Is(err, route.ErrNoRoute) {
				t.Errorf("a key without an entry: %v", err)
			}
		}
	})
}

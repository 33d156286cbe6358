package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api"
	"plannerd/store"
)

const feed = "/v1/operators/clicks/routing-table"

// feedAnswer is an answer about a routing table.
type feedAnswer struct {
	FromVersion, Version, ConfigVersion int64
	Origin                              string
	Full                                bool
	Set, Entries                        []entry
	Unset                               []string
	Tokens, Owners                      []any
	Hash                                *struct{ Function string }
	Pending                             *struct {
		Plan, Phase, Executor                 string
		Version, ConfigVersion, ExecutorEpoch int64
		Awaits                                []int32
		Instances                             []struct{ ID int32 }
		Hash                                  *struct{ Function string }
		Set                                   []entry
		Unset                                 []string
		Tokens, Owners                        []any
	}
}

func (a *answer) feed() (f feedAnswer) {
	a.Helper()
	a.want(http.StatusOK).into(&f)
	return f
}

// moving are statistics of an interval half of whose keys move; half of them are new,
// and those that they take the place of are gone.
func moving(n int) string {
	out := make([]string, 8)
	for i := range out {
		out[i] = fmt.Sprintf(`{"key":"k%d","cost":1,"hash_instance":0}`, i+4*n)
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, n, strings.Join(out, ","))
}

// plans makes a plan of an interval.
func (e *env) plans(n int) plan {
	e.Helper()
	return e.do("POST", "/v1/operators/clicks/plans", moving(n)).want(http.StatusCreated).plan()
}

// apply changes a table as a router does.
func (f feedAnswer) apply(table map[string]int32) map[string]int32 {
	if f.Full {
		table = map[string]int32{}
	}
	for _, x := range slices.Concat(f.Entries, f.Set) {
		table[x.Key] = x.Instance
	}
	for _, key := range f.Unset {
		delete(table, key)
	}
	return table
}

// TestAnotherHistory: a router that goes by a version of a history which was lost, as by a standby
// that was behind when it was promoted, gets the whole table although a version of that number
// exists, whether it waits or not.
func TestAnotherHistory(t *testing.T) {
	lost, goesOn := newEnv(t), newEnv(t)
	for i, e := range []*env{lost, goesOn} {
		e.operator("clicks", reported)
		for _, interval := range []int{1, 2 + i} { // the second version is another one
			e.verb(e.plans(interval).Id, "commit", stopped).want(http.StatusOK)
		}
	}
	known := lost.do("GET", feed+"?since=1", "")
	table, etag := lost.do("GET", feed, "").feed().apply(map[string]int32{}), "If-None-Match: "+known.header.Get("ETag")
	origin := known.feed().Origin
	for query, header := range map[string]string{
		"?since=2": etag, "?since=2&wait=30s": etag,
		"?since=2&origin=" + origin: "", "?since=2&wait=30s&origin=" + origin: "",
	} {
		f := goesOn.do("GET", feed+query, "", header).feed()
		if !f.Full || f.Version != 2 || f.Origin == origin {
			t.Errorf("%s: %+v", query, f)
		}
		equalMaps(t, query, f.apply(table), goesOn.do("GET", feed, "").feed().apply(map[string]int32{}))
	}
	for _, accept := range []string{"Accept: application/json", "Accept: text/csv"} {
		version := "If-None-Match: " + lost.do("GET", feed+"?version=2", "", accept).header.Get("ETag")
		goesOn.do("GET", feed+"?version=2", "", accept, version).want(http.StatusOK)
		lost.do("GET", feed+"?version=2", "", accept, version).want(http.StatusNotModified)
	}
	// In its own history it gets what changed.
	lost.verb(lost.plans(4).Id, "commit", stopped).want(http.StatusOK)
	if f := lost.do("GET", feed+"?since=2", "", etag).feed(); f.Full || f.Version != 3 {
		t.Errorf("%+v", f)
	}
	if f := lost.do("GET", feed+"?since=2&origin="+origin, "").feed(); f.Full || f.Version != 3 {
		t.Errorf("%+v", f)
	}
}

// TestStatisticsOfAnotherHistory: statistics that were taken under a table which was lost are refused
// although a version of that number exists, in every form that names it.
func TestStatisticsOfAnotherHistory(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	e.verb(e.plans(1).Id, "commit", stopped).want(http.StatusOK)
	rows := `"keys":[{"key":"a","cost":1,"instance":0,"hash_instance":0},{"key":"b","cost":1,"instance":1,"hash_instance":1}]`
	origin := e.do("GET", feed, "").feed().Origin
	const plans, reports = "/v1/operators/clicks/plans", "/v1/operators/clicks/intervals/9/reports/0"
	const csv = "key,cost,instance,hash_instance\na,1,0,0\nb,1,1,1\n"
	ask := func(origin string) []*answer {
		member := fmt.Sprintf(`"table_version":1,"table_origin":%q,`, origin)
		query := "table_version=1&table_origin=" + origin
		return []*answer{
			e.do("PUT", reports, "{"+member+`"keys":[{"key":"a","cost":1,"hash_instance":0}]}`),
			e.do("PUT", reports+"?"+query, "key,cost,hash_instance\na,1,0\n", "Content-Type: text/csv"),
			e.do("POST", plans, `{"interval":8,`+member+rows+"}"),
			e.do("POST", plans+"?interval=8&"+query, csv, "Content-Type: text/csv"),
		}
	}
	for _, a := range ask("0123456789ab") {
		a.fails(http.StatusConflict, "table_version_ahead", "")
	}
	for _, a := range ask(origin) {
		if a.status != http.StatusOK && a.status != http.StatusCreated {
			t.Errorf("%d: %s", a.status, a.body)
		}
	}
	e.do("POST", plans, `{"interval":10,"table_origin":"`+origin+`",`+rows+"}").
		fails(http.StatusUnprocessableEntity, "invalid", "/table_origin")
}

// TestSince: from every version the changes lead to the committed table.
func TestSince(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	tables := []map[string]int32{{}}
	for n := 1; n <= 4; n++ {
		e.verb(e.plans(n).Id, "commit", stopped).want(http.StatusOK)
		tables = append(tables, e.do("GET", feed, "").feed().apply(map[string]int32{}))
	}
	for since, table := range tables {
		f := e.do("GET", fmt.Sprintf("%s?since=%d", feed, since), "").feed()
		if f.Full || f.FromVersion != int64(since) || f.Version != 4 || f.Hash != nil || f.Pending != nil {
			t.Errorf("%+v", f)
		}
		equalMaps(t, fmt.Sprint("since ", since), f.apply(table), tables[4])
	}
	for _, unknown := range []string{"5", "9007199254740991"} {
		f := e.do("GET", feed+"?since="+unknown, "").feed()
		if !f.Full || f.Hash == nil || f.Version != 4 {
			t.Errorf("%+v", f)
		}
		equalMaps(t, "since "+unknown, f.apply(map[string]int32{"x": 1}), tables[4])
	}
	a := e.do("GET", feed+"?since=4&key_encoding=base64", "")
	e.do("GET", feed+"?since=4&key_encoding=base64", "", "If-None-Match: "+a.header.Get("ETag")).
		want(http.StatusNotModified)
	e.do("GET", feed+"?since=4", "", "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("GET", "/v1/operators/none/routing-table?since=4&wait=1s", "").
		fails(http.StatusNotFound, "operator_not_found", "")
}

// TestSinceFull: where the changes do not tell enough, the table comes whole.
func TestSinceFull(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(reported, "{", `{"retention":{"versions":1},`, 1))
	e.verb(e.plans(1).Id, "commit", stopped).want(http.StatusOK)
	e.verb(e.plans(2).Id, "commit", stopped).want(http.StatusOK)
	if f := e.do("GET", feed+"?since=0", "").feed(); !f.Full {
		t.Errorf("version 0 is not kept: %+v", f)
	}
	e = newEnv(t)
	e.operator("clicks", `{"instances":2,"hash":{"function":"modulo"}}`)
	e.do("PUT", "/v1/operators/clicks", `{"instances":[{"id":0},{"id":1,"capacity":1.5}],"hash":{"function":"modulo"}}`).
		want(http.StatusOK)
	body := `{"interval":%d,"keys":[{"key":"a","cost":1},{"key":"b","cost":1},{"key":"c","cost":1},{"key":"d","cost":5}]}`
	commit := func(n int) {
		p := e.do("POST", "/v1/operators/clicks/plans", fmt.Sprintf(body, n)).want(http.StatusCreated).plan()
		e.verb(p.Id, "commit", stopped).want(http.StatusOK)
	}
	commit(1)
	if f := e.do("GET", feed+"?since=0", "").feed(); f.Full || f.ConfigVersion != 2 {
		t.Errorf("the hash is the same: %+v", f)
	}
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"hash":{"function":"modulo"}}`).want(http.StatusOK)
	commit(2)
	if f := e.do("GET", feed+"?since=1", "").feed(); !f.Full || f.ConfigVersion != 3 {
		t.Errorf("the hash is another one: %+v", f)
	}
}

// TestPending: what is being applied is told before it is committed, and that it
// came to nothing.
func TestPending(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.plans(1)
	if f := e.do("GET", feed+"?since=0&wait=1ms", "").want(http.StatusNotModified); f.header.Get("ETag") == "" {
		t.Error("304 has no ETag")
	}
	e.verb(p.Id, "start", `{"executor":"e"}`).want(http.StatusOK)
	for _, target := range []string{feed, feed + "?since=0", feed + "?since=0&wait=1s"} {
		a := e.do("GET", target, "")
		f := a.feed()
		if f.Version != 0 || f.Pending == nil || f.Pending.Plan != p.Id || len(f.Pending.Set) != len(p.RoutingTable.Set) ||
			f.Pending.ConfigVersion != 1 {
			t.Errorf("%s: %s", target, a.body)
		}
		e.do("GET", strings.Replace(target, "1s", "1ms", 1), "", "If-None-Match: "+a.header.Get("ETag")).
			want(http.StatusNotModified)
	}
	if f := e.do("GET", feed+"?version=0", "").feed(); f.Pending != nil {
		t.Errorf("a version that never changes has something pending: %+v", f)
	}
	seen := e.do("GET", feed+"?since=0", "").header.Get("ETag")
	e.verb(p.Id, "abort", "").want(http.StatusOK)
	a := e.do("GET", feed+"?since=0&wait=60s", "", "If-None-Match: "+seen)
	if f := a.feed(); f.Pending == nil || f.Pending.Phase != "aborting" || f.Version != 0 {
		t.Errorf("%s", a.body)
	}
	e.verb(p.Id, "abort", `{"rolled_back":true}`).want(http.StatusOK)
	f := e.do("GET", feed+"?since=0&wait=60s", "", "If-None-Match: "+a.header.Get("ETag")).feed()
	if f.Pending != nil || len(f.Set) > 0 || f.Version != 1 {
		t.Errorf("%+v", f)
	}
}

// TestFeedOfSchemes: tokens and owners come whole, those that are pending too.
func TestFeedOfSchemes(t *testing.T) {
	for scheme, config := range map[string]string{
		"tokens": `{"instances":4,"scheme":"ring","hash":{"tokens_per_instance":4},"theta_max":0.01,"ring":{"method":"fitted"}}`,
		"owners": `{"instances":3,"scheme":"ranges","theta_max":0}`,
	} {
		e := newEnv(t)
		e.operator("clicks", config)
		body := strings.ReplaceAll(moving(3), `,"hash_instance":0`, "")
		p := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan()
		e.verb(p.Id, "start", `{"executor":"e"}`).want(http.StatusOK)
		f := e.do("GET", feed+"?since=0", "").feed()
		if !f.Full || f.Pending == nil {
			t.Fatalf("%s: %+v", scheme, f)
		}
		before, pending := fmt.Sprint(f.Tokens, f.Owners), fmt.Sprint(f.Pending.Tokens, f.Pending.Owners)
		e.finish(p.Id)
		f = e.do("GET", feed+"?since=0", "").feed()
		if now := fmt.Sprint(f.Tokens, f.Owners); now != pending || now == before || !f.Full || f.Pending != nil {
			t.Errorf("%s: pending was %s, then there is %s", scheme, pending, now)
		}
	}
}

// TestRouters: of many routers that wait each gets every version, in order, and its
// changes make the table.
func TestRouters(t *testing.T) {
	const routers, versions = 200, 5
	e := newEnv(t)
	e.operator("clicks", reported)
	server := httptest.NewServer(e.handler)
	defer server.Close()
	var ready, all sync.WaitGroup
	tables := make([]map[string]int32, routers)
	next := make([]chan bool, routers)
	got := make(chan error, routers)
	for i := range routers {
		next[i] = make(chan bool, 1)
		ready.Add(1)
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			tables[i] = map[string]int32{}
			ready.Done()
			for v := range versions {
				f, err := poll(t.Context(), client, fmt.Sprintf("%s%s?since=%d&wait=60s", server.URL, feed, v))
				if err == nil && (f.Version != int64(v+1) || f.FromVersion != int64(v) || f.Full) {
					err = fmt.Errorf("router %d asks since %d and gets %+v", i, v, f)
				}
				tables[i] = f.apply(tables[i])
				got <- err
				<-next[i]
			}
		})
	}
	ready.Wait()
	for n := 1; n <= versions; n++ {
		e.verb(e.plans(n).Id, "commit", stopped).want(http.StatusOK)
		for range routers {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
		for _, c := range next {
			c <- true
		}
	}
	all.Wait()
	want := e.do("GET", feed, "").feed().apply(map[string]int32{})
	for i, table := range tables {
		equalMaps(t, fmt.Sprint("router ", i), table, want)
	}
}

// poll asks once over HTTP.
func poll(ctx context.Context, client *http.Client, url string) (f feedAnswer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return f, err
	}
	response, err := client.Do(r)
	if err != nil {
		return f, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(body, &f, json.MatchCaseInsensitiveNames(true))
}

// eventful is a store whose watch is the test's.
type eventful struct {
	store.Store
	mu      sync.Mutex
	events  chan store.Event
	watches int
	err     error
}

func (w *eventful) Watch(ctx context.Context) (<-chan store.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches++
	if w.err != nil {
		return nil, w.err
	}
	out, in := make(chan store.Event), make(chan store.Event)
	w.events = in
	go func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case e, more := <-in:
				if !more {
					return
				}
				out <- e
			}
		}
	}()
	return out, nil
}

// TestWaiting: what becomes of requests that wait, by the clock.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		w := &eventful{}
		e := newEnv(t, func(c *api.Config) {
			w.Store, c.Store, c.Draining, c.Limits.Waiting = c.Store, w, draining, 2
		})
		e.operator("clicks", reported)
		wait := func(target string, headers ...string) <-chan *answer {
			out := make(chan *answer, 1)
			go func() { out <- e.do("GET", target, "", headers...) }()
			synctest.Wait()
			return out
		}
		elapsed := func(a <-chan *answer, status int, want time.Duration) {
			t.Helper()
			begin := time.Now()
			(<-a).want(status)
			if took := time.Since(begin); took != want {
				t.Errorf("it took %v, want %v", took, want)
			}
		}
		elapsed(wait(feed+"?since=0&wait=30s"), http.StatusNotModified, 30*time.Second)

		// As many wait as may, and no more.
		a, b := wait(feed+"?since=0&wait=60s"), wait(feed+"?since=0&wait=60s")
		refused := e.do("GET", feed+"?since=0&wait=60s", "").fails(http.StatusServiceUnavailable, "busy", "")
		if refused.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		// Events of others, and those that change nothing, end no waiting.
		w.events <- store.Event{Operator: "other"}
		w.events <- store.Event{Operator: "clicks"}
		synctest.Wait()
		if len(a)+len(b) > 0 {
			t.Error("answered without news")
		}
		// A commit whose event is lost is seen when the watch is back.
		p := e.plans(1)
		e.verb(p.Id, "commit", stopped).want(http.StatusOK)
		close(w.events)
		elapsed(a, http.StatusOK, time.Second)
		elapsed(b, http.StatusOK, 0)
		if w.watches != 2 {
			t.Errorf("the store was watched %d times", w.watches)
		}
		// The plain table is waited for by its ETag.
		tag := e.do("GET", feed, "").header.Get("ETag")
		a = wait(feed+"?wait=10s", "If-None-Match: "+tag)
		e.verb(e.plans(2).Id, "commit", stopped).want(http.StatusOK)
		w.events <- store.Event{}
		elapsed(a, http.StatusOK, 0)
		// One whose event is lost while the watch goes on is seen when the time is up.
		a = wait(feed + "?since=2&wait=20s")
		e.verb(e.plans(3).Id, "commit", stopped).want(http.StatusOK)
		elapsed(a, http.StatusOK, 20*time.Second)
		// Nobody waits while the server ends.
		a = wait(feed + "?since=3&wait=60s")
		close(draining)
		elapsed(a, http.StatusNotModified, 0)
		elapsed(wait(feed+"?since=3&wait=60s"), http.StatusNotModified, 0)
		// When nobody waits, nothing is watched for long: synctest sees what is left.
		time.Sleep(time.Minute)
	})
}

// TestWaitingGone: a client that hangs up waits no longer, and a store that cannot
// be watched is not waited for.
func TestWaitingGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &eventful{}
		e := newEnv(t, func(c *api.Config) { w.Store, c.Store, c.Limits.Waiting = c.Store, w, 1 })
		e.operator("clicks", reported)
		ctx, cancel := context.WithCancel(t.Context())
		cut := make(chan any, 1)
		go func() {
			defer func() { cut <- recover() }()
			e.handler.ServeHTTP(httptest.NewRecorder(), e.request(ctx, "GET", feed+"?since=0&wait=60s", http.NoBody))
		}()
		synctest.Wait()
		e.do("GET", feed+"?since=0&wait=60s", "").fails(http.StatusServiceUnavailable, "busy", "")
		cancel()
		if v := <-cut; v != any(http.ErrAbortHandler) {
			t.Errorf("it ended with %v", v)
		}
		e.do("GET", feed+"?since=0&wait=1s", "").want(http.StatusNotModified)
		time.Sleep(time.Minute)
		w.err = fmt.Errorf("10.1.2.3: %w", store.ErrUnavailable)
		e.do("GET", feed+"?since=0&wait=1s", "").fails(http.StatusServiceUnavailable, "unavailable", "")
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
		time.Sleep(2 * time.Second)
		e.do("GET", feed+"?since=0&wait=1s", "").want(http.StatusNotModified)
		time.Sleep(time.Minute)
	})
}

// gated is a store whose routing tables are read when the gate is open.
type gated struct {
	store.Store
	gate chan struct{}
}

func (g gated) TableChanges(ctx context.Context, operator string, since int64) (store.Feed, error) {
	<-g.gate
	return g.Store.TableChanges(ctx, operator, since)
}

// TestManyLateRouters: of routers that come at once after a commit none is refused for want
// of memory: what they are answered is read, and written, once.
func TestManyLateRouters(t *testing.T) {
	long, gate := &vast{}, make(chan struct{})
	e := newEnv(t, little, func(c *api.Config) {
		long.Store = gated{c.Store, gate}
		c.Store = long
	})
	e.operator("clicks", reported)
	e.verb(e.plans(1).Id, "commit", stopped).want(http.StatusOK)
	long.say(20_000) // 5 MB to read, of 14
	const routers = 50
	answers := make(chan *answer, routers)
	for range routers {
		go func() { answers <- e.do("GET", feed+"?since=0&wait=60s", "") }()
	}
	for e.metric("plannerd_table_waiters") != fmt.Sprint(routers) && len(answers) == 0 {
		time.Sleep(time.Millisecond)
	}
	close(gate)
	for range routers {
		if f := (<-answers).feed(); f.Version != 1 || len(f.Set) == 0 {
			t.Errorf("%+v", f)
		}
	}
}

package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/api"
	"plannerd/internal/input"
	"plannerd/internal/lab/livememory"
	"plannerd/store"
)

const mib = 1 << 20

// little is a budget that leaves 14 MiB for large requests, for which none waits.
func little(c *api.Config) { c.Limits.Memory, c.Limits.MemoryWait = 16*mib, time.Nanosecond }

// longKeys is a CSV body of n rows with keys of a thousand bytes.
func longKeys(n int) string {
	var b strings.Builder
	b.WriteString("key,cost\n")
	for i := range n {
		fmt.Fprintf(&b, "%08d%s,1\n", i, strings.Repeat("k", 1000))
	}
	return b.String()
}

// metric returns the value of a metric as /metrics writes it.
func (e *env) metric(name string) string {
	e.Helper()
	_, rest, found := strings.Cut(string(e.do("GET", "/metrics", "").want(http.StatusOK).body), "\n"+name+" ")
	if !found {
		e.Fatalf("no metric %s", name)
	}
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// hold has requests of two callers hold all memory for large ones, until the function that
// it returns is called.
func (e *env) hold() (release func()) {
	e.Helper()
	first, second := e.holdAs("198.51.100.1"), e.holdAs("198.51.100.2")
	return func() {
		e.Helper()
		first()
		second()
	}
}

// holdAs has a request from an address hold as much as one caller may.
func (e *env) holdAs(address string) (release func()) {
	e.Helper()
	reader, writer := io.Pipe()
	r := httptest.NewRequestWithContext(e.Context(), http.MethodPost,
		"/v1/what-if?instances=2&hash_function=modulo", reader)
	r.RemoteAddr = address + ":1234"
	r.Header.Set("Content-Type", "text/csv")
	r.ContentLength = 1 << 29
	done := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		done <- w.Code
	}()
	rows := "key,cost\na,1\n" + strings.Repeat("\n", 1<<17)
	if _, err := io.WriteString(writer, rows); err != nil { // it reads more than the beginning, so it holds
		e.Fatal(err)
	}
	return func() {
		e.Helper()
		if err := writer.Close(); err != nil {
			e.Fatal(err)
		}
		if status := <-done; status != http.StatusOK {
			e.Errorf("status %d", status)
		}
	}
}

// TestBeginningsAreReserved: what is read of the beginning of a body counts, but for the
// first of it.
func TestBeginningsAreReserved(t *testing.T) {
	e := newEnv(t, little)
	const free = 4 << 10
	for _, c := range []struct {
		sent int
		want string
	}{{free - 1, "0"}, {free + 1, "65536"}} {
		reader, writer := io.Pipe()
		done := make(chan int, 1)
		go func() { done <- e.send(t.Context(), "POST", "/v1/what-if?instances=2", reader, csv).status }()
		// The byte beyond is taken only once what it belongs to is reserved.
		for _, n := range []int{min(c.sent, free), max(0, c.sent-free)} {
			if _, err := io.WriteString(writer, strings.Repeat("\n", n)); err != nil {
				t.Fatal(err)
			}
		}
		if v := e.metric("plannerd_memory_reserved_bytes"); v != c.want {
			t.Errorf("after %d bytes %s are reserved, want %s", c.sent, v, c.want)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		<-done
	}
}

// TestSlowBodiesOfOneCaller: bodies that are announced and do not come keep out others of
// their caller, and nobody else.
func TestSlowBodiesOfOneCaller(t *testing.T) {
	e := newEnv(t, little)
	const target = "/v1/what-if?instances=2&hash_function=modulo"
	large := longKeys(1000)
	release := e.holdAs("192.0.2.1") // where the requests of tests come from
	e.do("POST", target, large, csv).fails(http.StatusTooManyRequests, "over_budget", "")
	if v := e.metric(`plannerd_memory_rejections_total{reason="share"}`); v != "1" {
		t.Errorf("%s refused", v)
	}
	release()
	defer e.holdAs("198.51.100.1")()
	e.do("POST", target, large, csv).want(http.StatusOK)
}

// TestMemoryBudget: large bodies are refused while others hold the memory, small
// ones are not, and all comes back.
func TestMemoryBudget(t *testing.T) {
	e := newEnv(t, little)
	const target = "/v1/what-if?instances=2&hash_function=modulo"
	large := longKeys(4000)
	release := e.hold()
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "1.4680064e+07" {
		t.Errorf("%s bytes reserved", v)
	}
	a := e.do("POST", target, large, csv).fails(http.StatusTooManyRequests, "over_budget", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	e.do("POST", target, "key,cost\na,1\n", csv).want(http.StatusOK)
	release()
	e.do("POST", target, large, csv).want(http.StatusOK)
	// Of unknown length, they start small.
	e.send(t.Context(), "POST", target, iotest.DataErrReader(strings.NewReader(large)), csv).want(http.StatusOK)
	// What could never fit is told so, with what it needs and what there is.
	a = e.do("POST", target, longKeys(16_000), csv).fails(http.StatusRequestEntityTooLarge, "too_large", "")
	if detail := a.problem().Detail; !strings.Contains(detail, "14 MiB") {
		t.Error(detail)
	}
	for name, want := range map[string]string{
		"plannerd_memory_reserved_bytes": "0", `plannerd_memory_requests{state="holding"}`: "0",
		`plannerd_memory_requests{state="waiting"}`: "0",
		"plannerd_memory_budget_bytes":              "1.6777216e+07", `plannerd_memory_rejections_total{reason="full"}`: "1",
		`plannerd_memory_rejections_total{reason="exceeded"}`: "1", `plannerd_memory_rejections_total{reason="stalled"}`: "0",
	} {
		if v := e.metric(name); v != want {
			t.Errorf("%s %s, want %s", name, v, want)
		}
	}
}

// vast is a store with much in it, as far as it says.
type vast struct {
	store.Store
	mu    sync.Mutex
	items int64
}

func (v *vast) say(items int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.items = items
}

func (v *vast) Operator(ctx context.Context, name string) (store.Operator, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	op, err := v.Store.Operator(ctx, name)
	op.TableSize += v.items
	return op, err
}

func (v *vast) Plan(ctx context.Context, id string) (store.Plan, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, err := v.Store.Plan(ctx, id)
	p.MigrationKeys += v.items
	return p, err
}

// TestStoredMemory: what is read from the store is of the budget, too.
func TestStoredMemory(t *testing.T) {
	long := &vast{}
	e := newEnv(t, little, func(c *api.Config) {
		long.Store = c.Store
		c.Store = long
	})
	e.operator("clicks", `{"instances":2,"hash":{"function":"modulo"},"theta_max":0}`)
	body := `{"interval":1,"keys":[{"key":"a","cost":1,"instance":0},{"key":"b","cost":1,"instance":0}]}`
	id := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan().Id
	targets := []string{
		"/v1/operators/clicks/routing-table", "/v1/plans/" + id + "?include=migrations",
		"/v1/plans/" + id + "/migrations", "/v1/plans/" + id + "/flows", "/v1/plans/" + id + "/routing-table",
		"/v1/plans/" + id + "/diff?with=" + id,
	}
	release := e.hold()
	long.say(10_000)
	for _, target := range targets {
		e.do("GET", target, "").fails(http.StatusTooManyRequests, "over_budget", "")
	}
	e.do("POST", "/v1/operators/clicks/plans", strings.Replace(body, "1", "2", 1)).
		fails(http.StatusTooManyRequests, "over_budget", "")
	release()
	long.say(10_000_000)
	// Who has the version that there is needs no memory, with its ETag or without.
	same := "/v1/operators/clicks/routing-table?since=0"
	etag := "If-None-Match: " + e.do("GET", same, "").want(http.StatusOK).header.Get("ETag")
	e.do("GET", same, "", etag).want(http.StatusNotModified)
	for _, target := range targets {
		e.do("GET", target, "").fails(http.StatusRequestEntityTooLarge, "too_large", "")
	}
	e.do("POST", "/v1/operators/clicks/plans", strings.Replace(body, "1", "2", 1)).
		fails(http.StatusRequestEntityTooLarge, "too_large", "")
	long.say(10_000)
	for _, target := range targets {
		e.do("GET", target, "").want(http.StatusOK)
	}
}

// TestStoredInput: so are stored statistics, which are much longer than they are
// kept.
// TestReportsOfLongKeys: nothing tells how long the keys of reports are before they
// are merged; then they count.
func TestReportsOfLongKeys(t *testing.T) {
	e := newEnv(t, little)
	e.operator("clicks", `{"instances":4}`)
	for d := range 4 {
		body := strings.ReplaceAll(longKeys(4000), "kkkk,", fmt.Sprintf("%04d,", d))
		e.do("PUT", reportTarget(1, d), body, csv).want(http.StatusCreated)
	}
	e.planOfReports(1, "").fails(http.StatusRequestEntityTooLarge, "too_large", "")
}

func TestStoredInput(t *testing.T) {
	const request = `{"operator":"clicks","interval":1,"schemes":["hash"]}`
	var rows strings.Builder
	rows.WriteString("key,cost\n")
	for i := range 100_000 {
		fmt.Fprintf(&rows, "%d,1\n", i)
	}
	ample := newEnv(t)
	ample.operator("clicks", `{"instances":2}`)
	ample.do("POST", "/v1/operators/clicks/plans?interval=1", rows.String(), csv).want(http.StatusCreated)
	big := ample.do("POST", "/v1/operators/clicks/plans?interval=2", rows.String(), csv).want(http.StatusCreated).life()
	ample.verb(big.ID, "commit", stopped).want(http.StatusOK)
	ample.do("POST", pkg, request).want(http.StatusOK)
	e := newEnv(t, little, func(c *api.Config) { c.Store = ample.store })
	release := e.hold()
	e.do("POST", pkg, request).fails(http.StatusTooManyRequests, "over_budget", "")
	e.do("GET", "/v1/operators/clicks/advice", "").fails(http.StatusTooManyRequests, "over_budget", "")
	release()
	ample.do("GET", "/v1/operators/clicks/advice", "").want(http.StatusOK)
	e.do("GET", "/v1/operators/clicks/advice", "").fails(http.StatusRequestEntityTooLarge, "too_large", "")
	e.do("GET", "/v1/operators/clicks/undo", "").fails(http.StatusRequestEntityTooLarge, "too_large", "")
}

// TestAllBodies: every operation that takes many rows, or any body, may be refused
// for want of memory, or cut off.
func TestAllBodies(t *testing.T) {
	e := newEnv(t, little)
	id := e.classPlan().ID
	large := longKeys(4000)
	bulk := map[string]string{
		"POST /v1/what-if?instances=2": large, "POST /v1/operators/homed/plans?interval=2": large,
		"PUT /v1/plans/" + id + "/resolution": strings.Replace(large, "cost", "from,to", 1),
	}
	e.operator("stored", `{"instances":2}`)
	stored := e.do("POST", "/v1/operators/stored/plans?interval=1", longKeys(2000), csv).want(http.StatusCreated).plan()
	bulk["PUT /v1/operators/homed/intervals/2/reports/0"] = large
	for _, k := range kinds {
		bulk["POST "+k.path()] = large
	}
	bulk["POST /v1/analyses/backtest?instances=2"] = large
	slow := map[string]string{"PUT /v1/operators/homed": "", "PUT /v1/operators/homed/routers/r": "",
		"PATCH /v1/operators/homed": "Content-Type: application/merge-patch+json"}
	for _, verb := range []string{"approve", "reject", "start", "acks", "commit", "stop", "abort", "replay", "comments"} {
		slow["POST /v1/plans/"+id+"/"+verb] = ""
	}
	for _, more := range []string{"POST /v1/operators/stored/backtest", "POST /v1/operators/stored/undo",
		"PUT /v1/operators/stored/freeze", "PUT /v1/freeze"} {
		slow[more] = ""
	}
	e.verb(stored.Id, "commit", stopped).want(http.StatusOK)
	release := e.hold()
	e.do("POST", "/v1/plans/"+stored.Id+"/replay", "").fails(http.StatusTooManyRequests, "over_budget", "")
	e.do("GET", "/v1/what-if?operator=stored", "").fails(http.StatusTooManyRequests, "over_budget", "")
	e.do("GET", "/v1/operators/stored/undo", "").fails(http.StatusTooManyRequests, "over_budget", "")
	e.do("POST", "/v1/operators/stored/backtest", "").fails(http.StatusTooManyRequests, "over_budget", "")
	for target, body := range bulk {
		method, path, _ := strings.Cut(target, " ")
		e.do(method, path, body, csv).fails(http.StatusTooManyRequests, "over_budget", "")
		slow[target] = csv
	}
	for target, media := range slow {
		if media != csv {
			method, path, _ := strings.Cut(target, " ")
			long := "{" + strings.Repeat(" ", 900<<10) + "}"
			e.do(method, path, long).fails(http.StatusTooManyRequests, "over_budget", "")
		}
	}
	release()
	for target, media := range slow {
		method, path, _ := strings.Cut(target, " ")
		body := io.MultiReader(strings.NewReader("key"), iotest.ErrReader(fmt.Errorf("reading: %w", os.ErrDeadlineExceeded)))
		headers := []string{"Content-Type: application/json"}
		if media != "" {
			headers = []string{media}
		}
		a := e.send(t.Context(), method, path, body, headers...).fails(http.StatusRequestTimeout, "too_slow", "")
		if a.header.Get("Connection") != "close" {
			t.Errorf("%s: the connection stays", target)
		}
	}
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}

// bomb is a short body that decodes into very many bytes of text.
func bomb(t *testing.T, encoding, head, filler string, length int) string {
	t.Helper()
	var b strings.Builder
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding != "gzip" {
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	_, err := io.WriteString(w, head)
	chunk := strings.Repeat(filler, mib/len(filler))
	for range length / mib {
		_, more := io.WriteString(w, chunk)
		err = errors.Join(err, more)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBombs: a short body that decodes into much is cut off at the limits, with
// little memory on the way.
func TestBombs(t *testing.T) {
	e := newEnv(t, func(c *api.Config) {
		c.Limits.Statistics = input.Limits{Bytes: 16 * mib}
		c.Limits.Memory = 32 * mib
	})
	const json, ndjson = "Content-Type: application/json", "Content-Type: application/x-ndjson"
	for _, encoding := range []string{"gzip", "zstd"} {
		for _, c := range []struct{ media, head, filler string }{
			{csv, "key,cost\n", "\n"},
			{ndjson, "", "\n"},
			{json, "{", " "},
			{json, `{"keys":[`, " "},
			{json, `{"operator":"`, "x"},
			{json, `{"routing_table":["`, `","`},
			{csv, "", "k"},
		} {
			body := bomb(t, encoding, c.head, c.filler, 32*mib)
			if ratio := 32 * mib / len(body); ratio < 500 {
				t.Fatalf("a bomb of %d:1", ratio)
			}
			most := livememory.Peak(func() {
				target := "/v1/what-if"
				if c.media != json {
					target += "?instances=2"
				}
				e.do("POST", target, body, c.media, "Content-Encoding: "+encoding).
					fails(http.StatusRequestEntityTooLarge, "too_large", "")
			})
			if most > 32*mib {
				t.Errorf("%s %q: %d MiB on the way", encoding, c.head, most/mib)
			}
		}
	}
	// Several frames are one body.
	frame := bomb(t, "zstd", "", "\n", 4*mib)
	e.do("POST", "/v1/what-if?instances=2", bomb(t, "zstd", "key,cost\n", "\n", mib)+strings.Repeat(frame, 5), csv,
		"Content-Encoding: zstd").
		fails(http.StatusRequestEntityTooLarge, "too_large", "")
	// A frame may not ask for more than a window of 8 MiB.
	e.do("POST", "/v1/what-if?instances=2", bomb(t, "zstd", "key,cost\na,1\n", "\n", 0)+"\x28\xb5\x2f\xfd\x00\xa0\x00",
		csv, "Content-Encoding: zstd").
		fails(http.StatusRequestEntityTooLarge, "too_large", "")
	// The declared length is enough to refuse.
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/what-if?instances=2",
		iotest.ErrReader(errors.New("must not be read")))
	r.Header.Set("Content-Type", "text/csv")
	r.ContentLength = 16*mib + 1
	w := httptest.NewRecorder()
	if e.handler.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestStorm: many large bodies at once hold no more memory than the budget.
func TestStorm(t *testing.T) {
	const budget = 48 * mib
	e := newEnv(t, func(c *api.Config) { c.Limits.Memory, c.Limits.MemoryWait = budget, 20*time.Millisecond })
	body := longKeys(4000)
	var mu sync.Mutex
	statuses := map[int]int{}
	most := livememory.Peak(func() {
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				var in io.Reader = strings.NewReader(body)
				if i%2 == 0 {
					in = iotest.OneByteReader(iotest.DataErrReader(strings.NewReader(body[:mib]))) // chunked, broken off
				}
				a := e.send(t.Context(), "POST", "/v1/what-if?instances=2&hash_function=modulo&plans=true", in, csv)
				mu.Lock()
				defer mu.Unlock()
				statuses[a.status]++
			})
		}
		all.Wait()
	})
	if statuses[http.StatusOK] == 0 || statuses[http.StatusOK]+statuses[http.StatusTooManyRequests]+
		statuses[badRequest] != 24 {
		t.Errorf("%v", statuses)
	}
	if most > budget {
		t.Errorf("%d MiB at most, of a budget of %d", most/mib, budget/mib)
	}
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}

// TestAnalysisParametersTakeMemory: what the parameters of an analysis make is of the
// budget, before anything is made.
func TestAnalysisParametersTakeMemory(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Memory = 64 * mib })
	for name, fields := range map[string]string{
		"ring":    `"tokens_per_instance":1048576`,
		"pkg":     `"workers":65536,"sources":[256],"schemes":["pkg"]`,
		"ranges":  `"followers":65536`,
		"schemes": `"instances":32768`,
	} {
		e.do("POST", "/v1/analyses/"+name, `{"keys":[{"key":"a","cost":1}],`+fields+`}`).
			fails(http.StatusRequestEntityTooLarge, "too_large", "")
	}
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}

// blocked is a client that takes nothing of its answer until it is let go.
type blocked struct {
	*httptest.ResponseRecorder
	begun sync.Once
	reads chan struct{} // closed when the answer has begun
	let   chan struct{}
}

func (b *blocked) Write(p []byte) (int, error) {
	b.begun.Do(func() { close(b.reads) })
	<-b.let
	return len(p), nil
}

// TestTablesBesideSlowReaders: eighteen readers of three addresses who take nothing of their answers
// hold all memory for requests, and the tables that engines read are answered all the same.
func TestTablesBesideSlowReaders(t *testing.T) {
	e := newEnv(t, little)
	e.operator("clicks", `{"instances":2,"hash":{"function":"modulo"},"approval":{"auto":"always"}}`)
	var rows strings.Builder
	rows.WriteString("key,cost,instance\n")
	for i := range 5000 {
		fmt.Fprintf(&rows, "%d,1,0\n", i)
	}
	p := e.do("POST", "/v1/operators/clicks/plans?interval=1", rows.String(), csv).want(http.StatusCreated).plan()
	e.verb(p.Id, "commit", stopped).want(http.StatusOK)
	lists := "/v1/plans/" + p.Id + "?include=migrations,routing_table"
	let := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 18 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, lists, nil)
		r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1234", i%3)
		w := &blocked{ResponseRecorder: httptest.NewRecorder(), reads: make(chan struct{}), let: let}
		ended := make(chan struct{})
		readers.Go(func() {
			defer close(ended)
			e.handler.ServeHTTP(w, r)
		})
		select {
		case <-w.reads: // it holds what it reads
		case <-ended: // there was no more memory
		}
	}
	e.do("GET", lists, "").fails(http.StatusTooManyRequests, "over_budget", "")
	const table = "/v1/operators/clicks/routing-table"
	for range 50 {
		e.do("GET", table, "").want(http.StatusOK)
		e.do("GET", table+"?since=0", "").want(http.StatusOK)
		e.do("GET", table+"?since=0&wait=1s", "").want(http.StatusOK)
	}
	// Slow readers of the table share its text, however many they are.
	for range 18 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, table, nil)
		w := &blocked{ResponseRecorder: httptest.NewRecorder(), reads: make(chan struct{}), let: let}
		ended := make(chan struct{})
		readers.Go(func() {
			defer close(ended)
			e.handler.ServeHTTP(w, r)
		})
		select {
		case <-w.reads:
		case <-ended:
			t.Fatalf("a reader of the table got %d", w.Code)
		}
	}
	e.do("GET", table, "").want(http.StatusOK)
	close(let)
	readers.Wait()
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}

// TestSmallPlansBesideOthers: while some requests hold all memory for large ones, and others as much
// as they get of what is for small ones, no plan of a few keys is refused. What the others hold they
// hold until the end, so the long wait is for other small plans only, on a slow machine too.
func TestSmallPlansBesideOthers(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Memory, c.Limits.MemoryWait = 96*mib, 5*time.Second })
	defer e.hold()()
	e.operator("others", `{"instances":2,"hash":{"function":"modulo"}}`)
	rows := "key,cost\na,1\n" + strings.Repeat("\n", 1<<17)
	var others, begun, small sync.WaitGroup
	defer others.Wait()
	for i := range 24 {
		reader, writer := io.Pipe()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/operators/others/plans?interval=1", reader)
		r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1234", 10+i)
		r.Header.Set("Content-Type", "text/csv")
		r.ContentLength = int64(mib/2 - i*15<<10)
		others.Go(func() {
			e.handler.ServeHTTP(httptest.NewRecorder(), r)
			_ = reader.Close()
		})
		begun.Go(func() { _, _ = io.WriteString(writer, rows) }) // it fails where there is no more memory
		defer writer.Close()
	}
	begun.Wait()
	for i := range 8 {
		name := fmt.Sprint("small-", i)
		e.operator(name, `{"instances":2,"hash":{"function":"modulo"}}`)
		small.Go(func() {
			for interval := range 25 {
				e.do("POST", fmt.Sprintf("/v1/operators/%s/plans?interval=%d", name, interval), "key,cost\na,1\nb,2\n", csv).
					want(http.StatusCreated)
			}
		})
	}
	small.Wait()
}

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"plannerd/api"
	"plannerd/store"
)

// TestListedPlans: a list holds nothing that grows with the operator.
func TestListedPlans(t *testing.T) {
	e, p := prepared(t)
	list := string(e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK).body)
	for _, name := range []string{`"instances"`, `"hot_keys"`} {
		if strings.Contains(list, name) {
			t.Errorf("the list has %s: %s", name, list)
		}
		if one := e.do("GET", "/v1/plans/"+p.Id, ""); !strings.Contains(string(one.body), name) {
			t.Errorf("the plan lacks %s: %s", name, one.body)
		}
	}
	if !strings.Contains(list, `"id":"`+p.Id+`"`) || !strings.Contains(list, `"drifted_keys"`) ||
		!strings.Contains(list, `"routing_table":{"size_before":0,`) {
		t.Errorf("%s", list)
	}
	// A repeated request answers with the whole plan, found through the list.
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	again := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":1,"keys":[{"key":"a","cost":1},{"key":"b","cost":2},{"key":"c","cost":4},{"key":"d","cost":4}]}`)
	if body := string(again.want(http.StatusOK).body); !strings.Contains(body, `"instances":[`) ||
		!strings.Contains(body, `"hot_keys":[`) {
		t.Errorf("%s", body)
	}
}

type operatorPage struct {
	Operators     []struct{ Name string }
	NextPageToken *string
}

// names returns the names on all pages, and how many each page has.
func (e *env) names(target string) (names []string, lengths []int) {
	e.Helper()
	for token := ""; ; {
		var page operatorPage
		e.do("GET", target+token, "").want(http.StatusOK).into(&page)
		lengths = append(lengths, len(page.Operators))
		for _, op := range page.Operators {
			names = append(names, op.Name)
		}
		if page.NextPageToken == nil {
			return names, lengths
		}
		token = "&page_token=" + *page.NextPageToken
	}
}

// TestOperatorPages: pages are as long as asked for, whatever the store is asked.
func TestOperatorPages(t *testing.T) {
	e := newEnv(t)
	want := ""
	for i := range 23 {
		name := fmt.Sprintf("op-%02d", i)
		e.operator(name, `{"instances":1}`)
		want += name
	}
	for size, pages := range map[int]string{1: "", 7: "[7 7 7 2]", 10: "[10 10 3]", 22: "[22 1]", 23: "[23]", 24: "[23]",
		1000: "[23]"} {
		names, lengths := e.names(fmt.Sprintf("/v1/operators?page_size=%d", size))
		if strings.Join(names, "") != want || pages != "" && fmt.Sprint(lengths) != pages {
			t.Errorf("page_size %d: pages of %v: %v", size, lengths, names)
		}
	}
}

// asked notes how many operators a store was asked for at once.
type asked struct {
	store.Store
	most int
}

func (a *asked) Operators(ctx context.Context, after string, limit int) ([]store.Operator, error) {
	a.most = max(a.most, limit)
	return a.Store.Operators(ctx, after, limit)
}

// TestOperatorPagesAreShort: a page ends at some MiB, so that operators with very
// many instances do not take all memory.
func TestOperatorPagesAreShort(t *testing.T) {
	counted := &asked{}
	e := newEnv(t, func(c *api.Config) {
		counted.Store = c.Store
		c.Store = counted
	})
	e.operator("op-0", `{"instances":1,"hash":{"function":"kafka","partitions":1,"assignment":[0]}}`)
	op, err := e.store.Operator(t.Context(), "op-0")
	if err != nil {
		t.Fatal(err)
	}
	const partitions = 400_000
	long := strings.NewReplacer(`"partitions":1,`, fmt.Sprintf(`"partitions":%d,`, partitions), "[0]", "[0"+
		strings.Repeat(",0", partitions-1)+"]").
		Replace(string(op.Config))
	for i := range 7 {
		if _, _, err := e.store.PutOperator(t.Context(), fmt.Sprintf("op-%d", i), []byte(long), op.CreatedAt); err != nil {
			t.Fatal(err)
		}
	}
	get := func(target string) (page operatorPage, length int) {
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
		a := &answer{TB: t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
		a.want(http.StatusOK).into(&page)
		return page, len(a.body)
	}
	first, length := get("/v1/operators?page_size=1000")
	if len(first.Operators) != 6 || length > 5<<20 || first.NextPageToken == nil {
		t.Fatalf("%d operators in %d bytes", len(first.Operators), length)
	}
	second, _ := get("/v1/operators?page_size=1000&page_token=" + *first.NextPageToken)
	if len(second.Operators) != 1 || second.Operators[0].Name != "op-6" || second.NextPageToken != nil {
		t.Errorf("%+v", second)
	}
	if counted.most > 16 {
		t.Errorf("the store was asked for %d operators at once", counted.most)
	}
}

// tableReads counts how often a store was asked for a routing table.
type tableReads struct {
	store.Store
	reads int
}

func (r *tableReads) Table(ctx context.Context, operator string, version *int64) (store.Table, error) {
	r.reads++
	return r.Store.Table(ctx, operator, version)
}

// TestTableIsReadOnce: each version of a routing table is read once for planning,
// also when an operator is deleted and created again.
func TestTableIsReadOnce(t *testing.T) {
	counted := &tableReads{}
	e := newEnv(t, func(c *api.Config) {
		counted.Store = c.Store
		c.Store = counted
	})
	post := func(interval int) (p struct{ ID string }) {
		body := fmt.Sprintf(
			`{"interval":%d,"keys":[{"key":"a","cost":%d,"hash_instance":0},{"key":"b","cost":%[1]d,"hash_instance":0}]}`,
			interval, interval)
		e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).into(&p)
		return p
	}
	for round := 1; round < 3; round++ {
		e.operator("clicks", `{"instances":2,"theta_max":0,"hash":{"function":"reported"}}`)
		post(1)
		p := post(2)
		e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
		post(3)
		post(4)
		if counted.reads != 2*round {
			t.Errorf("round %d: the table was read %d times", round, counted.reads)
		}
		e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	}
}

// TestRingIsBuiltOnce: however many requests want it at the same time, and not
// by reconfiguring the operator, which would throw it away.
func TestRingIsBuiltOnce(t *testing.T) {
	e := newEnv(t)
	built := func(want int) {
		t.Helper()
		metrics := string(e.do("GET", "/metrics", "").want(http.StatusOK).body)
		if !strings.Contains(metrics, fmt.Sprintf("\nplannerd_hash_functions_built_total %d\n", want)) {
			t.Errorf("not %d built: %s", want, metrics[strings.Index(metrics, "plannerd_hash_functions"):][:200])
		}
	}
	e.operator("clicks", `{"instances":2000}`)
	built(0)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { e.do("GET", fmt.Sprintf("/v1/operators/clicks/route?key=%d", i), "").want(http.StatusOK) })
	}
	all.Wait()
	built(1)
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
	built(1)
	whatIf := `{"operator":{"instances":300},"keys":[{"key":"a","cost":1}],"strategies":["mixed","llfd"],"parameters":{"beta":[1,2]}}`
	e.do("POST", "/v1/what-if", whatIf).want(http.StatusOK)
	e.do("POST", "/v1/what-if", whatIf).want(http.StatusOK)
	built(2)
	e.do("PUT", "/v1/operators/clicks", `{"instances":4000}`).want(http.StatusOK)
	built(2)
}

func TestTooManyTokens(t *testing.T) {
	e, _ := prepared(t)
	put := func(name, body, where string) refusal {
		return refusal{name, "PUT", "/v1/operators/clicks", body, nil, unprocessable, "invalid", where}
	}
	e.refused(t, []refusal{
		put("by default", `{"instances":32769}`, "/hash/tokens_per_instance"),
		put("for each", `{"instances":65,"hash":{"tokens_per_instance":65536}}`, "/hash/tokens_per_instance"),
		{"what-if", "POST", "/v1/what-if?instances=32769", "key,cost\na,1\n", []string{csv}, unprocessable, "invalid",
			"?tokens_per_instance"},
	})
	e.do("PUT", "/v1/operators/clicks", `{"instances":32768}`).want(http.StatusOK)
}

package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"plannerd/api"
)

// TestListETags: every representation with long lists has an ETag of its own, which
// lasts as long as it does, and by which it is known without its lists.
func TestListETags(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) { f.Store = c.Store; c.Store = f })
	e.operator("clicks", reported)
	created := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated)
	plan, table := "/v1/plans/"+created.plan().Id, "/v1/operators/clicks/routing-table"

	seen := map[string]string{}
	tag := func(target, accept string) string {
		t.Helper()
		a := e.do("GET", target, "", "Accept: "+accept).want(http.StatusOK)
		etag := a.header.Get("ETag")
		body, taken := seen[etag]
		if taken && body != string(a.body) || !strings.HasPrefix(etag, `"`) {
			t.Errorf("%s as %s: the ETag %s is that of another answer", target, accept, etag)
		}
		seen[etag] = string(a.body)
		if again := e.do("GET", target, "", "Accept: "+accept).header.Get("ETag"); again != etag {
			t.Errorf("%s as %s: %s is now %s", target, accept, etag, again)
		}
		if head := e.do("HEAD", target, "", "Accept: "+accept); head.header.Get("ETag") != etag {
			t.Errorf("%s as %s: HEAD has the ETag %s", target, accept, head.header.Get("ETag"))
		}
		return etag
	}
	const js, both = "application/json", "?include=migrations,routing_table"
	if got := tag(plan, js); got != created.header.Get("ETag") {
		t.Errorf("POST has the ETag %s, GET %s", created.header.Get("ETag"), got)
	}
	if tag(plan+both, js) != tag(plan+"?include=routing_table,migrations", js) {
		t.Error("the order of what is included makes a difference")
	}
	tag(plan+"?include=migrations", js)
	tag(plan+"?include=routing_table", js)
	before := tag(plan+both, js)
	coded := tag(plan+both+"&key_encoding=base64", js)
	if len(seen) != 5 {
		t.Errorf("%d ETags of a plan, want 5", len(seen))
	}
	for _, accept := range []string{js, "application/x-ndjson", "text/csv"} {
		tag(table, accept)
		tag(table+"?key_encoding=base64", accept)
	}

	// Nothing long is read for a client that has it.
	for _, method := range []string{"Changes", "Migrations"} {
		f.set(method, errors.New("must not be called"))
	}
	e.do("GET", plan+both, "", "If-None-Match: "+before).want(http.StatusNotModified)
	e.do("GET", plan+both+"&key_encoding=base64", "", "If-None-Match: "+coded).want(http.StatusNotModified)
	e.do("GET", plan+both, "", "If-None-Match: "+coded).want(http.StatusInternalServerError)
	for _, method := range []string{"Changes", "Migrations"} {
		f.set(method, nil)
	}

	e.do("POST", plan+"/commit", stopped).want(http.StatusOK)
	e.do("GET", plan+both, "", "If-None-Match: "+before).want(http.StatusOK)
	tag(plan+both, js)
	tag(table, js)
	tag(table+"?version=0", js)
	tag(table, "text/csv")
}

// TestResolvedETag: other keys for the same classes are another representation,
// though the plan says the same of them.
func TestResolvedETag(t *testing.T) {
	e := newEnv(t)
	e.operator("classes", allAtHome)
	plan := "/v1/plans/" + e.do("POST", "/v1/operators/classes/plans",
		`{"interval":1,"compact":{"degree":8,"records":[[0,0,1,1,8]]}}`).want(http.StatusCreated).compacted().ID
	var tags, plain []string
	for _, name := range []string{"a", "b", "a"} {
		rows := "key,from,to\n"
		for i := range 4 {
			rows += fmt.Sprintf("%s%d,0,1\n", name, i)
		}
		e.do("PUT", plan+"/resolution", rows, csv).want(http.StatusOK)
		plain = append(plain, e.do("GET", plan, "").want(http.StatusOK).header.Get("ETag"))
		a := e.do("GET", plan+"?include=routing_table", "").want(http.StatusOK)
		tags = append(tags, a.header.Get("ETag"))
		if !strings.Contains(string(a.body), `"set":[{"key":"`+name+`0"`) {
			t.Errorf("%s", a.body)
		}
		e.do("GET", plan+"?include=routing_table", "", "If-None-Match: "+tags[len(tags)-1]).want(http.StatusNotModified)
	}
	if plain[0] != plain[1] || tags[0] == tags[1] || tags[0] != tags[2] {
		t.Errorf("%v without lists, %v with", plain, tags)
	}
}

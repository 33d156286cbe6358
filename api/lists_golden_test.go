package api_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/api"
)

var update = flag.Bool("update", false, "write the golden files")

// TestListsGolden: what answers with long lists look like, byte for byte. Whoever
// changes them raises listRevision.
func TestListsGolden(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	e := newEnv(t, func(c *api.Config) { c.Now = func() time.Time { return noon } })
	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	head := regexp.MustCompile(`\{"(?:id|strategy)":.*?,"(routing_table|ring|ranges)":\{`) // it says nothing of the lists
	origins := regexp.MustCompile(`"origin":"[0-9a-f]{12}"`)
	tokens := regexp.MustCompile(`"next_page_token":"[^"]+"`) // they are of a plan's path
	var out strings.Builder
	show := func(a *answer, what string) {
		t.Helper()
		a.want(http.StatusOK)
		body := tokens.ReplaceAllString(ids.ReplaceAllString(string(a.body), "ID"), `"next_page_token":"…"`)
		body = origins.ReplaceAllString(body, `"origin":"…"`)
		body = head.ReplaceAllString(body, `{…,"$1":{`)
		fmt.Fprintf(&out, "== %s\n%s\n%s\n", ids.ReplaceAllString(what, "ID"), a.header.Get("Content-Type"), body)
	}
	get := func(target string, headers ...string) {
		t.Helper()
		show(e.do("GET", target, "", headers...), target+" "+strings.Join(headers, " "))
	}
	kinds := []string{"Accept: application/json", "Accept: application/x-ndjson", "Accept: text/csv"}
	plan := func(operator, body string) string {
		t.Helper()
		a := e.do("POST", "/v1/operators/"+operator+"/plans", body).want(http.StatusCreated)
		a.status = http.StatusOK
		show(a, "POST "+operator)
		id := a.plan().Id
		path := "/v1/plans/" + id
		for _, include := range []string{"", "?include=migrations", "?include=routing_table",
			"?include=migrations,routing_table&key_encoding=base64"} {
			get(path + include)
		}
		for _, accept := range kinds {
			get(path+"/migrations", accept)
		}
		e.do("POST", path+"/commit", stopped).want(http.StatusOK)
		for _, accept := range kinds {
			get("/v1/operators/"+operator+"/routing-table", accept)
		}
		return path
	}
	keyed := func(path string) {
		t.Helper()
		for _, accept := range kinds {
			get(path+"/routing-table", accept)
			get(path+"/routing-table?key_encoding=base64&instance=1", accept)
			get(path+"/migrations?sort=cost&key_prefix=k", accept)
		}
		get(path + "/migrations?page_size=1&sort=state")
		get(path + "/routing-table?page_size=1")
	}

	e.operator("keys", reported)
	keyed(plan("keys", interval(1, "")))
	// Entries are removed as well, and altered.
	later := strings.NewReplacer(`"cost":7`, `"cost":1`, `"cost":1,`, `"cost":9,`, `"key":"k6"`, `"key":"a \"b\",c"`).
		Replace(interval(2, ""))
	keyed(plan("keys", later))
	e.operator("binary", reported)
	keyed(
		plan("binary",
			`{"interval":1,"key_encoding":"base64","keys":[{"key":"/wA=","cost":3,"instance":0,"hash_instance":0},{"key":"YQ==","cost":2.5,"instance":0,"hash_instance":1}]}`))

	e.operator("ring", ringConfig)
	plan("ring", load(1, heavyFirst(40)...))
	e.operator("ranges", rangesConfig)
	plan("ranges", `{"interval":1,"keys":[{"key":"a","cost":3},{"key":"b\"","cost":2},{"key":"c","cost":9}]}`)

	const classes = `"compact":{"degree":8,"records":[[0,0,4,1,3],[0,0,2,2,4],[1,1,2,1,1]]}`
	e.operator("classes", strings.Replace(reported, "{", `{"table_owner":"engine",`, 1))
	path := "/v1/plans/" + e.do("POST", "/v1/operators/classes/plans", `{"interval":1,`+classes+`}`).
		want(http.StatusCreated).compacted().ID
	get(path + "?include=migrations,routing_table")
	for _, accept := range kinds {
		get(path+"/migrations?sort=count", accept)
	}
	operator := `{"operator":` + reported + `,"plans":true,"strategies":["mixed","llfd"],`
	show(e.do("POST", "/v1/what-if", operator+`"keys":[`+jsonRows(figure4)+`]}`), "what-if")
	show(e.do("POST", "/v1/what-if", operator+classes+`}`), "what-if of classes")

	const file = "testdata/lists.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}

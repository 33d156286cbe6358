package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// The names of instances: one as people give them, one that would be markup or a style, one
// that turns the text around it, and one as long as names can be.
var (
	markup = `<img src=x onerror="document.title='taken'">{id|b}{b}`
	turned = "worker-\u202ec"
	long   = strings.Repeat("w", 250) + "-tail"
	named  = []string{"worker-a", markup, turned, long}
)

// TestNames: instances are shown by their names wherever they are shown, nothing of a name is
// interpreted, the layout holds, and filters take names.
func TestNames(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	api := server.URL + "/v1/operators/named"
	tell(t, http.MethodPut, api, "", object{"instances": named, "theta_max": 0.02, "hash": object{"function": "modulo"}}, nil)
	for i, name := range named {
		if name == markup {
			continue // it does not report
		}
		var keys []object
		for k := range 20 * (i + 1) {
			keys = append(keys, object{"key": fmt.Sprintf("key-%d-%d", i, k), "cost": 1 + k%3, "state": 1})
		}
		tell(t, http.MethodPut, api+"/intervals/1/reports/"+url.PathEscape(name), "", object{"keys": keys}, nil)
	}
	var p planned
	tell(t, http.MethodPost, api+"/plans", "", object{"interval": 1, "missing": "freeze"}, &p)
	place := "/#/plans/" + p.ID
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+p.ID+"/start", "", object{"executor": "job-manager-1"}, nil)

	page := open(t, server.URL, place, ".migrations .instance")
	page.WaitText("main", "waits for worker-a")
	page.WaitText(".plan-said", `Frozen: <img src=x`)
	want := []string{"worker-a", markup, `worker-\u{202e}c`, long}
	page.Click(".plan-loads .chart-data summary")
	page.WaitFor(".plan-loads table")
	if got := column(page, "Load of", 0); !slices.Equal(got, want) {
		t.Errorf("loads are those of %q", got)
	}
	if got := browsertest.Eval[string](page, `document.querySelector('.plan-acks .instance').title`); got != "worker-a: instance 0" {
		t.Errorf("the id is told by %q", got)
	}
	page.Fill(".migrations-text input", long)
	page.WaitUntil(`new URLSearchParams(location.hash.split('?')[1]).get('instance')?.endsWith('-tail')`)
	page.WaitText(".migrations-count", "match")
	page.Fill(".migrations-text input", "worker-b")
	page.WaitText(".migrations-wrong", "the name of one of this plan")
	look(t, page, place, "plan-names", ".migrations .instance")
	glance(t, 1, page, place+"?flow=matrix&loads=absolute&list=table-changes", "plan-names-matrix", ".migrations .instance")

	widen(page).Goto("/#/operators/named/configuration")
	page.WaitText("main", "Missing: <img src=x")
	page.WaitText("main", `"worker-a"`)
	glance(t, 1, page, "/#/operators/named/configuration", "configuration-names", ".instance")
	widen(page).Goto("/#/operators/named/key?key=key-0-1")
	page.WaitText("main", "goes to instance")
	glance(t, 1, page, "/#/operators/named/key?key=key-3-1", "key-names", ".operator-story")
	if title := browsertest.Eval[string](page, "document.title"); title == "taken" || page.Count("main img") > 0 {
		t.Error("a name was interpreted")
	}
}

package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd"
	"plannerd/api"
)

func TestService(t *testing.T) {
	e, p := prepared(t)
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	e.do("GET", "/healthz", "").want(http.StatusOK)
	e.do("GET", "/readyz", "").want(http.StatusOK)
	if a := e.do("GET", "/openapi.yaml", "").want(http.StatusOK); !bytes.Equal(a.body, plannerd.OpenAPI) {
		t.Error("another contract is served")
	}
	metrics := string(e.do("GET", "/metrics", "").want(http.StatusOK).body)
	for _, line := range []string{
		`plannerd_plan_duration_seconds_count{strategy="optimal"} 1`,
		`plannerd_theta{operator="clicks",when="before"}`,
		`plannerd_theta{operator="clicks",when="after"}`,
		`plannerd_committed_state_total{operator="clicks"}`,
		`plannerd_routing_table_entries{operator="clicks"}`,
		`plannerd_http_requests_total{method="POST",route="/v1/operators/{operator}/plans",status="201"} 1`,
		`plannerd_store_duration_seconds_count{operation="create_plan",result="ok"} 1`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s", line)
		}
	}
	e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	if strings.Contains(string(e.do("GET", "/metrics", "").body), `operator="clicks"`) {
		t.Error("the metrics of a deleted operator are still there")
	}
}

// TestDocs: the guides and the contract's page load only what the server has, below
// a prefix too.
func TestDocs(t *testing.T) {
	e := newEnv(t)
	for path, scripts := range map[string]bool{"/docs": false, "/docs/tutorial": false, "/docs/api": true} {
		a := e.do("GET", path, "").want(http.StatusOK)
		csp := a.header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") != scripts {
			t.Errorf("%s: CSP %q", path, csp)
		}
		if got := a.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("%s: %s", path, got)
		}
		found := regexp.MustCompile(`(?:src|href)="([^":#]+)["#]`).FindAllStringSubmatch(string(a.body), -1)
		if len(found) < 3 {
			t.Errorf("%s", a.body)
		}
		for _, m := range found {
			to, err := (&url.URL{Path: path}).Parse(m[1])
			if err != nil || strings.HasPrefix(m[1], "/") {
				t.Errorf("%s links to %s, %v", path, m[1], err)
				continue
			}
			if to.Path != "/" { // the dashboard, which is another handler's
				e.do("GET", to.Path, "").want(http.StatusOK)
			}
		}
		if regexp.MustCompile(`(src|href)="(https?:)?//`).Match(a.body) && scripts {
			t.Error("the page loads from elsewhere")
		}
	}
	if got := e.do("GET", "/docs/dashboard.png", "").want(http.StatusOK).header.Get("Content-Type"); got != "image/png" {
		t.Errorf("the picture is %s", got)
	}
	e.do("GET", "/docs/index.html", "").want(http.StatusNotFound)
	e.do("GET", "/docs/LICENSE", "").want(http.StatusOK)
	e.do("GET", "/docs/VERSION", "").want(http.StatusOK)
	for _, target := range []string{"/docs", "/docs/plans", "/docs/api", "/docs/start.js", "/openapi.yaml"} {
		tag := e.do("GET", target, "").want(http.StatusOK).header.Get("ETag")
		e.do("GET", target, "", "If-None-Match: "+tag).want(http.StatusNotModified)
	}
}

// TestCompression: long answers are encoded as the client likes, under an ETag
// of their own that revalidates.
func TestCompression(t *testing.T) {
	e := newEnv(t)
	server := httptest.NewServer(e.handler)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	get := func(accept, etag string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/openapi.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-None-Match", etag)
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for accept, want := range map[string]string{
		"gzip": "gzip", "gzip, zstd": "zstd", "zstd;q=0.5, gzip": "gzip", "*": "zstd", "identity": "",
		"gzip;q=0": "", "br": "",
	} {
		a := get(accept, "")
		var r io.Reader = a.Body
		var err error
		switch a.Header.Get("Content-Encoding") {
		case "gzip":
			r, err = gzip.NewReader(a.Body)
		case "zstd":
			r, err = zstd.NewReader(a.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(body, plannerd.OpenAPI) || a.Header.Get("Content-Encoding") != want {
			t.Errorf("%s: %q, %v, %d bytes", accept, a.Header.Get("Content-Encoding"), err, len(body))
		}
		a.Body.Close()
		etag := a.Header.Get("ETag")
		if want != "" && !strings.HasSuffix(etag, "-"+want+`"`) {
			t.Errorf("%s: ETag %s", accept, etag)
		}
		b := get(accept, etag)
		b.Body.Close()
		if b.StatusCode != http.StatusNotModified || b.Header.Get("ETag") != etag {
			t.Errorf("%s: %d, ETag %s", accept, b.StatusCode, b.Header.Get("ETag"))
		}
	}
}

// TestDashboardTags: a browser that has a part of the dashboard, in whatever coding it
// came, is not sent it again.
func TestDashboardTags(t *testing.T) {
	e := newEnv(t, func(c *api.Config) {
		c.Dashboard = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"part"`)
			http.ServeContent(w, r, "part.js", time.Time{}, strings.NewReader(strings.Repeat("part ", 1000)))
		})
	})
	get := func(coding, tags string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "/dashboard/part.js", nil)
		r.Header.Set("Accept-Encoding", coding)
		r.Header.Set("If-None-Match", tags)
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		return w.Result()
	}
	for _, coding := range []string{"identity", "gzip", "zstd"} {
		first := get(coding, "")
		tag := first.Header.Get("ETag")
		if first.StatusCode != http.StatusOK || (first.Header.Get("Content-Encoding") == "") != (coding == "identity") {
			t.Errorf("%s: %s, coded %q", coding, first.Status, first.Header.Get("Content-Encoding"))
		}
		for _, named := range []string{tag, `"other", ` + tag, "W/" + tag} {
			if again := get(coding, named); again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != tag {
				t.Errorf("%s: %s with its own tag %s, as %s", coding, again.Status, named, again.Header.Get("ETag"))
			}
		}
		if changed := get(coding, `"older-`+coding+`"`); changed.StatusCode != http.StatusOK {
			t.Errorf("%s: %s with another tag", coding, changed.Status)
		}
	}
}

// FuzzPlans: whatever the body, the answer is documented and no failure.
func FuzzPlans(f *testing.F) {
	for _, seed := range []string{
		interval(1, ""), `{"interval":1,"columns":` + jsonColumns(figure4) + `}`, `{"interval":1,"keys":[]}`,
		`{"interval":1,"coverage":"partial","residual":[{"instance":0,"cost":1e308}],"keys":[{"key":"a","cost":1e308},{"key":"b","cost":1e308}]}`,
		`{"interval":1,"key_encoding":"base64","keys":[{"key":"//8=","cost":5e-324,"instance":1}]}`,
		"key,cost,state,instance\na,1,2,0\n\"b\"\"\",3,4,1\n", `{"key":"a","frequency":1}` + "\n" +
			`{"key":"b","frequency":2}`,
		`{"interval":1,"keys":[{"key":"a","cost":1}],"\u0000/~":{}}`,
	} {
		for kind := range uint8(3) {
			f.Add(seed, kind)
		}
	}
	e := newEnv(f)
	e.operator("ring", `{"instances":3,"theta_max":0}`)
	e.operator("reported", reported)
	f.Fuzz(func(t *testing.T, body string, kind uint8) {
		e := &env{TB: t, handler: e.handler}
		for _, operator := range []string{"ring", "reported"} {
			target, header := "/v1/operators/"+operator+"/plans", "Content-Type: application/json"
			switch kind % 3 {
			case 1:
				target, header = target+"?interval=1", ndjson
			case 2:
				target, header = target+"?interval=1", csv
			}
			a := e.do("POST", target, body, header)
			if a.status >= 500 {
				t.Errorf("%d: %s", a.status, a.body)
			}
			if a.status == http.StatusCreated {
				if p := a.plan(); p.Status == "approved" {
					e.do("POST", "/v1/plans/"+p.Id+"/abort", "").want(http.StatusOK)
				}
			}
		}
	})
}

package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"plannerd/api"
	"plannerd/internal/service/announce"
	"plannerd/internal/web/httpkit"
	"plannerd/internal/web/reload"
	"plannerd/store"
)

// names are the distinct matches of a pattern's only group, sorted.
func names(pattern, text string) (out []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func readRoot(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// chat is a receiver of webhooks that gets everything.
type chat struct{}

func (chat) Name() string                                   { return "chat" }
func (chat) Send(context.Context, store.WebhookEvent) error { return nil }

// telling has a server tell a receiver at once, and count all the time.
func telling(c *api.Config) {
	c.Webhooks.Receivers = []announce.Receiver{chat{}}
	c.Webhooks.Every, c.Limits.SweepEvery = time.Millisecond, time.Millisecond
}

// running has the server do what nobody asks for until the test ends.
func (e *env) running() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.handler.(*api.Server).Run(ctx)
	}()
	e.Cleanup(func() { cancel(); <-ended })
}

// eventually waits until /metrics has a line that matches a pattern.
func (e *env) eventually(line string) {
	e.Helper()
	pattern := regexp.MustCompile(`(?m)^` + line + `$`)
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		text := string(e.do("GET", "/metrics", "").want(http.StatusOK).body)
		if pattern.MatchString(text) {
			return
		}
		if time.Now().After(until) {
			e.Fatalf("no %s in\n%s", line, text)
		}
	}
}

// Plans that wait are seen in the metrics, and for how long they have.
func TestMetricsOfWaitingPlans(t *testing.T) {
	e := newEnv(t, telling)
	e.operator("clicks", approved)
	p := e.planned(1)
	e.running()
	e.eventually(`plannerd_plans_waiting\{status="proposed"\} 1`)
	e.clock.pass(3 * time.Minute)
	e.eventually(`plannerd_oldest_waiting_plan_seconds\{status="proposed"\} 18\d(\.\d+)?`)
	e.do("POST", "/v1/plans/"+p.ID+"/approve", "").want(http.StatusOK)
	e.eventually(`plannerd_plans_waiting\{status="approved"\} 1`)
	e.eventually(`plannerd_plans_waiting\{status="proposed"\} 0`)
	e.eventually(`plannerd_oldest_waiting_plan_seconds\{status="approved"\} \d(\.\d+)?`)
}

// Every metric is documented, every documented one exists, the alerts use no
// other, and all keep to the conventions of Prometheus.
func TestMetricsDocumented(t *testing.T) {
	e := newEnv(t, telling)
	e.running()
	e.eventually(`plannerd_webhook_events\{receiver="chat"\} 0`)
	e.do("PUT", "/v1/operators/clicks", `{"instances": 2, "hash": {"function": "modulo"}, "table_limit": 100,
		"resources": [{"name": "cpu"}, {"name": "keys", "from": "count", "theta_max": "300%"}]}`).want(http.StatusCreated)
	a := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval": 1, "keys": [{"key": "a", "cost": 5, "instance": 0}, {"key": "b", "cost": 4, "instance": 0}]}`)
	var p plan
	a.want(http.StatusCreated).into(&p)
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	e.eventually(`plannerd_webhook_deliveries_total\{receiver="chat",result="ok"\} 2`)
	e.do("POST", "/v1/analyses/ring", `{"nodes": 2, "keys": [{"key": "a", "cost": 1}]}`)
	e.do("POST", "/v1/analyses/schemes", `{"instances": 2, "keys": [{"key": "a", "cost": 1}]}`).want(http.StatusOK)

	text := string(e.do("GET", "/metrics", "").want(http.StatusOK).body)
	exist := names(`(?m)^# TYPE (plannerd_\w+) `, text)
	documented := names("(?m)^\\| `(plannerd_\\w+)` \\|", readRoot(t, "docs", "monitoring.md"))
	if diff := cmp.Diff(exist, documented); diff != "" {
		t.Errorf("metrics (-there +documented):\n%s", diff)
	}
	for _, name := range names(`\b(plannerd_\w+)`, readRoot(t, "deploy", "plannerd", "files", "alerts.yml")) {
		if !slices.Contains(exist, name) && !slices.Contains(exist, regexp.MustCompile(`_(bucket|count)$`).
			ReplaceAllString(name, "")) {
			t.Errorf("the alerts use %s, which is not there", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	for _, line := range []string{
		`plannerd_plans_total{status="approved",strategy="optimal"} 1`,
		`plannerd_plans_total{status="committed",strategy="optimal"} 1`,
		`plannerd_routing_table_limit_entries{operator="clicks"} 100`, `plannerd_theta_max{operator="clicks"} 0.08`,
		`plannerd_resource_level{operator="clicks",resource="keys",when="before"} 1`,
		`plannerd_resource_level_limit{operator="clicks",resource="keys"} 3`,
		"plannerd_http_requests_in_flight 1", // the one that asks
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

// A certificate that could not be read again is seen in the metrics.
func TestMetricsOfReloads(t *testing.T) {
	var counts reload.Counts
	e := newEnv(t, func(c *api.Config) { c.Access.Reloads = &counts })
	counts.OK.Add(2)
	counts.Failed.Add(1)
	for result, want := range map[string]string{"ok": "2", "failed": "1"} {
		if got := e.metric(`plannerd_reloads_total{result="` + result + `"}`); got != want {
			t.Errorf("%s %s", got, result)
		}
	}
}

// Connections are seen in the metrics.
func TestMetricsOfConnections(t *testing.T) {
	connections := httpkit.NewConnections(1, time.Now)
	e := newEnv(t, func(c *api.Config) { c.Connections = connections })
	for range 2 {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { theirs.Close() })
		connections.State(ours, http.StateNew)
	}
	for metric, want := range map[string]string{"plannerd_connections": "1", "plannerd_connections_closed_total": "1"} {
		if got := e.metric(metric); got != want {
			t.Errorf("%s %s, want %s", metric, got, want)
		}
	}
}

// Names of operators become labels up to a bound; the rest is summed. What is
// deleted makes room.
func TestMetricsOfManyOperators(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.OperatorMetrics = 2 })
	balance := func(operator string) {
		e.do("PUT", "/v1/operators/"+operator, `{"instances": 2, "hash": {"function": "modulo"}}`).want(http.StatusCreated)
		var p plan
		e.do("POST", "/v1/operators/"+operator+"/plans",
			`{"interval": 1, "keys": [{"key": "a", "cost": 5, "instance": 0}, {"key": "b", "cost": 5, "instance": 0}]}`).
			want(http.StatusCreated).into(&p)
		e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	}
	labelled := func() []string {
		return names(`operator="([^"]*)"`, string(e.do("GET", "/metrics", "").want(http.StatusOK).body))
	}
	for i := range 4 {
		balance(fmt.Sprint("op", i))
	}
	if diff := cmp.Diff([]string{"(other)", "op0", "op1"}, labelled()); diff != "" {
		t.Error(diff)
	}
	if got := e.metric(`plannerd_committed_keys_total{operator="(other)"}`); got != "2" {
		t.Errorf("all others: %s keys", got)
	}
	e.do("DELETE", "/v1/operators/op0", "").want(http.StatusNoContent)
	balance("op4")
	if diff := cmp.Diff([]string{"(other)", "op1", "op4"}, labelled()); diff != "" {
		t.Error(diff)
	}
}

package plannerdtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// faulty answers 500 to as many requests as it is told.
type faulty struct{ left atomic.Int32 }

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.left.Add(-1) >= 0 {
		return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// following is a follower that runs.
type following struct {
	*router.Follower
	stop func()
}

func follow(t *testing.T, server *plannerdtest.Server, through http.RoundTripper, file string) following {
	t.Helper()
	c, err := client.New(server.URL, client.Config{
		HTTP: &http.Client{Transport: through}, Retry: client.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := router.Open(router.Config{
		Source: c, Operator: "clicks", Router: "r1", File: file, Wait: time.Second, Cap: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return following{f, func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returns %v", err)
		}
	}}
}

// reach waits until a view is as it should be.
func (f following) reach(t *testing.T, is func(*router.View) bool) *router.View {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for v := f.View(); ; {
		if v != nil && !v.Kept && is(v) {
			return v
		}
		var err error
		if v, err = f.Next(ctx, v); err != nil {
			t.Fatalf("%v; the view is %+v, the status %+v", err, f.View(), f.Status())
		}
	}
}

// same holds a router's routes against the server's.
func same(t *testing.T, c *client.Client, f following, keys int) {
	t.Helper()
	for i := range keys {
		key := testKey(i)
		want, err := c.Route(t.Context(), "clicks", key)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := f.Lookup(key); err != nil || at.Instance != want.Instance || at.Version != want.Version {
			t.Errorf("%q goes to %+v %v, the server says %+v", key, at, err, want)
		}
	}
}

func testKey(i int) []byte {
	if i%5 == 0 {
		return []byte{0xfe, byte(i)}
	}
	return fmt.Appendf(nil, "key-%d", i)
}

// TestFollower: a router follows the real feed through plans that are carried out and
// aborted, other instances, versions that are purged, errors, and a server that is away.
func TestFollower(t *testing.T) {
	const keys = 40
	server := plannerdtest.NewServer(t)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c, ctx := server.Client(), t.Context()
	configure := func(instances int32) {
		t.Helper()
		configuration := wire.OperatorConfiguration{
			ThetaMax: new(0.0), Hash: &wire.Hash{Function: new(wire.HashFunctionModulo)},
			Policy:    new(wire.PolicyChoice(map[string]any{"forecast": map[string]any{"method": "last"}})),
			Retention: &wire.Retention{Versions: new(int32(2))},
		}
		for i := range instances {
			configuration.Instances = append(configuration.Instances, wire.InstanceOptions{Id: &i})
		}
		if _, err := c.PutOperator(ctx, "clicks", configuration); err != nil {
			t.Fatal(err)
		}
	}
	configure(3)
	rng, interval := rand.New(rand.NewPCG(1, 22)), int64(0)
	plan := func() *wire.Plan {
		t.Helper()
		rows := make([]client.Row, keys)
		for i := range rows {
			rows[i] = client.Row{Key: testKey(i), Cost: rng.Float64(), State: 1}
		}
		interval++
		p, err := c.CreatePlanFrom(ctx, "clicks", wire.PlanRequest{Interval: interval},
			client.Statistics{Rows: client.Rows(rows), Count: keys})
		if err != nil {
			t.Fatal(err)
		}
		if p.Status != wire.PlanStatusApproved {
			t.Fatalf("plan %s is %s: %v", p.Id, p.Status, p.Causes)
		}
		return p
	}
	start := func(p *wire.Plan) *wire.Plan {
		t.Helper()
		p, err := c.StartPlan(ctx, p.Id, wire.StartRequest{Executor: "driver"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	carryOut := func() {
		t.Helper()
		p := start(plan())
		if _, err := c.AckPlan(ctx, p.Id, wire.AckRequest{Instances: wire.IDs(p.Awaits...)}); err != nil {
			t.Fatal(err)
		}
	}
	version := func() int64 {
		t.Helper()
		o, err := c.GetOperator(ctx, "clicks", client.GetOperatorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o.TableVersion
	}
	through, file := &faulty{}, filepath.Join(t.TempDir(), "clicks.table")
	f := follow(t, server, through, file)
	defer func() { f.stop() }()
	atVersion := func(v *router.View) bool { return v.Table.Version() == version() && v.Pending == nil }

	f.reach(t, atVersion)
	same(t, c, f, keys)

	// A plan is pending, and then is not.
	p := start(plan())
	v := f.reach(t, func(v *router.View) bool { return v.Pending != nil })
	paused := 0
	for i := range keys {
		if at, _ := f.Lookup(testKey(i)); at.Paused {
			paused++
		}
	}
	if v.Pending.Plan != p.Id || paused == 0 || paused == keys {
		t.Errorf("%+v is pending, %d keys are paused", v.Pending, paused)
	}
	if _, err := c.AbortPlan(ctx, p.Id, wire.AbortRequest{}); err != nil {
		t.Fatal(err)
	}
	f.reach(t, func(v *router.View) bool {
		return v.Pending != nil && v.Pending.Phase == wire.PendingTablePhaseAborting
	})
	if _, err := c.AbortPlan(ctx, p.Id, wire.AbortRequest{RolledBack: new(true)}); err != nil {
		t.Fatal(err)
	}
	f.reach(t, atVersion)
	same(t, c, f, keys)

	// Errors, and a commit meanwhile.
	through.left.Store(5)
	carryOut()
	f.reach(t, atVersion)
	same(t, c, f, keys)

	// The server goes away while a plan is pending, and both restart.
	p = start(plan())
	f.reach(t, func(v *router.View) bool { return v.Pending != nil })
	server.Stop()
	f.stop()
	f = follow(t, server, through, file)
	if at, err := f.Lookup(testKey(1)); err != nil || !f.View().Kept || f.View().Pending.Plan != p.Id {
		t.Errorf("%+v %v of a router that restarts while the server is away: %+v", at, err, f.View())
	}
	server.Start()
	f.reach(t, func(v *router.View) bool { return v.Pending != nil && v.Pending.Plan == p.Id })
	if _, err := c.AckPlan(ctx, p.Id, wire.AckRequest{Instances: wire.IDs(p.Awaits...)}); err != nil {
		t.Fatal(err)
	}
	f.reach(t, atVersion)
	same(t, c, f, keys)

	// While the router is away, its version is purged.
	f.stop()
	gone := f.View().Table.Version()
	for range 4 {
		carryOut()
	}
	if _, err := c.GetRoutingTable(ctx, "clicks", client.GetRoutingTableOptions{Version: &gone}); !errors.Is(err,
		wire.CodePurged) {
		t.Fatalf("version %d: %v, want it purged", gone, err)
	}
	f = follow(t, server, through, file)
	f.reach(t, atVersion)
	same(t, c, f, keys)

	// Another number of instances: keys without an entry go elsewhere.
	configure(4)
	p = start(plan())
	f.reach(t, func(v *router.View) bool { return v.Pending != nil && v.Pending.Plan == p.Id })
	if _, err := c.AckPlan(ctx, p.Id, wire.AckRequest{Instances: wire.IDs(p.Awaits...)}); err != nil {
		t.Fatal(err)
	}
	f.reach(t, atVersion)
	same(t, c, f, keys)
	if s := f.Status(); s.FileErr != nil {
		t.Error(s.FileErr)
	}
}

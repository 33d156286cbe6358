package plannerdtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// TestRouterOfTheProtocol: what the feed tells is what a router's side of a hand-over needs:
// it marks a plan of the real server, holds what moves, and releases it by the new routes.
func TestRouterOfTheProtocol(t *testing.T) {
	server := plannerdtest.NewServer(t)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c, ctx := server.Client(), t.Context()
	if _, err := c.PutOperator(ctx, "clicks", wire.OperatorConfiguration{
		Instances: wire.Numbered(2), ThetaMax: new(0.0),
		Policy: new(wire.PolicyChoice(map[string]any{"forecast": map[string]any{"method": "last"}})),
		Hash:   &wire.Hash{Function: new(wire.HashFunctionModulo)},
	}); err != nil {
		t.Fatal(err)
	}
	registered, err := c.PutRouter(ctx, "clicks", "r1", wire.RouterRequest{Lease: "30s"})
	if err != nil {
		t.Fatal(err)
	}
	f := follow(t, server, http.DefaultTransport, "")
	defer f.stop()
	machine := handoff.NewRouter[string](handoff.Holding)
	machine.Registered(registered.Epoch)
	see := func(is func(*router.View) bool) []handoff.Append[string] {
		t.Helper()
		out, err := machine.See(f.reach(t, is).Handover())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := see(func(v *router.View) bool { return v.Table.Version() == 0 }); len(out) != 0 {
		t.Errorf("%+v before there is a plan", out)
	}
	rows := make([]wire.Row, 20)
	for i := range rows {
		rows[i] = wire.Row{Key: fmt.Sprint("key-", i), Cost: new(float64(1 + i*i)), State: new(1.0)}
	}
	plan, err := c.CreatePlan(ctx, "clicks", wire.PlanRequest{Interval: 1, Keys: rows})
	if err != nil {
		t.Fatal(err)
	}
	for _, abort := range []bool{true, false} {
		if plan, err = c.StartPlan(ctx, plan.Id, wire.StartRequest{Executor: "driver"}); err != nil {
			t.Fatal(err)
		}
		pending := func(v *router.View) bool { return v.Pending != nil && v.Pending.Plan == plan.Id }
		markers := see(pending)
		var marked []int32
		for _, m := range markers {
			if m.Marker == 0 || m.Epoch != registered.Epoch {
				t.Errorf("%+v is no marker of the router", m)
			}
			marked = append(marked, m.To)
		}
		if slices.Sort(marked); !slices.Equal(marked, plan.Awaits) {
			t.Errorf("markers for %d, the plan awaits %d", marked, plan.Awaits)
		}
		if p := f.View().Handover().Pending; p.Routers["r1"] != registered.Epoch || p.Aborting {
			t.Errorf("%+v", p)
		}
		held := 0
		for i := range rows {
			_, waits, err := machine.Take([]byte(rows[i].Key), rows[i].Key)
			if err != nil {
				t.Fatal(err)
			}
			if waits {
				held++
			}
		}
		if held == 0 || held == len(rows) {
			t.Errorf("%d messages of %d are held", held, len(rows))
		}
		if abort {
			if _, err := c.AbortPlan(ctx, plan.Id, wire.AbortRequest{}); err != nil {
				t.Fatal(err)
			}
			aborting := func(v *router.View) bool { return v.Pending != nil && v.Handover().Pending.Aborting }
			if out := see(aborting); len(out) != 0 {
				t.Errorf("%+v while the plan is aborted", out)
			}
			if _, err := c.AbortPlan(ctx, plan.Id, wire.AbortRequest{RolledBack: new(true)}); err != nil {
				t.Fatal(err)
			}
		} else if _, err := c.AckPlan(ctx, plan.Id, wire.AckRequest{Instances: wire.IDs(plan.Awaits...)}); err != nil {
			t.Fatal(err)
		}
		released := see(func(v *router.View) bool { return v.Pending == nil })
		if len(released) != held || machine.Holds() != 0 {
			t.Errorf("%d messages are released, %d were held, %d still are", len(released), held, machine.Holds())
		}
		for _, m := range released {
			if want, err := c.Route(ctx, "clicks", m.Key); err != nil || want.Instance != m.To {
				t.Errorf("%s goes to %d, the server says %+v %v", m.Key, m.To, want, err)
			}
		}
		if abort {
			if plan, err = c.CreatePlan(ctx, "clicks", wire.PlanRequest{Interval: 2, Keys: rows}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

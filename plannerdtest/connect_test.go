package plannerdtest_test

import (
	"context"
	"testing"
	"time"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// TestConnect takes the steps of docs/connect.md.
func TestConnect(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := plannerdtest.NewServer(t)
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.PutOperator(ctx, "clicks", wire.OperatorConfiguration{
		Instances: []wire.Instance{{Id: 0}, {Id: 1}}, ThetaMax: new(0.05),
	})
	if err != nil {
		t.Fatal(err)
	}

	rows := []client.Row{
		{Key: []byte("user:1"), Cost: 12, State: 900, Instance: 0},
		{Key: []byte("user:2"), Cost: 9, State: 400, Instance: 0},
		{Key: []byte("user:3"), Cost: 3, State: 100, Instance: 1},
	}
	plan, err := api.CreatePlanFrom(ctx, "clicks", wire.PlanRequest{Interval: 1},
		client.Statistics{Rows: client.Rows(rows), Located: true})
	if err != nil || plan.Status != wire.PlanStatusApproved || plan.Balanced == nil || !*plan.Balanced {
		t.Fatalf("%+v %v", plan, err)
	}

	follower, err := router.Open(router.Config{Source: api, Operator: "clicks", Router: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- follower.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	if err := follower.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	before := follower.View()

	_, err = api.StartPlan(ctx, plan.Id, wire.StartRequest{Executor: "engine", ExecutorEpoch: new(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int32{"user:1": 0, "user:2": 0, "user:3": 1}
	for move, err := range api.Migrations(ctx, plan.Id, client.ListMigrationsOptions{}) {
		if err != nil || at[move.Key] != move.From {
			t.Fatalf("%+v %v", move, err)
		}
		at[move.Key] = move.To
	}
	_, err = api.AckPlan(ctx, plan.Id, wire.AckRequest{Instances: plan.Awaits, ExecutorEpoch: new(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	for view := before; view.Pending != nil || view.Table.Version() != plan.BaseVersion+1; {
		if view, err = follower.Next(ctx, view); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range at {
		if to, err := follower.Lookup([]byte(key)); err != nil || to.Instance != want {
			t.Errorf("%s goes to %+v, %v; its state is at %d", key, to, err, want)
		}
	}
}

// TestConnectWithApproval: an engine that asks for its next plan carries out what a person approves, while
// newer statistics come and plans are proposed and approved in its absence.
func TestConnectWithApproval(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := plannerdtest.NewServer(t)
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.PutOperator(ctx, "clicks", wire.OperatorConfiguration{
		Instances: []wire.Instance{{Id: 0}, {Id: 1}}, ThetaMax: new(0.05),
		Approval: &wire.ApprovalOptions{
			Auto: new(wire.ApprovalAutoNever), OnPending: new(wire.OnPendingReplace),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int32{"a": 0, "b": 0, "c": 0, "d": 0}
	propose := func(interval int64) *wire.Plan { // too much is where a is
		t.Helper()
		var rows []client.Row
		for key, instance := range at {
			cost := float64(interval)
			if instance == at["a"] {
				cost = 50
			}
			rows = append(rows, client.Row{Key: []byte(key), Cost: cost, State: 1, Instance: instance})
		}
		p, err := api.CreatePlanFrom(ctx, "clicks", wire.PlanRequest{Interval: interval},
			client.Statistics{Rows: client.Rows(rows), Located: true})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	approve := func(id string) {
		t.Helper()
		if _, err := api.ApprovePlan(ctx, id, wire.Transition{}); err != nil {
			t.Fatal(err)
		}
	}
	if next, err := api.NextPlan(ctx, "clicks", client.NextPlanOptions{}); err != nil || next.Plan != nil {
		t.Fatalf("%+v %v", next, err)
	}
	// Two are approved before anybody comes: the second takes the place of the first.
	first := propose(1)
	if next, err := api.NextPlan(ctx, "clicks", client.NextPlanOptions{}); err != nil || next.Plan != nil {
		t.Fatalf("a proposed plan is to be carried out: %+v %v", next, err)
	}
	approve(first.Id)
	second := propose(2)
	approve(second.Id)
	if p, err := api.GetPlan(ctx, first.Id, client.GetPlanOptions{}); err != nil || p.Status != wire.PlanStatusSuperseded {
		t.Fatalf("%+v %v", p, err)
	}
	carried := 0
	for plan, err := range api.PlansToCarryOut(ctx, "clicks") {
		if err != nil {
			t.Fatal(err)
		}
		if carried == 0 && plan.Id != second.Id {
			t.Errorf("plan %s, want %s", plan.Id, second.Id)
		}
		_, err = api.StartPlan(ctx, plan.Id, wire.StartRequest{Executor: "engine", ExecutorEpoch: new(int64(1))})
		if err != nil {
			t.Fatal(err)
		}
		for move, err := range api.Migrations(ctx, plan.Id, client.ListMigrationsOptions{}) {
			if err != nil || at[move.Key] != move.From {
				t.Fatalf("%+v %v", move, err)
			}
			at[move.Key] = move.To
		}
		p, err := api.AckPlan(ctx, plan.Id, wire.AckRequest{Instances: plan.Awaits, ExecutorEpoch: new(int64(1))})
		if err != nil || p.Status != wire.PlanStatusCommitted {
			t.Fatalf("%+v %v", p, err)
		}
		if carried++; carried == 2 {
			break
		}
		go func() { // while the engine waits
			time.Sleep(50 * time.Millisecond)
			approve(propose(3).Id)
		}()
	}
	if carried != 2 {
		t.Errorf("%d plans were carried out", carried)
	}
}

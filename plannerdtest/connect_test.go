package plannerdtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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
		Instances: wire.Numbered(2), ThetaMax: new(0.05),
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
	_, err = api.AckPlan(ctx, plan.Id, wire.AckRequest{Instances: wire.IDs(plan.Awaits...), ExecutorEpoch: new(int64(1))})
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
		Instances: wire.Numbered(2), ThetaMax: new(0.05),
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
		p, err := api.AckPlan(ctx, plan.Id,
			wire.AckRequest{Instances: wire.IDs(plan.Awaits...), ExecutorEpoch: new(int64(1))})
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

// TestConnectProgram builds the program of docs/connect.md by the commands of the page, and
// runs it: a plan that is approved moves keys while requests come, and one instance dies.
func TestConnectProgram(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "connect.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```go program\n")
	program, _, _ = strings.Cut(program, "```\n")
	_, build, _ := strings.Cut(string(page), "go mod init counter\n")
	build, _, _ = strings.Cut(build, "```\n")
	if n := strings.Count(program, "\n"); n < 50 || n > 150 {
		t.Errorf("the program has %d lines", n)
	}
	sdk, err := filepath.Abs(filepath.Join("..", "sdk", "go"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-ec",
		"go mod init counter\n"+strings.ReplaceAll(build, "../plannerd/sdk/go", sdk))
	c.Dir, c.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}

	server := plannerdtest.NewServer(t)
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.PutOperator(t.Context(), "visits", wire.OperatorConfiguration{
		Instances: wire.Numbered(2), ThetaMax: new(0.05), Approval: &wire.ApprovalOptions{
			Auto: new(wire.ApprovalAutoNever), OnPending: new(wire.OnPendingReplace)},
	})
	if err != nil {
		t.Fatal(err)
	}
	addresses := []string{freeAddress(t), freeAddress(t)}
	run := func(instance string) (kill func()) {
		c := exec.Command(filepath.Join(folder, "counter"), "-instance", instance, "-plannerd", server.URL,
			"-addresses", strings.Join(addresses, ","))
		c.Dir, c.Stderr = folder, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return func() { _ = c.Process.Kill(); _ = c.Wait() }
	}
	first, second := run("0"), run("1")
	defer func() { first(); second() }()
	keys := []string{"anna", "ben", "carla", "dmitri", "emeka", "fatima"}
	feeding, stop := context.WithCancel(t.Context())
	sent := make([]int, len(keys))
	var feeds sync.WaitGroup
	var shift atomic.Int64 // by which the key that costs most is another one
	for i, key := range keys {
		feeds.Go(func() {
			for feeding.Err() == nil {
				post(t, addresses, key, sent[i]+1)
				sent[i]++
				rank := (i + int(shift.Load())) % len(keys)
				time.Sleep(time.Duration(5*(1+rank*rank)) * time.Millisecond)
			}
		})
	}
	for plans := 0; plans < 2 && !t.Failed(); {
		p := approved(t, api)
		if plans == 1 { // while it is carried out
			second()
			second = run("1")
		}
		for p.Status == wire.PlanStatusApproved || p.Status == wire.PlanStatusApplying {
			time.Sleep(10 * time.Millisecond)
			if p, err = api.GetPlan(t.Context(), p.Id, client.GetPlanOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if p.Status == wire.PlanStatusCommitted && p.Migration.Keys > 0 {
			plans++
			shift.Add(3) // what was rare is frequent now: another plan is needed, whatever chance does
		}
	}
	stop()
	feeds.Wait()
	counted := map[string]int{}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		clear(counted)
		for i := range addresses {
			content, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("counts-%d.json", i)))
			var file struct {
				States map[string]struct{ Count int }
			}
			if err = errors.Join(err, json.Unmarshal(content, &file)); err != nil {
				t.Fatal(err)
			}
			for key, s := range file.States {
				counted[key] += s.Count
			}
		}
		right := true
		for i, key := range keys {
			right = right && counted[key] == sent[i]
		}
		if right {
			break
		}
		if time.Now().After(deadline) { // who gave a key away forgets it once it knows that the plan is committed
			t.Fatalf("counted %v, sent %v of %v", counted, sent, keys)
		}
	}
}

// approved waits for a plan that moves something, and approves it.
func approved(t *testing.T, api *client.Client) *wire.Plan {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		o, err := api.GetOperator(t.Context(), "visits", client.GetOperatorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if o.CurrentPlan == nil || *o.CurrentPlanStatus != string(wire.PlanStatusProposed) {
			continue
		}
		if p, err := api.ApprovePlan(t.Context(), *o.CurrentPlan, wire.Transition{}); err == nil { // else it was replaced
			return p
		}
	}
	t.Fatal("no plan is proposed")
	return nil
}

// post counts a request at any instance, until one answers.
func post(t *testing.T, addresses []string, key string, n int) {
	for i := 0; !t.Failed(); i++ {
		target := fmt.Sprintf("http://%s/count/%s?request=%s", addresses[i%len(addresses)], key,
			url.QueryEscape(fmt.Sprintf(`{"Sender":"test","Number":%d}`, n)))
		a, err := http.Post(target, "", nil)
		if err == nil {
			a.Body.Close()
		}
		if err == nil && a.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// freeAddress is one at which nobody listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

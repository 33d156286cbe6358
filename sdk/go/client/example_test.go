package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// planned answers as a plannerd would that has planned.
func planned(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/v1/operators/clicks/plans":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id": "p1", "status": "approved"}`)
	case "/v1/plans/p1/migrations":
		fmt.Fprint(w, `{"migrations": [{"key": "dXNlcjox", "from": 0, "to": 1}], "next_page_token": null}`)
	default:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"status": 409, "code": "fenced", "detail": "Another driver took over.", "title": "Conflict"}`)
	}
}

// An engine has an interval planned and looks what moves.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(planned))
	defer server.Close()
	ctx := context.Background()

	c, err := client.New(server.URL, client.Config{})
	if err != nil {
		panic(err)
	}
	rows := []client.Row{{Key: []byte("user:1"), Cost: 12.5, State: 2048}, {Key: []byte("user:2"), Cost: 3, State: 512}}
	plan, err := c.CreatePlanFrom(ctx, "clicks", wire.PlanRequest{Interval: 7}, client.Statistics{Rows: client.Rows(rows)})
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Id, plan.Status)
	for m, err := range c.Migrations(ctx, plan.Id, client.ListMigrationsOptions{}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %d to %d\n", m.Key, m.From, m.To)
	}

	// Output:
	// p1 approved
	// user:1: 0 to 1
}

// A refusal is its code, and has all that its problem says.
func ExampleError() {
	server := httptest.NewServer(http.HandlerFunc(planned))
	defer server.Close()

	c, err := client.New(server.URL, client.Config{})
	if err != nil {
		panic(err)
	}
	_, err = c.AckPlan(context.Background(), "p2", wire.AckRequest{Instances: wire.IDs(0)})
	if errors.Is(err, wire.CodeFenced) {
		fmt.Println("this driver was taken for dead")
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(refused.Status, refused.Detail)
	}

	// Output:
	// this driver was taken for dead
	// 409 Another driver took over.
}

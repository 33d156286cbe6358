// Go asks a running server for a plan with the client that oapi-codegen makes of
// the contract, carries it out, and fails when an answer is not what it has to be.
//
//	.ci/contract
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"plannerd/tools/clients/go/client"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . URL")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Go client:", err)
		os.Exit(1)
	}
}

// run goes the way of an engine: the operator, the statistics of an interval, the
// plan, its commit, the routing table.
func run(ctx context.Context, url string) error {
	c, err := client.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	const operator = "go-client"
	var two client.Instances
	if err := two.FromInstances0(2); err != nil {
		return err
	}
	created, err := c.PutOperatorWithResponse(ctx, operator, nil, client.OperatorConfiguration{
		Instances: two, ThetaMax: new(0.08), TableLimit: new(int64(3000)),
	})
	switch {
	case err != nil:
		return err
	case created.JSON201 == nil:
		return fmt.Errorf("the operator was not created: %s: %s", created.Status(), created.Body)
	case created.JSON201.Name != operator || created.JSON201.Scheme != client.SchemeTable:
		return fmt.Errorf("created %+v", created.JSON201)
	}
	id, err := plan(ctx, c, operator)
	if err != nil {
		return err
	}
	if err := read(ctx, c, id); err != nil {
		return err
	}
	stopped := true
	committed, err := c.CommitPlanWithResponse(ctx, id, nil, client.CommitPlanJSONRequestBody{Stopped: &stopped})
	switch {
	case err != nil:
		return err
	case committed.JSON200 == nil || committed.JSON200.Status != client.PlanStatusCommitted:
		return fmt.Errorf("the plan was not committed: %s: %s", committed.Status(), committed.Body)
	}
	if err := follow(ctx, c, operator, *committed.JSON200.Version); err != nil {
		return err
	}
	return refused(ctx, c)
}

// plan sends the statistics of an interval: instance 1 carries 20 of 35.
func plan(ctx context.Context, c *client.ClientWithResponses, operator string) (id string, err error) {
	planned, err := c.CreatePlanWithResponse(ctx, operator, nil, client.PlanRequest{
		Interval: 1,
		Columns: &client.Columns{
			Key:   []string{"user:1", "user:2", "user:3", "user:4", "user:5"},
			Cost:  &[]float64{12, 9, 3, 5, 6},
			State: &[]float64{2048, 512, 64, 900, 300},
		},
	})
	if err != nil {
		return "", err
	}
	p := planned.JSON201
	if p == nil {
		return "", fmt.Errorf("no plan was made: %s: %s", planned.Status(), planned.Body)
	}
	if p.Balanced == nil || !*p.Balanced || p.Status != client.PlanStatusApproved ||
		p.Migrations == nil || len(*p.Migrations) != 1 {
		return "", fmt.Errorf("planned %s", planned.Body)
	}
	m, err := (*p.Migrations)[0].AsMigration()
	if err != nil {
		return "", err
	}
	if m.Key != "user:3" || m.From != 1 || m.To != 0 || m.State != 64 {
		return "", fmt.Errorf("planned the migration %+v", m)
	}
	return p.Id, nil
}

// read asks for the plan with its long lists.
func read(ctx context.Context, c *client.ClientWithResponses, id string) error {
	include := []client.GetPlanParamsInclude{client.GetPlanParamsIncludeRoutingTable}
	got, err := c.GetPlanWithResponse(ctx, id, &client.GetPlanParams{Include: &include})
	switch {
	case err != nil:
		return err
	case got.JSON200 == nil:
		return fmt.Errorf("the plan could not be read: %s: %s", got.Status(), got.Body)
	}
	p := got.JSON200
	limits, err := p.Parameters.AsParameters()
	switch {
	case err != nil:
		return err
	case limits.ThetaMax != 0.08:
		return fmt.Errorf("planned with %+v", limits)
	case p.RoutingTable == nil || p.RoutingTable.SizeAfter != 1 || p.RoutingTable.Set == nil:
		return fmt.Errorf("read the plan %s", got.Body)
	}
	return nil
}

// follow reads the routing table as a router does.
func follow(ctx context.Context, c *client.ClientWithResponses, operator string, version int64) error {
	table, err := c.GetRoutingTableWithResponse(ctx, operator, nil)
	switch {
	case err != nil:
		return err
	case table.JSON200 == nil || table.JSON200.Version != version || table.JSON200.Entries == nil:
		return fmt.Errorf("the routing table is %s: %s", table.Status(), table.Body)
	}
	want := client.RoutingTableEntry{Key: "user:3", Instance: 0}
	if entries := *table.JSON200.Entries; len(entries) != 1 || entries[0] != want {
		return fmt.Errorf("the routing table has %+v, want %+v", entries, want)
	}
	return nil
}

// refused asks for what there is not: problems have a type, too.
func refused(ctx context.Context, c *client.ClientWithResponses) error {
	got, err := c.GetOperatorWithResponse(ctx, "absent", nil)
	if err != nil {
		return err
	}
	p := got.ApplicationproblemJSON404
	if got.StatusCode() != http.StatusNotFound || p == nil {
		return errors.New("an operator that does not exist was answered with " + got.Status())
	}
	if p.Code != client.CodeOperatorNotFound {
		return fmt.Errorf("the problem has the code %q", p.Code)
	}
	return nil
}

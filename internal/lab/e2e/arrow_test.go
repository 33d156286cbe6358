package e2e

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"testing"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/arrow"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// TestArrow sends the same statistics as NDJSON and as Arrow: the plans are the same, key by
// key, also those of reports. Some keys are no text.
func TestArrow(t *testing.T) {
	const keys = 70_000 // more than a record batch has
	api, ctx := plannerdtest.NewServer(t).Client(), t.Context()
	rows := func(instance int32) iter.Seq2[client.Row, error] {
		return func(yield func(client.Row, error) bool) {
			for i := range keys {
				key := fmt.Appendf(nil, "user:%d", i)
				if i%10 == 0 {
					key = append(key, 0xff, 0)
				}
				at := int32(min(i%3, 1)) // two thirds are at instance 1
				if instance >= 0 && at != instance {
					continue
				}
				if !yield(client.Row{Key: key, Cost: float64(i % 101), State: float64(1 + i%7), Instance: at}, nil) {
					return
				}
			}
		}
	}
	moves := func(operator string, reports bool, encoding client.Encoding) (all []wire.PlanMigration) {
		t.Helper()
		_, err := api.PutOperator(ctx, operator, wire.OperatorConfiguration{
			Instances: wire.Numbered(2), ThetaMax: new(0.01)})
		if err != nil {
			t.Fatal(err)
		}
		var p *wire.Plan
		if reports {
			for i := range int32(2) {
				s := client.Statistics{Rows: rows(i), Encoding: encoding}
				if _, err := api.PutReportFrom(ctx, operator, 1, wire.ID(i), wire.ReportRequest{}, s); err != nil {
					t.Fatal(err)
				}
			}
			p, err = api.CreatePlan(ctx, operator, wire.PlanRequest{Interval: 1})
		} else {
			s := client.Statistics{Rows: rows(-1), Located: true, Count: keys, Encoding: encoding}
			p, err = api.CreatePlanFrom(ctx, operator, wire.PlanRequest{Interval: 1}, s)
		}
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range api.Migrations(ctx, p.Id, client.ListMigrationsOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		return all
	}
	for _, reports := range []bool{false, true} {
		text := moves(fmt.Sprintf("text-%v", reports), reports, nil)
		binary := moves(fmt.Sprintf("binary-%v", reports), reports, arrow.IPC{})
		if len(text) == 0 || !reflect.DeepEqual(text, binary) {
			t.Errorf("reports: %v; %d keys move by NDJSON, %d by Arrow", reports, len(text), len(binary))
		}
	}

	// An error of the caller's rows comes back as it is, and nothing is planned.
	gone := errors.New("the counters are gone")
	_, err := api.CreatePlanFrom(ctx, "text-false", wire.PlanRequest{Interval: 2}, client.Statistics{
		Rows: func(yield func(client.Row, error) bool) {
			if yield(client.Row{Key: []byte("a"), Cost: 1}, nil) {
				yield(client.Row{}, gone)
			}
		}, Encoding: arrow.IPC{}})
	if !errors.Is(err, gone) {
		t.Errorf("%v, want %v", err, gone)
	}
	o, err := api.GetOperator(ctx, "text-false", client.GetOperatorOptions{})
	if err != nil || *o.LastInterval != 1 {
		t.Errorf("%v; a plan was made of statistics that were cut: the last interval is %v", err, o.LastInterval)
	}
}

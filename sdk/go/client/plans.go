package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"plannerd/sdk/go/wire"
)

// CreatePlanFrom is CreatePlan on statistics that are sent while they are made. The
// request has neither Keys nor Columns nor Records.
func (c *Client) CreatePlanFrom(
	ctx context.Context, operator string, request wire.PlanRequest, rows Statistics, options ...Option,
) (*wire.Plan, error) {
	r := change(http.MethodPost, rows.beside(request.Residual), "v1", "operators", operator, "plans")
	r.once = rows.Once
	compact := value(request.Compact)
	r.query = statisticsParameters{
		Interval: &request.Interval, Epoch: request.Epoch, TableVersion: request.TableVersion,
		TableOrigin:   request.TableOrigin,
		ConfigVersion: request.ConfigVersion, Coverage: request.Coverage, Residual: residuals(request.Residual),
		CompactDegree: compact.Degree, CostScale: compact.CostScale, StateScale: compact.StateScale,
		Missing: request.Missing, KeyEncoding: wire.KeyEncodingBase64,
	}
	return call[wire.Plan](ctx, c, r, options)
}

// ListPlansOptions are the parameters of ListPlans.
type ListPlansOptions struct {
	Status    wire.PlanStatus `query:"status"`
	Interval  *int64          `query:"interval"`
	PageSize  int64           `query:"page_size"`
	PageToken string          `query:"page_token"`
}

// Plans yields all plans of an operator, page by page.
func (c *Client) Plans(
	ctx context.Context, operator string, list ListPlansOptions, options ...Option,
) iter.Seq2[wire.PlanSummary, error] {
	return pages(list.PageToken, 0, func(token string, _ int64) (*wire.PlanList, error) {
		list.PageToken = token
		return c.ListPlans(ctx, operator, list, options...)
	}, func(page *wire.PlanList) ([]wire.PlanSummary, *string, error) {
		return page.Plans, page.NextPageToken, nil
	})
}

// GetPlanOptions are the parameters of GetPlan.
type GetPlanOptions struct {
	// Include "migrations" and "routing_table", the long lists.
	Include []string `query:"include"`
	// KeyEncoding is how the answer writes keys.
	KeyEncoding wire.KeyEncoding `query:"key_encoding"`
}

// NextPlanOptions are the parameters of NextPlan.
type NextPlanOptions struct {
	// Wait is how long to wait for a plan, at most a minute.
	Wait time.Duration `query:"wait"`
	// KeyEncoding is how the answer writes keys.
	KeyEncoding wire.KeyEncoding `query:"key_encoding"`
}

// PlansToCarryOut yields the plans that the engine of an operator is to carry out, one after the
// other, as they are approved, until ctx ends. It yields the same plan again, a second later, if the
// loop neither started it nor brought it to its end. It yields errors with a nil plan; a loop that
// goes on after an error asks again.
func (c *Client) PlansToCarryOut(ctx context.Context, operator string, options ...Option) iter.Seq2[*wire.Plan, error] {
	return func(yield func(*wire.Plan, error) bool) {
		for before := ""; ; {
			next, err := c.NextPlan(ctx, operator, NextPlanOptions{Wait: time.Minute}, options...)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && next.Plan == nil:
				continue
			case err == nil && next.Plan.Id != before:
				before = next.Plan.Id
			case sleep(ctx, time.Second) != nil:
				return
			}
			var plan *wire.Plan
			if err == nil {
				plan = next.Plan
			}
			if !yield(plan, err) {
				return
			}
		}
	}
}

// ListMigrationsOptions are the parameters of ListMigrations.
type ListMigrationsOptions struct {
	Sort        string               `query:"sort"`
	Order       string               `query:"order"`
	KeyPrefix   string               `query:"key_prefix"`
	KeyContains string               `query:"key_contains"`
	Instance    *int32               `query:"instance"`
	From        *int32               `query:"from"`
	To          *int32               `query:"to"`
	MinCost     float64              `query:"min_cost"`
	MinState    float64              `query:"min_state"`
	Reason      wire.MigrationReason `query:"reason"`
	KeyEncoding wire.KeyEncoding     `query:"key_encoding"`
	PageSize    int64                `query:"page_size"`
	PageToken   string               `query:"page_token"`
	Skip        int64                `query:"skip"`
}

// Migrations yields all that a plan moves, page by page. The strings of keys hold their
// bytes, whatever these are; the KeyEncoding of the list does not matter.
func (c *Client) Migrations(
	ctx context.Context, id string, list ListMigrationsOptions, options ...Option,
) iter.Seq2[wire.PlanMigration, error] {
	return pages(list.PageToken, list.Skip, func(token string, skip int64) (*wire.MigrationList, error) {
		list.PageToken, list.Skip, list.KeyEncoding = token, skip, wire.KeyEncodingBase64
		return c.ListMigrations(ctx, id, list, options...)
	}, func(page *wire.MigrationList) ([]wire.PlanMigration, *string, error) {
		for i := range page.Migrations {
			if err := decodeKey(&page.Migrations[i].Key); err != nil {
				return nil, nil, err
			}
		}
		return page.Migrations, page.NextPageToken, nil
	})
}

// ListTableChangesOptions are the parameters of ListTableChanges.
type ListTableChangesOptions struct {
	KeyPrefix   string           `query:"key_prefix"`
	Instance    *int32           `query:"instance"`
	KeyEncoding wire.KeyEncoding `query:"key_encoding"`
	PageSize    int64            `query:"page_size"`
	PageToken   string           `query:"page_token"`
	Skip        int64            `query:"skip"`
}

// TableChanges yields all that a plan changes in the routing table, page by page. The
// strings of keys hold their bytes, as those of [Client.Migrations] do.
func (c *Client) TableChanges(
	ctx context.Context, id string, list ListTableChangesOptions, options ...Option,
) iter.Seq2[wire.TableChange, error] {
	return pages(list.PageToken, list.Skip, func(token string, skip int64) (*wire.TableChangeList, error) {
		list.PageToken, list.Skip, list.KeyEncoding = token, skip, wire.KeyEncodingBase64
		return c.ListTableChanges(ctx, id, list, options...)
	}, func(page *wire.TableChangeList) ([]wire.TableChange, *string, error) {
		for i := range page.Changes {
			if err := decodeKey(&page.Changes[i].Key); err != nil {
				return nil, nil, err
			}
		}
		return page.Changes, page.NextPageToken, nil
	})
}

// ListFlowsOptions are the parameters of ListFlows.
type ListFlowsOptions struct {
	PageSize  int64  `query:"page_size"`
	PageToken string `query:"page_token"`
	Skip      int64  `query:"skip"`
}

// Flows yields all flows of a plan, page by page.
func (c *Client) Flows(
	ctx context.Context, id string, list ListFlowsOptions, options ...Option,
) iter.Seq2[wire.Flow, error] {
	return pages(list.PageToken, list.Skip, func(token string, skip int64) (*wire.FlowList, error) {
		list.PageToken, list.Skip = token, skip
		return c.ListFlows(ctx, id, list, options...)
	}, func(page *wire.FlowList) ([]wire.Flow, *string, error) { return page.Flows, page.NextPageToken, nil })
}

// ResolvePlan says which keys the classes of a plan are.
func (c *Client) ResolvePlan(
	ctx context.Context, id string, resolution Resolution, options ...Option,
) (*wire.Plan, error) {
	r := change(http.MethodPut, resolution.send(), "v1", "plans", id, "resolution")
	r.once, r.query = resolution.Once, statisticsParameters{KeyEncoding: wire.KeyEncodingBase64}
	return call[wire.Plan](ctx, c, r, options)
}

// PreviewUndoOptions are the parameters of PreviewUndo.
type PreviewUndoOptions struct {
	// ToVersion is the version of the table to bring back; nil: that before the committed one.
	ToVersion *int64 `query:"to_version"`
}

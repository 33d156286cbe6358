package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"plannerd/sdk/go/wire"
)

// DiffPlansOptions are the parameters of DiffPlans.
type DiffPlansOptions struct {
	// With is the id of the other plan.
	With        string           `query:"with"`
	PageSize    int64            `query:"page_size"`
	PageToken   string           `query:"page_token"`
	Skip        int64            `query:"skip"`
	KeyEncoding wire.KeyEncoding `query:"key_encoding"`
}

// DiffPlans compares what two plans move, cost and gain.
func (c *Client) DiffPlans(
	ctx context.Context, id string, with DiffPlansOptions, options ...Option,
) (*wire.PlanDiff, error) {
	return call[wire.PlanDiff](ctx, c, get(with, "v1", "plans", id, "diff"), options)
}

// CommentPlan says something of a plan without deciding.
func (c *Client) CommentPlan(
	ctx context.Context, id string, request wire.CommentRequest, options ...Option,
) (*wire.Plan, error) {
	return call[wire.Plan](ctx, c, change(http.MethodPost, request, "v1", "plans", id, "comments"), options)
}

// ListConfigurationsOptions are the parameters of ListConfigurations.
type ListConfigurationsOptions struct {
	PageSize  int64  `query:"page_size"`
	PageToken string `query:"page_token"`
}

// ListConfigurations returns a page of who configured an operator, when, and what changed.
func (c *Client) ListConfigurations(
	ctx context.Context, operator string, list ListConfigurationsOptions, options ...Option,
) (*wire.ConfigurationList, error) {
	return call[wire.ConfigurationList](ctx, c, get(list, "v1", "operators", operator, "configurations"), options)
}

// GetConfigurationOptions are the parameters of GetConfiguration.
type GetConfigurationOptions struct {
	// Since is the version to compare with; nil: the one before.
	Since *int64 `query:"since"`
}

// GetConfiguration reads a version of a configuration, and what changed to it from another one.
func (c *Client) GetConfiguration(
	ctx context.Context, operator string, version int64, with GetConfigurationOptions, options ...Option,
) (*wire.ConfigurationVersion, error) {
	path := []string{"v1", "operators", operator, "configurations", strconv.FormatInt(version, 10)}
	return call[wire.ConfigurationVersion](ctx, c, get(with, path...), options)
}

// ListChanges tells what happened to an operator after a time; ask again from Until of the answer.
func (c *Client) ListChanges(
	ctx context.Context, operator string, since time.Time, options ...Option,
) (*wire.OperatorChanges, error) {
	query := struct {
		Since string `query:"since"`
	}{since.UTC().Format(time.RFC3339Nano)}
	return call[wire.OperatorChanges](ctx, c, get(query, "v1", "operators", operator, "changes"), options)
}

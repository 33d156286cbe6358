package client

import (
	"context"
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

// ListConfigurationsOptions are the parameters of ListConfigurations.
type ListConfigurationsOptions struct {
	PageSize  int64  `query:"page_size"`
	PageToken string `query:"page_token"`
}

// GetConfigurationOptions are the parameters of GetConfiguration.
type GetConfigurationOptions struct {
	// Since is the version to compare with; nil: the one before.
	Since *int64 `query:"since"`
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

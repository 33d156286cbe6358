package client

import (
	"context"
	"net/http"

	"plannerd/sdk/go/wire"
)

// FreezeOperator holds an operator: until then no plan of it is made or started.
func (c *Client) FreezeOperator(
	ctx context.Context, operator string, request wire.FreezeRequest, options ...Option,
) (*wire.Freeze, error) {
	return c.freeze(ctx, request, options, "v1", "operators", operator, "freeze")
}

// FreezeAll is FreezeOperator of all operators.
func (c *Client) FreezeAll(ctx context.Context, request wire.FreezeRequest, options ...Option) (*wire.Freeze, error) {
	return c.freeze(ctx, request, options, "v1", "freeze")
}

// UnfreezeOperator ends what FreezeOperator began.
func (c *Client) UnfreezeOperator(ctx context.Context, operator string, options ...Option) error {
	return c.unfreeze(ctx, options, "v1", "operators", operator, "freeze")
}

// UnfreezeAll ends what FreezeAll began.
func (c *Client) UnfreezeAll(ctx context.Context, options ...Option) error {
	return c.unfreeze(ctx, options, "v1", "freeze")
}

func (c *Client) freeze(
	ctx context.Context, request wire.FreezeRequest, options []Option, path ...string,
) (*wire.Freeze, error) {
	r := post(request, path...)
	r.method = http.MethodPut
	return call[wire.Freeze](ctx, c, r, options)
}

func (c *Client) unfreeze(ctx context.Context, options []Option, path ...string) error {
	r := get(nil, path...)
	r.method = http.MethodDelete
	_, err := c.text(ctx, r, options)
	return err
}

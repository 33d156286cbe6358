package client

import (
	"context"
	"net/http"

	"plannerd/sdk/go/wire"
)

// PutRouter registers a router, or with the epoch of its registration extends its lease. It
// registers before it reads the routing table, and sends its first message after that. An
// attempt that is repeated registers it again, and the last epoch is the one that counts.
func (c *Client) PutRouter(
	ctx context.Context, operator, router string, request wire.RouterRequest, options ...Option,
) (*wire.Router, error) {
	r := get(nil, "v1", "operators", operator, "routers", router)
	r.method, r.send = http.MethodPut, jsonBody("application/json", request)
	return call[wire.Router](ctx, c, r, options)
}

// DeleteRouter removes a router that sends nothing more. Where an attempt was repeated,
// [wire.CodeRouterNotFound] may be what came of an earlier one that went through.
func (c *Client) DeleteRouter(ctx context.Context, operator, router string, options ...Option) error {
	r := get(nil, "v1", "operators", operator, "routers", router)
	r.method = http.MethodDelete
	_, err := c.text(ctx, r, options)
	return err
}

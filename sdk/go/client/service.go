package client

import (
	"context"

	"plannerd/sdk/go/wire"
)

// ListStrategies returns the strategies and their parameters.
func (c *Client) ListStrategies(ctx context.Context, options ...Option) (*wire.StrategyList, error) {
	return call[wire.StrategyList](ctx, c, get(nil, "v1", "strategies"), options)
}

// GetCaller returns who the server takes the client for, and what it may do.
func (c *Client) GetCaller(ctx context.Context, options ...Option) (*wire.Caller, error) {
	return call[wire.Caller](ctx, c, get(nil, "v1", "caller"), options)
}

// Healthz reports whether the server's process is alive.
func (c *Client) Healthz(ctx context.Context, options ...Option) (*wire.Health, error) {
	return call[wire.Health](ctx, c, get(nil, "healthz"), options)
}

// Readyz reports whether the server can serve.
func (c *Client) Readyz(ctx context.Context, options ...Option) (*wire.Health, error) {
	return call[wire.Health](ctx, c, get(nil, "readyz"), options)
}

// Metrics returns the server's metrics, in Prometheus' text format.
func (c *Client) Metrics(ctx context.Context, options ...Option) ([]byte, error) {
	return c.text(ctx, get(nil, "metrics"), options)
}

// Contract returns the contract of the API: OpenAPI, in YAML.
func (c *Client) Contract(ctx context.Context, options ...Option) ([]byte, error) {
	return c.text(ctx, get(nil, "openapi.yaml"), options)
}

// Docs returns the index of the guides, in HTML.
func (c *Client) Docs(ctx context.Context, options ...Option) ([]byte, error) {
	return c.text(ctx, get(nil, "docs"), options)
}

// DocsAsset returns a page of the guides, or a style, script or picture of these.
func (c *Client) DocsAsset(ctx context.Context, asset string, options ...Option) ([]byte, error) {
	return c.text(ctx, get(nil, "docs", asset), options)
}

package client

import (
	"context"

	"plannerd/sdk/go/wire"
)

// WhatIf plans without storing anything.
func (c *Client) WhatIf(
	ctx context.Context, request wire.WhatIfRequest, options ...Option,
) (*wire.WhatIfResults, error) {
	return call[wire.WhatIfResults](ctx, c, post(request, "v1", "what-if"), options)
}

// WhatIfOptions are the parameters of WhatIfOperator.
type WhatIfOptions struct {
	// Operator is its name.
	Operator string `query:"operator"`
	// Instances are the numbers of instances to plan for. Defaults to those of the operator.
	Instances []wire.TargetInstances `query:"instances"`
	// Strategies default to that of the operator.
	Strategies []wire.Strategy `query:"strategies"`
	// ThetaMax are tolerances to try. Defaults to that of the operator.
	ThetaMax []wire.ThetaMax `query:"theta_max"`
}

// WhatIfOperator asks what would come of the newest statistics of an operator: with more
// instances, say. ReplayPlan takes the other parameters, too.
func (c *Client) WhatIfOperator(
	ctx context.Context, with WhatIfOptions, options ...Option,
) (*wire.WhatIfResults, error) {
	return call[wire.WhatIfResults](ctx, c, get(with, "v1", "what-if"), options)
}

// AnalyseRing analyses a token ring.
func (c *Client) AnalyseRing(
	ctx context.Context, request wire.RingRequest, options ...Option,
) (*wire.RingResult, error) {
	return call[wire.RingResult](ctx, c, post(request, "v1", "analyses", "ring"), options)
}

// AnalysePKG analyses partial key grouping.
func (c *Client) AnalysePKG(ctx context.Context, request wire.PKGRequest, options ...Option) (*wire.PKGResult, error) {
	return call[wire.PKGResult](ctx, c, post(request, "v1", "analyses", "pkg"), options)
}

// AnalyseRanges analyses key ranges.
func (c *Client) AnalyseRanges(
	ctx context.Context, request wire.RangesRequest, options ...Option,
) (*wire.RangesResult, error) {
	return call[wire.RangesResult](ctx, c, post(request, "v1", "analyses", "ranges"), options)
}

// AnalyseSchemes compares all schemes on the same keys.
func (c *Client) AnalyseSchemes(
	ctx context.Context, request wire.SchemesRequest, options ...Option,
) (*wire.SchemesResult, error) {
	return call[wire.SchemesResult](ctx, c, post(request, "v1", "analyses", "schemes"), options)
}

// AnalyseBacktest says what policies would have come to over the intervals of the request.
func (c *Client) AnalyseBacktest(
	ctx context.Context, request wire.BacktestIntervalsRequest, options ...Option,
) (*wire.BacktestReport, error) {
	return call[wire.BacktestReport](ctx, c, post(request, "v1", "analyses", "backtest"), options)
}

package client

import (
	"context"

	"plannerd/sdk/go/wire"
)

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

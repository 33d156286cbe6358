package client

import (
	"context"
	"encoding/base64"
	"iter"
	"net/http"
	"time"

	"plannerd/sdk/go/wire"
)

// ListOperatorsOptions are the parameters of ListOperators.
type ListOperatorsOptions struct {
	// Include "recent": how each operator went lately.
	Include   string `query:"include"`
	PageSize  int64  `query:"page_size"`
	PageToken string `query:"page_token"`
}

// Operators yields all operators, page by page.
func (c *Client) Operators(
	ctx context.Context, list ListOperatorsOptions, options ...Option,
) iter.Seq2[wire.Operator, error] {
	return pages(list.PageToken, 0, func(token string, _ int64) (*wire.OperatorList, error) {
		list.PageToken = token
		return c.ListOperators(ctx, list, options...)
	}, func(page *wire.OperatorList) ([]wire.Operator, *string, error) {
		return page.Operators, page.NextPageToken, nil
	})
}

// PatchOperator changes some members of an operator's configuration. A nil takes a member
// back to its default.
func (c *Client) PatchOperator(
	ctx context.Context, operator string, patch wire.OperatorPatch, options ...Option,
) (*wire.Operator, error) {
	r := change(http.MethodPatch, jsonBody("application/merge-patch+json", patch), "v1", "operators", operator)
	return call[wire.Operator](ctx, c, r, options)
}

// GetOperatorOptions are the parameters of GetOperator.
type GetOperatorOptions struct {
	// Include "recent": how the operator went lately. The ETag is then of no use for IfMatch.
	Include string `query:"include"`
	// Window is by how many of its newest plans that is told, at most.
	Window int32 `query:"window"`
}

// AdviseOperatorOptions are the parameters of AdviseOperator.
type AdviseOperatorOptions struct {
	// InstanceLoad is the cost of an interval that an instance of capacity 1 can carry.
	InstanceLoad float64 `query:"instance_load"`
}

// GetRoutingTableOptions are the parameters of GetRoutingTable.
type GetRoutingTableOptions struct {
	// Version asks for an older version; nil: the committed one.
	Version *int64 `query:"version"`
	// Since asks only for what has changed since that version.
	Since *int64 `query:"since"`
	// Wait is how long to wait for something new, at most a minute. With Since or
	// [IfNoneMatch].
	Wait time.Duration `query:"wait"`
	// NextPlan asks for the plan that is approved and waits to be started, too, and Wait ends for it.
	NextPlan bool `query:"next_plan"`
	// KeyEncoding is how the answer writes keys.
	KeyEncoding wire.KeyEncoding `query:"key_encoding"`
}

// Route asks the server where one key goes, and why. Package route answers the same
// without a request.
func (c *Client) Route(ctx context.Context, operator string, key []byte, options ...Option) (*wire.Route, error) {
	return call[wire.Route](ctx, c, get(routeOf(key, nil), "v1", "operators", operator, "route"), options)
}

// Answers asks whether an instance answers for a key. If it does not, the error is an
// [Error]: not_owner, which has the Owner, or not_serving, which has a RetryAfter.
func (c *Client) Answers(
	ctx context.Context, operator string, key []byte, instance int32, options ...Option,
) (*wire.Route, error) {
	return call[wire.Route](ctx, c, get(routeOf(key, &instance), "v1", "operators", operator, "route"), options)
}

// routeParameters are those of Route and Answers.
type routeParameters struct {
	Key         string           `query:"key"`
	KeyEncoding wire.KeyEncoding `query:"key_encoding"`
	Instance    *int32           `query:"instance"`
}

func routeOf(key []byte, instance *int32) routeParameters {
	return routeParameters{base64.StdEncoding.EncodeToString(key), wire.KeyEncodingBase64, instance}
}

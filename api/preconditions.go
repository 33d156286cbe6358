package api

import (
	"net/http"
	"slices"
	"strings"

	"plannerd/api/wire"
	"plannerd/store"
)

// etags returns the ETags that a header lists, without the coding that compressor
// adds.
func etags(r *http.Request, header string) []string {
	var out []string
	for candidate := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
		if candidate = strings.TrimSpace(candidate); candidate != "" {
			out = append(out, plainETag(candidate))
		}
	}
	return out
}

// demand refuses a request whose If-Match or If-None-Match does not hold for the
// representation that there is; nil: there is none.
func (c *call) demand(representation func() ([]byte, error)) error {
	match, noneMatch := etags(c.Request, "If-Match"), etags(c.Request, "If-None-Match")
	if len(match) == 0 && len(noneMatch) == 0 {
		return nil
	}
	if representation == nil {
		if len(match) > 0 {
			return preconditionFailed("There is nothing that could match.")
		}
		return nil
	}
	body, err := representation()
	if err != nil {
		return err
	}
	names := func(list []string, etag string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, etag)
	}
	etag := etagOf(body)
	if len(match) > 0 && !names(match, etag) {
		return preconditionFailed("What is there is no longer what If-Match names: GET it again.")
	}
	if names(noneMatch, etag) || names(noneMatch, "W/"+etag) {
		return preconditionFailed("There is already what If-None-Match excludes.")
	}
	return nil
}

// demandPlan is demand for a plan as GET gives it without lists.
func (c *call) demandPlan(p store.Plan) error {
	return c.demand(func() ([]byte, error) { return planBody(p, keyCoder{}) })
}

// planGuard holds what a request demands against the plan, unless all that the
// request asks for has happened.
func (c *call) planGuard(happened func(store.Plan) bool) store.PlanGuard {
	return func(p store.Plan) error {
		if happened(p) {
			return nil
		}
		return c.demandPlan(p)
	}
}

// is tells whether a plan has a status.
func is(status store.Status) func(store.Plan) bool {
	return func(p store.Plan) bool { return p.Status == status }
}

// appliedBy tells whether a plan is carried out by an executor.
func appliedBy(executor string) func(store.Plan) bool {
	return func(p store.Plan) bool { return p.Status == store.StatusApplying && p.Executor == executor }
}

// ackedBy tells whether a plan waits for none of the instances any more.
func ackedBy(instances []int32) func(store.Plan) bool {
	return func(p store.Plan) bool {
		return p.Status == store.StatusCommitted || !slices.ContainsFunc(instances, func(id int32) bool {
			return !slices.ContainsFunc(p.Acked, func(a store.Ack) bool { return a.Instance == id })
		})
	}
}

// operatorGuard is planGuard for an operator.
func (c *call) operatorGuard(happened func(store.Operator) bool) store.OperatorGuard {
	return func(current *store.Operator) error {
		switch {
		case current == nil:
			return c.demand(nil)
		case happened(*current) && c.Header.Get("If-None-Match") == "":
			return nil
		}
		return c.demand(func() ([]byte, error) { return operatorBody(*current) })
	}
}

func preconditionFailed(detail string) *problem {
	return &problem{status: http.StatusPreconditionFailed, code: wire.CodePreconditionFailed, detail: detail}
}

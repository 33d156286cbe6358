package api

import (
	"context"
	"net/http"
	"strconv"

	"plannerd/internal/parameters"
	"plannerd/internal/service/foresight"
	"plannerd/internal/web/httpkit"
	"plannerd/planner/policy"
)

// backtestRequest is the body of a backtest, all of which may be left out.
type backtestRequest struct {
	From     *int64          `json:"from_interval"`
	To       *int64          `json:"to_interval"`
	ThetaMax *float64        `json:"theta_max"`
	Worth    float64         `json:"balance_worth"`
	Policies []policy.Policy `json:"policies"`
}

// backtest answers what policies would have come to over the stored intervals of an operator.
func (s analysesOf) backtest(w http.ResponseWriter, c *call) error {
	var asked backtestRequest
	if err := c.readJSON(w, &asked); err != nil {
		return err
	}
	if err := checkPolicies(asked.Policies); err != nil {
		return err
	}
	c.memory.Open() // as of an analysis
	a := &analysisAnswer{w: w, lines: c.media == mediaNDJSON, now: s.now}
	var report *foresight.BacktestReport
	err := s.service.Analyse(c.Context(), "backtest", func(ctx context.Context) (err error) {
		report, err = s.service.Backtest(ctx, c.param("operator"), foresight.Backtest{
			From: asked.From, To: asked.To, ThetaMax: asked.ThetaMax, BalanceWorth: asked.Worth,
			Policies: asked.Policies, Memory: c.memory,
			Progress: func(done, total int64) { a.progress("planning", done, total) },
		})
		return err
	})
	if err != nil {
		return s.failed(c, a, err)
	}
	return a.result(report)
}

// checkPolicies refuses policies whose members contradict each other.
func checkPolicies(policies []policy.Policy) error {
	bad := httpkit.Invalid()
	for i, p := range policies {
		if input := parameters.InputError(p.Validate()); input != nil {
			bad.At("/policies/"+strconv.Itoa(i)+"/"+input.Field, input.Detail)
		}
	}
	return bad.OrNil()
}

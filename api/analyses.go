package api

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"

	"plannerd/internal/analyses"
	"plannerd/internal/web/contract"
)

// analysis is one of the analyses: a function of keys and of a request Q.
type analysis[Q, R any] func(ctx context.Context, in *analyses.Input, request Q, progress analyses.Progress) (*R, error)

// bound tells what a request takes besides its keys, in bytes, or refuses one that
// would take too much.
type bound[Q any] func(in *analyses.Input, request *Q) (bytes int64, err error)

// analysed returns the handler of an analysis. name is that of its metrics.
func analysed[Q, R any](s analysesOf, name string, run analysis[Q, R], check bound[Q]) handler {
	return func(w http.ResponseWriter, c *call) error {
		c.memory.Open() // it may take long, and what is for small plans is not for it
		r, err := s.readAnalysis(w, c)
		if err != nil {
			return err
		}
		var request Q
		if err := json.Unmarshal(r.fields, &request); err != nil {
			return contract.JSONProblem(err, "") // a number that is no integer
		}
		if err := s.loadInput(c, r); err != nil {
			return err
		}
		besides, err := check(r.input, &request)
		if err != nil {
			return r.problem(err)
		}
		if err := c.memory.Settle(c.memory.Used() + r.input.Bytes() + besides); err != nil {
			return err
		}
		a := &analysisAnswer{w: w, lines: c.media == mediaNDJSON, now: s.now}
		var result *R
		err = s.service.Analyse(c.Context(), name, func(ctx context.Context) (err error) {
			result, err = run(ctx, r.input, request, a.progress)
			return err
		})
		if err != nil {
			return s.failed(c, a, r.problem(err))
		}
		return a.result(result)
	}
}

// failed ends an answer with a problem. An answer that has begun tells it in its
// last line.
func (s analysesOf) failed(c *call, a *analysisAnswer, err error) error {
	err = s.service.NoticeDamage(c.Context(), err)
	left := a.fail(err)
	if left == nil && problemOf(err).Status >= http.StatusInternalServerError {
		s.log.ErrorContext(c.Context(), "analysis failed", "path", c.URL.Path, "error", err)
	}
	return left
}

// loadInput reads the stored statistics that a request names, if it does.
func (s analysesOf) loadInput(c *call, r *analysisRequest) error {
	if r.source.Operator == nil {
		return nil
	}
	operator, interval := *r.source.Operator, *r.source.Interval
	if err := sees(c.Context(), operator); err != nil {
		return err
	}
	var err error
	r.input, err = s.service.AnalysisInput(c.Context(), operator, interval, r.source.Epoch, c.memory)
	return err
}

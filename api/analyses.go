package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/internal/analyses"
	"plannerd/internal/statsio"
	"plannerd/store"
)

// analysis is one of the analyses: a function of keys and of a request Q.
type analysis[Q, R any] func(ctx context.Context, in *analyses.Input, request Q, progress analyses.Progress) (*R, error)

// bound tells what a request takes besides its keys, in bytes, or refuses one that
// would take too much.
type bound[Q any] func(in *analyses.Input, request *Q) (bytes int64, err error)

// analysed returns the handler of an analysis. name is that of its metrics.
func analysed[Q, R any](s *server, name string, run analysis[Q, R], check bound[Q]) handler {
	return func(w http.ResponseWriter, c *call) error {
		r, err := s.readAnalysis(w, c)
		if err != nil {
			return err
		}
		var request Q
		if err := json.Unmarshal(r.fields, &request); err != nil {
			return jsonProblem(err, "") // a number that is no integer
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
		err = s.analyse(c.Context(), name, func(ctx context.Context) (err error) {
			result, err = run(ctx, r.input, request, a.progress)
			return err
		})
		if err != nil {
			return s.failed(c, a, r.problem(err))
		}
		return a.result(result)
	}
}

// analyse runs an analysis when a slot is free, within the time of a plan.
func (s *server) analyse(ctx context.Context, name string, run func(context.Context) error) error {
	release, err := take(ctx, s.slots)
	if err != nil {
		return err
	}
	defer release()
	limited, cancel := context.WithTimeout(ctx, s.limits.PlanTime)
	defer cancel()
	begin := time.Now()
	limited, end := s.tracing.start(limited, "analyse", "plannerd.analysis", name)
	err = run(limited)
	end(err)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{status: http.StatusUnprocessableEntity, code: wire.CodeUnfinished,
			detail: fmt.Sprintf("The analysis takes longer than %v, the most that this server allows; ask for less.", s.limits.PlanTime)}
	case err == nil:
		s.metrics.analysing.WithLabelValues(name).Observe(time.Since(begin).Seconds())
	}
	return err
}

// failed ends an answer with a problem. An answer that has begun tells it in its
// last line.
func (s *server) failed(c *call, a *analysisAnswer, err error) error {
	left := a.fail(err)
	if left == nil && problemOf(err).status >= http.StatusInternalServerError {
		s.log.ErrorContext(c.Context(), "analysis failed", "path", c.URL.Path, "error", err)
	}
	return left
}

// loadInput reads the stored statistics that a request names, if it does.
func (s *server) loadInput(c *call, r *analysisRequest) error {
	if r.source.Operator == nil {
		return nil
	}
	operator, interval := *r.source.Operator, *r.source.Interval
	if err := sees(c.Context(), operator); err != nil {
		return err
	}
	plan, err := s.planOf(c.Context(), operator, interval, r.source.Epoch)
	if err != nil {
		return err
	}
	blob, err := s.store.Input(c.Context(), plan)
	if err != nil {
		return aboutInterval(operator, interval, err)
	}
	if blob == nil {
		return &problem{status: http.StatusGone, code: wire.CodePurged,
			detail: fmt.Sprintf("The input of interval %d of operator %q was not stored: store_inputs was false.", interval, operator)}
	}
	if err := c.memory.Reserve(int64(len(blob)) + int64(statsio.InputRows(blob))*storedRowBytes); err != nil {
		return err
	}
	if statsio.IsCompact(blob) {
		return conflict(wire.CodeKeysNotKnown, "The statistics of that interval are in compact form, which names no keys.")
	}
	stats, err := statsio.DecodeInput(blob)
	if err != nil {
		return fmt.Errorf("reading the stored input of plan %s: %w", plan, err)
	}
	if stats.Partial {
		return conflict(wire.CodeKeysNotKnown, "The statistics of that interval are partial: they do not name all keys.")
	}
	if r.input, err = analyses.FromStatistics(stats); err != nil {
		return err
	}
	return c.memory.Settle(r.input.Bytes())
}

// planOf returns the newest plan of an interval; epoch nil is the newest that has
// the interval.
func (s *server) planOf(ctx context.Context, operator string, interval int64, epoch *int64) (id string, err error) {
	filter := store.PlanFilter{Operator: operator, Interval: &interval, Limit: defaultPageSize}
	for {
		plans, next, err := s.store.Plans(ctx, filter)
		if err != nil {
			return "", aboutOperator(operator, err)
		}
		for _, p := range plans {
			if epoch == nil || p.Epoch == *epoch {
				return p.ID, nil
			}
		}
		if next == 0 {
			return "", aboutInterval(operator, interval, store.ErrNotFound)
		}
		filter.Before = next
	}
}

func aboutInterval(operator string, interval int64, err error) error {
	return about(wire.CodeIntervalNotFound, fmt.Sprintf("input of interval %d of operator %q", interval, operator), err)
}

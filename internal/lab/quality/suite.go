package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"plannerd/internal/lab/quality/cases"
	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// reference is the name under which strategy optimal runs with the tightest
// certificate.
const (
	referenceStrategy = planner.Optimal
	reference         = "optimal/tight"
)

// suite runs the cases and keeps what came out.
type suite struct {
	*config
	ctx      context.Context
	progress *progress
	records  []record
	// unreachable counts intervals that no swap of frequencies leads to.
	unreachable int
}

// assess runs everything and writes the report.
func assess(ctx context.Context, c *config, stdout, stderr io.Writer) (*suite, error) {
	s := &suite{config: c, ctx: ctx, progress: newProgress(stderr, len(c.settings))}
	yardstick := sortTime(c.yardsticks)
	start := time.Now()
	for _, setting := range c.settings {
		from := len(s.records)
		if err := s.run(setting); err != nil && ctx.Err() == nil {
			return nil, err
		} else if err != nil {
			break
		}
		s.progress.done(setting.Name(), len(s.records)-from)
	}
	r := report{suite: s, yardstick: yardstick, elapsed: time.Since(start), w: stdout}
	if err := r.write(); err != nil || c.figure == "" {
		return s, err
	}
	return s, os.WriteFile(c.figure, []byte(drawGaps(s.gaps())), 0o644)
}

// contradictions is how many cases have a plan that refutes a certificate.
func (s *suite) contradictions() (n int) {
	for i := range s.records {
		if s.records[i].contradicted {
			n++
		}
	}
	return n
}

// run measures the intervals of one setting.
func (s *suite) run(setting cases.Setting) error {
	if setting.Family != "" {
		c, err := cases.Draw(setting.Family, setting.Seed, s.familyKeys)
		if err == nil {
			_, err = s.interval(c, true)
		}
		return err
	}
	series, err := cases.Open(setting, s.streams)
	if err != nil {
		return err
	}
	defer series.Close()
	most := s.measured(setting)
	for n := range setting.WarmUp() + most {
		c, err := series.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, workload.ErrUnreachable):
			s.unreachable += most - max(0, n-setting.WarmUp())
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", setting.Name(), err)
		}
		plan, err := s.interval(c, n >= setting.WarmUp())
		if err == nil && plan != nil { // else the routing table stays as it is
			err = series.Commit(plan)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// interval returns the plan of a case that is carried on, nil if there is none,
// after it has put the case to every strategy if it is a measured one.
func (s *suite) interval(c *cases.Case, measured bool) (*planner.Plan, error) {
	commit := s.last(s.commit)
	if !measured {
		_, plan, err := s.time(commit, c)
		return plan, err
	}
	r, err := describe(c)
	if err != nil {
		return nil, err
	}
	chosen, err := s.try(c, r, commit)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(s.refer(c, r), s.leaveOut(c, r), s.disturbed(c, r)); err != nil {
		return nil, err
	}
	r.judge()
	if err := s.challenge(c, r); err != nil {
		return nil, err
	}
	s.records = append(s.records, *r)
	return chosen, nil
}

// try puts a case to every strategy. It returns the plan of the attempt that is carried
// on, nil if there is none.
func (s *suite) try(c *cases.Case, r *record, commit attempt) (chosen *planner.Plan, err error) {
	asked := false // for the plan that is carried on
	for _, name := range s.strategies {
		for _, a := range s.attempts(name) {
			if s.skips(name, c.Snapshot.Len()) {
				r.results = append(r.results, result{strategy: a.label, status: statusSkipped})
				continue
			}
			result, plan, err := s.time(a, c)
			if err != nil {
				return nil, err
			}
			if a == commit {
				chosen, asked = plan, true
			}
			r.results = append(r.results, result)
		}
	}
	if !asked {
		_, chosen, err = s.time(commit, c)
	}
	return chosen, err
}

// describe begins the record of a case.
func describe(c *cases.Case) (*record, error) {
	options := c.Options
	options.Certificate = planner.CertificateOff
	still, err := planner.Inspect(c.Snapshot, options)
	if err != nil {
		return nil, err
	}
	return &record{
		setting: c.Setting, interval: c.Interval, name: c.Name(), keys: c.Snapshot.Len(),
		settled: slices.Contains(still.Causes, planner.CauseBalanced), hot: len(still.HotKeys),
		thetaBefore: still.Theta.Before,
	}, nil
}

// refer adds the answers that tell what any plan can reach.
func (s *suite) refer(c *cases.Case, r *record) error {
	a := s.last(referenceStrategy)
	a.label, a.level = reference, planner.CertificateTight
	result, _, err := s.time(a, c)
	if err == nil {
		r.results = append(r.results, result)
	}
	return err
}

// challenge puts the case to the solver, if it is to be, and judges it again.
func (s *suite) challenge(c *cases.Case, r *record) error {
	if s.milp == 0 || s.above > 0 && !s.exceeds(r) {
		return nil
	}
	if s.above > 0 {
		r.proven, r.exceeding = r.bound, math.Inf(1)
		if ratio, ok := r.ratio(r.of(s.judged())); ok {
			r.exceeding = ratio
		}
	}
	result, err := s.solve(c)
	if err == nil {
		r.results = append(r.results, result)
		r.judge()
	}
	return err
}

// without is what the strategy optimal without a component is called.
func without(component string) string { return "without " + component }

// leaveOut adds the answers of strategy optimal without each of its components.
func (s *suite) leaveOut(c *cases.Case, r *record) error {
	if !s.ablate {
		return nil
	}
	for _, component := range plannertest.Components() {
		var x result
		var err error
		a := s.last(planner.Optimal)
		a.label = without(component)
		plannertest.Without(component, func() { x, _, err = s.time(a, c) })
		if err != nil {
			return err
		}
		r.results = append(r.results, x)
	}
	return nil
}

// The disturbed cases that optimal is also tried on.
const (
	renamed  = "keys renamed"
	withIdle = "idle keys added"
)

// disturbed adds the answers of strategy optimal to the case with other names of keys, and with
// idle keys.
func (s *suite) disturbed(c *cases.Case, r *record) error {
	if !s.disturb || c.Family == "" {
		return nil
	}
	for label, other := range map[string]*cases.Case{renamed: c.Renamed(), withIdle: c.WithIdle(c.Snapshot.Len())} {
		a := s.last(planner.Optimal)
		a.label = label
		x, _, err := s.time(a, other)
		if err != nil {
			return err
		}
		r.results = append(r.results, x)
	}
	return nil
}

// time runs a strategy under the time limit. The plan is nil when time ran out
// before there was any.
func (s *suite) time(a attempt, c *cases.Case) (result, *planner.Plan, error) {
	options := c.Options
	options.Certificate, options.Effort, options.WorkBudget = a.level, a.effort, a.budget
	runtime.GC() // so that this plan does not pay for what others left behind
	start := time.Now()
	deadline := start.Add(s.limit)
	options.Stop = func() bool { return s.ctx.Err() != nil || time.Now().After(deadline) }
	plan, err := planner.Run(a.strategy, c.Snapshot, options)
	elapsed := time.Since(start)
	switch {
	case s.ctx.Err() != nil:
		return result{}, nil, s.ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		return result{strategy: a.label, status: statusNoPlan, elapsed: elapsed}, nil, nil
	case err != nil:
		return result{}, nil, fmt.Errorf("%s: %s: %w", c.Name(), a.label, err)
	}
	return resultOf(a.label, plan, elapsed), plan, nil
}

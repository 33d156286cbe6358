package foresight

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"plannerd/internal/backtest"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/planner/policy"
	"plannerd/store"
)

// chooser chooses policies of operators by their stored intervals, and keeps the choices
// until plans are made by them: from then on they are stored with these.
type chooser struct {
	mu   sync.Mutex
	due  chan string             // operators whose policy is to be chosen
	made map[string]chosenPolicy // by operator; one without a choice is being chosen
}

type chosenPolicy struct {
	policy policy.Policy
	choice *scheme.Choice
}

// mostDue is how many operators wait for a choice; others are due again with their next
// plan.
const mostDue = 1000

func newChooser() *chooser {
	return &chooser{due: make(chan string, mostDue), made: map[string]chosenPolicy{}}
}

// inEffect is the policy that an operator plans by whose policy is chosen: the one of
// this process, or that of the plan before. Until there is one it plans on the last
// interval.
func (c *chooser) inEffect(b *scheme.Base, before *scheme.Foresight) (policy.Policy, *scheme.Choice) {
	c.mu.Lock()
	made := c.made[b.Op.Name]
	c.mu.Unlock()
	if fits(made.choice, b.Newest.Configuration) {
		return made.policy, made.choice
	}
	if before == nil || !fits(before.Chosen, b.Newest.Configuration) {
		return operator.OnLast, nil
	}
	choice := *before.Chosen
	choice.Age++
	return before.Policy, &choice
}

// fits reports whether a choice is for the tolerance, and the worth of balance, of a configuration: policies are made
// for these. Where resources have other bounds a policy stays in effect until another one is chosen.
func fits(c *scheme.Choice, of operator.Configuration) bool {
	return c != nil && c.ThetaMax == of.ThetaMax && c.BalanceWorth == of.BalanceWorth
}

// planned notes that a plan was stored, and with it the choice that it was made by.
func (c *chooser) planned(b *scheme.Base) {
	f := b.Foreseen
	if f == nil || f.State == nil || !b.Newest.Policy.Auto || !b.Newest.StoreInputs {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	made, known := c.made[b.Op.Name]
	if used := made.choice; used != nil && (used == f.Chosen || !fits(used, b.Newest.Configuration)) {
		delete(c.made, b.Op.Name)
		known = false
	}
	fresh := f.Chosen != nil && f.Chosen.Age < backtest.ChooseEvery &&
		f.Chosen.Bounds == operator.ResourceBounds(b.Newest.Configuration)
	if known || fresh || f.State.Intervals() < backtest.LeastIntervals {
		return
	}
	select {
	case c.due <- b.Op.Name:
		c.made[b.Op.Name] = chosenPolicy{}
	default:
	}
}

// chose keeps a choice; nil: there is none.
func (c *chooser) chose(name string, p policy.Policy, choice *scheme.Choice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if choice == nil {
		delete(c.made, name)
		return
	}
	c.made[name] = chosenPolicy{p, choice}
}

// Choose chooses policies as they become due, until ctx ends.
func (s *Forecaster) Choose(ctx context.Context) {
	for {
		select {
		case name := <-s.chooser.due:
			if err := s.chooseFor(ctx, name); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) {
				s.log.WarnContext(ctx, "no policy could be chosen, it is tried again", "operator", name, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// ChooseDue chooses the policies that are due by now, and ends with the first error.
func (s *Forecaster) ChooseDue(ctx context.Context) error {
	for len(s.chooser.due) > 0 {
		if err := s.chooseFor(ctx, <-s.chooser.due); err != nil {
			return err
		}
	}
	return nil
}

// chooseFor chooses the policy of an operator, and keeps the choice.
func (s *Forecaster) chooseFor(ctx context.Context, name string) error {
	p, choice, err := s.chooseOne(ctx, name)
	s.chooser.chose(name, p, choice)
	return err
}

// mostChoosingRows bounds the rows of all intervals that a choice is made by: each of them
// is planned on by a dozen policies.
const mostChoosingRows = 3_000_000

// chooseOne runs the policies over the stored intervals of an operator, one after the other,
// as long as a plan may take: it is in nobody's way.
func (s *Forecaster) chooseOne(ctx context.Context, name string) (p policy.Policy, made *scheme.Choice, err error) {
	memory := s.memory.Lease(ctx)
	defer memory.Release()
	memory.Open() // as of an analysis
	op, err := s.Operator(ctx, name)
	if err != nil {
		return p, nil, err
	}
	c := op.Configuration
	made = &scheme.Choice{ThetaMax: c.ThetaMax, BalanceWorth: c.BalanceWorth, Bounds: operator.ResourceBounds(c)}
	p, err = s.pick(ctx, op, made, memory)
	var refused *refusal.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		made.Reason = fmt.Sprintf("running policies over the kept intervals takes longer than %v, so it is one that does "+
			"well on most streams", s.Longest)
		return policy.Default(c.ThetaMax, c.BalanceWorth), made, nil
	case errors.As(err, &refused): // that is so until other intervals came
		made.Reason = refused.Detail
		return operator.OnLast, made, nil
	case err != nil:
		return p, nil, err
	}
	return p, made, nil
}

// restsPerWork is for how long choosing rests after each interval, by how long that took: who
// waits for an answer, or for the messages of an engine on the same machine, is before it.
const restsPerWork = 3

// rests returns what rests after work, which begins now; no longer than until ctx ends.
func rests(ctx context.Context) func() {
	began := time.Now()
	return func() {
		select {
		case <-time.After(restsPerWork * time.Since(began)):
		case <-ctx.Done():
		}
		began = time.Now()
	}
}

// pick chooses a policy, and says how it came to it.
func (s *Forecaster) pick(ctx context.Context, op reading.Operator, made *scheme.Choice, memory *admission.Lease) (
	p policy.Policy, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, (1+restsPerWork)*s.Longest)
	defer cancel()
	h, first, newest, err := s.history(ctx, op, Backtest{Memory: memory})
	if err != nil {
		return p, err
	}
	made.Intervals = h.Len()
	made.Interval = h.Number(h.Len() - 1)
	family := policy.DefaultGrid().Policies(made.ThetaMax, made.BalanceWorth)
	ledger, through, held, err := lastChoice(newest, made, family)
	if err != nil {
		return p, err
	}
	switch {
	case h.Len() < backtest.LeastIntervals:
		made.Reason = fmt.Sprintf("the statistics of %d intervals are kept without a gap, and a policy is chosen by %d at "+
			"least", h.Len(), backtest.LeastIntervals)
		if held >= 0 {
			made.Reason += ": until then the policy stays"
			return family[held], nil
		}
		return operator.OnLast, nil
	case h.Rows() > mostChoosingRows:
		made.Reason = fmt.Sprintf("the kept intervals have %d rows: too many for running policies over them, so it is one "+
			"that does well on most streams", h.Rows())
		return policy.Default(made.ThetaMax, made.BalanceWorth), nil
	}
	run, err := s.outset(ctx, op, first, memory)
	if err != nil {
		return p, err
	}
	run.Rest = rests(ctx)
	candidates := backtest.Candidates(family)
	for i := range candidates {
		candidates[i].Strategy = op.Configuration.Strategy
	}
	chosen, reason, err := backtest.Pick(ctx, h, run, candidates, &ledger, through, held)
	if err != nil {
		return p, unfit(err)
	}
	made.Reason, made.Weight = reason, ledger.Weight
	for i, p := range family {
		made.Tried = append(made.Tried, scheme.Tried{Policy: p, Cost: ledger.Cost[i], Moved: ledger.Moved[i]})
	}
	return family[chosen], nil
}

// lastChoice is what the policies of a family had cost when the one was chosen that a plan was made by, up to which
// interval, and which one that is; below 0: none of them. The ledger is empty where that was a choice from others, or
// under other bounds: what the policies cost then is no measure of what they cost now.
func lastChoice(p store.Plan, made *scheme.Choice, family []policy.Policy) (
	l policy.Ledger, through int64, held int, err error,
) {
	told, err := scheme.ForesightOf(p)
	if err != nil || told == nil || told.Chosen == nil || told.Chosen.ThetaMax != made.ThetaMax ||
		told.Chosen.BalanceWorth != made.BalanceWorth {
		return policy.Ledger{}, 0, -1, err
	}
	held = slices.IndexFunc(family, func(p policy.Policy) bool { return reflect.DeepEqual(p, told.Policy) })
	tried := func(t scheme.Tried, p policy.Policy) bool { return reflect.DeepEqual(t.Policy, p) }
	if told.Chosen.Bounds != made.Bounds || !slices.EqualFunc(told.Chosen.Tried, family, tried) {
		return policy.Ledger{}, 0, held, nil
	}
	return told.Chosen.Ledger(), told.Chosen.Interval, held, nil
}

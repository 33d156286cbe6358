package announce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plannerd/internal/drive"
	"plannerd/internal/operator"
	"plannerd/internal/service/scheme"
	"plannerd/store"
)

// The types of the events that no step of a plan says.
const (
	Expiring   = "plannerd.plan.expiring"       // three quarters of its time are over
	NotStarted = "plannerd.plan.not_started"    // it is approved, and nobody carries it out
	Overloaded = "plannerd.operator.overloaded" // what came was above a bound several times in a row
	Silent     = "plannerd.operator.silent"     // no statistics come any more
)

// What is looked at of an operator.
const (
	recent  = 50 // newest plans
	inARow  = 3  // intervals above a bound that are told
	ofGaps  = 10 // between plans, whose median is the usual one
	leastOf = 2  // gaps, before which nothing is usual
)

// waitingData is what is told of a plan that waits. The store writes the same figures of steps.
type waitingData struct {
	Epoch             int64        `json:"epoch"`
	Interval          int64        `json:"interval"`
	BaseVersion       int64        `json:"base_version"`
	Status            store.Status `json:"status"`
	Since             time.Time    `json:"since"`
	ExpiresAt         *time.Time   `json:"expires_at"`
	WaitsFor          []string     `json:"waits_for"`
	ThetaBefore       float64      `json:"theta_before"`
	ThetaAfter        float64      `json:"theta_after"`
	MigrationKeys     int64        `json:"migration_keys"`
	MigrationState    float64      `json:"migration_state"`
	MigrationFraction float64      `json:"migration_fraction"`
}

// operatorData is what is told of an operator.
type operatorData struct {
	Epoch    int64     `json:"epoch"`
	Interval int64     `json:"interval"` // the newest
	Since    time.Time `json:"since"`    // the first plan above a bound, or the last plan
	// Of one that is overloaded:
	Theta     *float64 `json:"theta,omitempty"`
	ThetaMax  *float64 `json:"theta_max,omitempty"`
	Intervals int      `json:"intervals,omitempty"`
	// Resources are those above their bounds in the newest interval; nil: the operator has none.
	Resources []scheme.Level `json:"resources,omitempty"`
	// Of one that is silent:
	UsualSeconds float64 `json:"usual_seconds,omitempty"`
}

// look announces what no step of a plan says.
func (a *Announcer) look(ctx context.Context) error {
	now, err := a.store.Now(ctx)
	if err != nil {
		return err
	}
	waiting, err := a.store.WaitingPlans(ctx, now)
	if err != nil {
		return err
	}
	seen := make(map[string]pace, len(a.seen))
	a.before, a.told = a.told, make(map[string]bool, len(a.told))
	for _, w := range waiting {
		if err := a.lookAtPlan(ctx, w, now); err != nil {
			return err
		}
	}
	for after := ""; ; {
		all, err := a.store.Operators(ctx, after, scheme.PlansAtATime)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			break
		}
		if err := a.lookAtOperators(ctx, all, now, seen); err != nil {
			return err
		}
		after = all[len(all)-1].Name
	}
	a.seen = seen
	return nil
}

func (a *Announcer) lookAtPlan(ctx context.Context, w store.WaitingPlan, now time.Time) error {
	waited := now.Sub(w.Since)
	expiring := w.ExpiresAt != nil && waited >= w.ExpiresAt.Sub(w.Since)*3/4
	notStarted := w.Status == store.StatusApproved && waited >= a.Patience
	if !expiring && !notStarted {
		return nil
	}
	if notStarted {
		var err error
		if notStarted, err = a.mayHaveStarted(ctx, w, now); err != nil || !expiring && !notStarted {
			return err
		}
	}
	e := store.WebhookEvent{Operator: w.Operator, Plan: w.ID, At: now}
	var err error
	if e.Data, err = json.Marshal(waitingData{
		Epoch: w.Epoch, Interval: w.Interval, BaseVersion: w.BaseVersion, Status: w.Status, Since: w.Since,
		ExpiresAt: w.ExpiresAt, WaitsFor: append([]string{}, w.WaitsFor...), ThetaBefore: w.ThetaBefore,
		ThetaAfter: w.ThetaAfter, MigrationKeys: w.MigrationKeys, MigrationState: w.MigrationState,
		MigrationFraction: w.MigrationFraction,
	}); err != nil {
		return err
	}
	if notStarted {
		e.Type, e.ID = NotStarted, fmt.Sprintf("%s-not-started-%d", w.ID, w.Since.Unix())
		err = a.announce(ctx, e, w.Status)
	}
	if expiring && err == nil {
		e.Type, e.ID = Expiring, fmt.Sprintf("%s-expiring-%d", w.ID, w.ExpiresAt.Unix())
		err = a.announce(ctx, e, w.Status)
	}
	return err
}

// mayHaveStarted tells whether a plan could have been started both now and when Patience began: neither a
// freeze nor the windows of its operator kept it back.
func (a *Announcer) mayHaveStarted(ctx context.Context, w store.WaitingPlan, now time.Time) (bool, error) {
	op, err := a.store.Operator(ctx, w.Operator)
	if errors.Is(err, store.ErrNotFound) { // it was deleted meanwhile
		return false, nil
	}
	for _, at := range []time.Time{now.Add(-a.Patience), now} {
		if err != nil {
			return false, err
		}
		var from time.Time
		if from, err = operator.StartsAt(op, at); !from.IsZero() {
			return false, err
		}
	}
	return true, err
}

// pace is how often plans of an operator are made.
type pace struct {
	newest          store.BriefPlan
	epoch, interval int64         // the operator's newest
	usual           time.Duration // between plans of successive intervals; 0: it is not known
}

// lookAtOperators looks at a page of operators. What there is to know of their plans is read of those alone
// that have new ones.
func (a *Announcer) lookAtOperators(ctx context.Context, all []store.Operator, now time.Time, seen map[string]pace,
) error {
	var changed []store.Operator
	for _, op := range all {
		if op.LastInterval == nil {
			continue
		}
		if p, known := a.seen[op.Name]; known && p.epoch == *op.LastEpoch && p.interval == *op.LastInterval {
			seen[op.Name] = p
		} else {
			changed = append(changed, op)
		}
	}
	if len(changed) > 0 {
		plans, err := a.store.RecentPlans(ctx, changed, recent)
		if err != nil {
			return err
		}
		for i, op := range changed {
			brief := onePerInterval(plans[i].Brief)
			if len(brief) == 0 {
				continue
			}
			if err := a.lookAtLevels(ctx, op, brief, now); err != nil {
				return err
			}
			seen[op.Name] = pace{brief[len(brief)-1], *op.LastEpoch, *op.LastInterval, usualGap(brief)}
		}
	}
	for _, op := range all {
		if err := a.lookForSilence(ctx, op.Name, seen[op.Name], now); err != nil {
			return err
		}
	}
	return nil
}

// onePerInterval keeps the first plan of each interval: others are replays of its statistics.
func onePerInterval(plans []store.BriefPlan) []store.BriefPlan {
	return slices.CompactFunc(plans, func(a, b store.BriefPlan) bool {
		return a.Epoch == b.Epoch && a.Interval == b.Interval
	})
}

// usualGap is the median of the last times between plans.
func usualGap(plans []store.BriefPlan) time.Duration {
	var gaps []time.Duration
	for i := max(1, len(plans)-ofGaps); i < len(plans); i++ {
		gaps = append(gaps, plans[i].CreatedAt.Sub(plans[i-1].CreatedAt))
	}
	if len(gaps) < leastOf {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// lookAtLevels announces an operator whose realised θ, or the level of another resource, was above its bound several
// times in a row. If that lasts for all plans that are looked at, it is announced once a day.
func (a *Announcer) lookAtLevels(ctx context.Context, op store.Operator, plans []store.BriefPlan, now time.Time) error {
	config, err := operator.DecodeConfiguration(op.Config)
	if err != nil {
		return err
	}
	first := len(plans)
	var above []scheme.Level // in the newest interval
	for first > 0 {
		levels, err := aboveBounds(plans[first-1], config)
		if err != nil {
			return err
		}
		if len(levels) == 0 {
			break
		}
		if first == len(plans) && len(config.Resources) > 0 {
			above = levels
		}
		first--
	}
	if len(plans)-first < inARow {
		return nil
	}
	newest := plans[len(plans)-1]
	id := plans[first].ID
	if first == 0 && len(plans) > recent/2 {
		id = strings.ReplaceAll(op.Name, ".", "%2E") + now.Format("-20060102")
	}
	return a.aboutOperator(ctx, op.Name, Overloaded, id+"-overloaded", now, operatorData{
		Epoch: newest.Epoch, Interval: newest.Interval, Since: plans[first].CreatedAt, Theta: &newest.ThetaRealised,
		ThetaMax: &config.ThetaMax, Intervals: len(plans) - first, Resources: above,
	})
}

// aboveBounds are the levels that came in the interval of a plan and were above the bounds of the configuration, the
// greatest part of a bound first. θ is known of every plan, the other levels of those that have a forecast.
func aboveBounds(p store.BriefPlan, c operator.Configuration) (above []scheme.Level, err error) {
	came, _, err := scheme.LevelsOf(p)
	if drive.Above(p.ThetaRealised, c.ThetaMax) {
		cost := scheme.Level{Name: c.Resources.Cost(), Level: p.ThetaRealised, ThetaMax: &c.ThetaMax}
		if len(came) > 0 {
			cost.Worst = came[0].Worst
		}
		above = append(above, cost)
	}
	for i, r := range c.Resources[min(1, len(c.Resources)):] {
		x := scheme.LevelOf(came, r.Name, r.Limit)
		if x != nil && drive.Above(x.Level, c.BoundOf(i+1)) {
			above = append(above, scheme.Level{
				Name: r.Name, Level: x.Level, Limit: r.Limit, ThetaMax: r.ThetaMax, Worst: x.Worst,
			})
		}
	}
	slices.SortStableFunc(above, func(a, b scheme.Level) int { return cmp.Compare(b.OfBound(), a.OfBound()) })
	return above, err
}

// lookForSilence announces an operator that has had no plan for three times its usual pause, and for longer
// than Patience.
func (a *Announcer) lookForSilence(ctx context.Context, name string, p pace, now time.Time) error {
	if p.usual == 0 || now.Sub(p.newest.CreatedAt) < max(a.Patience, 3*p.usual) {
		return nil
	}
	return a.aboutOperator(ctx, name, Silent, p.newest.ID+"-silent", now, operatorData{
		Epoch: p.newest.Epoch, Interval: p.newest.Interval, Since: p.newest.CreatedAt, UsualSeconds: p.usual.Seconds(),
	})
}

func (a *Announcer) aboutOperator(ctx context.Context, name, kind, id string, now time.Time, d operatorData) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return a.announce(ctx, store.WebhookEvent{ID: id, Type: kind, Operator: name, At: now, Data: data}, "")
}

// announce writes an event, unless this look and those before have done so in an unbroken row.
func (a *Announcer) announce(ctx context.Context, e store.WebhookEvent, status store.Status) error {
	if !a.before[e.ID] {
		if _, err := a.store.Announce(ctx, e, status); err != nil {
			return err
		}
	}
	a.told[e.ID] = true
	return nil
}

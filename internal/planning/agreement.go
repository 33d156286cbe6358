package planning

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/internal/operator"
	"plannerd/planner"
	"plannerd/store"
)

// agreement is how far over its limits somebody agreed that a plan may go: whoever approves
// it agrees to what it waited for, and to what newer statistics said of it by then.
type agreement struct {
	Theta     *float64          `json:"theta,omitzero"`     // the greatest; nil: none over the limit
	Migration *MigrationFigures `json:"migration,omitzero"` // the greatest amounts; nil: none over the limit
}

// extend agrees to limits that are broken by that much.
func (a *agreement) extend(breaks []string, theta float64, m MigrationFigures) {
	if slices.Contains(breaks, string(WaitThetaWorse)) {
		if a.Theta != nil {
			theta = max(theta, *a.Theta)
		}
		a.Theta = &theta
	}
	if slices.Contains(breaks, string(WaitMaxMigration)) {
		if b := a.Migration; b != nil {
			m = MigrationFigures{Keys: max(m.Keys, b.Keys), State: max(m.State, b.State),
				Fraction: max(m.Fraction, b.Fraction), Objective: max(m.Objective, b.Objective)}
		}
		a.Migration = &m
	}
}

// latestOf is how a plan does under newer statistics; nothing where there are none.
func latestOf(p store.Plan) (l latestFigures, err error) {
	if p.Latest == nil {
		return l, nil
	}
	if err = json.Unmarshal(p.Latest, &l); err != nil {
		err = fmt.Errorf("reading how plan %s does: %w", p.ID, err)
	}
	return l, err
}

// agreedTo is what somebody who approved a plan agreed to; nothing as long as it waits.
func agreedTo(p store.Plan) (agreement, error) {
	latest, err := latestOf(p)
	if p.Status != store.StatusProposed {
		latest.Agreed.extend(p.WaitsFor, p.ThetaAfter, MigrationFigures{
			Keys: p.MigrationKeys, State: p.MigrationState, Fraction: p.MigrationFraction, Objective: p.Objective,
		})
	}
	return latest.Agreed, err
}

// agreeToLatest is what newer statistics say of a plan once somebody agrees to that.
func agreeToLatest(p store.Plan) ([]byte, error) {
	latest, err := latestOf(p)
	if err != nil || len(latest.Breaks) == 0 {
		return p.Latest, err
	}
	latest.Agreed.extend(latest.Breaks, latest.Figures.Theta.After, latest.Figures.Migration)
	latest.Breaks = []string{}
	return json.Marshal(latest)
}

// breaksBeyond tells which limits a plan breaks by more than somebody agreed to, as far as
// its statistics tell.
func breaksBeyond(c operator.ApprovalRule, a agreement, p *planner.Plan) []WaitReason {
	return slices.DeleteFunc(breaks(c, p), func(r WaitReason) bool {
		if r == WaitThetaWorse {
			return a.Theta != nil && p.Theta.After <= *a.Theta
		}
		limit, m := *c.Approval.MaxMigration, a.Migration
		if m == nil {
			return false
		}
		switch {
		case limit.Keys != nil:
			limit.Keys = &m.Keys
		case limit.State != nil:
			limit.State = &m.State
		default:
			limit.Fraction = &m.Fraction
		}
		return !moreThan(limit, p.Migration)
	})
}

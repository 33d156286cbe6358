package planning

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"plannerd/planner"
	"plannerd/store"
)

// Limit is what a plan must keep to that is carried out without a person's approval.
type Limit string

// The limits.
const (
	LimitTheta Limit = "theta_worse" // θ is above θ_max afterwards, and no better than without the plan
)

// breaks tells which limits a plan breaks, as far as its statistics tell.
func (c Configuration) breaks(p *planner.Plan) []Limit {
	out := []Limit{}
	allowed := p.Theta.Before
	for _, h := range p.HotKeys {
		allowed = max(allowed, h.ForcedTheta)
	}
	if !p.Balanced && p.Theta.After > allowed {
		out = append(out, LimitTheta)
	}
	return out
}

// evaluatedPlan is another plan, and how it does under the statistics of a new one.
type evaluatedPlan struct {
	id      string
	figures *evaluatedFigures // nil: they cannot be told
	breaks  []Limit
}

// evaluation is what the store keeps of how another plan does under the statistics of p.
func (o *PlanResult) evaluation(p store.Plan) (*store.Evaluation, error) {
	e := o.evaluated
	if e == nil {
		return nil, nil
	}
	latest := latestFigures{Plan: p.ID, Epoch: p.Epoch, Interval: p.Interval, Figures: e.figures, Breaks: e.breaks}
	text, err := json.Marshal(latest)
	if err != nil {
		return nil, fmt.Errorf("encoding how plan %s does: %w", e.id, err)
	}
	return &store.Evaluation{Plan: e.id, Latest: text, LimitsChanged: len(e.breaks) > 0}, nil
}

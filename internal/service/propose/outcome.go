package propose

import (
	"encoding/json"
	"fmt"

	"plannerd/internal/service/figures"
	"plannerd/internal/service/scheme"
	"plannerd/store"
)

// outcome is what was computed for a proposal, and what is known beside it.
type outcome struct {
	*scheme.Result
	small     bool                  // its statistics are too small to be acted upon
	evaluated *evaluatedPlan        // nil: no other plan waits or is carried out
	blocking  *figures.BlockingPlan // nil: no other plan was in the way
	undo      *figures.Undo         // which version it brings back; nil: none
	returned  float64               // of the state that moves, what goes back; see Forecaster.Returned
}

// figures are those of the plan as the store keeps them.
func (o outcome) figures() (store.Figures, error) {
	f, err := o.Figures()
	f.ReturnedState = o.returned
	if err != nil || o.blocking == nil {
		return f, err
	}
	if f.Pending, err = json.Marshal(o.blocking); err != nil {
		err = fmt.Errorf("encoding which plan is in the way: %w", err)
	}
	return f, err
}

// evaluatedPlan is another plan, and how it does under the statistics of a new one.
type evaluatedPlan struct {
	id      string
	figures *figures.EvaluatedFigures // nil: they cannot be told
	breaks  []figures.WaitReason      // that nobody has agreed to
	agreed  figures.Agreement
	changed bool // it must be approved again
}

// evaluation is what the store keeps of how another plan does under the statistics of p.
func (o outcome) evaluation(p store.Plan) (*store.Evaluation, error) {
	e := o.evaluated
	if e == nil {
		return nil, nil
	}
	text, err := json.Marshal(figures.LatestFigures{
		Plan: p.ID, Epoch: p.Epoch, Interval: p.Interval, Figures: e.figures, Breaks: figures.ReasonsText(e.breaks),
		Agreed: e.agreed,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding how plan %s does: %w", e.id, err)
	}
	return &store.Evaluation{Plan: e.id, Latest: text, LimitsChanged: e.changed}, nil
}

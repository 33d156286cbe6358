package backtest

import "plannerd/internal/drive"

// Figures are realised: of the loads that came under the tables that were in effect.
type Figures = drive.Realised

// Figures are those of the intervals from one to another, and of what moved to get there
// from the interval before them on.
func (t *Track) Figures(from, to int) Figures {
	effects := make([]drive.Effect, len(t.Steps))
	for i, s := range t.Steps {
		effects[i] = s.Effect
	}
	return drive.RealisedOf(t.ThetaMax, effects, from, to)
}

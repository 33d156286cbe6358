package operator

import (
	"fmt"
	"time"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/batches"
)

// BatchBounds limit each of the batches in which a plan is handed over; 0: no limit.
type BatchBounds struct {
	Keys  int64               `json:"keys,omitzero"`
	State float64             `json:"state,omitzero"`
	Pause parameters.Duration `json:"pause,omitzero"` // for which any instance sends or receives
}

// What the pause of a batch may be.
const (
	shortestPause = parameters.Duration(time.Millisecond)
	longestPause  = parameters.Duration(24 * time.Hour)
)

// Bounds are those of the planner.
func (c Configuration) Bounds() batches.Bounds {
	if c.Batches == nil {
		return batches.Bounds{}
	}
	return batches.Bounds{
		Keys: c.Batches.Keys, State: c.Batches.State,
		Busiest: float64(time.Duration(c.Batches.Pause).Seconds() * c.TransferRate),
	}
}

// checkBatches finds what is wrong with the bounds of batches.
func checkBatches(c Configuration) error {
	switch {
	case c.Batches == nil:
		return nil
	case c.TableOwner == OwnerEngine:
		return planner.Invalid("batches", "are of a routing table that the service holds")
	case *c.Batches == BatchBounds{}:
		return planner.Invalid("batches", "must have keys, state or pause")
	case c.Batches.Pause != 0 && (c.Batches.Pause < shortestPause || c.Batches.Pause > longestPause):
		return planner.Invalid("batches/pause", fmt.Sprintf("must be from %v to %v", time.Duration(shortestPause),
			time.Duration(longestPause)))
	case c.Batches.Pause > 0 && c.TransferRate == 0:
		return planner.Invalid("batches/pause", "needs transfer_rate")
	case c.Bounds().Busiest > planner.MaxAmount:
		return planner.Invalid("batches/pause", "is too long for the transfer_rate")
	}
	return nil
}

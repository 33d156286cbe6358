package offline

import (
	"fmt"
	"slices"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/planner"
	"plannerd/planner/batches"
	"plannerd/sdk/go/wire"
)

// bounds are those that the flags set; none: the plan is one batch, and no flag is set.
func (c *Plan) bounds() (batches.Bounds, error) {
	b := batches.Bounds{
		Keys: c.BatchKeys, State: c.BatchState, Busiest: float64(c.BatchPause.Seconds() * c.TransferRate),
	}
	outside := func(x float64) bool { return !(x >= 0 && x <= planner.MaxAmount) }
	switch {
	case outside(c.BatchState):
		return b, cli.Usagef("--batch-state: must be from 0 to 1e290")
	case outside(c.TransferRate):
		return b, cli.Usagef("--transfer-rate: must be from 0 to 1e290")
	case c.BatchPause > 0 && c.TransferRate == 0:
		return b, cli.Usagef("--batch-pause: needs --transfer-rate")
	case outside(b.Busiest):
		return b, cli.Usagef("--batch-pause: is too long for that --transfer-rate")
	case c.TransferRate > 0 && b == (batches.Bounds{}):
		return b, cli.Usagef("--transfer-rate: belongs to --batch-keys, --batch-state or --batch-pause")
	}
	return b, nil
}

// seconds is how long it takes to send, or receive, so much state; nil: the rate is not
// known.
func (c *Plan) seconds(state float64) *float64 {
	if c.TransferRate == 0 {
		return nil
	}
	return new(state / c.TransferRate)
}

// cut cuts the last plan into the batches that the flags ask for.
func (c *Plan) cut() (err error) {
	bounds, err := c.bounds()
	if err != nil || bounds == (batches.Bounds{}) {
		return err
	}
	switch {
	case !c.alone():
		return cli.Usagef("--batch-keys, --batch-state and --batch-pause: batches are of one plan; --interval names one")
	case c.last.classes != nil:
		return cli.Usagef("--batch-keys, --batch-state and --batch-pause: need keys, not classes of keys")
	case c.last.Plan == nil:
		return nil
	}
	c.schedule, err = batches.Cut(c.last.Plan, bounds)
	return err
}

// Schedule has the batches of a plan. Busiest amounts are what the busiest instance sends or
// receives.
type Schedule struct {
	// Batches say each what it does to the routing table of the one before.
	Batches []struct {
		Keys      int64                    `json:"keys"`
		State     float64                  `json:"state"`
		Busiest   float64                  `json:"busiest"`
		Seconds   *float64                 `json:"seconds,omitzero"`
		Theta     float64                  `json:"theta"`
		TableSize int64                    `json:"table_size"`
		Set       []wire.RoutingTableEntry `json:"set"`
		Unset     []string                 `json:"unset"`
	} `json:"batches"`
	Busiest      float64  `json:"busiest"`
	LowerBound   float64  `json:"lower_bound"`
	Seconds      *float64 `json:"seconds,omitzero"`
	LeastSeconds *float64 `json:"least_seconds,omitzero"`
	TablePeak    int64    `json:"table_peak"`
}

// scheduleOf writes the batches out; nil: the plan was not cut.
func (c *Plan) scheduleOf(keys reading.KeyEncoder) *Schedule {
	x := c.schedule
	if x == nil {
		return nil
	}
	out := &Schedule{
		Busiest: x.Busiest, LowerBound: x.LowerBound,
		Seconds: c.seconds(x.Busiest), LeastSeconds: c.seconds(x.LowerBound), TablePeak: x.TablePeak,
	}
	out.Batches = slices.Grow(out.Batches, len(x.Batches))[:len(x.Batches)]
	for i, b := range x.Batches {
		part := *c.last.Plan // what it does in this batch
		part.Moves, part.Unset, part.Splits = b.Moves, b.Unset, b.Splits
		part.Set = slices.Concat(b.Set, b.Pins)
		table := listsOf(&part, c.last, keys).RoutingTable
		o := &out.Batches[i]
		o.Keys, o.State, o.Busiest, o.Seconds = b.Keys, b.State, b.Busiest, c.seconds(b.Busiest)
		o.Theta, o.TableSize, o.Set, o.Unset = b.Theta, b.Table, table.Set, table.Unset
	}
	return out
}

// numbered says of each migration of the plan in which batch it is, from 1.
func (c *Plan) numbered() func(migration int) cli.More {
	in := map[int32]int{}
	for n, b := range c.schedule.Batches {
		for _, m := range b.Moves {
			in[m.Item] = n + 1
		}
	}
	return func(i int) cli.More { return cli.More{"batch": in[c.last.Plan.Moves[i].Item]} }
}

// writeBatches lists the batches.
func (c *Plan) writeBatches(w *cli.Page, _ *planner.Plan) {
	x := c.schedule
	if x == nil || len(x.Batches) == 0 {
		return
	}
	amount := func(state float64) string {
		if s := c.seconds(state); s != nil {
			return cli.Duration(time.Duration(*s * float64(time.Second)))
		}
		return cli.SI(state)
	}
	what := "of state for the busiest instances"
	if c.TransferRate > 0 {
		what = "for the transfers"
	}
	fmt.Fprintf(w, "\nBatches: %s, %s %s; no order of transfers takes less than %s\n\n",
		cli.Integer(len(x.Batches)), amount(x.Busiest), what, amount(x.LowerBound))
	if asked, _ := c.bounds(); asked != x.Bounds {
		fmt.Fprintf(w, "There are %s batches at most, so the bounds were widened.\n\n", cli.Integer(batches.Most))
	}
	writeFirst(w, c, x.Batches, "batch right | keys = moved | state = size si | busiest instance = pause right"+
		" | θ after = theta theta | table", func(i int) cli.More {
		b := x.Batches[i]
		return cli.More{"batch": cli.Integer(i + 1), "moved": b.Keys, "size": b.State, "pause": amount(b.Busiest),
			"theta": b.Theta, "table": b.Table}
	})
}

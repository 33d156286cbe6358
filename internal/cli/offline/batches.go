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

// batchFlags bound the batches in which a plan is handed over.
type batchFlags struct {
	BatchKeys    int64         `least:"0" default:"0" group:"Batches" help:"Cut the plan into batches, which are handed over one after the other: at most so many keys change their route, or have state moved, in each; 0: no such bound."`
	BatchState   float64       `default:"0" group:"Batches" help:"At most so much state moves in each batch, in units of state; 0: no such bound."`
	BatchPause   time.Duration `least:"0" default:"0s" group:"Batches" help:"No instance sends, or receives, for longer in a batch, by --transfer-rate; 0: no such bound."`
	TransferRate float64       `default:"0" group:"Batches" help:"How much state an instance sends and receives in a second, in units of state: batches are then told with their times; 0: not known."`
}

// bounds are those that the flags set; none: the plan is one batch, and no flag is set.
func (f *batchFlags) bounds() (batches.Bounds, error) {
	b := batches.Bounds{
		Keys: f.BatchKeys, State: f.BatchState, Busiest: float64(f.BatchPause.Seconds() * f.TransferRate),
	}
	outside := func(x float64) bool { return !(x >= 0 && x <= planner.MaxAmount) }
	switch {
	case outside(f.BatchState):
		return b, cli.Usagef("--batch-state: must be from 0 to 1e290")
	case outside(f.TransferRate):
		return b, cli.Usagef("--transfer-rate: must be from 0 to 1e290")
	case f.BatchPause > 0 && f.TransferRate == 0:
		return b, cli.Usagef("--batch-pause: needs --transfer-rate")
	case outside(b.Busiest):
		return b, cli.Usagef("--batch-pause: is too long for that --transfer-rate")
	case f.TransferRate > 0 && b == (batches.Bounds{}):
		return b, cli.Usagef("--transfer-rate: belongs to --batch-keys, --batch-state or --batch-pause")
	}
	return b, nil
}

// seconds is how long it takes to send, or receive, so much state; nil: the rate is not
// known.
func (f *batchFlags) seconds(state float64) *float64 {
	if f.TransferRate == 0 {
		return nil
	}
	return new(state / f.TransferRate)
}

// cut cuts the last plan into the batches that the flags ask for.
func (r *planReport) cut() (err error) {
	bounds, err := r.cmd.bounds()
	if err != nil || bounds == (batches.Bounds{}) {
		return err
	}
	switch {
	case !r.single():
		return cli.Usagef("--batch-keys, --batch-state and --batch-pause: batches are of one plan; --interval names one")
	case r.last.classes != nil:
		return cli.Usagef("--batch-keys, --batch-state and --batch-pause: need keys, not classes of keys")
	case r.last.Plan == nil:
		return nil
	}
	r.schedule, err = batches.Cut(r.last.Plan, bounds)
	return err
}

// Schedule has the batches of a plan. Busiest amounts are what the busiest instance sends or
// receives.
type Schedule struct {
	Batches      []Batch  `json:"batches"`
	Busiest      float64  `json:"busiest"`
	LowerBound   float64  `json:"lower_bound"`
	Seconds      *float64 `json:"seconds,omitzero"`
	LeastSeconds *float64 `json:"least_seconds,omitzero"`
	TablePeak    int64    `json:"table_peak"`
}

// Batch is one batch, with what it does to the routing table of the one before.
type Batch struct {
	Keys      int64                    `json:"keys"`
	State     float64                  `json:"state"`
	Busiest   float64                  `json:"busiest"`
	Seconds   *float64                 `json:"seconds,omitzero"`
	Theta     float64                  `json:"theta"`
	TableSize int64                    `json:"table_size"`
	Set       []wire.RoutingTableEntry `json:"set"`
	Unset     []string                 `json:"unset"`
}

// scheduleOf writes the batches out; nil: the plan was not cut.
func (r *planReport) scheduleOf(keys reading.KeyEncoder) *Schedule {
	x := r.schedule
	if x == nil {
		return nil
	}
	out := &Schedule{
		Batches: make([]Batch, len(x.Batches)), Busiest: x.Busiest, LowerBound: x.LowerBound,
		Seconds: r.cmd.seconds(x.Busiest), LeastSeconds: r.cmd.seconds(x.LowerBound), TablePeak: x.TablePeak,
	}
	for i, b := range x.Batches {
		part := *r.last.Plan // what it does in this batch
		part.Moves, part.Unset, part.Splits = b.Moves, b.Unset, b.Splits
		part.Set = slices.Concat(b.Set, b.Pins)
		table := listsOf(&part, r.last, keys).RoutingTable
		out.Batches[i] = Batch{
			Keys: b.Keys, State: b.State, Busiest: b.Busiest, Seconds: r.cmd.seconds(b.Busiest), Theta: b.Theta,
			TableSize: b.Table, Set: table.Set, Unset: table.Unset,
		}
	}
	return out
}

// numbered says of each migration of the plan in which batch it is, from 1.
func (r *planReport) numbered() func(migration int) cli.More {
	in := map[int32]int{}
	for n, b := range r.schedule.Batches {
		for _, m := range b.Moves {
			in[m.Item] = n + 1
		}
	}
	return func(i int) cli.More { return cli.More{"batch": in[r.last.Plan.Moves[i].Item]} }
}

// writeBatches lists the batches.
func (r *planReport) writeBatches(w *cli.Page, _ *planner.Plan) {
	x := r.schedule
	if x == nil || len(x.Batches) == 0 {
		return
	}
	amount := func(state float64) string {
		if s := r.cmd.seconds(state); s != nil {
			return cli.Duration(time.Duration(*s * float64(time.Second)))
		}
		return cli.SI(state)
	}
	what := "of state for the busiest instances"
	if r.cmd.TransferRate > 0 {
		what = "for the transfers"
	}
	fmt.Fprintf(w, "\nBatches: %s, %s %s; no order of transfers comes to less than %s\n\n",
		cli.Integer(len(x.Batches)), amount(x.Busiest), what, amount(x.LowerBound))
	if asked, _ := r.cmd.bounds(); asked != x.Bounds {
		fmt.Fprintf(w, "There are %s batches at most, so the bounds were widened.\n\n", cli.Integer(batches.Most))
	}
	writeFirst(w, r, x.Batches, "batch right | keys = moved | state = size si | busiest instance = pause right"+
		" | θ after = theta theta | table", func(i int) cli.More {
		b := x.Batches[i]
		return cli.More{"batch": cli.Integer(i + 1), "moved": b.Keys, "size": b.State, "pause": amount(b.Busiest),
			"theta": b.Theta, "table": b.Table}
	})
}

package offline

import (
	"fmt"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/planner"
	"plannerd/planner/batches"
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

// ScheduleFigures are the batches of a plan. Busiest amounts are what the busiest
// instance sends or receives.
type ScheduleFigures struct {
	Batches      []batchFigures `json:"batches"`
	Busiest      float64        `json:"busiest"`
	LowerBound   float64        `json:"lower_bound"`
	Seconds      *float64       `json:"seconds,omitzero"`
	LeastSeconds *float64       `json:"least_seconds,omitzero"`
	TablePeak    int64          `json:"table_peak"`
}

// batchFigures are one batch, with what it does to the routing table of the one before.
type batchFigures struct {
	Keys      int64                `json:"keys"`
	State     float64              `json:"state"`
	Busiest   float64              `json:"busiest"`
	Seconds   *float64             `json:"seconds,omitzero"`
	Theta     float64              `json:"theta"`
	TableSize int64                `json:"table_size"`
	Set       []reading.TableEntry `json:"set"`
	Unset     []string             `json:"unset"`
	SplitKeys []splitKey           `json:"split_keys,omitzero"`
}

// scheduleOf writes the batches out; nil: the plan was not cut.
func (r *planReport) scheduleOf(keys reading.KeyEncoder) *ScheduleFigures {
	x := r.schedule
	if x == nil {
		return nil
	}
	out := &ScheduleFigures{
		Batches: make([]batchFigures, len(x.Batches)), Busiest: x.Busiest, LowerBound: x.LowerBound,
		Seconds: r.cmd.seconds(x.Busiest), LeastSeconds: r.cmd.seconds(x.LowerBound), TablePeak: x.TablePeak,
	}
	for i, b := range x.Batches {
		part := partOf(r.last.Plan, b)
		set, unset := tableChangesOf(part, keys)
		out.Batches[i] = batchFigures{
			Keys: b.Keys, State: b.State, Busiest: b.Busiest, Seconds: r.cmd.seconds(b.Busiest), Theta: b.Theta,
			TableSize: b.Table, Set: set, Unset: unset, SplitKeys: splitKeysOf(part, keys),
		}
	}
	return out
}

// partOf is what a plan does in a batch.
func partOf(p *planner.Plan, b batches.Batch) *planner.Plan {
	part := *p
	part.Moves, part.Unset, part.Splits = b.Moves, b.Unset, b.Splits
	part.Set = append(append([]planner.Setting(nil), b.Set...), b.Pins...)
	return &part
}

// numberMigrations notes in which batch each migration of the plan is, from 1.
func (r *planReport) numberMigrations(list []migration) {
	if r.schedule == nil {
		return
	}
	in := map[int32]int{}
	for n, b := range r.schedule.Batches {
		for _, m := range b.Moves {
			in[m.Item] = n + 1
		}
	}
	for i, m := range r.last.Plan.Moves {
		list[i].Batch = in[m.Item]
	}
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
	columns := []cli.Column{
		cli.Number("batch"), cli.Number("keys"), cli.Number("state"), cli.Number("busiest instance"), cli.Number("θ after"),
		cli.Number("table"),
	}
	r.writeList(w, columns, len(x.Batches), func(i int) []string {
		b := x.Batches[i]
		return []string{
			cli.Integer(i + 1), cli.Integer(b.Keys), cli.SI(b.State), amount(b.Busiest), cli.Theta(b.Theta),
			cli.Integer(b.Table),
		}
	})
}

package offline

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/input/lists"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// driver carries one operator through the intervals of an input as drive.Driver
// does, whatever they hold: keys, keys that are to be compacted, or compact
// records.
type driver struct {
	*drive.Driver
	form     compact.Options
	needKeys []string // the flags given that say something about keys
	// What came of compacting the keys that were planned on last.
	compacted *compact.Compression
	planned   *compact.KeyPlan
}

func newDriver(op drive.Operator, form compact.Options, needKeys []string) *driver {
	d := &driver{form: form, needKeys: needKeys}
	if form.Degree > 0 {
		op.Plan = func(s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
			return d.planCompacted(op.Strategy, s, o)
		}
	}
	d.Driver = drive.New(op)
	return d
}

// values are the parameters of the plans.
func (d *driver) values() parameters.Values {
	v := parameters.Of(d.Operator().Options)
	if v.Compact.Degree = d.form.Degree; v.Compact.Degree > 0 {
		for _, x := range []struct {
			into **float64
			from float64
		}{{&v.Compact.CostScale, d.form.Scales.Cost}, {&v.Compact.StateScale, d.form.Scales.State}} {
			if x.from > 0 {
				*x.into = &x.from
			}
		}
	}
	return v
}

// planCompacted plans on the classes of the keys.
func (d *driver) planCompacted(strategy string, s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
	options := d.form
	if o.Splitting != nil || len(s.Splits) > 0 {
		var err error
		if options.Named, err = planner.Divisible(s); err != nil {
			return nil, err
		}
	}
	c, err := compact.Compress(s, options)
	if err != nil {
		return nil, err
	}
	p, err := c.Plan(strategy, o)
	if err != nil {
		return nil, err
	}
	d.compacted, d.planned = c, p
	return p.Plan, nil
}

// step is what became of one interval.
type step struct {
	drive.Step
	// loadErrors are, by instance, those of records made of keys.
	loadErrors []planner.Comparison
	// classes are the records that were planned on in the place of keys; nil for keys.
	classes *compact.Classes
	// hash identifies them.
	hash [16]byte
	// grouped is how many keys routed keys stand for; 0: keys are planned.
	grouped int
}

// moves are those of keys; of classes, and of keys that are named where any are.
func (s *step) moves() lists.List {
	if s.classes == nil {
		return lists.MigrationsOf(s.Plan)
	}
	classes := s.classes.Moves(s.Plan)
	if s.classes.Items.Named == 0 {
		return lists.ClassMovesOf(classes)
	}
	return lists.ItemMovesOf(classes, lists.MigrationsOf(s.named()))
}

// named is the plan with what it does to keys that are named alone.
func (s *step) named() *planner.Plan {
	if s.classes == nil {
		return s.Plan
	}
	named := *s.Plan
	named.Moves = s.classes.MovesNamed(s.Plan)
	named.HotKeys = slices.DeleteFunc(slices.Clone(named.HotKeys),
		func(h planner.HotKey) bool { return !s.classes.IsNamed(h.Item) })
	return &named
}

// step plans one interval and applies the plan.
func (d *driver) step(ctx context.Context, interval int64, given *input.Document) (step, error) {
	switch {
	case given.Records != nil:
		return d.stepRecords(ctx, interval, given)
	case d.form.Degree == 0 && d.form.Scales != compact.Scales{}:
		return step{}, cli.Usagef("--cost-scale and --state-scale belong to --compact, or to compact records")
	}
	s, err := d.Step(ctx, interval, given.Stats)
	out := step{Step: s}
	if c := d.compacted; c != nil && s.Plan != nil {
		greatest := d.planned.GreatestError()
		out.loadErrors, out.Compaction = d.planned.Error, formOf(&c.Classes, c.Degree, &greatest)
	}
	return out, err
}

// stepRecords plans on compact records.
func (d *driver) stepRecords(ctx context.Context, interval int64, given *input.Document) (step, error) {
	st, err := statistics(d.form, given)
	if err != nil {
		return step{}, err
	}
	for _, flag := range d.needKeys {
		if flag != reading.TableFlag || st.Named == nil {
			return step{}, cli.Usagef("%s: needs keys, and the input holds compact records", flag)
		}
	}
	op := d.Operator()
	if missing := st.Unnamed(op.Base.Table); len(missing) > 0 {
		return step{}, cli.Usagef("%s: it splits keys that the input does not name beside its records: %s", reading.TableFlag,
			reading.CutList(missing))
	}
	c, err := compact.NewClasses(st, op.Target, op.Base)
	if err != nil {
		return step{}, err
	}
	s, err := d.On(ctx, interval, c.Items)
	out := step{Step: s, classes: c, hash: st.Fingerprint()}
	if s.Plan != nil {
		out.Compaction = formOf(c, st.Degree, nil)
	}
	return out, err
}

// driveFlags say what plan and compare drive through a stream.
type driveFlags struct {
	reading.InputFlags
	reading.OperatorFlags
	reading.ResourceFlags
	kong.Plugins // of [NewStrategyFlags]

	Compact int `default:"0" group:"Compact form" help:"Plan on classes of keys that count as equal: the degree R of discretisation, a power of two. 1 is the finest and 0 is off."`
	ScaleFlags

	Split      bool     `group:"Operator" help:"Keys that no instance can carry whole may be split over several: the operator's partial results of a key can be merged. Of compact records only keys that are named beside them."`
	MaxParts   int      `least:"0" default:"0" group:"Operator" help:"With --split: the most parts of a key; 0: one for each instance."`
	MergeCost  float64  `default:"0" group:"Operator" help:"With --split: what each part of a split key adds to the load of its instance, in units of cost."`
	SplitPrice *float64 `placeholder:"X" group:"Operator" help:"With --split and strategy optimal: split any key, and further, where a part more saves moving more than so much state (default: only keys that no instance can carry whole)."`
	SplitParts string   `enum:"migrate,expire" default:"migrate" group:"Operator" help:"With --split: what becomes of parts that a plan takes away: they migrate to another one, or expire where they are, as the state of a window does."`

	EntryGrace int `least:"0" default:"2" group:"Operator" help:"For how many intervals in a row a key must be absent before its table entry may be dropped; 0: at once."`
	Window     int `own:"" least:"1" default:"1" group:"Operator" help:"For how many intervals what an interval added to the state of a key moves with it. Above 1 the rows' state is what their interval added, and plans are made on the sums."`
}

// drivers returns a driver for each trial, with the bounds on time of like; needKeys
// are further flags given that say something about keys.
func (f *driveFlags) drivers(trials []parameters.Trial, like drive.Operator, needKeys ...string) ([]*driver, error) {
	form, err := f.form()
	if err != nil {
		return nil, err
	}
	op, err := f.Operator(planner.Options{}, f.Encoder())
	if err != nil {
		return nil, err
	}
	if err := f.Set(&op.Target, &f.OperatorFlags); err != nil {
		return nil, err
	}
	splitting, err := f.splitting()
	if err != nil {
		return nil, err
	}
	op.EntryGrace = f.EntryGrace
	op.PlanTimeout, op.TotalTimeout, op.Now = like.PlanTimeout, like.TotalTimeout, like.Now
	drivers := make([]*driver, len(trials))
	for i, t := range trials {
		op.Strategy, op.Options = t.Strategy, t.Planner()
		op.Options.Splitting = splitting
		drivers[i] = newDriver(op, form, append(f.NeedKeys(), needKeys...))
	}
	return drivers, nil
}

// drive opens the input and carries the drivers side by side through it that begin chooses,
// reading it once. visit sees each step of each driver (by its index) in order. anew: drivers that
// were made before do not know the instances.
func (f *driveFlags) drive(
	env *cli.Environment, begin func(in *reading.Input, anew bool) ([]*driver, error),
	visit func(in *reading.Input, driver int, s step),
) error {
	in, err := f.Open(env)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Operator = &f.OperatorFlags
	window := drive.NewWindow(drive.DefaultWindow)
	if f.Window > 1 {
		if f.Interval != nil {
			return cli.Usagef("--window: the states of several intervals are added up, and --interval picks one")
		}
		window = drive.NewWindow(1)
		in.SumUp(f.Window)
	}
	var drivers []*driver
	anew, err := in.Look()
	if err == nil {
		drivers, err = begin(in, anew)
	}
	for err == nil {
		err = f.steps(env.Ctx, in, window, drivers, func(i int, s step) { visit(in, i, s) })
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return in.Wrap(err)
}

// steps carries the drivers through the next interval. The window tells the state of all keys.
func (f *driveFlags) steps(
	ctx context.Context, in *reading.Input, window *drive.Window, drivers []*driver, visit func(driver int, s step),
) error {
	interval, given, err := in.Next()
	if err != nil {
		return err
	}
	var all *planner.Statistics
	if f.Interval == nil && in.Stream.HasInterval() && given.Records == nil {
		if all, err = window.Add(given.Stats); err != nil {
			return &drive.StepError{Interval: interval, Err: err}
		}
	}
	for i, d := range drivers {
		s, err := d.step(ctx, interval, given)
		if err != nil {
			return &drive.StepError{Interval: interval, Err: err}
		}
		s.Whole, s.grouped = all, given.Grouped
		visit(i, s)
	}
	return nil
}

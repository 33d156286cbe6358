package offline

import (
	"context"
	"errors"
	"io"

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
	form     CompactForm
	needKeys []string // the flags given that say something about keys
	// What came of compacting the keys that were planned on last.
	compacted *compact.Compression
	planned   *compact.KeyPlan
}

func newDriver(op drive.Operator, form CompactForm, needKeys []string) *driver {
	d := &driver{form: form, needKeys: needKeys}
	if form.degree > 0 {
		op.Plan = func(s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
			return d.planCompacted(op.Strategy, s, o)
		}
	}
	d.Driver = drive.New(op)
	return d
}

// planCompacted plans on the classes of the keys.
func (d *driver) planCompacted(strategy string, s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
	options := d.form.Options()
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
	// compaction is nil when the plan was made on keys, or there is none.
	compaction *CompactionFigures
	// loadErrors are, by instance, those of records made of keys.
	loadErrors []planner.Comparison
	// classes are the records that were planned on in the place of keys; nil for keys.
	classes *compact.Classes
	// hash identifies them.
	hash [16]byte
}

// moves are those of classes, and of keys that are named where any are.
func (s *step) moves() lists.List {
	classes := s.classes.Moves(s.Plan)
	if s.classes.Items.Named == 0 {
		return lists.ClassMovesOf(classes)
	}
	named := *s.Plan
	named.Moves = s.classes.MovesNamed(s.Plan)
	return lists.ItemMovesOf(classes, lists.MigrationsOf(&named))
}

// step plans one interval and applies the plan.
func (d *driver) step(ctx context.Context, interval int64, given *input.Document) (step, error) {
	switch {
	case given.Records != nil:
		return d.stepRecords(ctx, interval, given)
	case d.form.degree == 0 && d.form.scales != compact.Scales{}:
		return step{}, cli.Usagef("--cost-scale and --state-scale belong to --compact, or to compact records")
	}
	s, err := d.Step(ctx, interval, given.Stats)
	out := step{Step: s}
	if c := d.compacted; c != nil && s.Plan != nil {
		greatest := d.planned.GreatestError()
		out.loadErrors, out.compaction = d.planned.Error, compactionOf(&c.Classes, c.Degree, &greatest)
	}
	return out, err
}

// stepRecords plans on compact records.
func (d *driver) stepRecords(ctx context.Context, interval int64, given *input.Document) (step, error) {
	st, err := d.form.statistics(given)
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
		out.compaction = compactionOf(c, st.Degree, nil)
	}
	return out, err
}

// driveFlags say what plan and compare drive through a stream.
type driveFlags struct {
	reading.InputFlags
	reading.OperatorFlags
	StrategyFlags
	formFlags
	splitFlags
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

// drive opens the input and carries the drivers through it that begin chooses.
func (f *driveFlags) drive(
	env *cli.Environment, begin func(*reading.Input) (reading.Source, []*driver, error),
	visit func(in *reading.Input, driver int, s step),
) error {
	in, err := f.Open(env)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Operator = &f.OperatorFlags
	next, drivers, err := begin(in)
	if err == nil {
		window := drive.NewWindow(drive.DefaultWindow)
		if f.Window > 1 {
			if f.Interval != nil {
				return cli.Usagef("--window: the states of several intervals are added up, and --interval picks one")
			}
			window, next = drive.NewWindow(1), next.SummedUp(f.Window)
		}
		err = runDrivers(env.Ctx, next, drivers, func(d *input.Document) (*planner.Statistics, error) {
			if alone := f.Interval != nil || !in.Stream.HasInterval(); alone || d.Records != nil {
				return nil, nil
			}
			return window.Add(d.Stats)
		}, func(i int, s step) { visit(in, i, s) })
	}
	return in.Wrap(err)
}

// runDrivers carries the drivers through the input side by side, reading it once.
// whole tells the state of all keys, as [drive.Window] does, or nil. visit sees each step of
// each driver (by its index) in order.
func runDrivers(
	ctx context.Context, next reading.Source, drivers []*driver, whole func(*input.Document) (*planner.Statistics,
		error),
	visit func(driver int, s step),
) error {
	for {
		interval, given, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		all, err := whole(given)
		if err != nil {
			return &drive.StepError{Interval: interval, Err: err}
		}
		for i, d := range drivers {
			s, err := d.step(ctx, interval, given)
			if err != nil {
				return &drive.StepError{Interval: interval, Err: err}
			}
			s.Whole = all
			visit(i, s)
		}
	}
}

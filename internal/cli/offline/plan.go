package offline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/batches"
	"plannerd/sdk/go/wire"
)

// Plan is the command that plans a file.
type Plan struct {
	driveFlags

	BatchKeys    int64         `least:"0" default:"0" group:"Batches" help:"Cut the plan into batches, which are handed over one after the other: at most so many keys change their route, or have state moved, in each; 0: no such bound."`
	BatchState   float64       `default:"0" group:"Batches" help:"At most so much state moves in each batch, in units of state; 0: no such bound."`
	BatchPause   time.Duration `least:"0" default:"0s" group:"Batches" help:"No instance sends, or receives, for longer in a batch, by --transfer-rate; 0: no such bound."`
	TransferRate float64       `default:"0" group:"Batches" help:"How much state an instance sends and receives in a second, in units of state: batches are then told with their times; 0: not known."`

	Strategy string        `default:"optimal" help:"Strategy: one of those above."`
	Timeout  time.Duration `least:"0" default:"0s" group:"Parameters" help:"Bound on the time of each plan: the best one so far counts; 0: none."`

	Output    string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people; json has the figures with all lists; csv has the migrations, or a line for each interval of a stream."`
	Top       int    `least:"0" default:"10" group:"Output" help:"Greatest length of each list in a table, in lines."`
	All       bool   `group:"Output" help:"List all migrations and table changes."`
	Stream    bool   `own:"" group:"Output" help:"Report a line for each interval even where the input has one alone: what programs read then has one form."`
	SaveTable string `type:"path" placeholder:"FILE" group:"Output" help:"Write the planned routing table there, in the form that --routing-table reads (default: nowhere)."`
	Check     bool   `group:"Output" help:"Exit with 3 when a plan is not balanced or exceeds the table limit."`

	// What is printed:
	driver    *driver
	op        drive.Operator
	intervals []Result
	summary   drive.Summary
	last      step
	schedule  *batches.Schedule // of the last plan; nil: it was not cut into batches
	input     *reading.Input
	text      func(id int32) string // how people call instances
}

// Run plans the input and reports.
func (c *Plan) Run(env *cli.Environment) error {
	trial, err := c.single(c.Strategy)
	if err != nil {
		return err
	}
	var needKeys []string
	if c.SaveTable != "" {
		needKeys = append(needKeys, "--save-table")
	}
	like := drive.Operator{PlanTimeout: c.Timeout, Now: env.Now}
	drivers, err := c.drivers([]parameters.Trial{trial}, like, needKeys...)
	if err != nil {
		return err
	}
	if _, err := c.bounds(); err != nil {
		return err
	}
	err = c.drive(env, func(in *reading.Input, anew bool) ([]*driver, error) {
		if anew {
			if drivers, err = c.drivers([]parameters.Trial{trial}, like, needKeys...); err != nil {
				return nil, err
			}
		}
		c.input, c.driver, c.op, c.text = in, drivers[0], drivers[0].Operator(), c.Texts()
		return drivers, nil
	}, func(in *reading.Input, _ int, s step) {
		in.Progress.Describe(fmt.Sprintf("planned interval %d", s.Interval))
		result := intervalOf(s, c.driver, c.Encoder())
		if c.Output != "json" {
			// Tables show those of one plan alone.
			result.Instances, result.HotKeys, result.Splits, result.Resources = nil, nil, nil, nil
		}
		c.intervals = append(c.intervals, result)
		c.summary.Add(s.Step)
		c.last = s // only the newest plan is kept whole
	})
	if err != nil {
		return err
	}
	if err := c.cut(); err != nil {
		return err
	}
	if err := c.print(env); err != nil {
		return err
	}
	if c.SaveTable != "" {
		if err := saveRoutingTable(c.SaveTable, drivers[0].Table(), c.Encoder(), c.text); err != nil {
			return err
		}
	}
	if sum := c.summary.Report(); c.Check && min(sum.Balanced, sum.WithinLimit) < sum.Intervals {
		return cli.ErrMissed
	}
	return nil
}

// alone tells whether one plan is printed in full, and not a line for each interval.
func (c *Plan) alone() bool { return len(c.intervals) == 1 && !c.Stream }

// print prints the one plan in full, or a line for each of several.
func (c *Plan) print(env *cli.Environment) error {
	form, keys := c.Output, c.Encoder()
	switch {
	case !c.alone():
		return env.Output(form, func() any {
			return StreamDocument{c.op.Strategy, c.driver.values(), planner.Revision, c.summary.Report(), c.intervals}
		}, c.writeStream, intervalsCSV(c.intervals))
	case c.last.Plan == nil:
		return fmt.Errorf("%s completed no plan within --timeout %v: allow more time or choose another --strategy",
			c.op.Strategy, c.Timeout)
	}
	return env.Output(form, func() any {
		hash := c.last.hash
		if c.last.classes == nil {
			hash = c.input.Last.Stats.Fingerprint()
		}
		d := planOf(c.last, c.driver, keys, hash)
		d.Schedule = c.scheduleOf(d.KeyEncoding != "")
		return d
	}, c.writePlan, func(w io.Writer) error {
		switch {
		case c.schedule != nil:
			migrations := listsOf(c.last.Plan, c.last, keys).Migrations
			return cli.CsvOf(migrations, "key from to cost state reason batch", c.numbered(), c.ends(migrations))(w)
		case c.Named() && c.last.classes == nil:
			migrations := listsOf(c.last.Plan, c.last, keys).Migrations
			return cli.CsvOf(migrations, "key from to cost state reason", c.ends(migrations))(w)
		}
		return c.last.moves().WriteCSV(w, bool(keys), nil)
	})
}

// ends are where migrations come from and go to, as people call it.
func (c *Plan) ends(migrations []wire.PlanMigration) func(i int) cli.More {
	return func(i int) cli.More {
		return cli.More{"from": c.text(migrations[i].From), "to": c.text(migrations[i].To)}
	}
}

// intervalsCSV writes a line for each interval.
func intervalsCSV(intervals []Result) func(io.Writer) error {
	columns := `interval keys end_reason balanced table_within_limit theta/before theta/after
		migrated_keys=migration/keys migrated_state=migration/state migrated_fraction=migration/fraction
		lower_bound=certificate/lower_bound gap=certificate/gap infeasible=certificate/infeasible unmet
		table_size=routing_table/size_after work_units plan_ms=timing/plan_ms`
	if slices.ContainsFunc(intervals, func(f Result) bool { return f.Compaction != nil }) {
		columns += ` records=compaction/records load_error_before=compaction/error/before
			load_error_after=compaction/error/after`
	}
	return cli.CsvOf(intervals, columns, func(i int) cli.More {
		var unmet []string
		if c := intervals[i].Certificate; c != nil {
			for _, u := range c.Unmet {
				of := ""
				if u.Resource != nil {
					of = *u.Resource + ":"
				}
				unmet = append(unmet, of+string(u.Constraint)+">="+cli.Exact(u.AtLeast))
			}
		}
		return cli.More{"unmet": strings.Join(unmet, ";")}
	})
}

// StreamDocument is the JSON document of several intervals.
type StreamDocument struct {
	Strategy        string            `json:"strategy"`
	Parameters      parameters.Values `json:"parameters"`
	PlannerRevision string            `json:"planner_revision"`
	Summary         drive.Report      `json:"summary"`
	Intervals       []Result          `json:"intervals"`
}

// saveRoutingTable writes what readRoutingTable reads.
func saveRoutingTable(path string, t *planner.RoutingTable, keys reading.KeyEncoder, text func(int32) string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--save-table: %w", err)
	}
	if err := errors.Join(reading.WriteRoutingTable(f, t, keys, text), f.Close()); err != nil {
		return fmt.Errorf("--save-table: %w", err)
	}
	return nil
}

package offline

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// Compare is the command that compares strategies.
type Compare struct {
	driveFlags
	Strategies []string      `placeholder:"NAME" help:"Strategies to compare (default: all of those above that know --objective)."`
	ScaleTo    []int         `placeholder:"N" group:"Operator" help:"Numbers of instances to compare, with commas between them: each strategy rescales from --instances to each of them, those of the lowest ids, and runs there (default: --instances alone)."`
	Timeout    time.Duration `least:"0" own:"" default:"30s" group:"Parameters" help:"Bound on the planning time of each strategy, over all intervals; 0: none."`
	Output     string        `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json or csv for programs."`
}

// Run drives all strategies side by side and reports.
func (c *Compare) Run(env *cli.Environment) error {
	drivers, err := c.beside(env)
	if err != nil {
		return err
	}
	summaries := make([]drive.Summary, len(drivers))
	err = c.drive(env, func(_ *reading.Input, anew bool) ([]*driver, error) {
		if anew {
			drivers, err = c.beside(env)
		}
		return drivers, err
	},
		func(in *reading.Input, i int, s step) {
			summaries[i].Add(s.Step)
			next := drivers[(i+1)%len(drivers)].Operator().Strategy
			in.Progress.Describe(fmt.Sprintf("interval %d: %s", s.Interval, next))
		})
	if err != nil {
		return err
	}
	rows := outcomesOf(drivers, summaries)
	return env.Output(c.Output, func() any { return comparisonOf(rows) }, func(w *cli.Page) { c.writeTable(w, rows) },
		outcomesCSV(rows))
}

// beside returns a driver for each strategy with each combination of parameters.
func (c *Compare) beside(env *cli.Environment) ([]*driver, error) {
	trials, err := c.trials(c.Strategies)
	if err != nil {
		return nil, err
	}
	like := drive.Operator{TotalTimeout: c.Timeout, Now: env.Now}
	if len(c.ScaleTo) == 0 {
		return c.drivers(trials, like)
	}
	var all []*driver
	for _, n := range c.ScaleTo {
		flags := c.driveFlags
		if flags.OperatorFlags, err = c.ScaledTo(n); err != nil {
			return nil, err
		}
		drivers, err := flags.drivers(trials, like)
		if err != nil {
			return nil, err
		}
		all = append(all, drivers...)
	}
	return all, nil
}

// Comparison is the JSON document of compare.
type Comparison struct {
	// Parameters are null where the results have different ones.
	Parameters      *parameters.Values `json:"parameters"`
	PlannerRevision string             `json:"planner_revision"`
	Results         []Outcome          `json:"results"`
}

func comparisonOf(rows []Outcome) Comparison {
	c := Comparison{PlannerRevision: planner.Revision, Results: rows}
	if len(varying(rows)) == 0 {
		c.Parameters = &rows[0].Parameters
	}
	return c
}

// Outcome is what a strategy came to over the whole input.
type Outcome struct {
	Strategy   string            `json:"strategy"`
	Instances  int               `json:"instances"`
	Parameters parameters.Values `json:"parameters"`
	Pareto     bool              `json:"pareto"`
	TimedOut   bool              `json:"timed_out"`
	drive.Report

	form *drive.Compaction // of the newest plan
}

func outcomesOf(drivers []*driver, summaries []drive.Summary) []Outcome {
	instances := func(d *driver) int { return len(d.Operator().Target.Instances) }
	outcomes := map[int][]*planner.Outcome{} // by the number of instances
	for i, d := range drivers {
		outcomes[instances(d)] = append(outcomes[instances(d)], summaries[i].Outcome())
	}
	fronts := map[int][]bool{}
	for n, of := range outcomes {
		fronts[n] = planner.Front(of)
	}
	rows := make([]Outcome, len(drivers))
	for i, d := range drivers {
		n, r := instances(d), summaries[i].Report()
		rows[i] = Outcome{
			Strategy: d.Operator().Strategy, Instances: n, Parameters: d.values(), Pareto: fronts[n][0],
			TimedOut: r.Planned < r.Intervals, Report: r, form: summaries[i].Form(),
		}
		fronts[n] = fronts[n][1:]
	}
	return rows
}

// missing are the figures that a strategy without a plan has none of.
var missing = cli.More{
	"theta_after": nil, "migrated_keys": nil, "migrated_state": nil, "migrated_fraction": nil, "certificates": nil,
	"table_size": nil, "realised": nil, "balanced": nil, "compaction": nil,
}

// writeTable prints the comparison for people.
func (c *Compare) writeTable(w *cli.Page, results []Outcome) {
	intervals := results[0].Intervals
	from := ""
	if len(c.ScaleTo) > 0 {
		from = "from "
	}
	fmt.Fprintf(w, "%s, %s%s, %s", cli.Plural(intervals, "interval"), from, cli.Plural(len(c.Instances), "instance"),
		gridGoals(results))
	if i := slices.IndexFunc(results, func(r Outcome) bool { return r.form != nil }); i >= 0 && intervals == 1 {
		fmt.Fprintf(w, "\n%s\n\n", describe(results[i].form))
	} else {
		fmt.Fprintf(w, "%s\n\n", c.degreeText())
	}
	columns, over := "= mark | strategy", varying(results)
	if len(c.ScaleTo) > 0 {
		columns += " | instances* = instances"
	}
	columns += varied(over, func(p *parameters.Parameter) string {
		return " | " + titleOf(p) + "* = " + p.Name + " right"
	})
	several, which := intervals > 1, "θ"
	if several {
		which = "realised θ"
	}
	switch {
	case c.Split && several:
		columns += " | median merges = merges/median ?si | max = merges/max ?si"
	case c.Split:
		columns += " | merges = merges/median ?si"
	}
	switch {
	case c.Compact > 0 && several:
		columns += " | median records = compaction/records/median ?si | max load error = compaction/error/after/max ?error"
	case c.Compact > 0:
		columns += " | load error = compaction/error/after/max ?error"
	}
	if several {
		columns += " | θ planned = theta_after/median ?theta | θ realised = realised/theta_median ?theta" +
			" | p95 = realised/theta_p95 ?theta | above θ_max = realised/above ?percent" +
			" | total state = migrated_state/total ?si | moved = realised/moved ?percent" +
			" | returned = realised/returned ?percent | gap = certificates/gap ?percent" +
			" | median table = table_size/median ?si | max = table_size/max ?si | total time = plan_ms/total time | = note"
	} else {
		columns += " | θ after = theta_after/max ?theta | state = migrated_state/total ?si" +
			" | of all = migrated_fraction/max ?percent | gap = certificates/gap ?percent | keys = migrated_keys/total ?si" +
			" | table = table_size/max ?si | balanced ?right | time = plan_ms/total time | = note"
	}
	cli.WriteList(w, results, columns, func(i int) cli.More {
		r := results[i]
		more := cli.More{"mark": "", "note": c.note(r), "balanced": "no"}
		if r.Pareto {
			more["mark"] = "*"
		}
		if r.Balanced > 0 {
			more["balanced"] = "yes"
		}
		for _, p := range over {
			more[p.Name] = shownAs(&p, r.Parameters)
		}
		if r.Planned == 0 {
			maps.Copy(more, missing)
		}
		return more
	})
	fmt.Fprintf(w, "\n* on the Pareto front of migration, table size and %s\n", which)
	if slices.ContainsFunc(results, func(r Outcome) bool { return r.Proven.Gap != nil }) {
		fmt.Fprintln(w, "gap: what it moves, or its θ under min_imbalance, above what is proven to be least")
	}
}

// varied are the columns of parameters.
func varied(over []parameters.Parameter, column func(*parameters.Parameter) string) string {
	var b strings.Builder
	for i := range over {
		b.WriteString(column(&over[i]))
	}
	return b.String()
}

// note says what a line does not show.
func (c *Compare) note(r Outcome) string {
	switch over := r.Planned - r.WithinLimit; {
	case r.TimedOut && r.Intervals > 1:
		return fmt.Sprintf("%v were up after %d of %d intervals", c.Timeout, r.Planned, r.Intervals)
	case r.TimedOut:
		return fmt.Sprintf("no plan within %v", c.Timeout)
	case r.Stopped > 0:
		return "cut short: best plan so far"
	case r.Proven.Infeasible > 0 && r.Intervals > 1:
		return fmt.Sprintf("no plan meets all limits in %d", r.Proven.Infeasible)
	case r.Proven.Infeasible > 0:
		return "no plan meets all limits"
	case over > 0 && r.Intervals > 1:
		return fmt.Sprintf("table over limit in %d", over)
	case over > 0:
		return "table over limit"
	}
	return ""
}

func outcomesCSV(results []Outcome) func(io.Writer) error {
	columns, over := "strategy instances", varying(results)
	columns += varied(over, func(p *parameters.Parameter) string { return " " + p.Name })
	columns += ` pareto timed_out intervals planned balanced table_within_limit theta_after/median theta_after/max
		realised/above realised/theta_median realised/theta_p95 realised/excess realised/moved realised/returned
		migrated_state=migrated_state/total migrated_fraction/median migrated_keys=migrated_keys/total
		lower_bound=certificates/lower_bound/total gap=certificates/gap infeasible=certificates/infeasible
		table_size/median table_size/max plan_ms=plan_ms/total`
	if slices.ContainsFunc(results, func(r Outcome) bool { return r.Compaction != nil }) {
		columns += ` records_median=compaction/records/median load_error_before_max=compaction/error/before/max
			load_error_after_max=compaction/error/after/max`
	}
	return cli.CsvOf(results, columns, func(i int) cli.More {
		more := cli.More{}
		for _, p := range over {
			more[p.Name] = written(&p, results[i].Parameters)
		}
		return more
	})
}

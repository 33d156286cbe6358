package offline

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/planner"
)

// Compare is the command that compares strategies.
type Compare struct {
	driveFlags
	Strategies []string      `placeholder:"NAME" help:"Strategies to compare (default: all of those above that know --objective)."`
	Curve      curve         `placeholder:"LIMIT,…" help:"Show the trade-off of θ against migration: what strategy optimal reaches under min_imbalance for some migration limits, and the other strategies beside it. --curve=0.1%,1%,5% names the limits (default: with --curve alone 12 from 0 to what the best balance of the first interval needs)."`
	ScaleTo    []int         `placeholder:"N" group:"Operator" help:"Numbers of instances to compare, with commas between them: each strategy rescales from --instances to each of them, those of the lowest ids, and runs there (default: --instances alone)."`
	Timeout    time.Duration `least:"0" own:"" default:"30s" group:"Parameters" help:"Bound on the planning time of each strategy, over all intervals; 0: none."`
	Output     string        `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json or csv for programs."`
}

// Help shows the strategies and examples.
func (*Compare) Help() string {
	return `The input is that of plannerd plan. Over a stream of intervals each strategy applies
its own plans and carries its own routing table; totals and medians are compared.

A * marks the Pareto front: among those that violate the fewest constraints, no other
strategy is as good in migration, table size and θ, and better in one of them.

Of a stream θ is the realised one: each plan is judged in the interval after the one that
it was made of. "θ planned" is the median of what the plans themselves came to, "θ realised"
and "p95" are the median and the 95th percentile of what came, from the second interval on.
"Moved" is the state that the plans before these intervals move together, as a part of all
state, and "returned" what of it went back to an instance that it had left at most five
intervals before. Both count state as a backtest does: as reported, else what a key cost
in the last five intervals; a key that is not named keeps its own for as long. The front
counts no constraint but the limit of the table then.

The gap is how much more a strategy moves (or, under min_imbalance, how much higher its θ
is) than is proven to be least on the same routing tables. Over a stream it is that of
the totals over the intervals in which the strategy meets all limits: each strategy has
its own tables, hence its own least.

With --curve each point drives its own routing table through the stream under its own
limit, with a θ_max of 0. "At best" is the proven lower bound on θ.

Flags under "Parameters" take several values, with commas between them: every strategy is
then driven with every combination, and the * marks the Pareto front of them all.

With --scale-to each is driven on each number of instances, too. The first interval moves
keys there from where they are on --instances; instances that are added are filled. More
instances have less to do each, but fluctuate more: a θ_max that many cannot keep, fewer may.
The * marks the fronts of plans for the same number.

With --compact every strategy plans on classes of keys, as with plannerd plan: of one
interval all on the same. Of compact records there is one interval.

Strategies:

` + reading.StrategyHelp() + `
Examples:

    plannerd compare stats.csv --instances 16 --table-limit 3000
    plannerd generate --intervals 20 | plannerd compare - --strategies mixed,mintable,minmig
    plannerd compare stats.csv --instances 16 --theta-max 2%,5% --table-limit 50,100,none
    plannerd compare days.csv --instances 8 --scale-to 4,6,8,12 --strategies optimal
    plannerd compare stats.csv --instances 16 --curve
    plannerd compare stats.csv --instances 16 --curve=0.5%,1%,2%,5% --strategies mixed,minmig
    plannerd compare stats.csv.zst --interval 7 --timeout 2m --output csv`
}

// Run drives all strategies side by side and reports.
func (c *Compare) Run(env *cli.Environment) error {
	if c.Curve.on {
		return c.runCurve(env)
	}
	drivers, err := c.beside(env)
	if err != nil {
		return err
	}
	summaries := make([]summary, len(drivers))
	err = c.drive(env, func(in *reading.Input) (reading.Source, []*driver, error) { return in.Source(), drivers, nil },
		func(in *reading.Input, i int, s step) {
			summaries[i].add(s)
			next := drivers[(i+1)%len(drivers)].Operator().Strategy
			in.Progress.Describe(fmt.Sprintf("interval %d: %s", s.Interval, next))
		})
	if err != nil {
		return err
	}
	rows := compareRows(drivers, summaries)
	return env.Output(c.Output, func() any { return comparisonOf(rows) }, func(w *cli.Page) { c.writeTable(w, rows) },
		func(w io.Writer) error { return writeCompareCSV(w, rows) })
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
	Parameters      *planParameters   `json:"parameters"`
	PlannerRevision string            `json:"planner_revision"`
	Results         []StrategyFigures `json:"results"`
}

func comparisonOf(rows []StrategyFigures) Comparison {
	c := Comparison{PlannerRevision: planner.Revision, Results: rows}
	if len(varying(optionsOf(rows))) == 0 {
		c.Parameters = &rows[0].Parameters
	}
	return c
}

// optionsOf are the parameters of the results.
func optionsOf(rows []StrategyFigures) []planner.Options {
	all := make([]planner.Options, len(rows))
	for i := range rows {
		all[i] = rows[i].options
	}
	return all
}

// StrategyFigures are the figures of one strategy over the whole input.
type StrategyFigures struct {
	Strategy   string         `json:"strategy"`
	Instances  int            `json:"instances"`
	Parameters planParameters `json:"parameters"`
	Pareto     bool           `json:"pareto"`
	TimedOut   bool           `json:"timed_out"`
	StreamSummary
	options planner.Options
	form    *CompactionFigures // of the newest plan
}

func compareRows(drivers []*driver, summaries []summary) []StrategyFigures {
	instances := func(d *driver) int { return len(d.Operator().Target.Instances) }
	outcomes := map[int][]*planner.Outcome{} // by the number of instances
	for i, d := range drivers {
		outcomes[instances(d)] = append(outcomes[instances(d)], summaries[i].Outcome())
	}
	fronts := map[int][]bool{}
	for n, of := range outcomes {
		fronts[n] = planner.Front(of)
	}
	rows := make([]StrategyFigures, len(drivers))
	for i, d := range drivers {
		n := instances(d)
		pareto := fronts[n][0]
		fronts[n] = fronts[n][1:]
		rows[i] = StrategyFigures{
			Strategy: d.Operator().Strategy, Instances: n, Parameters: parametersOf(d.Operator().Options), Pareto: pareto,
			options:       d.Operator().Options,
			TimedOut:      summaries[i].Planned < summaries[i].Intervals,
			StreamSummary: summaryOf(&summaries[i]),
		}
		if n := len(summaries[i].forms); n > 0 {
			rows[i].form = summaries[i].forms[n-1]
		}
	}
	return rows
}

// writeTable prints the comparison for people.
func (c *Compare) writeTable(w *cli.Page, results []StrategyFigures) {
	all := optionsOf(results)
	intervals := results[0].Intervals
	from := ""
	if len(c.ScaleTo) > 0 {
		from = "from "
	}
	fmt.Fprintf(w, "%s, %s%s, %s", cli.Plural(intervals, "interval"), from, cli.Plural(len(c.Instances), "instance"),
		gridGoals(all))
	if i := slices.IndexFunc(results, func(r StrategyFigures) bool { return r.form != nil }); i >= 0 && intervals == 1 {
		fmt.Fprintf(w, "\n%s\n\n", results[i].form.describe())
	} else {
		fmt.Fprintf(w, "%s\n\n", c.degreeText())
	}
	columns := []cli.Column{cli.Text(""), cli.Text("strategy"), cli.Number("θ after"), cli.Number("state"),
		cli.Number("of all"), cli.Number("gap"),
		cli.Number("keys"), cli.Number("table"), cli.Number("balanced"), cli.Number("time"), cli.Text("")}
	if intervals > 1 {
		columns = []cli.Column{cli.Text(""), cli.Text("strategy"), cli.Number("θ planned"), cli.Number("θ realised"),
			cli.Number("p95"),
			cli.Number("above θ_max"), cli.Number("total state"), cli.Number("moved"), cli.Number("returned"), cli.Number("gap"),
			cli.Number("median table"), cli.Number("max"), cli.Number("total time"), cli.Text("")}
	}
	var rows [][]string
	for _, r := range results {
		if intervals > 1 {
			rows = append(rows, c.streamRow(r))
		} else {
			rows = append(rows, c.row(r))
		}
	}
	if c.Compact > 0 {
		columns, rows = withForms(columns, rows, results)
	}
	if c.Split {
		columns, rows = withMerges(columns, rows, results)
	}
	for i, d := range varying(all) {
		columns = slices.Insert(columns, 2+i, cli.Naming(cli.Number(titleOf(&d))))
		for j := range rows {
			rows[j] = slices.Insert(rows[j], 2+i, shownAs(&d, all[j]))
		}
	}
	if len(c.ScaleTo) > 0 {
		columns = slices.Insert(columns, 2, cli.Naming(cli.Number("instances")))
		for j, r := range results {
			rows[j] = slices.Insert(rows[j], 2, cli.Integer(r.Instances))
		}
	}
	cli.WriteTable(w, columns, rows)
	which := "θ"
	if intervals > 1 {
		which = "realised θ"
	}
	fmt.Fprintf(w, "\n* on the Pareto front of migration, table size and %s\n%s", which, gapNote(results))
}

// withForms puts the number of records of the strategies, where these can differ,
// and the greatest error of the loads after their plans behind their names.
func withForms(columns []cli.Column, rows [][]string, results []StrategyFigures) ([]cli.Column, [][]string) {
	titles := []cli.Column{cli.Number("load error")}
	if results[0].Intervals > 1 {
		titles = []cli.Column{cli.Number("median records"), cli.Number("max load error")}
	}
	for i, r := range results {
		cells := make([]string, len(titles))
		for j := range cells {
			cells[j] = "-"
		}
		if f := r.Compaction; f != nil {
			cells[0] = cli.SI(f.Records.Median)
			cells[len(cells)-1] = cli.ErrorText(f.Error.After.Max)
		}
		rows[i] = slices.Insert(rows[i], 2, cells...)
	}
	return slices.Insert(columns, 2, titles...), rows
}

// withMerges puts the merges of split keys in each interval behind the names of the
// strategies.
func withMerges(columns []cli.Column, rows [][]string, results []StrategyFigures) ([]cli.Column, [][]string) {
	titles := []cli.Column{cli.Number("merges")}
	if results[0].Intervals > 1 {
		titles = []cli.Column{cli.Number("median merges"), cli.Number("max")}
	}
	for i, r := range results {
		cells := []string{"-", "-"}
		if r.Merges != nil {
			cells = []string{cli.SI(r.Merges.Median), cli.SI(r.Merges.Max)}
		}
		rows[i] = slices.Insert(rows[i], 2, cells[:len(titles)]...)
	}
	return slices.Insert(columns, 2, titles...), rows
}

// gapNote explains the column of the gaps, where there is one with a figure.
func gapNote(results []StrategyFigures) string {
	if !slices.ContainsFunc(results, func(r StrategyFigures) bool { return r.Proven.Gap != nil }) {
		return ""
	}
	return "gap: what it moves, or its θ under min_imbalance, above what is proven to be least\n"
}

// row is the line of a strategy on one interval.
func (c *Compare) row(r StrategyFigures) []string {
	if r.Planned == 0 {
		return []string{"", r.Strategy, "-", "-", "-", "-", "-", "-", "-", milli(r.PlanMS.Total), c.note(r)}
	}
	balanced := "yes"
	if r.Balanced == 0 {
		balanced = "no"
	}
	return []string{
		star(r), r.Strategy, cli.Theta(r.ThetaAfter.Max), cli.SI(r.State.Total), cli.Percent(r.Fraction.Max),
		gapText(r.Proven.Gap),
		cli.SI(r.Keys.Total), cli.SI(r.Table.Max), balanced, milli(r.PlanMS.Total), c.note(r),
	}
}

// streamRow is the line of a strategy over several intervals.
func (c *Compare) streamRow(r StrategyFigures) []string {
	if r.Planned == 0 {
		return slices.Concat([]string{"", r.Strategy}, slices.Repeat([]string{"-"}, 10),
			[]string{milli(r.PlanMS.Total), c.note(r)})
	}
	realised := []string{"-", "-", "-"}
	moved, returned := "-", "-"
	if x := r.Realised; x != nil {
		realised = []string{cli.Theta(x.Median), cli.Theta(x.P95), cli.Percent(x.Above)}
		moved, returned = cli.Percent(x.Moved), cli.Percent(x.Returned)
	}
	return slices.Concat([]string{star(r), r.Strategy, cli.Theta(r.ThetaAfter.Median)}, realised, []string{
		cli.SI(r.State.Total), moved, returned, gapText(r.Proven.Gap), cli.SI(r.Table.Median), cli.SI(r.Table.Max),
		milli(r.PlanMS.Total), c.note(r),
	})
}

func star(r StrategyFigures) string {
	if r.Pareto {
		return "*"
	}
	return ""
}

// note says what a line does not show.
func (c *Compare) note(r StrategyFigures) string {
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

func writeCompareCSV(w io.Writer, results []StrategyFigures) error {
	columns := `strategy instances pareto timed_out intervals planned balanced table_within_limit theta_after/median theta_after/max
		realised/above realised/theta_median realised/theta_p95 realised/excess realised/moved realised/returned
		migrated_state=migrated_state/total migrated_fraction/median migrated_keys=migrated_keys/total
		lower_bound=certificates/lower_bound/total gap=certificates/gap infeasible=certificates/infeasible
		table_size/median table_size/max plan_ms=plan_ms/total`
	if slices.ContainsFunc(results, func(r StrategyFigures) bool { return r.Compaction != nil }) {
		columns += ` records_median=compaction/records/median load_error_before_max=compaction/error/before/max
			load_error_after_max=compaction/error/after/max`
	}
	rows, all := cli.MemberRows(results, columns), optionsOf(results)
	for i, d := range varying(all) {
		rows[0] = slices.Insert(rows[0], 2+i, d.Name)
		for j, o := range all {
			rows[1+j] = slices.Insert(rows[1+j], 2+i, written(&d, o))
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
